"""LAG304: the wanted offset is gone, and the client fails instead of going on elsewhere."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct, failures
from analyzers.vocabulary.rule import FAILING, rule

_AT = r"\{?\[?([\w.-]+)-(\d+)=(?:FetchPosition\{offset=)?(\d+)"

_OF_SPARK = "org.apache.spark.sql.kafka010."  # its source keeps positions in the query's checkpoint: LAG303


@rule(
    "LAG304",
    title="The wanted offset does not exist, and there is no reset policy",
    cause="offset-reset",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("offset-gone", "offset-undefined", "log-truncated"),
    says={
        "no-offset": "The consumer[[ of {task}]] has no offset to start from[[ for {partitions_named}]]: nothing is committed in its "
        "group and auto.offset.reset=none ({failures} failure(s)[[, first at {since} UTC]])",
        "truncated": "The log[[ of {partitions_named}]] is shorter than what was already read: an unclean leader election lost records "
        "({what}; {failures} failure(s)[[, first at {since} UTC]])",
        "raised": "The wanted offset is gone[[ ({positions})]] and the Kafka client has no reset policy: it reads on nowhere and raises an "
        "error each time that it is asked ({failures} time(s)[[, first at {since} UTC]])",
        "": "The wanted offset is gone[[ ({positions})]] and the consumer[[ of {task}]] has no reset policy: every attempt fails the "
        "same way ({failures} failure(s)[[, first at {since} UTC]])",
    },
    missing="[[{untold}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT,…",
    needs=FAILING,
)
def no_reset_policy(faults: DataFrame) -> DataFrame:
    """Fatal offset faults per job; the message names partition and offset."""
    told = faults.withColumn("_told", F.concat_ws("\n", "root_message", "chain", "text"))
    told = told.where(~F.contains("_told", F.lit(_OF_SPARK)))
    rows = told.withColumns(
        {
            "_topic": F.coalesce("topic", _part(1)),
            "_partition": F.coalesce("partition", _part(2).cast("long")),
            "_offset": F.coalesce("offset", _part(3).cast("long"), _position()),
        }
    )
    named = F.when(F.col("_topic").isNotNull(), F.concat_ws("-", "_topic", "_partition"))
    position = F.when(
        F.col("_offset").isNotNull(),
        F.format_string("%s-%s at %s", "_topic", F.col("_partition").cast("string"), F.col("_offset").cast("string")),
    )
    found = failures(
        rows,
        agreed("_topic", "topic"),
        agreed("_partition", "one_partition"),
        agreed("_offset", "one_offset"),
        distinct(named, "partitions_named"),
        distinct(position, "positions"),
        F.bool_and((F.col("signature") == "offset-out-of-range") & F.col("root_exception").isNull()).alias("only_raised"),
    )
    raised = F.coalesce("only_raised", F.lit(False))
    untold = F.when(raised, F.lit("what the application makes of that error (it may stop, try for ever, go on elsewhere): its log has it"))
    found = found.withColumns({"reason": F.when(raised, F.lit("raised")).otherwise(F.col("reason")), "untold": untold}).drop("only_raised")
    one = F.size(F.coalesce("partitions_named", F.array())) == 1
    return found.withColumns({"partition": F.when(one, F.col("one_partition")), "offset": F.when(one, F.col("one_offset"))}).drop(
        "one_partition", "one_offset"
    )


def _position() -> Column:
    return F.nullif(F.regexp_extract("_told", r"FetchPosition\{offset=(\d+)", 1), F.lit("")).cast("long")


def _part(group: int) -> Column:
    """Topic, partition or offset of `{topic-partition=offset}` or `[topic-partition]`."""
    return F.coalesce(
        F.nullif(F.regexp_extract("_told", _AT, group), F.lit("")),
        F.nullif(F.regexp_extract("_told", r"for partitions?:? \[?([\w.-]+)-(\d+)()\b", group), F.lit("")),
    )
