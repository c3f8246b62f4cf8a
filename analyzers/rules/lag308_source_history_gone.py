"""LAG308: the source no longer keeps the job's position: a table's snapshots, a stream's shards, an event hub's events."""

from analyzers.vocabulary import CRITICAL, FAILING, Column, DataFrame, F, failures, first_of, rule

_SOURCES = (
    # words of the fault, what the source is, what it no longer has, its number in the text, and what makes it keep that for longer
    ("(?i)paimon|snapshot with id", "Paimon table", "snapshot", r"(?i)snapshot (?:with id )?(\d+)(?![\d…])",
        "Keep snapshots for longer than the longest stop: snapshot.time-retained, snapshot.num-retained.min, or a consumer-id"),
    ("(?i)iceberg|at snapshot|starting snapshot", "Iceberg table", "snapshot", r"snapshot (?:\((?:in|ex)clusive\) )?(-?\d+)(?![\d…])",
        "Keep snapshots for longer than the longest stop: history.expire.max-snapshot-age-ms and history.expire.min-snapshots-to-keep"),
    ("Delta table|DELTA_|_delta_log|likely your query is lagging", "Delta table", "version", r"(?:from|at) version (\d+)(?![\d…])",
        "Raise delta.logRetentionDuration and delta.deletedFileRetentionDuration above the longest stop; VACUUM must keep as much"),
    ("(?i)hudi|incremental query", "Hudi table", "files of the commits", None,
        "Let the writer keep more commits than the longest stop makes: clean.retain_commits and archive.min_commits (Flink SQL)"),
    ("ExpiredIterator|[Ii]terator (?:has )?expired", "Kinesis stream", "iterator, which lives for five minutes,", None,
        "Let less than five minutes pass between two reads of a shard, or read with a library that asks for a new iterator"),
    ("Shard |TrimmedDataAccess", "Kinesis stream", "shard or sequence number", r"Shard (\S+) in stream",
        "Raise the stream's retention above the longest stop, and let the job run while shards are split or merged"),
    ("request seqNo", "event hub", "sequence number", r"request seqNo (\d+)(?![\d…])",
        "Raise the event hub's retention above the longest stop"),
)  # fmt: skip


@rule(
    "LAG308", title="The source no longer has the job's position", cause="offset-reset", reason="position-expired", stage="access",
    severity=CRITICAL, faults=("source-history-gone", "iterator-expired"), needs=FAILING,
    says="The source no longer has what the job wants to read next[[ in {task}]]: {what}; {failures} failure(s)[[ in {attempts} "
    "attempt(s)]][[, first at {since} UTC]]. Every restart from the same checkpoint fails the same way",
)  # fmt: skip
def source_history_gone(faults: DataFrame) -> DataFrame:
    """Fatal faults per job. Source: Iceberg's SparkMicroBatchStream, Delta's DeltaErrors, Paimon's NextSnapshotFetcher, the AWS SDK."""
    per_job = failures(faults, F.max("root_message").alias("_message"), F.max("text").alias("_text")).drop("reason")
    text = F.concat_ws("\n", "what", "_message", "_text")

    def of_source(number: int, otherwise: str | None) -> Column:
        each = ((source[number], text.rlike(source[0])) for source in _SOURCES)
        return first_of(*((F.lit(value), is_it) for value, is_it in each), otherwise=F.lit(otherwise))

    number = first_of(*((F.regexp_extract(text, source[3] or "$^()", 1), text.rlike(source[0])) for source in _SOURCES))
    table = F.nullif(F.regexp_extract(text, r"(\S+)/_delta_log/", 1), F.lit(""))
    return per_job.withColumns(
        {
            "source_named": of_source(1, "source"),
            "wanted": of_source(2, "position"),
            "keep": of_source(4, "Raise the source's retention above the longest stop"),
            "position": F.nullif(number, F.lit("")),
            "table": table,
            "silent": first_of(("failOnDataLoss=false goes on without what is missing, in silence", of_source(1, "").startswith("Delta"))),
        }
    )
