"""RST103: the Flink Kubernetes operator cannot bring a deployment back."""

from analyzers.vocabulary import ANY, CRITICAL, Column, DataFrame, F, Window, count, detail, event, first_of, found, has, rule

TOLD = ("operator-event", "operator-status", "operator-exception")
_STATE_GONE = r"HA metadata not available|RestoreFailed|RESTOREFAILED|Manual restore required|manual recovery required"
_BY_HAND = r"(?i)manual (?:restore|recovery) required"
_BACK_OFF = r"(?i)CrashLoopBackOff|back-off \S+ restarting failed|ImagePullBackOff|ErrImagePull|OOMKilled|InvalidImageName"
_VALIDATION = r"VALIDATIONERROR|ValidationException"
_SAVEPOINT = r"SAVEPOINTERROR|CHECKPOINTERROR|SNAPSHOTERROR"
_UPGRADE = r"UpgradeFailureException|RecoveryFailureException|UPGRADEFAILED|Error while upgrading|JobManager deployment is missing"
_DEEPEST = r'.*"message":"((?:[^"\\]|\\.)*)"'


@rule(
    "RST103", title="The Flink operator cannot bring the job back", cause="other", stage="restart", severity=CRITICAL,
    faults=("operator",), logs_of=ANY, signatures=(*TOLD, "operator-job-state"), needs=has(signature=(*TOLD, "operator-job-state")),
    says={
        "job-failed": "The job of deployment {deployment} failed, and its operator does not bring it back[[ since {since} UTC]]: {what}",
        "savepoint": "Savepoints of deployment {deployment} fail: {times} time(s)[[ since {since} UTC]]: {what}",
        "restarts": "The operator restarted the unhealthy job of deployment {deployment} {times} times[[ between {since} and {until} UTC]]",
        "": "The operator does not bring deployment {deployment} back: {what}; {times} time(s)[[ between {since} and {until} UTC]]",
    },
    next_command={
        "validation": "kubectl describe flinkdeployment {name} --namespace {namespace}",
        "back-off": "kubectl logs --namespace {namespace} deployment/{name} --previous --all-containers",
        "": "kubectl get flinkdeployment {name} --namespace {namespace} -o jsonpath='{{.status}}'",
    },
)  # fmt: skip
def operator_gives_up(
    log_events: DataFrame,
    *,
    enough: int = 2,  # times; the operator says it again at each reconciliation, and what passes is said once
    loops: int = 4,  # restarts of an unhealthy job
) -> DataFrame:
    """Per deployment, what the operator complains of since it last saw the job running or the deployment stable."""
    own = log_events.where(event(*TOLD, "operator-job-state") & F.col("job").isNotNull()).withColumns(
        {
            "_because": detail("what_happened"),
            "_says": F.concat_ws(
                " ", F.coalesce(detail("event"), detail("raised"), F.lit("")), F.coalesce(detail("what_happened"), "text")
            ),
        }
    )
    well = (F.col("to_state").isin("RUNNING", "FINISHED") | F.col("_says").contains(" to RUNNING")) | (
        event("operator-status") & F.col("to_state").isin("STABLE", "DEPLOYED", "SUSPENDED", "FINISHED")
    )
    restarted = detail("event") == "RESTARTUNHEALTHYJOB"
    failed = (event("operator-job-state") & (F.col("to_state") == "FAILED")) | (event("operator-status") & (F.col("to_state") == "FAILED"))
    bad = (event("operator-event") & (detail("kind").isin("Warning", "Error"))) | event("operator-exception") | failed
    last_well = F.max(F.when(well, F.col("seq"))).over(Window.partitionBy("scope", "job"))
    marked = own.withColumns({"_well": F.coalesce(last_well, F.lit(-1)), "_kind": _kind()})
    unhealthy = (
        found(marked, "job", of=restarted, times=count(restarted)).where(F.col("times") >= loops).withColumn("reason", F.lit("restarts"))
    )
    open_now = marked.where(bad & (F.col("seq") > F.col("_well")))
    ill = found(
        open_now,
        "job",
        times=F.greatest(count(event("operator-event")), count(event("operator-exception")), count(failed)),
        _kinds=F.collect_set("_kind"),
        _failed=count(failed),
        _by_hand=count(F.col("_says").rlike(_BY_HAND)),
        _first=F.min_by("_because", F.struct(F.col("_because").isNull(), F.col("_kind"), F.col("seq"))),
    )
    stays = ill.where((F.col("times") >= enough) | (F.col("_failed") > 0) | (F.col("_by_hand") > 0)).withColumns(
        {"reason": _worst(), "what": _what()}
    )
    both = stays.unionByName(unhealthy.join(stays.select("scope", "job"), ["scope", "job"], "left_anti"), allowMissingColumns=True)
    place = F.split("job", "/")
    return both.withColumns({"deployment": F.col("job"), "namespace": place[0], "name": F.coalesce(F.get(place, F.lit(1)), place[0])})


def _kind() -> Column:
    """What a complaint is about; the letters order them, the most telling first."""
    says = F.col("_says")
    return first_of(
        ("a-state-gone", says.rlike(_STATE_GONE)),
        ("b-validation", says.rlike(_VALIDATION)),
        ("c-back-off", says.rlike(_BACK_OFF)),
        ("d-savepoint", says.rlike(_SAVEPOINT)),
        ("e-upgrade", says.rlike(_UPGRADE)),
        otherwise="f-other",
    )


def _worst() -> Column:
    def one(kind: str) -> Column:
        return F.array_contains("_kinds", kind)

    return first_of(
        ("state-gone", one("a-state-gone")),
        ("validation", one("b-validation")),
        ("back-off", one("c-back-off")),
        ("savepoint", one("d-savepoint") & (F.col("_failed") == 0)),
        ("job-failed", F.col("_failed") > 0),
        otherwise="upgrade",
    )


def _what() -> Column:
    """What the operator says, of a serialized exception the message of the deepest one."""
    deepest = F.nullif(F.regexp_extract("_first", _DEEPEST, 1), F.lit(""))
    return F.substring(F.regexp_replace(F.coalesce(deepest, F.col("_first"), F.lit("it gives no reason")), r"[.\s]+$", ""), 1, 300)
