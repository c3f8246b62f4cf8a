"""Expressions are compiled at their first use, and are then as good as any."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from analyzers.logs.layouts.layouts import DATED, DATELESS, RARE, Layout
from analyzers.logs.matching.expressions import expression


@pytest.mark.parametrize("method", ["match", "search", "fullmatch", "finditer", "findall", "sub", "split"])
def test_the_first_use_and_all_later_ones_give_the_same(method: str) -> None:
    later, compiled = expression(r"(?P<digit>\d)x?", re.IGNORECASE), re.compile(r"(?P<digit>\d)x?", re.IGNORECASE)
    given = ("-", "1X 2") if method == "sub" else ("1X 2",)

    def told(pattern: re.Pattern[str]) -> object:
        found = getattr(pattern, method)(*given)
        return [each.span() for each in found] if method == "finditer" else getattr(found, "groups", lambda: found)()

    assert [told(later), told(later)] == [told(compiled)] * 2
    assert (later.pattern, later.groupindex, later.flags) == (compiled.pattern, compiled.groupindex, compiled.flags)


def test_nothing_is_compiled_to_be_copied() -> None:
    later = expression(r"(")
    assert copy.copy(later).pattern == "("
    assert pickle.loads(pickle.dumps(later)).pattern == "("
    with pytest.raises(re.error):
        later.match("(")


@pytest.mark.parametrize("layout", [*DATED, *RARE, *DATELESS], ids=lambda layout: layout.name)
def test_every_layout_compiles_and_has_a_message(layout: Layout) -> None:
    assert layout.places[-1] > 0
