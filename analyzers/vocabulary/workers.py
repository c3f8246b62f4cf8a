"""Which lines tell of a lost worker, who it was, and whether the job came back: shared by the rules about workers."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.findings import beside

_REMOTE = r"'[^'\n]*\[ ([^\s(\]]+)(?:\([^)\n]*\))? ?\] ?'"  # RemoteTransportException, 1.17+: '<address> [ <resource>(<host>:<port>) ] '
_LOCATION = r"FAILED on (\S+) @ (\S+) \(dataPort"  # where the failed task ran
_DEPLOYED_TO_IT = "recipient is unreachable|RecipientUnreachableException"  # told by the JobManager, of the TaskManager it deployed to


def lost_workers(faults: DataFrame, attempts: DataFrame | None) -> DataFrame:
    """`faults` that tell of a lost worker, with ``resource``, ``worker_host`` and ``address`` of the lost one only.

    A broken data connection is told by a survivor: its row names the lost one in the message alone, and it counts only where the
    attempt shows nothing deeper. Source: Flink's CreditBasedPartitionRequestClientHandler, JobMaster.
    """
    told_by_survivor = F.col("fault") == "connection-to-worker"
    ran_on, ran_at = (F.nullif(F.regexp_extract("text", _LOCATION, n), F.lit("")) for n in (1, 2))
    unreachable = F.rlike("text", F.lit(_DEPLOYED_TO_IT))
    remote = F.nullif(F.regexp_extract(F.concat_ws("\n", F.col("text"), F.concat_ws("\n", "chain")), _REMOTE, 1), F.lit(""))
    rows = faults.withColumns(
        {
            "resource": F.when(told_by_survivor, F.coalesce(remote, F.when(unreachable, ran_on))).otherwise(F.coalesce("resource", ran_on)),
            "worker_host": F.when(~told_by_survivor | unreachable, ran_at),
        }
    )
    if attempts is None:
        return rows.withColumn("consequence", F.lit(False))
    deeper = attempts.select(
        F.col("scope").alias("_scope"),
        F.col("job").alias("_job"),
        F.col("attempt").alias("_attempt"),
        F.col("fault").isNotNull().alias("_deeper"),
    )
    mine = (F.col("scope") == F.col("_scope")) & F.col("job").eqNullSafe(F.col("_job")) & (F.col("attempt") == F.col("_attempt"))
    known = rows.join(deeper, mine, "left").drop("_scope", "_job", "_attempt")
    return known.where(~told_by_survivor | ~F.coalesce("_deeper", F.lit(False))).withColumn("consequence", F.lit(False)).drop("_deeper")


def with_recovery(found: DataFrame, attempts: DataFrame | None, *, checkpoints: int) -> DataFrame:
    """`found` (with ``last_attempt``) with ``checkpoints_since``, ``done``, ``other_since`` and ``severity``: a warning for a mere trigger.

    Survived: one attempt failed of it, the newest attempt did not fail and completed `checkpoints` checkpoints (``checkpoints_since``).
    A mere trigger: two attempts or more failed of something else since (``other_since``). Lost again and again, it stays critical.
    """
    if attempts is None:
        unknown = F.lit(None).cast("long")
        words = F.lit("checkpoints")
        return found.withColumns({"checkpoints_since": unknown, "done": words, "other_since": unknown, "severity": F.lit("critical")}).drop(
            "last_attempt"
        )
    newest = attempts.groupBy("scope", "job").agg(
        F.max_by("ended", "attempt").alias("_ended"),
        F.max_by("checkpoints_completed", "attempt").alias("_done"),
        F.when(F.count("run") > 0, "batches").otherwise("checkpoints").alias("done"),  # only a query of Spark has runs
        F.collect_list(F.when((F.col("ended") == "failed") & F.col("fault").isNotNull(), F.col("attempt"))).alias("_told"),
    )
    well = ~F.col("_ended").isin("failed", "suspended") & (F.col("_done") >= checkpoints) & (F.coalesce("attempts", F.lit(0)) <= 1)
    later = F.size(F.filter("_told", lambda n: n > F.col("last_attempt")))
    both = beside(found, newest, "job").withColumns(
        {
            "checkpoints_since": F.when(F.coalesce(well, F.lit(False)), F.col("_done")),
            "other_since": F.when(later >= 2, later),  # two agree, as in the verdict
        }
    )
    over = F.col("other_since").isNotNull()  # that the job came back is weighed for all rules alike (analyzers/diagnosis/recovered.py)
    return both.withColumn("severity", F.when(over, F.lit("warning")).otherwise(F.lit("critical"))).drop(
        "_ended", "_done", "_told", "last_attempt"
    )
