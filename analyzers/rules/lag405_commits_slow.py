"""LAG405: a commit takes longer than the time between two checkpoints."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed, seconds
from analyzers.vocabulary.findings import beside, exemplars
from analyzers.vocabulary.rule import has, rule


@rule(
    "LAG405",
    title="Commits take longer than the time between two checkpoints",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=("commit-skipped", "checkpoint-completed", "legacy-fetcher-started"),
    says={
        "slow": "A commit of offsets takes about {took} s on average, and a checkpoint comes every {interval} s: {skipped} commits were "
        "skipped between {since} and {until} UTC. The group's coordinator answers late, so committed offsets and the lag that monitors "
        "show are old. The job itself is fine",
        "": "Commits of offsets take longer than the time between two checkpoints and are skipped ({skipped} times[[ between {since} and "
        "{until} UTC]]): committed offsets run behind, the job itself is fine",
    },
    inferred="[[{reckoned}]]",
    needs=has(signature=("commit-skipped",), at_least="enough"),
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def commits_slow(
    log_events: DataFrame,
    log_counts: DataFrame,
    *,
    enough: int = 5,  # a broker that restarts delays a few; per consumer, where a verdict rests on them
    lasting: int = 120,  # seconds; and not for longer
    slow: float = 2.0,  # seconds; a commit takes milliseconds, on a busy broker a second
    dense: float = 0.5,  # of the checkpoints; where fewer are skipped single commits were late, and the rest arrived in time
) -> DataFrame:
    """Per job: skipped commits; what one takes follows from the checkpoints of that time and those whose commit was skipped.

    FlinkKafkaConsumer keeps one commit under way and one waiting (KafkaConsumerThread.setOffsetsToCommit): a newer checkpoint skips the
    waiting one. So of all checkpoints of a time as many are committed as commits fit into it, if most of them are skipped: where few
    are, the coordinator had nothing to do between them.
    """
    skip = F.col("signature") == "commit-skipped"
    files = log_events.where(skip).select("scope", "job", "file").distinct()  # counts do not know the job of a client's line
    skips = log_counts.where(skip).drop("job").join(files, ["scope", "file"])
    per_job = skips.groupBy("scope", "job").agg(
        F.sum("events").alias("all_skipped"), F.min("first_at").alias("first_skip"), F.max("last_at").alias("last_skip")
    )
    done = log_counts.where(F.col("signature") == "checkpoint-completed")
    interval = _interval(beside(done, per_job, "job"))
    told = beside(log_events.where(skip).groupBy("scope", "job").agg(agreed("group"), exemplars(where=skip)), per_job, "job")
    consumers = _consumers(log_events, interval)
    stretch = _stretch(skips.unionByName(done), consumers.where(F.col("every").isNotNull()), dense=dense)
    of_stretch = beside(told.where(F.col("all_skipped") >= enough), stretch, "job")
    lasted = seconds("stretch_since", "stretch_until")
    took = lasted / F.greatest(F.col("completed") - F.col("stretch_skipped") / F.col("consumers"), F.lit(1))
    late = F.coalesce(
        (F.col("stretch_skipped") >= enough * F.col("consumers")) & (lasted >= lasting) & (F.round(took, 1) >= slow), F.lit(False)
    )
    reckoned = "What a commit takes is reckoned from how many checkpoints completed and how many commits of them were skipped."
    return of_stretch.withColumns(
        {
            "took": F.when(late, F.round(took, 1)),
            "interval": F.when(late, F.round(lasted / F.col("completed"), 1)),
            "skipped": F.when(late, F.col("stretch_skipped")).otherwise(F.col("all_skipped")),
            "since": F.when(late, F.col("stretch_since")).otherwise(F.col("first_skip")),
            "until": F.when(late, F.col("stretch_until")).otherwise(F.col("last_skip")),
            "reason": F.when(late, "slow").otherwise("skipped"),
            "severity": F.when(late, "critical").otherwise("info"),
            "reckoned": F.when(late, reckoned),
        }
    ).drop("all_skipped", "first_skip", "last_skip", "consumers", "completed", "stretch_skipped", "stretch_since", "stretch_until")


def _interval(done: DataFrame) -> DataFrame:
    """Per job `every`: seconds between checkpoints, in the minutes from the first skipped commit to the last."""
    within = done.where(
        F.col("last_at").isNotNull() & (F.col("last_at") >= F.col("first_skip")) & (F.col("first_at") <= F.col("last_skip"))
    )
    span = within.groupBy("scope", "job").agg(F.sum("events").alias("events"), seconds(F.min("first_at"), F.max("last_at")).alias("span"))
    return span.where((F.col("events") > 1) & (F.col("span") > 0)).select(
        "scope", "job", (F.col("span") / (F.col("events") - 1)).alias("every")
    )


def _consumers(log_events: DataFrame, interval: DataFrame) -> DataFrame:
    """Per job, how many consumers the skipped commits are of, and `every` of `interval`.

    By what started in their files; where that is not in the logs, by how many lines of a file one checkpoint makes: the line itself
    does not name its subtask.
    """
    rows = beside(log_events.where(F.col("signature").isin("commit-skipped", "legacy-fetcher-started")), interval, "job")
    skip = F.col("signature") == "commit-skipped"
    in_file = Window.partitionBy("scope", "job", "file", skip).orderBy("at", "line")
    apart = F.coalesce(seconds(F.lag("at").over(in_file), "at") > F.col("every") / 4, F.lit(True))
    per_file = (
        rows.withColumn("burst", (skip & apart).cast("int"))
        .groupBy("scope", "job", "file")
        .agg(
            F.count_if(skip).alias("lines"),
            F.sum("burst").alias("bursts"),
            F.countDistinct(F.when(~skip, F.struct("task", "subtask"))).alias("started"),
            F.max("every").alias("every"),
        )
        .where(F.col("lines") > 0)
    )
    at_once = F.round(F.col("lines") / F.col("bursts"))
    own = F.when(F.col("started") > 0, F.col("started")).otherwise(at_once)
    return per_file.groupBy("scope", "job").agg(F.sum(own).alias("consumers"), F.max("every").alias("every"))


def _stretch(counts: DataFrame, known: DataFrame, *, dense: float) -> DataFrame:
    """Per job the longest time in which the commits of at least `dense` of the checkpoints were skipped, one piece after the other."""
    skip = F.col("signature") == "commit-skipped"
    pieces = (
        beside(counts, known, "job", how="inner")
        .groupBy("scope", "job", "consumers", _piece())
        .agg(
            F.sum(F.when(skip, F.col("events"))).alias("skipped"),
            F.sum(F.when(~skip, F.col("events"))).alias("completed"),
            F.min(F.when(skip, F.col("first_at"))).alias("since"),
            F.max(F.when(skip, F.col("last_at"))).alias("until"),
        )
    )
    full = pieces.where(F.col("skipped") >= dense * F.col("consumers") * F.col("completed"))
    run = F.col("piece") - F.row_number().over(Window.partitionBy("scope", "job").orderBy("piece"))
    stretches = (
        full.withColumn("run", run)
        .groupBy("scope", "job", "consumers", "run")
        .agg(
            F.sum("skipped").alias("stretch_skipped"),
            F.sum("completed").alias("completed"),
            F.min("since").alias("stretch_since"),
            F.max("until").alias("stretch_until"),
        )
    )
    longest = seconds("stretch_since", "stretch_until")
    names = ("stretch_skipped", "completed", "stretch_since", "stretch_until")
    return stretches.groupBy("scope", "job", "consumers").agg(*(F.max_by(name, longest).alias(name) for name in names))


def _piece() -> Column:
    """The number of a minute, or of a longer time where a minute holds fewer than four checkpoints."""
    return F.floor(F.unix_timestamp("minute") / F.greatest(F.lit(60.0), 4 * F.col("every"))).alias("piece")
