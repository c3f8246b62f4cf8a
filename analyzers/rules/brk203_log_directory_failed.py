"""BRK203: a broker cannot write to its log directory."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import agreed, distinct, place, said
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, is_up_again
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_SIGNS = ("log-dir-failed", "broker-start-failed", "disk-full")
_OF_THE_LOG = r"\bkafka\.log\.|\bkafka\.storage\.internals\."
"""Frames of a broker at work on its partitions: another volume of the host (that of its own log) may be full, too."""


@rule(
    "BRK203",
    title="A broker cannot write to its log directory",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=BROKER,
    signatures=(*_SIGNS, "broker-started"),
    says="[[Broker {broker}]][[{some_broker}]] cannot write to its log directory[[ {directories}]][[: {what}]][[, first at {since} UTC]]. "
    "{end}",
    missing="[[{unsaid}]]",
    needs=has(signature=_SIGNS),
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def log_directory_failed(log_events: DataFrame) -> DataFrame:
    """Per broker log: failed log directories, and starts that failed for want of room; a warning where the broker is up again.

    Source: Kafka's LogDirFailureChannel, LogManager and ReplicaManager.
    """
    full = F.rlike("text", F.lit(DISK_FULL))
    own = F.coalesce(F.col("role") == "kafka-broker", F.lit(False)) & F.rlike("text", F.lit(_OF_THE_LOG))
    failed = (
        (F.col("signature") == "log-dir-failed")
        | ((F.col("signature") == "broker-start-failed") & full)
        | ((F.col("signature") == "disk-full") & own)
    )
    of_partition = F.regexp_extract(F.col("detail")["file_path"], r"^(/.+?)(?:/[^/]+-\d+)?/[^/]+$", 1)
    named = [F.col("detail")[name] for name in ("path", "paths", "directory", "written")]
    directory = F.nullif(F.rtrim(F.coalesce(*named, of_partition)), F.lit(""))
    with_cause = F.when(F.col("root_exception").isNotNull(), place())  # the line itself says no more than that it failed
    rows = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker").withColumn("up", is_up_again(failed))
    found = (
        rows.where(failed)
        .withColumns({"directory": directory, "said": said(), "with_cause": with_cause, "named": broker_in_text()})
        .groupBy("scope", "file")
        .agg(
            agreed("named", "broker"),
            distinct("directory", "directories"),
            F.min_by("said", "with_cause").alias("what"),
            F.when(F.max(full), F.lit("disk-full"))
            .when(F.max(F.contains("text", F.lit("Map failed"))), F.lit("map-failed"))
            .otherwise(F.lit("disk"))
            .alias("reason"),
            F.max(F.contains("text", F.lit("all log dirs in ")) | (F.col("signature") == "broker-start-failed")).alias("ends"),
            F.max("root_exception").alias("why"),
            F.max("up").alias("up"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
    )
    end = (
        F.when(F.col("up"), F.lit("It has been started again since"))
        .when(F.col("ends"), F.lit("No directory is left to it: it shuts itself down"))
        .otherwise(F.lit("Its partitions there are offline, and it ends where no directory is left to it"))
    )
    return found.withColumns(
        {
            "job": F.lit(None).cast("string"),
            "some_broker": F.when(F.col("broker").isNull(), F.lit("A broker")),
            "end": end,
            "severity": F.when(F.col("up"), F.lit("warning")).otherwise(F.lit("critical")),
            "unsaid": F.when(F.col("why").isNull(), F.lit("what the disk answered: the exception before these lines has it")),
            "directories": F.array_join("directories", ", "),
        }
    ).drop("file", "why", "up", "ends")
