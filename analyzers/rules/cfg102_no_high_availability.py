"""CFG102: the JobManager was started more than once, and nothing shows high availability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.jobmanagers import HA_EVIDENCE, high_availability, jobmanager_starts, started
from analyzers.vocabulary.rule import rule


def _started_often(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    return bool(sum(map(started, rows)) >= thresholds["enough"])


@rule(
    "CFG102",
    title="The JobManager restarted without high availability",
    stage="risk",
    severity=Severity.WARNING,
    logs_of=FLINK,
    signatures=("flink-banner", *HA_EVIDENCE),
    says="The JobManager was started {starts} times ({since} and {until} UTC the first and the last) and no line shows high availability: "
    "each restart forgets the jobs that run and the checkpoints they could be restored from",
    inferred="That there is none is inferred: neither the configuration lines nor a leader election nor a recovered job is in these logs.",
    needs=_started_often,
)
def no_high_availability(
    log_events: DataFrame,
    *,
    enough: int = 2,  # a start is no restart
) -> DataFrame:
    """Scopes in which one file holds several JobManager starts, or the same host's files do."""
    starts = (
        jobmanager_starts(log_events)
        .groupBy("scope", "whose")
        .agg(F.count("*").alias("starts"), F.min("at").alias("since"), F.max("at").alias("until"), exemplars())
    )
    with_ha = high_availability(log_events)
    several = starts.where(F.col("starts") >= enough).join(with_ha, "scope", "left_anti")
    return several.withColumn("job", F.lit(None).cast("string")).drop("whose")
