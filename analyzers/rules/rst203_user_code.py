"""RST203: user code fails on the same record after each restart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.user_code import USER_CODE, same_batch, user_code_failures, without_jobs

_WHERE = "[[ in {task}]][[ {subtask_shown}]]: {what}[[, in {user_frame}]]"


def _data_or_again(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """A failure that names the data itself, or one that came in several attempts."""
    attempts: dict[tuple[str, str | None, str], set[int]] = defaultdict(set)
    for row in rows:
        if not row["fatal"] or row["consequence"]:
            continue
        if row["fault"] == "user-code-data":
            return True
        if row["attempt"] is not None:
            attempts[row["scope"], row["job"], row["fingerprint"]].add(row["attempt"])
    return any(len(numbers) >= thresholds["enough"] for numbers in attempts.values())


@rule(
    "RST203",
    title="User code fails on the same record in each attempt",
    cause="poison-record",
    stage="access",
    severity=Severity.CRITICAL,
    faults=USER_CODE,
    says={
        "user-code": f"User code fails on the same record after each restart{_WHERE}; {{failures}} failure(s)[[ in {{attempts}} "
        f"attempt(s)]]"
        "[[ since {since} UTC]]",
        "user-code-tries": f"User code fails on a record{_WHERE}; Spark tried that task {{tries}} times, always with this error",
        "user-code-records": f"User code fails on a record again and again{_WHERE}; {{failures}} failure(s)[[ in {{attempts}} "
        f"attempt(s)]]; "
        "checkpoints complete in between, so it is more than one record",
        "user-code-once": f"User code fails on a record{_WHERE}; these lines show it once",
    },
    inferred="[[{assumed}]]",
    missing="which record it is: [[{unnamed}]]the exception names a value at best; log topic, partition and offset (or the key) where "
    "the code "
    "catches it, or bound it by the source offsets of the last checkpoint",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # the source offsets at or after which the record lies",
    needs=_data_or_again,
)
def user_code(
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    enough: int = 2,  # a single failure of user code may be anything; the same one again after a restart is the same record
) -> DataFrame:
    """Identical failures of user code per job (see `analyzers/vocabulary/user_code.py`); the rest goes to RST001."""
    known = user_code_failures(faults, attempts, enough=enough).where(F.col("clue").isNotNull())
    if attempts is not None:
        known = without_jobs(known, same_batch(attempts, enough=enough))
    clue = F.col("clue")
    single = F.lit(
        "A data error in code that runs per record: the next attempt will most likely fail on it again. One failure does not prove it."
    )
    keyed = F.lit("behind a keyBy or rebalance the failing subtask does not tell the partition; ")
    return known.withColumns(
        {
            "reason": F.when(clue == "same", F.lit("user-code"))
            .when(clue == "tried", F.lit("user-code-tries"))
            .when(clue == "moved", F.lit("user-code-records"))
            .otherwise(F.lit("user-code-once")),
            # wanted: the same failure twice, in a job that is seen to restart
            "confidence": F.when(clue == "same", 1.0).when(clue == "tried", 0.8).when(clue == "moved", 0.7).otherwise(0.5),
            "assumed": F.when(clue == "alone", single),
            "unnamed": F.when(F.col("task").isNotNull() & ~F.col("task").startswith("Source"), keyed),
        }
    ).drop("clue", "fingerprint")
