"""Reports made by hand: an incident with everything in it, a job that is well, and what lies between."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from analyzers.report.finding import Defect, Evidence, Finding, NotChecked, Severity
from analyzers.report.report import Moment, Report, Source, Verdict
from analyzers.tables import TABLES

AT = datetime(2026, 11, 21, 9, 35, 19, 130000, tzinfo=timezone.utc)
JOB = "f83dbb7e04f400ccfd1258d03b96d7ad"


def minutes(count: float) -> datetime:
    return AT + timedelta(minutes=count)


def finding(code: str = "BRK101", severity: Severity = Severity.CRITICAL, job: str | None = JOB, **values: object) -> Finding:
    fields = {
        "cause": "broker-unreachable",
        "reason": "bootstrap-dead",
        "stage": "access",
        "confidence": 0.875,
        "subject": {"broker": [5, 6], "task": "Source: orders -> parse", "subtask": 1, "parallelism": 4},
        "since": AT,
        "until": minutes(5),
        "says": "The Kafka client of Source: orders -> parse cannot reach 2 of its 3 bootstrap entries",
        "inferred": None,
        "fix": "Remove kafka-5:9092 and kafka-6:9092 from bootstrap.servers and restart the job.",
        "evidence": (
            Evidence(
                "log_events",
                "taskmanager-2.log",
                332,
                AT,
                "2026-11-21 09:35:19,130 WARN  org.apache.flink.runtime.taskmanager.Task [] - Source: orders -> parse (2/4)#2 "
                "(1859924ac3aa87f5c3860bdead06f4fa) switched from RUNNING to FAILED.\n"
                "org.apache.kafka.common.errors.TimeoutException: Timeout expired while fetching topic metadata",
            ),
            Evidence("log_events", "jobmanager.log", 487, None, "a line\twith \x1b[31mcolour\x1b[0m and a bell\x07"),
        ),
        "page": f"{code}.md",
        "missing": None,
    }
    return Finding(code=code, severity=severity, job=job, **{**fields, **values})  # type: ignore[arg-type]  # a test's shorthand


def verdict(**values: object) -> Verdict:
    fields = {
        "cause": "broker-unreachable",
        "reason": "bootstrap-dead",
        "code": "BRK101",
        "job": JOB,
        "since": AT,
        "trigger": "TaskManager tm-1 was killed at 09:35:16 and took 4 subtasks with it",
        "subject": {
            "task": "Source: orders -> parse",
            "subtask": 1,
            "parallelism": 4,
            "topic": "orders",
            "partition": 3,
            "offset": 1200,
            "broker": 5,
        },
        "says": "2 of 3 bootstrap entries are black holes: every start that picks one of them gives up after 60 s",
        "fix": "Remove kafka-5:9092 and kafka-6:9092 from bootstrap.servers, keep two living brokers in it, and restart the job.",
        "confidence": 0.875,
        "chain": ("BRK101", "RST101"),
        "timeline": (
            Moment(minutes(-1), "BRK201", "broker 5 shut down"),
            Moment(AT, "RST401", "tm-1 was lost"),
            Moment(None, "RST101", "5 restarts"),
        ),
        "missing": "Why broker 5 was stopped: its server.log has it.",
        "next_command": "diag broker-health --bootstrap-server 127.0.0.1:9092,127.0.0.5:9092,127.0.0.6:9092 --timeout 20",
    }
    return Verdict(**{**fields, **values})  # type: ignore[arg-type]  # a test's shorthand


def report(**values: object) -> Report:
    fields = {"tool": "diag", "version": "1.2.3", "command": "triage", "as_of": minutes(6), "window": (minutes(-1), minutes(6))}
    return Report(**{**fields, **values})  # type: ignore[arg-type]  # a test's shorthand


def incident() -> Report:
    """Two verdicts, a symptom, a source that was cut, rules that could not judge, a defect, facts."""
    warning = finding(
        "CKP104",
        Severity.WARNING,
        cause=None,
        reason=None,
        stage="checkpoint",
        subject={},
        says="1 checkpoint expired",
        evidence=(),
        since=None,
    )
    second = verdict(
        cause="poison-record",
        reason=None,
        code="RST201",
        job="other-job",
        trigger=None,
        since=None,
        says="The same record fails every attempt",
        fix="Skip the record.",
        subject={},
        chain=("RST201",),
        timeline=(),
        missing=None,
        next_command=None,
    )
    return report(
        sources=[
            Source("jobmanager.log", "logs", "ok"),
            Source("taskmanager-3.log.gz", "logs", "partial", "the gzip stream ends after line 9,123"),
        ],
        verdicts=[verdict(), second],
        facts={
            "bootstrap_servers": [
                TABLES["bootstrap_servers"].row(
                    {"entry": "kafka-1:9092", "state": "alive", "connect_ms": 1.25, "broker": 1, "probed_at": AT}
                ),
                TABLES["bootstrap_servers"].row({"entry": "kafka-5:9092", "state": "black-hole", "why": "no answer\tin 5 s"}),
            ]
        },
        findings=[finding(), warning],
        clean=["CFG101", "SPL101"],
        not_checked=[
            NotChecked("CKP301", "no checkpoint directory was read"),
            NotChecked("LAG101", "no broker was asked (--bootstrap-server)"),
        ],
        defects=[Defect("RST999", "ValueError: a rule of ours\nTraceback (most recent call last): …")],
        notes=["Log lines without zone were read as UTC."],
        looked_at="7 files, 4,312 events, 2 jobs",
    )


def well() -> Report:
    return report(
        clean=["BRK101", "CKP101", "RST101"],
        not_checked=[NotChecked("CKP301", "no checkpoint directory was read"), NotChecked("CKP302", "no checkpoint directory was read")],
        sources=[Source("logs", "logs", "ok")],
        notes=["1 restart of f83dbb7e was ordered (a savepoint and a new submission): no fault"],
        looked_at="7 files, 2 jobs",
    )
