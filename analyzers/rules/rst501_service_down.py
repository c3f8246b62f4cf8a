"""RST501: a service that the job calls is down, slow or throttles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.services import service_address, service_host


def _fails_or_tries_again(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """A call that failed a task, or calls that failed often enough without."""
    own = [row for row in rows if not row["consequence"]]
    return any(row["fatal"] for row in own) or sum(row["occurrences"] for row in own) >= thresholds["retries"]


FAULTS = (
    "database-outage",
    "search-outage",
    "store-outage",
    "service-http",
    "service-unreachable",
    "async-timeout",
    "registry-outage",
    "registry-write",
    "sink-gave-up",
    "service-said",
    "service-client",
)

_RECOVERS = (
    "the job recovers by itself afterwards. So that the next outage does not stop it: a connect and read time-out below the checkpoint "
    "time-out, a bounded number of retries with back-off, and a pool or in-flight limit the service can bear."
)
_GIVEN_UP = "then start the job from its last completed checkpoint: Flink has given it up, it does not come back by itself."
GAVE_UP = ("restart-suppressed", "failure-not-recoverable")
_CONNECT = r"Worker(?:Sink|Source)Task|org\.apache\.kafka\.connect\.runtime\."
"""Kafka Connect kills a task that fails and never starts it again by itself (WorkerTask.doRun)."""


@rule(
    "RST501",
    title="A service that the job calls is down or slow",
    cause="external-system",
    stage="failure",
    severity=Severity.CRITICAL,
    faults=FAULTS,
    signatures=GAVE_UP,
    says={
        "": "A service that the job calls does not answer as it should[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: "
        "{what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "retried": "Calls of a service[[ at {address}]][[ from {task}]] keep failing (at least {calls} times[[ since {since} UTC]]) and "
        "checkpoints expire meanwhile: {what}",
    },
    missing="[[{unnamed}]]",
    next_command={
        "http": "[[curl -sS -m 5 -i http://{dialled}/ | head -1   # on {caller}: does it answer, and what]]",
        "": "[[curl -sv -m 5 telnet://{dialled} </dev/null   # on {caller}: can it be reached]]",
    },
    needs=_fails_or_tries_again,
)
def service_down(
    faults: DataFrame,
    jobs_seen: DataFrame | None,
    log_events: DataFrame | None,
    *,
    expiries: int = 2,  # one checkpoint expires around many a redeploy
    retries: int = 3,  # a retry that succeeds is no outage
) -> DataFrame:
    """Fatal outage faults per job; or calls that keep failing without stopping it, while its checkpoints expire."""
    facts = faults.withColumns({"_address": service_address(), "_host": service_host()})
    places = F.concat_ws("\n", "text", "chain")
    named = (
        agreed("_address", "address"),
        agreed("_host", "host_named"),
        F.sum("occurrences").alias("calls"),
        F.bool_and(places.rlike(_CONNECT)).alias("of_connect"),
        agreed(F.nullif(F.regexp_extract(places, r"Worker(?:Sink|Source)Task\{id=([\w.-]+-\d+)\}", 1), F.lit("")), "connect_task"),
    )
    fatal = failures(facts, *named)
    if jobs_seen is not None:
        ill = jobs_seen.where(F.col("checkpoints_expired") >= expiries).select("scope", "job")
        quiet = beside(facts.where(~F.col("fatal")), ill, "job", how="inner").withColumn("fatal", F.lit(True))
        kept = failures(quiet, *named).where(F.col("calls") >= retries).withColumn("reason", F.lit("retried"))
        first = fatal.select(F.col("scope").alias("s"), F.col("job").alias("j"))
        fatal = fatal.unionByName(kept.join(first, (F.col("scope") == F.col("s")) & F.col("job").eqNullSafe(F.col("j")), "left_anti"))
    service = F.coalesce("address", "host_named", F.lit("that service"))
    unnamed = F.when(
        F.col("address").isNull() & F.col("host_named").isNull(),
        F.lit("which host it is: the message names none; the job's configuration of that client does"),
    )
    dialled = F.when(F.col("address").rlike(r":\d+$"), F.col("address"))
    return (
        _with_the_way_back(_given_up(fatal, log_events))
        .withColumns({"service": service, "unnamed": unnamed, "address": F.coalesce("address", "host_named"), "dialled": dialled})
        .drop("host_named")
    )


def _given_up(found: DataFrame, log_events: DataFrame | None) -> DataFrame:
    """`found` with whether Flink has said that it restarts the job no more (RST102)."""
    if log_events is None:
        return found.withColumn("given_up", F.lit(None).cast("boolean"))
    said = log_events.where(F.col("signature").isin(*GAVE_UP)).withColumn("_job", F.coalesce("job", F.lit("")))
    ended = said.groupBy("scope").agg(F.collect_set("_job").alias("_ended"))
    named = F.array_contains("_ended", F.col("job")) | F.array_contains("_ended", "")  # a trace that was pasted alone names no job
    found = found.join(ended, "scope", "left")
    return found.withColumn("given_up", named | (F.col("job").isNull() & (F.size("_ended") > 0))).drop("_ended")


def _with_the_way_back(found: DataFrame) -> DataFrame:
    """`found` with how the job comes back when the service does, and from whose host the service is called."""
    name = F.concat_ws("/tasks/", F.regexp_extract("connect_task", r"(.+)-\d+$", 1), F.regexp_extract("connect_task", r"\d+$", 0))
    by_hand = F.concat(
        F.lit("then restart the task that Kafka Connect killed: curl -X POST http://CONNECT:8083/connectors/"),
        F.when(F.col("connect_task").isNotNull(), name).otherwise(F.lit("NAME/tasks/N")),
        F.lit(
            "/restart (it does not come back by itself). So that the next outage does not kill it: more retries, farther apart, in the "
            "connector's configuration (JDBC sink: max.retries, retry.backoff.ms), and an alarm on tasks whose state is FAILED."
        ),
    )
    of_connect = F.coalesce("of_connect", F.lit(False))
    told = {
        "afterwards": F.when(of_connect, by_hand).when(F.col("given_up"), F.lit(_GIVEN_UP)).otherwise(F.lit(_RECOVERS)),
        "caller": F.when(of_connect, F.lit("a Connect worker's host")).otherwise(F.lit("a TaskManager's host")),
    }
    return found.withColumns(told).drop("of_connect", "connect_task", "given_up")
