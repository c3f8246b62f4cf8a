"""However much is read, the rows stay within a bound; and what is given up depends on neither splits nor the order of reading."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.logs.scan import bound, recorder, selection
from analyzers.logs.scan.bound import AT_LEAST, MOST_ROWS, SHARES, Limits
from analyzers.logs.scan.selection import GENERIC_KEEP
from analyzers.logs.signatures.signature import Signature
from analyzers.readers.log_scan import Found, LogOptions, Tables, plan, read_splits, scan, tables
from tests.examples import examples

EXPIRED = Signature(
    "expired",
    ("expired before completing",),
    "",
    "",
    r"^Checkpoint \d+ of job (?P<job>[0-9a-f]{32}) expired",
    keep=(2000, 500),
    family="life",
)
STATE = Signature(
    "job-state", ("switched from state",), "", "", r"^Job \w+ \((?P<job>[0-9a-f]{32})\) switched from state", keep=(40, 10), family="life"
)
UNREACHED = Signature(
    "connection-failed",
    ("Connection to node ",),
    "",
    "",
    r"Connection to node -1 \((?P<address>\S+)\)",
    keep=(20, 20),
    apart=("address",),
)
KNOWN = (EXPIRED, STATE, UNREACHED)


Inside = tuple[datetime | timedelta | None, datetime | timedelta | None]
BEGIN = datetime(2026, 11, 1, tzinfo=timezone.utc)


def _log(random: Random, lines: int) -> str:
    at, out = datetime(2026, 11, 1, tzinfo=timezone.utc), []
    for number in range(lines):
        at += timedelta(milliseconds=random.randrange(-500, 3000))
        job = f"{random.randrange(6):032x}"
        says = random.choice((
            f"INFO  A [] - Checkpoint {number} of job {job} expired before completing.",
            f"INFO  B [] - Job orders ({job}) switched from state RUNNING to FAILING.",
            f"WARN  K [] - Connection to node -1 (10.0.0.{random.randrange(3)}:9092) could not be established",
            f"ERROR C [] - cannot do {chr(97 + random.randrange(20))}thing",
            "INFO  D [] - all is well",
        ))  # fmt: skip
        out.append(f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d} {says}\n")
    return "".join(out)


def _in_any_order(paths: list[str], split_bytes: int, random: Random, inside: Inside) -> Tables:
    made = plan(paths, LogOptions(split_bytes=split_bytes, inside=inside))
    random.shuffle(made.tasks)
    found = Found()
    sated = found.sated
    for task in made.tasks:
        found.add(list(read_splits(task, signatures=KNOWN, sated=sated)))
        if random.randrange(3):  # a task may have begun before the last one was put together
            sated = found.sated
    return tables(made, found.parts(), found.limits)


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MOST_ROWS": 40, "MOST_TOLD_ROWS": 60, "GENERIC_ROWS": 100, "AT_LEAST": (3, 2), "SLACK": 1, "MOST_JOBS": 2}.items():
        monkeypatch.setattr(bound, name, value)
    for module in (bound, selection, recorder):  # fewer than there are kinds of errors
        monkeypatch.setattr(module, "GENERIC_GROUPS", 15)


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    lines=st.integers(1, 600),
    split_bytes=st.integers(300, 20_000),
    inside=st.sampled_from([(None, None), (BEGIN + timedelta(minutes=4), BEGIN + timedelta(minutes=8)), (timedelta(minutes=3), None)]),
)
def test_what_is_given_up_depends_on_neither_splits_nor_order(
    tight: None, tmp_path: Path, seed: int, lines: int, split_bytes: int, inside: Inside
) -> None:
    random = Random(seed)
    paths = [str(tmp_path / name) for name in ("jobmanager.log", "taskmanager.log", "other.log")]
    for path in paths:
        Path(path).write_text(_log(random, random.randrange(lines + 1) + 1))
    at_once = scan(plan(paths, LogOptions(inside=inside)), None, KNOWN)
    in_pieces = _in_any_order(paths, split_bytes, random, inside)
    assert in_pieces == at_once
    known = [row for row in at_once["log_events"] if row["signature"] in ("expired", "job-state", "connection-failed")]
    apart = 1 if inside == (None, None) else 2
    # groups: of six jobs or three addresses, in logs of three roles
    assert len(known) <= max(2 * 60, apart * 18 * 5) + max(2 * 40, apart * (18 + 9) * 5)


@pytest.mark.parametrize("inside", [(BEGIN + timedelta(hours=20), BEGIN + timedelta(hours=20, minutes=30)), (timedelta(minutes=30), None)])
def test_a_long_storm_uses_up_no_room_of_a_window(tmp_path: Path, inside: Inside) -> None:
    path = tmp_path / "jobmanager.log"
    path.write_text(_log(Random(1), 120_000))
    every = plan([str(path)], LogOptions(inside=inside))
    assert every.inside is not None
    since, until = (BEGIN if ms is None else datetime.fromtimestamp(ms / 1000, timezone.utc) for ms in every.inside)
    until = until if inside[1] else since + timedelta(minutes=30)
    within: dict[bool, set[str]] = {}
    for apart in (True, False):
        found = scan(plan([str(path)], LogOptions(inside=inside if apart else (None, None))), None, KNOWN)
        assert len(found["log_events"]) < 120_000 / 3
        within[apart] = {row["text"] for row in found["log_events"] if row["signature"] == "job-state" and since <= row["at"] <= until}
    lines = [line for line in path.read_text().splitlines() if "switched from state" in line and since <= _at(line) <= until]
    assert len(within[True]) >= min(len(lines), 6 * sum(AT_LEAST)) > len(within[False])


def _at(line: str) -> datetime:
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=timezone.utc)


def test_the_first_and_the_last_of_each_group_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound, "MOST_TOLD_ROWS", 900)
    path = tmp_path / "jobmanager.log"
    path.write_text(_log(Random(1), 120_000))
    made = plan([str(path)])
    found = scan(made, None, KNOWN)
    assert "the first and last of each kind" in made.notes[-1]
    kept = [row for row in found["log_events"] if row["signature"] == "expired"]
    counted = sum(row["events"] for row in found["log_counts"] if row["signature"] == "expired")
    assert counted > 20_000
    assert 6 * sum(AT_LEAST) < len(kept)
    for job in {row["job"] for row in kept}:
        assert sum(row["job"] == job for row in kept) <= 900
        times = sorted(row["at"] for row in kept if row["job"] == job)
        minutes = [row for row in found["log_counts"] if row["signature"] == "expired" and row["job"] == job]
        assert times[0] == min(row["first_at"] for row in minutes)
        assert times[-1] == max(row["last_at"] for row in minutes)


def test_a_job_that_fails_without_end_takes_no_room_of_another(tmp_path: Path) -> None:
    """Jobs of one session cluster are in one log."""
    often, seldom = f"{1:032x}", f"{2:032x}"

    def state(second: int, job: str) -> str:
        at = BEGIN + timedelta(seconds=second)
        return f"{at:%Y-%m-%d %H:%M:%S},000 INFO  B [] - Job orders ({job}) switched from state RUNNING to FAILING.\n"

    few = list(range(300, 50_000, 1200))
    lines = [state(second, often) for second in range(50_000)] + [state(second, seldom) for second in few]
    by_root = Signature("by-root", ("switched from",), "", "", r"^Job \w+ \((?P<job>[0-9a-f]{32})\)", keep=(900, 400))
    many = [replace(by_root, id=f"by-root-{number}") for number in range(5)]
    (tmp_path / "jobmanager.log").write_text("".join(sorted(lines)))
    rows = scan(plan([str(tmp_path)]), None, many)["log_events"]
    kept = Counter((row["job"], row["signature"]) for row in rows)
    assert all(kept[seldom, each.id] == len(few) for each in many)
    assert sum(kept[often, each.id] for each in many) <= MOST_ROWS < 5 * 1300


def test_each_broker_that_does_not_answer_is_kept_though_others_say_so_more_often(tmp_path: Path) -> None:
    """By a client as well as by servers, whose own lines say the same."""

    def unreached(second: int, address: str) -> str:
        at = f"{datetime(2026, 11, 1, tzinfo=timezone.utc) + timedelta(seconds=second):%Y-%m-%d %H:%M:%S},000"
        return f"{at} WARN  org.apache.kafka.clients.NetworkClient [] - Connection to node -1 ({address}) could not be established\n"

    of_server = "".join(unreached(second, "10.0.0.7:9093") for second in range(2000))
    (tmp_path / "kafka-1-server.log").write_text(of_server)
    of_client = "".join(unreached(second, "10.0.0.1:9092") + unreached(second, "10.0.0.2:9092") * (second == 900) for second in range(2000))
    (tmp_path / "taskmanager.log").write_text(of_client)
    found = scan(plan([str(tmp_path)]), None, KNOWN)
    by_role: dict[str | None, set[str]] = {}
    for row in found["log_events"]:
        by_role.setdefault(row["role"], set()).add(row["address"])
    assert by_role == {"kafka-broker": {"10.0.0.7:9093"}, "taskmanager": {"10.0.0.1:9092", "10.0.0.2:9092"}}
    assert len(found["log_events"]) == 40 + 40 + 1
    assert sum(row["events"] for row in found["log_counts"]) == 2000 + 2000 + 1


def test_a_family_is_kept_for_the_same_times_and_says_what_is_missing_between(tmp_path: Path) -> None:
    """That of which there is more decides; a hole in the found ones would read as if the coordinator had been lost all the time."""
    lost = Signature("lost", ("Coordinator lost",), "", "", keep=(30, 30), family="coordinator")
    found = Signature("found", ("Coordinator found",), "", "", keep=(10, 5), family="coordinator")

    def line(second: int, says: str) -> str:
        at = datetime(2026, 11, 1, tzinfo=timezone.utc) + timedelta(seconds=second)
        return f"{at:%Y-%m-%d %H:%M:%S},000 INFO  C [] - Coordinator {says}\n"

    (tmp_path / "taskmanager.log").write_text("".join(line(4 * n, "lost") + line(4 * n + 1, "found") * (n % 2) for n in range(200)))
    rows = scan(plan([str(tmp_path)]), None, (lost, found))["log_events"]
    said = [(row["signature"], int((row["at"] - datetime(2026, 11, 1, tzinfo=timezone.utc)).total_seconds())) for row in rows]
    before = [each for n in range(20) for each in [("lost", 4 * n), *[("found", 4 * n + 1)] * (n % 2)]]
    after = [each for n in range(191, 200) for each in [("lost", 4 * n), *[("found", 4 * n + 1)] * (n % 2)]][1:]
    assert said == [*before, *after]
    holes = [(row["signature"], row["line"], row["left_out"]) for row in rows if row["left_out"]]
    assert holes == [("found", 30, {"found": str(100 - 15), "lost": str(200 - 20 - 8)})]
    (tmp_path / "taskmanager.log").write_text("".join(line(4 * n, "lost") + line(4 * n + 1, "found") for n in range(15)))
    assert [row["left_out"] for row in scan(plan([str(tmp_path)]), None, (lost, found))["log_events"]] == [None] * 30


def test_a_smaller_share_never_keeps_more() -> None:
    for keep in ((2000, 500), (200, 50), (20, 5), (5, 1), (100, 0), GENERIC_KEEP):
        kept = [Limits({None: (share, share)}).known(("expired", None), keep) for share in SHARES]
        assert kept[0] == keep
        assert all(less[0] <= more[0] and less[1] <= more[1] for more, less in pairwise(kept))
