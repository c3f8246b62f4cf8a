"""What is wrong is the same whatever layout a job's log is printed in: bundles again as other loggers print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bundles import RULE
from tests.copies import LAYOUT
from tests.other_layouts import LAYOUTS

if TYPE_CHECKING:
    from analyzers.report.report import Report


@pytest.mark.skipif(RULE is not None, reason="one rule is asked for")
def test_any_layout_gives_the_same_verdicts(printed_again: list[str], judgement: Report) -> None:
    """Each bundle in one of them; the next bundle in the next."""
    assert len(printed_again) > 20 * len(LAYOUTS)
    said = {v.scope: (v.cause, v.code) for v in reversed(judgement.verdicts)}
    pairs = {scope: (said.get(scope.removesuffix(LAYOUT)), said.get(scope)) for scope in printed_again}
    assert {scope: pair for scope, pair in pairs.items() if pair[0] != pair[1]} == {}
