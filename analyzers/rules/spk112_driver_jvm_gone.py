"""SPK112: The JVM of a Spark driver is gone, according to the Python program that calls it."""

from analyzers.vocabulary import CRITICAL, FAILING, SPARK_DRIVER, DataFrame, F, event, failures, first_of, rule, seconds

ORDERED = ("spark-stopping", "process-stop-requested")


@rule(
    "SPK112", title="The JVM of the driver is gone", stage="failure", severity=CRITICAL, logs_of=SPARK_DRIVER,
    faults=("driver-jvm-lost",), signatures=("spark-version", *ORDERED), needs=FAILING,
    says={
        "asked-to-end": "The JVM of Spark's driver was asked to end[[ at {since} UTC]], and the Python program that waited for its query "
        "ended with it: {what}",
        "": "The JVM of Spark's driver is gone[[ since {since} UTC]]: the Python program lost the connection to it and ended ({what}). No "
        "line says that it was asked to end, and the query no longer runs",
    },
    inferred="[[It was killed from outside (not later than {killed_at} UTC), mostly for memory, or crashed: an orderly end and SIGTERM "
    "leave lines.]]",
    missing={"asked-to-end": "who asked it to end", "": "why it ended: its own log cannot show it"},
    next_command="dmesg -T | grep -i 'killed process'   # on its host; or kubectl describe pod POD",
)  # fmt: skip
def driver_jvm_gone(
    faults: DataFrame,
    log_events: DataFrame,
    *,
    around: int = 120,  # seconds in which the end may have been ordered, and its hooks run
) -> DataFrame:
    """Per query, where no other driver went on (that is SPK111). Source: Py4J's ClientServerConnection, SparkContext's shutdown hook."""
    # only a driver that logs at INFO would have logged an orderly end
    logged = F.bool_or(event("spark-version") & (F.col("level") == "INFO")).alias("_logs")
    ordered = F.collect_list(F.when(event(*ORDERED), F.col("at"))).alias("_ordered")
    lost = failures(faults).drop("task", "subtask", "parallelism").join(log_events.groupBy("scope").agg(logged, ordered), "scope", "left")
    asked = F.coalesce(F.exists("_ordered", lambda at: F.abs(seconds("since", at)) <= around), F.lit(False))
    killed = ~asked & F.coalesce("_logs", F.lit(False))
    return lost.withColumns(
        {
            "reason": first_of(("asked-to-end", asked), otherwise="jvm-gone"),
            "cause": first_of(("taskmanager-lost", killed)),
            "severity": first_of(("critical", killed), ("info", asked), otherwise="warning"),
            "killed_at": F.when(killed, F.col("since")),
            "confidence": F.lit(0.67),  # wanted: what its host or container shows of its end
        }
    )
