"""RST103: the Flink Kubernetes operator cannot bring a deployment back."""

from analyzers.tables import Row
from analyzers.vocabulary import ANY, CRITICAL, Column, DataFrame, F, IfGiven, Window, count, detail, event, first_of, found, rule, some
from analyzers.vocabulary.columns import in_short
from analyzers.vocabulary.quick_looks import captured

COMPLAINTS = (
    "operator-event", "operator-status", "operator-exception", "operator-not-recovered", "operator-rollback-impossible",
    "operator-savepoint-failed",
)  # fmt: skip
PATIENT = ("operator-rest-unanswered", "operator-waits")
"""Normal for minutes around a start: only what lasts is a fault."""
STATES = ("operator-job-state", "operator-deployment-observed", "operator-savepoint-stored", "operator-spec-changed")
_NOT_ITS_OWN = (
    "JOBEXCEPTION", "ERROR", "RECOVERDEPLOYMENT", "RESTARTUNHEALTHYJOB", "AUTOSCALERERROR", "INEFFECTIVESCALING", "MEMORYPRESSURE",
    "RESOURCEQUOTAREACHED",
)  # fmt: skip
"""Warnings about the job itself, of steps that the operator takes, and of its autoscaler: none says that it cannot go on."""
_STATE_GONE = (
    r"HA metadata not available|HA data is not available|RestoreFailed|RESTOREFAILED|Manual restore required|manual recovery required"
)
_BY_HAND = r"(?i)manual (?:restore|recovery) required"
_LOST = r"Could not recover (?:lost|unhealthy)"
_BACK_OFF = (
    r"(?i)CrashLoopBackOff|back-off \S+ restarting failed|ImagePullBackOff|Back-off pulling image|ErrImagePull|OOMKilled"
    r"|InvalidImageName|CreateContainerConfigError"
)
_NO_IMAGE = r"Back-off pulling image|ImagePullBackOff|InvalidImageName|CreateContainerConfigError"
"""The kubelet has failed to pull it more than once by then."""
_VALIDATION = r"VALIDATIONERROR|ValidationException|UNSUPPORTEDFLINKVERSION"
_REFUSED = r"FAILEDCREATE|FailedCreate|exceeded quota|is forbidden: |denied the request"
_SAVEPOINT = (
    r"SAVEPOINTERROR|CHECKPOINTERROR|SNAPSHOTERROR|(?i:trigger(?:ing)? savepoint|with savepoint)|runtime\.checkpoint\.CheckpointException"
)
_SUBMIT = r"SESSIONJOBEXCEPTION"
SAVEPOINT, SUBMIT, OTHER = "f-savepoint", "g-submit", "h-other"
_OWN_EXCEPTION = r'"type":"org\.apache\.flink\.kubernetes\.operator\.exception\.'
_DEEPEST = r'.*"message":"((?:[^"\\]|\\.)*)"'
_OF_KUBERNETES = r"(?s)^(?:\w+: )?Failure executing: [A-Z]+ at: \S+ Message: (.*?)(?:\. Received status: .*)?$"
_DEEPEST_ON_SERVER = r"(?s).*Caused by: (?:[\w.$]+: )?([^\n]+?)(?:\\n|\n|$)"


def _could_be_ill(row: Row) -> bool:
    """Whether a line could be a complaint, a restart or a rollback: most are of an ordinary life."""
    if row["signature"] in (*COMPLAINTS[2:], *PATIENT) or row["to_state"] in ("FAILED", "ERROR"):
        return True
    return captured(row, "kind") in ("Warning", "Error") or captured(row, "event") in ("RESTARTUNHEALTHYJOB", "ROLLBACK")


@rule(
    "RST103", title="The Flink operator cannot bring the job back", cause="other", stage="restart", severity=CRITICAL,
    faults=("operator",), logs_of=ANY, signatures=(*COMPLAINTS, *PATIENT, *STATES), needs=some(_could_be_ill),
    says={
        "job-failed": "The job of deployment {deployment} failed, and its operator does not bring it back[[ since {since} UTC]]: {what}",
        "savepoint": "Savepoints of deployment {deployment} fail: {times} time(s)[[ since {since} UTC]]: {what}",
        "restarts": "The operator restarted the unhealthy job of deployment {deployment} {times} times[[ between {since} and {until} UTC]]",
        "submit": "The operator cannot submit session job {deployment}: {what}; {times} time(s)[[ between {since} and {until} UTC]]",
        "waits": "The operator waits with deployment {deployment}[[ since {since} UTC]]: {what}",
        "unreachable": "The JobManager of deployment {deployment} does not answer its operator[[ since {since} UTC]], {times} time(s):"
        " whether the job runs is not known",
        "rolled-back": "The operator rolled deployment {deployment} back[[ at {since} UTC]]:"
        " the new specification did not become stable in time",
        "": "The operator does not bring deployment {deployment} back: {what}; {times} time(s)[[ between {since} and {until} UTC]]",
    },
    next_command={
        "validation": "kubectl describe flinkdeployment {name} --namespace {namespace}",
        "refused": "kubectl describe replicaset --namespace {namespace} --selector app={name}",
        "submit": "kubectl describe flinksessionjob {name} --namespace {namespace}",
        "unreachable": "kubectl get pods,endpoints --namespace {namespace} --selector app={name}",
        "back-off": "kubectl logs --namespace {namespace} deployment/{name} --previous --all-containers",
        "rolled-back": "kubectl describe flinkdeployment {name} --namespace {namespace}",
        "": "kubectl get flinkdeployment {name} --namespace {namespace} -o jsonpath='{{.status}}'",
    },
)  # fmt: skip
def operator_gives_up(
    log_events: DataFrame,
    log_files: IfGiven,
    *,
    enough: int = 2,  # times; the operator says it again at each reconciliation, and what passes is said once
    loops: int = 4,  # restarts of an unhealthy job
    patience: int = 180,  # seconds; a session cluster starts, and a JobManager answers, in less
) -> DataFrame:
    """Per deployment, what the operator complains of since it last saw the job running.

    `Status | Info | STABLE` is about the specification: the operator clears an error whenever it looks again, and a moment later complains
    anew (AbstractFlinkDeploymentObserver.clearErrorsIfDeploymentIsHealthy). Such a status is the end only where the complaint stays away.
    """
    own = _lines(log_events)
    restarted = detail("event") == "RESTARTUNHEALTHYJOB"
    unhealthy = (
        found(own, "job", of=restarted, times=count(restarted)).where(F.col("times") >= loops).withColumn("reason", F.lit("restarts"))
    )
    open_now = F.col("seq") > F.when(F.col("_kind") == SAVEPOINT, F.col("_stored")).otherwise(F.col("_ran"))
    detailed = F.col("_error") | event("operator-savepoint-failed")  # with the deepest exception, or the one that the event leaves out
    kind = F.when(F.col("_error") & (F.col("_kind") == OTHER), SUBMIT).otherwise(F.col("_kind"))
    ill = found(
        own.where(F.col("_bad") & open_now),
        "job",
        times=F.greatest(
            *map(count, (*map(event, COMPLAINTS[2:]), *map(F.col, ("_warned", "_failed", "_error", "_in_error", "_patient"))))
        ),
        _kinds=F.collect_set(F.when(~F.col("_in_error"), F.col("_kind"))),
        _failed=count(F.col("_failed")),
        _by_hand=count(F.col("_says").rlike(_BY_HAND)),
        _image=count(event("operator-exception") & F.col("_says").rlike(_NO_IMAGE)),
        _patient=F.min("_patient"),
        _lasted=F.max(F.unix_timestamp("at")) - F.min(F.unix_timestamp("at")),
        _first=F.min_by("_because", F.struct(F.col("_because").isNull(), kind, ~detailed, "seq")),
        _over=F.max("_cleared") > F.max("seq"),
    ).join(log_files.groupBy("scope").agg(F.max("last_at").alias("_end")), "scope", "left")
    away = F.coalesce(F.unix_timestamp("_end") - F.unix_timestamp("until"), F.lit(0))
    over = F.col("_over") & (away * F.greatest(F.col("times") - 1, F.lit(1)) >= 3 * F.col("_lasted"))
    for_good = F.array_contains("_kinds", "b-validation") | (F.col("_failed") > 0) | (F.col("_by_hand") > 0) | (F.col("_image") > 0)
    long = (F.col("times") >= enough) & (~F.col("_patient") | (F.col("_lasted") >= patience))
    stays = ill.where((long | for_good) & ~over).withColumns({"reason": _worst(), "what": _what()})
    both = stays.unionByName(unhealthy.join(stays.select("scope", "job"), ["scope", "job"], "left_anti"), allowMissingColumns=True)
    back = _rolled_back(own).join(both.select("scope", "job"), ["scope", "job"], "left_anti")
    every = both.unionByName(back, allowMissingColumns=True)
    place = F.split("job", "/")
    return every.withColumns(
        {
            "deployment": F.col("job"),
            "namespace": place[0],
            "name": F.coalesce(F.get(place, F.lit(1)), place[0]),
            "short": in_short("what"),
            # what it would go on from cannot be found: state that is missing, whoever removed it
            "cause": first_of(("checkpoint-storage", F.col("reason") == "state-gone"), otherwise="other"),
            # the job may run: with its old specification, or unseen by the operator
            "severity": first_of(("warning", F.col("reason").isin("rolled-back", "unreachable")), otherwise="critical"),
        }
    )


def _lines(log_events: DataFrame) -> DataFrame:
    """The operator's lines about a resource, each with what it says (columns `_…`) and the place of the last good news."""
    because = F.coalesce(detail("what_happened"), F.when(event("operator-rollback-impossible"), F.col("text")))
    name = F.coalesce(detail("event"), detail("raised"), F.lit(""))
    own = log_events.where(event(*COMPLAINTS, *PATIENT, *STATES) & F.col("job").isNotNull()).withColumns(
        {"_because": because, "_says": F.concat_ws(" ", name, F.coalesce(detail("what_happened"), "text"))}
    )
    state, says = F.col("to_state"), F.col("_says")
    status = event("operator-status")
    error = status & (detail("kind") == "Error")
    of_job = error & (state == "FAILED") & ~says.rlike(_OWN_EXCEPTION)
    signs = {
        "_error": error,
        "_failed": (event("operator-job-state") & (state == "FAILED")) | of_job,
        "_warned": event("operator-event") & detail("kind").isin("Warning", "Error") & ~detail("event").isin(*_NOT_ITS_OWN),
        "_patient": event(*PATIENT),
        "_in_error": event("operator-deployment-observed") & (state == "ERROR"),
    }
    runs = state.isin("RUNNING", "FINISHED") | says.contains(" to RUNNING") | (status & ~error & state.isin("SUSPENDED", "FINISHED"))
    bad = event(*COMPLAINTS[2:])
    for sign in signs.values():
        bad = bad | sign
    plain = {name: F.coalesce(sign, F.lit(False)) for name, sign in signs.items()}
    places = {"_ran": _last(runs), "_stored": _last(event("operator-savepoint-stored")), "_cleared": _last(status & ~error)}
    return own.withColumns({**plain, **places, "_bad": F.coalesce(bad, F.lit(False)), "_kind": _kind()})


def _last(condition: Column) -> Column:
    """Per deployment, the place of the last row for which `condition` holds; -1 without any."""
    return F.coalesce(F.max(F.when(condition, F.col("seq"))).over(Window.partitionBy("scope", "job")), F.lit(-1))


def _rolled_back(own: DataFrame) -> DataFrame:
    """The deployments whose last new specification was taken back."""
    back = detail("event") == "ROLLBACK"
    changed = event("operator-spec-changed") | (detail("event") == "SPECCHANGED")
    return found(own.withColumn("_changed", _last(changed)).where(F.col("seq") > F.col("_changed")), "job", of=back).withColumn(
        "reason", F.lit("rolled-back")
    )


def _kind() -> Column:
    """What a complaint is about; the letters order them, the most telling first."""
    says = F.col("_says")
    return first_of(
        ("a-state-gone", says.rlike(_STATE_GONE)),
        ("b-validation", says.rlike(_VALIDATION)),
        ("c-back-off", says.rlike(_BACK_OFF)),
        ("d-refused", says.rlike(_REFUSED)),
        ("e-lost", says.rlike(_LOST)),
        (SAVEPOINT, says.rlike(_SAVEPOINT)),
        (SUBMIT, says.rlike(_SUBMIT)),
        ("i-waits", event("operator-waits")),
        ("j-unreachable", event("operator-rest-unanswered")),
        otherwise=OTHER,
    )


def _worst() -> Column:
    def one(kind: str) -> Column:
        return F.array_contains("_kinds", kind)

    return first_of(
        ("state-gone", one("a-state-gone")),
        ("validation", one("b-validation")),
        ("back-off", one("c-back-off")),
        ("refused", one("d-refused")),
        ("lost", one("e-lost")),
        ("savepoint", one(SAVEPOINT) & (F.col("_failed") == 0)),
        ("submit", one(SUBMIT)),
        ("job-failed", F.col("_failed") > 0),
        ("upgrade", one(OTHER) | (F.size("_kinds") == 0)),
        ("waits", one("i-waits")),
        otherwise="unreachable",
    )


def _what() -> Column:
    """What the operator says, of a serialized exception the message of the deepest one."""
    deepest = F.nullif(F.regexp_extract("_first", _DEEPEST, 1), F.lit(""))
    said = F.coalesce(deepest, F.col("_first"), F.lit("it gives no reason"))
    on_server = F.nullif(F.regexp_extract(said, _DEEPEST_ON_SERVER, 1), F.lit(""))
    plain = F.regexp_replace(F.coalesce(on_server, said), r'\\(["\\])', "$1")
    unwrapped = F.regexp_replace(plain, r"java\.util\.concurrent\.(?:Completion|Execution)Exception: ", "")
    unpacked = F.regexp_replace(unwrapped, r"\b(?:[a-z_]\w*\.){2,}([A-Z][\w$]*(?:Exception|Error): )", "$1")
    of_the_last = F.regexp_replace(unpacked, r"^(?:[\w.$]+: )*(?:[\w$]+\.)+([\w$]+: )", "$1")
    own = F.regexp_replace(of_the_last, r"(?s)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} .*", "")  # %throwable ends no line in the chart's layout
    message = F.coalesce(F.nullif(F.regexp_extract(own, _OF_KUBERNETES, 1), F.lit("")), own)
    return F.substring(F.regexp_replace(message, r"[.\s]+$", ""), 1, 300)
