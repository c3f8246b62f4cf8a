"""LAG404: The coordinator of the group answers, and takes no commits: it cannot write its partition of the offsets topic."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CLIENTS, CRITICAL, DataFrame, F, IfGiven, Window, agreed, count, event, found, number_of, rule
from analyzers.vocabulary.offset_commits import is_unwritable, lasting_refusal, silent, unwritable
from analyzers.vocabulary.quick_looks import grouped, lasted


def _one_refuses(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether commits of a job were refused so often, and the refusals went on for long."""
    for own in grouped(filter(is_unwritable, rows), "job").values():
        of_commits = [row for row in own if row["signature"] == "partition-commit-failed"]
        if len(of_commits) >= thresholds["enough"] and lasted(own) >= thresholds["lasting"]:
            return True
    return False


@rule(
    "LAG404", title="The group's coordinator answers and takes no commits", cause="offset-commit", stage="commit", severity=CRITICAL,
    reason="offsets-topic", logs_of=CLIENTS, needs=_one_refuses,
    signatures=(
        "coordinator-unavailable", "coordinator-disconnected", "request-timed-out", "partition-commit-failed", "checkpoint-completed",
    ),
    says="Broker {broker}[[ at {address}]], the coordinator[[ of group {group}]], answers and takes no commits ({answers} refusal(s) "
    "between {since} and {until} UTC: The coordinator is not available). Reading is fine, but committed offsets and the lag that monitors "
    "show do not move",
    inferred="That __consumer_offsets cannot be written is inferred: the broker answers, and this is its answer when a commit is not "
    "replicated. Its own log has the proof (NotEnoughReplicasException).",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def offsets_topic_refuses(
    log_events: DataFrame,
    log_counts: IfGiven,
    *,
    enough: int = 5,  # a coordinator that loads its partition answers so a few times
    lasting: int = 120,  # seconds; nor does it load for so long
) -> DataFrame:
    """Per job: one broker answered "not available" to commits for long, and was not lost since more often than it answered."""
    rows = lasting_refusal(log_events, log_counts, unwritable(), ("partition-commit-failed",), enough=enough, lasting=lasting)
    refused = F.col("mine")
    first = F.min(F.when(refused, F.col("at"))).over(Window.partitionBy("scope", "job"))
    per_job = found(
        rows.where("again").withColumn("_lost", silent() & (F.col("at") >= first)),
        "job",
        of=refused,
        answers=count(refused & event("partition-commit-failed")),
        # the broker stands in the coordinator's line, the text of its answer in the commit's
        broker=agreed(F.when(refused, F.col("broker"))),
        address=agreed(F.when(refused, F.col("address"))),
        group=agreed(F.when(refused, F.col("group"))),
        _brokers=number_of(F.when(refused, F.col("broker"))),
        _losses=count(F.col("_lost")),
    )
    return per_job.where((F.col("answers") > F.col("_losses")) & (F.col("_brokers") == 1))  # one that moves is a cluster at work
