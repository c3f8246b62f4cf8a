"""LAG311: a group found no committed offset where that is no first start, and began by auto.offset.reset."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, distinct, first_of, found, greatest, least, rule, seconds
from analyzers.vocabulary.aggregates import listed
from analyzers.vocabulary.lag import partition_name, the_partition

_BEGAN = "auto.offset.reset={policy} began[[ at {began}]]"
_NOT_READ = "what lies between was never read[[, up to {number} record(s)]]"
_WAS = (
    "{reader} found no committed offset of {place_shown} at {since} UTC, although it had one[[ at {known_at} UTC]] ({known})"
    "[[; a broker removed committed offsets at {removed} UTC]]"
)


@rule(
    "LAG311", title="A group began elsewhere than where it was", cause="offset-reset", stage="lag", severity=CRITICAL,
    needs=lambda rows, _: bool(rows),
    says={
        "skipped": f"{_WAS}: {_BEGAN}, {_NOT_READ}",
        "again": f"{_WAS}: {_BEGAN}, what lies between is read again[[, up to {{number}} record(s)]]",
        "gone": f"{_WAS}; nothing shows where it began instead",
        "renamed": f"{{reader}} is new on {{place_shown}} at {{since}} UTC, where {{before}} read before ({{known}}) and is not seen any "
        f"more: {_BEGAN}, {_NOT_READ}",
        "added": "{reader} began {place_shown} at the end (auto.offset.reset=latest) at {since} UTC, while it has committed offsets of "
        "{others} other partition(s) of {topics}: these were added, and what was written to them before[[, up to {number} record(s),]] was "
        "never read[[ ({began})]]",
        "marked": "{reader} was restored, went on at its offsets of {others} other partition(s) of {topics}, and sought the end of "
        "{place_shown} at {since} UTC: of these its state holds no offset but the mark `latest` (StartingOffset -1), since they had given "
        "it no record before. What was written to them until then[[, up to {number} record(s),]] was never read[[ ({began})]]",
    },
    inferred={
        "skipped": "[[{forgotten}]]", "again": "[[{forgotten}]]", "gone": "[[{forgotten}]]", "added": "", "marked": "",
        "renamed": "That the job now runs under another group id: the old one ends where the new one begins.",
    },
    next_command="kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --group {group_shown}",
)  # fmt: skip
def strange_start(
    strange_starts: DataFrame,
    *,
    forgets: float = 7.0,  # days: offsets.retention.minutes of brokers since 2.0
) -> DataFrame:
    """Per reader and kind of start. `known` is the last offset seen: it may have gone on, so that the numbers are upper bounds."""
    shift = F.col("records")
    gone = F.col("reason") == "gone"
    kind = first_of(
        ("skipped", gone & ((shift > 0) | (shift.isNull() & (F.col("policy") == "latest")))),
        ("again", gone & ((shift <= 0) | (F.col("policy") == "earliest"))),
        otherwise=F.col("reason"),
    )
    rows = strange_starts.withColumns(
        {
            "reason": kind,
            "_known": F.concat(partition_name(), F.lit(" at "), F.col("known").cast("string")),
            "_began": F.concat(F.col("offset").cast("string"), F.lit(" of "), partition_name()),
            "_days": seconds("known_at", "at") / 86_400,
        }
    )
    days = least("_days")
    return found(
        rows, "job", "client", "reason", table="log_events", until=F.lit(None).cast("timestamp"),
        group=agreed("group"),
        reader=F.max(F.coalesce(F.concat(F.lit("Group "), "group"), F.concat(F.lit("Client "), "client"))),
        before=F.max("before"),
        known=listed("_known", most=4, apart=", "),
        began=listed("_began", most=4, apart=", "),
        known_at=F.date_format(F.max("known_at"), "yyyy-MM-dd HH:mm:ss"),
        removed=F.date_format(F.max("removed_at"), "yyyy-MM-dd HH:mm:ss"),
        policy=agreed("policy"),
        number=F.format_number(F.sum(F.abs(shift)), 0),
        others=greatest("others"),
        topics=F.array_join(distinct("topic", "topics"), ", "),
        group_shown=F.coalesce(agreed("group"), F.lit("GROUP")),
        damage_stays=F.lit(True),
        forgotten=F.when(days >= forgets, F.format_string(
            "%.0f days lie between: brokers forget what a group without members has committed after offsets.retention.minutes, by "
            "default 7 days.", days)),
        severity=first_of(("warning", F.min("reason").isin("again", "gone", "renamed")), otherwise="critical"),
        **the_partition(),
    )  # fmt: skip
