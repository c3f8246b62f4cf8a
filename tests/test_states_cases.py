"""Pasted states and exports, each with a label: what an ill one must say, that a healthy one is quiet, that what is unknown gets no ✓."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.engine.spark import Engine
from cli.options.shared import RunOptions
from cli.renderers.terminal import page
from cli.renderers.wording import is_clear
from cli.runs import triage
from cli.shell.exits import CannotLook

CASES = sorted(path.parent for path in (Path(__file__).parent / "data" / "states").glob("*/case.json"))


def wrong_with(case: Path, engine: Engine) -> str | None:
    """What is not as the label of a case says, with the page; None where all is."""
    label: dict[str, Any] = json.loads((case / "case.json").read_text(encoding="utf-8"))
    files = [str(path) for path in sorted(case.iterdir()) if path.name != "case.json"]
    try:
        report = triage.run(files, RunOptions(), version="test", engine=engine)
    except CannotLook as error:
        return None if label.get("understood") is False else f"nothing was read: {error}"
    shown = page(report, width=100)
    ill = bool(report.verdicts or [f for f in report.found if f.severity.value in ("critical", "warning")])
    if label.get("understood") is False:
        return f"✓ over what is unknown\n{shown}" if is_clear(report) or "✓" in shown or "not understood" not in shown else None
    if label.get("healthy"):
        return f"called ill\n{shown}" if ill else f"not understood\n{shown}" if "not understood" in shown else None
    missing = [words for words in label["says"] if not re.search(words, shown)]
    return f"found nothing\n{shown}" if not ill else f"does not say {missing}\n{shown}" if missing else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_judged_as_its_label_says(case: Path, engine: Engine) -> None:
    wrong = wrong_with(case, engine)
    assert wrong is None, wrong
