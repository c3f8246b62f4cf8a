"""Source splits in checkpoints: what the rules about them report of each operator."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed, count, greatest, numbered
from analyzers.vocabulary.columns import none
from analyzers.vocabulary.findings import found


def splits_of(rows: DataFrame, *by: str, shown: Column, **facts: Column) -> DataFrame:
    """One row per job, operator and `by` of rows of ``split_audit``, each of which the text `shown` stands for.

    Columns besides those of `found`: split_count, checkpoint (the newest), first_checkpoint (null where it is the same), split (names in
    order), topic and partition (where there is one), path, and `facts`, which take the place of these.
    """
    usual = {
        "since": none("timestamp"),
        "split_count": count(),
        "checkpoint": greatest("checkpoint"),
        "first_checkpoint": F.nullif(F.min("since_checkpoint"), F.max("checkpoint")),
        "split": numbered("identity", "split"),
        "topic": agreed("topic"),
        "partition": F.when(F.count("*") == 1, F.max("partition")),
        "path": F.max(F.struct("checkpoint", "path"))["path"],  # of the newest checkpoint, and always the same of its copies
    }
    made = {name: value for name, value in {**usual, **facts}.items() if name not in by}
    return found(rows, "job", "operator", *by, at="as_of", table="split_audit", shown=shown, file=F.col("path"), most=5, **made)
