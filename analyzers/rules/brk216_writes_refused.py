"""BRK216: writes have been refused for minutes because fewer replicas are in sync than min.insync.replicas requires."""

from analyzers.vocabulary import BROKER, CLIENTS, CRITICAL, DataFrame, F, agreed, detail, distinct, event, found, goes_on, rule, seconds

REFUSED = "NOT_ENOUGH_REPLICAS"


@rule("BRK216", title="Writes are refused: fewer replicas are in sync than min.insync.replicas requires", cause="broker-unreachable",
    stage="access", severity=CRITICAL, reason="under-min-isr", logs_of=(*CLIENTS, *BROKER),
    signatures=("not-enough-replicas", "produce-error"),
    says="Writes[[ to {topics}]] have been refused for {minutes} minute(s)[[ (from {since} to {until} UTC)]]: fewer replicas are in sync "
    "than min.insync.replicas requires[[ ({wanted})]][[; only broker {in_sync} is in sync]]. Writers with acks=all wait, and fail when "
    "delivery.timeout.ms is over; reading goes on",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def writes_refused(
    log_events: DataFrame,
    *,
    enough: int = 3,  # refusals; an idle topic sees one in minutes
    lasting: int = 60,  # seconds: the restart of a broker that stopped in order takes less
    fresh: int = 60,  # seconds before the end of the log: what stopped earlier has healed
) -> DataFrame:
    """Per scope, the refusals that brokers and their clients log, up to the end of the log."""
    in_sync = agreed(F.coalesce(detail("live"), detail("isr")))
    per_scope = found(
        log_events.where(event("not-enough-replicas") | detail("error").rlike(REFUSED)),
        job=agreed("job"),
        errors=F.countDistinct("file", "line"),
        topics=distinct("topic", "topics"),
        topic=agreed("topic"),
        partition=agreed("partition"),
        wanted=F.max(detail("wanted").cast("int")),
        in_sync=F.when(in_sync.rlike("^[0-9]+$"), in_sync),
        end=F.max("as_of"),
    )
    lasts = goes_on("errors", enough=enough, lasting=lasting, fresh=fresh)
    return per_scope.where(lasts).withColumn("minutes", F.round(seconds("since", "until") / 60).cast("long"))
