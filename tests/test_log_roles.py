"""A rule is clean only where a log was read that could have shown what it looks for."""

from __future__ import annotations

import pytest

from analyzers.diagnosis.coverage import rules_without_logs
from analyzers.diagnosis.diagnose import judge
from analyzers.logs.layouts.roles import role_of
from analyzers.report.report import Report
from analyzers.rules.catalogue import load_rules
from analyzers.tables import LOG_COUNTS, LOG_EVENTS, LOG_FILES, Row
from analyzers.tables.processes import ANY


def judged(files: list[Row], events: list[Row] | None = None, **more: list[Row]) -> Report:
    tables = {"log_files": files, "log_events": events or [], "log_counts": [], **more}
    return judge(tables, lambda: pytest.fail("no rule has a row"), command="triage", version="0")


def file(name: str, role: str | None) -> Row:
    return LOG_FILES.row({"scope": "", "file": name, "role": role, "lines": 100})


def event(name: str, logger: str) -> Row:
    return LOG_EVENTS.row({"scope": "", "file": name, "line": 1, "seq": 1, "logger": logger, "signature": "flink-option"})


def whys(report: Report) -> dict[str, str]:
    return {each.code: each.because for each in report.not_checked}


def test_a_taskmanager_alone_clears_neither_brokers_nor_spark_nor_checkpoints() -> None:
    report = judged([file("taskmanager.log", "taskmanager")])
    assert {"BRK101", "RST202", "RST401", "LAG401"} <= set(report.clean)
    why = whys(report)
    assert why["BRK201"] == "no log of a Kafka broker was given"
    assert why["SPK101"] == "no log of a Spark driver was given"
    assert why["CKP101"] == why["RST301"] == "no JobManager log was given"
    assert why["RST403"] == "no log of a JobManager or a Spark driver was given"


def test_a_broker_alone_clears_no_job() -> None:
    report = judged([file("server.log", "kafka-broker")])
    assert "BRK201" in report.clean
    assert {"RST101", "BRK101", "CKP101", "SPK101"}.isdisjoint(report.clean)
    assert whys(report)["RST101"] == "no log of a job was given, only those of brokers"


def test_a_spark_driver_clears_no_rule_of_flink() -> None:
    report = judged([file("driver.log", "spark-driver")])
    assert {"SPK101", "RST101", "BRK101"} <= set(report.clean)
    assert whys(report)["SPL102"] == whys(report)["CKP101"] == "no Flink log was given"


def test_lines_that_were_counted_and_not_kept_clear_nothing() -> None:
    jobs = [f"{number:032x}" for number in range(12)]
    counted = [LOG_COUNTS.row({"scope": "", "signature": "checkpoint-expired", "file": "a", "job": job, "events": 1}) for job in jobs]
    report = judged([file("jobmanager.log", "jobmanager")], log_counts=counted)
    assert "RST301" in report.clean
    assert whys(report)["CKP101"] == "12 of its lines of 12 jobs were counted, and none of them was kept: there are too many"
    few = judged([file("jobmanager.log", "jobmanager")], log_counts=counted[:5])
    assert "CKP101" in few.clean


def test_a_jobmanager_that_writes_into_the_log_of_another_is_seen_by_its_loggers() -> None:
    one = file("all.log", "taskmanager")
    known = judged([one], [event("all.log", "org.apache.flink.runtime.checkpoint.CheckpointCoordinator")])
    assert "CKP101" in known.clean
    assert "CKP101" not in judged([one], [event("all.log", "org.apache.flink.runtime.taskexecutor.TaskExecutor")]).clean


def test_where_nobody_can_tell_who_wrote_lines_of_ours_nothing_is_denied() -> None:
    pasted = {**event("b.log", ""), "signature": "checkpoint-completed"}
    assert not rules_without_logs(load_rules(), {"log_files": [file("b.log", None)], "log_events": [pasted]})
    assert not rules_without_logs(load_rules(), {"log_files": [], "log_events": []})


def test_a_file_of_somebody_else_speaks_for_nobody() -> None:
    """One strange file must not make rules clean whose logs were not given, whatever stands in it."""
    alone, strange = judged([file("a.log", "kafka-broker")]), file("notes.log", None)
    refused = {**event("notes.log", ""), "signature": "connection-refused"}
    assert judged([file("a.log", "kafka-broker"), strange], [refused]).clean == alone.clean
    assert not judged([strange], [refused]).clean


def test_a_file_that_was_not_read_clears_nothing() -> None:
    unread = {**file("jobmanager.log", "jobmanager"), "lines": 0}
    assert judged([unread, file("taskmanager.log", "taskmanager")]).clean == judged([file("taskmanager.log", "taskmanager")]).clean


def test_a_jobmanager_alone_says_nothing_about_those_who_read() -> None:
    clean = set(judged([file("jobmanager.log", "jobmanager")]).clean)
    assert "CKP101" in clean
    assert clean.isdisjoint({"BRK103", "BRK105", "LAG401", "LAG402", "LAG404", "LAG405", "CKP103"})


def test_failures_that_a_jobmanager_told_itself_need_no_log_of_it() -> None:
    tables: dict[str, list[Row]] = {"log_files": [file("taskmanager.log", "taskmanager")], "log_events": [], "exceptions": []}
    denied = {each.code for each in rules_without_logs(load_rules(), tables)}
    assert "CKP104" not in denied
    assert "CKP101" in denied


def test_whose_logs_a_rule_needs_is_spelled_as_roles_are() -> None:
    assert all(set(rule.logs_of) <= set(ANY) for rule in load_rules())


def test_an_executor_is_known_by_its_state_stores_and_a_broker_by_its_main_method() -> None:
    store = b"2026-03-11 06:08:07,610 INFO  org.apache.spark.sql.execution.streaming.state.StateStore:57 - get Store for version 44\n"
    assert role_of("worker.log", store) == "spark-executor"
    coordinator = b"26/03/11 06:08:07 INFO org.apache.spark.sql.execution.streaming.state.StateStoreCoordinatorRef: Registered\n"
    assert role_of("app.log", coordinator) is None  # of the driver
    assert (
        role_of("trace.txt", b"\tat kafka.server.KafkaServer.startup(KafkaServer.scala:220)\n\tat kafka.Kafka$.main(Kafka.scala:84)\n")
        == "kafka-broker"
    )


def test_a_driver_that_runs_the_tasks_itself_is_a_driver() -> None:
    store = b"26/03/11 06:08:07 INFO org.apache.spark.sql.execution.streaming.state.RocksDB: Loading state for 44\n"
    batch = b"26/03/11 06:08:06 INFO org.apache.spark.sql.execution.streaming.MicroBatchExecution: Committed offsets for batch 44.\n"
    assert role_of("app.log", batch + store * 200) == "spark-driver"
