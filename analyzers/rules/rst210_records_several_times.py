"""RST210: a listing of a topic shows the same records at several offsets: they are written to it again and again."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, count, found, rule


@rule(
    "RST210", title="The same records stand in a topic several times", cause="other", stage="access", severity=CRITICAL,
    says="{copies} of {records} listed records of {topic} are copies: same key, time and value at another offset, of one record up to "
    "{up_to} times[[, the oldest of {since} UTC]]. A reader takes each of them for a record of its own",
    missing="who writes them: a mirror that gets back what it has sent, a job that reads what it writes, a sender that repeats",
    next_command="kcat -b HOST:PORT -C -t {topic} -o -1000 -e -q -f '%t p=%p o=%o ts=%T k=%k h=%h %s\\n'   # headers often name the writer",
)  # fmt: skip
def records_several_times(
    keyed_records: DataFrame,
    *,
    enough: int = 3,  # different records with copies: a sender without idempotence repeats one now and then
    share: float = 0.25,  # of the records of the listing that are copies
) -> DataFrame:
    """Per topic. A key may have two records of one millisecond; not with the same value at many offsets."""
    whole = keyed_records.where(F.col("at").isNotNull() & F.col("value").isNotNull() & F.col("offset").isNotNull())
    place = ["scope", "topic", "key", "at", "value"]
    same = whole.groupBy(*place).agg(
        F.count_distinct("partition", "offset").alias("_times"), F.min_by("file", "line").alias("file"), F.min("line").alias("line")
    )  # fmt: skip
    per = same.groupBy("scope", "topic").agg(
        F.sum("_times").alias("records"), F.sum(F.col("_times") - 1).alias("copies"), F.max("_times").alias("up_to"),
        F.count_if(F.col("_times") > 1).alias("_repeated"),
    )  # fmt: skip
    per = per.where((F.col("_repeated") >= enough) & (F.col("copies") >= share * F.col("records")))
    twice = same.where(F.col("_times") > 1).join(per, ["scope", "topic"])
    shown = F.concat(F.lit("a record of "), "topic", F.lit(" stands at "), "_times", F.lit(" offsets"))
    facts: dict[str, Any] = {name: F.max(name) for name in ("records", "copies", "up_to")}
    made = found(twice, "topic", at="at", times=count(), table="keyed_records", shown=shown, file=F.col("file"), **facts)
    return made.withColumns({"confidence": F.lit(0.9), "damage_stays": F.lit(True)})
