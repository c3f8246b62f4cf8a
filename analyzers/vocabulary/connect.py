"""Tasks of Kafka Connect: it kills one that fails and never starts it again by itself (WorkerTask.doRun)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed

_OF_CONNECT = r"Worker(?:Sink|Source)Task|org\.apache\.kafka\.connect\.runtime\."
_TASK = r"Worker(?:Sink|Source)Task\{id=([^}\s]+)-(\d+)\}"


def _places() -> Column:
    return F.concat_ws("\n", "text", "chain")


def connect_task() -> tuple[Column, ...]:
    """Aggregates of faults: _of_connect, whether all are of Kafka Connect; _connector and _connect_task, the one that they name;
    _retries, whether Kafka Connect tries again; killed, the numbers of its tasks where there are several."""
    connector, task = (F.nullif(F.regexp_extract(_places(), _TASK, group), F.lit("")) for group in (1, 2))
    tasks = F.collect_set(task)
    return (
        F.bool_and(_places().rlike(_OF_CONNECT)).alias("_of_connect"),
        agreed(connector, "_connector"),
        agreed(F.concat_ws("/tasks/", connector, task), "_connect_task"),
        (F.bool_or(F.col("text").contains("Will retry operation")) & ~F.bool_or(F.col("text").contains("being killed"))).alias("_retries"),
        F.when(F.size(tasks) > 1, F.array_join(F.sort_array(tasks), ", ")).alias("killed"),
    )


def of_connect() -> Column:
    """Whether a row with the aggregates above is of Kafka Connect."""
    return F.coalesce("_of_connect", F.lit(False))


def its_connector() -> Column:
    """The connector's name, NAME where the evidence has several or none; null where it is not of Kafka Connect."""
    return F.when(of_connect(), F.coalesce("_connector", F.lit("NAME")))


def of_no_paused_sink(rows: DataFrame, connector_tasks: DataFrame) -> DataFrame:
    """`rows` without those of groups of sinks that were paused or stopped, in the newest look at them: they stand on purpose."""
    itself = connector_tasks.where(F.col("task").isNull()).groupBy("scope", "connector").agg(F.max_by("state", "moment").alias("_state"))
    paused = itself.where(F.col("_state").isin("PAUSED", "STOPPED"))
    return rows.join(paused.select("scope", F.concat(F.lit("connect-"), "connector").alias("group")), ["scope", "group"], "left_anti")
