"""LAG506: Checkpoints complete, and the sources wait for a vertex that is busy all the time."""

from analyzers.vocabulary import WARNING, Column, DataFrame, F, first_of, observed, rule
from analyzers.vocabulary.subtasks import subtask_name

WAIT = "{sources} spends {waiting_percent} % of its time waiting for {task}"
LAG = (
    "[[; {pending_records} records wait in Kafka]][[, {grew_records} more than {grew_seconds} s before: the job falls behind]]"
    "[[. At {records_per_second} records a second they would take {drain_minutes} minutes if no more came]]"
)


@rule(
    "LAG506", title="The sources wait for a vertex that is too slow", cause="no-progress", stage="lag", severity=WARNING,
    says={
        "overload": f"{WAIT}: all of its {{parallelism}} subtask(s) are busy ({{busy_percent}} %), and more comes in than it can "
        f"process{LAG}",
        "skew": f"{WAIT}: only {{busiest}} is busy ({{busy_percent}} %)[[ and gets {{share_percent}} % of the records]], the other "
        f"subtasks have time to spare{LAG}",
    },
    missing="[[whether the job catches up or falls behind: the single sample of {sampled_at} UTC cannot show it; take another one later "
    "with the same --save]]",
    next_command="curl -s http://JOBMANAGER:8081/jobs/{job}/vertices/{vertex}/backpressure",
)  # fmt: skip
def vertex_too_slow(
    bottlenecks: DataFrame,
    *,
    looks_seconds: float = 30.0,  # two samples closer than this show a batch of records, not a direction
    grows: float = 1.1,  # a lag that breathes by a tenth stands still
) -> DataFrame:
    """Per job and vertex. Critical only when a later sample shows more waiting records: a job that catches up looks the same in one."""
    first, single = F.element_at("subtasks", 1).cast("long"), F.size("subtasks") == 1
    before = F.col("pending_records") - F.col("grew_records")
    grew = (F.col("grew_seconds") >= looks_seconds) & (F.col("grew_records") > 0) & (F.col("pending_records") >= grows * before)
    several = F.concat(F.size("subtasks").cast("string"), F.lit(" subtasks of "), "task")
    minutes = F.round(F.col("pending_records") / F.col("records_per_second") / 60).cast("long")
    facts = {
        **{name: F.col(name) for name in ("reason", "task", "parallelism", "pending_records", "grew_seconds")},
        "subtask": F.when(single, first),
        "severity": first_of(("critical", grew), otherwise="warning"),
        "busiest": F.when(single, subtask_name(F.col("task"), first, F.col("parallelism"))).otherwise(several),
        "sources": F.concat_ws(", ", "sources"),
        "waiting_percent": _percent("waiting"),
        "busy_percent": _percent("busy"),
        "share_percent": _percent("share"),
        "records_per_second": F.round("records_per_second").cast("long"),
        "drain_minutes": F.when(F.col("records_per_second") >= 1, minutes),
        "grew_records": F.when(grew, F.col("grew_records")),
        "sampled_at": F.when(F.col("grew_records").isNull(), F.col("captured_at")),
        # wanted: shares, the waiting records, and their direction
        "confidence": (F.lit(1) + F.col("pending_records").isNotNull().cast("int") + F.col("grew_seconds").isNotNull().cast("int")) / 3,
    }
    text = F.concat(
        "task", F.lit(": "), "reason", F.lit(", busy subtasks "), F.concat_ws(", ", "subtasks"), F.lit(", busy "), F.round("busy", 2),
        F.lit(", sources back-pressured "), F.round("waiting", 2),
    )  # fmt: skip
    per_vertex = {name: F.max(value) for name, value in facts.items()}  # there is one row of each
    return observed(bottlenecks, "job", "vertex", at="captured_at", table="bottlenecks", shown=text, **per_vertex)


def _percent(share: str) -> Column:
    return F.round(F.col(share) * 100).cast("long")
