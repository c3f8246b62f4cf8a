"""Which rows prove a verdict: the same ones, in the same order, in every format for people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone

from analyzers.report.finding import Evidence, Finding
from analyzers.report.report import Verdict

_HEADER = re.compile(r".{0,60}?\b(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b.{0,160}? - (?P<message>\S.*)", re.S)
"""Time, level, logger and thread of a Flink or log4j line; the place is quoted beside it, so that the message has the room."""
_NEVER = datetime.max.replace(tzinfo=timezone.utc)


def message(text: str) -> str:
    """Level and message of the log line `text`; another text as it is."""
    header = _HEADER.match(text)
    return f"{header['level']} {header['message']}" if header else text


def telling(verdict: Verdict, findings: Iterable[Finding], most: int) -> list[Evidence]:
    """The `most` telling rows that prove `verdict`, each place once, in order of time.

    First come rows of its own rule, then one of each other rule of its chain: one line is evidence of several, and a row of a derived table
    stands at the line that it was made from.
    """
    of_job = [f for f in findings if f.job == verdict.job]
    own = [f for f in of_job if f.code == verdict.code]
    others = [f for code in verdict.chain for f in of_job if f.code == code and code != verdict.code]
    first = [e for f in own for e in f.evidence[:2]] + [e for f in others for e in f.evidence[:1]]
    rest = [e for f in own for e in f.evidence[2:]]
    seen: dict[tuple[str | int | None, ...], Evidence] = {}
    for evidence in first + rest:
        at_a_line = evidence.file is not None and evidence.line is not None
        seen.setdefault((evidence.file, evidence.line, None if at_a_line else evidence.text), evidence)
    return sorted(list(seen.values())[:most], key=lambda e: (e.at or _NEVER, e.file or "", e.line or 0))
