"""Checkpoints of a running job: the lines that report an expiry, and `checkpoint_expiries` in words."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from analyzers.vocabulary.columns import event, first_of

EXPIRY = ("checkpoint-expired", "checkpoint-failed")
"""Signatures that `has_expired` reads."""

_EXPIRED = "Checkpoint expired before completing"  # CheckpointFailureReason.CHECKPOINT_EXPIRED


def in_order() -> Column:
    """The order of events within a scope: time where known, else file and line."""
    return F.coalesce("seq", F.col("line"))


def has_expired() -> Column:
    """Whether a line reports an expiry: the coordinator's INFO line, or (1.15+) the failure manager's WARN with this cause."""
    caused = F.contains(F.coalesce("root_message", F.lit("")), F.lit(_EXPIRED)) | F.contains(F.coalesce("text", F.lit("")), F.lit(_EXPIRED))
    return event("checkpoint-expired") | (event("checkpoint-failed") & caused)


def how_many_expired() -> Column:
    """Of `checkpoint_expiries`: ``17 checkpoints in a row``; ``4 of the last 10 checkpoints`` where others completed among them."""
    least = F.when(F.col("in_a_row_or_more"), F.lit("At least ")).otherwise(F.lit(""))
    in_a_row = F.col("in_a_row")
    return first_of(
        (F.format_string("%s%,d checkpoints in a row", least, "in_a_row"), (in_a_row >= F.col("expired")) & (in_a_row > 1)),
        ("A checkpoint", F.col("seen") == 1),
        otherwise=F.format_string("%d of the last %d checkpoints", "expired", "seen"),
    )


def newest_in_a_row() -> Column:
    """Of `checkpoint_expiries`: how many of the newest expired in a row, where `how_many_expired` does not name them."""
    return F.when((F.col("in_a_row") > 1) & (F.col("in_a_row") < F.col("expired")), F.col("in_a_row"))
