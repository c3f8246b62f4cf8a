"""LAG502: Tasks work so long at a time that checkpoint barriers wait for them, although checkpoints complete."""

from analyzers.vocabulary import FLINK, WARNING, DataFrame, F, agreed, beside, count, found, rule


@rule(
    "LAG502", title="A task is busy for so long that barriers wait for it", stage="lag", severity=WARNING, reason="overload",
    logs_of=FLINK, signatures=("checkpoint-start-delayed",),
    says="Barriers waited up to {worst_seconds} s for a busy task, {delays} time(s)[[ between {since} and {until} UTC]], while "
    "checkpoints completed: the job is overloaded or calls something slow in its processing thread",
    missing="which task it is: the line has no task name; the web UI or GET /jobs/<job>/vertices/<vertex>/backpressure shows it",
)  # fmt: skip
def barriers_wait(
    log_events: DataFrame,
    jobs_seen: DataFrame,
    *,
    enough: int = 3,  # one long garbage collection makes one or two
) -> DataFrame:
    """Per job, "Time from receiving all checkpoint barriers/RPC to executing it exceeded threshold" (Flink 1.12+, above 30 s)."""
    worst = F.round(F.max("duration_ms") / 1000).cast("long")
    waited = found(log_events, "job", delays=count(), worst_seconds=worst, host=agreed("host"))
    done = jobs_seen.select("scope", "job", "checkpoints_completed")
    return beside(waited, done, "job").where((F.col("delays") >= enough) & (F.col("checkpoints_completed") > 0))
