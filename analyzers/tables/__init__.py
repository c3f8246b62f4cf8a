"""The declared schema of every table: `model` has the terms, one module per source the tables."""

from __future__ import annotations

from analyzers.tables.checkpoints import (
    BATCH_OFFSETS,
    BATCHES,
    CHECKPOINT_FILES,
    OPERATOR_STATES,
    SPLIT_AUDIT,
    SPLITS,
    STATE_FILES,
    SUBTASK_STATES,
)
from analyzers.tables.flink import (
    CHECKPOINT_ACKS,
    CHECKPOINTS,
    EXCEPTIONS,
    JOB_CONFIG,
    JOBS,
    METRICS,
    STACK_SAMPLES,
    SUBTASKS,
    TASK_MANAGERS,
    VERTICES,
    WATERMARKS,
)
from analyzers.tables.kafka import (
    BOOTSTRAP_SERVERS,
    BROKERS,
    CLIENT_CONFIGS,
    COMMITTED_OFFSETS,
    FORECAST,
    GROUPS,
    LAG_STATUS,
    LAG_TRUTH,
    LOG_OFFSETS,
    MEMBERS,
    OPEN_TRANSACTIONS,
    PARTITIONS,
    RECORDS,
    TOPIC_CONFIGS,
)
from analyzers.tables.logs import (
    ATTEMPTS,
    FAULTS,
    JOBS_SEEN,
    LOG_COUNTS,
    LOG_EVENTS,
    LOG_FILES,
    SOURCES,
    SPLIT_CLAIMS,
)
from analyzers.tables.model import Column, ColumnType, Row, Table

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        LOG_EVENTS, LOG_COUNTS, LOG_FILES, SOURCES, JOBS_SEEN, ATTEMPTS, FAULTS, SPLIT_CLAIMS,
        BOOTSTRAP_SERVERS, BROKERS, PARTITIONS, LOG_OFFSETS, GROUPS, MEMBERS, CLIENT_CONFIGS, COMMITTED_OFFSETS, FORECAST, RECORDS,
        OPEN_TRANSACTIONS, TOPIC_CONFIGS, LAG_STATUS, LAG_TRUTH,
        JOBS, VERTICES, SUBTASKS, CHECKPOINTS, CHECKPOINT_ACKS, EXCEPTIONS, JOB_CONFIG, METRICS, WATERMARKS, TASK_MANAGERS, STACK_SAMPLES,
        CHECKPOINT_FILES, OPERATOR_STATES, SUBTASK_STATES, SPLITS, STATE_FILES, BATCHES, BATCH_OFFSETS, SPLIT_AUDIT,
    )
}  # fmt: skip

__all__ = [
    "ATTEMPTS",
    "BATCHES",
    "BATCH_OFFSETS",
    "BOOTSTRAP_SERVERS",
    "BROKERS",
    "CHECKPOINTS",
    "CHECKPOINT_ACKS",
    "CHECKPOINT_FILES",
    "CLIENT_CONFIGS",
    "COMMITTED_OFFSETS",
    "EXCEPTIONS",
    "FAULTS",
    "FORECAST",
    "GROUPS",
    "JOBS",
    "JOBS_SEEN",
    "JOB_CONFIG",
    "LAG_STATUS",
    "LAG_TRUTH",
    "LOG_COUNTS",
    "LOG_EVENTS",
    "LOG_FILES",
    "LOG_OFFSETS",
    "MEMBERS",
    "METRICS",
    "OPEN_TRANSACTIONS",
    "OPERATOR_STATES",
    "PARTITIONS",
    "RECORDS",
    "SOURCES",
    "SPLITS",
    "SPLIT_AUDIT",
    "SPLIT_CLAIMS",
    "STACK_SAMPLES",
    "STATE_FILES",
    "SUBTASKS",
    "SUBTASK_STATES",
    "TABLES",
    "TASK_MANAGERS",
    "TOPIC_CONFIGS",
    "VERTICES",
    "WATERMARKS",
    "Column",
    "ColumnType",
    "Row",
    "Table",
]
