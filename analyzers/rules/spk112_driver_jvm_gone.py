"""SPK112: the JVM of a Spark driver is gone, says the Python program that calls it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import failures
from analyzers.vocabulary.rule import FAILING, rule

_ORDERED = ("spark-stopping", "process-stop-requested")


@rule(
    "SPK112",
    title="The JVM of the driver is gone",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    faults=("driver-jvm-lost",),
    signatures=("spark-version", *_ORDERED),
    says={
        "asked-to-end": "The JVM of Spark's driver was asked to end[[ at {since} UTC]], and the Python program that waited for its query "
        "ended of it: {what}",
        "": "The JVM of Spark's driver is gone[[ since {since} UTC]]: the Python program lost the connection to it and ended ({what}). No "
        "line says that it was asked to end, and the query runs no more",
    },
    inferred="[[{assumed}]]",
    missing={"asked-to-end": "who asked it to end", "": "what ended it: its own log cannot say it"},
    next_command="dmesg -T | grep -i 'killed process'   # on its host; or kubectl describe pod POD",
    needs=FAILING,
)
def driver_jvm_gone(
    faults: DataFrame,
    log_events: DataFrame,
    *,
    around: int = 120,  # seconds in which the end may have been ordered, and its hooks run
) -> DataFrame:
    """Per query, where no other driver went on (SPK111 tells that). Source: Py4J's ClientServerConnection, SparkContext's shutdown hook."""
    found = failures(faults)
    at = F.col("at").alias("_at")
    told = log_events.where(F.col("signature").isin(*_ORDERED)).select(F.col("scope").alias("_scope"), at)
    near = (F.col("scope") == F.col("_scope")) & (F.abs(F.unix_seconds("_at") - F.unix_seconds("since")) <= around)
    asked = found.join(told, near, "left_semi").select("scope", "job").withColumn("asked", F.lit(True))
    # only who logs at INFO would have told an orderly end
    tells = log_events.where((F.col("signature") == "spark-version") & (F.col("level") == "INFO")).select("scope").distinct()
    both = found.join(asked, ["scope", "job"], "left").join(tells.withColumn("tells", F.lit(True)), "scope", "left")
    killed = F.col("asked").isNull() & F.col("tells")
    return both.withColumns(
        {
            "reason": F.when(F.col("asked"), F.lit("asked-to-end")).otherwise(F.lit("jvm-gone")),
            "cause": F.when(F.coalesce(killed, F.lit(False)), F.lit("taskmanager-lost")),
            "severity": F.when(F.coalesce(killed, F.lit(False)), F.lit("critical")).otherwise(F.lit("warning")),
            "assumed": F.when(
                F.coalesce(killed, F.lit(False)),
                F.lit("It was killed from outside, mostly for memory, or crashed: an orderly end and SIGTERM leave lines."),
            ),
            "confidence": F.lit(0.67),  # wanted: what its host or container says of its end
        }
    ).drop("asked", "tells", "task", "subtask", "parallelism")
