"""Commands that collect for themselves and judge: facts first, findings after, the same from a bundle, nothing lost without Java."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import jsonschema
import pytest
from kafka.protocol.metadata import MetadataResponse

from analyzers.bundle import read_bundle
from analyzers.derived import derive
from analyzers.diagnosis.diagnose import judge
from analyzers.report.report import Report
from analyzers.report.schema import report_schema
from analyzers.rules.catalogue import load_rules
from analyzers.tables import GROUPS, LOG_FILES, SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.kafka_topic_ends import topic_ends
from cli.engine.spark import Engine
from cli.main import run
from cli.options.shared import CodeFilter, RunOptions
from cli.renderers import json as as_json
from cli.renderers import terminal as as_terminal
from cli.renderers.lag_listing import render as lag_listing
from cli.renderers.wording import all_clear
from cli.runs import broker_health, checkpoint_inspect, lag_report
from cli.runs.evidence import Interrupted
from cli.runs.run import Run, Subject, nothing_live
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, ExitCode
from cli.shell.output import emit, exit_code, show_facts
from tests.kafka_servers import FakeBroker, refusing, serving, silent

ROOT = Path(__file__).parent.parent
RECORDED = ROOT / "fixtures" / "checkpoints" / "recorded"
HEALTHY = RECORDED / "healthy-rolling-broker-restart" / "101d408fcf85d30d51765a632da32410"
BEAM = RECORDED / "beam-duplicate-splits-rescaled"


def judged(engine: Engine, subject: Subject, collect: Callable[[], Evidence], **options: object) -> Report:
    return Run(subject, collect, RunOptions(**options), "1").report(engine)  # type: ignore[arg-type]  # each test names its own


def health(*entries: str, **more: object) -> Callable[[], Evidence]:
    return broker_health.collect([",".join(entries)], timeout_seconds=2.0, **more)  # type: ignore[arg-type]  # as above


def test_a_living_cluster_is_clean(engine: Engine) -> None:
    topic = MetadataResponse.MetadataResponseTopic
    alone = topic.MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1], offline_replicas=[])
    with serving(FakeBroker(topics=[topic(name="orders", partitions=[alone])]).talk) as address:
        report = judged(engine, broker_health.BROKER_HEALTH, health(address))
    assert (report.findings, report.defects) == ([], [])
    # this broker answers no DescribeConfigs, and is too old for the others
    assert [(n.code, "DESCRIBE_CONFIGS" in n.because, "too old" in n.because) for n in report.not_checked] == [
        ("BRK213", True, False), ("BRK217", False, True), ("BRK218", False, True),
    ]  # fmt: skip
    assert {"BRK111", "BRK112", "BRK211", "BRK212"} <= set(report.clean)
    assert report.looked_at == "1 bootstrap server, 1 broker, 1 partition of 1 topic"
    assert exit_code(report) == ExitCode.CLEAN
    assert not broker_health.suffers(report)


def test_a_hung_entry_is_a_verdict_with_the_odds_of_this_client(engine: Engine) -> None:
    with serving(FakeBroker().talk) as alive, serving(silent) as one, serving(silent) as two:
        report = judged(
            engine, broker_health.BROKER_HEALTH, health(alive, one, two, client=broker_health.ClientOptions("2.4.1", parallelism=8))
        )
    verdict = report.verdicts[0]
    assert (verdict.cause, verdict.reason, verdict.code) == ("broker-unreachable", "hung", "BRK111")
    assert verdict.subject["address"] == [one, two]
    assert "kafka-clients 2.4.1, 2 of 3 entries hung, 8 clients must all start" in verdict.says
    assert report.facts["forecast"][0]["clients"] == 8
    assert exit_code(report) == ExitCode.FINDINGS


def test_no_cluster_at_all_is_a_finding_and_not_a_failure_to_look(engine: Engine) -> None:
    with refusing() as gone:
        report = judged(engine, broker_health.BROKER_HEALTH, health(gone))
    assert [v.code for v in report.verdicts] == ["BRK111"]
    assert [(s.name, s.state) for s in report.sources if s.state == "failed"] == [("topics", "failed")]
    assert {n.code: n.because for n in report.not_checked}["BRK211"].startswith("no broker told its partitions")
    assert exit_code(report) == ExitCode.FINDINGS


def test_what_a_broker_advertises_and_nobody_reaches_is_the_listener_trap(engine: Engine) -> None:
    with refusing() as nowhere:
        host, port = nowhere.split(":")
        with serving(FakeBroker(advertised={1: (host, int(port))}).talk) as entry:
            report = judged(engine, broker_health.BROKER_HEALTH, health(entry))
    assert (report.verdicts[0].code, report.verdicts[0].reason) == ("BRK112", "advertised-listeners")
    assert nowhere in report.verdicts[0].says


def test_a_bundle_says_what_the_live_run_said(engine: Engine, tmp_path: Path) -> None:
    with serving(FakeBroker().talk) as alive, serving(silent) as one, serving(silent) as two:
        live = judged(
            engine, broker_health.BROKER_HEALTH, health(alive, one, two, topics=["orders"]), save=tmp_path / "bundle", redact=False
        )
    again = judged(engine, broker_health.BROKER_HEALTH, nothing_live, bundle=tmp_path / "bundle")
    assert as_json.render(again) == as_json.render(live)
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(as_json.render(live)))


def test_logs_are_judged_together_with_the_probe_and_tell_the_client(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "taskmanager.log").write_text(
        "2026-11-21 09:31:05,120 INFO  org.apache.kafka.common.utils.AppInfoParser [] - Kafka version: 2.4.1\n", encoding="utf-8"
    )
    with serving(FakeBroker().talk) as alive, serving(silent) as one, serving(silent) as two:
        look = health(alive, one, two)
        report = Run(broker_health.BROKER_HEALTH, look, RunOptions(), "1", logs=[str(tmp_path)]).report(engine)
    assert [(row["client_version"], row["assumed"]) for row in report.facts["forecast"]] == [("2.4.1", False)]
    assert "BRK101" in report.clean


def test_only_rules_about_what_was_collected_are_named(engine: Engine) -> None:
    with serving(FakeBroker().talk) as address:
        report = judged(engine, broker_health.BROKER_HEALTH, health(address))
        asked = judged(engine, broker_health.BROKER_HEALTH, health(address), only=(CodeFilter("RST101"),))
    named = set(report.clean) | {n.code for n in report.not_checked}
    assert named < {rule.code for rule in load_rules()}
    assert "BRK101" not in named
    assert [n.code for n in asked.not_checked] == ["RST101"], "a rule asked for by name is never passed over in silence"


def test_duplicate_splits_are_a_verdict_and_a_healthy_job_has_none(engine: Engine) -> None:
    report = judged(engine, checkpoint_inspect.CHECKPOINT_INSPECT, checkpoint_inspect.collect([str(BEAM)]))
    assert (report.verdicts[0].cause, report.verdicts[0].code, report.verdicts[0].reason) == ("duplicate-split", "SPL104", "beam")
    assert {row["problem"] for row in report.facts["split_audit"]} >= {"held-twice", "went-back"}
    well = judged(engine, checkpoint_inspect.CHECKPOINT_INSPECT, checkpoint_inspect.collect([str(HEALTHY)]))
    assert (well.findings, well.verdicts) == ([], [])
    assert exit_code(well) == ExitCode.CLEAN


def test_a_damaged_newest_checkpoint_is_a_finding(engine: Engine, tmp_path: Path) -> None:
    shutil.copytree(HEALTHY, tmp_path / "job")
    newest = max((tmp_path / "job").glob("chk-*/_metadata"), key=lambda p: int(p.parent.name[4:]))
    newest.write_bytes(newest.read_bytes()[:20000])
    report = judged(engine, checkpoint_inspect.CHECKPOINT_INSPECT, checkpoint_inspect.collect([str(tmp_path)]))
    assert report.verdicts[0].code == "CKP304"
    assert exit_code(report) == ExitCode.FINDINGS


def test_a_lag_report_of_a_bundle(engine: Engine) -> None:
    bundle = ROOT / "fixtures" / "LAG101" / "fires"
    report = judged(engine, lag_report.LAG_REPORT, nothing_live, bundle=bundle)
    assert (report.verdicts[0].code, report.verdicts[0].cause) == ("LAG101", "offset-reset")
    assert report.notes[0].startswith("group orders-enrichment: ")
    assert set(report.facts) == {"groups", "members", "committed_offsets", "log_offsets", "lag_status", "lag_truth"}
    assert {row["truth"] for row in report.facts["lag_truth"]} >= {"below-retention"}


class Unstartable:
    """An engine whose Java is there and does not start."""

    def context(self) -> None:
        raise CannotLook("Spark did not start.", "Try `diag doctor`.")

    def prepare_session(self) -> None:
        pass


def test_without_spark_the_facts_are_reported_and_no_rule_is_clean() -> None:
    collect = checkpoint_inspect.collect([str(HEALTHY)])
    report = Run(checkpoint_inspect.CHECKPOINT_INSPECT, collect, RunOptions(), "1").report(Unstartable())  # type: ignore[arg-type]
    assert report.facts["checkpoint_files"]
    assert report.clean == []
    assert {n.because for n in report.not_checked} == {"Spark did not start"}
    assert [(s.name, s.state) for s in report.sources if s.kind == "spark"] == [("Spark", "failed")]
    assert exit_code(report) == ExitCode.CANNOT_LOOK


def test_without_spark_only_the_rules_that_were_chosen_are_not_checked() -> None:
    collect = checkpoint_inspect.collect([str(HEALTHY)])
    every = Run(checkpoint_inspect.CHECKPOINT_INSPECT, collect, RunOptions(), "1").report(Unstartable())  # type: ignore[arg-type]
    code = every.not_checked[0].code
    options = RunOptions(ignore=(CodeFilter(code),))
    report = Run(checkpoint_inspect.CHECKPOINT_INSPECT, collect, options, "1").report(Unstartable())  # type: ignore[arg-type]
    assert [n.code for n in report.not_checked] == [n.code for n in every.not_checked[1:]]


class Stopped(Unstartable):
    def context(self) -> None:
        raise KeyboardInterrupt


def test_interrupted_while_judging_keeps_the_facts() -> None:
    collect = checkpoint_inspect.collect([str(HEALTHY)])
    with pytest.raises(Interrupted) as early:
        Run(checkpoint_inspect.CHECKPOINT_INSPECT, collect, RunOptions(), "1").report(Stopped())  # type: ignore[arg-type]
    assert early.value.report.facts["checkpoint_files"]
    assert early.value.report.notes[-1].startswith("stopped before the rules had judged")
    assert isinstance(early.value.stop, KeyboardInterrupt)


def ctrl_c() -> Evidence:
    raise KeyboardInterrupt


@pytest.mark.parametrize("form", ["json", "plain", "terminal"])
def test_a_look_that_is_interrupted_does_not_read_as_an_empty_cluster(form: str) -> None:
    stdout, stderr = io.StringIO(), io.StringIO()
    run = Run(lag_report.LAG_REPORT, ctrl_c, RunOptions(outputs=(form,), facts_only=True), "1")
    with pytest.raises(KeyboardInterrupt):  # 130, by cli.shell.process
        run.emit_listing(Environment(stdout, stderr), lag_listing)
    said = stderr.getvalue() if form == "terminal" else stdout.getvalue()
    assert "stopped before the answers were in" in said
    assert "0 groups" not in said
    assert "no consumer groups" not in said


def test_facts_are_told_before_any_rule_has_judged(engine: Engine) -> None:
    told: list[Report] = []
    collect = checkpoint_inspect.collect([str(BEAM)])
    Run(checkpoint_inspect.CHECKPOINT_INSPECT, collect, RunOptions(), "1", collected=told.append).report(engine)
    assert [(bool(r.facts["splits"]), r.findings, r.clean) for r in told] == [(True, [], [])]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["broker-health", "--bundle", "/no/such/bundle", "--facts-only"], "/no/such/bundle"),
        (["lag-report", "--bundle", "/no/such/bundle", "--facts-only"], "/no/such/bundle"),
        (["checkpoint-inspect", str(HEALTHY), "--bundle", "b"], "bundle"),
        (["lag-report", "-b", "a:1", "--only", "NOPE999"], "NOPE999"),
        (["broker-health", "-b", "a:1", "--client-version", "new"], "--client-version"),
        (["broker-health", "--what-if", "entries=3 ded=1"], "dead="),
        (["broker-health", "--what-if", "remove=7"], "--bootstrap-server"),
    ],
)
def test_wrong_options_start_nothing(arguments: list[str], says: str) -> None:
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    assert run(arguments, environment) == ExitCode.USAGE
    assert says in environment.stderr.getvalue()  # type: ignore[attr-defined]


def test_facts_of_a_bundle_need_no_network(tmp_path: Path) -> None:
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    bundle = ROOT / "fixtures" / "BRK111" / "fires"
    assert run(["broker-health", "--bundle", str(bundle), "--facts-only", "-o", "json"], environment) == ExitCode.FINDINGS
    report = json.loads(environment.stdout.getvalue())  # type: ignore[attr-defined]
    assert [row["p_fail_client"] for row in report["facts"]["forecast"]] == pytest.approx([1 / 3])


def test_a_question_needs_neither_network_nor_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*arguments: object, **named: object) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr("socket.socket.connect", nobody)
    monkeypatch.setattr("socket.getaddrinfo", nobody)
    monkeypatch.setattr("cli.engine.spark.Engine.start", nobody)
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    old, new = "entries=12 dead=4 client=2.4.1 parallelism=64", "entries=12 dead=4 client=2.8.1 parallelism=64"
    assert run(["broker-health", "--what-if", old, "--what-if", new, "-o", "json"], environment) == ExitCode.CLEAN
    report = json.loads(environment.stdout.getvalue())  # type: ignore[attr-defined]
    jsonschema.Draft202012Validator(report_schema()).validate(report)
    first, second = report["forecast"]
    assert (first["entries"], first["dead"], first["kind"], first["client_version"], first["clients"]) == (12, 4, "black-hole", "2.4.1", 64)
    assert (first["timeout_seconds"], first["p_fail_client"]) == (60, pytest.approx(1 / 3))
    assert first["expected_starts"] == pytest.approx(1.5**64)
    assert first["fixes"][0]["p_fail_start"] == 0
    assert (second["p_fail_start"], second["fixes"]) == (0, [])


def test_a_terminal_shows_the_facts_once_and_the_verdict_last() -> None:
    """Once while Spark starts: not a second time above the findings."""
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    options = RunOptions(outputs=("terminal",), bundle=ROOT / "fixtures" / "LAG101" / "fires", facts_only=True)
    facts = Run(lag_report.LAG_REPORT, nothing_live, options, "1").report()
    whole = as_terminal.render(facts)
    assert show_facts(facts, options.outputs, environment)
    emit(facts, options.outputs, "critical", environment, facts_shown=True)
    text = environment.stdout.getvalue()  # type: ignore[attr-defined]
    assert text.count("Looked at") == 1
    assert text.count("committed offsets (") == 1
    assert [line for line in text.splitlines() if line] == [line for line in whole.splitlines() if line]


@pytest.mark.parametrize("outputs", [("plain",), ("json",), ("terminal=report.txt",), ()])
def test_only_a_screen_gets_facts_early(outputs: tuple[str, ...]) -> None:
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    assert not show_facts(Report("diag", "1", "lag-report", None, (None, None)), outputs, environment)
    assert environment.stdout.getvalue() == ""  # type: ignore[attr-defined]


def test_an_all_clear_says_that_only_a_part_was_seen(engine: Engine) -> None:
    """The groups of a dead coordinator are not known to be well."""
    whole: dict[str, list[Row]] = {name: [] for name in ("members", "committed_offsets", "log_offsets")}
    whole["groups"] = [GROUPS.row({"scope": "", "group": "enrich", "state": "Empty", "members": 0, "simple": True})]
    why = "groups coordinated by broker 2 (kafka-2:9092) are unknown: refused"
    source = SOURCES.row({"scope": "", "name": "consumer groups", "kind": "kafka", "state": "partial", "why": why})
    report = judged(engine, lag_report.LAG_REPORT, lambda: Evidence({**whole, "sources": [source]}))
    said = all_clear(report)
    assert "nothing wrong found; 1 source could be read only in part, so this holds for what was seen" in said
    assert why in as_terminal.render(report).replace("\n           ", " ")


def test_a_named_group_without_any_commit_is_told(engine: Engine) -> None:
    """As when its topic was deleted: Kafka forgets the commits, and nothing is left to compare."""
    whole: dict[str, list[Row]] = {name: [] for name in ("members", "committed_offsets", "log_offsets")}
    at = datetime(2026, 11, 22, 21, 1, tzinfo=timezone.utc)
    group = {"scope": "", "as_of": at, "state": "Empty", "members": 0, "simple": True}
    whole["groups"] = [GROUPS.row({**group, "group": "enrich", "asked": True}), GROUPS.row({**group, "group": "other", "asked": False})]
    whole["sources"] = [SOURCES.row({"scope": "", "name": "consumer groups", "kind": "kafka", "state": "ok"})]
    report = judged(engine, lag_report.LAG_REPORT, lambda: Evidence(whole))
    (said,) = [note for note in report.notes if "no committed offset" in note]
    assert said.startswith("group enrich has no committed offset and no member: ")
    assert said.endswith("or the topics that it read were deleted")


def test_a_topic_that_is_gone_is_not_called_a_silent_broker(engine: Engine) -> None:
    with serving(FakeBroker().talk) as address:
        ends = topic_ends([address], timeout_seconds=2.0)
        read = checkpoint_inspect.collect([str(HEALTHY)])
        report = judged(engine, checkpoint_inspect.CHECKPOINT_INSPECT, checkpoint_inspect.with_brokers(read, ends, address))
        asked = judged(engine, broker_health.BROKER_HEALTH, health(address, topics=["orders"]))
    (gone,) = [finding for finding in report.findings if finding.code == "LAG306"]
    assert gone.reason == "topic-gone"
    assert "no broker was asked" not in str([*report.notes, *report.not_checked])
    because = {n.code: n.because for n in asked.not_checked}["BRK212"]
    assert because.startswith(f"topic orders does not exist on the cluster of {address}")
    assert all_clear(asked).startswith(f"Could not look at topics: {because}. ")
    assert all_clear(asked).count("does not exist") == 1


def test_lines_that_nobody_knows_are_no_evidence_of_health() -> None:
    unknown = LOG_FILES.row({"scope": "", "file": "app.log", "lines": 1})
    tables: dict[str, list[Row]] = {"log_files": [unknown], "log_events": [], "log_counts": []}
    report = judge(tables, lambda: pytest.fail("no rule has a row"), command="triage", version="0")
    assert not report.clean
    assert any("none of the files looks like" in one.because for one in report.not_checked)
    assert exit_code(report) == ExitCode.CANNOT_LOOK
    known = judge(
        {**tables, "log_files": [{**unknown, "role": "taskmanager"}]}, lambda: pytest.fail("no rows"), command="triage", version="0"
    )
    assert known.clean


@pytest.mark.parametrize(
    ("code", "lacking", "because"),
    [
        ("LAG505", {"metrics": None}, "the JobManager's answers hold no watermark of a source"),
        ("LAG506", {"subtasks": ("busy", "backpressured")}, "the JobManager's answers hold no busy or back-pressured share"),
    ],
)
def test_answers_without_the_metrics_of_a_rule_clear_nothing(
    engine: Engine, code: str, lacking: dict[str, tuple[str, ...] | None], because: str
) -> None:
    tables = {name: [dict(row) for row in rows] for name, rows in read_bundle(ROOT / "fixtures" / code / "fires").tables.items()}
    rules = [rule for rule in load_rules() if rule.code == code]
    assert judge(tables, engine.session, command="triage", version="1", rules=rules).findings
    for name, columns in lacking.items():
        tables[name] = [] if columns is None else [row | dict.fromkeys(columns) for row in tables[name]]
    report = judge(tables, engine.session, command="triage", version="1", rules=rules)
    assert [(n.code, n.because) for n in report.not_checked] == [(code, because)]
    assert not report.clean


def test_a_group_that_was_watched_for_too_short_a_time_is_not_clean(engine: Engine) -> None:
    tables = read_bundle(ROOT / "fixtures" / "LAG105" / "quiet-too-short").tables
    report = judge(tables, engine.session, command="lag-report", version="1")
    because = {n.code: n.because for n in report.not_checked}
    assert "after 150 s (--samples 16 --every 10s)" in because["LAG105"]
    assert because["LAG106"] == because["LAG105"]
    assert not {"LAG105", "LAG106"} & set(report.clean)
    assert {row["says"].rpartition("; ")[2] for row in derive(tables)["lag_truth"]} == {
        "a member holds it, whose commit did not move in 25 s"
    }
