"""LAG304: the wanted offset is gone, and the client fails because it has no reset policy."""

from analyzers.vocabulary import CRITICAL, FAILING, Column, DataFrame, F, distinct, event, failures, first_of, rule, text
from analyzers.vocabulary.lag import the_partition

_PLACES = (
    r"\{?\[?([\w.-]+)-(\d+)=(?:FetchPosition\{offset=)?(\d+)",  # {topic-partition=offset}
    r"\(partition=([\w.-]+)-(\d+), fetchOffset=(\d+)",  # SubscriptionState.LogTruncation
    r"for partitions?:? \[?([\w.-]+)-(\d+)()\b",
    r"()()FetchPosition\{offset=(\d+)",
)
_OF_SPARK = "org.apache.spark.sql.kafka010."  # its source keeps positions in the query's checkpoint: LAG303


@rule(
    "LAG304", title="The wanted offset does not exist, and there is no reset policy", cause="offset-reset", stage="access",
    severity=CRITICAL, faults=("offset-gone", "offset-undefined", "log-truncated"), needs=FAILING,
    says={
        "no-offset": "The consumer[[ of {task}]] has no offset to start from[[ for {partitions_named}]]: nothing is committed in its "
        "group and auto.offset.reset=none ({failures} failure(s)[[, first at {since} UTC]])",
        "truncated": "The log[[ of {partitions_named}]] is shorter than what was already read: an unclean leader election lost records "
        "({what}; {failures} failure(s)[[, first at {since} UTC]])",
        "raised": "The wanted offset is gone[[ ({positions})]] and the Kafka client has no reset policy: it does not read on and raises an "
        "error at each poll ({failures} time(s)[[, first at {since} UTC]])",
        "": "The wanted offset is gone[[ ({positions})]] and the consumer[[ of {task}]] has no reset policy: every attempt fails the "
        "same way ({failures} failure(s)[[, first at {since} UTC]])",
    },
    missing={"raised": "what the application does with that error (it may stop, retry for ever, or seek elsewhere): see its log"},
    next_command="diag lag-report --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def no_reset_policy(faults: DataFrame) -> DataFrame:
    """Fatal offset faults per job; the message names partition and offset."""
    rows = faults.withColumn("_words", F.concat_ws("\n", "root_message", "chain", "text"))
    rows = rows.where(~F.contains("_words", F.lit(_OF_SPARK))).withColumns(
        {
            "_topic": F.coalesce("topic", _part(1)),
            "_partition": F.coalesce("partition", _part(2).cast("long")),
            "_offset": F.coalesce("offset", _part(3).cast("long")),
        }
    )
    found = failures(
        rows,
        distinct(F.when(F.col("_topic").isNotNull(), F.concat_ws("-", "_topic", "_partition")), "partitions_named"),
        distinct(text("{_topic}-{_partition} at {_offset}"), "positions"),
        F.bool_and(event("offset-out-of-range") & F.col("root_exception").isNull()).alias("_raised"),
        *(value.alias(name) for name, value in the_partition("_topic", "_partition", "_offset").items()),
    )
    return found.withColumn("reason", first_of(("raised", F.col("_raised")), otherwise=F.col("reason")))


def _part(group: int) -> Column:
    """Topic, partition or offset as the words name it."""
    return F.coalesce(*(F.nullif(F.regexp_extract("_words", pattern, group), F.lit("")) for pattern in _PLACES))
