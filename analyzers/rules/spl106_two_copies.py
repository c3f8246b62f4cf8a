"""SPL106: two copies of one job run at the same time and read the same partitions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, JOBMANAGER, Column, DataFrame, F, Window, agreed, detail, joined, number_of, numbered, rule
from analyzers.vocabulary.quick_looks import grouped

UNNAMED = ("Flink Streaming Job", "Flink Batch Job")
"""What Flink calls a job without a name of its own (StreamGraphGenerator): two of them need not be copies."""
_GROUP = "group"
_PAIR = ("job", "older", "job_name", "since", "until")


def _some_at_once(lives: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether two jobs of one name both ran and completed checkpoints, the newer having started before the older's last one."""
    ran: dict[Any, list[Any]] = defaultdict(list)
    for (scope, _), own in grouped(lives, "job").items():
        name = max((life["job_name"] for life in own if life["job_name"]), default=None)
        began = min((life["running_at"] for life in own if life["running_at"]), default=None)
        over = min((life["ended_at"] for life in own if life["ended_at"]), default=None)
        done = max((life["last_completed_at"] for life in own if life["last_completed_at"]), default=None)
        if name not in (None, *UNNAMED) and began is not None and done is not None:
            ran[scope, name].append((began, min(done, over or done)))
    return any(began <= since < done for same in ran.values() for (began, done), (since, _) in permutations(same, 2))


@rule(
    "SPL106", title="Two copies of one job run at the same time", stage="failure", severity=CRITICAL, cause="duplicate-split",
    reason="two-copies", logs_of=JOBMANAGER, signatures=("kafka-client-config", "cluster-reached"),
    says="Two copies of the job {job_name} run at the same time[[ since {since} UTC]] ({older} and {job}) and read the same "
    "{split_count} partition(s): {split}; every record is read and written twice",
    next_command="flink list --running",
    needs=_some_at_once,
)  # fmt: skip
def two_copies(
    job_lives: DataFrame,
    log_events: DataFrame,
    split_claims: DataFrame,
    *,
    start: int = 60,  # seconds in which the readers of a started job get their splits; later ones are of a restart
) -> DataFrame:
    """Pairs of jobs of one name that run at once and are dealt the same partitions; not where Kafka or the groups may differ."""
    return _sharing(
        _in_one_kafka(_at_once(job_lives), log_events), split_claims.unionByName(_groups(log_events), allowMissingColumns=True), start
    )


def _at_once(job_lives: DataFrame) -> DataFrame:
    """Pairs of jobs of one name of which the older runs, and completes checkpoints, when the newer starts: `_PAIR`, one_log."""
    jobs = (
        job_lives.groupBy("scope", "job")
        .agg(
            F.max("job_name").alias("job_name"),
            F.max("log").alias("log"),
            F.min("running_at").alias("first_at"),
            F.max("running_again_at").alias("started_at"),
            F.min("ended_at").alias("ended_at"),
            F.max("last_completed_at").alias("completed_at"),
        )
        .where(F.col("job_name").isNotNull() & ~F.col("job_name").isin(*UNNAMED) & F.col("first_at").isNotNull())
    )
    old, since = F.col, F.col("since")
    newer = jobs.select(
        "scope", "job_name", F.col("job").alias("_new"), F.col("first_at").alias("since"), F.col("log").alias("_new_log"), "completed_at"
    )
    pairs = joined(jobs.withColumnsRenamed({"job": "older", "completed_at": "_older_done"}), newer, ["scope", "job_name"])
    still = (old("started_at") <= since) & (old("ended_at").isNull() | (old("ended_at") > since)) & (old("_older_done") > since)
    return pairs.where((old("older") != F.col("_new")) & still & F.col("completed_at").isNotNull()).select(
        "scope", F.col("_new").alias("job"), "older", "job_name", "since",
        F.least("_older_done", "completed_at").alias("until"),
        (F.col("log") == F.col("_new_log")).alias("one_log"),
    )  # fmt: skip


def _in_one_kafka(pairs: DataFrame, log_events: DataFrame) -> DataFrame:
    """`pairs` whose logs show that both read from one cluster: topics of one name lie in many."""
    reads = F.coalesce(detail("config_of"), detail("client_kind"), F.lit("")) != "Producer"  # a sink may be elsewhere
    kafka = log_events.groupBy("scope").agg(
        number_of(F.when(reads, F.regexp_replace(detail("bootstrap"), r"\s", ""))).alias("_lists"),
        number_of(F.when(reads, detail("cluster"))).alias("_clusters"),
    )
    lists, clusters = F.coalesce("_lists", F.lit(0)), F.coalesce("_clusters", F.lit(0))
    same = (clusters == 1) | ((clusters == 0) & ((lists == 1) | (F.col("one_log") & (lists == 0))))
    return pairs.join(kafka, "scope", "left").where(same).select("scope", *_PAIR)


def _groups(log_events: DataFrame) -> DataFrame:
    """The consumer groups that lines name, as claims."""
    named = F.nullif(F.regexp_extract("text", r"\bgroup\.id = (\S+)", 1), F.lit(""))
    group = F.nullif(F.coalesce("group", named), F.lit("null"))
    return log_events.select("scope", "job", F.lit(_GROUP).alias("how"), group.alias("topic"), "at")


def _sharing(pairs: DataFrame, claims: DataFrame, start: int) -> DataFrame:
    """`pairs` with the partitions that both got in the same way (dealt by the enumerator, or taken by a reader) at their start.

    Not those whose consumers name other groups: blue and green, or two sinks. Copies have one configuration.
    """
    own = claims.where(F.col("topic").isNotNull() & F.col("how").isin("assigned", "reading", _GROUP))
    own = own.select("scope", F.col("job").alias("_of"), "how", "topic", "partition", "at", "file", "line", "text")
    newer, older = _whose(start)
    shown = F.struct("at", "file", "line", F.lit("split_claims").alias("table"), "text")
    claimed = (
        pairs.join(own, "scope")
        .groupBy("scope", *_PAIR, "how", "topic", "partition")
        .agg(F.max(newer).alias("_newer_has"), F.max(older).alias("_older_has"), F.collect_set(shown).alias("_lines"))
    )
    by_newer, by_older, of_group = F.col("_newer_has"), F.col("_older_has"), F.col("how") == _GROUP
    shared = by_newer & by_older & ~of_group
    found = claimed.groupBy("scope", *_PAIR).agg(
        numbered(F.when(shared, F.concat_ws("-", "topic", F.col("partition").cast("string"))), "split"),
        agreed(F.when(shared, F.col("topic")), "topic"),
        F.slice(F.sort_array(F.array_distinct(F.flatten(F.collect_list(F.when(shared, F.col("_lines")))))), 1, 6).alias("evidence"),
        *(F.count_if(of_group & of).alias(name) for name, of in (("_new", by_newer), ("_old", by_older), ("_both", by_newer & by_older))),
    )
    apart = (F.col("_new") > 0) & (F.col("_old") > 0) & (F.col("_both") == 0)
    copies = found.where((F.size("split") > 0) & ~apart)
    one = copies.withColumn("_one", F.row_number().over(Window.partitionBy("scope", "job").orderBy("older"))).where(F.col("_one") == 1)
    return one.withColumns({"split_count": F.size("split"), "confidence": F.lit(0.9)})  # wanted besides: that both write to the same place


def _whose(start: int) -> tuple[Column, Column]:
    """Whether a line ``at`` of the job ``_of`` is the newer copy's, and the older's; of no known job it is the newer's when it comes with
    its start, the older's when it came before."""
    behind = F.unix_seconds("at") - F.unix_seconds("since")
    known = F.col("_of").isNotNull()
    newer = F.when(known, F.col("_of") == F.col("job")).otherwise(behind.between(-1, start))
    return newer, F.when(known, F.col("_of") == F.col("older")).otherwise(behind < -1)
