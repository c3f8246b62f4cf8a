"""RST105: A custom resource's status, its pods and its job contradict each other, or its operator says what is wrong."""

from typing import Any

from analyzers.vocabulary import ANY, CRITICAL, DataFrame, F, first_of, found, rule
from analyzers.vocabulary.columns import in_short

_LONG = "[[, since {since_shown} UTC]][[, {minutes} min when it was shown]]"


@rule(
    "RST105", title="What an operator's resource says is not what runs", cause="other", stage="restart", severity=CRITICAL, logs_of=ANY,
    says={
        "job": f"{{kind}} {{resource}} says STABLE, and its job is {{other}}{_LONG}: STABLE is about the specification, not about the job"
        "[[. Its operator says: {what}]]",
        "pods": "{kind} {resource} says STABLE[[ ({status})]], and pod {pod} is {other}[[: {what}]]",
        "failed": f"The operator does not bring {{kind}} {{resource}} back: {{what}}{_LONG}",
        "not-observed": f"The operator has not looked at generation {{generation}} of {{kind}} {{resource}}{_LONG}: its status is of "
        "generation {observed_generation}",
        "not-ready": f"{{kind}} {{resource}} is not ready, as its operator says: {{what}}{_LONG}",
        "snapshot": "Snapshot {resource} failed, as its operator says[[: {what}]]",
        "transition": "The change-over of {kind} {resource} was aborted, and it is {state}, as its operator says: {what}",
    },
    inferred={
        "not-observed": "The operator does not run, does not watch this namespace, or is stuck with it.",
        "": "",
    },
    missing={
        "job": "why the job does not run: its own log, or /jobs/:id/exceptions",
        "failed": "what came before: the log of its JobManager and that of the operator",
        "pods": "why the pod ends: its log of the life before (kubectl logs --previous)",
        "not-observed": "what the operator does: its own log",
        "transition": "why the new deployment did not become stable: its own log and pods",
        "": "",
    },
    next_command={
        "job": "kubectl logs --namespace {namespace} deployment/{name} | diag triage -",
        "failed": "kubectl logs --namespace {namespace} deployment/{name} | diag triage -",
        "pods": "kubectl logs --namespace {namespace} {pod} --previous | diag triage -",
        "": "kubectl describe {kind_typed} {name}[[ --namespace {namespace}]]",
    },
)  # fmt: skip
def resource_contradicted(
    resource_troubles: DataFrame,
    *,
    lasting: int = 300,  # seconds: operators look every minute or two
) -> DataFrame:
    """Per resource and reason, of its newest view. A generation that was not looked at yet is a fault only where it lasts."""
    reason, seconds = F.col("reason"), F.coalesce("seconds", F.lit(0.0))
    severity = first_of(
        ("critical", reason.isin("job", "failed")),
        ("critical", (reason == "not-ready") & F.col("kind").isin("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2")),
        ("info", (reason == "not-observed") & (seconds < lasting)),
        otherwise="warning",  # the job, or the cluster, may run all the same
    )
    place = F.concat_ws("/", "namespace", "name")
    rows = resource_troubles.withColumns(
        {
            "severity": severity,
            "resource": place,
            "kind_typed": F.lower("kind"),
            "what": F.substring(F.regexp_replace("says", r"[.\s]+$", ""), 1, 300),
            "minutes": F.when(seconds >= 60, F.floor(seconds / 60).cast("long")),
            "since_shown": F.date_format("since", "yyyy-MM-dd HH:mm"),
            "status": F.nullif(F.regexp_extract("text", r"(jobManagerDeploymentStatus[^;]*|jobStatus[^;]*);", 1), F.lit("")),
            "_shown": F.concat("kind", F.lit(" "), place, F.lit(": "), "text"),
        }
    )
    names = (
        "severity", "kind", "kind_typed", "namespace", "name", "state", "other", "what", "pod", "generation", "observed_generation",
        "minutes", "since_shown", "status",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names}  # there is one row of each
    made = found(rows, "resource", "reason", at="at", table="resource_troubles", shown=F.col("_shown"), file=F.col("file"), **facts)
    return made.withColumns({"confidence": F.lit(0.9), "stated": F.lit(True), "short": in_short("what")})
