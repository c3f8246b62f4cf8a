"""Texts that differ in their digits only are read once; each still counts where it belongs, and says what it says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.logs.scan.captures import Catalogue
from analyzers.logs.scan.events import Event
from analyzers.logs.scan.kept import Reading
from analyzers.logs.scan.kernel import Scanner
from analyzers.logs.scan.memo import UNSEEN, Memo, sees_digits
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.recorder import Hit, Recorder
from analyzers.logs.signatures import SIGNATURES as ALL
from analyzers.logs.signatures.signature import Signature
from analyzers.readers.log_scan import LogOptions, Plan, tables
from analyzers.readers.splits import LogFile
from analyzers.tables import Row
from tests.examples import examples

JOBS = ("0a1b2c3d4e5f60718293a4b5c6d7e8f9", "9a1b2c3d4e5f60718293a4b5c6d7e8f0", "0a1b2c3d4e5f60718293a4b5c6d7e8f0")
SIGNATURES = (
    Signature("completed", ("Completed checkpoint ",), "", "", r"checkpoint (?P<checkpoint>\d+) for job (?P<job>\S+)", keep=(1000, 0)),
    Signature("left", ("left the cluster",), "", "", r"broker (?P<broker>\d+) left", keep=(1000, 0)),
    Signature("killed", ("exited with code",), "", "", r"exited with code (?P<exit_code>137|143)", keep=(1000, 0)),
    Signature("code-9", ("code 9",), "", "", keep=(1000, 0)),
    Signature("task", ("is stuck",), "", "", r"(?P<task>[\w ]+) is stuck", keep=(1000, 0)),
    Signature("switched", ("switched to",), "", "", r"^(?P<task>\w+) \((?P<execution>[0-9a-f_]+)\) switched", keep=(1000, 0)),
    Signature("slot", ("requested slot",), "", "", r"requested slot (?P<attempt>\d+)", keep=(1000, 0)),  # sees where an id's letters are
    Signature("freed", ("freed slot",), "", "", r"freed slot (?P<task>\S+) of (?P<job>[0-9a-f]{8,})", keep=(1000, 0)),
)  # fmt: skip


def rows_of(lines: list[str], *, memo: bool) -> list[Row]:
    known = Catalogue(SIGNATURES)
    if not memo:
        known.memo.of = lambda text, by_shape=False: UNSEEN  # type: ignore[method-assign]
    scanner = Scanner(Origin("a", 0), known)
    scanner.feed("".join(f"2024-03-01 09:00:{n % 60:02d},{n:03d} {line}\n" for n, line in enumerate(lines)).encode())
    found = tables(Plan(LogOptions(), [LogFile("a", (), Origin("a", 0), 0)]), [scanner.finish()])
    return [*found["log_events"], *found["log_counts"]]


IDS = st.one_of(
    st.sampled_from((*JOBS, "deadbeef", "deadbeed", "12345678", "1234567a", "a2345678", "abcdef", "12345678901234567890123456789012")),
    st.text("0123456789abcdef", min_size=8, max_size=8),
    st.uuids().map(str),
    st.uuids().map(lambda made: made.hex),
)
LINES = st.one_of(
    st.builds("INFO  a.B [] - Completed checkpoint {} for job {}".format, st.integers(0, 2000), st.sampled_from(JOBS)),
    st.builds("WARN  a.B [] - broker {} left the cluster ({})".format, st.integers(0, 12), st.integers(0, 12)),
    st.builds("INFO  a.B{} [] - container exited with code {}".format, st.integers(0, 3), st.sampled_from((0, 137, 139, 143, 973))),
    st.builds("ERROR a.B [] - map {} is stuck{}".format, st.integers(0, 12), st.sampled_from(("", "\na.b.IOException: 7", "\na.E1Error"))),
    st.builds("ERROR a.B{} [] - cannot do {}".format, st.integers(0, 3), st.sampled_from(("0x1f", "3x1f", "12", "34", "12 and deadbeef"))),
    st.builds("INFO  a.B [] - map{} ({}_{}) switched to".format, st.integers(0, 12), IDS, st.integers(0, 12)),
    st.builds("INFO  a.B [] - requested slot {}".format, IDS),
    st.builds("INFO  a.B [] - freed slot {} of {}".format, IDS, IDS),
    st.builds("ERROR a.B [] - lost {}{}".format, IDS, st.sampled_from(("", "\na.b.IOException: 7c3ad8e2-01ab-4f00-9abc-0123456789ab"))),
    st.builds("ERROR [T{}] - no layout {} of ours".format, st.integers(0, 3), st.integers(0, 99)),
)  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(lines=st.lists(LINES, min_size=2, max_size=30))
def test_what_is_remembered_changes_nothing(lines: list[str]) -> None:
    assert rows_of(lines, memo=True) == rows_of(lines, memo=False)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The events that are read."""
    events: list[Event] = []
    reading = Recorder.read

    def counted(self: Recorder, event: Event, hits: Iterable[Hit]) -> Reading | None:
        events.append(event)
        return reading(self, event, hits)

    monkeypatch.setattr(Recorder, "read", counted)
    return events


def test_a_thousand_checkpoints_are_read_once(read: list[Event]) -> None:
    lines = [f"INFO  a.B [] - Completed checkpoint {1000 + n} for job {JOBS[0]}" for n in range(1000)]
    found = rows_of(lines, memo=True)
    assert len(read) == 3  # the first, and the same with other ids, twice
    assert sorted(row["checkpoint"] for row in found if row.get("checkpoint") is not None) == list(range(1000, 2000))


def test_the_ids_of_a_restart_are_no_new_texts(read: list[Event]) -> None:
    ids = [hashlib.md5(str(n).encode(), usedforsecurity=False).hexdigest() for n in range(500)]
    found = rows_of([f"INFO  a.B [] - freed slot {one} of {other}" for one, other in zip(ids, reversed(ids), strict=True)], memo=True)
    assert len(read) == 3  # the first of them, and it with other ids, twice
    freed = sorted((row["line"], row["task"], row["job"]) for row in found if "text" in row)
    assert freed == [(n + 1, one, other) for n, (one, other) in enumerate(zip(ids, reversed(ids), strict=True))]


@pytest.mark.parametrize(
    ("pattern", "sees"),
    [
        (r"checkpoint (?P<checkpoint>\d+) of [0-9a-f]{8,32} \w+ .*", False),
        (r"HTTP 503", True),
        (r"port [1-9]\d*", True),
        (r"(?P<code1>\d+)", False),
        (r"(?P<a>\d+) and (?P=a)", True),
    ],
)
def test_which_expressions_tell_digits_apart(pattern: str, sees: bool) -> None:
    assert sees_digits(pattern) is sees


def test_no_expression_of_the_catalogue_that_is_taken_for_blind_sees_digits() -> None:
    blind = [s for s in ALL if s.pattern and not sees_digits(s.pattern)]
    assert len(blind) > 300
    other = str.maketrans("123456789", "987654321")
    for signature in blind:
        pattern = re.compile(signature.pattern or "", re.DOTALL)
        one, two = pattern.search(signature.sample), pattern.search(signature.sample.translate(other))
        assert (one.regs if one else None) == (two.regs if two else None), signature.id


def test_a_shape_is_renamed_where_all_places_of_a_part_agree() -> None:
    memo = Memo()
    memo.remember_shape(b"job 7 of 7", "seven", ["7"], lambda names: f"renamed {names['7']}")
    assert memo.of(b"job 8 of 8", by_shape=True) == "renamed 8"
    assert memo.of(b"job 8 of 7", by_shape=True) is UNSEEN
    memo.remember_shape(b"job 8 of 7", "eight", ["8"], lambda names: f"renamed {names['8']}")
    assert memo.of(b"job 9 of 3", by_shape=True) == "renamed 9"


def test_a_part_that_stands_elsewhere_by_chance_does_not_confuse() -> None:
    memo = Memo()
    memo.remember_shape(b"job 7 of 7", "seven", ["7"])
    assert memo.of(b"job 8 of 7", by_shape=True) is UNSEEN
    memo.remember_shape(b"job 8 of 7", "eight", ["8"])
    assert memo.of(b"job 8 of 3", by_shape=True) == "eight"
    memo.remember_shape(b"job 7 of 7", "seven", ["7"])
    assert memo.of(b"job 7 of 1", by_shape=True) == "seven"
    assert memo.of(b"job 9 of 7", by_shape=True) is UNSEEN
