"""Whole log lines of a sample, in the layout of whoever prints them (the layouts that Flink, Kafka and Spark ship)."""

from __future__ import annotations


def flink(logger: str, message: str, level: str = "INFO") -> str:
    """Flink 1.11+ (log4j 2): ``2024-12-03 02:18:06,996 INFO  org.apache.flink.<logger>  [] - <message>``."""
    return f"2024-12-03 02:18:06,996 {level:<5} {'org.apache.flink.' + logger:<60} [] - {message}"


def flink_log4j1(logger: str, message: str, level: str = "INFO") -> str:
    """Flink up to 1.10 (log4j 1, empty NDC): the same line without ``[]``."""
    return f"2019-05-17 15:43:08,068 {level:<5} {'org.apache.flink.' + logger:<60}  - {message}"


def in_flink(logger: str, message: str, level: str = "INFO") -> str:
    """A library inside a Flink process; `logger` whole."""
    return f"2024-12-03 02:18:06,996 {level:<5} {logger:<60} [] - {message}"


def kafka_client(logger: str, message: str, level: str = "INFO") -> str:
    """A Kafka client inside a Flink process: logger ``org.apache.kafka.clients.<logger>``."""
    return in_flink("org.apache.kafka.clients." + logger, message, level)


def kafka_broker(logger: str, message: str, level: str = "INFO") -> str:
    """A Kafka broker: ``[2024-12-03 02:18:06,996] INFO <message> (<logger>)``."""
    return f"[2024-12-03 02:18:06,996] {level} {message} ({logger})"


def spark(logger: str, message: str, level: str = "INFO") -> str:
    """Spark: ``24/12/03 02:18:06 INFO <short logger>: <message>``."""
    return f"24/12/03 02:18:06 {level} {logger}: {message}"


def failed_task(*trace: str) -> str:
    """A task that fails on a Flink TaskManager, with the lines of its stack trace."""
    message = (
        "Source: orders -> parse (2/4)#3 (7d1e5b9a3c8f2046b8d0e4a6c1f93257_bc764cd8ddf7a0cff126f51c16239658_1_3)"
        " switched from RUNNING to FAILED with failure cause:"
    )
    return "\n".join([flink("runtime.taskmanager.Task", message, "WARN"), *trace])
