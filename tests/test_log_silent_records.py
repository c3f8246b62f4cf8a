# ruff: noqa: E501 -- log lines are what they are
"""Records that are not looked at, because nothing is found in them, change nothing: neither what is found in others nor what is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.logs.layouts.timestamps import Zone
from analyzers.logs.scan.captures import Catalogue
from analyzers.logs.scan.origin import Origin
from analyzers.logs.signatures.signature import Signature
from analyzers.logs.wrappings import unwrapping
from analyzers.logs.wrappings.records import record_of
from analyzers.logs.wrappings.silent_records import raw_literals
from analyzers.logs.wrappings.unwrapping import Unwrapper
from analyzers.logs.wrappings.wrappings import Wrapping
from tests.examples import examples

# literals within a field, at the borders of fields, across them, with what JSON escapes
LITERALS = (
    "needle", "two words", "- first", " first", "Enrich ", "Enrich - ", "Enrich - first", "Enrich [", "Enrich [main", "[main]", "] - first", "main] ",
    "INFO a.", "FO a", 'say "so"', '"so" it', "\\path", "Enrich - [first", "[first", "-first", "main] - [first", " [main] - ", "end ", "end",
)  # fmt: skip
MESSAGES = (
    *(f"nothing here, number {number}" for number in range(8)), "a needle", "two words", "first of all", "[first] of all", "- first", "-first", 'say "so"', '"so" it was', "\\path",
    "{no json", '{"message": "inner", "level": "WARN"}', '{"message": "inner", "level": "WARN"} ', "{}; more", "\tat a.b.C.d(C.java:1)", "Caused by: x.NeedleException: needle",
    "java.lang.IllegalStateException: x", "2026-11-01 09:53:20,123 ERROR a.B - needle", "two\nlines", "", " ", "tab\there", "ünlaut", "the end", "12 of them", "x\u0007y",
)  # fmt: skip


QUIET = {
    "@timestamp": "2026-11-01T09:53:00.123Z",
    "log.level": "DEBUG",
    "message": "m",
    "process.thread.name": "pool",
    "log.logger": "q.Quiet",
}
ODD = {
    "@timestamp": ("2026-02-30T09:53:20.123Z", "2026-11-01T09:53:20.123+01:00", "2028-02-29T09:53:20.123Z", "2026-11-01T09:53:20.12345Z"),
    "log.level": ("INFO", "WARN", "ERROR", "info", "odd"),
    "process.thread.name": ("main", "main", "a  b", " main", "main [1]", "Source: x (1/2)#0", "my-main", "-"),
    "log.logger": ("a.b.Enrich", "a.b.Enrich", "a.Enrich-", "not a logger", "a:b", "Needle"),
    "message": MESSAGES,
}
QUIET_LINE = json.dumps(QUIET, separators=(",", ":")).encode()
BROKEN = (
    b"", b"no json", b"Exception in thread", b'{"@timestamp":"2026-11-01T09:53:20.123Z"', b"\xff\xfe", b"\0" + QUIET_LINE, b" " + QUIET_LINE, QUIET_LINE[:-1],
    QUIET_LINE.replace(b'm","process', b"m"), QUIET_LINE.replace(b'm","process', b'm\\","process'), QUIET_LINE.replace(b'"m"', b'"a"b"'), QUIET_LINE.replace(b'"m"', b'"a\\\\"b"'),
    QUIET_LINE.replace(b'"m"', b'"ne\0edle"'), QUIET_LINE.replace(b'"m"', b'"ne\x1b[31medle"'), QUIET_LINE.replace(b'"m"', b'"a\\nb"'), QUIET_LINE.replace(b'"m"', b'"m\n"'), QUIET_LINE.replace(b'Quiet"', b'Quiet\\"'),
)  # fmt: skip


@pytest.mark.parametrize("line", BROKEN)
@pytest.mark.parametrize("beside", [b"m", rb"C:\\"])
def test_what_is_no_such_record_is_read(line: bytes, beside: bytes) -> None:
    quiet = [QUIET_LINE.replace(b'"m"', b'"%b"' % beside)] * 20
    _assert_the_same([*quiet, line, *quiet])


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Most of them as `QUIET`, so that many such follow each other."""
    value: dict[str, Any] = {**QUIET, "@timestamp": f"2026-11-01T09:53:{draw(st.integers(0, 59)):02d}.123Z"}
    if kind := max(draw(st.integers(-40, 7)), 0):
        for name in draw(st.lists(st.sampled_from([*ODD, "message", "message"]), max_size=3)):
            value[name] = draw(st.sampled_from(ODD[name]))
        if kind == 1:
            value["error.type"], value["error.stack_trace"] = "x.Needle", "x.Needle: two words\n\tat a.b.C.d(C.java:1)"
        if kind == 2:
            return draw(st.sampled_from(BROKEN))
    return json.dumps(value, separators=(",", ":"), ensure_ascii=kind != 3).encode()


def _catalogue() -> Catalogue:
    return Catalogue(
        [Signature(id=f"s{number}", literals=(literal,), sample="", says="", where="event") for number, literal in enumerate(LITERALS)]
    )


def _read(text: bytes, known: Catalogue, *, silent: bool) -> list[dict[str, Any]]:
    unwrapper = Unwrapper(Origin("a.log", 0, zone=Zone()), Wrapping(("json",)), known)
    unwrapper._singly = not silent
    middle = text.find(b"\n", len(text) // 3) + 1
    unwrapper.runs(piece for piece in (text[:middle], text[middle:]) if piece)
    parts = unwrapper.finish()
    return [{**vars(part), "counts": part.counts.counts} for part in parts]


def _assert_the_same(lines: list[bytes]) -> None:
    """With and without the short cut, which is tried from the first record to the last."""
    whole = b"\n".join(lines) + b"\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unwrapping, "_MUCH", 0)
        patch.setattr(unwrapping, "_BATCH", 8)
        patch.setattr(unwrapping, "_WORTHWHILE", 10**9)
        assert _read(whole, _catalogue(), silent=True) == _read(whole, _catalogue(), silent=False)


@settings(max_examples=examples(120), deadline=None)
@given(text=st.lists(records(), min_size=30, max_size=120), paths=st.booleans())
def test_what_is_found_is_the_same_as_when_each_record_is_read(text: list[bytes], paths: bool) -> None:
    """Where no backslash is escaped a quicker expression is used."""
    _assert_the_same([QUIET_LINE] * 8 + [line if paths else line.replace(rb"\\", b"/") for line in text] * 2)


def test_most_records_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwrapping, "_MUCH", 0)
    line = b'{"@timestamp":"2026-11-01T09:53:00.000Z","log.level":"INFO","message":"number %d said \\"so\\"","log.logger":"a.b.C"}\n'
    read: list[bytes] = []
    unwrapper = Unwrapper(
        Origin("a.log", 0), Wrapping(("json",)), Catalogue([Signature(id="s", literals=("number 150",), sample="", says="")])
    )
    whole = unwrapper._peel_together
    monkeypatch.setattr(unwrapper, "_peel_together", lambda raw, numbers: read.extend(raw) or whole(raw, numbers))
    unwrapper.runs(b"".join(line % number for number in range(at, at + 100)) for at in (0, 100))
    (part,) = unwrapper.finish()
    assert (part.lines, part.events) == (200, 200)
    assert len(read) == 64 + 4  # the first ones; the one that says something, the one above it, the last ones of both texts
    assert [found.untimed + sum(found.events) for found in part.counts.counts.values()] == [1]


def test_what_crosses_a_border_is_found_by_what_it_leaves_there() -> None:
    known = [literal.encode() for literal in (*LITERALS, "Z INFO", "Z WARN ")]
    raw = raw_literals(known)
    record = (
        b'{"@timestamp":"2026-11-01T09:53:00.000Z","log.level":"%b","message":"%b","process.thread.name":"main","log.logger":"a.Enrich"}'
    )
    for level in (b"INFO", b"WARN"):
        for message in (b"first", b"[first]", b"- first", b"-first", b"x", b'say \\"so\\"', b"\\\\path", b"{ end"):
            line = record % (level, message)
            told = record_of(line)
            assert told is not None
            if any(literal in told.lines()[0] for literal in known):
                assert any(literal in line for literal in raw), told.lines()


def test_a_literal_of_separators_stands_in_every_line() -> None:
    with pytest.raises(ValueError, match="every line"):
        raw_literals([b"] - "])
