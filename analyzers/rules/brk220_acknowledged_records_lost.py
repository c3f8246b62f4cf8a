"""BRK220: acknowledged records were lost on the brokers: a replica was cut below its high watermark, or elected without being in sync."""

from analyzers.vocabulary import (
    BROKER,
    CRITICAL,
    Column,
    DataFrame,
    F,
    IfGiven,
    Window,
    agreed,
    beside,
    detail,
    event,
    exemplars,
    first_of,
    found,
    has,
    rule,
)  # fmt: skip
from analyzers.vocabulary.brokers import broker_named

CUTS = ("truncated-below-watermark", "replica-beyond-leader", "watermark-moved-back")
ELECTED = "leader-unclean"
OWN = ("broker-started", "follower-starts", "isr-shrunk", "isr-expanded")  # a broker writes its own id in them
_SETTINGS = {"unclean.leader.election.enable": "_unclean", "min.insync.replicas": "_in_sync"}

_CUT = (
    "{who} cut {cuts} off[[ at {since} UTC]], below the high watermark that it had reached: {records} offset(s) of acknowledged records "
    "are in no replica any longer"
)
_BY = (
    "[[. Its leader, broker {elected}, was elected at {elected_at} UTC without being in sync]][[; since {alone_since} UTC only broker "
    "{alone} had been]][[. Topic {topic} has {allowed}]]"
)


@rule("BRK220", title="Acknowledged records were lost on the brokers", cause="other", stage="access", severity=CRITICAL, logs_of=BROKER,
    signatures=(*CUTS, ELECTED, *OWN), needs=has(signature=(*CUTS, ELECTED)),
    says={
        "": f"{_CUT}{_BY}",
        "unproven": f"{_CUT}",
        "elected": "A replica of {cuts} that was not in sync became leader[[ (broker {elected})]][[ at {since} UTC]]: what only the former "
        "leader had is lost, and nothing reports an error[[; since {alone_since} UTC only broker {alone} had been in sync]]"
        "[[. Topic {topic} has {allowed}]]",
    },
    inferred={
        "unproven": "Kafka 2.7 to 3.4.0 prints this line for records that were never acknowledged, too (KAFKA-14704); so many are rarely "
        "waiting for that.",
        "": "",
    },
    missing={"elected": "how many: the former leader's log has it when it is back, as the offset and the high watermark of its truncation",
        "": ""},
    next_command="kafka-configs.sh --bootstrap-server HOST:PORT --describe --all --entity-type topics --entity-name {topic}",
)  # fmt: skip
def acknowledged_records_lost(
    log_events: DataFrame,
    topic_configs: IfGiven,
    partitions: IfGiven,
    *,
    unproven: int = 10_000,  # records: a former leader has fewer than that unacknowledged, so so many were more
) -> DataFrame:
    """Per topic, its partitions that were cut below a known high watermark, or that have a leader of an unclean election.

    A cut counts where the partition had an unclean election, where the broker knew a higher watermark when it became follower, or where
    the line is one that only such a cut prints. Sources: ReplicaFetcherThread, UnifiedLog, ReplicationControlManager, KAFKA-19474.
    """
    cut, chosen = event(*CUTS), event(ELECTED)
    to, mark = detail("cut_to").cast("long"), detail("watermark").cast("long")
    copies = F.contains("text", F.lit("ReplicaAlterLogDirs")) | F.contains("logger", F.lit("ReplicaAlterLogDirs"))
    rows = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker").where(~F.coalesce(copies, F.lit(False)))
    of_file = Window.partitionBy("scope", "file")
    own = F.when(event(*OWN), F.col("broker"))
    single = F.when(F.min(own).over(of_file) == F.max(own).over(of_file), F.max(own).over(of_file))
    rows = rows.withColumns({"_own": F.coalesce(F.when(cut, F.col("broker")), single), "_name": F.concat_ws("-", "topic", "partition")})
    place = Window.partitionBy("scope", "topic", "partition")
    before = Window.partitionBy("scope", "topic", "partition", "_own").orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    known = F.last(F.when(event("follower-starts"), mark), ignorenulls=True).over(before)
    rows = rows.where(F.col("topic").isNotNull() & F.col("partition").isNotNull()).withColumns(
        {"_known": known, "_chosen_at": F.min(F.when(chosen, F.col("at"))).over(place), "_chosen": F.max(chosen).over(place)}
    )
    stated = event("replica-beyond-leader") | (event(CUTS[0]) & F.contains("text", F.lit("[UnifiedLog")))
    sure = cut & (F.col("_chosen") | (F.col("_known") > to) | (stated & F.col("_known").isNull())) & (mark > to)
    open_still = event(CUTS[0]) & F.col("_known").isNull() & (mark - to >= unproven)
    rows = rows.withColumns({"_sure": F.coalesce(sure, F.lit(False)), "_open": F.coalesce(open_still, F.lit(False))})
    lost = F.col("_sure") | F.col("_open")
    rows = rows.withColumns({"_lost": lost, "_any": F.max(lost).over(place)})
    rows = rows.withColumns({"_to": F.min(F.when(lost, to)).over(place), "_mark": F.max(F.when(lost, mark)).over(place)})
    shown = F.when(F.max("_any").over(Window.partitionBy("scope", "topic")), F.col("_lost")).otherwise(chosen)
    rows = rows.withColumn("_shown", shown)
    ranges = F.format_string("%s from offset %d to %d", "_name", F.col("_to"), F.col("_mark"))
    spans = F.collect_set(F.when(F.col("_shown"), F.coalesce(F.when(F.col("_to").isNotNull(), ranges), F.col("_name"))))
    lengths = F.collect_set(F.when(F.col("_lost"), F.struct("partition", (F.col("_mark") - F.col("_to")).alias("records"))))
    # in sync alone, before the election: what was written since is what the elected replica lacks
    earlier = F.coalesce(F.col("at") <= F.col("_chosen_at"), F.lit(False))
    alone = event("isr-shrunk") & F.col("_chosen") & detail("to_isr").rlike(r"^\d+$") & earlier
    per_topic = found(
        rows, "topic", of=F.col("_shown"),
        evidence=exemplars(where=F.col("_shown") | chosen),
        reason=first_of(("truncated", F.max("_sure")), ("unproven", F.max("_open")), otherwise="elected"),
        broker=agreed(F.when(F.col("_lost"), F.col("_own"))),
        partition=agreed(F.when(F.col("_shown"), F.col("partition"))),
        elected=agreed(F.when(chosen, F.coalesce(detail("to_leader"), detail("elected")))),
        elected_at=F.min(F.when(chosen, F.col("at"))),
        alone_since=F.min(F.when(alone, F.col("at"))),
        alone=agreed(F.when(alone, detail("to_isr"))),
        _spans=F.sort_array(spans),
        _names=F.sort_array(F.collect_set(F.when(F.col("_shown"), F.col("_name")))),
        _lost_records=F.aggregate(lengths, F.lit(0).cast("long"), lambda sum_, each: sum_ + each["records"]),
    )  # fmt: skip
    judged = beside(per_topic, _allowed(topic_configs, partitions), "topic")
    return judged.withColumns(
        {
            "who": broker_named(F.col("broker")),
            "cuts": _few("_spans", 4),
            "names": _few("_names", 2),
            "records": F.when(F.col("_lost_records") > 0, F.format_number("_lost_records", 0)),
            "severity": first_of(("critical", F.col("reason") == "truncated"), otherwise="warning"),
            "confidence": first_of((1.0, F.col("reason") == "truncated"), otherwise=0.6),
            "damage_stays": F.lit(True),
        }
    )


def _few(texts: str, most: int) -> Column:
    """The first of an array, and how many more."""
    more = F.format_string(" and %d more", F.size(texts) - most)
    return F.concat(F.array_join(F.slice(texts, 1, most), ", "), F.when(F.size(texts) > most, more).otherwise(""))


def _allowed(topic_configs: DataFrame, partitions: DataFrame) -> DataFrame:
    """Per topic, its settings and replicas that let such a replica lead, as one text: ``allowed``."""
    newest = F.struct(F.coalesce(F.col("as_of").cast("long"), F.lit(0)), F.col("value"))
    values = [F.max(F.when(F.col("key") == key, newest))["value"].alias(name) for key, name in _SETTINGS.items()]
    settings = topic_configs.groupBy("scope", "topic").agg(*values)
    replicas = partitions.groupBy("scope", "topic").agg(F.max(F.size("replicas")).alias("_replicas"))
    both = beside(settings, replicas, "topic", how="full")
    parts = F.array(
        F.when(F.lower("_unclean") == "true", F.lit("unclean.leader.election.enable=true")),
        F.when(F.col("_in_sync").try_cast("int") < 2, F.concat(F.lit("min.insync.replicas="), "_in_sync")),
        F.when(F.col("_replicas").between(1, 2), F.concat(F.lit("replication factor "), F.col("_replicas").cast("string"))),
    )
    return both.select("scope", "topic", F.nullif(F.array_join(F.array_compact(parts), ", "), F.lit("")).alias("allowed"))
