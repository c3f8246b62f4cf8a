"""Nothing that a log, a broker or a file name holds moves the cursor, sets a title or turns the direction of writing."""

from __future__ import annotations

import io
import json

import pytest

from analyzers.report.finding import Defect, Evidence, Finding, NotChecked, Severity
from analyzers.report.report import Report, Source, Verdict
from analyzers.tables import TABLES
from cli.shell.environment import Environment
from cli.shell.output import FORMATS, emit

X = "a\x1b]0;owned\x07b\x9b31mc\x1b[2Jd\u202ee\x7f\x00\rf\x08g"
EVIDENCE = Evidence("log_events", X, 1, None, X)


def report() -> Report:
    finding = Finding(
        "BRK101", "other", "x", "failure", Severity.CRITICAL, 1.0, X, {"host": X, "task": X}, None, None, X, X, X, (EVIDENCE,), "BRK101",
        headline=X, steps=(X,), missing=X, no_help=X, danger=X,
    )  # fmt: skip
    verdict = Verdict(
        "other", "x", "BRK101", X, None, X, {"host": X}, X, X, 1.0, ("BRK101",), (),
        missing=X, next_command=X, headline=X, steps=(X,), no_help=X, danger=X, impact=X,
    )  # fmt: skip
    facts = {
        "log_events": [TABLES["log_events"].row({"scope": "", "signature": "x", "text": X, "host": X, "detail": {X: X}})],
        "bootstrap_servers": [TABLES["bootstrap_servers"].row({"entry": X, "why": X, "state": X})],
        "groups": [TABLES["groups"].row({"group": X})],
    }
    return Report(
        "diag", "1", "triage", None, (None, None), [Source(X, "logs", "failed", X)], verdicts=[verdict], findings=[finding], facts=facts,
        notes=[X], looked_at=X, job_names={X: X}, unseen=[X], defects=[Defect("BRK103", X)], not_checked=[NotChecked("BRK102", X)],
    )  # fmt: skip


def unprintable(text: str) -> list[str]:
    return sorted({c for c in text if not c.isprintable() and c not in "\n\t"})


@pytest.mark.parametrize("verbosity", [0, 1])
@pytest.mark.parametrize("form", FORMATS)
def test_a_report_holds_none(form: str, verbosity: int) -> None:
    out = io.StringIO()
    emit(report(), [form], "never", Environment(out, io.StringIO(), stdout_is_tty=True, verbosity=verbosity, tables=True))
    assert len(out.getvalue()) > (300 if form == "csv" else 500), "one line of a table, or a page"
    assert unprintable(out.getvalue()) == []


def test_json_still_has_every_character() -> None:
    out = io.StringIO()
    emit(report(), ["json"], "never", Environment(out, io.StringIO()))
    assert json.loads(out.getvalue())["findings"][0]["says"] == X


def test_messages_hold_none_and_no_secret() -> None:
    err = io.StringIO()
    environment = Environment(io.StringIO(), err, verbosity=1)
    for send in (environment.say, environment.detail, environment.complain, environment.pass_by):
        send(f"{X} https://bob:hunter2@registry/ password=hunter2\n and another line")
    environment.passed_at = -1e9
    environment.pass_by(f"{X} password=hunter2")
    assert err.getvalue().count("\n and another line") == 3
    assert unprintable(err.getvalue()) == []
    assert "hunter2" not in err.getvalue()
