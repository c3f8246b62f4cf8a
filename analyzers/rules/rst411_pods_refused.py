"""RST411: Kubernetes refuses the pods of the TaskManagers that the job needs."""

from analyzers.vocabulary import CRITICAL, JOBMANAGER, DataFrame, F, Window, agreed, count, detail, event, found, has, rule
from analyzers.vocabulary.columns import in_short

REFUSED = ("worker-refused", "worker-request-failed")
"""The same refusal by the driver and by the resource manager; older versions and other drivers print only the second."""
_MESSAGE = r"(?:Message: )?([^\n]*?)(?:\. Received status|[.\s]*$)"
_NO_RIGHTS = r"^Forbidden!? ?Configured service account doesn't have access\. Service account may have been revoked\. (?=pods )"
"""What the client of Kubernetes puts before any answer 403, with any message."""


@rule(
    "RST411", title="Kubernetes refuses the pods of TaskManagers", stage="access", severity=CRITICAL, cause="taskmanager-lost",
    logs_of=JOBMANAGER, signatures=(*REFUSED, "taskmanager-registered", "worker-registered"), needs=has(signature=REFUSED),
    says="Kubernetes refuses each pod of a TaskManager that the JobManager asks for: {what}; {times} times[[ since {since} UTC]]",
    next_command="kubectl describe resourcequota[[ --namespace {namespace}]]",
)  # fmt: skip
def pods_refused(
    log_events: DataFrame,
    *,
    enough: int = 5,  # times; Flink asks again every 3 s, and a quota may be free again in a moment
) -> DataFrame:
    """Per scope, the refusals behind the last TaskManager that registered. Source: KubernetesResourceManagerDriver.requestResource."""
    came = F.max(F.when(event("taskmanager-registered", "worker-registered"), F.col("seq"))).over(Window.partitionBy("scope"))
    rows = log_events.withColumn("_came", F.coalesce(came, F.lit(-1)))
    whole = F.coalesce(detail("what_happened"), F.concat_ws("\n", "root_message", "text"))
    said = F.regexp_replace(F.regexp_extract(F.regexp_extract(whole, r"(Message: .*)", 1), _MESSAGE, 1), _NO_RIGHTS, "")
    refused = event(*REFUSED) & (said != "") & ~said.contains(" cannot create ")  # a right that is missing: RST502
    return (
        found(
            rows.where(F.col("seq") > F.col("_came")),
            of=refused,
            job=agreed("job"),
            times=F.greatest(*(count(refused & event(one)) for one in REFUSED)),
            what=F.max_by(F.substring(said, 1, 300), F.when(refused, F.col("seq"))),
            namespace=agreed(F.nullif(F.regexp_extract(whole, r"/namespaces/([^/]+)/pods", 1), F.lit("")), "namespace"),
        )
        .where(F.col("times") >= enough)
        .withColumns({"stated": F.lit(True), "short": in_short("what")})
    )
