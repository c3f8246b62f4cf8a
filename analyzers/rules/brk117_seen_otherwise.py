"""BRK117: a bootstrap server answers this host, and the job's own logs show that it does not answer the job."""

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT
from analyzers.vocabulary import WARNING, DataFrame, F, Window, count, distinct, event, found, has, newest_snapshot, rule, seconds
from analyzers.vocabulary.brokers import of_client, tried_address


@rule("BRK117", title="The probe and the job's logs disagree", stage="access", severity=WARNING, reason="seen-otherwise",
    signatures=(*FAILED_TO_CONNECT, *ANSWERED, "checkpoint-completed", "broker-started"), needs=has("enough", signature=FAILED_TO_CONNECT),
    says="{address} answers {seen_from}, yet the job's clients could not connect to it {tries} time(s)[[, last at {until} UTC]]: the job "
    "is in another network than this host, or the broker was down then and has come back",
    inferred="The last failure in the logs is less than {minutes} minutes older than the probe, and no line after it shows that the "
    "clients connected.",
    next_command="timeout 5 bash -c '</dev/tcp/{probe}' && echo accepts || echo dead   # in a TaskManager: does it see the same?",
)  # fmt: skip
def seen_otherwise(
    log_events: DataFrame,
    bootstrap_servers: DataFrame,
    *,
    fresh: int = 600,  # seconds before the probe; older failures may have been mended
    enough: int = 2,  # one failed connection happens in every restart of a broker
    silent: int = 10,  # seconds: a client that needs a node tries it each second (reconnect.backoff.max.ms, set-up time-out 10 s)
    quiet: int = 60,  # seconds of checkpoints without a failure: sources that cannot read do not fail them
) -> DataFrame:
    """Per job, servers that answer here, to which connections failed in the last minutes of the logs and were not seen to recover."""
    alive = newest_snapshot(bootstrap_servers).where(F.col("state") == "alive")
    by_ip = F.concat_ws(":", "ip", F.regexp_extract("entry", r":(\d+)$", 1))
    places = alive.select(
        "scope", "seen_from", F.col("as_of").alias("_probed"), F.col("broker").alias("_id"), F.explode(F.array("entry", by_ip)).alias("_at")
    ).distinct()
    events = log_events.withColumns({"_at": tried_address(), "_client": F.coalesce("client", F.lit(""))})
    tried = events.where(event(*FAILED_TO_CONNECT) & of_client()).join(places, ["scope", "_at"])
    late = tried.where(F.abs(seconds("at", "_probed")) <= fresh)
    per_job = found(
        _lasting(late, events, silent, quiet), "job", tries=count(), address=distinct("_at", "address"), seen_from=F.any_value("seen_from"),
        probe=F.regexp_replace(F.min("_at"), r":(\d+)$", "/$1"), minutes=F.lit(fresh // 60),
        confidence=F.lit(0.6),  # two hosts, two clocks
    )  # fmt: skip
    return per_job.where(F.col("tries") >= enough)


def _lasting(failed: DataFrame, events: DataFrame, silent: int, quiet: int) -> DataFrame:
    """`failed` without those that were over: the broker started again, or the client goes on without another failure.

    Another broker's answer proves nothing about a server of the bootstrap list (a negative node id): the client goes on without it.
    """
    started = events.where(event("broker-started")).groupBy("scope", F.col("broker").alias("_id")).agg(F.max("at").alias("_started"))
    answers = events.where(event(*ANSWERED)).groupBy("scope", "file", "_client").agg(F.max("at").alias("_answered"))
    completed = events.where(event("checkpoint-completed")).groupBy("scope").agg(F.max("at").alias("_completed"))
    known = (
        failed.join(started, ["scope", "_id"], "left")
        .join(answers, ["scope", "file", "_client"], "left")
        .join(completed, "scope", "left")
        .withColumn("_last", F.max("at").over(Window.partitionBy("scope", "_at", "file", "_client")))
    )
    answered = (F.col("_answered") > F.col("_last")) & (seconds("_last", "_probed") >= silent)
    goes_on = answered | (seconds("_last", "_completed") >= quiet)
    over = (seconds("_started", "_last") <= silent) | ((F.col("broker") >= 0) & goes_on)
    return known.where(~F.coalesce(over, F.lit(False)))
