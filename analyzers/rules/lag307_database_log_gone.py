"""LAG307: a change data capture source wants a position that the database's log no longer has."""

from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, agreed, failures, rule

_POSITION = (
    r"currentBinlogFilename=([^,\s]+), currentBinlogPosition=(\d+)|file=([^,\s]+),pos=(\d+)|binlog file '([^']+)', pos=(\d+)"
    r"|the first event '([^']+)' at (\d+)"
)
_NUMBER = r"lsn=LSN\{([0-9A-F/]+)\}|offset scn (\d+)"
_SLOT = r"replication slot \"([^\"]+)\""
_CONNECTORS = (r"Worker\w+Task\{id=([^\s}]+)-\d+\}", r"\[([^\s\[\]|]+)\|task-\d+")
"""How Kafka Connect names a connector: in the name of its task, and in the context of its log lines."""


@rule(
    "LAG307", title="The database's log no longer has the source's position", cause="offset-reset", reason="position-expired",
    stage="access", severity=CRITICAL, faults=("database-log-gone",), needs=FAILING,
    says="The database no longer has the log position from which the source[[ {task}]][[ (connector {source})]] wants to go on"
    "[[ ({position})]]: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, first at {since} UTC]]. Every restart "
    "from the same state fails the same way",
)  # fmt: skip
def database_log_gone(faults: DataFrame) -> DataFrame:
    """Fatal faults per job. Source: Debezium's connectors, MySQL's error 1236, PostgreSQL's slot.c, MongoDB's change streams."""
    files, offsets = ([F.nullif(F.regexp_extract("text", _POSITION, n), F.lit("")) for n in range(first, 9, 2)] for first in (1, 2))
    position = F.when(F.coalesce(*files).isNotNull(), F.concat_ws(":", F.coalesce(*files), F.coalesce(*offsets)))
    number = F.coalesce(*(F.nullif(F.regexp_extract("text", _NUMBER, n), F.lit("")) for n in (1, 2)))
    slot = F.nullif(F.regexp_extract("text", _SLOT, 1), F.lit(""))
    connector = F.coalesce(*(F.nullif(F.regexp_extract("text", pattern, 1), F.lit("")) for pattern in _CONNECTORS))
    # of a pasted trace: the connector whose status stands beside it
    connector = F.coalesce(connector, F.when(F.col("text").rlike(r"org\.apache\.kafka\.connect\."), F.col("job")))
    named = (F.max(F.coalesce(position, number)).alias("position"), agreed(connector, "source"), agreed(slot, "slot"))
    found = failures(faults, *named).drop("reason")
    # the whole position follows, in the connector's own structure
    return found.withColumns(
        {
            "what": F.regexp_replace("what", r" starting at .*$", "…"),
        }
    )
