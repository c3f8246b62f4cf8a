"""RST208: records of the same keys stand in other partitions than before: their writer partitions otherwise."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, count, found, rule


@rule(
    "RST208", title="Keys are written to other partitions than before", cause="other", stage="access", severity=CRITICAL,
    says="{moved} of {keys} keys of {topic} stand in another partition than before[[, the first of them since {since} UTC]]: its writer "
    "chooses partitions otherwise (another client or partitioner), or partitions were added. Joins by key with another topic find "
    "nothing, and the order of a key's records is lost, without an error",
    missing="which writer changed then: its client, its partitioner setting, or the number of partitions",
    next_command="kcat -b HOST:PORT -C -t {topic} -e -q -f '%t p=%p o=%o ts=%T k=%k\\n'",
)  # fmt: skip
def keys_moved(
    keyed_records: DataFrame,
    *,
    enough: int = 2,  # keys that moved: one may be written by two services on purpose
    share: float = 0.5,  # of the keys that were seen twice: a new number of partitions moves most, another hash nearly all
) -> DataFrame:
    """Per topic, keys that were seen at two times. Source: Kafka's BuiltInPartitioner (murmur2), librdkafka's consistent_random (CRC32)."""
    # without times in the order of the listing; keys that are spread on purpose come and go; of topics that are joined, which a loop
    # listed, a key has one partition
    rows = keyed_records.withColumn("_when", F.coalesce(F.unix_micros("at"), F.col("line")))
    first, last = F.min_by("partition", "_when"), F.max_by("partition", "_when")
    keys = rows.groupBy("scope", "topic", "key").agg(
        first.alias("_first"), last.alias("_last"), F.count_distinct("_when").alias("_seen"),
        F.count_distinct("partition").alias("_places"),
    )  # fmt: skip
    there = rows.join(keys, ["scope", "topic", "key"]).groupBy("scope", "topic", "key", "_first", "_last", "_seen", "_places").agg(
        F.max(F.when(F.col("partition") == F.col("_first"), F.col("_when"))).alias("_until"),
        F.min(F.when(F.col("partition") == F.col("_last"), F.col("_when"))).alias("_from"),
    )  # fmt: skip
    keys = there.where(F.col("_seen") > 1).withColumns(
        {"_moved": F.when(F.col("topic").contains(", "), F.col("_places") > 1).otherwise(F.col("_until") < F.col("_from"))}
    )
    both = rows.join(keys, ["scope", "topic", "key"])
    per = keys.groupBy("scope", "topic").agg(count().alias("keys"), F.count_if("_moved").alias("moved"))
    per = per.where((F.col("moved") >= enough) & (F.col("moved") >= share * F.col("keys")))
    new = both.where(F.col("_moved") & (F.col("partition") == F.col("_last"))).join(per, ["scope", "topic"])
    shown = F.concat(F.lit("a key of "), "topic", F.lit(" stands in "), "partition", F.lit(", before in "), "_first")
    facts: dict[str, Any] = {name: F.max(name) for name in ("keys", "moved")}
    made = found(new, "topic", at="at", table="keyed_records", shown=shown, file=F.col("file"), **facts)
    return made.withColumns({"reason": F.lit("partitioned-otherwise"), "confidence": F.lit(0.9)})
