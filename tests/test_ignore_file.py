"""``.diagignore``: findings that are known, with a reason, an owner and an end."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from analyzers.report.left_out import is_of_left_out
from cli.options.ignore_file import ignored
from cli.options.report import choice
from cli.options.shared import CodeFilter, RunOptions
from cli.renderers import terminal
from cli.runs.left_out import left_out
from cli.shell.exits import UsageError
from tests.command_line import diag, environment
from tests.report_samples import finding, incident, report

KNOWN = ["BRK201", "RST101"]
ROOT = Path(__file__).parent.parent
WELL = ROOT / "fixtures" / "incidents" / "healthy" / "healthy-spark-query" / "raw"
ENTRY = """
[[ignore]]
code = "BRK201"
subject = "orders*"
reason = "broker 5 is replaced, OPS-1204"
owner = "kafka-team"
expires = 2026-12-01
"""


def read(folder: Path, text: str, today: str = "2026-12-01") -> tuple[list[CodeFilter], list[CodeFilter]]:
    place = folder / "known.toml"
    place.write_text(text)
    return ignored(place, KNOWN, date.fromisoformat(today))


def test_an_entry_is_what_the_option_is_and_why(tmp_path: Path) -> None:
    (kept,), expired = read(tmp_path, ENTRY)
    assert expired == []
    assert kept.takes(finding("BRK201", subject={"topic": "orders-1"}))
    assert not kept.takes(finding("BRK201", subject={"topic": "payments"}))
    said = left_out(RunOptions(ignore=(kept,)), ["BRK201", "BRK201"])
    assert said == [f"2 findings left out by {kept.by} (BRK201: broker 5 is replaced, OPS-1204; owner kafka-team; until 2026-12-01)"]


def test_an_expired_entry_leaves_out_nothing_and_is_said(tmp_path: Path) -> None:
    kept, (expired,) = read(tmp_path, ENTRY, today="2026-12-02")
    assert kept == []
    (said,) = left_out(RunOptions(expired=(expired,)))
    assert said.endswith("known.toml leaves out nothing by BRK201=orders*, which expired on 2026-12-01")
    assert is_of_left_out(said)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[ignore", "is no TOML"),
        ("x = " + "[" * 5000, "is no TOML"),
        ("[[ignores]]\ncode = 'BRK201'", "'ignores' is not known there"),
        ("ignore = 3", "ignore is no list of tables"),
        ("ignore = [3]", "entry 1 of .* is no table"),
        ("[[ignore]]\nreason = 'x'", "entry 1 of .* has no code"),
        ("[[ignore]]\ncode = 'BRK201'", "entry 1 of .* has no reason"),
        ("[[ignore]]\ncode = 'BRK2O1'\nreason = 'x'", "entry 1 of .*: no rule has the code BRK2O1"),
        ("[[ignore]]\ncode = 'BRK201'\nreason = 'x'\nexpiry = 2026-12-01", "'expiry' is not known there"),
        ("[[ignore]]\ncode = 'BRK201'\nreason = 'x'\nexpires = 'soon'", "expires 'soon' is no date"),
        ("[[ignore]]\ncode = 'BRK201'\nreason = 'x'\nexpires = 5", "expires 5 is no date"),
        ("[[ignore]]\ncode = 'BRK201'\nreason = ['x']", "reason is no text"),
        (ENTRY + ENTRY.replace("reason", "because"), "entry 2 of .*: 'because' is not known there"),
    ],
)
def test_a_broken_file_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(tmp_path, text)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UsageError, match="cannot be read"):
            ignored(place, KNOWN)
    (tmp_path / "latin").write_bytes(b"# \xe9\n")
    with pytest.raises(UsageError, match="is no TOML"):
        ignored(tmp_path / "latin", KNOWN)


def test_it_is_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert choice(None, None, None, False, environment()).ignore == ()
    (tmp_path / ".diagignore").write_text("[[ignore]]\ncode = 'RST101'\nreason = 'known'\n")
    said = environment()
    assert [str(each) for each in choice(None, ["BRK101"], None, False, said).ignore] == ["BRK101", "RST101"]
    assert said.stderr.getvalue() == ".diagignore leaves out RST101\n"  # type: ignore[attr-defined]  # StringIO
    assert choice(None, None, None, True, environment()).ignore == ()
    (tmp_path / ".diagignore").unlink()
    (tmp_path / ".diagignore").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="cannot be read"):
        choice(None, None, None, False, environment())
    with pytest.raises(UsageError, match="wants none"):
        choice(None, None, Path("x"), True, environment())


def test_what_expired_is_a_warning_of_a_quiet_run_too(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(ENTRY.replace("2026-12-01", "2020-01-01"))
    said = environment(verbosity=-1)
    chosen = choice(None, None, tmp_path / "known.toml", False, said)
    assert chosen.ignore == ()
    assert "BRK201=orders* in" in said.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO
    assert "expired on 2020-01-01: it leaves out nothing" in said.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO


def test_a_redacted_report_has_no_word_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text("[[ignore]]\ncode = 'RST101'\nreason = 'see Ada Lovelace'\nowner = 'ada'\n")
    chosen = choice(None, None, tmp_path / "known.toml", False, environment(), hide=True)
    assert left_out(RunOptions(ignore=chosen.ignore)) == ["not judged, left out by the ignore file: RST101"]
    (tmp_path / "known.toml").write_text(ENTRY.replace("2026-12-01", "2099-12-01"))
    with pytest.raises(UsageError, match="the subjects of a report are tokens"):
        choice(None, None, tmp_path / "known.toml", False, environment(), hide=True)


def test_it_is_said_below_every_verdict_and_all_clear() -> None:
    said = "1 finding left out by .diagignore (BRK201: known)"
    shown = incident()
    shown.notes.append(said)
    assert said in " ".join(terminal.page(shown).split())
    well = report(clean=["BRK101"], looked_at="7 files", left_out=["BRK201"], notes=["a", "b", "c", said])
    text = " ".join(terminal.page(well).split())
    assert said in text
    assert "Nothing else wrong found in 7 files" in text


def test_a_command_with_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text("[[ignore]]\ncode = 'RST1O1'\nreason = 'known'\n")
    for command in (["triage", str(WELL)], ["fleet", str(WELL)], ["diff", str(WELL), str(WELL)]):
        code, out, err = diag(*command, "--ignore-file", str(tmp_path / "known.toml"))
        assert (code, out) == (2, "")
        assert "no rule has the code RST1O1" in err
        assert "Did you mean" in err
