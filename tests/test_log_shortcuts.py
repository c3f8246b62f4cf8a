# ruff: noqa: E501 -- what is combined stands on one line
"""The kernel's shortcuts say the same as the expressions that they spare."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzers.logs.layouts import layouts
from analyzers.logs.layouts.layouts import DATED, Header, dated_header, parse_dated
from analyzers.logs.layouts.timestamps import Zone, parse
from analyzers.logs.scan import kernel
from analyzers.logs.scan.captures import ERROR, EXCEPTION, Catalogue
from analyzers.logs.scan.kept import Kept, Rows
from analyzers.logs.scan.kernel import Scanner
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.selection import FilePart, Group, Key
from analyzers.logs.signatures.signature import Signature
from tests.examples import examples

_TOKENS = st.sampled_from(
    ["INFO", "WARN", "[main]", "[INFO]", "[a", "b]", "[", "]", "a.b.C", "x", "-", "--", " - ", " ", "  ", "[] -", "] -", "- -", "7", "Z",
     "+02:00", "UTC", "(a.B)", "(a b)", "(a.B:7)", "(", ")", "a", "ERROR", "foo] - bar", ":", "(42)", "|job:" + "a" * 32 + "]"]
)  # fmt: skip
_REST = st.lists(_TOKENS, max_size=9).flatmap(lambda words: st.sampled_from([" ".join(words), "".join(words)]))
_STAMP = st.sampled_from(["2024-03-01 09:00:00,123", "2024/03/01T09:00:00.123", "2024-03-01 09:00:00", "2024-03-01 09:00:00,1234567"])


@settings(max_examples=examples(1500), deadline=None)
@given(stamp=_STAMP, rests=st.lists(_REST, min_size=1, max_size=4))
@example(stamp="2024-03-01 09:00:00,123", rests=["[a] INFO x - - y", "[a] INFO x -  - y", "[a] INFO x - y"])
@example(stamp="2024-03-01 09:00:00,123", rests=["[a] INFO x [y - z", "[a] INFO x [y - z] - w"])
@example(stamp="2024-03-01 09:00:00,123", rests=["INFO x [y] z - w", "INFO x [y] z - w] - v"])
def test_a_head_seen_before_says_what_the_expressions_say(stamp: str, rests: list[str]) -> None:
    layouts._HEADS.clear()
    for rest in [*rests, *rests]:
        line = f"{stamp} {rest}"
        assert dated_header(line) == parse_dated(line)


@settings(max_examples=examples(500), deadline=None)
@given(stamp=_STAMP, rest=_REST)
@example(stamp="2024-03-01 09:00:00,123", rest="INFO went (a.B) wrong (a.B:7)")
def test_a_broker_line_is_what_its_expression_says(stamp: str, rest: str) -> None:
    line = f"[{stamp}] {rest}"
    expression = next(layout.expression for layout in DATED if layout.name == "kafka")
    m: re.Match[str] | None = expression.fullmatch(line)
    found = parse_dated(line)
    if m is not None:
        logger = m["logger"].split(":", 1)[0] if m["logger"] else None
        assert found == Header("kafka", m["time"], layouts.level_of(m["level"]), logger, None, m["message"], None, True)
    else:
        assert found.layout != "kafka"


@settings(max_examples=examples(500), deadline=None)
@given(
    stamp=st.sampled_from(["2024-03-01 09:00:00", "2024.03.01T09:00:00", "24/03/01 09:00:00", "9999-99-99 09:00:00", "1970-01-01 00:00:01", "2024-03-31 01:59:59"]),
    fraction=st.sampled_from(["", ",123", ".123", ",12", ",1234", ":123", ",١٢٣"]),
    after=st.sampled_from([" INFO x - ERROR", "Z ERROR", " Z ERROR", " +0200 ERROR", "] ERROR", "", "-07:00 ERROR", " UTC ERROR", " Zebra ERROR", " "]),
    bracket=st.booleans(),
    zone=st.sampled_from([Zone("option", 3_600_000), Zone("option", 0, "Europe/Berlin"), Zone()]),
)  # fmt: skip
def test_a_time_is_what_parsing_the_whole_stamp_gives(stamp: str, fraction: str, after: str, bracket: bool, zone: Zone) -> None:
    line = f"{'[' if bracket else ''}{stamp}{fraction}{after}"
    scanner = Scanner(Origin("a.log", 0, zone=zone), Catalogue(()))
    scanner.feed(f"{line}\n".encode())
    part = scanner.finish()
    text = layouts.dated_time(line)
    wanted = parse(text) if text else None
    if wanted is None or (not wanted.stated and wanted.ms < 3650 * 86_400_000):
        assert part.first_ms is None
    else:
        assert part.first_ms == (wanted.ms if wanted.stated else zone.utc(wanted.ms))


_MOMENTS = [
    "2024-03-01 09:00:00,123",
    "2025-11-30 23:59:59,000",
    "2024-03-01T09:00:00.7",
    "2024-03-01 09:00:00",
    "24/03/01 09:00:00",
    "25/12/31 10:20:30",
    "2024-03-01 09:00:00,1234567",
]
_SEEN = Signature("seen", (" ERROR",), "", "", r"(?P<topic>\w+) - (?P<offset>\d*)")
_LINE = Signature("line", (" ERROR",), "", "", r":(?P<offset>\d\d)\b", where="line")


@settings(max_examples=examples(1500), deadline=None)
@given(
    stamps=st.lists(st.sampled_from(_MOMENTS), min_size=2, max_size=5),
    rest=_REST,
    trace=st.sampled_from(["", "\njava.io.IOException: 09:00:00\n\tat a.B.c(B.java:7)"]),
    bracket=st.booleans(),
    by=st.sampled_from([None, _SEEN, _LINE]),
)
@example(stamps=["2024-03-01 09:00:00,123", "2025-11-30 23:59:59,000"], rest="INFO a.b.C - ERROR 7", trace="", bracket=False, by=_LINE)
@example(stamps=["24/03/01 09:00:00", "25/12/31 10:20:30"], rest="-", trace="", bracket=True, by=_SEEN)
def test_a_row_is_the_same_whether_its_text_was_read_before_or_not(
    stamps: list[str], rest: str, trace: str, bracket: bool, by: Signature | None
) -> None:
    rows, file = Rows(), FilePart("a.log", 0, 0)
    for number, stamp in enumerate(stamps):
        text = f"{'[' if bracket else ''}{stamp} {rest} ERROR{trace}\n".encode()
        kept = Kept("x", by, text, b"", ERROR | EXCEPTION, "stated", None, None)
        key = (False, number, 0, number, 0)
        assert rows.row(file, key, kept) == Rows().row(file, key, kept)


_BARS = [b"[Stage 1:", b"[Stage 12:====> (3 + 2) / 5]", b"[Stage 3:>  (0 + 1) / 1]", b"\r", b" ", b"\n", b"x", b"\t", b"[Stage "]


@settings(max_examples=examples(1500), deadline=None)
@given(st.lists(st.sampled_from(_BARS), max_size=14).map(b"".join))
def test_progress_bars_go_as_if_every_line_had_been_looked_at(text: bytes) -> None:
    assert kernel._without_progress(text) == kernel._PROGRESS.sub(b"", text)


_KEYS = st.integers(0, 40).map(lambda at: (False, at, 0, at, 0))


@settings(max_examples=examples(1500), deadline=None)
@given(
    keep=st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any),
    keys=st.lists(_KEYS, unique=True),
    cuts=st.lists(st.integers(1, 30), min_size=40, max_size=40),
    in_order=st.booleans(),
)
def test_a_group_holds_the_first_and_the_last_however_its_entries_come(
    keep: tuple[int, int], keys: list[Key], cuts: list[int], in_order: bool
) -> None:
    left, group = sorted(keys) if in_order else list(keys), Group(keep)
    for cut in cuts:
        some, left = sorted(left[:cut]), left[cut:]
        group.extend([(key, key[1]) for key in some])
    n, m = keep
    wanted = sorted({*sorted(keys)[:n], *sorted(keys)[len(keys) - min(m, len(keys)) :]})
    assert [key for key, _ in group.entries()] == wanted
