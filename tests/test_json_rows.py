"""Rows of large tables, encoded and scrubbed column by column: the same bytes as one by one, and no secret less."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analyzers.report.report import Report
from analyzers.report.without_secrets import without_secrets
from analyzers.tables import COMMITTED_OFFSETS, Row
from cli.renderers.json_rows import lines, plain_values

_NOON = datetime(2026, 11, 24, 12, tzinfo=timezone.utc)
_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(), st.sampled_from(["", "a", "100 %s", "\x7f\u202e", "\udcff", '"\\'] ),
    st.sampled_from([_NOON, _NOON.astimezone(timezone(timedelta(hours=5))), _NOON + timedelta(microseconds=7)]),
    st.lists(st.sampled_from(["0", "1%d", 1, True]), max_size=2), st.dictionaries(st.sampled_from(["k", "%"]), st.booleans(), max_size=1),
)  # fmt: skip


def _whole(table: str, rows: list[Row]) -> Any:
    text = "".join(lines(table, rows))
    assert not any(ord(sign) in (0x7F, 0x202E) for sign in text)
    text.encode()
    return json.loads(f"[{text}]")


def _same(one: Any, other: Any) -> bool:
    """Equal, and of the same types: 1 is not true."""
    return json.dumps(one) == json.dumps(other)


@given(st.lists(st.tuples(_VALUES, _VALUES), min_size=1, max_size=5))
def test_each_row_is_what_it_is_alone(values: list[tuple[Any, Any]]) -> None:
    declared = [COMMITTED_OFFSETS.row({"committed": one, "error": other}) for one, other in values]
    free = [{"a": one, "b %": other} for one, other in values]
    for table, rows in (("committed_offsets", declared), ("no_such_table", free)):
        assert _same(_whole(table, rows), [plain_values(row) for row in rows])
    assert [one for one in ("NaN", "Infinity") if one in "".join(lines("committed_offsets", declared))] == []


def test_rows_beyond_a_piece_and_rows_that_lack_a_column() -> None:
    rows: list[Row] = [{"group": f"g-{number // 7}", "partition": number} for number in range(2500)]
    found = _whole("committed_offsets", rows)
    assert [row["partition"] for row in found] == list(range(2500))
    assert (found[-1]["group"], found[-1]["host"]) == ("g-357", None)
    assert list(found[0]) == list(COMMITTED_OFFSETS.names)
    assert _whole("committed_offsets", [{"group": "g"}] * 3) == _whole("committed_offsets", [{"group": "g"}]) * 3
    assert "".join(lines("committed_offsets", [])) == ""


def _shown(rows: list[Row]) -> list[Row]:
    report = without_secrets(Report("diag", "1", "lag-report", None, (None, None), facts={"committed_offsets": rows}))
    return list(report.facts["committed_offsets"])


def test_one_secret_among_many_rows_goes() -> None:
    rows = [COMMITTED_OFFSETS.row({"group": "g", "partition": number}) for number in range(300)]
    assert _shown(rows)[0] is rows[0]
    for hidden in (
        {"error": "login failed: password=hunter2hunter2"},
        {"password": "hunter2hunter2"},
        {"key": "sasl.password", "value": "hunter2hunter2"},
        {"assigned": ["a", "password=hunter2hunter2"]},
        {"more": {"password": "hunter2hunter2"}},
        {"history": [{"password": "hunter2hunter2"}]},
    ):
        mixed = [*rows, {**rows[0], **hidden}]  # with another key than its neighbours
        alike = [*({**dict.fromkeys(hidden), **row} for row in rows), {**rows[0], **hidden}]
        for each in (mixed, alike, [mixed[-1]] * 3):
            shown = _shown(each)
            assert "hunter2" not in str(shown), hidden
            assert len(shown) == len(each)
            assert shown[0] == each[0] or each[0] is mixed[-1]
