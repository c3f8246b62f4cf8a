"""LAG307: a change data capture source wants a position that the database's log no longer has."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import failures
from analyzers.vocabulary.rule import FAILING, rule

_POSITION = (
    r"currentBinlogFilename=([^,\s]+), currentBinlogPosition=(\d+)|file=([^,\s]+),pos=(\d+)|binlog file '([^']+)', pos=(\d+)"
    r"|the first event '([^']+)' at (\d+)"
)


@rule(
    "LAG307",
    title="The database's log no longer has the source's position",
    cause="offset-reset",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("database-log-gone",),
    says="The database no longer has the log position from which the source[[ {task}]] wants to go on[[ ({position})]]: {what}; {failures} "
    "failure(s)[[ in {attempts} attempt(s)]][[, first at {since} UTC]]. Every restart from the same state fails the same way",
    needs=FAILING,
)
def database_log_gone(faults: DataFrame) -> DataFrame:
    """Fatal faults per job. Source: Debezium's connectors, MySQL's error 1236, PostgreSQL's slot.c, MongoDB's change streams."""
    parts = [F.nullif(F.regexp_extract("text", _POSITION, n), F.lit("")) for n in range(1, 9)]
    named = F.when(F.coalesce(*parts[::2]).isNotNull(), F.concat_ws(":", F.coalesce(*parts[::2]), F.coalesce(*parts[1::2])))
    found = failures(faults.withColumn("position", named), F.max("position").alias("position"))
    brief = F.regexp_replace("what", r" starting at .*$", "…")  # the whole position follows, in the connector's own structure
    return found.withColumns({"what": brief, "reason": F.lit("database-log")})
