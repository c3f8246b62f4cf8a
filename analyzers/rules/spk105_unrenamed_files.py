"""SPK105: A writer of the query's checkpoint directory left files that it did not rename: it died, or another writer was faster."""

from analyzers.vocabulary import WARNING, DataFrame, F, count, first_of, none, observed, rule, text


@rule(
    "SPK105", title="A writer of the query's checkpoint directory did not finish", stage="risk", severity=WARNING,
    says={
        "race": "{files} temporary file(s) were left in the batch log, although their batch was written (the newest: batch {batch})",
        "": "{files} temporary file(s) were left in the batch log (the newest: batch {batch}): a driver died while it wrote",
    },
    inferred={
        "race": "two runs of the query wrote to this directory at the same time, or one died in the middle and the next wrote the batch "
        "again",
    },
    next_command="diag triage LOG_DIRECTORY",
)  # fmt: skip
def unrenamed_files(query_leftovers: DataFrame) -> DataFrame:
    """Per directory. Source: ``CheckpointFileManager``: a file is written as ``.N.<uuid>.tmp`` and renamed; the loser's stays."""
    race = F.col("reason") == "race"
    per_path = observed(
        query_leftovers.withColumn("reason", first_of(("race", F.col("batch_exists")), otherwise="died")),
        *("job", "path", "reason"),
        at="mtime",
        table="query_leftovers",
        shown=text("{directory}/{file}"),
        file=F.col("path"),
        files=count(),
        batch=F.max("batch"),
        since=F.max("mtime"),
        until=none("timestamp"),
    )
    return per_path.withColumns(
        {
            "query": F.col("job"),
            "severity": first_of(("warning", race), otherwise="info"),
            "confidence": first_of((0.5, race), otherwise=1.0),
        }
    )
