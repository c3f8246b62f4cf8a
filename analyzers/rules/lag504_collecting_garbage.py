"""LAG504: A JVM spends its time on garbage collection: nothing fails, and nothing is processed."""

from analyzers.vocabulary import WARNING, DataFrame, F, agreed, detail, first_of, found, rule, seconds


@rule(
    "LAG504", title="A JVM spends its time on garbage collection", cause="no-progress", stage="lag", severity=WARNING,
    reason="garbage-collection", signatures=("gc-pause", "gc-pause-jdk8"),
    says="The JVM of {file_named} paused for garbage collection during {share_percent} % of the time[[ between {since} and {until} UTC]] "
    "({pauses} pauses, the longest {worst_ms} ms): it has no time left for records",
)  # fmt: skip
def collecting_garbage(
    log_events: DataFrame,
    log_counts: DataFrame,
    *,
    share: float = 0.3,  # of the time; below it a JVM is merely busy
    stalled: float = 0.6,  # above it the JVM does little else
    lasting: int = 120,  # seconds; a start-up collects more
    enough: int = 10,  # pauses
) -> DataFrame:
    """Per process with a GC log: the share of time in pauses, from the mean of the sampled pauses and the complete count."""
    milliseconds = F.coalesce(detail("pause_ms").cast("double"), detail("pause_seconds").cast("double") * 1000)
    pauses = log_events.withColumn("_ms", milliseconds).where(F.col("_ms").isNotNull())
    worst = F.round(F.max("_ms")).cast("long")
    sampled = found(pauses, "job", "file", host=agreed("host"), worst_ms=worst, _mean_ms=F.avg("_ms")).drop("since", "until")
    all_of_file = (F.sum("events").alias("pauses"), F.min("first_at").alias("since"), F.max("last_at").alias("until"))
    known = sampled.join(log_counts.groupBy("scope", "file").agg(*all_of_file), ["scope", "file"])
    of_time = F.col("_mean_ms") * F.col("pauses") / 1000 / seconds("since", "until")
    ill = known.where((seconds("since", "until") >= lasting) & (F.col("pauses") >= enough) & (of_time >= share))
    return ill.withColumns(
        {
            "share_percent": F.round(of_time * 100).cast("long"),
            "severity": first_of(("critical", of_time >= stalled), otherwise="warning"),
            "file_named": F.coalesce("host", F.regexp_extract("file", r"([^/]+)$", 1)),
        }
    )
