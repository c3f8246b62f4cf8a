"""SPK112: The JVM of a Spark driver is gone, according to the Python program that calls it."""

from analyzers.vocabulary import CRITICAL, FAILING, SPARK_DRIVER, DataFrame, F, event, failures, first_of, rule, seconds

ORDERED = ("spark-stopping", "process-stop-requested")
BY_HAND = "program-interrupted"


@rule(
    "SPK112", title="The JVM of the driver is gone", stage="failure", severity=CRITICAL, logs_of=SPARK_DRIVER,
    faults=("driver-jvm-lost",), signatures=("spark-version", BY_HAND, *ORDERED), needs=FAILING,
    says={
        "asked-to-end": "The JVM of Spark's driver was asked to end[[ at {since} UTC]], and the Python program that waited for its query "
        "ended with it: {what}",
        "interrupted": "The Python program was interrupted by hand, and lost its connection to the JVM of Spark's driver then: {what}",
        "": "The JVM of Spark's driver is gone[[ since {since} UTC]]: the Python program lost the connection to it and ended ({what}). No "
        "line says that it was asked to end, and the query no longer runs",
    },
    inferred="[[It was killed from outside (not later than {killed_at} UTC), mostly for memory, or crashed: an orderly end and SIGTERM "
    "leave lines.]]",
    missing={
        "asked-to-end": "who asked it to end",
        "interrupted": "whether the JVM still runs: its own log shows it",
        "": "why it ended: its own log cannot show it",
    },
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
    # in a notebook or a shell: its traceback stands before that of the lost connection
    by_hand = F.min(F.when(event(BY_HAND), F.struct("file", "line"))).alias("_by_hand")
    known = log_events.groupBy("scope").agg(logged, ordered, by_hand)
    place = F.min(F.struct("file", "line")).alias("_place")
    lost = failures(faults, place).drop("task", "subtask", "parallelism").join(known, "scope", "left")
    interrupted = F.coalesce(
        (F.col("_by_hand.file") == F.col("_place.file")) & (F.col("_by_hand.line") <= F.col("_place.line")), F.lit(False)
    )
    asked = F.coalesce(F.exists("_ordered", lambda at: F.abs(seconds("since", at)) <= around), F.lit(False))
    killed = ~asked & ~interrupted & F.coalesce("_logs", F.lit(False))
    return lost.withColumns(
        {
            "reason": first_of(("asked-to-end", asked), ("interrupted", interrupted), otherwise="jvm-gone"),
            "cause": first_of(("taskmanager-lost", killed)),
            "severity": first_of(("critical", killed), ("info", asked | interrupted), otherwise="warning"),
            "killed_at": F.when(killed, F.col("since")),
            "confidence": F.lit(0.67),  # wanted: what its host or container shows of its end
        }
    )
