"""RST413: What kubectl shows of a pod: its container was killed for its memory, ends again and again, or has no image."""

from typing import Any

from analyzers.vocabulary import ANY, CRITICAL, Column, DataFrame, F, IfGiven, beside, event, first_of, found, rule
from analyzers.vocabulary.workers import kubelets_words, passed_limit

_WHICH = "Container {container} of pod {resource}"
_LAST = r"-[a-z0-9]{1,10}$"  # of a pod's name: what its siblings do not share
_OFTEN = "[[, {restarts} restart(s)]][[, the last end at {ended_at} UTC]]"


@rule(
    "RST413", title="A container of the pod keeps ending, or does not start", cause="taskmanager-lost", stage="access", severity=CRITICAL,
    logs_of=ANY, signatures=("pod-evicted",),
    says={
        "memory": f"{_WHICH} was killed for its memory (OOMKilled[[, exit code {{exit_code}}]]){_OFTEN}[[; its limit is {{limit_shown}}]]",
        "probe": f"{_WHICH} was killed {{kills}} time(s) for its {{probe}} probe[[ ({{probe_rule}})]][[: {{probe_said}}]]{_OFTEN}: it "
        "hangs, or it was not up in the time that the probe gives it",
        "killed": f"{_WHICH} was killed from outside (exit code {{exit_code}}, not for its memory){_OFTEN}",
        "crash": f"{_WHICH} ends by itself[[ with exit code {{exit_code}}]]{_OFTEN}[[ ({{state_shown}})]]",
        "image": f"{_WHICH} does not start: {{state_shown}}[[: {{message}}]]",
        "storage": "{evicted_shown} evicted for local files: {why}",
        "evicted": "{evicted_shown} evicted[[: {why}]]",
    },
    missing={
        "probe": "whether it starts, recovers or hangs when it is killed: its log of the life before (kubectl logs --previous) shows it",
        "killed": "who killed it: a liveness probe, the node, an operator; the events of the pod show it",
        "crash": "why it ends: the log of the container before (kubectl logs --previous) shows it",
        "": "",
    },
    next_command={
        "probe": "kubectl logs {resource} -c {container} --previous | diag triage -",
        "crash": "kubectl logs {resource} -c {container} --previous | diag triage -",
        "storage": "kubectl get events --field-selector reason=Evicted   # which pods, when",
        "evicted": "kubectl get events --field-selector reason=Evicted   # which pods, when",
        "": "kubectl describe pod {resource}",
    },
)  # fmt: skip
def container_keeps_ending(
    pod_containers: DataFrame,
    log_events: IfGiven,
    *,
    often: int = 3,  # restarts: one or two over the life of a pod may be a node's upgrade
    again: int = 5,  # restarts of a container that runs now and ended with an error
) -> DataFrame:
    """Per pod and container of the newest view. A list of pods names no container, and only shows memory and eviction."""
    shown, last, restarts = F.col("reason"), F.col("last_reason"), F.coalesce("restarts", F.lit(0))
    code = F.coalesce("last_exit_code", "exit_code")
    described, down = F.col("container").isNotNull(), ~F.coalesce("ready", F.lit(True))
    memory = F.coalesce(last, F.lit("")).eqNullSafe("OOMKilled") | F.coalesce(shown, F.lit("")).rlike("OOMKilled")
    loops = F.coalesce(shown, F.lit("")).rlike("CrashLoopBackOff")
    error = F.coalesce(code, F.lit(0)).isin(0, 143) == F.lit(False)  # 143: SIGTERM, as every rollout sends it
    evicted = F.coalesce(shown, F.lit("")).rlike("Evicted")
    reason = first_of(
        ("memory", memory),
        ("storage", evicted & passed_limit("why").isNotNull()),
        ("evicted", evicted),
        ("image", described & F.coalesce(shown, F.lit("")).rlike("ImagePullBackOff|ErrImagePull|InvalidImageName|ErrImageNeverPull")),
        ("probe", F.col("probe").isNotNull() & ((restarts >= often) | loops)),
        ("killed", described & (code == 137) & ((restarts >= again) | loops)),
        ("crash", described & (loops | (error & (restarts >= again)))),
    )
    severity = first_of(
        ("critical", (F.col("_reason") == "memory") & ((restarts >= often) | down)),
        ("critical", F.col("_reason").isin("image")),
        ("critical", F.col("_reason").isin("crash", "killed", "probe") & (loops | down)),
        otherwise="warning",
    )
    events = log_events.where(event("pod-evicted")).select(
        "scope", F.col("resource").alias("pod"), kubelets_words(F.col("text")).alias("_event")
    )
    by_pod = events.groupBy("scope", "pod").agg(F.min("_event").alias("_event"))
    seen = beside(pod_containers, by_pod, "pod").withColumn("why", F.coalesce(kubelets_words(F.col("message")), "_event", "message"))
    rows = seen.withColumn("_reason", reason).where(F.col("_reason").isNotNull())
    rows = rows.withColumns(
        {
            "severity": severity,
            "_code": code,
            "_container": F.coalesce("container", F.lit("(all)")),
            "_state": F.concat_ws(", ", "state", F.nullif("reason", "state")),
            "_whose": F.when(~_is_evicted(), F.col("pod")).otherwise(F.concat_ws(" ", F.regexp_replace("pod", _LAST, ""), "why")),
            "_of": F.when(~_is_evicted(), F.col("container")),
            "_ended": F.date_format("last_finished_at", "yyyy-MM-dd HH:mm:ss"),
        }
    )
    facts: dict[str, Any] = {
        "reason": F.max_by("_reason", "moment"), "severity": F.max_by("severity", "moment"), "container": F.max_by("_container", "moment"),
        "restarts": F.max("restarts"), "exit_code": F.max_by("_code", "moment"), "limit_shown": F.max("memory_limit"),
        "state_shown": F.max_by("_state", "moment"), "message": F.max_by("message", "moment"), "ended_at": F.max("_ended"),
        "_pods": F.sort_array(F.collect_set("pod")), "why": F.max("why"),
        "passed": F.max(passed_limit("why")), "host": F.max("node"), "probe": F.max_by("probe", "moment"), "kills": F.max("probe_kills"),
        "probe_rule": F.max_by("probe_rule", "moment"), "probe_said": F.max_by("probe_said", "moment"),
    }  # fmt: skip
    text = F.concat_ws(
        ", ", "pod", "_container", "_state", F.concat(F.lit("last "), "last_reason"), F.concat(F.lit("restarts "), "restarts")
    )
    made = found(rows, "_whose", "_of", at="last_finished_at", table="pod_containers", shown=text, file=F.col("file"), **facts)
    pods = F.array_join("_pods", ", ")
    several = F.size("_pods") > 1
    return made.drop("_whose", "_of").withColumns(
        {
            "confidence": F.lit(1.0),
            "resource": F.when(~several, F.element_at("_pods", 1)),
            "evicted_shown": F.when(several, F.concat(F.lit("Pods "), pods, F.lit(" were"))).otherwise(
                F.concat(F.lit("Pod "), pods, F.lit(" was"))
            ),
        }
    )


def _is_evicted() -> Column:
    return F.col("_reason").isin("evicted", "storage")
