"""BRK117: an entry answers from here, and the job's own logs say that it does not."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT
from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import distinct, seconds
from analyzers.vocabulary.brokers import tried_address
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.snapshots import newest_look


@rule(
    "BRK117",
    title="The probe and the job's logs disagree",
    stage="access",
    severity=Severity.WARNING,
    signatures=(*FAILED_TO_CONNECT, *ANSWERED, "checkpoint-completed", "broker-started"),
    needs=has("enough", signature=FAILED_TO_CONNECT),
    says="{address} answers from {seen_from}, yet the job's clients could not connect to it {tries} time(s)[[, last at {until} UTC]]: the "
    "job sees another network than this host does, or the broker was down then and has come back",
    inferred="The last failure in the logs is less than {minutes} minutes older than the probe, and no line after it shows that the "
    "clients got through.",
    next_command="timeout 5 bash -c '</dev/tcp/{probe}' && echo accepts || echo dead   # in a TaskManager: does it see the same?",
)
def seen_otherwise(
    log_events: DataFrame,
    bootstrap_servers: DataFrame,
    *,
    fresh: int = 600,  # seconds before the probe; older failures may have been mended
    enough: int = 2,  # one failed connection happens in every restart of a broker
    silent: int = 10,  # seconds: a client that needs a node tries it each second (reconnect.backoff.max.ms, set-up time-out 10 s)
    quiet: int = 60,  # seconds of checkpoints without a failure: sources that cannot read do not fail them
) -> DataFrame:
    """Per job, entries that live here and that connections of the last minutes of the logs failed to, and were not seen to mend."""
    alive = newest_look(bootstrap_servers).where(F.col("state") == "alive")
    live = alive.select("scope", "seen_from", F.col("as_of").alias("_probed"), F.col("broker").alias("_id"), "entry", "ip")
    named = live.withColumn("_at", F.col("entry"))
    by_ip = live.withColumn("_at", F.concat_ws(":", "ip", F.regexp_extract("entry", r":(\d+)$", 1)))
    places = named.unionByName(by_ip).drop("entry", "ip").distinct()
    events = log_events.withColumns({"_at": tried_address(), "_client": F.coalesce("client", F.lit(""))})
    tried = events.where(F.col("signature").isin(*FAILED_TO_CONNECT) & (F.coalesce("role", F.lit("")) != "kafka-broker"))
    failed = tried.join(places, ["scope", "_at"])
    late = failed.where((seconds("at", "_probed") <= fresh) & (seconds("at", "_probed") >= -fresh))
    found = (
        _lasting(late, events, silent, quiet)
        .groupBy("scope", "job")
        .agg(
            F.count("*").alias("tries"),
            distinct("_at", "address"),
            F.min("_at").alias("_first"),
            F.any_value("seen_from").alias("seen_from"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
    )
    worded = found.where(F.col("tries") >= enough).withColumns(
        {
            "probe": F.regexp_replace("_first", r":(\d+)$", "/$1"),
            "minutes": F.lit(fresh // 60),
            "confidence": F.lit(0.6),  # two hosts, two clocks
            "reason": F.lit("seen-otherwise"),
        }
    )
    return worded.drop("_first")


def _lasting(failed: DataFrame, events: DataFrame, silent: int, quiet: int) -> DataFrame:
    """`failed` without those that were over: the broker started again, or the client lives on without another failure.

    Another broker's answer says nothing of an entry of the bootstrap list (a negative node id): the client goes on without it.
    """
    started = events.where(F.col("signature") == "broker-started").groupBy("scope", F.col("broker").alias("_id"))
    answers = events.where(F.col("signature").isin(*ANSWERED))
    completed = events.where(F.col("signature") == "checkpoint-completed").groupBy("scope")
    known = (
        failed.join(started.agg(F.max("at").alias("_started")), ["scope", "_id"], "left")
        .join(answers.groupBy("scope", "file", "_client").agg(F.max("at").alias("_answered")), ["scope", "file", "_client"], "left")
        .join(completed.agg(F.max("at").alias("_completed")), "scope", "left")
    )
    last = F.max("at").over(Window.partitionBy("scope", "_at", "file", "_client"))
    goes_on = ((F.col("_answered") > last) & (seconds(last, "_probed") >= silent)) | (seconds(last, "_completed") >= quiet)
    over = (seconds("_started", last) <= silent) | ((F.col("broker") >= 0) & goes_on)
    return known.withColumn("_over", F.coalesce(over, F.lit(False))).where(~F.col("_over"))
