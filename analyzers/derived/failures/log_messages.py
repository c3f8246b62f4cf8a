"""What a log line says without its time, level and logger."""

from __future__ import annotations

import re
from functools import lru_cache

from analyzers.logs.layouts.layouts import dated_header, parse_bare, parse_dateless, parse_rare
from analyzers.logs.layouts.timestamps import LEADING_STAMP
from analyzers.tables import Row


@lru_cache(maxsize=4096)
def _said(text: str) -> str:
    line = text.partition("\n")[0]
    header = dated_header(line) if LEADING_STAMP.match(line) else parse_rare(line) or parse_dateless(line) or parse_bare(line)
    return " ".join(header.message.split())


def first_line(event: Row) -> str:
    """The first line of an event, as it was printed."""
    return (event["text"] or "").partition("\n")[0]


_BESIDE = re.compile(r"\n    with [^\n]*?\b(?:error|err)=([^\n]+)")
"""The error that a structured record names beside its message (`logs/wrappings/records.py`)."""


def message(event: Row) -> str:
    """The first line of a row of ``log_events``, ``faults`` or ``log_remarks`` without time, level and logger.

    Of a trace that stands alone its deepest exception, of a structured record its error, too. A remark has none, a fault no logger.
    """
    text = event["text"] or ""
    said = _said(text)
    if (beside := _BESIDE.search(text)) and beside[1] not in said:
        said = f"{said}: {beside[1]}" if said else beside[1]
    deepest = ": ".join(filter(None, (event.get("root_exception"), event.get("root_message"))))
    if deepest and (event["root_exception"] or "") not in said and (not said or not event.get("logger")):
        return deepest
    return said
