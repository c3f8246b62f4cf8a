"""SPK110: a query was started with an empty checkpoint directory, where an earlier query of its name had another one."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule


@rule(
    "SPK110",
    title="A query began anew in another checkpoint directory",
    stage="risk",
    severity=Severity.INFO,
    logs_of=SPARK_DRIVER,
    signatures=("query-started", "query-fresh", "query-progress", "spark-initial-offsets"),
    says="Query {name} was started with an empty checkpoint directory at {since} UTC ({path}); until {ended} UTC it had run with another "
    "one ({before}). It took over neither its place nor its state: it began where startingOffsets says[[, at {began_at}]]",
    next_command="diag checkpoint-inspect {before}   # where it stood; and {path}: where it began",
    needs=has(signature=("query-fresh",)),
)
def began_anew(
    log_events: DataFrame,
    *,
    within: int = 60,  # seconds from the start line to what tells that the directory is empty
) -> DataFrame:
    """Per name and new query. Source: MicroBatchExecution: the id lies in the directory, so another id is another directory."""
    signature, at = F.col("signature"), F.col("at")
    name, path = F.col("detail")["query_name"], F.col("detail")["path"]
    starts = log_events.where((signature == "query-started") & name.isNotNull() & at.isNotNull())
    last = log_events.where(signature.isin("query-started", "query-progress")).groupBy("scope", "job").agg(F.max("at").alias("ended"))
    first = starts.groupBy("scope", "job", name.alias("name")).agg(
        F.min("at").alias("since"), F.min_by("file", "at").alias("file"), F.min_by(path, "at").alias("path"), exemplars(most=2)
    )
    old = first.join(last, ["scope", "job"]).select(
        F.col("scope").alias("_scope"), F.col("name").alias("_name"), F.col("job").alias("_job"), "ended", F.col("path").alias("before")
    )
    follows = (F.col("scope") == F.col("_scope")) & (F.col("name") == F.col("_name")) & (F.col("job") != F.col("_job"))
    both = first.join(old, follows & (F.col("ended") <= F.col("since")) & (F.col("before") != F.col("path")))
    told = log_events.where(signature.isin("query-fresh", "spark-initial-offsets")).select(
        F.col("scope").alias("_in"),
        F.col("file").alias("_file"),
        at.alias("_at"),
        "signature",
        F.col("detail")["offsets"].alias("_offsets"),
    )
    behind = seconds("since", "_at").between(0, within)
    mine = both.join(told, (F.col("scope") == F.col("_in")) & (F.col("file") == F.col("_file")) & behind)
    per_query = mine.groupBy("scope", "job", "name").agg(
        F.max_by("before", "ended").alias("before"),
        F.max("ended").alias("ended"),
        F.first("since").alias("since"),
        F.first("path").alias("path"),
        F.first("evidence").alias("evidence"),
        F.count_if(F.col("signature") == "query-fresh").alias("fresh"),
        F.substring(F.min_by("_offsets", F.when(F.col("_offsets").isNotNull(), F.col("_at"))), 1, 200).alias("began_at"),
    )
    found = per_query.where(F.col("fresh") > 0).drop("fresh")
    return found.withColumns({"query": F.col("job"), "ended": F.date_format("ended", "yyyy-MM-dd HH:mm:ss")})
