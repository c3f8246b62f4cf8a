"""LAG307: a change data capture source wants a position that the database's log no longer has."""

from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, failures, rule

_POSITION = (
    r"currentBinlogFilename=([^,\s]+), currentBinlogPosition=(\d+)|file=([^,\s]+),pos=(\d+)|binlog file '([^']+)', pos=(\d+)"
    r"|the first event '([^']+)' at (\d+)"
)


@rule(
    "LAG307", title="The database's log no longer has the source's position", cause="offset-reset", reason="database-log", stage="access",
    severity=CRITICAL, faults=("database-log-gone",), needs=FAILING,
    says="The database no longer has the log position from which the source[[ {task}]] wants to go on[[ ({position})]]: {what}; {failures} "
    "failure(s)[[ in {attempts} attempt(s)]][[, first at {since} UTC]]. Every restart from the same state fails the same way",
)  # fmt: skip
def database_log_gone(faults: DataFrame) -> DataFrame:
    """Fatal faults per job. Source: Debezium's connectors, MySQL's error 1236, PostgreSQL's slot.c, MongoDB's change streams."""
    files, offsets = ([F.nullif(F.regexp_extract("text", _POSITION, n), F.lit("")) for n in range(first, 9, 2)] for first in (1, 2))
    position = F.when(F.coalesce(*files).isNotNull(), F.concat_ws(":", F.coalesce(*files), F.coalesce(*offsets)))
    found = failures(faults, F.max(position).alias("position")).drop("reason")
    # the whole position follows, in the connector's own structure
    return found.withColumn("what", F.regexp_replace("what", r" starting at .*$", "…"))
