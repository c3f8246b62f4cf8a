"""LAG301: the wanted offset does not exist any more, and the client went on elsewhere."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule


@rule(
    "LAG301",
    title="The position of a partition was reset under the job: records skipped or read again",
    cause="offset-reset",
    stage="lag",
    severity=Severity.CRITICAL,
    signatures=("offset-out-of-range", "offset-reset", "rdkafka-offset-reset", "unknown-topic-or-partition"),
    says={
        "retention": "The offsets that the job wanted are gone ({moves}): it went on at the first ones that exist, {records} record(s) "
        "were never read[[, first at {since} UTC]]",
        "rewound": "The partitions end before the offsets that the job wanted ({moves}): it went back, and what is there is read again "
        "or was never read[[, first at {since} UTC]]",
        "": "The offsets that the job wanted do not exist ({moves}): the client reset its position, records were skipped or are read "
        "again[[, first at {since} UTC]]",
    },
    inferred={"retention": "That retention deleted them is inferred: the first offset that exists is above the wanted one."},
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
    needs=has(signature=("offset-out-of-range", "rdkafka-offset-reset")),
)
def position_gone(
    log_events: DataFrame,
    *,
    prompt: int = 60,  # seconds: a client resets with its next poll; a later reset has another reason
) -> DataFrame:
    """Per job, the partitions whose fetch position was out of range and reset; first starts of a group have no such line."""
    wanted = F.coalesce("offset", F.col("detail")["position"].cast("long"))
    asked = (
        Window.partitionBy("scope", "job", "client", "topic", "partition").orderBy("at", "line").rowsBetween(1, Window.unboundedFollowing)
    )
    reset = F.first(F.when(F.col("signature") == "offset-reset", F.struct("at", "offset")), ignorenulls=True).over(asked)
    late = F.coalesce(seconds("at", F.col("reset")["at"]) > prompt, F.lit(False))
    rows = (
        log_events.where(F.col("topic").isNotNull())
        .withColumns({"reset": reset, "wanted": wanted})
        .withColumn("to_offset", F.when(~late, F.col("reset")["offset"]))
    )
    recreated = log_events.where(F.col("signature") == "unknown-topic-or-partition").select("scope", "topic").distinct()
    gone = rows.where(
        F.col("signature").isin("offset-out-of-range", "rdkafka-offset-reset")
        & (F.coalesce(F.col("detail")["then"], F.lit("resetting offset")) == "resetting offset")
    )
    gone = gone.join(recreated, ["scope", "topic"], "left_anti")
    move = F.format_string(
        "%s-%s: %s → %s",
        "topic",
        F.col("partition").cast("string"),
        F.coalesce(F.col("wanted").cast("string"), F.lit("?")),
        F.coalesce(F.col("to_offset").cast("string"), F.col("detail")["reset_to"], F.lit("?")),  # librdkafka names only the end
    )
    per_job = (
        gone.withColumn("move", move)
        .groupBy("scope", "job")
        .agg(
            distinct("move", "moves"),
            distinct("topic", "topics"),
            F.sum(F.greatest(F.col("to_offset") - F.col("wanted"), F.lit(0))).alias("records"),
            F.count_if(F.col("to_offset") > F.col("wanted")).alias("ahead"),
            F.count_if(F.col("to_offset") <= F.col("wanted")).alias("behind"),
            F.countDistinct("topic", "partition").alias("partitions"),
            agreed("topic"),
            agreed("partition"),
            agreed("wanted", "one_offset"),
            agreed("group"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
    )
    reason = (
        F.when((F.col("ahead") > 0) & (F.col("behind") == 0), "retention")
        .when((F.col("behind") > 0) & (F.col("ahead") == 0), "rewound")
        .otherwise("out-of-range")
    )
    single = F.col("partitions") == 1
    return per_job.withColumns(
        {
            "reason": reason,
            "partition": F.when(single, F.col("partition")),
            "offset": F.when(single, F.col("one_offset")),
        }
    ).drop("ahead", "behind", "partitions", "one_offset")
