"""SPK105: a writer of the query's checkpoint directory left files that it did not rename: it died, or lost a race with a second one."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPK105",
    title="A writer of the query's checkpoint directory did not finish",
    stage="risk",
    severity=Severity.WARNING,
    says={
        "race": "{files} temporary file(s) were left in the batch log, and their batch was written all the same (the newest: batch "
        "{batch})",
        "": "{files} temporary file(s) were left in the batch log (the newest: batch {batch}): a driver died while it wrote",
    },
    inferred={
        "race": "two runs of the query wrote to this directory at the same time, or one died in the middle and the next wrote the batch "
        "again",
        "": "",
    },
    next_command="diag triage LOG_DIRECTORY",
)
def unrenamed_files(query_leftovers: DataFrame) -> DataFrame:
    """Per directory. Source: ``CheckpointFileManager``: a file is written as ``.N.<uuid>.tmp`` and renamed; the loser's stays."""
    text = F.concat("directory", F.lit("/"), "file")
    return (
        query_leftovers.groupBy("scope", "job", "path", F.when(F.col("batch_exists"), "race").otherwise("died").alias("reason"))
        .agg(
            F.count("*").alias("files"),
            F.max("batch").alias("batch"),
            F.max("mtime").alias("since"),
            evidence("query_leftovers", text, at="mtime", file=F.col("path")),
        )
        .withColumns(
            {
                "query": F.col("job"),
                "severity": F.when(F.col("reason") == "race", "warning").otherwise("info"),
                "confidence": F.when(F.col("reason") == "race", 0.5).otherwise(1.0),
            }
        )
    )
