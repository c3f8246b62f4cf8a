"""What databases and tables of a lake show of their readers and writers."""

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

SINK_COMMITS = table(
    "sink_commits",
    "the newest checkpoint of a Flink job that a table of Iceberg holds as committed",
    """
table_name string name of the table; null if nothing shows it
committed long flink.max-committed-checkpoint-id of its newest snapshot
committed_at timestamp when that snapshot was committed
file string file that holds the list of snapshots
line long line of it
""",
)

SINK_SKIPS = table(
    "sink_skips",
    "jobs whose sink takes their checkpoints for committed already (analyzers/derived/checkpoints/sink_skips.py)",
    """
reason string skipped (its lines say so), hole (so, and later ones are added), counts-anew (the numbers of table and job do)
job_name string name of the job
table_name string name of the table
committed long checkpoint that it holds for committed
committed_at timestamp when it was committed
first long first checkpoint that is skipped
newest long last checkpoint that is skipped
skips long lines that say so
at timestamp time of the first of them, or since when the job counts so
until timestamp time of the last
text string what shows it
file string file with it
line long line of it
""",
    derived=True,
)
