"""BRK216: writes are refused because fewer replicas are in sync than min.insync.replicas requires."""

from analyzers.derived.failures.failure_signs import BROKER_LIFE
from analyzers.logs.signatures import protocol_errors

from analyzers.vocabulary import (  # isort: skip
    BROKER, CLIENTS, CRITICAL, Column, DataFrame, F, IfGiven, Window, agreed, count, detail, distinct, either, event, first_of,
    found, goes_on, has, matching, number_of, rule, seconds,
)  # fmt: skip
from analyzers.vocabulary.brokers import departed, which_brokers

NAME = "NOT_ENOUGH_REPLICAS"
REFUSED = f"{NAME}|{protocol_errors.words(protocol_errors.FEW_REPLICAS)}"
UNMADE = ("internal-topic-unmade", "internal-topic-unplaced")
INTERNAL = {
    "offsets-topic": ("__consumer_offsets", "groups cannot join and offset commits fail"),
    "transactions": ("__transaction_state", "transactional producers can neither begin nor commit, so exactly-once sinks stop"),
}
"""Kafka's own topics, and what stops while they refuse. Source: GroupCoordinator, TransactionStateManager (COORDINATOR_NOT_AVAILABLE)."""


@rule("BRK216", title="Writes are refused: fewer replicas are in sync than min.insync.replicas requires", cause="broker-unreachable",
    stage="access", severity=CRITICAL, logs_of=(*CLIENTS, *BROKER),
    signatures=("not-enough-replicas", "produce-error", "binding-error-passing", "replica-fetch-failed", "binding-coordinator-refused",
        "rdkafka-coordinator-refused", *UNMADE, *BROKER_LIFE),
    needs=either(has(signature=("not-enough-replicas", *UNMADE)), matching(REFUSED, "error")),
    says={
        "too-few-brokers": "Kafka cannot create {named}[[ for {minutes} minute(s)]][[ (since {since} UTC)]]: {alive} broker(s) are up, and "
        "its replication factor is {wanted} ({setting}). Meanwhile {stops}[[; clients of group {waiting} get no coordinator]]",
        "": "Writes[[ to {named}]] {have} refused[[ for {minutes} minute(s)]][[ (from {since} to {until} UTC)]]: fewer replicas are in "
        "sync than min.insync.replicas requires[[ ({wanted})]][[; {client} retries {error}]][[; only broker {in_sync} is in sync]]"
        "[[; {gone} left the cluster at {gone_since} UTC]][[; {unreached} cannot be reached by its followers]]"
        "[[. Meanwhile {stops}]]. Writers with acks=all wait, and fail when delivery.timeout.ms is over; reading goes on",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def writes_refused(
    log_events: DataFrame,
    log_files: IfGiven,
    *,
    enough: int = 3,  # refusals; an idle topic sees one in minutes
    lasting: int = 60,  # seconds: the restart of a broker that stopped in order takes less
    fresh: int = 60,  # seconds before the end of the log: what stopped earlier has healed
    pausing: int = 180,  # seconds, at most: a writer that sends in bursts is refused in bursts
    fragment: int = 60,  # lines: in so short an excerpt one refusal that a broker states, or a client's last, is all there will be
) -> DataFrame:
    """Per scope, the refusals that brokers and their clients log, up to the end of the log, and which brokers left meanwhile."""
    in_sync = agreed(F.coalesce(detail("live"), detail("isr")))
    name, wanted = F.concat_ws("-", "topic", "partition"), detail("wanted").cast("int")
    unmade = first_of(("__transaction_state", detail("what").startswith("transactions")), ("__consumer_offsets", event(*UNMADE)))
    refusals = log_events.where(event("not-enough-replicas", *UNMADE) | detail("error").rlike(REFUSED))
    by_time = Window.partitionBy("scope").orderBy(F.col("at"), F.col("line"))
    newest = Window.partitionBy("scope").orderBy(F.col("at").desc(), F.col("line").desc())
    pause = F.unix_seconds("at") - F.unix_seconds(F.lag("at").over(by_time))
    per_scope = found(
        # of many refusals the first and the last are kept: only between the last ones is a pause a pause
        refusals.withColumns(
            {"topic": F.coalesce("topic", unmade), "_pause": F.when(F.row_number().over(newest) <= 10, pause), "_by": F.col("client")}
        ),
        job=agreed("job"),
        errors=number_of("file", "line"),
        topic=agreed("topic"),
        partition=agreed("partition"),
        wanted=F.coalesce(F.max(F.when(~event(*UNMADE), wanted)), F.max(wanted)),
        in_sync=F.when(in_sync.rlike("^[0-9]+$"), in_sync),
        end=F.max("as_of"),
        _pause=F.max("_pause"),
        client=agreed("_by"),
        _topics=F.sort_array(F.collect_set("topic")),
        _partitions=F.sort_array(F.collect_set(F.when(F.col("topic").isNotNull(), name))),
        alive=F.max(detail("alive").cast("int")),
        _unmade=F.bool_and(event(*UNMADE)),
        _final=count(F.contains("text", F.lit("Error processing append")) | F.contains("text", F.lit("(0 attempts left)"))),
    )
    quiet_for = F.greatest(F.lit(fresh), F.least(2 * F.coalesce("_pause", F.lit(0)), F.lit(pausing)))
    lasts = goes_on("errors", enough=enough, lasting=lasting, fresh=quiet_for)
    ends_so = F.coalesce(seconds("until", "end") <= fresh, F.lit(True)) & (
        F.coalesce(seconds("since", "until") < lasting, F.lit(True)) | (F.col("_final") > 1)  # an idle log is written to now and then
    )
    cut = (F.col("_final") > 0) & (F.col("_lines") <= fragment) & ends_so
    known = per_scope.join(log_files.groupBy("scope").agg(F.sum("lines").alias("_lines")), "scope", "left")
    left = departed(log_events, gone_for=0).groupBy("scope").agg(distinct("broker", "_gone"), F.min("left_at").alias("gone_since"))
    lost = log_events.where(event("replica-fetch-failed")).withColumn("_leader", F.coalesce("broker", *_ids("leader", "fetched")))
    lost = lost.groupBy("scope", "_leader").agg(F.max("address").alias("_at"))
    at = F.concat(F.lit(" ("), "_at", F.lit(")"))
    named = F.concat(F.lit("broker "), "_leader", F.coalesce(at, F.lit("")))
    unreached = lost.groupBy("scope").agg(F.array_join(F.sort_array(F.collect_set(named)), ", ").alias("_unreached"))
    no_coordinator = event("binding-coordinator-refused", "rdkafka-coordinator-refused")
    waiting = log_events.where(no_coordinator).groupBy("scope").agg(F.array_join(distinct("group", "_waiting"), ", ").alias("_waiting"))
    known = known.join(unreached, "scope", "left").join(waiting, "scope", "left")
    judged = known.withColumn("_cut", F.coalesce(cut & ~lasts, F.lit(False))).where(F.coalesce(lasts, F.lit(False)) | F.col("_cut"))
    return judged.join(left, "scope", "left").withColumns(
        {
            "reason": first_of(
                ("too-few-brokers", F.col("_unmade")),
                *((why, _only(topic)) for why, (topic, _) in INTERNAL.items()),
                otherwise="under-min-isr",
            ),
            "named": _few("_partitions"),
            "error": F.when(F.col("client").isNotNull(), F.lit(NAME)),
            "topics": _few("_topics"),
            "stops": F.nullif(F.array_join(F.array_compact(F.array(*(_stops(*of) for of in INTERNAL.values()))), "; "), F.lit("")),
            "have": first_of(("were", F.col("_cut")), otherwise="have been"),
            "minutes": F.when(~F.col("_cut"), F.round(seconds("since", "until") / 60).cast("long")),
            # words of a broker; a client's exception without a topic says less than the rule about the task that it stopped
            "stated": F.when(F.size("_topics") > 0, F.lit(True)),
            "unreached": F.when(~F.col("_unmade"), F.nullif("_unreached", F.lit(""))),
            "waiting": F.when(F.array_contains("_topics", "__consumer_offsets"), F.nullif("_waiting", F.lit(""))),
            "setting": F.when(
                F.array_contains("_topics", "__transaction_state"), F.lit("transaction.state.log.replication.factor")
            ).otherwise("offsets.topic.replication.factor"),
            "gone": which_brokers(F.col("_gone")),
        }
    )


def _ids(*names: str) -> list[Column]:
    return [detail(name).cast("long") for name in names]


def _only(topic: str) -> Column:
    return F.coalesce((F.size("_topics") == 1) & F.array_contains("_topics", topic), F.lit(False))


def _stops(topic: str, what: str) -> Column:
    return F.when(F.array_contains("_topics", topic), F.lit(what))


def _few(names: str) -> Column:
    """The first five of an array, and how many more; null where it has none."""
    more = F.format_string(" and %d more", F.size(names) - 5)
    return F.when(F.size(names) > 0, F.concat(F.array_join(F.slice(names, 1, 5), ", "), F.when(F.size(names) > 5, more).otherwise("")))
