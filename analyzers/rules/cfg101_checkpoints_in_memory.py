"""CFG101: checkpoints are kept in the JobManager's memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


def _in_memory(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """A line that may name the JobManager's memory as storage."""
    return any(
        (row["detail"] or {}).get("storage") == "jobmanager"
        or (row["signature"] != "checkpoint-storage" and re.search("JobManager|job manager|Memory", row["text"] or "") is not None)
        for row in rows
    )


@rule(
    "CFG101",
    title="Checkpoints are kept in the JobManager's memory",
    stage="risk",
    severity=Severity.WARNING,
    logs_of=FLINK,
    signatures=("checkpoint-storage", "state-backend", "state-backend-default", "state-backend-deprecated"),
    says="Checkpoints of this job are kept in the JobManager's heap ({shown}): they are gone when the JobManager restarts, with high "
    "availability too (it stores only a pointer), "
    "and no subtask may hold more than 5 MiB of state",
    next_command="grep -E 'Checkpoint storage is set|state backend' jobmanager.log",
    needs=_in_memory,
)
def checkpoints_in_memory(log_events: DataFrame) -> DataFrame:
    """JobMasters that say so; TaskManagers print the line for jobs without checkpoints as well, so theirs do not count."""
    text = F.coalesce("text", F.lit(""))
    in_memory = (
        ((F.col("signature") == "checkpoint-storage") & (F.col("detail")["storage"] == "jobmanager"))
        | ((F.col("signature") == "state-backend") & F.rlike(text, F.lit(r"checkpoints? to JobManager|is set to job manager")))
        | ((F.col("signature") == "state-backend-default") & F.rlike(text, F.lit(r"using default \(Memory")))
        | ((F.col("signature") == "state-backend-deprecated") & F.contains(text, F.lit("MemoryStateBackend")))
    )
    by_master = F.endswith(F.coalesce("logger", F.lit("")), F.lit("JobMaster")) | F.coalesce(F.col("role") == "jobmanager", F.lit(False))
    rows = log_events.where(in_memory & by_master)
    # a later line may name another storage: the last word counts
    last_word = log_events.where((F.col("signature") == "checkpoint-storage") & by_master).groupBy("scope", F.col("job").alias("of_job"))
    durable = last_word.agg(F.max_by(F.col("detail")["storage"], F.coalesce("seq", "line")).alias("storage")).where(
        F.col("storage") != "jobmanager"
    )
    per_job = rows.groupBy("scope", "job").agg(
        F.min_by(
            F.regexp_extract(
                "text",
                r"(?: - |\] )((?:No state backend|State backend|Checkpoint "
                r"storage|MemoryStateBackend)[^\n@]{0,90})",
                1,
            ),
            F.coalesce("seq", "line"),
        ).alias("shown"),
        F.min("at").alias("since"),
        exemplars(),
    )
    same = (per_job["scope"] == durable["scope"]) & per_job["job"].eqNullSafe(durable["of_job"])
    return per_job.join(durable, same, "left_anti").withColumn(
        "shown", F.coalesce(F.nullif("shown", F.lit("")), F.lit("memory-backed checkpoint storage"))
    )
