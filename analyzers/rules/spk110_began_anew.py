"""SPK110: A query was started with an empty checkpoint directory, where an earlier query of its name had another one."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import INFO, SPARK_DRIVER, DataFrame, F, detail, event, found, joined, none, oldest, rule, seconds
from analyzers.vocabulary.quick_looks import captured, grouped


def _a_name_has_two_queries(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether a directory was empty, and queries of two ids were started under one name."""
    fresh = any(row["signature"] == "query-fresh" for row in rows)
    named = grouped((row for row in rows if row["signature"] == "query-started"), lambda row: captured(row, "query_name"))
    return fresh and any(name and len({row["job"] for row in same}) > 1 for (_, name), same in named.items())


@rule(
    "SPK110", title="A query began anew in another checkpoint directory", stage="risk", severity=INFO, logs_of=SPARK_DRIVER,
    signatures=("query-started", "query-fresh", "query-progress", "spark-initial-offsets"), needs=_a_name_has_two_queries,
    says="Query {name} was started with an empty checkpoint directory at {since} UTC ({path}); until {ended} UTC it had run with another "
    "one ({before}). It took over neither its offsets nor its state: it began where startingOffsets points[[, at {began_at}]]",
    next_command="diag checkpoint-inspect {before}   # where it stopped; and {path}: where it began",
)  # fmt: skip
def began_anew(
    log_events: DataFrame,
    *,
    within: int = 60,  # seconds from the start line to the line that shows that the directory is empty
) -> DataFrame:
    """Per name and new query. Source: MicroBatchExecution: the id lies in the directory, so another id is another directory."""
    starts = log_events.where(event("query-started") & detail("query_name").isNotNull() & F.col("at").isNotNull())
    first = found(
        starts.withColumns({"name": detail("query_name"), "_path": detail("path")}),
        *("job", "name"),
        most=2,
        path=oldest("_path"),
        query=F.first("job"),
        until=none("timestamp"),
        _file=oldest("file"),
    )
    last = log_events.where(event("query-started", "query-progress")).groupBy("scope", "job").agg(F.max("at").alias("ended"))
    old = joined(first, last, ["scope", "job"]).select("scope", "name", "ended", F.col("job").alias("_old"), F.col("path").alias("before"))
    others = (F.col("job") != F.col("_old")) & (F.col("ended") <= F.col("since")) & (F.col("before") != F.col("path"))
    follows = joined(first, old, ["scope", "name"]).where(others).groupBy("scope", "job", "name")
    before = follows.agg(F.max_by("before", "ended").alias("before"), F.max("ended").alias("ended"))
    lines = log_events.where(event("query-fresh", "spark-initial-offsets"))
    at_start = lines.select(
        "scope", "signature", F.col("file").alias("_file"), F.col("at").alias("_at"), detail("offsets").alias("_offsets")
    )
    near = joined(first, at_start, ["scope", "_file"]).where(seconds("since", "_at").between(0, within))
    offsets = F.min_by("_offsets", F.when(F.col("_offsets").isNotNull(), F.col("_at")))
    marks = near.groupBy("scope", "job", "name").agg(
        F.substring(offsets, 1, 200).alias("began_at"), F.bool_or(event("query-fresh")).alias("_fresh")
    )
    return joined(first, before, ["scope", "job", "name"]).join(marks.where("_fresh"), ["scope", "job", "name"])
