"""LAG102: readers of committed records wait at the last stable offset, and the log goes on without them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, seconds
from analyzers.finding import Severity
from analyzers.rule import rule
from analyzers.samples import evidence, no_job


@rule(
    "LAG102",
    title="An open transaction holds the last stable offset",
    cause="no-progress",
    stage="lag",
    severity=Severity.CRITICAL,
    says={
        "held": "The last stable offset of {places} partition(s) that group {group} reads has not moved for {held_minutes} min while "
        "{hidden_records} records were written behind it: {named}. Readers with isolation.level=read_committed get none of them",
        "": "{hidden_records} records lie behind an open transaction on {places} partition(s) where group {group} has read all it may: "
        "{named}. Normal between two commits of an exactly-once writer; a hanging transaction when the last stable offset stays",
    },
    fix={
        "held": "Find the writer and end its transaction: kafka-transactions.sh find-hanging, then describe-producers --topic T "
        "--partition P; "
        "restart that producer (it aborts what it left open), or kafka-transactions.sh abort when it is gone for good.",
        "": "Ask again after the writer's checkpoint interval, into one bundle: diag lag-report --save B, later the same again. "
        "If the last "
        "stable offset has not moved by then, kafka-transactions.sh find-hanging names the producer.",
    },
    missing="which producer holds it: the broker knows (kafka-transactions.sh describe-producers --topic {one_topic} --partition "
    "{one_partition})",
    next_command="kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers --topic {one_topic} --partition {one_partition}",
)
def open_transaction_holds(
    committed_offsets: DataFrame,
    *,
    enough: int = 1000,  # records; markers of closed transactions are one record each
    hanging: int = 900,  # seconds; transaction.max.timeout.ms of brokers: no transaction may be open longer by right
) -> DataFrame:
    """Per group, partitions whose reader stands at the last stable offset with records behind it; held when samples show that it stays."""
    known = committed_offsets.where(F.col("last_stable").isNotNull() & F.col("high_watermark").isNotNull())
    per_place = known.groupBy("scope", "group", "topic", "partition").agg(
        F.max_by("committed", "at").alias("committed"),
        F.max_by("last_stable", "at").alias("last_stable"),
        F.max_by("high_watermark", "at").alias("high_watermark"),
        F.min("last_stable").alias("lowest_stable"),
        F.min("high_watermark").alias("lowest_end"),
        F.min("at").alias("first_at"),
        F.max("at").alias("at"),
    )
    hidden = F.col("high_watermark") - F.col("last_stable")
    stays = (F.col("lowest_stable") == F.col("last_stable")) & (F.col("high_watermark") > F.col("lowest_end"))
    rows = per_place.where((F.col("committed") >= F.col("last_stable")) & (hidden >= enough)).withColumns(
        {
            "hidden": hidden,
            "held_seconds": F.when(stays, seconds("first_at", "at")),
            "name": F.concat_ws("-", "topic", "partition"),
        }
    )
    rows = rows.withColumn("reason", F.when(F.col("held_seconds") >= hanging, "held").otherwise("open"))
    text = F.concat(
        F.lit("group "), "group", F.lit(", "), "name", F.lit(": committed "), "committed", F.lit(", last stable offset "), "last_stable",
        F.lit(", high watermark "), "high_watermark",
    )  # fmt: skip
    found = rows.groupBy("scope", "group", "reason").agg(
        F.count("*").alias("places"),
        F.sum("hidden").alias("hidden_records"),
        F.array_sort(F.collect_set("name")).alias("named"),
        agreed("topic"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.when(F.count("*") == 1, F.max("last_stable")).alias("offset"),
        F.max_by("topic", "hidden").alias("one_topic"),
        F.max_by("partition", "hidden").alias("one_partition"),
        F.floor(F.max("held_seconds") / 60).alias("held_minutes"),
        F.when(F.col("reason") == "held", F.min("first_at")).alias("since"),
        F.max("at").alias("until"),
        evidence("committed_offsets", text, at="at"),
    )
    held = F.col("reason") == "held"
    return no_job(
        found.withColumns(
            {
                "severity": F.when(held, "critical").otherwise("info"),
                "cause": F.when(held, "no-progress"),
                "held_minutes": F.when(held, F.col("held_minutes")),
            }
        )
    )
