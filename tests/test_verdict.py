"""Trigger and cause as two answers, tie-breaks, and what explains what: on attempts and findings made by hand."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from analyzers.diagnosis.verdicts import decide, verdicts_of
from analyzers.report.finding import Finding, Severity
from analyzers.tables import ATTEMPTS, Row

T0 = datetime(2026, 11, 21, 9, 0, tzinfo=timezone.utc)


def attempt(
    number: int, cause: str | None, fault: str | None, *, trigger: str | None = None, ended: str = "failed", completed: int = 0
) -> Row:
    return ATTEMPTS.row(
        {
            "scope": "",
            "job": "j",
            "attempt": number,
            "started_at": T0 + timedelta(minutes=number),
            "ended_at": T0 + timedelta(minutes=number, seconds=30) if ended != "running" else None,
            "ended": ended,
            "cause": cause,
            "fault": fault,
            "trigger": trigger or fault,
            "trigger_says": f"{trigger or fault} says",
            "checkpoints_completed": completed,
        }
    )


def finding(code: str, cause: str | None, *, stage: str = "failure", minutes: float = 0, **more: Any) -> Finding:
    values: dict[str, Any] = {
        "code": code,
        "cause": cause,
        "reason": None,
        "stage": stage,
        "severity": Severity.CRITICAL if cause else Severity.WARNING,
        "confidence": 1.0,
        "job": "j",
        "subject": {},
        "since": T0 + timedelta(minutes=minutes),
        "until": None,
        "says": f"{code} says",
        "inferred": None,
        "fix": "",
        "evidence": (),
        "page": "",
    }
    return Finding(**{**values, **more})


def tables(*attempts: Row) -> dict[str, list[Row]]:
    return {"attempts": list(attempts)}


def test_cause_is_what_two_later_attempts_agree_in() -> None:
    lost = attempt(0, None, None, trigger="connection-to-worker")
    decision = decide(
        [
            lost,
            attempt(1, None, None, trigger="connection-to-worker"),
            *(attempt(n, "broker-unreachable", "metadata-timeout") for n in (2, 3)),
        ]
    )
    assert decision.cause == "broker-unreachable"
    assert decision.trigger is not None
    assert decision.trigger["trigger"] == "connection-to-worker"


def run(number: int, minutes: float, long: float, fault: str, completed: int = 0) -> Row:
    """An attempt that ran from so many minutes on, and failed."""
    row = attempt(number, "poison-record", fault, completed=completed)
    return {**row, "started_at": T0 + timedelta(minutes=minutes), "ended_at": T0 + timedelta(minutes=minutes + long)}


def test_a_job_that_was_well_for_long_in_between_has_another_incident_now() -> None:
    """Its trigger is no failure that was mended hours ago."""
    healed = [run(0, 0, 60, "deserialise", 60), *(run(n, 60 + n, 0.5, "deserialise") for n in range(1, 6))]
    now = [run(6, 70, 120, "user-code", 120), *(run(n, 200 + n, 0.5, "user-code") for n in range(7, 12))]
    decision = decide([*healed, *now])
    assert decision.trigger is not None
    assert (decision.trigger["attempt"], decision.fault, len(decision.failed)) == (6, "user-code", 6)


def test_failures_that_come_at_one_pace_are_one_incident() -> None:
    """A barrier that is stuck again and again: half an hour of good checkpoints lies between two failures."""
    decision = decide([run(n, 40 * n, 38, "tolerance-expired", 30) for n in range(6)])
    assert decision.trigger is not None
    assert (decision.trigger["attempt"], len(decision.failed)) == (0, 6)


def test_a_storm_without_progress_is_one_however_much_of_it_was_given_up() -> None:
    """Of a long log the middle is not kept: what lies there reads as one long attempt."""
    decision = decide(
        [run(0, 0, 0.5, "deserialise"), run(1, 1, 300, "deserialise"), *(run(n, 300 + n, 0.5, "deserialise") for n in (2, 3))]
    )
    assert len(decision.failed) == 4


def test_one_failed_attempt_is_its_own_cause() -> None:
    assert decide([attempt(0, "poison-record", "deserialise")]).cause == "poison-record"


def test_trigger_and_cause_are_said_as_two_answers() -> None:
    rows = [attempt(0, "taskmanager-lost", "heartbeat-lost"), *(attempt(n, "broker-unreachable", "metadata-timeout") for n in (1, 2, 3))]
    found = [finding("RST401", "taskmanager-lost"), finding("BRK101", "broker-unreachable", stage="access", minutes=1)]
    (verdict,) = verdicts_of(found, tables(*rows))
    assert verdict.cause == "broker-unreachable"
    assert verdict.trigger == "heartbeat-lost says"
    assert "cannot come back because: BRK101 says" in verdict.says
    assert verdict.chain == ("BRK101", "RST401")


def test_a_proven_outage_beats_the_checkpoints_that_expire_behind_it() -> None:
    rows = [attempt(n, "barrier-unacknowledged", "tolerance-expired") for n in range(3)]
    found = [finding("CKP104", "barrier-unacknowledged", stage="checkpoint"), finding("RST501", "external-system", stage="access")]
    (verdict,) = verdicts_of(found, tables(*rows))
    assert (verdict.cause, verdict.chain) == ("external-system", ("RST501", "CKP104"))


def test_a_dead_broker_beats_the_commits_it_stops() -> None:
    found = [finding("LAG401", "offset-commit", stage="commit", minutes=1), finding("BRK105", "broker-unreachable", stage="access")]
    (verdict,) = verdicts_of(found, tables())
    assert verdict.code == "BRK105"


def test_wrong_data_of_a_running_job_comes_before_the_restart_that_began_it() -> None:
    rows = [attempt(0, "barrier-unacknowledged", "tolerance-expired"), attempt(1, None, None, ended="running", completed=4)]
    found = [
        finding("CKP104", "barrier-unacknowledged", stage="checkpoint"),
        finding("SPL101", "duplicate-split", stage="restart", minutes=1),
    ]
    assert verdicts_of(found, tables(*rows))[0].cause == "duplicate-split"


def test_other_never_stands_beside_a_known_cause() -> None:
    found = [finding("RST001", "other"), finding("RST204", "poison-record", stage="access", minutes=5)]
    assert [v.cause for v in verdicts_of(found, tables())] == ["poison-record"]


def test_independent_causes_are_two_verdicts() -> None:
    rows = [attempt(n, "poison-record", "deserialise") for n in range(3)]
    found = [finding("RST202", "poison-record", stage="access"), finding("SPL101", "duplicate-split", stage="restart")]
    assert [v.cause for v in verdicts_of(found, tables(*rows))] == ["poison-record", "duplicate-split"]


def test_what_ails_one_consumer_group_is_no_evidence_about_another() -> None:
    ill = [
        finding("LAG107", "offset-commit", stage="commit", job=None, subject={"group": "a"}),
        finding("LAG203", "offset-commit", stage="commit", job=None, subject={"group": "b"}),
        finding("LAG401", "offset-commit", stage="commit", job=None, subject={"group": "b"}),
        finding("LAG204", None, stage="lag", job=None, subject={"group": "b"}),
    ]
    verdicts = verdicts_of(ill, {})
    assert sorted((v.subject["group"], tuple(sorted(v.chain))) for v in verdicts)[0] == ("a", ("LAG107",))
    assert {code for v in verdicts if v.subject["group"] == "b" for code in v.chain} >= {"LAG203", "LAG401"}
    many = [finding("LAG105", "no-progress", stage="lag", job=None, subject={"group": str(n)}) for n in range(9)]
    assert len(verdicts_of(many, {})) == 1


def test_symptoms_and_risks_make_no_verdict() -> None:
    found = [finding("RST101", None), finding("CFG101", "checkpoint-storage", stage="risk", severity=Severity.WARNING)]
    assert not verdicts_of(found, tables())


def test_what_restarted_a_beam_job_is_the_trigger_of_its_duplicates_and_no_verdict_of_its_own() -> None:
    rows = [attempt(0, "barrier-unacknowledged", "tolerance-expired"), attempt(1, None, None, ended="running", completed=5)]
    expired = finding("CKP104", "barrier-unacknowledged", stage="checkpoint", minutes=0.5, until=T0 + timedelta(minutes=0.5))
    twice = finding("SPL101", "duplicate-split", minutes=0.6)
    verdicts = verdicts_of([expired, twice], tables(*rows))
    assert [v.code for v in verdicts] == ["SPL101"]
    assert verdicts[0].says == "Restarted because of tolerance-expired says (09:00:30 UTC); since then: SPL101 says"
    assert verdicts[0].trigger == "tolerance-expired says"
    assert "CKP104" in verdicts[0].chain


def test_what_goes_on_after_the_duplicates_began_is_a_verdict_of_its_own() -> None:
    rows = [attempt(0, "barrier-unacknowledged", "tolerance-expired"), attempt(1, None, None, ended="running", completed=5)]
    expired = finding("CKP104", "barrier-unacknowledged", stage="checkpoint", minutes=0.5, until=T0 + timedelta(minutes=9))
    verdicts = verdicts_of([expired, finding("SPL101", "duplicate-split", minutes=0.6)], tables(*rows))
    assert {v.code for v in verdicts} == {"SPL101", "CKP104"}
