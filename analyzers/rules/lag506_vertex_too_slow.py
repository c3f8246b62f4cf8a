"""LAG506: checkpoints complete, and the sources wait for a vertex that has nothing left to give."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.subtasks import subtask_name

_WAIT = "{sources} spends {waiting_percent} % of its time waiting for {task}"
_LAG = (
    "[[; {pending_records} records wait in Kafka]][[, {grew_records} more than {grew_seconds} s before: the job falls behind]]"
    "[[. At {records_per_second} records a second they would take {drain_minutes} minutes if no more came]]"
)


@rule(
    "LAG506",
    title="The sources wait for a vertex that is too slow",
    cause="no-progress",
    stage="lag",
    severity=Severity.WARNING,
    says={
        "overload": f"{_WAIT}, whose {{parallelism}} subtask(s) are all busy ({{busy_percent}} %): more comes in than it can do{_LAG}",
        "skew": f"{_WAIT}: {{busiest}} alone is busy ({{busy_percent}} %)[[ and gets {{share_percent}} % of the records]], the others have "
        f"time to spare{_LAG}",
    },
    missing="[[{unseen}]]",
    next_command="curl -s http://JOBMANAGER:8081/jobs/{job}/vertices/{vertex}/backpressure",
)
def vertex_too_slow(
    bottlenecks: DataFrame,
    *,
    looks_seconds: float = 30.0,  # two looks closer than this show a batch of records, not a direction
    grows: float = 1.1,  # a lag that breathes by a tenth stands still
) -> DataFrame:
    """Per job and vertex. Critical only when a later look shows more waiting records: a job that catches up looks the same in one."""
    first = F.element_at("subtasks", 1).cast("long")
    behind = (
        (F.col("grew_seconds") >= looks_seconds)
        & (F.col("grew_records") > 0)
        & (F.col("pending_records") >= grows * (F.col("pending_records") - F.col("grew_records")))
    )
    text = F.concat(
        "task", F.lit(": "), "reason", F.lit(", busy subtasks "), F.concat_ws(", ", "subtasks"), F.lit(", busy "), F.round("busy", 2),
        F.lit(", sources back-pressured "), F.round("waiting", 2),
    )  # fmt: skip
    shown = bottlenecks.withColumns(
        {
            "subtask": F.when(F.size("subtasks") == 1, first),
            "severity": F.when(F.coalesce(behind, F.lit(False)), F.lit("critical")).otherwise(F.lit("warning")),
            "busiest": F.when(F.size("subtasks") == 1, subtask_name(F.col("task"), first, F.col("parallelism"))).otherwise(
                F.concat(F.size("subtasks").cast("string"), F.lit(" subtasks of "), "task")
            ),
            "sources": F.concat_ws(", ", "sources"),
            "waiting_percent": F.round(F.col("waiting") * 100).cast("long"),
            "busy_percent": F.round(F.col("busy") * 100).cast("long"),
            "share_percent": F.round(F.col("share") * 100).cast("long"),
            "records_per_second": F.round("records_per_second").cast("long"),
            "drain_minutes": F.when(
                F.col("records_per_second") >= 1, F.round(F.col("pending_records") / F.col("records_per_second") / 60).cast("long")
            ),
            "grew_records": F.when(behind, F.col("grew_records")),
            "unseen": F.when(
                F.col("grew_records").isNull(),
                F.lit("whether the job catches up or falls behind: one look cannot tell; look again later with the same --save"),
            ),
            "until": F.col("captured_at"),
            # wanted: shares, the waiting records, and their direction
            "confidence": (F.lit(1) + F.col("pending_records").isNotNull().cast("int") + F.col("grew_seconds").isNotNull().cast("int")) / 3,
        }
    )
    own = [
        name for name in shown.columns if name not in ("scope", "job", "vertex", "as_of", "subtasks", "captured_at", "completed_at", "_at")
    ]
    return shown.groupBy("scope", "job", "vertex").agg(
        *(F.max(name).alias(name) for name in own), evidence("bottlenecks", text, at="captured_at")
    )
