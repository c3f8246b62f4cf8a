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

PUBLICATION_TABLES = table(
    "publication_tables",
    "the tables of publications of PostgreSQL, as psql prints pg_publication_tables",
    """
publication string name of the publication
table_name string schema.table
file string file that holds the listing
line long line of it
""",
)

SINK_COMMITS = table(
    "sink_commits",
    "the newest checkpoint or batch that a table of a lake holds as committed: snapshots of Iceberg, commits of Delta, a file sink's log",
    """
table_name string name of the table, or its path; null if nothing shows it
writer string for whom it holds it: flink (the row's job), delta (an application id), files (whoever writes to the path)
application string txnAppId of Delta: the query's id, or what the code gives
committed long flink.max-committed-checkpoint-id of the newest snapshot; newest txn version, or number in _spark_metadata
committed_at timestamp when that was committed
file string file that shows it
line long line of it
""",
)

SINK_SKIPS = table(
    "sink_skips",
    "jobs whose sink takes their checkpoints for committed already (analyzers/derived/checkpoints/sink_skips.py), queries whose sink takes "
    "their batches so (analyzers/derived/checkpoints/batch_skips.py)",
    """
reason string skipped, hole (later ones are added), counts-anew; of batches batches-skipped, -hole, -anew, -unread (offsets move, no rows)
job_name string name of the job or query
application string txnAppId of Delta
directory string checkpoint directory of the query
table_name string name of the table, or its path
committed long checkpoint or batch that it holds for committed
committed_at timestamp when it was committed
first long first checkpoint or batch that is skipped
newest long last checkpoint or batch that is skipped
skips long lines or batches that show it
at timestamp time of the first of them, or since when the job counts so
until timestamp time of the last
text string what shows it
file string file with it
line long line of it
""",
    derived=True,
)
