"""Lost workers: which lines report them, which worker it was, and whether the job came back."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.columns import first_of
from analyzers.vocabulary.findings import beside

VICTIMS = ("task", "subtask", "parallelism")
"""Columns of `failures` that a rule about a worker leaves out: the tasks that ran on it are victims."""

WENT_ON = (
    "[[. The job came back and completed {checkpoints_since} {done} since]][[. {other_since} later attempts failed for another reason]]"
)
"""Template over the columns of `with_recovery`."""

_REMOTE = r"'[^'\n]*\[ ([^\s(\]]+)(?:\([^)\n]*\))? ?\] ?'"  # RemoteTransportException, 1.17+: '<address> [ <resource>(<host>:<port>) ] '
_LOCATION = r"FAILED on (\S+) @ (\S+) \(dataPort"  # where the failed task ran
_DEPLOYED_TO_IT = "recipient is unreachable|RecipientUnreachableException"  # logged by the JobManager, about the TaskManager it deployed to

_KUBELETS_WORDS = (
    r"(Usage of EmptyDir volume \"[^\"\n]{1,253}\" exceeds the limit \"[^\"\n]{1,40}\""
    r"|Pod ephemeral local storage usage exceeds the total limit of containers \S+?(?=\.?(?:\s|$|\)))"
    r"|Container \S{1,253} exceeded its local ephemeral storage limit \"[^\"\n]{1,40}\""
    r"|The node was low on resource: [\w-]+|The node had condition: \[[^\]\n]{1,80}\]"
    r"|Preempted (?:by|in order to admit)[^.\n]{1,120})"
)
"""Why the kubelet or the scheduler took a pod away. Source: pkg/kubelet/eviction/helpers.go, pkg/kubelet/preemption, schedule_one.go."""
_LIMITS = (
    (r"EmptyDir volume \"([^\"]+)\" exceeds the limit \"([^\"]+)\"", "volume $1 passed its sizeLimit $2"),
    (r"Pod ephemeral .*limit of containers (\S+?)\.?$", "ephemeral storage of its containers passed $1"),
    (r"Container (\S+) exceeded its .*limit \"([^\"]+)\"", "ephemeral storage of container $1 passed $2"),
)
"""A limit of the pod's own, in few words."""


def kubelets_words(text: Column) -> Column:
    """Why a pod was taken away, in the words of the kubelet or the scheduler, where `text` has them."""
    return F.nullif(F.regexp_extract(text, _KUBELETS_WORDS, 1), F.lit(""))


def passed_limit(words: str) -> Column:
    """What of a pod passed which limit of its own, of the column `kubelets_words`; null where it was taken away for another reason."""
    said = (F.when(F.rlike(words, F.lit(shape)), F.regexp_replace(words, f"^.*{shape}.*$", short)) for shape, short in _LIMITS)
    return F.coalesce(*said)


def lost_workers(faults: DataFrame, attempts: DataFrame | None = None) -> DataFrame:
    """`faults` that report a lost worker, with ``resource``, ``worker_host`` and ``address`` of the lost one only.

    A survivor logs a broken data connection: its row names the lost one in the message alone, and it counts only where the
    attempt shows nothing deeper. Source: Flink's CreditBasedPartitionRequestClientHandler, JobMaster.
    """
    by_survivor = F.col("fault") == "connection-to-worker"
    ran_on, ran_at = (F.nullif(F.regexp_extract("text", _LOCATION, n), F.lit("")) for n in (1, 2))
    unreachable = F.rlike("text", F.lit(_DEPLOYED_TO_IT))
    remote = F.nullif(F.regexp_extract(F.concat_ws("\n", F.col("text"), F.concat_ws("\n", "chain")), _REMOTE, 1), F.lit(""))
    named = F.when(by_survivor, F.coalesce(remote, F.when(unreachable, ran_on))).otherwise(F.coalesce("resource", ran_on))
    rows = faults.withColumns({"resource": named, "worker_host": F.when(~by_survivor | unreachable, ran_at), "consequence": F.lit(False)})
    if attempts is None:
        return rows
    deeper = attempts.where(F.col("attempt").isNotNull()).select("scope", "job", "attempt", F.col("fault").isNotNull().alias("_deeper"))
    return beside(rows, deeper, "job", "attempt").where(~by_survivor | ~F.coalesce("_deeper", F.lit(False)))


def with_recovery(found: DataFrame, attempts: DataFrame, *, checkpoints: int) -> DataFrame:
    """`found` (with ``_last_attempt``) with ``checkpoints_since``, ``done``, ``other_since`` and ``severity``.

    Survived: one attempt failed because of it, the newest attempt did not fail and completed `checkpoints` checkpoints
    (``checkpoints_since``). A mere trigger, and a warning: two attempts or more failed for another reason since (``other_since``). Lost
    again and again, it stays critical.
    """
    newest = attempts.groupBy("scope", "job").agg(
        F.max_by("ended", "attempt").alias("_ended"),
        F.max_by("checkpoints_completed", "attempt").alias("_done"),
        first_of(("batches", F.count("run") > 0), otherwise="checkpoints").alias("done"),  # only a query of Spark has runs
        F.collect_list(F.when((F.col("ended") == "failed") & F.col("fault").isNotNull(), F.col("attempt"))).alias("_explained"),
    )
    well = ~F.col("_ended").isin("failed", "suspended") & (F.col("_done") >= checkpoints) & (F.coalesce("attempts", F.lit(0)) <= 1)
    later = F.size(F.filter("_explained", lambda n: n > F.col("_last_attempt")))
    return beside(found, newest, "job").withColumns(
        {
            "checkpoints_since": F.when(F.coalesce(well, F.lit(False)), F.col("_done")),
            "other_since": F.when(later >= 2, later),  # two agree, as in the verdict
            # that the job came back is weighed for all rules alike (analyzers/diagnosis/recovered.py)
            "severity": first_of(("warning", later >= 2), otherwise="critical"),
        }
    )
