"""The declared schema: every column has a known type, a name of its own and a sentence; every table begins with whose row it is."""

from __future__ import annotations

from typing import get_args

import pytest

from analyzers.diagnosis.coverage import ABSENT
from analyzers.tables import TABLES, ColumnType, Table


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_table_is_declared_whole(table: Table) -> None:
    assert table.names[:3] == ("scope", "as_of", "job")
    assert len(set(table.names)) == len(table.names)
    assert all(column.type in get_args(ColumnType) for column in table.columns)
    assert all(column.says.strip() for column in table.columns)


def test_a_row_refuses_a_column_that_is_not_declared() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        TABLES["sources"].row({"nonsense": 1})


def test_every_table_says_why_it_may_be_missing() -> None:
    assert set(TABLES) <= set(ABSENT)
