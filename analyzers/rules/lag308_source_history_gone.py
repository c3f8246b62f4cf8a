"""LAG308: the source no longer keeps the job's position: a table's snapshots, a stream's shards, an event hub's events."""

from analyzers.derived.failures.repeated import GOES_ON

from analyzers.vocabulary import (  # isort: skip
    CRITICAL, FAILING, Column, DataFrame, F, IfGiven, agreed, beside, detail, event, failures, first_of, rule,
)  # fmt: skip

_SOURCES = (
    # words of the fault, what the source is, what it no longer has, its number in the text, and what makes it keep that for longer
    ("(?i:paimon)|snapshot with id", "Paimon table", "snapshot", r"(?i)snapshot (?:with id )?(\d+)(?![\d…])",
        "Keep snapshots for longer than the longest stop: snapshot.time-retained, snapshot.num-retained.min, or a consumer-id"),
    ("(?i)iceberg|at snapshot|starting snapshot|snapshot with ID|snapshot older than", "Iceberg table", "snapshot",
        r"snapshot (?:\((?:in|ex)clusive\) |with ID |older than )?(-?\d+)(?![\d…])",
        "Keep snapshots for longer than the longest stop: history.expire.max-snapshot-age-ms and history.expire.min-snapshots-to-keep"),
    ("Delta table|DELTA_|_delta_log|likely your query is lagging|earliest version available to this table", "Delta table", "version",
        r"(?:from|at|to|requested) version (\d+)(?![\d…])",
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

_EARLIEST = r"(?i)earliest[^\n]{0,40}? (?:version|snapshot)[\s\S]{0,60}? is (\d+)|Available versions: \[(\d+)"
_FILE = r"(?:[Ff]ile(?: does not exist:)?|reading file) (\S+?)[.:,]?(?:\s|$)"
_COUNTED = "{failures} failure(s)[[ in {attempts} attempt(s)]][[, first at {since} UTC]]"
_AGAIN = "Every restart from the same checkpoint fails the same way"
_GONE = (
    "The source[[ {source}]] no longer has what the job wants to read next[[ in {task}]][[ ({wanted} {position})]]: {what}[[. The "
    "earliest that it has is {earliest}]]; "
)


@rule(
    "LAG308", title="The source no longer has the job's position", cause="offset-reset", stage="access", severity=CRITICAL,
    faults=("source-history-gone", "iterator-expired", "source-recreated", "source-files-gone"), needs=FAILING,
    signatures=("enumerator-started", "enumerator-restored"),
    says={
        "recreated": f"The table that the job reads was dropped and made anew, or is another one: {{what}}; {_COUNTED}. {_AGAIN}",
        "files-gone": f"A file that the job wants to read is gone[[ ({{gone}})]]: {{what}}; {_COUNTED}",
        "reads-nothing": f"{_GONE}logged {{failures}} times[[ since {{since}} UTC]], up to the end of the log. The job stays RUNNING, and "
        "its checkpoints complete, but this source reads nothing more",
        "": f"{_GONE}{_COUNTED}. {_AGAIN}",
    },
)  # fmt: skip
def source_history_gone(faults: DataFrame, log_events: IfGiven) -> DataFrame:
    """Fatal faults per job. Source: Iceberg's SparkMicroBatchStream, Delta's DeltaErrors, Paimon's NextSnapshotFetcher, the AWS SDK."""
    per_job = failures(
        faults,
        F.max("root_message").alias("_message"),
        F.max("text").alias("_text"),
        F.bool_and(F.coalesce(detail(GOES_ON) == "true", F.lit(False))).alias("_only_logged"),
        F.sum(F.when(F.col("fatal"), F.col("occurrences"))).alias("_logged"),
    ).drop("reason")
    text = F.concat_ws("\n", "_message", "_text", "what")  # the last one is cut

    def of_source(number: int, otherwise: str | None) -> Column:
        each = ((source[number], text.rlike(source[0])) for source in _SOURCES)
        return first_of(*((F.lit(value), is_it) for value, is_it in each), otherwise=F.lit(otherwise))

    number = first_of(*((F.regexp_extract(text, source[3] or "$^()", 1), text.rlike(source[0])) for source in _SOURCES))
    earliest = F.coalesce(*(F.nullif(F.regexp_extract(text, _EARLIEST, group), F.lit("")) for group in (1, 2)))
    table = F.nullif(F.regexp_extract(text, r"(\S+)/_delta_log/", 1), F.lit(""))
    starts = event("enumerator-started", "enumerator-restored")
    named = F.regexp_replace("task", r"^Source: |\[\d+\]$", "")
    sources = log_events.where(starts).groupBy("scope").agg(agreed(named, "source"))
    return beside(per_job, sources).withColumns(
        {
            "source_named": of_source(1, "source"),
            "wanted": of_source(2, "position"),
            "keep": of_source(4, "Raise the source's retention above the longest stop"),
            "position": F.nullif(number, F.lit("")),
            "earliest": earliest,
            "gone": F.nullif(F.regexp_extract(text, _FILE, 1), F.lit("")),
            "reason": first_of(
                ("recreated", F.array_contains("fault_ids", "source-recreated")),
                ("files-gone", F.array_contains("fault_ids", "source-files-gone")),
                ("reads-nothing", F.col("_only_logged")),
                otherwise="position-expired",
            ),
            "failures": first_of((F.col("_logged"), F.col("_only_logged")), otherwise=F.col("failures")),
            "table": table,
            "silent": first_of(("failOnDataLoss=false goes on without what is missing, in silence", of_source(1, "").startswith("Delta"))),
        }
    )
