"""What is plainly no output of a process: web pages, source code, settings, tables."""

from __future__ import annotations

import re

# Indentation is [^\S\n]: a \s at the beginning of each line runs on over all blank lines that follow, from each of them again.
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html\b|<\?xml\b|<svg\b)", re.IGNORECASE)
_CODE = re.compile(
    rb"^[^\S\n]*(?:package [\w.]+;?$|import [\w.{}*, ]+(?: from .*)?;?$|from [\w.]+ import |#include|using [\w.]+;"
    rb"|public |private |protected |class \w|def \w+\(|func \w"
    rb"|fun \w+\(|return\b|throw new |if \(|for \(|val \w+ =|var \w+ =|const \w+ =|let \w+ =|\}\s*(?:else|catch)|\* @|///? )",
    re.MULTILINE,
)
_ENDS_AS_CODE = re.compile(rb"[;{})][^\S\n]*$", re.MULTILINE)
_SETTING = re.compile(rb"^[^\S\n]*(?:- )?[\w.\-/\"]+[^\S\n]*(?:=|:)(?:\s|$|[^/\s:])[^\n]*$", re.MULTILINE)
_COMMENT = re.compile(rb"^[^\S\n]*(?:#|//|;|--)", re.MULTILINE)
PRINTED = re.compile(
    rb"^[ \t\r\f\v>|`]*\[?(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d/\d\d/\d\d)[ T]\d\d:\d\d"
    rb"|^[ \t\r\f\v>|`]*(?:\tat |at [\w.$/@]+\(|Caused by: |Traceback \(most"
    rb"|goroutine \d+ \[|panic: |%\d\|\d{9,}[.\d]*\||(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Exception|Error): )",
    re.MULTILINE,
)
"""A line that only a process prints: a header with a date, librdkafka's, a frame, an exception."""


def is_page(head: bytes) -> bool:
    """Whether a text is a document of HTML or XML."""
    return bool(_PAGE.match(head))


def is_something_else(head: bytes) -> bool:
    """Whether a text is plainly source code, settings or a table: nothing that a process printed."""
    if PRINTED.search(head):
        return False
    lines = [line for line in head.split(b"\n") if line.strip()]
    if len(lines) < 3:
        return False
    text = b"\n".join(lines)
    code = len(_CODE.findall(text)) + len(_ENDS_AS_CODE.findall(text))
    settings = len(_SETTING.findall(text)) + len(_COMMENT.findall(text))
    return code * 2 >= len(lines) or settings * 5 >= len(lines) * 4 or _is_table(lines)


def _is_table(lines: list[bytes]) -> bool:
    """Whether all lines have as many separators as the first, and some."""
    for separator in (b",", b"\t", b";"):
        count = lines[0].count(separator)
        if count >= 2 and sum(1 for line in lines if line.count(separator) == count) * 10 >= len(lines) * 9:
            return True
    return False
