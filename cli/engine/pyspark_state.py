"""What PySpark keeps for a whole process: log handlers, imports, the connections of the one context. Engine puts it in order."""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkContext


def quiet() -> None:
    """Keep py4j and PySpark from writing to stderr: what fails is reported by whoever made the call."""
    logger = logging.getLogger("py4j")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logging.getLogger().addFilter(_not_py4j)  # some of its errors go to the root logger (java_gateway.py, GatewayClient.send_command)
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _not_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def running_context(gateway: JavaGateway) -> Any:
    """The context that is in the JVM of `gateway` already, as PySpark wants to have it. Raises where there is none."""
    scala: Any = getattr(gateway.jvm, "org.apache.spark.SparkContext")
    return gateway.jvm.JavaSparkContext(scala.getOrCreate())


def hang_up() -> None:
    """Close the connections to the JVM before it goes, so that no finaliser of a Java object calls it afterwards."""
    pyspark = sys.modules.get("pyspark")
    gateway: Any = getattr(getattr(pyspark, "SparkContext", None), "_gateway", None)
    if gateway is not None:
        with suppress(Exception):
            gateway._gateway_client.is_connected = False
            gateway.close()
            if gateway.proc is not None:  # started by PySpark's launcher: it ends when its stdin does
                gateway.proc.stdin.close()


def spare_traces(context: SparkContext) -> None:
    """The server that receives accumulator updates would print a stack trace when the JVM hangs up."""
    server: Any = context._accumulatorServer
    if server is not None:
        server.handle_error = lambda *_: None


def mute(context: SparkContext) -> None:
    """End the server that receives accumulator updates."""
    server: Any = context._accumulatorServer
    if server is not None:
        server.server_shutdown = True
        threading.Thread(target=server.shutdown, daemon=True).start()  # waits for its poll, half a second
        context._accumulatorServer = None  # type: ignore[assignment]  # as SparkContext.stop does


def forget(context: SparkContext | None) -> None:
    """Make PySpark forget a JVM that is gone, so that this process could start another one."""
    pyspark = sys.modules.get("pyspark")
    if pyspark is None or not hasattr(pyspark, "SparkContext"):  # half imported: nothing was started
        return
    spark_context: Any = pyspark.SparkContext
    if context is not None:
        context._jsc = None  # stop() would call the JVM
        with suppress(Exception):
            context.stop()
    spark_context._gateway = spark_context._jvm = spark_context._active_spark_context = None
    sql: Any = sys.modules.get("pyspark.sql")
    if sql is not None and hasattr(sql, "SparkSession"):
        sql.SparkSession._instantiatedSession = sql.SparkSession._activeSession = None
