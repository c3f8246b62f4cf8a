"""What an all-clear has to say about what nobody could see; what --ignore takes away; attempts counted from the start of the evidence."""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from analyzers.derived.open_ends import batches_before, open_ends
from analyzers.diagnosis.diagnose import judge
from analyzers.diagnosis.window import ends_early, starts_before
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.report import Report
from analyzers.tables import CHECKPOINT_FILES, FAULTS, LOG_EVENTS, LOG_FILES, SPLITS, Row
from analyzers.tables.evidence import Evidence
from cli.engine.spark import Engine
from cli.options.shared import CodeFilter, RunOptions
from cli.renderers.wording import all_clear
from cli.runs.evidence import judged

ROOT = Path(__file__).parent.parent
T0 = datetime(2026, 11, 21, 9, 0, tzinfo=timezone.utc)


def event(seconds: int, signature: str, batch: int | None = None, job: str | None = None) -> Row:
    place = {"scope": "", "at": T0 + timedelta(seconds=seconds), "seq": seconds, "file": "driver.log", "line": seconds + 1}
    return LOG_EVENTS.row({**place, "signature": signature, "checkpoint": batch, "job": job})


STARTED = [
    event(0, "query-started", job="q"),
    event(1, "batch-planned", 0),
    event(2, "query-progress", 0, "q"),
    event(3, "batch-planned", 1),
]


def test_a_log_that_ends_within_a_batch_cannot_tell_whether_it_hangs() -> None:
    (said,) = open_ends({"log_events": STARTED})
    assert (said["kind"], said["batch"], said["at"]) == ("batch", 1, T0 + timedelta(seconds=3))
    report = Report("diag", "1", "triage", None, (None, None), clean=["SPK101"], unseen=["whether batch 1 ends"])
    assert "nothing wrong found; not seen: whether batch 1 ends" in all_clear(report)


def test_offsets_that_are_written_behind_the_end_of_their_batch_open_none() -> None:
    """Real-time Mode, and asynchronous progress tracking: a thread of its own writes them."""
    late = [*STARTED, event(4, "query-progress", 1, "q"), event(5, "batch-written", 1)]
    assert open_ends({"log_events": late}) == []
    (said,) = open_ends({"log_events": [*late, event(6, "batch-planned", 2)]})
    assert said["batch"] == 2
    anew = [*late, event(6, "query-started", job="q"), event(7, "batch-planned", 0)]  # its checkpoint was deleted
    assert [row["batch"] for row in open_ends({"log_events": anew})] == [0]


def test_a_window_behind_a_batch_that_hangs_says_that_it_does_not_see_its_end() -> None:
    (said,) = batches_before(T0 + timedelta(hours=1), {"log_events": STARTED})
    assert (said["kind"], said["batch"]) == ("batch", 1)
    after = [*STARTED, event(3700, "query-progress", 1, "q")]
    assert batches_before(T0 + timedelta(hours=1), {"log_events": after}) == []


def two_queries(silent_since: int, *more: Row) -> list[Row]:
    """What is open of two queries of one driver, of which one tells no progress from then on."""
    minutes = range(0, 7200, 60)
    rows = [event(0, "query-started", job=job) for job in ("p", "q")]
    rows += [event(n, "query-progress", n, job) for n in minutes for job in ("p", "q") if job == "q" or n <= silent_since]
    file = LOG_FILES.row({"scope": "", "file": "driver.log", "role": "spark-driver", "last_at": T0 + timedelta(seconds=7200)})
    return open_ends({"log_events": [*rows, *more], "log_files": [file]})


def test_of_two_queries_the_one_that_falls_silent_is_named() -> None:
    (said,) = two_queries(3600)
    assert (said["kind"], said["query"], said["at"]) == ("query-silent", "p", T0 + timedelta(hours=1))
    assert two_queries(7000) == []
    assert two_queries(3600, event(3601, "query-stopped", job="p")) == []


def test_of_two_queries_the_batch_that_is_open_for_longer_than_usual_is_named() -> None:
    (said,) = two_queries(3600, event(3601, "batch-written", 3660, "p"))
    assert (said["kind"], said["batch"], said["query"], said["lasted_seconds"]) == ("batch-of-query", 3660, "p", 3599)
    assert two_queries(7140, event(7190, "batch-written", 7200, "p")) == []  # in the middle of one, as one of several always is
    assert two_queries(3600, event(3601, "batch-written", 3660, "p"), event(3602, "query-failed", job="p")) == []


def a_driver(ends: int, others_end: int, *more: Row) -> list[Row]:
    """What is open of a query that worked every minute until its driver's log ends, beside a broker's log that ends later."""
    rows = [event(0, "query-started", job="q"), *(event(n, "query-progress", n, "q") for n in range(0, ends, 60))]
    files = [("driver.log", "spark-driver", ends), ("server.log", "kafka-broker", others_end)]
    known = [LOG_FILES.row({"scope": "", "file": f, "role": role, "last_at": T0 + timedelta(seconds=end)}) for f, role, end in files]
    return open_ends({"log_events": [*rows, *more], "log_files": known})


def test_a_driver_whose_log_ends_long_before_others_may_be_dead() -> None:
    (said,) = a_driver(3600, 5400)
    assert (said["kind"], said["query"], said["at"], said["lasted_seconds"]) == ("driver", "q", T0 + timedelta(hours=1), 1800)
    assert a_driver(3600, 3900) == []  # logs are not saved all at once
    assert a_driver(3600, 5400, event(3590, "spark-stopping")) == []


def flink(seconds: int, signature: str, checkpoint: int | None = None, **known: object) -> Row:
    return event(seconds, signature, checkpoint, "j") | {"file": "jobmanager.log", **known}


def ending(seconds: int, *events: Row) -> dict[str, list[Row]]:
    file = LOG_FILES.row({"scope": "", "file": "taskmanager.log", "role": "taskmanager", "last_at": T0 + timedelta(seconds=seconds)})
    return {"log_events": list(events), "log_files": [file]}


SLOW = [flink(0, "checkpoint-triggered", 1), flink(41, "checkpoint-completed", 1, duration_ms=40_998), flink(60, "checkpoint-triggered", 2)]


def test_a_checkpoint_that_has_been_pending_for_unusually_long_is_said() -> None:
    young = ROOT / "fixtures" / "CKP101" / "quiet-young" / "raw"
    (said,) = open_ends(scan(plan([str(young)], LogOptions()), None))
    assert (said["kind"], said["checkpoint"], round(said["lasted_seconds"])) == ("checkpoint-pending", 9, 430)
    assert (said["number"], said["usual_seconds"]) == (8, 3)
    assert [row["checkpoint"] for row in open_ends(ending(60 + 124, *SLOW))] == [2]


def test_a_log_that_ends_within_a_checkpoint_as_long_as_others_hides_nothing() -> None:
    assert open_ends(ending(60 + 80, *SLOW)) == []
    assert open_ends(ending(60 + 240, *SLOW[2:])) == []  # nobody knows what is usual


@pytest.mark.parametrize(
    "last",
    [
        flink(90, "checkpoint-completed", 2, duration_ms=30_000),
        flink(90, "checkpoint-declined", 2),
        flink(90, "job-state", to_state="RESTARTING"),
        flink(90, "job-terminal"),
    ],
    ids=lambda e: e["signature"],
)
def test_a_checkpoint_that_ended_is_not_pending(last: Row) -> None:
    assert open_ends(ending(900, *SLOW, last)) == []


def test_a_savepoint_beside_it_does_not_hide_a_pending_checkpoint() -> None:
    (said,) = open_ends(ending(900, *SLOW, flink(61, "checkpoint-triggered", 3), flink(62, "checkpoint-declined", 3)))
    assert (said["kind"], said["checkpoint"]) == ("checkpoint-pending", 2)


def told(seconds: int, signature: str, **known: object) -> Row:
    return event(seconds, signature) | {"as_of": T0 + timedelta(seconds=20), "file": "worker.log", **known}


def test_a_client_without_an_answer_by_the_end_of_a_short_log_is_no_proof_of_health() -> None:
    failed = [told(n, "connection-failed", client="consumer-1", address="10.0.0.5:9092", role="taskmanager") for n in (0, 9, 18)]
    (said,) = open_ends({"log_events": failed})
    assert (said["kind"], said["client"], said["address"]) == ("connection", "consumer-1", "10.0.0.5:9092")
    assert open_ends({"log_events": [*failed, told(19, "cluster-reached", client="consumer-1")]}) == []
    assert open_ends({"log_events": [{**e, "role": "kafka-broker"} for e in failed]}) == []
    long_ago = [{**e, "as_of": T0 + timedelta(minutes=9)} for e in failed]
    assert open_ends({"log_events": long_ago}) == []


def test_librdkafka_without_a_broker_at_the_end_of_its_log_is_no_proof_of_health() -> None:
    down = told(18, "rdkafka-brokers-down", client="rdkafka#consumer-1", detail={"down": "3", "known": "3"})
    (said,) = open_ends({"log_events": [down]})
    assert (said["kind"], said["client"], said["number"]) == ("all-brokers-down", "rdkafka#consumer-1", 3)
    assert open_ends({"log_events": [{**down, "as_of": T0 + timedelta(minutes=9)}]}) == []
    hung_up = [told(n, "rdkafka-handshake-broken", client="rdkafka#consumer-1", address="kafka-2:9094") for n in (0, 9)]
    (said,) = open_ends({"log_events": hung_up})
    assert (said["kind"], said["address"], said["number"]) == ("tls-handshake", "kafka-2:9094", 2)
    assert open_ends({"log_events": hung_up[:1]}) == []  # a balancer that goes away once


def test_an_admin_client_that_goes_back_to_its_bootstrap_servers_again_and_again_is_no_proof_of_health(tmp_path: Path) -> None:
    words = "Rebootstrapping with Cluster(id = null, nodes = [kafka-1:9092 (id: -1 rack: null isFenced: false)], partitions = []"
    place = "(org.apache.kafka.clients.admin.internals.AdminMetadataManager:329)"
    lines = [
        f"[2026-11-21 09:00:{n:02},555] INFO [AdminClient clientId=adminclient-1] {words}, controller = null) {place}" for n in range(9)
    ]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n")
    found = scan(plan([str(tmp_path)], LogOptions()), None)
    (said,) = open_ends(found)
    assert (said["kind"], said["client"]) == ("connection", "adminclient-1")


def test_memory_that_ran_out_in_a_log_of_nobody_is_said() -> None:
    ran_out = FAULTS.row(
        {"scope": "", "fault": "out-of-memory", "fatal": False, "file": "app.log", "line": 7, "root_message": "Java heap space"}
    )
    (said,) = open_ends({"faults": [ran_out]})
    assert (said["file"], said["line"], said["name"]) == ("app.log", 7, "Java heap space")
    assert open_ends({"faults": [{**ran_out, "fatal": True}]}) == []


def test_a_topic_with_errors_to_the_end_of_the_log_is_said() -> None:
    errors = [told(n, "metadata-error", topic="orders", detail={"error": "LEADER_NOT_AVAILABLE"}) for n in (15, 17, 19)]
    (said,) = open_ends({"log_events": errors})
    assert (said["kind"], said["topic"], said["name"]) == ("topic-unread", "orders", "LEADER_NOT_AVAILABLE")
    assert open_ends({"log_events": errors[:2]}) == []  # a topic that was just created


def test_a_topic_whose_writes_are_refused_to_the_end_of_the_log_is_said() -> None:
    refused = [told(n, "produce-error", topic="orders", detail={"error": "NOT_LEADER_OR_FOLLOWER"}) for n in (15, 17, 19)]
    twice = [told(n, "produce-error", topic="orders", detail={"other_tp": "orders-0"}) for n in (15, 17, 19)]  # the same, in other words
    (said,) = open_ends({"log_events": refused + twice})
    assert (said["kind"], said["topic"], said["name"]) == ("topic-unwritten", "orders", "NOT_LEADER_OR_FOLLOWER")
    assert open_ends({"log_events": refused[:1]}) == []  # a leader that moved


def test_an_election_lost_at_the_end_is_said() -> None:
    lost = [told(18, "election-failed", role="kafka-broker")]
    (said,) = open_ends({"log_events": lost})
    assert said["kind"] == "election"
    assert open_ends({"log_events": [*lost, told(19, "quorum-state", to_state="Follower", role="kafka-broker")]}) == []


def test_an_election_without_an_end_is_said() -> None:
    looking = [told(n, "quorum-state", to_state=state, role="kafka-broker") for n, state in ((17, "Unattached"), (18, "Candidate"))]
    (said,) = open_ends({"log_events": looking})
    assert said["kind"] == "election"
    assert open_ends({"log_events": [*looking, told(19, "quorum-state", to_state="Follower", role="kafka-broker")]}) == []


def test_tasks_that_were_cancelled_without_a_word_why_are_said() -> None:
    cancelled = told(3, "task-transition", to_state="CANCELING")
    (said,) = open_ends({"log_events": [cancelled]})
    assert (said["kind"], said["at"]) == ("cancelled", T0 + timedelta(seconds=3))
    assert open_ends({"log_events": [cancelled, told(2, "job-state", to_state="CANCELLING")]}) == []


def test_a_taskmanager_that_has_not_reached_the_jobmanager_yet_is_said() -> None:
    tried = [told(n, "resourcemanager-unresolved", address="jm:6123") for n in (0, 10)]
    (said,) = open_ends({"log_events": tried})
    assert (said["kind"], said["name"], said["address"]) == ("registration", "worker.log", "jm:6123")
    assert open_ends({"log_events": [*tried, told(12, "resourcemanager-registered", address="jm:6123")]}) == []


def test_a_container_of_nobody_known_is_named_where_it_was_killed() -> None:
    killed = told(0, "container-memory-exceeded", text="Container [pid=8,containerID=container_e07_1_0904_01_000002] is running beyond …")
    (said,) = open_ends({"log_events": [killed]})
    assert (said["kind"], said["resource"]) == ("container", "container_e07_1_0904_01_000002")
    assert open_ends({"log_events": [killed, told(1, "job-state")]}) == []


@pytest.mark.parametrize(
    "last",
    [
        event(4, "query-progress", 1, "q"),
        event(4, "query-stopped", None, "q"),
        event(4, "spark-application-ended"),
        event(4, "query-failed", None, "q"),
        event(4, "query-started", None, "another"),
    ],
    ids=lambda e: e["signature"],
)
def test_a_log_of_which_the_batch_is_known_hides_none(last: Row) -> None:
    assert open_ends({"log_events": [*STARTED, last]}) == []


def test_checkpoints_of_beam_hide_two_readers_unless_the_logs_are_here() -> None:
    def reader(checkpoint: int, connector: str = "beam") -> dict[str, list[Row]]:
        place = {"scope": "", "job": "j", "path": f"/c/j/chk-{checkpoint}/_metadata", "checkpoint": checkpoint}
        files = [CHECKPOINT_FILES.row({**place, "kind": "checkpoint", "state": "complete"})]
        return {
            "checkpoint_files": files,
            "splits": [SPLITS.row({**place, "operator": "o", "subtask": 0, "role": "reader", "connector": connector})],
        }

    assert [(row["kind"], row["name"]) for row in open_ends(reader(4))] == [("beam-checkpoint", "j")]
    assert open_ends({**reader(4), "jobs_seen": [{"job": "j"}]}) == []
    assert open_ends(reader(1)) == [], "its first checkpoint is number 1: it was never restored"
    assert open_ends(reader(4, "kafka")) == []


def scanned(fixture: str) -> dict[str, list[Row]]:
    made = plan([str(ROOT / "fixtures" / fixture)], LogOptions())
    try:
        return scan(made, None)
    finally:
        made.close()


def test_what_ignore_leaves_out_is_named(engine: Engine) -> None:
    tables = scanned("incidents/ill/broker-shrink-restart-loop/raw")
    everything = (CodeFilter("BRK101", "Source*"), CodeFilter("RST101"))
    report = judged(Evidence(tables), RunOptions(ignore=everything), engine, command="triage", version="1")
    assert "not judged, left out by --ignore: RST101" in report.notes
    assert "1 finding left out by --ignore (BRK101)" in report.notes
    assert all(f.code not in ("BRK101", "RST101") for f in report.findings)


def test_since_does_not_count_the_attempts_anew(engine: Engine) -> None:
    tables = scanned("incidents/ill/broker-shrink-restart-loop/raw")
    report = judge(tables, engine.session, command="triage", version="1", since=timedelta(minutes=1))
    said = [moment.says for moment in report.verdicts[0].timeline if moment.says.startswith("attempt ")]
    assert [words.split()[1] for words in said] == ["4", "5", "6"]


def test_a_damaged_archive_whose_lines_were_read_is_read_in_part(tmp_path: Path) -> None:
    """Exit code 3 is for what could not be read: lines that tell nothing were read all the same."""
    lines = "".join(f"2026-11-21 09:00:{n % 60:02},000 INFO  org.example.Quiet [] - line {n} of {n * 7919}\n" for n in range(20_000))
    packed = gzip.compress(lines.encode())
    (tmp_path / "taskmanager.log.gz").write_bytes(packed[: len(packed) // 2])
    made = plan([str(tmp_path)], LogOptions())
    tables = scan(made, None)
    made.close()
    assert (len(tables["log_events"]), [source["state"] for source in tables["sources"]]) == (0, ["partial"])


def test_a_failure_that_only_follows_from_another_is_said_and_not_passed_over() -> None:
    def fault(name: str, *, consequence: bool, at: datetime | None = T0) -> Row:
        known = {"scope": "", "file": "jobmanager.log", "line": 1, "job": None, "attempt": None, "at": at, "task": "Source: files"}
        root = "org.apache.flink.runtime.operators.coordination.TaskNotRunningException"
        return FAULTS.row({**known, "fault": name, "fatal": True, "consequence": consequence, "root_exception": root})

    (said,) = open_ends({"faults": [fault("partition-gone", consequence=True)]})
    assert (said["kind"], said["task"], said["name"]) == ("only-consequences", "Source: files", "TaskNotRunningException")
    assert open_ends({"faults": [fault("partition-gone", consequence=True), fault("unknown", consequence=False)]}) == []
    assert open_ends({"faults": [fault("worker-left", consequence=True)]}) == []


def test_a_bootstrap_entry_that_does_not_resolve_is_said_unless_another_answered() -> None:
    left_out = told(0, "bootstrap-unresolvable", address="kafka-3:9092")
    (said,) = open_ends({"log_events": [left_out]})
    assert (said["kind"], said["address"]) == ("unresolved", "kafka-3:9092")
    assert open_ends({"log_events": [left_out, told(1, "cluster-reached", client="consumer-1")]}) == []


@pytest.mark.parametrize(("since", "said"), [(30, True), (5, False), (None, False)])
def test_a_window_behind_the_start_of_a_job_says_what_it_cannot_show(since: int | None, said: bool) -> None:
    """Two readers of a split are dealt when a job is restored, and read on for ever."""
    restored = LOG_EVENTS.row({"scope": "", "at": datetime(2026, 11, 21, 9, 0, 10, tzinfo=timezone.utc), "signature": "job-restored"})
    begin = None if since is None else datetime(2026, 11, 21, 9, 0, since, tzinfo=timezone.utc)
    clauses = starts_before(begin, {"log_events": [restored]})
    assert [("at 09:00:10 UTC, before --since" in clause) for clause in clauses] == [True] * said


def log(name: str, minutes: int, lines: int, **more: object) -> Row:
    place = {"scope": "", "as_of": T0 + timedelta(hours=1), "file": name, "role": "taskmanager", "zone": "stated", "lines": lines}
    return LOG_FILES.row({**place, "first_at": T0, "last_at": T0 + timedelta(minutes=minutes), **more})


def test_a_log_that_ends_while_its_twin_goes_on_is_asked_about() -> None:
    dead, alive = log("tm-1.log", 20, 600), log("tm-2.log", 60, 1800)
    (said,) = open_ends({"log_files": [log("tm-a/flink.log", 20, 600), log("tm-b/flink.log", 60, 1800)]})
    assert (said["name"], said["resource"]) == ("tm-a/flink.log", "tm-b/flink.log")
    (said,) = open_ends({"log_files": [dead, alive]})
    assert (said["kind"], said["name"], said["resource"], said["lasted_seconds"]) == ("process", "tm-1.log", "tm-2.log", 2400.0)


@pytest.mark.parametrize(
    "other",
    [
        log("tm-2.log", 25, 750),  # saved a little later
        log("tm-2.log", 60, 60_000),  # far busier: another kind of work
        log("server.log", 60, 1800),
        log("tm-2.log", 60, 1800, role="jobmanager"),
        log("tm-2.log", 60, 1800, zone="inferred"),  # its clock may be another
    ],
    ids=["saved-later", "busier", "another-word", "another-role", "another-clock"],
)
def test_a_log_without_a_twin_is_not_asked_about(other: Row) -> None:
    assert open_ends({"log_files": [log("tm-1.log", 20, 600), other]}) == []


def test_a_log_that_another_one_continues_or_that_shows_why_it_ends_is_not_asked_about() -> None:
    dead, alive = log("tm-1.log", 20, 600), log("tm-2.log", 60, 1800)
    later = T0 + timedelta(minutes=20, seconds=1)
    rotated = log("tm-1.log.2", 60, 1200, first_at=later)
    assert open_ends({"log_files": [dead, alive, rotated]}) == []
    stopped = event(1200, "signal-received") | {"file": "tm-1.log", "role": "taskmanager"}
    assert open_ends({"log_files": [dead, alive], "log_events": [stopped]}) == []
    released = event(1201, "worker-terminated") | {"file": "jm.log", "role": "jobmanager"}
    assert open_ends({"log_files": [dead, alive], "log_events": [released]}) == []


def test_logs_that_end_long_before_until_are_said() -> None:
    (said,) = ends_early(T0 + timedelta(hours=2), {"": T0 + timedelta(hours=1)})
    assert "2026-11-21 10:00:00 UTC" in said
    assert ends_early(T0 + timedelta(minutes=65), {"": T0 + timedelta(hours=1)}) == []
    assert ends_early(None, {"": T0}) == []
