"""RST305: a TaskManager does not get through to the JobManager."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    CRITICAL,
    FLINK,
    Column,
    DataFrame,
    F,
    agreed,
    count,
    detail,
    distinct,
    either,
    event,
    first_of,
    found,
    greatest,
    has,
    rule,
    seconds,
)  # fmt: skip
from analyzers.vocabulary.quick_looks import grouped, persisted

_FOR = "tried in vain for {minutes} minutes[[, since {since} UTC]], to the end of the log"


def _one_tries_on(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a log has attempts for long, none of which timed out, and no registration behind them."""
    for own in grouped(rows, "file").values():
        tries = [row for row in own if row["signature"] == "resourcemanager-unresolved"]
        last = max((row["line"] or 0 for row in tries), default=0)
        over = any(row["signature"] == "resourcemanager-registered" and (row["line"] or 0) > last for row in own)
        gone = any(row["signature"] == "registration-timed-out" and row["line"] for row in own)
        if persisted(tries, lasting=thresholds["lasting"]) and not over and not gone:
            return True
    return False


@rule(
    "RST305", title="A TaskManager does not reach the JobManager", stage="failure", severity=CRITICAL, cause="jobmanager-lost",
    logs_of=FLINK, needs=either(has(signature=("rpc-misaddressed",)), _one_tries_on),
    signatures=("resourcemanager-unresolved", "resourcemanager-registered", "registration-timed-out", "rpc-misaddressed", "host-unknown"),
    says={
        "other-name": "The process that listens as {address} drops messages that are sent to it as {dialled}[[, since {since} UTC]]: a "
        "process that uses that name never joins the cluster",
        "name-unknown": f"{{workers}} TaskManager(s) cannot resolve the name of the JobManager[[ ({{address}})]]: {_FOR}",
        "": f"{{workers}} TaskManager(s) do not reach the JobManager[[ at {{address}}]]: {_FOR}",
    },
    missing={"other-name": "", "": "why it does not answer: the JobManager's own log has it"},
)  # fmt: skip
def jobmanager_unreached(
    log_events: DataFrame,
    *,
    lasting: int = 120,  # seconds; a JobManager that starts, or fails over, is there by then
    enough: int = 3,  # messages to a wrong name; one may be meant for the process that had this address before
) -> DataFrame:
    """Per scope: TaskManagers whose attempts never succeeded up to the end of their log, and processes that get messages to another name.

    RST304 reports a TaskManager that ended itself of it. Source: Flink's TaskExecutor, RegisteredRpcConnection; akka's EndpointWriter.
    """
    tries = event("resourcemanager-unresolved")
    per_log = found(
        log_events, "file", of=tries,
        address=agreed(F.when(tries, F.col("address"))),
        _unresolved=_last("resourcemanager-unresolved"),
        _registered=_last("resourcemanager-registered"),
        _timed_out=_last("registration-timed-out"),
        _unknown=F.max(event("host-unknown")),
    )  # fmt: skip
    never = F.col("_registered").isNull() | (F.col("_registered") < F.col("_unresolved"))
    cut_off = per_log.where(never & F.col("_timed_out").isNull() & (seconds("since", "until") >= lasting))
    tried = cut_off.groupBy("scope").agg(
        first_of(("name-unknown", F.min("_unknown")), otherwise="not-answering").alias("reason"),
        count().alias("workers"),
        agreed("address"),
        F.min("since").alias("since"),
        F.max("until").alias("until"),
        F.flatten(F.collect_list("evidence")).alias("evidence"),
    )
    dropped = found(
        log_events.where(event("rpc-misaddressed")),
        reason=F.lit("other-name"),
        address=F.array_join(distinct("address", "address"), ", "),
        dialled=F.array_join(distinct(detail("dialled"), "dialled"), ", "),
        severity=first_of(("critical", count() >= enough), otherwise="warning"),
    )  # fmt: skip
    minutes = F.round(seconds("since", "until") / 60).cast("long")
    return tried.unionByName(dropped, allowMissingColumns=True).withColumn("minutes", minutes)


def _last(signature: str) -> Column:
    """The last line of a log with this signature."""
    return greatest("line", event(signature))
