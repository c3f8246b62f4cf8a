"""Rows held by column are the rows that were put in, whoever asks for them; counted minutes are the same in whatever order they come."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.logs.layouts.timestamps import MINUTE, to_datetime
from analyzers.logs.scan.selection import Counts, Minutes
from analyzers.tables import LOG_COUNTS
from analyzers.tables.by_column import NO_NUMBER, ByColumn, column, where
from tests.examples import examples

_HEAD = {"scope": "a", "as_of": to_datetime(9 * MINUTE)}
_OF = {"signature": "x", "file": "a.log", "job": None, "task": "map", "host": None}


def test_rows_come_back_as_they_were_put_in() -> None:
    rows = ByColumn(LOG_COUNTS, _HEAD, to_datetime)
    rows.extend(1, _OF, {"minute": [NO_NUMBER], "events": [4], "first_at": [NO_NUMBER], "last_at": [NO_NUMBER]})
    rows.extend(2, _OF | {"task": None}, {"minute": [0, MINUTE], "events": [1, 7], "first_at": [5, MINUTE], "last_at": [5, MINUTE + 1]})
    minutes = (to_datetime(0), to_datetime(MINUTE))
    wanted = [
        _HEAD | _OF | {"minute": None, "events": 4, "first_at": None, "last_at": None},
        _HEAD | _OF | {"task": None, "minute": minutes[0], "events": 1, "first_at": to_datetime(5), "last_at": to_datetime(5)},
        _HEAD | _OF | {"task": None, "minute": minutes[1], "events": 7, "first_at": minutes[1], "last_at": to_datetime(MINUTE + 1)},
    ]
    assert list(rows) == wanted == [rows[0], *rows[1:]]
    assert rows == wanted
    assert rows != wanted[:2]
    assert rows != [wanted[0], wanted[2], wanted[1]]
    assert [tuple(row) for row in rows] == [LOG_COUNTS.names] * 3 == [tuple(row) for row in rows[:]]
    assert (len(rows), rows[-1]) == (3, wanted[2])
    assert all(column(rows, name) == column(wanted, name) for name in LOG_COUNTS.names)
    assert where(rows, "task", ("map",)) == where(wanted, "task", ("map",)) == wanted[:1]
    rows[0]["events"] = 0
    assert rows[0]["events"] == 4


def test_bounds_leave_what_has_no_time_alone() -> None:
    rows = ByColumn(LOG_COUNTS, _HEAD, to_datetime)
    times = {"minute": [NO_NUMBER, 0, MINUTE], "first_at": [NO_NUMBER, 5, MINUTE], "last_at": [NO_NUMBER, 9, MINUTE + 1]}
    rows.extend(3, _OF, {"events": [1, 2, 3], **times})
    picked = rows.pick([0, 1, 2])
    picked.bounded("first_at", least=7)
    picked.bounded("last_at", most=MINUTE)
    picked.same("as_of", to_datetime(8 * MINUTE))
    assert column(picked, "first_at") == [None, to_datetime(7), to_datetime(MINUTE)]
    assert column(picked, "last_at") == [None, to_datetime(9), to_datetime(MINUTE)]
    assert column(picked, "as_of") == [to_datetime(8 * MINUTE)] * 3
    assert column(rows, "first_at") == [None, to_datetime(5), to_datetime(MINUTE)]
    assert column(rows, "as_of") == [_HEAD["as_of"]] * 3


_TIMES = st.lists(st.one_of(st.none(), st.integers(0, 6 * MINUTE)), max_size=30)


@settings(max_examples=examples(600), deadline=None)
@given(parts=st.lists(_TIMES, max_size=5))
def test_minutes_are_those_of_all_events_together(parts: list[list[int | None]]) -> None:
    whole = Counts()
    for times in parts:
        part = Counts()
        for at in range(0, len(times), 7):
            part.add("x", None, None, times[at : at + 7])
        whole.merge(part)
    every = [at for times in parts for at in times]
    found = whole.counts.get(("x", None, None), Minutes())
    timed = Counter(at // MINUTE * MINUTE for at in every if at is not None)
    assert found.untimed == every.count(None)
    assert dict(zip(found.minutes, found.events, strict=True)) == timed
    assert list(found.minutes) == sorted(timed)
    of_minute = [[at for at in every if at is not None and at // MINUTE * MINUTE == minute] for minute in found.minutes]
    assert (list(found.firsts), list(found.lasts)) == ([min(times) for times in of_minute], [max(times) for times in of_minute])


def test_tables_are_joined_whatever_their_rows_have_in_common() -> None:
    parts = []
    for number, scope in enumerate(("a", "b", "c")):
        part = ByColumn(LOG_COUNTS, _HEAD | {"scope": scope, "as_of": to_datetime(number) if number else None}, to_datetime)
        if number < 2:
            part.extend(1, _OF, {"minute": [NO_NUMBER], "events": [number], "first_at": [NO_NUMBER], "last_at": [5]})
        parts.append(part)
    joined = ByColumn.joined(parts)
    wanted = [row for part in parts for row in part]
    assert list(joined) == wanted == joined[:]
    assert list(joined.pick([1])) == wanted[1:]
    assert column(joined, "as_of") == [None, to_datetime(1)]
    assert not joined.is_dated
