"""LAG102: an open transaction holds the last stable offset, and read_committed readers wait there while the log grows."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, IfGiven, first_of, newest, rule, seconds
from analyzers.vocabulary.lag import classified, per_group

_NAMELESS = "[[which producer holds {nameless_topic}-{worst_partition}: kafka-transactions.sh find-hanging and describe-producers name it]]"
_TOOL = "kafka-transactions.sh --bootstrap-server HOST:PORT"


@rule(
    "LAG102", title="An open transaction holds the last stable offset", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "held": "Group {group} has read all that read_committed allows on {places} partition(s) ({named}) and waits behind an open "
        "transaction. The worst, {worst}: {worst_says}[[. It is transaction {transactional_id} of producer {producer}, begun {started_at} "
        "UTC]]. Readers with isolation.level=read_committed get nothing of it",
        "long": "{hidden_records} records lie behind a transaction that has been open since {since} UTC, on {places} partition(s) where "
        "group {group} has read all that read_committed allows: {named}[[. It is transaction {transactional_id} of producer {producer}]]. "
        "No earlier transaction shows how often its writer commits: it hangs, unless the writer takes longer between two commits",
        "": "{hidden_records} records lie behind an open transaction on {places} partition(s) where group {group} has read all that "
        "read_committed allows: {named}. Normal between two commits of an exactly-once writer; a hanging transaction if the last stable "
        "offset does not move",
    },
    missing={"held": _NAMELESS, "long": _NAMELESS},
    next_command={
        "long": f"[[{_TOOL} describe --transactional-id {{transactional_id}}]]"
        f"[[{_TOOL} describe-producers --topic {{nameless_topic}} --partition {{worst_partition}}]]",
        "": f"{_TOOL} describe-producers --topic {{worst_topic}} --partition {{worst_partition}}",
    },
)  # fmt: skip
def open_transaction_holds(
    lag_truth: DataFrame,
    open_transactions: IfGiven,
    *,
    enough: int = 1000,  # records behind an open transaction that is still young: fewer are of no interest
    long: int = 180,  # seconds open, of a writer whose rhythm is unknown: three checkpoints of a minute
    hidden: int = 2,  # records behind one that stays: a single one may be the marker of a transaction that ends just now
) -> DataFrame:
    """Per group, partitions read up to the last stable offset with records behind it; held when it stays, long when it has been open for
    longer than most writers take."""
    unusual = (seconds("since", "as_of") >= long) & F.col("interval_seconds").isNull()
    rows = lag_truth.where(classified("blocked", "in-transaction")).withColumns(
        {
            "reason": first_of(("held", classified("blocked")), ("long", unusual), otherwise="open"),
            "hidden": F.col("high_watermark") - F.col("last_stable"),
        }
    )
    by = ["scope", "topic", "partition", "last_stable"]
    producers = open_transactions.withColumnRenamed("offset", "last_stable").groupBy(*by)
    known = producers.agg(*(newest(name, by="as_of").alias(name) for name in ("transactional_id", "producer", "started_at")))
    per = per_group(
        rows.where(F.col("hidden") >= F.when(F.col("reason") == "open", enough).otherwise(hidden)).join(known, by, "left"),
        weight="hidden",
        hidden_records=F.sum("hidden"),
        worst_stable=F.max_by("last_stable", "hidden"),
        transactional_id=F.max_by("transactional_id", "hidden"),
        producer=F.max_by("producer", "hidden"),
        started_at=F.max_by("started_at", "hidden"),
        since=F.min("since"),
    )
    unusual = F.col("reason") != "open"
    return per.withColumns(
        {
            "severity": first_of(("critical", F.col("reason") == "held"), ("warning", unusual), otherwise="info"),
            "cause": first_of(("no-progress", unusual)),
            "since": F.when(unusual, F.col("since")),
            "nameless_topic": F.when(F.col("transactional_id").isNull(), F.col("worst_topic")),
        }
    )
