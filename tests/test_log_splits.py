# ruff: noqa: E501 -- log lines are what they are
"""Rows do not depend on where splits fall or how large windows are; and they are what a slow, independent reading finds."""

from __future__ import annotations

import gzip
import io
import itertools
import zlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from analyzers.logs.matching.matcher import Matcher, available
from analyzers.logs.scan.captures import catalogue
from analyzers.logs.scan.kernel import EVENT_LIMIT, LINE_LIMIT, Scanner
from analyzers.logs.scan.memo import UNSEEN, Memo
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.selection import FilePart
from analyzers.logs.signatures.signature import Signature
from analyzers.readers import unpacking
from analyzers.readers.log_scan import LogOptions, Plan, Tables, Unread, plan, scan, tables
from analyzers.readers.splits import LogFile, Split, border, pack, splits_of
from tests.examples import examples
from tests.log_reference import counts, read

JOB = "f83dbb7e04f400ccfd1258d03b96d7ad"
SIGNATURES = (
    Signature("job-state", ("switched from state",), "", "", r"^Job (?P<name>.*) \((?P<job>[0-9a-f]{32})\) switched from state (?P<from_state>\w+) to (?P<to_state>\w+)\.", keep=(3, 2)),
    Signature("expired", ("expired before completing",), "", "", r"^Checkpoint (?P<checkpoint>\d+) of job", keep=(10**6, 0)),
    Signature("expired-literal", ("before completing",), "", "", keep=(10**6, 0)),
    Signature("deserialise", ("Error deserializing",), "", "", r"Error deserializing VALUE for partition (?P<tp>\S+) at offset (?P<offset>\d+)", where="line", keep=(10**6, 0)),
    Signature("refused", ("Connection refused",), "", "", r"cannot reach .*\n(?:.*\n)*.*Connection refused", where="event", keep=(10**6, 0)),
)  # fmt: skip

_PIECES = (
    "{iso},{ms:03d} INFO  org.apache.flink.runtime.executiongraph.ExecutionGraph       [] - Job a (b) -> c (" + JOB + ") switched from state RUNNING to RESTARTING.\n",
    "{iso},{ms:03d} INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator    [] - Checkpoint {n} of job " + JOB + " expired before completing.\n",
    "{iso}.{ms:03d} [main] WARN  o.a.f.runtime.taskmanager.Task  - cannot reach it\njava.net.ConnectException: Connection refused\n\tat com.acme.A.b(A.java:{n})\n\t... 3 more\n",
    "[{iso},{ms:03d}] ERROR [ReplicaManager broker=1] went wrong {n} (kafka.server.ReplicaManager)\n",
    "{short} ERROR Utils: Aborting task {n}\nCaused by: x.Y: Error deserializing VALUE for partition a-b-{n} at offset {n}. If\n\n\tat x.Y.z(Y.java:1)\n",
    "{iso},{ms:03d} DEBUG com.acme.Quiet - nothing to see {n}\r\n",
    "    2024-01-02 03:04:05,678 ERROR an indented header is none\n",
    "2024-01-02 a date alone is none\n",
    "\tat com.acme.Frame.of(Frame.java:{n})\n",
    "Caused by: java.lang.IllegalStateException: \udce9\udcff {n}\n",
    "\n",
    "\0\0 zeros Error deserializing VALUE for partition t-1 at offset {n}.\n",
    "{iso},{ms:03d} INFO  A [] - " + "long {n} " * 40 + "expired before completing\n",
    "9999-99-99 99:99:99,999 ERROR x.Y - no day of the calendar\n",
)  # fmt: skip
# What the reference does not know, but splits must not stumble over either: headers without a date, without a year, without a time.
_ODD_PIECES = (
    *_PIECES,
    "ERROR org.acme.Console - Checkpoint {n} of job x expired before completing\n",
    "Exception in thread \"main\" java.lang.IllegalStateException: Error deserializing VALUE for partition a-1 at offset {n}\n",
    "23:59:5{n},{ms:03d} ERROR com.acme.NoDate - went wrong\n",
    "00:00:0{n},{ms:03d} [main] ERROR com.acme.NoDate - went wrong\n",
    "E0301 09:10:1{n}.123456 1 main.go:1] went wrong\n",
    "{n}123 [main] ERROR com.acme.Elapsed - went wrong\n",
    "[1.{n}23s][error][gc] went wrong\n",
)  # fmt: skip


@st.composite
def logs(draw: st.DrawFn, kinds: tuple[str, ...] = _PIECES, first: bool = True) -> bytes:
    pieces = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=40))
    seconds = draw(st.lists(st.integers(0, 400), min_size=len(pieces), max_size=len(pieces)))
    at = 9 * 3600
    out = ["2024-03-01 09:00:00,000 INFO  A - begins\n"] if first else []
    for n, (piece, step) in enumerate(zip(pieces, seconds, strict=True)):
        at += step - 20
        clock = f"{at // 3600 % 24:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
        out.append(piece.format(iso=f"2024-03-01 {clock}", short=f"24/03/01 {clock}", ms=n, n=n % 7))
    data = "".join(out).encode("utf-8", "surrogateescape")
    return data if draw(st.booleans()) else data.removesuffix(b"\n")


def in_splits(data: bytes, folder: Path, split_bytes: int, window: int) -> Tables:
    path = folder / "a.log"
    path.write_bytes(data)
    options = LogOptions(split_bytes=split_bytes, window=window)
    file = LogFile(str(path), (), Origin("a.log", 0, year=2024), len(data), splittable=True)
    return scan(Plan(options, [file], pack(splits_of(file, split_bytes), split_bytes)), None, SIGNATURES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("splits")


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=logs(_ODD_PIECES) | logs(_ODD_PIECES, first=False), split_bytes=st.integers(1, 3000), window=st.integers(1, 700))
@example(data=b"2024-03-01 09:00:00,000 ERROR A - x\n" * 50, split_bytes=1, window=1)
def test_rows_depend_on_neither_splits_nor_windows(folder: Path, data: bytes, split_bytes: int, window: int) -> None:
    whole = in_splits(data, folder, 1 << 30, 1 << 20)
    assert in_splits(data, folder, split_bytes, window) == whole


@pytest.mark.parametrize("unpacked_by", [unpacking._ISAL_ZLIB, zlib])
@settings(max_examples=examples(75), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    data=logs(_ODD_PIECES) | logs(_ODD_PIECES, first=False),
    cuts=st.lists(st.integers(0, 3000), max_size=4),
    window=st.integers(1, 700),
    piece=st.integers(1, 400),
    padding=st.integers(0, 3),
)
def test_packed_rows_are_those_of_the_plain_file(
    folder: Path, unpacked_by: ModuleType, data: bytes, cuts: list[int], window: int, piece: int, padding: int
) -> None:
    """However many members a gz file has, in however small pieces it is unpacked, and wherever windows end."""
    whole = in_splits(data, folder, 1 << 30, 1 << 20)
    borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    path = folder / "a.log"
    path.write_bytes(b"".join(gzip.compress(data[a:b]) + bytes(padding) for a, b in itertools.pairwise(borders)))
    file = LogFile(str(path), (), Origin("a.log", 0, year=2024), len(data), packed=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unpacking, "CHUNK", piece)
        patched.setattr(unpacking, "_ISAL_ZLIB", unpacked_by)
        assert scan(Plan(LogOptions(window=window), [file], [splits_of(file)]), None, SIGNATURES) == whole


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=logs(), split_bytes=st.integers(200, 3000))
def test_rows_are_those_of_a_reading_line_by_line(folder: Path, data: bytes, split_bytes: int) -> None:
    found = in_splits(data, folder, split_bytes, 512)
    wanted = read(data, SIGNATURES)
    known = {(s.line, s.at, s.signature, s.level, s.text) for s in wanted if s.signature != "job-state"}
    rows = {
        (r["line"], r["at"], r["signature"], r["level"], r["text"].replace("\0", ""))
        for r in found["log_events"]
        if r["signature"] not in ("job-state", "exception-logged")
    }
    assert {row[:4] for row in rows} == {row[:4] for row in known}
    assert {row[4].rstrip("\n") for row in rows} == {row[4].rstrip("\n") for row in known}
    counted = counts(wanted)
    complete: dict[Any, int] = {}
    for row in found["log_counts"]:
        if row["signature"] != "exception-logged":
            complete[row["signature"], row["minute"]] = complete.get((row["signature"], row["minute"]), 0) + row["events"]
    assert complete == dict(counted)
    kept = sum(1 for r in found["log_events"] if r["signature"] == "job-state")
    assert kept == min(sum(1 for s in wanted if s.signature == "job-state"), 5)


@given(
    literals=st.lists(st.binary(min_size=1, max_size=4).filter(lambda b: 0 not in b), min_size=1, max_size=12, unique=True),
    text=st.binary(max_size=200),
)
@settings(max_examples=examples(60), deadline=None)
@example(literals=[b"abc", b"b", b"bc", b"aab"], text=b"aabcbcabc\xff\n")
def test_all_matchers_find_the_same(literals: list[bytes], text: bytes) -> None:
    text += b"".join(literals)
    digests = {backend: [array.tolist() for array in Matcher(literals, backend).scan(text)] for backend in available()}
    assert len(digests) == 3, "the fast matchers are installed for the tests"
    assert digests["hyperscan"] == digests["ahocorasick"] == digests["re"]


_WORDS = st.lists(
    st.sampled_from([b"Fatal", b"error", b"in", b"Task", b"Executor", b" ", b" ", b".", b"partition"]), min_size=1, max_size=9
)


@given(literals=st.lists(_WORDS.map(b"".join), min_size=1, max_size=8, unique=True), text=st.lists(_WORDS.map(b"".join), max_size=6))
@settings(max_examples=examples(150), deadline=None)
@example(literals=[b"Fatal error in TaskExecutor", b"Fatal error in Task", b"error in TaskExec"], text=[b"Fatal error in TaskExe"])
def test_a_literal_of_which_the_beginning_is_looked_for_is_found_whole(literals: list[bytes], text: list[bytes]) -> None:
    whole = b"".join([*text, *(literal[:-1] for literal in literals), *literals])
    digests = [[array.tolist() for array in Matcher(literals, backend).scan(whole)] for backend in ("hyperscan", "re")]
    assert digests[0] == digests[1]


@pytest.mark.parametrize("offset", [0, 1, 30, 36, 37, 38, 74, 75, 76])
def test_a_border_is_the_first_dated_line_at_or_after_the_offset(offset: int) -> None:
    data = b"2024-03-01 09:00:00,000 INFO A - x y\n\tat a.b.C.d(C.java:1) 2024-03-01 9:00\n24/03/01 09:00:00 INFO A: x\n"
    starts = [0, 75]
    assert data[75:].startswith(b"24/03/01")
    assert border(io.BytesIO(data), offset, len(data)) == next((s for s in starts if s >= offset), len(data))


def scanned(data: bytes, window: int) -> FilePart:
    scanner = Scanner(Origin("a", 0), catalogue(SIGNATURES))
    for at in range(0, len(data), window):
        scanner.feed(data[at : at + window])
    return scanner.finish()


def as_rows(part: FilePart) -> Tables:
    return tables(Plan(LogOptions(), [LogFile("a", (), Origin("a", 0), 0)]), [part])


def test_a_line_of_50_mb_costs_one_line(tmp_path: Path) -> None:
    data = (
        b"2024-03-01 09:00:00,000 ERROR A - before\n2024-03-01 09:00:01,000 ERROR A - "
        + b"y" * (50 << 20)
        + b" end\n2024-03-01 09:00:02,000 ERROR A - after\n"
    )
    (tmp_path / "a.log").write_bytes(data)
    found = scan(plan([str(tmp_path / "a.log")], LogOptions(split_bytes=8 << 20)), None, SIGNATURES)
    assert [(r["line"], len(r["text"]) < 20_000) for r in found["log_events"]] == [(1, True), (2, True), (3, True)]
    assert found["log_files"][0]["lines"] == 3
    assert found["sources"][0]["state"] == "ok"


def test_an_event_larger_than_the_limit_is_clipped_alike_in_all_windows() -> None:
    frame = b"\tat com.acme.Deep.call(Deep.java:1) and so on and so forth\n"
    body = frame * (EVENT_LIMIT // len(frame) + 2000)
    data = (
        b"2024-03-01 09:00:00,000 ERROR A - deep\njava.lang.StackOverflowError\n"
        + body
        + b"Checkpoint 7 expired before completing\n"
        + b"2024-03-01 09:00:02,000 ERROR A - after\n"
    )
    first = as_rows(scanned(data, 1 << 30))
    assert first["log_events"][0]["root_exception"] == "java.lang.StackOverflowError"
    assert first["log_events"][0]["text"].endswith("expired before completing")
    assert [r["signature"] for r in first["log_events"]] == ["error-logged", "error-logged"]  # what stands beyond the limit is not searched
    for window in (1 << 16, (1 << 20) + 7):
        assert as_rows(scanned(data, window)) == first
    assert LINE_LIMIT < EVENT_LIMIT


def test_groups_beyond_the_limit_are_chosen_alike_in_all_splits(folder: Path) -> None:
    names = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(1500)]
    data = b"".join(
        f"2024-03-01 09:{n // 60 % 60:02d}:{n % 60:02d},000 ERROR A - {name} failed\n".encode() for n, name in enumerate(names * 2)
    )
    whole = in_splits(data, folder, 1 << 30, 1 << 20)
    assert 500 <= len(whole["log_events"]) <= 500 * 2 + 250
    assert sum(r["events"] for r in whole["log_counts"]) == 3000
    assert whole["log_events"][0]["line"] == 1, "the first errors of a file are kept whatever their group"
    assert in_splits(data, folder, 20_000, 4096) == whole


def test_a_text_seen_before_says_the_same_again_but_for_what_its_time_stamp_says() -> None:
    stamped = Signature("stamped", ("tick tack",), "", "", r"(?P<offset>\d\d),\d{3} INFO", where="line", keep=(10**6, 0))
    known = Signature("known", ("went away",), "", "", r"broker (?P<broker>\d+) went away", keep=(10**6, 0))
    trace = "java.io.IOException: gone\n\tat a.b.C.d(C.java:1)"
    log = "".join(
        f"2024-03-01 09:00:{n:02d},{n:03d} INFO  a.B [] - tick tack\n2024-03-01 09:00:{n:02d},{n:03d} WARN  a.B [] - broker 7 went away\n{trace}\n"
        f"[2024-03-01 09:00:{n:02d},{n:03d}] ERROR broker 7 failed (a.B)\n"
        for n in range(30)
    )
    scanner = Scanner(Origin("a", 0), catalogue((stamped, known)))
    scanner.feed(log.encode())
    rows = as_rows(scanner.finish())["log_events"]
    of = {name: [row for row in rows if row["signature"] == name] for name in ("stamped", "known", "error-logged")}
    assert [row["offset"] for row in of["stamped"]] == list(range(30))
    assert {(row["broker"], row["root_exception"], row["level"]) for row in of["known"]} == {(7, "java.io.IOException", "WARN")}
    assert [row["at"].second for row in of["known"]] == list(range(30))
    assert [row["text"][:24] for row in of["known"]] == [f"2024-03-01 09:00:{n:02d},{n:03d} " for n in range(30)]
    assert len(of["error-logged"]) == 30
    assert {row["logger"] for row in of["error-logged"]} == {"a.B"}


def test_a_memo_forgets_before_it_grows() -> None:
    memo = Memo(limit=10_000)
    for n in range(1000):
        memo.remember(b"%d" % n, n)
        assert memo.of(b"%d" % n) == n
    assert memo.of(b"0") is UNSEEN
    assert sum(memo.of(b"%d" % n) is not UNSEEN for n in range(1000)) < 20


def test_packing_puts_the_heaviest_first_and_small_files_together() -> None:
    files = [LogFile(f"f{n}", (), Origin(f"f{n}", n), size, splittable=True) for n, size in enumerate([10, 20, 300 << 20, 5])]
    tasks = pack([split for file in files for split in splits_of(file)])
    assert [len(task) for task in tasks] == [1, 1, 1, 1, 1, 3]
    assert sum(split.weight for split in tasks[0]) >= sum(split.weight for split in tasks[1])
    member = replace(files[0], members=("x",), packed=True)
    assert len(pack([Split(member), Split(replace(member, members=("y",)))])) == 1


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_scan_that_is_stopped_gives_what_was_read_marked_as_partial(folder: Path, stop: type[BaseException]) -> None:
    line = b"2024-03-01 09:00:00,000 ERROR A - Checkpoint 1 of job x expired before completing\n"
    path = folder / "stopped.log"
    path.write_bytes(line * 100)
    files = [
        LogFile(str(path), (), Origin(name, n, year=2024), len(line) * 100, splittable=True) for n, name in enumerate(("a.log", "b.log"))
    ]
    size = len(line) * 50
    made = Plan(LogOptions(split_bytes=size), files, [[split] for file in files for split in splits_of(file, size)])
    heard: list[int] = []

    def watch(read: int) -> None:
        heard.append(read)
        if len(heard) == 1:
            raise stop

    with pytest.raises(stop) as caught:
        scan(made, None, SIGNATURES, watch)
    assert heard == [size]
    assert isinstance(caught.value.__cause__, Unread)
    found = caught.value.__cause__.tables
    assert [(row["name"], row["state"]) for row in found["sources"]] == [("a.log", "partial"), ("b.log", "failed")]
    assert all("interrupted" in row["why"] for row in found["sources"])
    assert sum(row["events"] for row in found["log_counts"] if row["signature"] == "expired") == 50


def test_a_line_that_a_window_cuts_is_taken_for_what_it_is(folder: Path) -> None:
    """Its beginning alone would be a header of java.util.logging, the whole line is none."""
    event = b"2024-03-01 09:00:00,000 ERROR A - it failed\njava.io.IOException: gone\n"
    data = event + b"Nov 21, 2026 9:32:59 AM a.b.Clock was read too late\n\tat a.b.C.d(C.java:1)\n" + event.replace(b"09:00", b"09:01")
    whole = in_splits(data, folder, 1 << 30, 1 << 20)
    cut = data.index(b" was read")
    for window in range(cut - 3, cut + 4):
        assert in_splits(data, folder, 1 << 30, window) == whole
