"""RST410: executors of a Spark query are lost again and again, and the query survives each time."""

from analyzers.derived.failures.failure_signs import REMOVED
from analyzers.vocabulary import (
    SPARK_DRIVER,
    WARNING,
    DataFrame,
    F,
    beside,
    count,
    first_of,
    found,
    greatest,
    has,
    number_of,
    place,
    rule,
    seconds,
)

_BECAUSE = r"Lost executor \S+ on [^\s:]+:\s*([^\n]*[^\n.\s])"
_MEMORY = r"OOM|exceeding (?:physical )?memory|beyond (?:physical|virtual) memory|code\D{0,4}(?:137|52)\b|OutOfMemory"
_TAKEN = r"(?i)preempt|lost node|spot|evict|-100\b"  # by the cluster: spot nodes and queues do so every day


@rule(
    "RST410", title="Executors are lost again and again while the query goes on", stage="failure", severity=WARNING, logs_of=SPARK_DRIVER,
    faults=("executor-lost", "container-killed"), signatures=("executor-lost",),
    says="Spark lost {lost} executors between {since} and {until} UTC, at {moments} different times, and the query went on: {what}. Each "
    "loss runs its tasks again, and what they had cached or shuffled is computed anew[[. None was lost in the {quiet_for} from then to the "
    "end of the driver's log: it may be over]]",
    missing="what ended each of them, where the driver does not name it: the executor's log and the cluster manager's events show it",
    next_command="kubectl describe pod POD   # or yarn logs -containerId ID: why an executor ended",
    needs=has("enough", signature=("executor-lost",)),
)  # fmt: skip
def executors_keep_leaving(
    log_events: DataFrame,
    faults: DataFrame,
    log_files: DataFrame,
    *,
    enough: int = 4,  # executors: one or two are the ordinary luck of a day
    moments: int = 3,  # minutes in which one was lost: a node that goes takes several at once
    over_after: int = 1800,  # seconds without a loss, and twice the usual time between two, before it is said that it may be over
) -> DataFrame:
    """Per query; not executors that were released or taken by the cluster, nor where a loss failed the query (RST403, RST406)."""
    text = F.col("text")
    unasked = ~text.rlike(REMOVED.pattern) & ~text.rlike(_TAKEN) & text.contains("Lost executor ")
    per_query = found(
        log_events.where(unasked & F.col("at").isNotNull()), "job",
        lost=number_of("file", "resource"),
        moments=number_of(F.date_trunc("minute", "at")),
        what=F.min_by(F.nullif(F.regexp_extract("text", _BECAUSE, 1), F.lit("")), place()),
        _of_memory=F.avg(text.rlike(_MEMORY).cast("int")),
    )  # fmt: skip
    failed = faults.where("fatal").groupBy("scope", "job").agg(count().alias("_failed"))
    any_failed = faults.where("fatal").groupBy("scope").agg(count().alias("_any_failed"))  # a driver's scheduler names no query
    ends = log_files.groupBy("scope").agg(greatest("last_at", F.col("role") == "spark-driver").alias("_end"))
    failed_too = F.col("_failed").isNotNull() | (F.col("job").isNull() & F.col("_any_failed").isNotNull())
    again = (F.col("lost") >= enough) & (F.col("moments") >= moments) & ~failed_too
    quiet = seconds("until", "_end")
    usual = seconds("since", "until") / (F.col("moments") - 1)  # from one loss to the next
    quiet_for = first_of(
        (F.format_string("%d h", F.floor(quiet / 3600)), quiet >= 7200), otherwise=F.format_string("%d min", F.floor(quiet / 60))
    )
    return beside(beside(beside(per_query, failed, "job"), any_failed).where(again), ends).withColumns(
        {
            "quiet_for": F.when(quiet >= F.greatest(F.lit(over_after), usual * 2), quiet_for),
            "reason": first_of(("memory", F.col("_of_memory") > 0.5), otherwise="unknown"),
        }
    )
