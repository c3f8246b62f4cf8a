"""CFG102: the JobManager was started more than once, and nothing shows high availability."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import FLINK, WARNING, DataFrame, F, count, found, rule
from analyzers.vocabulary.jobmanagers import HA_EVIDENCE, high_availability, jobmanager_starts, shows_availability, started, whose
from analyzers.vocabulary.quick_looks import grouped


def _restarted_without(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a scope has enough starts of one JobManager, and nothing that shows high availability."""
    without = (own for own in grouped(rows).values() if not any(map(shows_availability, own)))
    return any(len(same) >= thresholds["enough"] for own in without for same in grouped(filter(started, own), whose).values())


@rule("CFG102", title="The JobManager restarted without high availability", stage="risk", severity=WARNING, logs_of=FLINK,
    signatures=("flink-banner", *HA_EVIDENCE), needs=_restarted_without,
    says="The JobManager was started {starts} times[[ (first {since}, last {until} UTC)]], and no line shows high availability. Each "
    "restart forgets the running jobs and the checkpoints they could be restored from",
    inferred="These logs show no high-availability setting, no leader election and no recovered job; the configuration was not read.",
)  # fmt: skip
def no_high_availability(
    log_events: DataFrame,
    *,
    enough: int = 2,  # a start is no restart
) -> DataFrame:
    """Per scope and JobManager (host, else file), several starts without a sign of high availability."""
    per_jobmanager = found(jobmanager_starts(log_events), "whose", starts=count())
    return per_jobmanager.where(F.col("starts") >= enough).join(high_availability(log_events), "scope", "left_anti")
