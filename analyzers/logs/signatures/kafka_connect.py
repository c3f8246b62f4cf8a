"""Kafka Connect: a task that fails, and the record that it fails on. Whose line it is stands in it (`derived/failures/owners.py`)."""

from __future__ import annotations

from analyzers.logs.signatures.origin import kafka_broker
from analyzers.logs.signatures.signature import Signature

SIGNATURES = (
    Signature(
        id="connect-task-killed",
        says="A task of a connector failed and is not restarted by itself.",
        literals=("Task is being killed and will not recover until manually restarted",),
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.WorkerTask",
            "[payments-sink|task-0] WorkerSinkTask{id=payments-sink-0} Task threw an uncaught and unrecoverable exception. Task is being"
            " killed and will not recover until manually restarted",
            "ERROR",
        ),
        keep=(50, 20),
    ),
    Signature(
        id="connect-query-failed",
        says="A source's query failed in its database (the trace): the task tries it again, and reads nothing meanwhile.",
        versions="JDBC source connector; `SQL exception` from 10.3 on",
        literals=("Failed to run query for table", "SQL Exception while running query for table", "SQL exception while running query for"),
        sample=kafka_broker(
            "io.confluent.connect.jdbc.source.JdbcSourceTask",
            "[orders-source|task-0] Failed to run query for table TimestampIncrementingTableQuerier{table=null, query='SELECT * FROM O'}:"
            " {}",
            "ERROR",
        ),
        keep=(50, 20),
    ),
    Signature(
        id="connect-record-failed",
        says="A record failed in a stage of a task: in a converter, a transformation or the sink.",
        versions="2.0+; the topic in words 2.3+",
        literals=("where consumed record is {topic='", "Error converting message "),
        pattern=r"(?:consumed record is \{topic='|Error converting message (?:key|value) in topic ')(?P<topic>[\w.-]+)',? partition[= ]"
        r"(?P<partition>\d+),? (?:at )?offset[= ](?P<offset>\d+)",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.WorkerSinkTask",
            "[payments-sink|task-0] WorkerSinkTask{id=payments-sink-0} Error converting message value in topic 'payments' partition 2 at"
            " offset 48211 and timestamp 1763625600000: Converting byte[] to Kafka Connect data failed due to serialization error",
            "ERROR",
        ),
        keep=(50, 20),
    ),
)
