"""Kafka Connect: a task that fails, and the record that it fails on. Whose line it is stands in it (`derived/failures/owners.py`)."""

from __future__ import annotations

from analyzers.logs.signatures.origin import kafka_broker
from analyzers.logs.signatures.signature import Signature

_TASK = (
    r"(?:\[(?P<connector>[^\[\]|\s]{1,200})\|task-(?P<number>\d+)(?:\|\w+)?\] ?)?"
    r"(?:Worker(?:Sink|Source)Task\{id=(?P<id>[^}\s]{1,200})-(?P<id_number>\d+)\} ?)?"
)
"""How a line of a task begins, where the worker names it (KIP-449, WorkerTask.toString)."""

SIGNATURES = (
    Signature(
        id="captured-tables",
        says="Debezium prints which tables it is set to capture.",
        versions="table.whitelist before 1.3",
        literals=("table.include.list = ", "table.whitelist = "),
        pattern=r"\btable\.(?:include\.list|whitelist) = (?P<tables>[^\n]{1,4000}?)(?: \([\w.]+:\d+\)|$)",
        where="line",
        sample=kafka_broker("io.debezium.connector.common.BaseSourceTask", "   table.include.list = public.orders,public.customers"),
        keep=(20, 20),
    ),
    Signature(
        id="publication-set",
        says="Debezium prints the publication of PostgreSQL that it reads.",
        literals=("publication.name = ",),
        pattern=r"\bpublication\.name = (?P<publication>\S{1,100})",
        where="line",
        sample=kafka_broker("io.debezium.connector.common.BaseSourceTask", "   publication.name = shop_pub"),
        keep=(20, 20),
    ),
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
    Signature(
        id="connect-record-error",
        says="A record failed in a stage of a task, which goes on where errors are tolerated.",
        versions="LogReporter, 2.0+; names the record with errors.log.include.messages=true only",
        literals=("Error encountered in task ",),
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.errors.LogReporter",
            "[payments-sink|task-1] Error encountered in task payments-sink-1. Executing stage 'VALUE_CONVERTER' with class"
            " 'org.apache.kafka.connect.json.JsonConverter'.",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="connect-topic-refused",
        says="Brokers refuse to create an internal topic of Kafka Connect, and the worker tries again for a minute.",
        versions="TopicAdmin, 2.8+",
        literals=("' topic creation failed due to '",),
        pattern=r"'(?P<topic>[\w.-]+)' topic creation failed due to '(?P<refused>[^\n]*?)', retrying, \d+ms remaining",
        sample=kafka_broker(
            "org.apache.kafka.connect.util.TopicAdmin",
            "'connect-offsets' topic creation failed due to 'Unable to create topic(s) 'connect-offsets': Unable to replicate the partition"
            " 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered or some brokers have"
            " all their log directories cordoned.', retrying, 59876ms remaining",
        ),
        keep=(1, 2),
    ),
    Signature(
        id="connect-dead-letter-config",
        says="What a sink does with records that fail: whether it tolerates them, and its dead-letter topic.",
        versions="SinkConnectorConfig, 2.0+; at INFO",
        literals=("errors.deadletterqueue.topic.name = ",),
        pattern=r"\berrors\.deadletterqueue\.topic\.name = (?P<dead_letters>[\w.-]+)\n"
        r"(?:[^\n]*\n)*?\s*errors\.tolerance = (?P<tolerance>\w+)\n"
        r"(?:[^\n]*\n)*?\s*name = (?P<connector>\S+)\n(?:(?:[^\n]*\n)*?\s*topics = \[(?P<topics>[^\]\n]*)\])?"
        r"(?:(?:[^\n]*\n)*?\s*value\.converter = (?:class )?(?P<converter>[\w.$]+\.[\w.$]+))?",
        where="event",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.SinkConnectorConfig",
            "[payments-sink|task-0] SinkConnectorConfig values: \n\terrors.deadletterqueue.topic.name = payments-dead-letters\n"
            "\terrors.tolerance = all\n\tname = payments-sink\n\ttopics = [payments]\n\ttopics.regex = \n",
        ),
        keep=(5, 20),
        apart=("connector",),
    ),
    Signature(
        id="connect-dead-letters-created",
        says="The dead letter queue of a sink does not exist yet; the sink's task creates it.",
        versions="DeadLetterQueueReporter, at ERROR",
        literals=("doesn't exist. Will attempt to create topic.",),
        pattern=r"Topic (?P<topic>[\w.-]+) doesn't exist\. Will attempt to create topic",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.errors.DeadLetterQueueReporter",
            "[payments-sink|task-0] Topic payments-dead-letters doesn't exist. Will attempt to create topic.",
            "ERROR",
        ),
        keep=(5, 5),
    ),
    Signature(
        id="connect-running",
        says="A worker of Kafka Connect has its assignment, and has started what is in it.",
        literals=("Finished starting connectors and tasks",),
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.distributed.DistributedHerder",
            "[Worker clientId=connect-1, groupId=connect-cluster] Finished starting connectors and tasks",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="connect-task-begun",
        says="A task of a connector is started, for the first time or again.",
        versions="WorkerSinkTask and AbstractWorkerSourceTask (WorkerSourceTask before 3.3), at INFO",
        literals=(" task finished initialization and start",),
        pattern=rf"{_TASK}(?:Sink|Source) task finished initialization and start",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.WorkerSinkTask",
            "[payments-sink|task-0] WorkerSinkTask{id=payments-sink-0} Sink task finished initialization and start",
        ),
        keep=(5, 20),
        apart=("connector", "number"),
    ),
    Signature(
        id="connect-source-works",
        says="A source on Debezium has read changes, or has its connection to the database's log.",
        versions="Debezium's BaseSourceTask, BinlogStreamingChangeEventSource and PostgresStreamingChangeEventSource, 1.0+",
        literals=(
            " records sent during previous ",
            "Connected to MySQL binlog at ",
            "Connected to binlog at ",
            "Searching for WAL resume position",
            "WAL resume position '",
            "Processing messages",
        ),
        pattern=r" records sent during previous |Connected to (?:MySQL )?binlog at |WAL resume position|Processing messages(?=\s*[\[(]|$)",
        sample=kafka_broker(
            "io.debezium.connector.common.BaseSourceTask",
            "[shop-orders|task-0] 2 records sent during previous 00:00:17.429, last recorded offset of {server=shop} partition is"
            " {lsn_proc=8968088, messageType=INSERT, lsn=8968088, txId=757}",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="connect-source-retried",
        says="A source task failed with an error that may pass, and Kafka Connect or Debezium tries again.",
        versions="AbstractWorkerSourceTask, Debezium's ErrorHandler and PostgresReplicationConnection",
        literals=(
            "failed to poll records from SourceTask. Will retry operation",
            "Producer failure (io.debezium.pipeline.ErrorHandler",
            " ms and retrying, attempt number ",
        ),
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.AbstractWorkerSourceTask",
            "[shop-orders|task-0] WorkerSourceTask{id=shop-orders-0} failed to poll records from SourceTask. Will retry operation.",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="replication-slot-invalid",
        says="A source on Debezium waits for its replication slot to become valid: it was invalidated, or is just being made.",
        versions="Debezium's PostgresConnection, 1.0+; at WARN, every 2 seconds for half an hour",
        literals=("Cannot obtain valid replication slot '",),
        pattern=r"Cannot obtain valid replication slot '(?P<slot>[^']+)' for plugin '[^']+' and database '(?P<database>[^']+)'"
        r" \[during attempt (?P<tries>\d+) out of (?P<limit>\d+)",
        sample=kafka_broker(
            "io.debezium.connector.postgresql.connection.PostgresConnection",
            "[shop-orders|task-0] Cannot obtain valid replication slot 'shop_orders' for plugin 'pgoutput' and database 'postgres' [during"
            " attempt 63 out of 900, concurrent tx probably blocks taking snapshot.",
            "WARN",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="replication-slot-valid",
        says="A source on Debezium has a valid replication slot.",
        literals=("Obtained valid replication slot ReplicationSlot [",),
        pattern=r"Obtained valid replication slot ReplicationSlot \[[^\n\]]{0,80}latestFlushedLsn=LSN\{(?P<flushed>[0-9A-F/]+)\}",
        sample=kafka_broker(
            "io.debezium.connector.postgresql.connection.PostgresConnection",
            "[shop-orders|task-0] Obtained valid replication slot ReplicationSlot [active=false, latestFlushedLsn=LSN{0/88D598},"
            " catalogXmin=755]",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="replication-slot-created",
        says="A source on Debezium makes its replication slot: it begins at what is written now.",
        versions="Debezium's PostgresReplicationConnection, 1.0+; at INFO",
        literals=("Creating replication slot with command CREATE_REPLICATION_SLOT ",),
        pattern=r"Creating replication slot with command CREATE_REPLICATION_SLOT \"?(?P<slot>[^\s\"]{1,100})\"?",
        sample=kafka_broker(
            "io.debezium.connector.postgresql.connection.PostgresReplicationConnection",
            '[shop-orders|task-0] Creating replication slot with command CREATE_REPLICATION_SLOT "shop_orders"  LOGICAL pgoutput ',
        ),
        keep=(5, 20),
    ),
    Signature(
        id="source-snapshot-skipped",
        says="A source on Debezium takes no snapshot, as its position says that one was completed.",
        versions="Debezium's snapshot sources, 1.0+; at INFO",
        literals=("A previous offset indicating a completed snapshot has been found", "Snapshot ended with SnapshotResult [status=SKIPPED"),
        sample=kafka_broker(
            "io.debezium.connector.postgresql.PostgresSnapshotChangeEventSource",
            "[shop-orders|task-0] A previous offset indicating a completed snapshot has been found. Neither schema nor data will be"
            " snapshotted.",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="source-offset-found",
        says="A source on Debezium starts with a position that was committed earlier.",
        literals=("Found previous partition offset ",),
        pattern=r"Found previous partition offset [^\n]*?\]: \{(?P<position>[^}\n]{0,300})\}",
        sample=kafka_broker(
            "io.debezium.connector.common.BaseSourceTask",
            "[shop-orders|task-0] Found previous partition offset PostgresPartition [sourcePartition={server=shop}]: {lsn_proc=8967616,"
            " messageType=INSERT, lsn_commit=8967616, lsn=8967616, txId=756}",
        ),
        keep=(5, 20),
    ),
    Signature(
        id="connect-call-retried",
        says="A connector's task failed to write, or to call its system, and tries the same again by itself.",
        versions="Confluent's JDBC, Elasticsearch and HTTP connectors and others; RetriableException of WorkerSinkTask, all",
        literals=(
            "Retrying attempt (",
            "remainingRetries=",
            "RetriableException from SinkTask",
            "ill retry in ",
            "etrying in ",
            "etriable exception",
            "No maximum LSN recorded in the database",
        ),
        # words that any program uses count only where a worker names its task
        pattern=r"^(?=\[[^\[\]|\s]+\|task-|Worker(?:Sink|Source)Task\{|[^\n]*(?:Retrying attempt \(\d|remainingRetries="
        r"|RetriableException from SinkTask|No maximum LSN recorded))"
        rf"{_TASK}[^\n]*?(?:Retrying attempt \((?P<tries>\d+)/(?P<limit>\d+)\)|failed, remainingRetries=(?P<left>\d+)"
        r"|RetriableException from SinkTask|(?<=\b[Ww])ill retry in |\b[Rr]etrying in |\b[Rr]etriable exception\b"
        r"|No maximum LSN recorded in the database)",
        sample=kafka_broker(
            "io.confluent.connect.jdbc.sink.JdbcSinkTask",
            "[payments-sink|task-0] Write of 500 records failed, remainingRetries=7",
            "WARN",
        ),
        keep=(20, 20),
        apart=("connector", "number"),
    ),
    Signature(
        id="connect-offsets-committed",
        says="A task of a connector commits offsets: it got on.",
        versions="WorkerSinkTask and WorkerSourceTask, 2.0+; at INFO",
        literals=(" Committing offsets ",),
        pattern=rf"^{_TASK}Committing offsets (?:asynchronously|synchronously|for \d+ acknowledged)",
        sample=kafka_broker(
            "org.apache.kafka.connect.runtime.WorkerSinkTask",
            "[payments-sink|task-0] WorkerSinkTask{id=payments-sink-0} Committing offsets asynchronously using sequence number 40:"
            " {payments-0=OffsetAndMetadata{offset=120, leaderEpoch=null, metadata=''}}",
        ),
        keep=(5, 20),
        apart=("connector", "number"),
    ),
    Signature(
        id="connect-sink-wrote",
        says="A connector reports that it has written: its task got on.",
        versions="the Elasticsearch, JDBC, S3, GCS, BigQuery, Snowflake and Iceberg sinks; at INFO",
        literals=("Files committed to ", "Target commit offset", "Successfully wrote ", "Committed snapshot ", "successfully committed"),
        pattern=r"^\[(?P<connector>[^\[\]|\n]{1,200})\|task-(?P<number>\d+)\] [^\n]{0,120}?"
        r"(?:Files committed to |Target commit offset|Successfully wrote \d|Committed snapshot \d|successfully committed)",
        sample=kafka_broker(
            "io.confluent.connect.s3.TopicPartitionWriter",
            "[rides-lake|task-2] Files committed to S3. Target commit offset for rides-4 is 7812133",
        ),
        keep=(5, 20),
        apart=("connector", "number"),
    ),
    Signature(
        id="connect-status-quoted",
        says="An answer of Kafka Connect's REST interface, or the path that was asked, was pasted: it names the connector.",
        literals=('"connector":{"state"', '"connector": {"state"', "/connectors/"),
        pattern=r'\{"name": ?"(?P<connector>[^"\s]{1,200})", ?"connector": ?\{"state"'
        r"|/connectors/(?P<asked>[\w.-]{1,200})/(?:status|tasks|restart|pause|resume|stop|offsets|config|topics)\b(?![^\n]*HTTP/1)",
        where="line",
        sample='{"name":"payments-sink","connector":{"state":"RUNNING","worker_id":"connect-2:8083"},"tasks":[{"id":0,"state":"FAILED"}]}',
        keep=(5, 5),
    ),
)
