"""SPK106: The checkpoint directory was used with different numbers of sources."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, newest, observed, rule, text


@rule(
    "SPK106", title="The checkpoint directory was used with another number of sources", cause="checkpoint-storage", stage="access",
    severity=CRITICAL,
    says={
        "started": "The batches of the query were planned from {sources} source(s), but it was also started with {directories} (sources/ "
        "has {directories} directories): Spark refuses such a start",
        "planned": "Batches were planned from {fewest} and from {sources} sources: two different queries wrote to this directory",
    },
    inferred={"started": "the query was changed, or another query was given this directory"},
    next_command="diag triage LOG_DIRECTORY",
)  # fmt: skip
def other_sources(batches: DataFrame) -> DataFrame:
    """Per directory. A source makes its directory when the query starts, before Spark compares the number with the log.

    Source: ``OffsetSeq.toStreamProgress``: "There are [1] sources in the checkpoint offsets and now there are [2] sources requested".
    """
    per_path = observed(
        batches.where(F.col("sources").isNotNull()),
        "path",
        table="batches",
        shown=text("batch {batch}: {sources} sources"),
        file=F.col("path"),
        job=F.first("job", ignorenulls=True),
        query=F.first("job", ignorenulls=True),
        batch=F.max("batch"),
        sources=newest("sources", by="batch"),
        fewest=F.min("sources"),
        directories=F.max("source_directories"),
        _most=F.max("sources"),
    )
    planned, started = F.col("fewest") < F.col("_most"), F.col("directories") > F.col("_most")
    return per_path.where(planned | started).withColumns(
        {
            "reason": first_of(("planned", planned), otherwise="started"),
            # the start that was refused may be long ago, and the query may run well since
            "severity": first_of(("critical", planned), otherwise="warning"),
            "cause": first_of(("checkpoint-storage", planned)),
        }
    )
