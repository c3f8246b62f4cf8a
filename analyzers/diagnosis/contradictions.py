"""Two fixes on one screen never contradict: advice that turns a setting is left out where a worse finding of the job rules that out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from analyzers.report.finding import Finding
from analyzers.report.report import Verdict

_SETTING = re.compile(r"(?<![\w/.-])(?:[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+|[a-z]+[A-Z]\w+)(?![\w/-]|\.\w)")
"""``execution.checkpointing.timeout``, ``failOnDataLoss``; no file name, no host with a port."""

Advised = TypeVar("Advised", Finding, Verdict)
_Job = tuple[str, str | None]


def settings(words: str) -> set[str]:
    """The names of settings in a sentence."""
    return set(_SETTING.findall(words))


def without_contradictions(advised: Sequence[Advised], first: Iterable[Finding | Verdict] = ()) -> list[Advised]:
    """`advised`, worst first, without steps that turn a setting of which an earlier one of the same job, or one of `first`, says that it
    is no help. The only step of a finding stays: no advice at all is worse.
    """
    ruled_out: defaultdict[_Job, set[str]] = defaultdict(set)
    for each in first:
        ruled_out[each.scope, each.job] |= settings(each.no_help or "")
    out = []
    for each in advised:
        own = settings(each.no_help or "")
        earlier = ruled_out[each.scope, each.job] - own
        steps = tuple(step for step in each.steps if not settings(step) & earlier)
        out.append(replace(each, steps=steps) if steps and steps != each.steps else each)
        ruled_out[each.scope, each.job] |= own
    return out
