"""LAG403: The sink's producer was fenced or its transaction is gone: what it wrote is not committed."""

from analyzers.vocabulary import (
    CRITICAL,
    Column,
    DataFrame,
    F,
    IfGiven,
    beside,
    count,
    detail,
    event,
    exemplars,
    failures,
    first_of,
    found,
    rule,
)
from analyzers.vocabulary.aggregates import agreed, place, seconds

FENCED = (
    "The sink's transactional producer[[ of {task}]] was fenced[[ ({transactional_id})]]: {what}; {failures} failure(s)[[, first at "
    "{since} UTC]]"
)
LOST = "[[; {lost_commits} transaction(s) were not committed, and the records may be missing downstream]]"
_OF_JOB = r"[Ff]link|\bBeam\b|org\.apache\.beam|WorkerSourceTask|ExactlyOnceWorker"
"""What stands in the lines of a sink of Flink or Beam, and of a source of Kafka Connect; other producers are an application's own."""
_NEWER = r"ProducerFencedException|newer producer with the same transactionalId|InvalidProducerEpochException|old epoch"
_FORGOTTEN = r"InvalidPidMapping|INVALID_PRODUCER_ID_MAPPING|not currently assigned to its transactional id"
"""The broker no longer knows the id (TransactionStateManager removes what was idle for transactional.id.expiration.ms, 7 days)."""
_STATED = r"'transaction\.timeout\.ms' \((\d+)ms\)"
NAMED = r"transactionalId='?([^'\s,}\]]+)"  # as Flink's producer and committable print themselves, and the client its prefix


@rule(
    "LAG403", title="A transactional producer was fenced", cause="offset-commit", stage="commit", severity=CRITICAL,
    faults=("producer-fenced",),
    signatures=(
        "sink-commit-failed", "sink-transaction-resumed", "job-restored", "producer-fenced", "rdkafka-fatal", "transaction-state-invalid",
        "transaction-timed-out",
    ),
    says={
        "second-writer": f"{FENCED}. It was fenced again less than a minute after {{at_once}} restarts, too soon for a timeout: a second "
        f"copy of the job, or another sink, writes with the same transactional ids{LOST}",
        "timed-out": f"{FENCED}. The brokers had aborted its transaction ({{aborted_ids}}), which was open longer than "
        f"transaction.timeout.ms{LOST}",
        "forgotten": "The brokers no longer know the producer id of the sink's transactional producer[[ of {task}]]"
        "[[ ({transactional_id})]]: {what}; {failures} failure(s)[[, first at {since} UTC]]. Brokers forget a transactional id that was "
        "idle for transactional.id.expiration.ms",
        "lost": "After a restart the sink could not commit {given_up} transaction(s) of the restored checkpoint[[ {restored}]]: {what}. "
        "The brokers had aborted {aborted_ids} at {aborted_at} UTC, open longer than transaction.timeout.ms[[ ({timeout} ms)]]: what they "
        "held is missing for every reader of committed records, and the job does not write it again",
        "recovered": "After a restart the sink could not commit {given_up} transaction(s) of the restored checkpoint again[[ ({ids})]]: "
        "{what}. Most such transactions were committed before the restart, and nothing is missing; only one that the brokers had aborted "
        "by then is lost",
        "application": "A transactional producer of the application[[ {whose}]][[ ({transactional_id})]] was fenced: {what}; "
        "{failures} failure(s)[[, first at {since} UTC]]. Either a second instance writes with the same transactional id, or a transaction "
        "was open longer than transaction.timeout.ms[[ (the brokers aborted such transactions of {others_aborted})]]",
        "": f"{FENCED}. Either a second copy of the job writes with the same transactional ids, or a transaction was open longer than "
        f"transaction.timeout.ms[[ (the brokers aborted such transactions of {{others_aborted}})]]{LOST}",
    },
    inferred="[[Flink goes on after a fenced commit and does not write its records again ({lost_commits} transaction(s)).]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT,…   # transactions that are open now, and who holds them",
)  # fmt: skip
def producer_fenced(
    log_events: DataFrame,
    faults: DataFrame,
    attempts: IfGiven,
    *,
    soon: int = 60,  # seconds; the shortest default of transaction.timeout.ms, and Flink's KafkaSink asks for an hour
    again_and_again: int = 2,  # attempts; one may have met what the attempt before it left behind
    beginning: int = 60,  # seconds from the start of an attempt: what the restored checkpoint had to commit is committed again
) -> DataFrame:
    """Per job: fatal fencing faults, and commits that the Kafka sink did not repeat (their records may be missing).

    A restored committable has no producer, and most were committed before the restart (Flink's KafkaCommitter, CommitterOperator): alone
    they are no sign of a second copy.
    """
    named = F.nullif(F.regexp_extract("text", NAMED, 1), F.lit(""))
    aborted = log_events.where(event("transaction-timed-out")).groupBy("scope")
    of_job = log_events.where(~event("transaction-timed-out"))
    restores = _restores(of_job, attempts)
    given_up = of_job.where(event("sink-commit-failed") & (F.col("level") == "ERROR"))
    faults = faults.join(given_up.select("scope", "file", "line"), ["scope", "file", "line"], "left_anti")
    lost = found(
        _with_restored(given_up, restores, beginning=beginning),
        "job",
        given_up=count(),
        _later=count(~F.col("_restored")),
        _because=F.min_by(detail("because"), place()),
        timeout=agreed(F.nullif(F.regexp_extract("text", _STATED, 1), F.lit("")), "timeout"),
    ).withColumnsRenamed({name: f"_lost_{name}" for name in ("since", "until", "evidence")})
    ids = of_job.groupBy("scope", "job").agg(
        agreed(named, "transactional_id"),
        F.collect_set(named).alias("_own"),
        F.bool_or(F.col("text").rlike(_OF_JOB)).alias("_of_job_too"),
        agreed("client", "_client"),
    )
    both = beside(beside(failures(faults, *_whose()), lost, "job", how="full"), ids, "job").join(
        aborted.agg(
            F.sort_array(F.collect_set(detail("transactional_id"))).alias("_aborted"),
            F.collect_set(F.struct(detail("transactional_id").alias("id"), "at")).alias("_aborts"),
            exemplars().alias("_aborted_evidence"),
        ),
        "scope",
        "left",
    ).join(restores, "scope", "left")  # fmt: skip
    lived = seconds("started_at", "ended_at")
    quick = (F.col("ended") == "failed") & (F.col("fault") == "producer-fenced") & (F.col("attempt") > 0) & (lived < soon)
    both = beside(both, attempts.groupBy("scope", "job").agg(count(quick).alias("at_once")), "job")
    two = F.coalesce(F.col("at_once") >= again_and_again, F.lit(False)) & F.coalesce(F.col("what").rlike(_NEWER), F.lit(False))
    again = F.col("failures").isNull() & (F.col("_later") == 0)
    none = F.array().cast("array<string>")
    of_restored = F.array_union(F.coalesce("_resumed", none), F.filter("_aborted", _is_of_checkpoint))
    its = F.when(again, F.array_union(of_restored, F.coalesce("_own", none))).otherwise(F.col("_own"))
    both = both.withColumn("_proven", F.array_intersect("_aborted", its))
    own = F.coalesce(F.size("_proven") > 0, F.lit(False))
    before = F.array_max(F.transform(F.filter("_aborts", lambda one: F.array_contains("_proven", one["id"])), lambda one: one["at"]))
    gone = again & own & F.coalesce(before <= F.col("_lost_until"), F.lit(False))
    again = again & ~own
    evidence = F.coalesce("evidence", "_lost_evidence")
    # Flink's ids end with the subtask and a number
    of_flink = F.coalesce(F.col("transactional_id").rlike(r"-\d+-\d+$"), F.lit(False))
    alone = F.col("given_up").isNull() & ~F.coalesce(F.col("_of_job") | F.col("_of_job_too") | of_flink, F.lit(True)) & ~own & ~two
    because = F.concat(F.lit("a commit was given up because "), F.coalesce("_because", F.lit("it met an error")))
    return both.withColumns(
        {
            "reason": first_of(
                ("forgotten", F.coalesce(F.col("what").rlike(_FORGOTTEN), F.lit(False))),
                ("lost", gone),
                ("timed-out", own),
                ("recovered", again),
                ("second-writer", two),
                ("application", alone),
                otherwise="fenced",
            ),
            "cause": first_of(("other", alone), ("offset-commit", ~again)),
            "whose": F.coalesce("_client", "_program"),
            "severity": first_of(("info", again), otherwise="critical"),
            "ids": F.array_join(F.sort_array("_own"), ", "),
            "aborted_ids": F.when(own, F.array_join("_proven", ", ")),
            "damage_stays": F.when(gone, F.lit(True)),
            "aborted_shown": F.when(gone, F.concat(F.element_at("_proven", 1), F.when(F.size("_proven") > 1, ", …").otherwise(""))),
            "aborted_at": F.date_format(before, "yyyy-MM-dd HH:mm:ss"),
            "others_aborted": F.when(~own, F.array_join("_aborted", ", ")),
            "failures": F.coalesce("failures", "given_up"),
            "what": F.coalesce("what", because),
            "lost_commits": F.when((F.col("given_up") > 0) & ~again, F.col("given_up")),
            "since": F.least("since", "_lost_since"),
            "until": F.greatest("until", "_lost_until"),
            "fault_ids": F.coalesce("fault_ids", F.array(F.lit("producer-fenced"))),
            "evidence": F.when(own, F.concat(F.slice(evidence, 1, 4), F.slice("_aborted_evidence", 1, 1))).otherwise(evidence),
        }
    )


def _whose() -> tuple[Column, Column]:
    """Aggregates of faults: whether they are of a job of Flink, Beam or Kafka Connect (_of_job), and the log with them (_program)."""
    shown = F.col("task").isNotNull() | F.col("attempt").isNotNull() | F.col("job").isNotNull()
    text = F.concat_ws(" ", "text", "chain")
    return F.bool_or(shown | text.rlike(_OF_JOB)).alias("_of_job"), agreed(F.regexp_extract("file", r"([^/]+)$", 1), "_program")


def _restores(of_job: DataFrame, attempts: DataFrame) -> DataFrame:
    """Per scope: when jobs began (_begun), from which checkpoints (_checkpoints; restored: the only one), and which transactions their
    sinks took up again (_resumed). Source: KafkaCommitter.getRecoveryProducer, FlinkKafkaInternalProducer.resumeTransaction."""
    resumed, restored = event("sink-transaction-resumed"), event("job-restored")
    begun = attempts.where((F.col("attempt") > 0) & F.col("started_at").isNotNull()).select("scope", F.col("started_at").alias("at"))
    own = of_job.where(resumed | restored).select(
        "scope",
        F.when(resumed, F.col("at")).alias("at"),
        F.when(resumed, detail("transactional_id")).alias("_id"),
        F.when(restored, F.col("checkpoint").cast("string")).alias("_checkpoint"),
    )
    return begun.unionByName(own, allowMissingColumns=True).groupBy("scope").agg(
        F.collect_set("at").alias("_begun"), F.collect_set("_id").alias("_resumed"),
        F.collect_set("_checkpoint").alias("_checkpoints"), agreed("_checkpoint", "restored"),
    )  # fmt: skip


def _is_of_checkpoint(transactional_id: Column) -> Column:
    """Whether the sink ends the transaction with a checkpoint that was restored: PREFIX-SUBTASK-CHECKPOINT (TransactionalIdFactory)."""
    return F.array_contains("_checkpoints", F.nullif(F.regexp_extract(transactional_id, r"-\d+-(\d+)$", 1), F.lit("")))


def _with_restored(given_up: DataFrame, restores: DataFrame, *, beginning: int) -> DataFrame:
    """Add `_restored` to `given_up`: whether the commit is one of a restored checkpoint, by its own words or by its time."""
    both = given_up.join(restores.select("scope", "_begun"), "scope", "left")
    in_time = F.exists("_begun", lambda start: seconds(start, F.col("at")).between(-1, beginning)) & ~F.col("text").contains("producer=")
    by_words = F.col("text").rlike(r"producer=null|recovered transaction")
    return both.withColumn("_restored", F.coalesce(by_words, F.lit(False)) | F.coalesce(in_time, F.lit(False)))
