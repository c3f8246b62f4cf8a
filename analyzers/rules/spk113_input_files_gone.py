"""SPK113: a batch was committed although files that it was planned with were gone: their rows are lost, and nothing fails."""

from analyzers.vocabulary import CRITICAL, SPARK_DRIVER, DataFrame, F, Window, detail, event, found, has, number_of, rule
from analyzers.vocabulary.aggregates import place

_ROWS = r'"numInputRows" : (\d+)'
_NAME = r'"name" : "([^"\n]+)"'


@rule(
    "SPK113", title="A batch was committed without files that it was planned with", cause="offset-reset", reason="files-gone",
    stage="commit", severity=CRITICAL, logs_of=SPARK_DRIVER, signatures=("input-file-gone", "query-progress"),
    needs=has(signature=("input-file-gone",)),
    says="Batch {batch}[[ of query {name}]] was committed with 0 rows at {until} UTC: {files} file(s) that it was planned with had been "
    "deleted ({path}[[ and {others} more]]). Their rows are in "
    "no batch, and the query goes on as if it had read them",
    inferred="That these are files of this batch is inferred: it is the next one that was committed after the warnings.",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY   # sources/0 lists the files of each batch",
)  # fmt: skip
def input_files_gone(
    log_events: DataFrame,
    *,
    within: int = 600,  # seconds from the warning to the batch: one that reads the rest of its files takes no longer to find none
) -> DataFrame:
    """Per query, the first batch behind each warning of a missing file, where it read nothing at all.

    Source: FileStreamSource plans files into its own log; HadoopFSUtils warns of a path that is gone and lists nothing for it, FileScanRDD
    of one that it skips (spark.sql.files.ignoreMissingFiles).
    """
    rows = log_events.where(F.col("seq").isNotNull())
    progress = event("query-progress")
    read = F.nullif(F.regexp_extract("text", _ROWS, 1), F.lit("")).cast("long")
    facts = F.struct(
        F.col("seq").alias("_seq"), F.col("at").alias("_at"), F.col("job").alias("_job"), F.col("checkpoint").alias("batch"),
        read.alias("rows"), F.nullif(F.regexp_extract("text", _NAME, 1), F.lit("")).alias("name"),
    )  # fmt: skip
    after = Window.partitionBy("scope", "file").orderBy(place()).rowsBetween(0, Window.unboundedFollowing)
    gone = rows.withColumn("_next", F.first(F.when(progress, facts), ignorenulls=True).over(after)).where(event("input-file-gone"))
    empty = gone.where((F.col("_next.rows") == 0) & (F.unix_seconds("_next._at") - F.unix_seconds("at") <= within))
    path = F.coalesce(detail("path"), detail("skipped_path"))
    return found(
        empty.withColumns({"job": F.col("_next._job"), "query": F.col("_next._job"), "_path": path}),
        "job",
        query=F.first("query"),
        batch=F.min("_next.batch"),
        name=F.min("_next.name"),
        until=F.max("_next._at"),
        files=number_of("_path"),
        path=F.min("_path"),
    ).withColumn("others", F.when(F.col("files") > 1, F.col("files") - 1))
