"""The page of a rule of a user's own, as `diag explain` prints those of diag's."""

from __future__ import annotations

import re

from analyzers.own_rules.language import OwnRule
from analyzers.report.durations import counted

_FIELD = re.compile(r"\{(\w+)\}")


def page_of(own: OwnRule) -> str:
    """Markdown, with the headings of diag's own pages; a field is its name in capitals."""
    looked_for = own.fires.pattern if own.fires in own.signatures else f"signature {own.fires.id}"
    counts = f"at least {counted(own.at_least, 'line')}"
    counts += f" of one {' and '.join(own.subject)}" if own.subject else ""
    counts += f" within {counted(own.within_minutes, 'minute')}" if own.within_minutes is not None else ""
    cleared = f"\n\nwithout one behind them that clears them:\n\n{_quoted(own.clears.pattern or '')}" if own.clears is not None else ""
    parts = [
        f"# {own.code}: {own.title}",
        f"A rule of your own, {own.place}. Severity {own.severity.value}, cause {own.cause or 'none'}.",
        f"## Headline\n\n{_readable(own.headline)}",
        f"## What you see\n\n{_quoted(own.example)}\n\nIt looks for {counts}:\n\n{_quoted(looked_for or '')}{cleared}",
        *([f"## Why\n\n{own.why.strip()}"] if own.why else []),
        "## Fix\n\n" + "\n".join(f"{number}. {_readable(step)}" for number, step in enumerate(own.steps, 1)),
        f"## Not this when\n\n{_quoted(own.counter_example)}",
    ]
    return "\n\n".join(parts) + "\n"


def _readable(template: str) -> str:
    return _FIELD.sub(lambda field: field[1].upper(), template.replace("[[", "").replace("]]", ""))


def _quoted(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").split("\n"))
