"""RST412: TaskManagers that the job needs do not start: no node takes the pods, an image or a volume is missing, or they never register."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    ANY,
    CRITICAL,
    Column,
    DataFrame,
    F,
    IfGiven,
    Window,
    beside,
    count,
    detail,
    event,
    first_of,
    found,
    number_of,
    rule,
)
from analyzers.vocabulary.columns import in_short
from analyzers.vocabulary.quick_looks import grouped

COMPLAINTS = ("pod-unschedulable", "image-not-pulled", "pod-volume-missing", "pod-not-started")
GOOD = ("pod-placed", "pod-started", "image-pulled", "pod-scale-up")
WAITS = ("worker-requested", "worker-never-registered", "requirements-unfulfilled")
CAME = ("taskmanager-registered", "worker-registered", "checkpoint-completed")
TOLD_ELSEWHERE = ("slots-unavailable", "worker-refused", "worker-request-failed")
"""RST404 and RST411 say why."""
OF_THE_OPERATOR = ("operator-exception", "operator-event", "operator-status")
_OPERATOR = (*OF_THE_OPERATOR, "worker-refused", "worker-request-failed")
_WORKER_POD = r"taskmanager|-exec-\d+"
_LONG = r"^(?:\d+[dh]|\d\d+m|[5-9]m)"
"""Age of a pod in a list: one that is pending for a moment is normal."""
_CONNECT_POD = r"(?:^|-)connect-(?:\d+$|[a-z0-9]+-[a-z0-9]{5}$)|kafka-connect"
"""A worker of Kafka Connect: a pod of Strimzi's, or of a chart that is called so."""
_ENDED = ("FINISHED", "CANCELED", "CANCELLING")
_NEVER = "TaskManagers that Flink requests do not register: {never} of them in a row[[, the last {resource}]][[, since {since} UTC]]"


def _some_do_not_come(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether lines complain of pods, or ask for workers, and none beside them says more."""
    told = [{row["signature"] for row in own} for own in grouped(rows).values()]
    return any(
        signs.isdisjoint(more) and not signs.isdisjoint(of)
        for signs in told
        for of, more in ((COMPLAINTS, _OPERATOR), (WAITS, TOLD_ELSEWHERE))
    )


@rule(
    "RST412", title="TaskManagers do not start", stage="access", severity=CRITICAL, cause="taskmanager-lost", logs_of=ANY,
    signatures=(*COMPLAINTS, *GOOD, *WAITS, *CAME, *TOLD_ELSEWHERE, *OF_THE_OPERATOR, "job-state", "task-transition"),
    needs=_some_do_not_come,
    says={
        "pending-pod": "Pods of TaskManagers stay pending: {pods}[[, the last {resource}]][[ for {age}]]",
        "crash-loop": "The container of {pods} pod(s)[[, the last {resource}]] ends again and again after its start (CrashLoopBackOff, "
        "{restarts} restarts)",
        "unschedulable": "No node takes {pods} pod(s)[[, the last {resource}]]: {what}",
        "image": "The image[[ {image}]] cannot be pulled[[ for pod {resource}]][[: {what}]]",
        "volume": "A pod[[ ({resource})]] waits for a volume: {what}",
        "never-registered": _NEVER,
        "no-worker": "The job waits for its slots[[ since {since} UTC]], {minutes} minutes when these logs end: no TaskManager is there",
        "pending": "The TaskManagers that Flink requested[[ at {since} UTC]] have not come when these logs end, {minutes} minutes later",
    },
    missing={
        "never-registered": "why they do not come: the events of their pods or containers show it",
        "no-worker": "why no TaskManager registers: their own logs and the cluster show it",
        "pending": "why they do not come: the events of their pods or containers show it",
        "crash-loop": "why: the last lines of the container that ended show it",
        "pending-pod": "why: the events of the pod show it",
    },
    next_command={
        "crash-loop": "kubectl logs --previous {resource}   # the container that ended; kubectl describe pod: its exit code",
        "": "kubectl describe pod[[ {resource}]]   # its events; on YARN: yarn application -status ID, and the limits of the queue",
    },
)  # fmt: skip
def pods_do_not_start(
    log_events: DataFrame,
    log_files: IfGiven,
    *,
    enough: int = 2,  # TaskManagers that did not come; one may have met a slow node
    restarts: int = 4,  # a container that waits for another service at its start may end a few times
    patience: int = 600,  # seconds; a node group takes some minutes to grow
) -> DataFrame:
    """Per scope, pods and workers that are asked for and do not come. Source: ActiveResourceManager, kube-scheduler, kubelet."""
    place = Window.partitionBy("scope")
    deployed = event("task-transition") & F.col("to_state").isin("DEPLOYING", "INITIALIZING", "RUNNING")
    came = F.coalesce(F.max(F.when(event(*CAME) | deployed, F.col("seq"))).over(place), F.lit(-1))
    over = F.max(F.when(event("job-state") & F.col("to_state").isin(*_ENDED), F.col("seq"))).over(place)
    rows = log_events.withColumns(
        {
            "_came": came,
            "_over": F.coalesce(over, F.lit(-1)),
            "_asked": F.max(F.when(event(*WAITS), F.col("seq"))).over(place),
            "_operator": F.max(event(*_OPERATOR)).over(place),
            "_elsewhere": F.max(event(*TOLD_ELSEWHERE)).over(place),
        }
    )
    asked = _asked(rows, log_files, enough=enough, patience=patience).withColumn("_told", F.lit(False))
    events = _events(rows, restarts=restarts).withColumn("_told", F.lit(True))
    both = events.unionByName(asked, allowMissingColumns=True).withColumn("_some_told", F.max("_told").over(place))
    return both.where(F.col("_told") | ~F.col("_some_told")).withColumns(
        {"stated": F.lit(True), "short": in_short("what"), "cause": F.coalesce("cause", F.lit("taskmanager-lost"))}
    )


def _events(rows: DataFrame, *, restarts: int) -> DataFrame:
    """What the cluster's own events say of pods that have not started; they are undated, and a pod's stand in any order."""
    key = F.coalesce("resource", F.concat(F.lit("file:"), "file"))
    crashes = event("pod-not-started") & (detail("status") == "CrashLoopBackOff")
    of_connect = crashes & F.rlike("resource", F.lit(_CONNECT_POD))
    of_worker = F.coalesce(F.rlike("resource", F.lit(_WORKER_POD)), F.lit(True)) | F.coalesce(of_connect, F.lit(False))
    again = detail("restarts").cast("int") >= restarts
    marked = rows.where(event(*COMPLAINTS, *GOOD)).withColumn("_key", key)
    by_pod = Window.partitionBy("scope", "_key")
    started = F.max(event("pod-started", "pod-scale-up")).over(by_pod)
    fine = first_of(
        (F.max(event("pod-placed")).over(by_pod) | started, event("pod-unschedulable")),
        (F.max(event("image-pulled")).over(Window.partitionBy("scope", detail("image"))) | started, event("image-not-pulled")),
        otherwise=started,
    )
    pending = event("pod-not-started") & (detail("status") == "Pending")
    no_image = event("image-not-pulled") | (event("pod-not-started") & ~pending & ~crashes)
    shown = event(*COMPLAINTS) & ~(pending & ~detail("age").rlike(_LONG)) & ~(crashes & ~again)
    bad = marked.withColumn("_fine", fine).where(shown & ~F.col("_fine") & of_worker)
    kind = {name: F.max(event(name)) for name in COMPLAINTS}
    per_scope = found(
        bad, pods=number_of("_key"), resource=F.max_by("resource", "seq"),
        image=F.max(detail("image")),
        what=F.max_by(detail("what_happened"), F.when(detail("what_happened").isNotNull(), F.col("seq"))),
        age=F.max(detail("age")),
        restarts=F.max(F.when(crashes, detail("restarts").cast("int"))),
        _crashes=F.bool_and(crashes),
        _connect=F.bool_and(of_connect),
        _image=F.max(no_image), _volume=kind["pod-volume-missing"], _unschedulable=kind["pod-unschedulable"],
        _came=F.max("_came"), _asked=F.max("_asked"), _operator=F.max("_operator"),
    )  # fmt: skip
    # a job that completes checkpoints and asks for nothing has what it needs: the events are about something else, or over
    waits = (F.col("_came") < 0) | (F.col("_asked") > F.col("_came"))
    reason = first_of(
        ("image", F.col("_image")),
        ("unschedulable", F.col("_unschedulable")),
        ("volume", F.col("_volume")),
        ("crash-loop", F.col("_crashes")),
        otherwise="pending-pod",
    )
    cause = first_of(("other", F.coalesce("_connect", F.lit(False))), otherwise="taskmanager-lost")
    return per_scope.where(waits & ~F.col("_operator")).withColumns({"reason": reason, "cause": cause})


def _asked(rows: DataFrame, log_files: DataFrame, *, enough: int, patience: int) -> DataFrame:
    """Workers that the JobManager asked for after the last one came, by its own log."""
    after = (F.col("seq") > F.col("_came")) & (F.col("seq") > F.col("_over"))
    per_scope = found(
        rows.where(after & event(*WAITS)), _elsewhere=F.max("_elsewhere"), never=count(event("worker-never-registered")),
        _requested=count(event("worker-requested")),
        resource=F.max_by("resource", F.when(F.col("resource").isNotNull(), F.col("seq"))),
    )  # fmt: skip
    ends = log_files.groupBy("scope").agg(F.max("last_at").alias("_end"))
    waited = F.unix_timestamp("_end") - F.unix_timestamp("since")
    both = beside(per_scope, ends).withColumn("minutes", F.floor(waited / 60).cast("long"))
    never: Column = F.col("never") >= enough
    pending = (F.col("never") == 0) & (waited >= patience)
    reason = first_of(("never-registered", never), ("pending", F.col("_requested") > 0), otherwise="no-worker")
    return both.where((never | pending) & ~F.col("_elsewhere")).withColumn("reason", reason)
