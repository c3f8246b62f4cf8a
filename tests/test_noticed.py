"""What was noticed: each WARN, ERROR and fault of the logs is in the report, and nothing is called well over an error that is open."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.derived import derive
from analyzers.derived.failures.engines import spoken_by_engines
from analyzers.diagnosis.diagnose import judge
from analyzers.diagnosis.next_commands import Places
from analyzers.diagnosis.noticed import noticed as noticed_in
from analyzers.diagnosis.related_rules import _FIRST_OF_FAULT, _FIRST_TO_READ, related_rule
from analyzers.logs.signatures import SIGNATURES, by_id
from analyzers.logs.signatures.meanings import FAULTS, MEANINGS, NORMAL
from analyzers.readers.log_scan import plan, scan
from analyzers.report.fleet import rows_of
from analyzers.report.noticed import Noticed
from analyzers.report.report import Report
from analyzers.rules.catalogue import load_rules
from analyzers.tables import TABLES
from cli.renderers import markdown, plain, terminal
from cli.renderers.html import render as html
from cli.renderers.wording import all_clear, is_clear
from tests.bundles import ALL, shown_by
from tests.report_samples import AT, minutes, report
from tests.test_pages import MOST_ROWS, alone

if TYPE_CHECKING:
    from analyzers.tables import Row
    from cli.engine.spark import Engine

GRAVE = ("WARN", "ERROR", "FATAL")
JOB = "c2f6ab7c1de5f3c0a9e1b5b7a3f0d9e4"
UNKNOWN = "{at} ERROR com.acme.Validator [] - Order 4711 has no price list\n"
COMMIT = (
    "{at} WARN  org.apache.kafka.clients.consumer.internals.ConsumerCoordinator [] - [Consumer clientId=billing-1, groupId=billing] "
    "Offset commit failed on partition payments-1 at offset 412: This is not the correct coordinator.\n"
)
COMPLETED = (
    "{at} INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] - Completed checkpoint {number} for job "
    f"{JOB} (12345 bytes, checkpointDuration=400 ms, finalizationTime=3 ms).\n"
)


def at(seconds: int) -> str:
    return f"{datetime(2026, 11, 2, 9, tzinfo=timezone.utc) + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S},000"


def completed(first: int, last: int) -> str:
    """Checkpoints `first` to `last`, one every ten seconds."""
    return "".join(COMPLETED.format(at=at(10 * number), number=number) for number in range(first, last + 1))


@pytest.fixture
def judged(tmp_path: Path, engine: Engine) -> Callable[[str], Report]:
    def judged(text: str) -> Report:
        (tmp_path / "log").write_text(text)
        return judge(scan(plan([str(tmp_path / "log")])), engine.session, command="triage", version="0")

    return judged


def page(of: Report) -> str:
    return " ".join(terminal.page(of, width=80).split())


class TestMeanings:
    def test_each_fault_has_one(self) -> None:
        """Texts at WARN or ERROR, texts of exceptions, and texts without a level; a progress report that carries one is a step."""
        steps = {
            "offset-listed",
            "query-progress", "kafka-client-config", "binding-answered", "rdkafka-fetch-start", "rdkafka-offset-fetched",
            "sink-transaction-resumed", "captured-tables", "publication-set",
        }  # fmt: skip
        level = re.compile(r"\b(?:TRACE|DEBUG|INFO)\b")
        faults = {s.id for s in SIGNATURES if s.where == "line" or not level.search(s.sample.partition("\n")[0])} - steps
        assert len(faults) > 150
        assert faults - set(MEANINGS) == set()

    def test_they_are_short_sentences_about_signatures(self) -> None:
        assert set(MEANINGS) <= set(by_id)
        assert not set(NORMAL) & set(FAULTS)
        assert [name for name, words in MEANINGS.items() if len(words.split()) > 20 or not words.endswith(".")] == []

    def test_a_rule_that_is_named_for_a_signature_reads_it(self) -> None:
        rules = {rule.code: rule for rule in load_rules()}
        assert [name for name, code in _FIRST_TO_READ.items() if code and name not in rules[code].signatures] == []
        assert [name for name, code in _FIRST_OF_FAULT.items() if name not in rules[code].faults] == []
        assert (related_rule("partition-commit-failed"), related_rule("error-logged"), related_rule("task-failed", "out-of-memory")) == (
            "LAG401",
            None,
            "RST402",
        )


class TestFragments:
    def test_a_pasted_line_is_too_little_and_says_what_it_means(self, judged: Callable[[str], Report]) -> None:
        found = judged(COMMIT.format(at=at(0)))
        (row,) = found.noticed
        assert (row.signature, row.code, row.count, row.level) == ("partition-commit-failed", "LAG401", 1, "WARN")
        assert {key: row.subject[key] for key in ("topic", "partition", "offset", "group")} == {
            "topic": "payments", "partition": 1, "offset": 412, "group": "billing",
        }  # fmt: skip
        assert row.next_command is not None
        assert row.next_command.endswith("--group billing")
        said = page(found)
        assert said.startswith("? Too little for a verdict: 1 line, 1 process.")
        assert "09:00:00 partition commit failed: This is not the correct coordinator (payments-1 at 412, group billing" in said
        assert "Normal for a moment when a group coordinator moves; a fault when it goes on for minutes. [LAG401]" in said
        assert "to be sure: more of this log, or diag lag-report --bootstrap-server HOST:PORT,… --group billing" in said

    def test_a_line_of_a_life_cycle_is_too_little_too(self, judged: Callable[[str], Report]) -> None:
        found = judged(completed(5, 5))
        assert (found.noticed, is_clear(found)) == ([], False)
        assert "Too little for a verdict: 1 line, 1 process." in page(found)

    def test_a_short_log_of_a_job_at_work_is_well(self, judged: Callable[[str], Report]) -> None:
        assert "Nothing wrong found" in page(judged(completed(1, 5)))


class TestErrorsThatNothingExplains:
    def test_a_log_that_ends_in_one_is_open(self, judged: Callable[[str], Report]) -> None:
        found = judged(completed(1, 40) + UNKNOWN.format(at=at(405)))
        said = page(found)
        assert "? No verdict: 1 error that no rule explains, and no checkpoint completed since." in said
        assert "Order 4711 has no price list ×1 log:41" in said
        assert not is_clear(found)

    def test_one_checkpoint_afterwards_may_have_been_under_way(self, judged: Callable[[str], Report]) -> None:
        found = judged(completed(1, 40) + UNKNOWN.format(at=at(405)) + completed(41, 41))
        assert "and only 1 checkpoint completed since" in page(found)

    def test_a_job_that_went_on_is_well_and_the_error_is_named(self, judged: Callable[[str], Report]) -> None:
        found = judged(completed(1, 20) + UNKNOWN.format(at=at(205)) + completed(21, 40))
        said = page(found)
        assert said.count("✓") == 1
        assert "the job went on after 1 error that no rule explains: 20 checkpoints completed since" in said
        assert "nothing wrong" not in said
        assert "Order 4711 has no price list" in said

    def test_one_after_the_job_was_stopped_is_over(self, judged: Callable[[str], Report]) -> None:
        graph = "org.apache.flink.runtime.executiongraph.ExecutionGraph"
        stop = f"{at(402)} INFO  {graph} [] - Job orders ({JOB}) switched from state RUNNING to CANCELLING.\n"
        found = judged(completed(1, 40) + stop + UNKNOWN.format(at=at(403)))
        assert [row.over for row in found.noticed if row.is_error] == [True]
        assert "1 error that no rule explains, after the job was stopped" in page(found)

    def test_a_number_that_few_values_fill_is_named(self, judged: Callable[[str], Report]) -> None:
        lines = "".join(f"{at(n)} ERROR org.apache.flink.Thing [] - Partition orders-{3 + n % 2} of broker 7 is lost\n" for n in range(6))
        found = judged(lines)
        assert [(row.says, row.count) for row in found.noticed] == [("Partition orders-3/4 of broker 7 is lost", 6)]

    def test_two_shapes_are_two_rows(self, judged: Callable[[str], Report]) -> None:
        lines = "".join(f"{at(n)} ERROR org.apache.flink.Thing [] - {'left' if n % 2 else 'right'} hand {n} shakes\n" for n in range(80))
        found = judged(lines)
        assert sorted((row.says, row.count) for row in found.noticed) == [("left hand # shakes", 40), ("right hand # shakes", 40)]
        assert "80 errors that no rule explains, and nothing here shows a job at work since" in page(found)

    def test_a_normal_error_is_none(self, judged: Callable[[str], Report]) -> None:
        login = f"{at(3)} ERROR org.apache.flink.shaded.curator5.org.apache.curator.ConnectionState [] - Authentication failed\n"
        found = judged(login + completed(1, 12))
        assert [(row.signature, row.normal) for row in found.noticed] == [("zookeeper-without-login", True)]
        assert "Nothing wrong found" in page(found)

    def test_warnings_do_not_speak_against_a_job_at_work(self, judged: Callable[[str], Report]) -> None:
        said = page(judged(completed(1, 20) + COMMIT.format(at=at(205)) + completed(21, 40)))
        assert "Nothing wrong found" in said
        assert "noticed 1 kind of warnings and errors, 1 line: -v has them" in said


def noticed(**values: object) -> Noticed:
    fields = {
        "signature": "error-logged", "code": None, "says": "Order # has no price list", "means": "An error that diag does not know.",
        "count": 3, "first": AT, "last": minutes(1), "subject": {}, "evidence": (), "level": "ERROR",
    }  # fmt: skip
    return Noticed(**{**fields, **values})  # type: ignore[arg-type]  # a test's shorthand


class TestFormats:
    open_ = report(clean=["BRK101"], noticed=[noticed(subject={"topic": "orders", "partition": 3, "offset": 7, "group": "<b>"})])

    def test_each_has_what_was_noticed(self) -> None:
        for text in (terminal.page(self.open_), terminal.render(self.open_), markdown.render(self.open_), html(self.open_)):
            said = re.sub(r"[\\\s]+", " ", text)
            assert re.search(r"Order (?:#|&#35;|&num;) has no price list \(orders-3 at 7, group", said), text
            assert "3 errors that no rule explains" in said
        assert "<b>" not in html(self.open_).partition("to be sure")[0].rpartition("noticed")[2]
        (line,) = (line.split("\t") for line in plain.render(self.open_).splitlines() if line.startswith("noticed"))
        assert line[1:5] == ["error-logged", "-", "ERROR", "3"]
        assert plain.render(self.open_).splitlines()[-1].startswith("no-verdict\t")

    def test_in_a_fleet_the_job_is_undecided(self) -> None:
        (row,) = rows_of("a", self.open_)
        assert (row.outcome, row.says.partition(",")[0]) == ("undecided", "No verdict: 3 errors that no rule explains")
        (row,) = rows_of("a", replace(self.open_, noticed=[noticed(completed_since=9)]))
        assert (row.outcome, row.says.partition(":")[0]) == ("clear", "the job went on after 3 errors that no rule explains")

    def test_what_a_finding_explains_is_not_said_again(self) -> None:
        well = replace(self.open_, noticed=[noticed(explained_by="BRK101")])
        assert well.unexplained == []
        assert "nothing wrong found" in all_clear(well)

    def test_a_line_of_two_kinds_is_one_row(self) -> None:
        from tests.report_samples import finding

        (one, *_) = finding().evidence
        both = replace(self.open_, noticed=[noticed(evidence=(one,)), noticed(signature="exception-logged", evidence=(one,))])
        assert len(both.unexplained) == 1


class TestAllRecordings:
    def test_each_warning_and_error_is_in_the_report(self, grid: Report, evidence: dict[str, list[Row]]) -> None:
        """In the same scope, of the same signature, and counted."""
        numbers: dict[tuple[str, str], int] = {}
        for row in grid.noticed:
            numbers[row.scope, row.signature] = numbers.get((row.scope, row.signature), 0) + row.count
        events: dict[tuple[str, str], int] = {}
        for event in spoken_by_engines(evidence["log_events"]):
            if event["level"] in GRAVE or event["signature"] in FAULTS:
                events[event["scope"], event["signature"]] = events.get((event["scope"], event["signature"]), 0) + 1
        assert len(events) > 1000 or len({scope for scope, _ in events}) < 20
        assert {key: number for key, number in events.items() if numbers.get(key, 0) < number} == {}

    def test_nothing_is_called_well_over_an_error_that_nothing_explains(self, grid: Report) -> None:
        wrong, long = [], []
        for scope in sorted({row.scope for row in grid.noticed} - {verdict.scope for verdict in grid.verdicts}):
            one = replace(alone(grid, scope), clean=["BRK101"], not_checked=[], sources=[])
            said = terminal.page(one, width=80)
            if any(row.is_error for row in one.noticed) and "nothing wrong" in " ".join(said.split()):
                wrong.append(scope)
            if said.count("\n") > MOST_ROWS:
                long.append((scope, said.count("\n")))
        assert (wrong, long) == ([], [])

    def test_healthy_recordings_stay_well(self, grid: Report) -> None:
        """None of them ends in an error that nothing explains."""
        assert {row.scope for row in grid.noticed if row.is_open and row.scope.startswith("incidents/healthy/")} == set()


def test_what_only_the_jobmanager_has_is_noticed() -> None:
    """A checkpoint that failed and an exception of its history; what a log has of them is not said twice."""
    (case,) = (case for case in ALL if case.scope == "CKP105/fires-no-shares")
    tables = derive(shown_by(case))
    rows = {row.signature: row for row in noticed_in(tables, [], [], Places(tables))}
    assert {name: (row.count, row.evidence[0].table) for name, row in rows.items()} == {
        "checkpoint-failed": (3, "checkpoints"), "global-failover": (2, "exceptions"),
    }  # fmt: skip
    expired = [event | {"signature": "checkpoint-expired"} for event in _expiries(tables)]
    logged = {row.signature: row for row in noticed_in({**tables, "log_events": expired}, [], [], Places(tables))}
    assert (logged["checkpoint-expired"].count, "checkpoint-failed" in logged) == (3, False)


def _expiries(tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The lines that a log has of the checkpoints that failed."""
    failed = [row for row in tables["checkpoints"] if row["status"] == "FAILED"]
    return [TABLES["log_events"].row({name: row[name] for name in ("scope", "job", "checkpoint")} | {"text": ""}) for row in failed]
