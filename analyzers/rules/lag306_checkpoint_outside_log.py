"""LAG306: a start from the newest checkpoint begins at offsets that the broker does not have."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, distinct, first_of, newest, number_of, observed, rule, text
from analyzers.vocabulary.lag import the_partition

_REASONS = {"below-log-start": "retention", "beyond-log-end": "beyond-end", "topic-gone": "topic-gone"}


@rule(
    "LAG306", title="The newest checkpoint holds positions that the broker does not have", cause="offset-reset", stage="commit",
    severity=CRITICAL,
    says={
        "retention": "Checkpoint {checkpoint}, the newest of the job, stands below the log start on {places} partition(s): {moves}. "
        "{gap} offset(s) are deleted and were not read before this checkpoint",
        "beyond-end": "Checkpoint {checkpoint}, the newest of the job, stands beyond the log end offset on {places} partition(s): {moves}. "
        "The topic was recreated or truncated, or the brokers asked are another cluster",
        "topic-gone": "Checkpoint {checkpoint}, the newest of the job, holds positions on {places} partition(s) of {topics}, which "
        "the brokers do not have: {moves}. The topic was deleted, or the brokers asked are another cluster",
    },
    inferred={"retention": "Offsets are counted: transaction markers may be among them, or another cluster has a topic of that name."},
    next_command="diag checkpoint-inspect {path} --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def checkpoint_outside_log(
    split_audit: DataFrame,
    *,
    marker: int = 1,  # a transaction's marker may be all that lies between the last record and the log start
) -> DataFrame:
    """Per job and problem, partitions outside of the log in its newest complete checkpoint; no start is made from older ones."""
    problem, edge = F.col("problem"), F.col("log_edge").cast("string")
    rows = split_audit.where(F.col("newest") & problem.isin(*_REASONS)).withColumns(
        {
            "reason": first_of(*((reason, problem == name) for name, reason in _REASONS.items())),
            "_position": F.element_at("offsets", 1).cast("long"),
            "_edge": first_of(
                (F.concat(F.lit(", log starts at "), edge), problem == "below-log-start"),
                (F.concat(F.lit(", log ends at "), edge), problem == "beyond-log-end"),
                otherwise="",
            ),
        }
    )
    rows = rows.withColumns(
        {"_move": text("{topic}-{partition} at {_position}{_edge}"), "_gap": F.abs(F.col("log_edge") - F.col("_position"))}
    )
    moves, below = F.sort_array(F.collect_set("_move")), F.col("reason") == "retention"
    few = F.concat_ws("; ", F.slice(moves, 1, 6))
    doubtful = (F.col("reason") == "topic-gone") | (below & (F.max("_gap") <= marker))
    return observed(
        rows,
        "job",
        "reason",
        table="split_audit",
        shown=text("{_move} in checkpoint {checkpoint}"),
        file=F.col("path"),
        places=number_of("topic", "partition"),
        checkpoint=F.max("checkpoint"),
        path=newest("path", by="checkpoint"),
        gap=F.sum("_gap"),
        topics=distinct("topic", "topics"),
        moves=F.when(F.size(moves) > 6, F.concat(few, F.lit("; …"))).otherwise(few),
        severity=first_of(("warning", doubtful), otherwise="critical"),
        confidence=first_of((0.9, below), otherwise=0.7),  # whether these are the job's brokers is unknown
        **the_partition(offset="_position"),
    )
