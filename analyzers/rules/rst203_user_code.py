"""RST203: user code fails on the same record after each restart."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, IfGiven, first_of, rule
from analyzers.vocabulary.user_code import USER_CODE, same_batch, some_record, user_code_failures, without_jobs

_WHERE = "[[ in {task}]][[ {subtask_shown}]]: {what}[[, in {user_frame}]]"
_OFTEN = "{failures} failure(s)[[ in {attempts} attempt(s)]]"


@rule(
    "RST203", title="User code fails on the same record in each attempt", stage="access", severity=CRITICAL, cause="poison-record",
    faults=USER_CODE, needs=some_record,
    says={
        "user-code": f"User code fails on the same record after each restart{_WHERE}; {_OFTEN}[[ since {{since}} UTC]]",
        "user-code-tries": f"User code fails on a record{_WHERE}; Spark tried that task {{tries}} times, always with this error",
        "user-code-records": f"User code fails on a record again and again{_WHERE}; {_OFTEN}; checkpoints complete in between, so it is "
        "more than one record",
        "user-code-once": f"User code fails on a record{_WHERE}; these lines show it once",
    },
    inferred={
        "user-code-once": "The exception is a data error in code that runs per record: the next attempt will most likely fail on the same "
        "record. One failure does not prove it.",
    },
    missing="which record it is: [[{no_source} reads no partition itself, and its trace names none; ]]the exception names a value at best; "
    "log topic, partition and offset (or the key) where the code catches it, or bound it by the source offsets of the last checkpoint",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # the source offsets at or after which the record lies",
)  # fmt: skip
def user_code(
    faults: DataFrame,
    attempts: IfGiven,
    *,
    enough: int = 2,  # a single failure of user code may be anything; the same one again after a restart is the same record
) -> DataFrame:
    """Identical failures of user code per job (see `analyzers/vocabulary/user_code.py`); the rest goes to RST001."""
    known = user_code_failures(faults, attempts, enough=enough).where(F.col("clue").isNotNull())
    clue, task = F.col("clue"), F.col("task")
    return without_jobs(known, same_batch(attempts, enough=enough)).withColumns(
        {
            "reason": clue,
            # wanted: the same failure twice, in a job that is seen to restart
            "confidence": first_of(
                (1.0, clue == "user-code"), (0.8, clue == "user-code-tries"), (0.7, clue == "user-code-records"), otherwise=0.5
            ),
            "no_source": F.when(~task.startswith("Source"), task),
        }
    )
