"""SPK106: the checkpoint directory was used with different numbers of sources."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPK106",
    title="The checkpoint directory was used with another number of sources",
    cause="checkpoint-storage",
    stage="access",
    severity=Severity.CRITICAL,
    says={
        "started": "The batches of the query were planned from {sources} source(s), but it was also started with {directories} (sources/ "
        "has {directories} directories): Spark refuses such a start",
        "planned": "Batches were planned from {fewest} and from {sources} sources: two different queries wrote to this directory",
    },
    inferred={"started": "the query was changed, or another query was given this directory", "": ""},
    next_command="diag triage LOG_DIRECTORY",
)
def other_sources(batches: DataFrame) -> DataFrame:
    """Per directory. A source makes its directory when the query starts, before Spark compares the number with the log.

    Source: ``OffsetSeq.toStreamProgress``: "There are [1] sources in the checkpoint offsets and now there are [2] sources requested".
    """
    told = F.concat(F.lit("batch "), "batch", F.lit(": "), "sources", F.lit(" sources"))
    per_path = (
        batches.where(F.col("sources").isNotNull())
        .groupBy("scope", "path")
        .agg(
            F.first("job", ignorenulls=True).alias("job"),
            F.max_by("sources", "batch").alias("sources"),
            F.min("sources").alias("fewest"),
            F.max("sources").alias("_most"),
            F.max("source_directories").alias("directories"),
            F.max("batch").alias("batch"),
            F.max("as_of").alias("until"),
            evidence("batches", told, file=F.col("path")),
        )
    )
    planned = F.col("fewest") < F.col("_most")
    started = F.col("directories") > F.col("_most")
    return (
        per_path.where(planned | started)
        .withColumns(
            {
                "reason": F.when(planned, "planned").otherwise("started"),
                "query": F.col("job"),
                # the start that was refused may be long ago, and the query may run well since
                "severity": F.when(planned, "critical").otherwise("warning"),
                "cause": F.when(planned, "checkpoint-storage"),
            }
        )
        .drop("_most")
    )
