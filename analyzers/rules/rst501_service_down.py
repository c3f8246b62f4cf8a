"""RST501: a service that the job calls is down, slow or throttles."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, IfGiven, Window, agreed, beside, either, failures, rule
from analyzers.vocabulary.connect import connect_task, of_connect
from analyzers.vocabulary.quick_looks import grouped
from analyzers.vocabulary.services import service_address, service_host

FAULTS = (
    "database-outage", "search-outage", "store-outage", "service-http", "service-unreachable", "async-timeout", "registry-outage",
    "registry-write", "sink-gave-up", "service-said", "service-client",
)  # fmt: skip
NOT_RESTARTED = ("restart-suppressed", "failure-not-recoverable")


def _some_retried(faults: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether calls of a job failed often enough."""
    calls = grouped((row for row in faults if not row["consequence"]), "job").values()
    return any(sum(row["occurrences"] or 0 for row in own) >= thresholds["retries"] for own in calls)


@rule(
    "RST501", title="A service that the job calls is down or slow", stage="failure", severity=CRITICAL, cause="external-system",
    faults=FAULTS, signatures=NOT_RESTARTED,
    needs=either(FAILING, _some_retried),
    says={
        "": "A service that the job calls does not answer as it should[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: "
        "{what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "retried": "Calls of a service[[ at {address}]][[ from {task}]] keep failing (at least {calls} times[[ since {since} UTC]]) and "
        "checkpoints expire meanwhile: {what}",
    },
    missing="[[which host it is: the message names {unnamed}; the job's configuration of that client does]]",
    next_command={
        "http": "[[curl -sS -m 5 -i http://{dialled}/ | head -1   # on {caller}: does it answer, and what]]",
        "": "[[curl -sv -m 5 telnet://{dialled} </dev/null   # on {caller}: can it be reached]]",
    },
)  # fmt: skip
def service_down(
    faults: DataFrame,
    jobs_seen: IfGiven,
    log_events: IfGiven,
    *,
    expiries: int = 2,  # one checkpoint expires around many a redeploy
    retries: int = 3,  # a retry that succeeds is no outage
) -> DataFrame:
    """Fatal outage faults per job; or calls that keep failing without stopping it, while its checkpoints expire."""
    named = (
        agreed("_address", "address"),
        agreed("_host"),
        F.sum("occurrences").alias("calls"),
        *connect_task(),
    )
    calls = faults.withColumns({"_address": service_address(), "_host": service_host()})
    ill = jobs_seen.where(F.col("checkpoints_expired") >= expiries).select("scope", "job", F.lit(True).alias("_ill"))
    counting = F.col("fatal") | F.col("_ill")
    marked = beside(calls, ill, "job").where(counting).withColumns({"_goes_on": ~F.col("fatal"), "fatal": F.lit(True)})
    goes_on, in_job = F.col("_goes_on"), Window.partitionBy("scope", "job")
    each = failures(marked, *named, by=("scope", "job", "_goes_on")).withColumns(
        {"_only": F.min("_goes_on").over(in_job), "reason": F.when(goes_on, "retried").otherwise(F.col("reason"))}
    )
    # where calls stopped the job, those that did not say no more
    both = each.where(~goes_on | (F.col("_only") & (F.col("calls") >= retries)))
    ended = log_events.where(F.col("signature").isin(*NOT_RESTARTED)).groupBy("scope")
    known = both.join(ended.agg(F.collect_set(F.coalesce("job", F.lit(""))).alias("_ended")), "scope", "left")
    # a trace that was pasted alone names no job
    job = F.col("job")
    not_restarted = F.array_contains("_ended", job) | F.array_contains("_ended", "") | (job.isNull() & (F.size("_ended") > 0))
    address = F.coalesce("address", "_host")
    again = F.coalesce("_retries", F.lit(False))
    gave_up = F.coalesce(not_restarted, F.lit(False)) & ~of_connect()
    return known.withColumns(
        {
            "address": address,
            "service": F.coalesce(address, F.lit("that service")),
            "unnamed": F.when(address.isNull(), "none"),
            "dialled": F.when(F.col("address").rlike(r":\d+$"), F.col("address")),
            "caller": F.when(of_connect(), "a Connect worker's host").otherwise("a TaskManager's host"),
            # which of the ways in which it comes back the page shows
            "connect_task": F.when(of_connect() & ~again, F.coalesce("_connect_task", F.lit("NAME/tasks/N"))),
            "gave_up": F.when(gave_up, "gave up"),
            "recovers": F.when((~of_connect() | again) & ~gave_up, "recovers"),
        }
    )
