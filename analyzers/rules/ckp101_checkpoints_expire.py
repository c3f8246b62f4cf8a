"""CKP101: checkpoints expire again and again, because some subtask does not acknowledge the barrier."""

from analyzers.vocabulary import CRITICAL, JOBMANAGER, DataFrame, F, beside, count, event, exemplars, first_of, joined, rule
from analyzers.vocabulary.checkpoints import EXPIRY, has_expired, how_many_expired, newest_in_a_row

NAMING = ("barrier-overtaken", "barrier-abandoned", "task-stuck-cancelling", "checkpoint-late-ack")
"""Lines that name a subtask; without them the culprit is not in the logs."""
UNNAMED = (
    "which subtask does not acknowledge: no line of these logs names it; the checkpoint's details in the REST API or web UI and a thread "
    "dump do"
)
EACH_TIME = "each time some subtask did not acknowledge the barrier in time, and meanwhile no source offset was committed"
LASTS = (
    "some subtask does not acknowledge the barrier; until it does, no source offset is committed, and a restart repeats everything since "
    "then"
)
PASSED = (
    "some subtask did not acknowledge the barrier, and until it did no source offset was committed. It has passed: %,d checkpoints have "
    "completed since"
)


@rule(
    "CKP101", title="Checkpoints expire before they complete", cause="barrier-unacknowledged", stage="checkpoint", severity=CRITICAL,
    reason="expired", logs_of=JOBMANAGER, signatures=(*EXPIRY, *NAMING, "checkpoint-tolerance-exceeded", "node-request-timeout"),
    says="{how_many} expired[[ after {timeout_seconds} s]][[, {apart}]][[, the last {newest_in_a_row} in a row]]"
    "[[, the first at {since} UTC]][[, the last at {ended_at} UTC]]"
    "[[; the last that completed is {last_completed} ({last_completed_at} UTC)]]: {therefore}",
    inferred="[[Meanwhile {requests} requests of Kafka clients got no answer from broker {of_brokers} in time, the first at "
    "{unanswered_since} UTC: a sink may wait for it and so hold the barrier. Check that broker first.]]",
    missing="[[{unnamed}]]",
    next_command="[[diag triage --flink-rest http://JOBMANAGER:8081 --job {holding}   # which subtask holds the barrier, and where its "
    "thread stands]][[{opened} {shown_at}   # the lines that show it, and those around them]]",
)  # fmt: skip
def checkpoints_expire(
    checkpoint_expiries: DataFrame,
    log_events: DataFrame,
    *,
    enough: int = 3,  # one or two happen around a redeploy, a rebalance, a slow restore
    in_a_row: int = 2,  # with none completed after them, two already mean that the job stands still for two time-outs
    often_within: int = 18_000,  # seconds for five: one by itself is no incident, five in an afternoon are no coincidence
) -> DataFrame:
    """Jobs whose checkpoints expire: critical while the newest do; a warning for one at a log's end, and for spells that ended."""
    lines = log_events.groupBy("scope", "job").agg(
        count(event(*NAMING)).alias("_naming"),
        count(event("checkpoint-tolerance-exceeded")).alias("_failed_for_it"),
        count(event("checkpoint-expired")).alias("_at_info"),
    )
    expired, lasting = F.col("expired") >= enough, F.col("in_a_row") >= 1
    # a fragment: the expiry is all there is; in a log of warnings only, checkpoints that complete are not seen
    nothing_else = lasting & (F.col("completed") == 0) & ~F.col("ended") & (F.coalesce("_at_info", F.lit(0)) > 0)
    noteworthy = expired | (lasting & ~F.col("ended"))
    kind = first_of(
        ("now", (expired & F.col("still")) | (F.col("in_a_row") >= in_a_row) | nothing_else),
        ("spell", F.col("spell") >= enough),
        ("scattered", (F.col("often_seconds") <= often_within) & (F.col("_failed_for_it") == 0)),  # else it is CKP104
        ("over", noteworthy & ~lasting),
        ("newest", noteworthy),
    )
    chosen = beside(checkpoint_expiries, lines, "job").withColumn("_kind", kind).where(F.col("_kind").isNotNull())
    spell, scattered = F.col("_kind") == "spell", F.col("_kind") == "scattered"
    passed = spell | (F.col("_kind") == "over")
    before, done = passed | scattered, F.when(spell, F.col("completed_since_spell")).otherwise(F.col("completed_since"))
    least = F.when(F.col("dropped"), F.lit("At least ")).otherwise(F.lit(""))
    timed = chosen.withColumns(
        {
            "since": first_of((F.col("spell_since"), spell), (F.col("first_at"), scattered), otherwise=F.col("since")),
            "until": first_of((F.col("spell_until"), spell), otherwise=F.col("until")),
        }
    )
    shown = timed.withColumns(
        {
            "severity": first_of(("critical", F.col("_kind") == "now"), otherwise="warning"),
            "how_many": first_of(
                (F.format_string("%s%,d checkpoints in a row", least, "spell"), spell),
                (F.format_string("%s%,d of %,d checkpoints", least, "in_all", "of_all"), scattered),
                otherwise=how_many_expired(),
            ),
            "apart": F.when(scattered, first_of(("each by itself", F.col("longest") == 1), otherwise="never more than two in a row")),
            "newest_in_a_row": F.when(~before, newest_in_a_row()),
            "ended_at": F.when(before & (F.col("until") > F.col("since")), F.col("until")),
            "last_completed": F.when(~before, F.col("last_completed")),
            "therefore": first_of((F.format_string(PASSED, done), passed & (done > 1)), (EACH_TIME, scattered), otherwise=LASTS),
            "holding": F.when(~passed, F.col("job")),  # of what has passed a live JobManager knows nothing any more
            "opened": F.when(passed, "zless"),
            "again": F.when(passed, "checkpoints complete again"),
            "for_now": F.when(passed, "Nothing for now: the job runs. If it comes back: "),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            "unnamed": F.when(F.col("_naming") == 0, UNNAMED),
            # wanted: so many expiries, and the name of the culprit, which this rule never has
            "confidence": F.least(F.greatest("expired", "in_all"), F.lit(enough)) / (enough + 1),
        }
    )
    return beside(joined(shown, _lines(timed, log_events), ["scope", "job"]), _unanswered(timed, log_events), "job")


def _lines(timed: DataFrame, log_events: DataFrame) -> DataFrame:
    """The lines that report the expiries of the time in question."""
    times = timed.select("scope", "job", F.col("since").alias("_since"), (F.col("until") + F.expr("INTERVAL 1 SECOND")).alias("_until"))
    within = F.coalesce(F.col("at").between(F.col("_since"), F.col("_until")), F.lit(True))
    return joined(log_events.where(has_expired()), times, ["scope", "job"]).where(within).groupBy("scope", "job").agg(exemplars())


def _unanswered(timed: DataFrame, log_events: DataFrame, *, enough: int = 2, late: int = 60) -> DataFrame:
    """Requests of the jobs' Kafka clients that a broker left unanswered while checkpoints expired: their timeout (30 s) may end later."""
    of_client = event("node-request-timeout") & (F.coalesce("role", F.lit("")) != "kafka-broker") & (F.col("broker") >= 0)
    waits = log_events.where(of_client).select(*(F.col(name).alias(f"_{name}") for name in ("scope", "job", "at", "broker")))
    same = (F.col("scope") == F.col("_scope")) & (F.coalesce("_job", "job") == F.col("job"))
    began = F.unix_seconds("since") - F.coalesce("timeout_seconds", F.lit(0))
    meanwhile = F.unix_seconds("_at").between(began, F.unix_seconds("until") + late)
    per_job = joined(timed, waits, same & meanwhile).groupBy("scope", "job")
    brokers = F.sort_array(F.collect_set("_broker")).alias("of_brokers")
    return per_job.agg(count().alias("requests"), brokers, F.min("_at").alias("unanswered_since")).where(F.col("requests") >= enough)
