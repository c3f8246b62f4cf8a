"""LAG405: a commit takes longer than the time between two checkpoints."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, joined, seconds
from analyzers.finding import Severity
from analyzers.log_roles import CLIENTS
from analyzers.rule import exemplars, has, rule


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
    fix={
        "slow": "Find out why the broker that coordinates the group answers late: its load and its disk, pauses for garbage collection, "
        "slow replicas of __consumer_offsets. A longer execution.checkpointing.interval ends the skipping, not the delay; a restart of "
        "the job ends neither. Nothing is lost: the job restores from its checkpoints.",
        "": "Nothing is lost. Raise execution.checkpointing.interval, or look why the coordinator answers late.",
    },
    inferred="[[{reckoned}]]",
    needs=has(signature=("commit-skipped",), at_least="enough"),
    next_command="diag broker-health --bootstrap-server HOST:PORT,…[[ --group {group}]]",
)
def commits_slow(
    log_events: DataFrame,
    log_counts: DataFrame,
    *,
    enough: int = 5,  # a broker that restarts delays a few
    lasting: int = 120,  # seconds; and not for longer
    slow: float = 2.0,  # seconds; a commit takes milliseconds, on a busy broker a second
) -> DataFrame:
    """Per job: skipped commits; what one takes follows from the checkpoints of that time and those whose commit was skipped.

    FlinkKafkaConsumer keeps one commit under way and one waiting (KafkaConsumerThread.setOffsetsToCommit): a newer checkpoint skips the
    waiting one. So of all checkpoints of a time as many are committed as commits fit into it.
    """
    skip = F.col("signature") == "commit-skipped"
    files = log_events.where(skip).select("scope", "job", "file").distinct()  # counts do not know the job of a client's line
    skips = log_counts.where(skip).drop("job").join(files, ["scope", "file"]).groupBy("scope", "job")
    span = skips.agg(F.sum("events").alias("skipped"), F.min("first_at").alias("since"), F.max("last_at").alias("until"))
    rows = joined(log_events, span).where(F.col("skipped").isNotNull())
    done = (F.col("signature") == "checkpoint-completed") & F.col("at").between(F.col("since"), F.col("until"))
    consumer = F.when(F.col("signature") == "legacy-fetcher-started", F.struct("file", "task", "subtask"))
    known = rows.groupBy("scope", "job").agg(
        F.max("skipped").alias("skipped"),
        F.max("since").alias("since"),
        F.max("until").alias("until"),
        F.countDistinct(consumer).alias("consumers"),
        (F.max(F.when(done, F.col("checkpoint"))) - F.min(F.when(done, F.col("checkpoint"))) + 1).alias("checkpoints"),
        agreed("group"),
        exemplars(where=skip),
    )
    lasted = seconds("since", "until")
    committed = F.col("checkpoints") - F.col("skipped") / F.col("consumers")
    told = known.where(F.col("skipped") >= enough).withColumns(
        {
            "took": F.when((F.col("consumers") > 0) & (committed >= 1), F.round(lasted / committed, 1)),
            "interval": F.round(lasted / F.col("checkpoints"), 1),
        }
    )
    late = F.coalesce((F.col("took") >= slow) & (lasted >= lasting), F.lit(False))
    reckoned = "What a commit takes is reckoned from how many checkpoints completed and how many commits of them were skipped."
    return told.withColumns(
        {
            "reason": F.when(late, "slow").otherwise("skipped"),
            "severity": F.when(late, "critical").otherwise("info"),
            "reckoned": F.when(late, reckoned),
        }
    ).drop("consumers", "checkpoints")
