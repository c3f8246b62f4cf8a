"""What databases show of the readers of their logs."""

from __future__ import annotations

from analyzers.tables.model import table

REPLICATION_SLOTS = table(
    "replication_slots",
    "replication slots of PostgreSQL, as psql prints pg_replication_slots",
    """
slot string name of the slot
plugin string output plugin; null of a physical slot, and where it was not asked for
database string database of a logical slot
active boolean a reader is connected
wal_status string reserved, extended (more than max_wal_size is kept), unreserved (some is gone soon), lost
restart_lsn string oldest position that is kept for it, as PostgreSQL prints it
confirmed_lsn string position up to which its reader has confirmed
restart_bytes long restart_lsn as bytes since the beginning of the log
confirmed_bytes long confirmed_lsn as bytes since the beginning of the log
end_bytes long where the log ended then, likewise; null if nothing shows it
kept_bytes long size that the table itself shows as kept or behind
moment long number of the look, from 1
file string file that holds the table
line long line of it
""",
)
