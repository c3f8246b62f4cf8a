"""What a run left out, in sentences: an all-clear does not hide it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzers.report.durations import counted
from analyzers.report.left_out import BY, NOTHING
from cli.options.shared import CodeFilter, RunOptions


def left_out(options: RunOptions, codes: Sequence[str] = ()) -> list[str]:
    """What ``--ignore`` and the ignore file took away, and the entries of that file that have expired. `codes`: of the findings that a run
    did not keep."""
    said: list[str] = []
    for by in dict.fromkeys(each.by for each in options.ignore):
        own = [each for each in options.ignore if each.by == by]
        rules = [each for each in own if each.subject is None]
        found = [code for code in codes if any(each.code == code for each in own)]
        if rules:
            said.append(f"not judged,{BY}{by}: {_named(rules)}")
        if found:
            said.append(f"{counted(len(found), 'finding')}{BY}{by} ({_named(each for each in own if each.code in found)})")
    return [*said, *(f"{each.by}{NOTHING} by {each}, which expired on {each.expires}" for each in options.expired)]


def _named(filters: Iterable[CodeFilter]) -> str:
    """Each code once, with what its entry says."""
    return ", ".join(dict.fromkeys(f"{each.code}{_why(each)}" for each in sorted(filters, key=lambda each: each.code)))


def _why(each: CodeFilter) -> str:
    words = [each.reason or "", f"owner {each.owner}" if each.owner else "", f"until {each.expires}" if each.expires else ""]
    return f": {'; '.join(filter(None, words))}" if any(words) else ""
