"""The words that rules are written with: ``from analyzers.vocabulary import …`` is the import line of a rule.

Here is what any rule may need; what is said of one thing only stands in the module of its name: `brokers`, `checkpoints`,
`jobmanagers`, `lag`, `offset_commits`, `restore_points`, `subtasks`, `user_code`, `workers`, `zookeeper` …
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import ANY, BROKER, CLIENTS, FLINK, JOBMANAGER, JOBS, SPARK_DRIVER, TASKMANAGER, ZOOKEEPER
from analyzers.vocabulary.aggregates import (
    agreed,
    count,
    counted,
    distinct,
    earliest,
    failures,
    goes_on,
    greatest,
    least,
    newest,
    number_of,
    numbered,
    of_newest,
    oldest,
    place,
    said,
    seconds,
)
from analyzers.vocabulary.columns import detail, event, first_of, in_short, lasting, none, text
from analyzers.vocabulary.findings import beside, evidence, exemplars, found, joined, the_task
from analyzers.vocabulary.rule import FAILING, IfGiven, either, for_long, has, matching, rule, some
from analyzers.vocabulary.snapshots import newest_snapshot, no_job, observed

UNDECIDED, INFO, WARNING, CRITICAL = Severity

__all__ = [
    "ANY",
    "BROKER",
    "CLIENTS",
    "CRITICAL",
    "FAILING",
    "FLINK",
    "INFO",
    "JOBMANAGER",
    "JOBS",
    "SPARK_DRIVER",
    "TASKMANAGER",
    "UNDECIDED",
    "WARNING",
    "ZOOKEEPER",
    "Column",
    "DataFrame",
    "F",
    "IfGiven",
    "Severity",
    "Window",
    "agreed",
    "beside",
    "count",
    "counted",
    "detail",
    "distinct",
    "earliest",
    "either",
    "event",
    "evidence",
    "exemplars",
    "failures",
    "first_of",
    "for_long",
    "found",
    "goes_on",
    "greatest",
    "has",
    "in_short",
    "joined",
    "lasting",
    "least",
    "matching",
    "newest",
    "newest_snapshot",
    "no_job",
    "none",
    "number_of",
    "numbered",
    "observed",
    "of_newest",
    "oldest",
    "place",
    "rule",
    "said",
    "seconds",
    "some",
    "text",
    "the_task",
]  # fmt: skip
