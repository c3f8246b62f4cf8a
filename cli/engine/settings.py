"""What Spark is set to, on every master and on this machine: what was measured stands beside it."""

from __future__ import annotations

from pathlib import Path

# Small tables, one after the other: measured in benchmarks/; a second shuffle partition or adaptive re-planning only adds jobs.
EVERY_MASTER = {
    "spark.app.name": "diag",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # what a page that nobody can open would show: the plan of each query in words, each of its tasks
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    # Where in Python an expression was made: two more calls to the JVM and a stack trace for each of them.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # lower() by Java, not by ICU, whose tables take as long to load as five rules
    "spark.sql.icu.caseMappings.enabled": "false",
    # What follows from filters and joins spares rows of large tables; of ours it takes longer to infer (7 % of a cold run's CPU).
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.catalogImplementation": "in-memory",
    # A few hundred rows are interpreted in less time than it takes to compile code for them, in a JVM that has just begun.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
LOCAL_MASTER = {
    "spark.python.daemon.module": "analyzers.fleet.worker_daemon",
    # one setting less in which functions over tables differ from those over RDDs: their workers are then forks of one daemon
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    # each sort and each aggregate begins with a page: 16 MB of zeros for a few hundred rows
    "spark.buffer.pageSize": "1m",
    # what is sent to no other host need not become smaller first
    "spark.broadcast.compress": "false",
    "spark.broadcast.checksum": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    # A partition that is thought to be larger is shuffled, to spread it over cores; of what is joined the product of both sizes is taken.
    "spark.sql.maxSinglePartitionBytes": "8191p",
    # They move a semi join below the step that brought its rows into one partition, which makes a shuffle of it.
    "spark.sql.optimizer.excludedRules": ",".join(
        f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("PushDownLeftSemiAntiJoin", "PushLeftSemiLeftAntiThroughJoin")
    ),
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # a broadcast is a job of its own; both sides are in one place anyway
    # its ports are on this host alone, and other users of this host have no secret to send them anything (made by Spark, per start)
    "spark.authenticate": "true",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.authenticate.socketTimeout": "120s",  # 15 s is too little for a worker on a host that swaps
}


def inside(directory: Path) -> dict[str, str]:
    """Where Spark writes what it writes."""
    return {"spark.local.dir": str(directory), "spark.sql.warehouse.dir": str(directory / "warehouse")}
