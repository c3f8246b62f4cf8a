"""Which tables a publication of PostgreSQL has, as psql prints pg_publication_tables.

Source: pg_publication_tables of PostgreSQL 10 to 18; of a publication FOR ALL TABLES it lists them all.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.states import psql
from analyzers.states.state import State, Text

SHAPE = "table of a publication"
SIGNS = (b"pubname",)


def read(text: Text) -> Iterator[State]:
    """Every such table of a text, in its order."""
    for first, stop, rows in psql.tables(text.lines):
        listed = [(row, line) for row, line in rows if row.get("pubname") and row.get("tablename")]
        if listed:
            state = State(SHAPE, first, stop)
            for row, line in listed:
                table = ".".join(filter(None, (row.get("schemaname"), row["tablename"])))
                state.add("publication_tables", {"publication": row["pubname"], "table_name": table, "line": line})
            yield state
