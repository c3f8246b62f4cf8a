"""Spark Structured Streaming: life of queries and batches, offset and state logs, Kafka source (catalogue S01–S12, S14, S15)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_QUERY, QUERY, TP
from analyzers.logs.signatures.origin import spark
from analyzers.logs.signatures.signature import Signature

_BATCH = "MicroBatchExecution"
_ENDED = f"Query orders {A_QUERY} terminated with error"


def _ended(*trace: str) -> str:
    """A query that ends in an error, with its stack trace."""
    return "\n".join([spark(_BATCH, _ENDED, "ERROR"), *trace])


SIGNATURES = (
    Signature(
        id="query-started",
        ref="S01",
        says="A streaming query starts: a new runId with the same id is a restart on the same checkpoint.",
        literals=(" to store the query checkpoint",),
        pattern=rf"Starting {QUERY}\. Use (?P<path>\S+) to store",
        sample=spark(_BATCH, f"Starting orders {A_QUERY}. Use s3a://state/orders/checkpoint to store the query checkpoint."),
        keep=(2000, 500),
    ),
    Signature(
        id="query-fresh",
        ref="S02",
        says="The query begins with an empty checkpoint.",
        literals=("Starting new streaming query.", "Stream started from {}"),
        sample=spark(_BATCH, "Starting new streaming query."),
        keep=(200, 50),
    ),
    Signature(
        id="query-resumed",
        ref="S02",
        says="The query goes on at this batch; committed and available offsets tell what the batch reads again.",
        literals=("Resuming at batch ",),
        pattern=r"Resuming at batch (?P<checkpoint>\d+) with committed offsets (?P<committed>\{[^\n]*\}) and available offsets"
        r" (?P<available>\{[^\n]*\})",
        sample=spark(
            _BATCH,
            'Resuming at batch 42 with committed offsets {KafkaV2[Subscribe[orders]]: {"orders":{"1":390}}} and available'
            ' offsets {KafkaV2[Subscribe[orders]]: {"orders":{"1":402}}}',
        ),
        keep=(200, 50),
    ),
    Signature(
        id="query-stopped",
        ref="S02",
        says="Somebody stopped the query.",
        literals=(" was stopped",),
        pattern=rf"Query {QUERY} was stopped",
        sample=spark(_BATCH, f"Query orders {A_QUERY} was stopped"),
        keep=(200, 50),
    ),
    Signature(
        id="query-read-all",
        says="The query has read all that there was, as its trigger asked for, and ends.",
        versions="3.3+",
        literals=("Finished processing all available data for the trigger, terminating this ",),
        pattern=r"terminating this (?P<trigger>Trigger\.\w+|\S+ trigger) query",
        sample=spark(_BATCH, "Finished processing all available data for the trigger, terminating this Trigger.AvailableNow query"),
        keep=(200, 50),
    ),
    Signature(
        id="query-cleaned-up",
        says="A query has ended, however: its last thread was shut down.",
        versions="3.4+",
        literals=("Async log purge executor pool for query ",),
        pattern=rf"pool for query {QUERY} has been shut ?down",
        sample=spark(_BATCH, f"Async log purge executor pool for query orders {A_QUERY} has been shutdown"),
        keep=(200, 50),
    ),
    Signature(
        id="dstream-delay",
        says="A batch of a DStream is done: how long it waited and took in all, and how long it took itself.",
        versions="Spark Streaming, all",
        literals=("Total delay: ",),
        pattern=r"Total delay: (?P<delay>[\d.]+) s for time (?P<batch_time>\d+) ms \(execution: (?P<spent>[\d.]+) s\)",
        sample=spark("JobScheduler", "Total delay: 1.012 s for time 1733192286000 ms (execution: 0.944 s)"),
        keep=(50, 50),
    ),
    Signature(
        id="dstream-batch-failed",
        says="A batch of a DStream failed (the trace); the next one is tried all the same.",
        versions="Spark Streaming, all",
        literals=("Error running job streaming job ",),
        pattern=r"streaming job (?P<batch_time>\d+) ms",
        sample=spark(
            "JobScheduler", "Error running job streaming job 1733192286000 ms.0\njava.lang.IllegalStateException: no session", "ERROR"
        ),
        keep=(50, 50),
    ),
    Signature(
        id="query-failed",
        ref="S03",
        says="A streaming query ended in an error (the trace).",
        literals=("terminated with error",),
        pattern=rf"Query {QUERY} terminated with error",
        sample=_ended('java.lang.NumberFormatException: For input string: "12,50"'),
        keep=(200, 50),
    ),
    Signature(
        id="query-exception",
        ref="S04",
        says="The exception that the application sees when its query fails; the lines below give offsets of the failing batch.",
        literals=("terminated with exception:",),
        pattern=rf"Query {QUERY} terminated with exception: (?P<message>[^\n]*)",
        where="line",
        sample=spark(
            "Main",
            'Exception in thread "main" \norg.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query'
            f" {A_QUERY} terminated with exception: Job aborted due to stage failure",
            "ERROR",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="query-offsets-at-failure",
        ref="S04",
        says="Offsets of the failing batch: committed = where it begins, available = where it ends.",
        literals=("Current Committed Offsets:", "Current Available Offsets:"),
        pattern=r"Current (?P<what>Committed|Available) Offsets: (?P<offsets>\{[^\n]*\})",
        where="line",
        sample=_ended(
            "=== Streaming Query ===",
            "Identifier: orders " + A_QUERY,
            'Current Committed Offsets: {KafkaV2[Subscribe[orders]]: {"orders":{"1":390}}}',
        ),
        keep=(200, 50),
    ),
    Signature(
        id="query-realtime",
        says="The query runs in Real-time Mode: a batch lasts as long as its trigger says (5 minutes), and the next one follows at once.",
        versions="4.1+",
        literals=("AQE is not supported for Real-time Mode", "Real-Time Mode: defaulting ", "Starting a Real-Time Mode query on "),
        sample=spark(_BATCH, "Disabling AQE since AQE is not supported for Real-time Mode.", "WARN"),
        keep=(200, 50),
    ),
    Signature(
        id="batch-planned",
        ref="S05",
        says="A batch was planned: its end offsets are in the offset log.",
        # the second of a query with asynchronous progress tracking, which writes to disk now and then only
        literals=("Committed offsets for batch", "Submitting async offset log write for batch "),
        pattern=r"for batch (?P<checkpoint>\d+)\.",
        sample=spark(_BATCH, "Committed offsets for batch 42. Metadata OffsetSeqMetadata(0,1733192286000,HashMap())"),
        keep=(100, 100),
    ),
    Signature(
        id="batch-commit-skipped",
        says="A sink takes a batch for committed, and does not write it.",
        # file sink and others; Delta; Iceberg; Delta's txnAppId
        literals=(
            "Skipping already committed batch ",
            "Skipping already complete epoch ",
            "as it was already committed",
            "has already been committed in Delta table",
        ),
        pattern=r"Skipping (?:already committed batch|already complete epoch|epoch) \[?(?P<checkpoint>\d+)\]?"
        r"(?:,? (?:in|for) query (?P<query>[0-9a-f-]{36}))?"
        r"|Transaction write of version (?P<version>\d+) for application id (?P<application>\S{1,200}) has already been committed in Delta",
        sample=spark("FileStreamSink", "Skipping already committed batch 41"),
        keep=(200, 50),
    ),
    Signature(
        id="batch-written",
        says="The end offsets of a batch are being written; where they go tells whose batch it is.",
        versions="2.4+",
        literals=("/offsets/.",),
        pattern=r"Writing atomically to (?P<path>\S+)/offsets/(?P<checkpoint>\d+) using temp file ",
        sample=spark(
            "CheckpointFileManager",
            "Writing atomically to s3a://state/orders/checkpoint/offsets/42 using temp file"
            " s3a://state/orders/checkpoint/offsets/.42.8f14e45f-ceea-467f-a8d9-2f1c3b7a90de.tmp",
        ),
        keep=(20, 20),
        apart=("path",),
    ),
    Signature(
        id="query-progress",
        ref="S05",
        says="A batch was done: what it read and how long it took.",
        # the second of a program that logs `progress.json` from a listener of its own
        literals=("Streaming query made progress:", '"processedRowsPerSecond"'),
        pattern=r'"id" ?: ?"(?P<job>[0-9a-f-]{36})"(?:,\s*"runId" ?: ?"[^"]*",\s*"name" ?: ?"(?P<query_name>[^"\n]{1,200})")?'
        r'[\s\S]*?"batchId" ?: ?(?P<checkpoint>\d+)',
        where="event",
        sample=spark(
            "ProgressReporter",
            'Streaming query made progress: {\n  "id" : "6c2b9f4e-0d1a-4b7c-8e5f-3a9d7c1b2e40",\n  "runId" :'
            ' "0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a",\n  "name" : "orders",\n  "batchId" : 42,\n  "numInputRows" : 12\n}',
        ),
        keep=(100, 100),
    ),
    Signature(
        id="query-idle",
        ref="S05",
        says="There was no new data for a while.",
        versions="3.5+",
        literals=("Streaming query has been idle and waiting for new data",),
        pattern=r"more than (?P<duration_ms>\d+) ms",
        sample=spark("ProgressReporter", "Streaming query has been idle and waiting for new data more than 10000 ms."),
        keep=(20, 20),
    ),
    Signature(
        id="batch-behind",
        ref="S06",
        says="A batch took longer than the trigger interval.",
        literals=("Current batch is falling behind",),
        pattern=r"trigger interval is (?P<interval_ms>\d+) (?:milliseconds|ms), but spent (?P<duration_ms>\d+) (?:milliseconds|ms)",
        sample=spark(
            "ProcessingTimeExecutor",
            "Current batch is falling behind. The trigger interval is 10000 milliseconds, but spent 48211 milliseconds",
            "WARN",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="query-twice",
        ref="S07",
        says="Two queries use one checkpoint, or one query is started twice.",
        literals=(
            "Stopping existing streaming query",
            "as another query with same id is already active",
            "Multiple streaming queries are concurrently using",
            "CONCURRENT_STREAM_LOG_UPDATE",
            "Multiple streaming jobs detected for",
        ),
        pattern=r"Stopping existing streaming query \[id=(?P<job>[0-9a-f-]{36})|start query with id (?P<query>[0-9a-f-]{36})|"
        r"concurrently using (?P<path>\S+?)\.?(?: |$)|streaming jobs detected for (?P<checkpoint>\d+)|already active|"
        r"CONCURRENT_STREAM_LOG_UPDATE",
        where="line",
        sample=_ended(
            "org.apache.spark.SparkException: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs"
            " detected for 42."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="spark-offsets-attempt-failed",
        ref="S08",
        says="Spark could not read Kafka's offsets in this attempt.",
        literals=("getting Kafka offsets:", "Retrying to fetch latest offsets because of incorrect offsets"),
        pattern=r"Error in attempt (?P<attempt>\d+) getting Kafka offsets|incorrect offsets",
        sample=spark(
            "KafkaOffsetReaderAdmin",
            "Error in attempt 1 getting Kafka offsets: \njava.util.concurrent.ExecutionException:"
            " org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="spark-data-loss",
        ref="S09 S10",
        says="Offsets or partitions that the query still wants are gone: records are lost (failOnDataLoss decides whether it fails).",
        versions="texts <=3.5, KAFKA_DATA_LOSS 4.0+",
        literals=(
            "ome data may have been missed",
            "Some data may have been lost because they are not available in Kafka any more",
            "[KAFKA_DATA_LOSS.",
            "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED",
            " instead of 0",
        ),
        pattern=r"Partition (?P<tp>[\w.-]+-\d+)'s offset was changed from (?P<from_offset>\d+) to (?P<offset>\d+)|"
        r"(?P<partitions>\b\w{0,8}Set\([^)\n]{0,4000}\)|\[[^\]\n]{0,4000}\]) are gone\. Some data|Cannot find earliest offsets of"
        r" (?P<tps>[^\n.]+)|"
        r"Added partition (?P<added_tp>[\w.-]+-\d+) starts from (?P<added_offset>\d+) instead of 0|"
        r"\[KAFKA_DATA_LOSS\.(?P<subclass>\w+)\]|KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED|Some data may have been lost because|"
        r"changed from (?P<older_offset>\d+) to \d+, some data may have been missed|offset was changed from",
        where="line",
        sample=_ended(
            "Caused by: java.lang.IllegalStateException: Partition orders-1's offset was changed from 390 to 210, some data may have been"
            " missed."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="spark-record-fetch-failed",
        ref="S11",
        says="A record could not be fetched at its offset.",
        literals=("Cannot fetch record for offset", "Found a disappeared offset", "but the returned record offset was"),
        pattern=r"Cannot fetch record for offset (?P<offset>\d+) in (?P<duration_ms>\d+) milliseconds|disappeared offset"
        r" (?P<gone_offset>\d+)|"
        r"Tried to fetch (?P<wanted>\d+) but the returned record offset was (?P<returned>\d+)",
        where="line",
        sample=_ended("Caused by: java.util.concurrent.TimeoutException: Cannot fetch record for offset 390 in 120000 milliseconds"),
        keep=(20, 5),
    ),
    Signature(
        id="spark-initial-offsets",
        ref="S12",
        says="Where a Kafka source of a new query begins; partitions that came later.",
        literals=("Initial offsets: ", "Partitions added: "),
        pattern=r"Initial offsets: (?P<offsets>\{[^\n]*\})|Partitions added: (?P<partitions>[^\n]*)",
        sample=spark("KafkaMicroBatchStream", 'Initial offsets: {"orders":{"0":42,"1":40}}'),
        keep=(20, 5),
    ),
    Signature(
        id="spark-kafka-reader",
        ref="S12",
        says="Which offsets of a partition a task of a batch reads.",
        versions="3.5+",
        literals=("Creating Kafka reader topicPartition=",),
        pattern=rf"topicPartition={TP} fromOffset=(?P<offset>\d+)"
        rf" untilOffset=(?P<until>\d+)\}}?, for query queryId=(?P<job>[0-9a-f-]{{36}})"
        r" batchId=(?P<checkpoint>\d+)",
        sample=spark(
            "KafkaBatchPartitionReader",
            "Creating Kafka reader topicPartition=orders-1 fromOffset=390 untilOffset=402}, for query"
            " queryId=6c2b9f4e-0d1a-4b7c-8e5f-3a9d7c1b2e40 batchId=42 taskId=7 partitionId=1",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="state-store-failed",
        ref="S14",
        says="A state store's file is missing or unreadable.",
        literals=("Error reading delta file", "CANNOT_LOAD_STATE_STORE", "Error reading snapshot file"),
        pattern=r"Error reading (?:delta|snapshot) file (?P<path>\S+)|CANNOT_LOAD_STATE_STORE(?:\.(?P<subclass>\w+))?",
        where="line",
        sample=_ended(
            "Caused by: org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred"
            " during loading state. Error reading delta file s3a://state/orders/checkpoint/state/0/1/42.delta of HDFSStateStoreProvider"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="state-store-loading",
        ref="S14",
        says="A state store is not in memory and is read from its files: normal for the first batch of a run.",
        literals=("doesn't exist in loadedMaps", "Rolled back to "),
        pattern=r"state for version (?P<version>\d+) doesn't exist in loadedMaps|Rolled back to (?P<rolled_back>\d+)",
        sample=spark(
            "HDFSBackedStateStoreProvider",
            "The state for version 42 doesn't exist in loadedMaps. Reading snapshot file and delta files"
            " if needed...Note that this is normal for the first batch of starting query.",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="offset-log-damaged",
        ref="S15",
        says="The checkpoint's offset or commit log lacks a batch, or a file of it is empty.",
        literals=(
            "Batch completion log latest batch id is",
            "The offset log for batch ",
            "Failed to read log file ",
            "Incomplete log file",
        ),
        pattern=r"latest batch id is (?P<latest>-?\d+), which is not trailing batchid (?P<checkpoint>\d+)|offset log for batch"
        r" (?P<missing>\d+)|"
        r"Failed to read log file (?P<path>\S+?)\.? Incomplete|Incomplete log file",
        where="line",
        sample=spark(_BATCH, "Batch completion log latest batch id is 39, which is not trailing batchid 42 by one", "WARN"),
        keep=(20, 5),
    ),
    Signature(
        id="batch-missing",
        ref="S15",
        says="A batch that a restart needs is not in the log.",
        literals=(" doesn't exist",),
        pattern=r"(?i:\bbatch) (?P<checkpoint>\d+) doesn't exist",
        where="line",
        sample=_ended("java.lang.IllegalStateException: batch 41 doesn't exist"),
        keep=(20, 5),
    ),
    Signature(
        id="checkpoint-sources-changed",
        says="The query has another number of sources than its checkpoint.",
        literals=("sources in the checkpoint offsets and now there are",),
        pattern=r"There are \[(?P<written>\d+)\] sources in the checkpoint offsets and now there are \[(?P<wanted>\d+)\]",
        where="line",
        sample=_ended(
            "java.lang.AssertionError: assertion failed: There are [1] sources in the checkpoint offsets and now there are [2] sources"
            " requested by the query. Cannot continue."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="query-stop-timeout",
        says="A query could not be stopped in time: its batch hangs.",
        literals=("spark.sql.streaming.stopTimeout",),
        pattern=r"within (?P<timeout_ms>\d+) milliseconds",
        where="line",
        sample=spark(
            "Main",
            "java.util.concurrent.TimeoutException: Stream Execution thread for stream orders failed to stop within 60000"
            " milliseconds (specified by spark.sql.streaming.stopTimeout).",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="foreach-batch-failed",
        says="User code of foreachBatch threw.",
        versions="4.0+",
        literals=("FOREACH_BATCH_USER_FUNCTION_ERROR", "FOREACH_USER_FUNCTION_ERROR"),
        where="line",
        sample=_ended(
            "org.apache.spark.SparkException: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in"
            " foreach batch sink."
        ),
        keep=(20, 5),
    ),
)
