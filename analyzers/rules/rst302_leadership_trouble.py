"""RST302: jobs are suspended again and again because the JobManager loses its leadership."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    CRITICAL,
    JOBMANAGER,
    Column,
    DataFrame,
    F,
    IfGiven,
    agreed,
    count,
    detail,
    event,
    first_of,
    found,
    greatest,
    number_of,
    rule,
)
from analyzers.vocabulary.aggregates import listed
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.quick_looks import grouped
from analyzers.vocabulary.zookeeper import slow_disk

SESSION_TIMEOUT = "high-availability.zookeeper.client.session-timeout"
SUSPENDS = ("job-suspended", "job-leader-revoked", "leadership-revoked", "kubernetes-leader-lost")
LOST = (*SUSPENDS, "zookeeper-connection-lost", "curator-state", "kubernetes-lease-failed")
_REGAINED = ("leadership-granted", "zookeeper-reconnected")
_LOSES = (
    "The JobManager lost its leadership {times} time(s)[[, first at {since} UTC]][[ and last at {until} UTC]], and each time its jobs were "
)
_NOW = "[[; {state_now}]][[. {disk}]]"


def _some_lost(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether leadership was lost so often, or once and no line has a job in another state than suspended or failed since."""
    for own in grouped(rows).values():
        lost = [row for row in own if row["signature"] in SUSPENDS]
        times = {row["at"].timestamp() // thresholds["apart"] if row["at"] else row["line"] for row in lost}
        changes = (row for row in own if row["signature"] == "job-state")
        states = [((row["line"] or 0) if row["seq"] is None else row["seq"], row["to_state"] or "") for row in changes]
        ill = not states or max(states)[1] in ("", "SUSPENDED", "FAILED")
        if len(times) >= thresholds["enough"] or (ill and any(row["signature"] in LOST for row in own)):
            return True
    return False


@rule(
    "RST302", title="The JobManager loses its leadership again and again", stage="restart", severity=CRITICAL,
    shows="leadership-lost", cause="jobmanager-lost",
    logs_of=JOBMANAGER, needs=_some_lost,
    signatures=("job-state", "checkpoint-completed", "configuration-property", "zookeeper-sync-slow", *_REGAINED, *LOST),
    says={
        "zookeeper": f"{_LOSES}suspended: the connection to ZooKeeper went{_NOW}",
        "kubernetes": f"{_LOSES}suspended: the Kubernetes leader lease was not renewed[[ ({{api_server}})]]{_NOW}",
        "": f"{_LOSES}suspended{_NOW}",
    },
    missing="why the leader election service did not answer: {its_log} and the JobManager's GC log have it",
)  # fmt: skip
def leadership_trouble(
    log_events: DataFrame,
    log_files: IfGiven,
    *,
    enough: int = 3,  # once is a fail-over that worked, twice may be a rolling restart of ZooKeeper
    fragment: int = 60,  # lines: in so short an excerpt one lost lease is all there will be
    apart: int = 30,  # seconds; the lines of one loss come together
) -> DataFrame:
    """Per scope: how many separate times leadership went; a warning where the jobs run again and complete checkpoints."""
    col, text = F.col, F.coalesce("text", F.lit(""))
    back_again = event("curator-state") & col("to_state").isin("RECONNECTED", "CONNECTED")
    lost = log_events.where(event(*LOST) & ~back_again)
    losses = found(
        lost,
        times=number_of(F.when(event(*SUSPENDS), F.coalesce(F.floor(F.unix_seconds("at") / apart), col("line")))),
        job=agreed("job"),
        since=F.min(F.when(event(*SUSPENDS), col("at"))),
        until=greatest("at", event(*SUSPENDS)),
        _zookeeper=count(event("zookeeper-connection-lost", "curator-state") | text.rlike("ZooKeeper|Zookeeper|Curator")),
        _kubernetes=count(event("kubernetes-leader-lost", "kubernetes-lease-failed") | text.rlike("Kubernetes|ConfigMap|fabric8")),
        _lease_lost=F.max(F.coalesce(detail("what").rlike("enew deadline"), F.lit(False))),
        api_server=F.max_by(_refusal(), F.when(_refusal().isNotNull(), in_order())),
        _last_lost=greatest(in_order(), event(*SUSPENDS)),
        _first_at=F.min("at"),
        _first_line=F.min(in_order()),
        _last_line=F.max(in_order()),
    )  # fmt: skip
    after = log_events.groupBy("scope").agg(
        greatest(in_order(), event(*_REGAINED) | back_again).alias("_regained"),
        F.max_by("to_state", F.when(event("job-state"), in_order())).alias("_state"),
        greatest(in_order(), event("job-state") & (col("to_state") == "SUSPENDED")).alias("_suspended"),
        greatest(in_order(), event("checkpoint-completed")).alias("_completed"),
        _session_timeout().alias("session_timeout"),
    )
    known = losses
    for more in (after, _files(log_files), slow_disk(log_events, lost.select("scope", "at"), within=60)):
        known = known.join(more, "scope", "left")
    state, times = col("_state"), col("times")
    runs = F.coalesce((state == "RUNNING") & (col("_completed") > col("_last_lost")), F.lit(False))
    not_regained = (times >= 1) & (col("_regained").isNull() | (col("_regained") < col("_last_line")))
    stays = (times == 0) & (col("_state") == "SUSPENDED") & (col("_suspended") > col("_first_line")) & col("_regained").isNull()
    in_fragment = (col("_lease_lost") | not_regained) & state.isNull() & (col("_lines") <= fragment)
    through = first_of(("zookeeper", col("_zookeeper") > 0), ("kubernetes", col("_kubernetes") > 0))
    own_log = F.concat(F.lit("ZooKeeper's own log around these times ("), "_zookeeper_logs", F.lit(": given)"))
    return known.where((times >= enough) | ((times >= 1) & ~runs & state.isin("SUSPENDED", "FAILED")) | in_fragment | stays).withColumns(
        {
            "times": F.greatest("times", F.lit(1)),
            "since": F.coalesce("since", "_first_at"),
            "severity": F.when(runs, "warning").otherwise("critical"),
            "reason": F.coalesce(through, F.lit("leadership")),
            "state_now": first_of(
                ("the job runs again now", runs), (F.concat(F.lit("the job's last state is "), state), state.isNotNull())
            ),
            "its_log": F.coalesce(F.when(through == "zookeeper", own_log), F.lit("its own log (ZooKeeper, the Kubernetes API server)")),
            "fault_ids": F.array(F.lit("leadership-lost")),
            # wanted: three losses, and through which service
            "confidence": (F.least("times", F.lit(3)) + through.isNotNull().cast("int")) / 4,
        }
    )


def _refusal() -> Column:
    """What the Kubernetes API server answered about a lease, or why it did not."""
    said = F.concat_ws(": ", F.regexp_extract("root_exception", r"([^.]*)$", 1), F.nullif("root_message", F.lit("null")))
    return F.when(
        event("kubernetes-lease-failed", "kubernetes-leader-lost") & F.col("root_exception").isNotNull(), F.substring(said, 1, 200)
    )


def _files(log_files: DataFrame) -> DataFrame:
    """Per scope how long the logs are, and which of them are ZooKeeper's own: scope, _lines, _zookeeper_logs."""
    own = F.when(F.startswith("layout", F.lit("zookeeper")), F.regexp_extract("file", r"([^/]*)$", 1))
    logs = F.nullif(listed(own, apart=", "), F.lit(""))
    return log_files.groupBy("scope").agg(F.sum("lines").alias("_lines"), logs.alias("_zookeeper_logs"))


def _session_timeout() -> Column:
    """Aggregate: the session timeout that the JobManager was started with last, in words."""
    value = F.trim(detail("value"))
    bare = F.concat((value.try_cast("long") / 1000).cast("string"), F.lit(" s"))  # a number alone is milliseconds
    shown = F.coalesce(F.regexp_replace(bare, r"\.0 s$", " s"), value)
    return F.max_by(shown, F.when(event("configuration-property") & (detail("key") == SESSION_TIMEOUT), in_order()))
