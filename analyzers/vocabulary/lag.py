"""What the rules about lag share: many partitions of one consumer group become one finding."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed, count, number_of
from analyzers.vocabulary.columns import text
from analyzers.vocabulary.snapshots import newest_snapshot, observed

PLACE = ("scope", "group", "topic", "partition")
HEALTHY = ("caught-up", "saw-tooth", "transaction-markers", "in-transaction")
"""Classifications of a lag (column ``truth``) that needs no repair."""
OWN_RULE = ("checkpoint-overdue", "commits-broken", "blocked", "foreign-committer", "beyond-end", "never-committed")
"""Classifications that have a rule of their own."""


def classified(*lags: str) -> Column:
    """Whether the lag of a row is classified as one of `lags`."""
    return F.col("truth").isin(*lags)


def partition_name() -> Column:
    """Topic and partition as Kafka's tools name them: ``orders-3``."""
    return F.concat_ws("-", "topic", "partition")


def the_partition(topic: str = "topic", partition: str = "partition", offset: str | None = None) -> dict[str, Any]:
    """Facts: topic, where all rows of a group agree, partition and `offset`, where all rows are of one partition, and place_shown:
    ``orders-3``, ``2 partitions of orders`` or ``2 partitions``; null where no partition is known."""
    places = number_of(topic, partition)
    facts = {
        "topic": agreed(topic),
        "partition": F.when(places == 1, agreed(partition)),
        "place_shown": F.when(places == 1, F.max(F.concat(topic, F.lit("-"), F.col(partition).cast("string")))).when(
            places > 1, F.concat_ws(" of ", F.format_string("%d partitions", places), agreed(topic))
        ),
    }
    return facts if offset is None else facts | {"offset": F.when(places == 1, agreed(offset))}


def per_group(rows: DataFrame, *, table: str = "lag_truth", says: str = "says", weight: str = "lag_records", **facts: Any) -> DataFrame:
    """`rows` (one per partition) by scope, job, group and reason, where there is one.

    Columns: places, named, worst (name), worst_topic, worst_partition, worst_says, records (sum of lag), topic, partition, offset (where it
    is one), until, evidence, and `facts`. The worst partition is the one with the greatest `weight`.
    """
    heaviest = F.struct(F.coalesce(F.col(weight), F.lit(0)), "_name")
    return observed(
        rows.withColumn("_name", partition_name()),
        "job",
        "group",
        *(["reason"] if "reason" in rows.columns else []),
        table=table,
        shown=text(f"group {{group}}, {{_name}}: {{{says}}}"),
        places=count(),
        named=F.sort_array(F.collect_set("_name")),
        worst=F.max_by("_name", heaviest),
        worst_topic=F.max_by("topic", heaviest),
        worst_partition=F.max_by("partition", heaviest),
        worst_says=F.max_by(says, heaviest),
        records=F.format_number(F.sum("lag_records"), 0),
        **the_partition(offset="committed" if "committed" in rows.columns else None),
        **facts,
    )


def with_status(truth: DataFrame, status: DataFrame) -> DataFrame:
    """Rows of ``lag_truth`` with the columns that only ``lag_status`` has."""
    more = [name for name in status.columns if name not in truth.columns]
    return truth.join(status.select(*PLACE, *more), list(PLACE))


def in_use(found: DataFrame, groups: DataFrame) -> DataFrame:
    """`found` with ``_in_use``: whether its group has members or was asked for by name; clusters are full of abandoned groups."""
    used = (F.coalesce("members", F.lit(0)) > 0) | F.coalesce("asked", F.lit(False))
    per_group = newest_snapshot(groups).groupBy("scope", "group").agg(F.bool_or(used).alias("_used"))
    return found.join(per_group, ["scope", "group"], "left").withColumn("_in_use", F.coalesce("_used", F.lit(False)))
