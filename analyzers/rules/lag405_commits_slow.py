"""LAG405: A commit takes longer than the time between two checkpoints."""

from analyzers.vocabulary import (
    CLIENTS,
    CRITICAL,
    Column,
    DataFrame,
    F,
    Window,
    agreed,
    beside,
    count,
    event,
    first_of,
    found,
    has,
    joined,
    number_of,
    rule,
)
from analyzers.vocabulary.aggregates import greatest, least, seconds


@rule(
    "LAG405", title="Commits take longer than the time between two checkpoints", cause="offset-commit", stage="commit",
    severity=CRITICAL, logs_of=CLIENTS, signatures=("commit-skipped", "checkpoint-completed", "legacy-fetcher-started"),
    needs=has(signature=("commit-skipped",), at_least="enough"),
    says={
        "slow": "An offset commit takes about {took} s on average, and a checkpoint completes every {interval} s: {skipped} commits were "
        "skipped between {since} and {until} UTC. The group's coordinator answers late, so committed offsets and the lag that monitors "
        "show are old. The job itself is fine",
        "": "Offset commits take longer than the time between two checkpoints and are skipped ({skipped} time(s)[[ between {since} and "
        "{until} UTC]]): committed offsets run behind, the job itself is fine",
    },
    inferred={"slow": "The duration of a commit is calculated from the number of completed checkpoints and of skipped commits."},
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def commits_slow(
    log_events: DataFrame,
    log_counts: DataFrame,
    *,
    enough: int = 5,  # a broker that restarts delays a few; per consumer, where a verdict rests on them
    lasting: int = 120,  # seconds; and not for longer
    slow: float = 2.0,  # seconds; a commit takes milliseconds, on a busy broker a second
    dense: float = 0.5,  # of the checkpoints; where fewer are skipped single commits were late, and the rest arrived in time
) -> DataFrame:
    """Per job: skipped commits; the duration of one follows from the checkpoints of that time and those whose commit was skipped.

    FlinkKafkaConsumer keeps one commit under way and one waiting (KafkaConsumerThread.setOffsetsToCommit): a newer checkpoint skips the
    waiting one. So of all checkpoints of a time as many are committed as commits fit into it, if most of them are skipped: where few
    are, the coordinator had nothing to do between them.
    """
    skip = event("commit-skipped")
    files = log_events.where(skip).select("scope", "job", "file").distinct()  # counts do not know the job of a client's line
    skips = joined(log_counts.where(skip).drop("job"), files, ["scope", "file"])
    done = log_counts.where(event("checkpoint-completed"))
    counts = (F.sum("events").alias("_all"), F.min("first_at").alias("_first"), F.max("last_at").alias("_last"))
    all_skips = skips.groupBy("scope", "job").agg(*counts)
    consumers = _consumers(log_events, _interval(beside(done, all_skips, "job")))
    stretch = _stretch(skips.unionByName(done), consumers.where(F.col("every").isNotNull()), dense=dense)
    known = beside(found(log_events.where(skip), "job", group=agreed("group")), all_skips, "job", how="inner").where(
        F.col("_all") >= enough
    )
    lasted = seconds("_since", "_until")
    took = F.round(lasted / F.greatest(F.col("_completed") - F.col("_skipped") / F.col("consumers"), F.lit(1)), 1)
    late = F.coalesce((F.col("_skipped") >= enough * F.col("consumers")) & (lasted >= lasting) & (took >= slow), F.lit(False))
    return beside(known, stretch, "job").withColumns(
        {
            "took": F.when(late, took),
            "interval": F.when(late, F.round(lasted / F.col("_completed"), 1)),
            **{name: F.when(late, F.col(f"_{name}")).otherwise(F.col(of_all)) for name, of_all in _OF_ALL.items()},
            "reason": first_of(("slow", late), otherwise="skipped"),
            "severity": first_of(("critical", late), otherwise="info"),
        }
    )


_OF_ALL = {"skipped": "_all", "since": "_first", "until": "_last"}


def _interval(done: DataFrame) -> DataFrame:
    """Per job `every`: seconds between checkpoints, in the minutes from the first skipped commit to the last."""
    within = done.where((F.col("last_at") >= F.col("_first")) & (F.col("first_at") <= F.col("_last")))
    number, span = F.sum("events"), seconds(F.min("first_at"), F.max("last_at"))
    per_job = within.groupBy("scope", "job").agg(F.when((number > 1) & (span > 0), span / (number - 1)).alias("every"))
    return per_job.where(F.col("every").isNotNull())


def _consumers(log_events: DataFrame, interval: DataFrame) -> DataFrame:
    """Per job, how many consumers the skipped commits are of, and `every` of `interval`.

    By what started in their files; where that is not in the logs, by how many lines of a file one checkpoint makes: the line itself
    does not name its subtask.
    """
    skip = event("commit-skipped")
    rows = beside(log_events.where(event("commit-skipped", "legacy-fetcher-started")), interval, "job")
    in_file = Window.partitionBy("scope", "job", "file", skip).orderBy("at", "line")
    apart = F.coalesce(seconds(F.lag("at").over(in_file), "at") > F.col("every") / 4, F.lit(True))
    started = number_of(F.when(~skip, F.struct("task", "subtask")))
    at_once = F.round(count(skip) / F.sum(F.col("_burst").cast("int")))
    per_file = found(
        rows.withColumn("_burst", skip & apart), "job", "file", of=skip,
        own=F.when(started > 0, started).otherwise(at_once), every=greatest("every"),
    )  # fmt: skip
    return per_file.groupBy("scope", "job").agg(F.sum("own").alias("consumers"), F.max("every").alias("every"))


def _stretch(counts: DataFrame, known: DataFrame, *, dense: float) -> DataFrame:
    """Per job the longest time in which the commits of at least `dense` of the checkpoints were skipped, one piece after the other."""
    skip = event("commit-skipped")
    pieces = (
        beside(counts, known, "job", how="inner")
        .groupBy("scope", "job", "consumers", _piece())
        .agg(
            F.sum(F.when(skip, F.col("events"))).alias("_skipped"),
            F.sum(F.when(~skip, F.col("events"))).alias("_completed"),
            least("first_at", skip).alias("_since"),
            greatest("last_at", skip).alias("_until"),
        )
    )
    full = pieces.where(F.col("_skipped") >= dense * F.col("consumers") * F.col("_completed"))
    run = F.col("piece") - F.row_number().over(Window.partitionBy("scope", "job").orderBy("piece"))
    sums = {"_skipped": F.sum, "_completed": F.sum, "_since": F.min, "_until": F.max}
    stretches = (
        full.withColumn("_run", run)
        .groupBy("scope", "job", "consumers", "_run")
        .agg(*(total(name).alias(name) for name, total in sums.items()))
    )
    longest = seconds("_since", "_until")
    return stretches.groupBy("scope", "job", "consumers").agg(*(F.max_by(name, longest).alias(name) for name in sums))


def _piece() -> Column:
    """The number of a minute, or of a longer time where a minute holds fewer than four checkpoints."""
    return F.floor(F.unix_timestamp("minute") / F.greatest(F.lit(60.0), 4 * F.col("every"))).alias("piece")
