"""LAG511: a sink of Kafka Connect says RUNNING, and its offsets stand although records wait."""

from analyzers.vocabulary import ANY, CRITICAL, DataFrame, F, first_of, found, rule

_AT_TIMES = (
    r"(?i)(?:\.s3\.|\.gcs\.|\.hdfs\d?\.|AzureBlob|AzureDataLake|AdlsGen2|storage\.|iceberg|hudi|deltalake|snowflake|bigquery|redshift|"
    r"databricks|clickhouse|SplunkSink)"
)


@rule(
    "LAG511", title="A connector says RUNNING and its offsets stand", cause="no-progress", stage="lag", severity=CRITICAL, logs_of=ANY,
    says={
        "stands": "Connector {connector} says RUNNING, as do all of its {tasks} task(s), and committed nothing for {minutes} min: {named} "
        "stand(s) while {lag_records} record(s) wait[[, the oldest for {waited_minutes} min]]",
        "beside": "Connector {connector} says RUNNING, as do all of its {tasks} task(s), and {named} stand(s) for {minutes} min while "
        "{moved} other partition(s) move; {lag_records} record(s) wait[[, the oldest for {waited_minutes} min]]",
    },
    inferred={
        "stands": "A task is in a call that does not return (a put to the target system), or the target makes it try again: neither is "
        "FAILED for Connect.",
        "beside": "The task that holds these partitions is in a call that does not return, or tries the same records again and again.",
    },
    missing="where the task is: a thread dump of worker {worker_or_placeholder} (jstack PID), and the worker's log",
    next_command="jstack PID   # of the worker that runs {connector}, three times, some seconds apart: thread task-thread-{connector}-0",
)  # fmt: skip
def connector_stands(
    connector_stands: DataFrame,
    connector_tasks: DataFrame,
    *,
    stands_for: int = 150,  # seconds: a worker commits each 60 s (offset.flush.interval.ms), and 2.5 of these are none that was late
    sure: int = 600,  # seconds that the next record has waited, or the offset has stood: no task commits as rarely but by its own plan
) -> DataFrame:
    """Per connector. Sinks that commit when a file or a batch of theirs is full stand by design for longer, and are left out.

    Source: WorkerSinkTask.commitOffsets, Worker.offset.flush.interval.ms; SinkTask.preCommit, with which a connector chooses for itself.
    """
    rows = connector_stands.where((F.col("stands_seconds") >= stands_for) & ~F.coalesce(F.col("class").rlike(_AT_TIMES), F.lit(False)))
    place = F.concat_ws("-", "topic", F.col("partition").cast("string"))
    per_connector = found(
        rows,
        "connector",
        at="until",
        table="connector_stands",
        shown=F.col("text"),
        file=F.col("file"),
        tasks=F.max("tasks"),
        named=F.array_join(F.slice(F.sort_array(F.collect_set(place)), 1, 8), ", "),
        topic=F.when(F.min("topic") == F.max("topic"), F.max("topic")),
        partition=F.when(F.count("*") == 1, F.max("partition")),
        lag_records=F.sum("lag_records"),
        moved=F.max("beside"),
        since=F.min("since"),
        group=F.max("group"),
        _stands=F.max("stands_seconds"),
        _waited=F.max("waited_seconds"),
    )
    workers = connector_tasks.groupBy("scope", "connector").agg(F.max("worker").alias("_worker"))
    long = (F.col("_stands") >= sure) | F.coalesce(F.col("_waited") >= sure, F.lit(False))
    return per_connector.join(workers, ["scope", "connector"], "left").withColumns(
        {
            "reason": first_of(("beside", F.col("moved") > 0), otherwise="stands"),
            "severity": first_of(("critical", long | (F.col("moved") > 0)), otherwise="warning"),
            "minutes": F.round(F.col("_stands") / 60, 1),
            "waited_minutes": F.round(F.col("_waited") / 60, 1),
            "worker_or_placeholder": F.coalesce("_worker", F.lit("HOST:PORT")),
            "confidence": F.least(F.lit(1.0), F.col("_stands") / sure),  # wanted: looks over `sure` seconds
        }
    )
