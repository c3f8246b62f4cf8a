"""Exception chains as they are printed in the field, and the class each belongs to."""

from __future__ import annotations

import re

import pytest

from analyzers.derived.failures.fault_classes import FAULT_CLASSES, classify
from analyzers.report.finding import CAUSES

FORWARD = "org.apache.flink.streaming.runtime.tasks.ExceptionInChainedOperatorException: Could not forward element to next operator"
FRAMES = "org.apache.flink.streaming.api.operators.StreamMap.processElement\ncom.acme.orders.Parse.map"

_NOT_TAKEN = "org.apache.flink.runtime.checkpoint.CheckpointException: Could not complete snapshot 7 for operator Sink: files (1/1)#0. Failure reason: Checkpoint was declined."
CASES = [
    # broker-unreachable
    ("metadata-timeout", ["org.apache.kafka.common.errors.TimeoutException: Timeout expired while fetching topic metadata"], ""),
    ("handover-masked", ["org.apache.flink.streaming.connectors.kafka.internals.Handover$ClosedException"], "FlinkKafkaConsumerBase.lambda$createAndStartDiscoveryLoop$2"),
    ("handover-closed", ["org.apache.flink.streaming.connectors.kafka.internals.Handover$ClosedException"], "Handover.close\nKafkaFetcher.cancel"),
    ("admin-timeout", ["org.apache.flink.util.FlinkRuntimeException: Failed to list subscribed topic partitions due to ", "java.lang.RuntimeException: Failed to get metadata for topics [orders].",
                       "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: describeTopics"], ""),
    ("kafka-access-denied", ["org.apache.flink.util.FlinkRuntimeException: Failed to list subscribed topic partitions due to ",
                             "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]"], ""),
    ("kafka-access-denied", ["org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed during authentication due to invalid credentials"], ""),
    ("bootstrap-unresolvable", ["org.apache.kafka.common.KafkaException: Failed to construct kafka consumer",
                                "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers"], ""),
    ("producer-timeout", ["org.apache.kafka.common.errors.TimeoutException: Topic orders-out not present in metadata after 60000 ms."], ""),
    ("producer-timeout", ["org.apache.flink.util.FlinkRuntimeException: Failed to send data to Kafka", "org.apache.kafka.common.errors.TimeoutException: Expiring 12 record(s) for out-3:120000 ms has passed since batch creation"], ""),
    ("kafka-timeout", ["org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired before the position for partition orders-1 could be determined"], ""),
    ("kafka-connection", ["java.net.ConnectException: Connection refused"], "sun.nio.ch.SocketChannelImpl.checkConnect\norg.apache.kafka.common.network.PlaintextTransportLayer.finishConnect"),
    ("kafka-access-denied", ["Connection to node -1 (kafka-1/10.0.1.1:9093) failed authentication due to: LDAP user orders refused"], ""),
    ("kafka-access-denied", ["[thrd:ssl://kafka-1:9093/bootstrap]: ssl://kafka-1:9093/bootstrap: SSL handshake failed: error:0A000410:SSL routines::sslv3 alert handshake failure (after 9ms in state SSL_HANDSHAKE)"], ""),
    ("kafka-access-denied", ["[thrd:sasl_ssl://kafka-1:9093/1]: sasl_ssl://kafka-1:9093/1: SASL authentication error: Authentication failed (after 310ms in state AUTH_REQ)"], ""),
    ("unknown", ["[thrd:ssl://kafka-1:9093/1]: ssl://kafka-1:9093/1: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener? (after 9ms in state SSL_HANDSHAKE)"], ""),
    ("producer-timeout", ['cimpl.KafkaException: KafkaError{code=_TIMED_OUT,val=-185,str="Failed to initialize Producer ID: Local: Timed out"}'], ""),
    ("offset-gone", ['KafkaError{code=_AUTO_OFFSET_RESET,val=-140,str="fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)"}'], ""),
    ("producer-in-error", ["org.apache.kafka.common.KafkaException: Cannot execute transactional method because we are in an error state"], FRAMES),
    ("producer-fenced", ["org.apache.kafka.common.KafkaException: Cannot execute transactional method because we are in an error state",
                         "org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer with the same transactionalId which fences the current one."], FRAMES),
    # positions in the history that other sources keep; two at one table, two at one partition
    ("source-history-gone", ["java.lang.IllegalStateException: Cannot load current offset at snapshot 5237589120, the snapshot was expired or removed"], ""),
    ("source-history-gone", ["org.apache.spark.SparkException: Job aborted.", "com.amazonaws.services.kinesis.model.ResourceNotFoundException: Shard shardId-000000000000 in stream orders under account 1 does not exist"], ""),
    ("source-recreated", ["org.apache.spark.sql.delta.DeltaIllegalStateException: [DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE] The streaming query was reading from an unexpected Delta table (id = 'a'). It used to read from another Delta table (id = 'b') according to checkpoint."], ""),
    ("source-files-gone", ["java.io.FileNotFoundException: File s3://lake/t/part-1.parquet does not exist. It is possible the underlying files have been updated."], ""),
    ("source-rewritten", ["java.lang.UnsupportedOperationException: Detected deleted data (for example part-1.parquet) from streaming source at version 12. This is currently not supported."], ""),
    ("source-rewritten", ["java.lang.IllegalStateException: Cannot process overwrite snapshot: 8723, to ignore overwrites, set streaming-skip-overwrite-snapshots=true"], ""),
    ("source-schema-changed", ["org.apache.spark.sql.delta.DeltaIllegalStateException: [DELTA_SCHEMA_CHANGED_WITH_VERSION] Detected schema change in version 9:"], ""),
    ("source-history-gone", ["org.apache.iceberg.exceptions.ValidationException: Cannot find snapshot with ID 77612"], ""),
    # the state stores of Structured Streaming
    ("state-damaged", ["org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNEXPECTED_FILE_SIZE] An error occurred during loading state."], ""),
    ("state-missing", ["org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_FIND_BASE_SNAPSHOT_CHECKPOINT] An error occurred during loading state."], ""),
    ("state-unreadable", ["org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.", "java.net.SocketTimeoutException: Read timed out"], ""),
    ("state-locked", ["org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR] An error occurred during loading state. RocksDB instance could not be acquired by [ThreadId: Some(81)]"], ""),
    ("state-not-written", ["org.apache.spark.SparkException: [CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT] Error writing state store files for provider x. Cannot perform commit during state checkpoint."], ""),
    ("restore-incompatible", ["org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.INVALID_CHANGE_LOG_READER_VERSION] The change log reader version cannot be 3."], ""),
    ("restore-incompatible", ["org.apache.spark.sql.execution.streaming.state.StateStoreValueSchemaNotCompatible: [STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema does not match"], ""),
    ("other-query", ["org.apache.spark.SparkException: [STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match"], ""),
    ("writers-conflict", ["org.apache.spark.SparkException: Writing job aborted", "org.apache.iceberg.exceptions.CommitFailedException: Cannot commit: Base metadata location 'a' is not same as the current table metadata location 'b' for db.orders"], ""),
    ("commit-failed", ["org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot be completed since the consumer is not part of an active group"], ""),
    ("receiver-displaced", ["java.util.concurrent.CompletionException", "com.microsoft.azure.eventhubs.ReceiverDisconnectedException: New receiver 'spark-10-8438' with higher epoch of '0' is created"], ""),
    # who refuses a login is not down
    ("registry-refused", ["org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema for id 41",
                          "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Unauthorized; error code: 401"], ""),
    ("service-access-denied", ["com.rabbitmq.client.AuthenticationFailureException: ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN."], ""),
    ("service-access-denied", ["org.apache.pulsar.client.api.PulsarClientException$AuthenticationException: Unable to authenticate"], ""),
    # a sink that writes its files when the barrier comes: the checkpoint fails, its storage does not
    ("storage-access", [_NOT_TAKEN, "java.nio.file.AccessDeniedException: out/part-0-0: initiate MultiPartUpload on out/part-0-0: com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied (Service: Amazon S3; Status Code: 403)"],
     "org.apache.flink.fs.s3.common.writer.S3RecoverableMultipartUploadFactory.getNewRecoverableUpload\norg.apache.flink.connector.file.sink.writer.FileWriterBucket.rollPartFile"),
    ("store-outage", [_NOT_TAKEN, "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create file /out/x. Name node is in safe mode."],
     "org.apache.flink.runtime.fs.hdfs.HadoopRecoverableFsDataOutputStream.sync\norg.apache.flink.streaming.api.functions.sink.filesystem.Bucket.onReceptionOfCheckpoint"),
    ("store-outage", ["java.io.IOException: Could not perform checkpoint 7 for operator Writer : orders (1/1)#0.", "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /warehouse is exceeded"],
     "org.apache.paimon.io.RowDataFileWriter.close\norg.apache.paimon.flink.sink.StoreSinkWriteImpl.prepareCommit"),
    ("snapshot-failed", [_NOT_TAKEN, "org.apache.hadoop.hdfs.server.namenode.SafeModeException: Cannot create file /chk-7/x. Name node is in safe mode."],
     "org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory$FsCheckpointStateOutputStream.flushToFile"),
    ("snapshot-failed", ["java.io.IOException: Could not open output stream for state backend", 'org.apache.hadoop.fs.azurebfs.contracts.exceptions.AbfsRestOperationException: Operation failed: "This request is not authorized to perform this operation using this permission.", 403, PUT'],
     "org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory$FsCheckpointStateOutputStream.createStream"),
    ("receiver-displaced", ["org.apache.pulsar.client.api.PulsarClientException$ConsumerBusyException: Exclusive consumer is already connected"], ""),
    # Pulsar's enumerator says it in the words of Kafka's
    ("service-http", ["org.apache.flink.util.FlinkRuntimeException: Failed to list subscribed topic partitions due to ",
                      "java.lang.RuntimeException: org.apache.pulsar.client.admin.PulsarAdminException: HTTP 502 Bad Gateway",
                      "org.apache.pulsar.client.admin.PulsarAdminException: HTTP 502 Bad Gateway"], ""),
    ("admin-timeout", ["org.apache.flink.util.FlinkRuntimeException: Failed to list subscribed topic partitions due to ",
                       "java.lang.RuntimeException: Failed to get metadata for topics [orders]."], ""),
    ("writers-conflict", ["java.lang.RuntimeException: File deletion conflicts detected! Give up committing.", "java.lang.IllegalStateException: Trying to delete file {bucket 3, level 0, file data-9a.orc} which is not previously added."], ""),
    ("writers-conflict", ["java.lang.IllegalStateException: Trying to delete file data-0b1c.orc which is not previously added. Manifest might be corrupted."], ""),
    ("service-http", ["com.amazonaws.services.kinesis.model.AmazonKinesisException: null (Service: AmazonKinesis; Status Code: 503; Error Code: null; Request ID: null)"], ""),
    ("search-outage", ["org.apache.kafka.connect.errors.ConnectException: Flush timeout expired with unflushed records: 2000"], ""),
    ("partition-gone", ["org.apache.kafka.common.errors.WakeupException"], ""),
    ("producer-in-error", ["java.lang.IllegalStateException: Producer is closed forcefully."], ""),
    ("leader-missing", ["org.apache.kafka.common.errors.NotEnoughReplicasException: Messages are rejected since there are fewer in-sync replicas than required."], ""),
    # poison-record
    ("deserialise", ["java.io.IOException: Failed to deserialize consumer record due to", 'java.lang.NumberFormatException: For input string: "12,50"'], "KafkaRecordEmitter.emitRecord"),
    ("deserialise", ["org.apache.kafka.common.errors.RecordDeserializationException: Error deserializing VALUE for partition orders-2 at offset 390. If needed, please seek past the record to continue consumption."], ""),
    ("deserialise", ["org.apache.kafka.common.errors.SerializationException: Unknown magic byte!"], ""),
    ("deserialise", ["org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema for id 41",
                     "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Schema 41 not found; error code: 40403"], ""),
    ("registry-outage", ["org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema for id 41",
                         "java.net.ConnectException: Connection refused (Connection refused)"], ""),
    ("registry-outage", ["java.io.IOException: Failed to deserialize consumer record due to", "org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema for id 7",
                         "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Internal Server Error; error code: 50001"], ""),
    ("corrupt-batch", ["org.apache.kafka.common.KafkaException: Received exception when fetching the next record from orders-0. If needed, please seek past the record to continue consumption.",
                       "org.apache.kafka.common.InvalidRecordException: Record batch for partition orders-0 at offset 120 is invalid, cause: Record is corrupt (stored crc = 1, computed crc = 2)"], ""),
    ("record-too-large", ["org.apache.kafka.common.errors.RecordTooLargeException: The message is 1208423 bytes when serialized which is larger than 1048576, which is the value of the max.request.size configuration."], ""),
    ("sink-refuses", [FORWARD, "org.postgresql.util.PSQLException: ERROR: null value in column \"amount\" violates not-null constraint"], FRAMES),
    ("sink-refuses", ["org.apache.flink.table.api.TableException: Column 'amount' is NOT NULL, however, a null value is being written into it."], ""),
    ("sink-refuses", ["ElasticsearchException[Elasticsearch exception [type=mapper_parsing_exception, reason=failed to parse field [price] of type [float]]]"], ""),
    ("deserialise", ["java.lang.NumberFormatException: For input string: \"12,50\""],
     ("lab.Job$OrderDeserializer.deserialize\norg.apache.flink.api.common.serialization.DeserializationSchema.deserialize\n"
     "org.apache.flink.streaming.connectors.kafka.internals.KafkaDeserializationSchemaWrapper.deserialize\n"
     "org.apache.flink.streaming.connectors.kafka.internals.KafkaFetcher.partitionConsumerRecordsHandler")),
    ("user-code-data", [FORWARD, "java.lang.NullPointerException"], FRAMES),
    ("user-code-data", [FORWARD, "java.lang.ArithmeticException: / by zero"], FRAMES),
    ("user-code", [FORWARD, "com.acme.orders.NegativeAmountException: amount -3"], FRAMES),
    ("user-code-data", ["org.apache.spark.api.python.PythonException: Traceback (most recent call last):", "ValueError: invalid literal for int() with base 10: 'x'"], "PythonException"),
    ("user-code-data", ["org.apache.flink.types.NullFieldException: Field 3 is null, but expected to hold a value."], ""),
    ("sink-refuses", ["java.sql.BatchUpdateException: ORA-12899: value too large for column \"A\".\"B\".\"C\" (actual: 60, maximum: 50)"], ""),
    ("deserialise", ["com.google.protobuf.InvalidProtocolBufferException$InvalidWireTypeException: Protocol message tag had invalid wire type."], ""),
    ("sink-refuses", ["java.io.IOException: Could not perform checkpoint 7 for operator orders: Writer (1/20)#0.",
                      "org.apache.doris.flink.exception.DorisRuntimeException: stream load error: [DATA_QUALITY_ERROR]Encountered unqualified data, stop processing"], ""),
    ("storage-write", ["java.io.IOException: rename from abfss://c@a.dfs.core.windows.net/_checkpoint/orders/offsets/.41.1a2b.tmp to abfss://c@a.dfs.core.windows.net/_checkpoint/orders/offsets/41 failed."], ""),
    # a client's own exception blames what it calls, unless it was given something wrong
    ("service-said", [FORWARD, "com.google.cloud.bigquery.BigQueryException: Exceeded rate limits: too many table update operations for this table"], FRAMES),
    ("service-said", [FORWARD, "ru.yandex.clickhouse.except.ClickHouseException: code: 252, Code: 252, DB::Exception: Too many parts (300)"], FRAMES),
    ("service-said", [FORWARD, "okhttp3.internal.http2.StreamResetException: stream was reset: REFUSED_STREAM"], FRAMES),
    ("service-said", ["java.lang.RuntimeException: Writing records to JDBC failed.", "java.sql.SQLException: Connection is closed"], ""),
    ("service-client", [FORWARD, "com.aerospike.client.AerospikeException: Error 22"], FRAMES),
    ("user-code", [FORWARD, "com.google.cloud.bigquery.BigQueryException: Invalid value for field amount"], FRAMES),
    ("store-outage", [FORWARD, "com.rabbitmq.client.AlreadyClosedException: connection is already closed due to connection error"], FRAMES),
    # the program, not a record
    ("program-error", ["java.lang.RuntimeException: Record has Long.MIN_VALUE timestamp (= no timestamp marker). Is the time characteristic set to 'ProcessingTime'?"], FRAMES),
    ("program-error", ["java.lang.IllegalArgumentException: Key group 37 is not in KeyGroupRange{startKeyGroup=0, endKeyGroup=31}."], FRAMES),
    # a full disk: the worker's, the checkpoint storage's, or the service's
    ("worker-disk-full", ["java.io.IOException: No space left on device"], FRAMES),
    ("disk-full", ["java.io.IOException: Could not flush and close the file system output stream to file:/mnt/checkpoints/c/chk-22/x", "java.io.IOException: No space left on device"], ""),
    ("producer-fenced", ["org.apache.kafka.common.errors.InvalidPidMappingException: The producer attempted to use a producer id which is not currently assigned to its transactional id."], ""),
    ("kafka-access-denied", ["org.apache.kafka.common.KafkaException: javax.security.auth.login.LoginException: Could not login: the client is being asked for a password"], ""),
    # packaging, platform, versions: neither a record nor a checkpoint is to blame
    ("class-not-made", ["org.apache.flink.streaming.runtime.tasks.StreamTaskException: Cannot instantiate user function.",
                        "java.io.InvalidObjectException: ReflectiveOperationException during deserialization", "java.lang.IllegalArgumentException: too many arguments"], "scala.runtime.LambdaDeserializer$.deserializeLambda\norg.apache.flink.streaming.api.operators.StreamMap.map"),
    ("native-library", ["org.apache.flink.util.FlinkException: Could not restore keyed state backend for StreamMap_1(1/1) from any of the 1 provided restore options.",
                        "java.io.IOException: Could not load the native RocksDB library", "java.lang.UnsatisfiedLinkError: /tmp/librocksdbjni-linux64.so: Error loading shared library ld-linux-x86-64.so.2"], ""),
    ("kafka-version", ["org.apache.kafka.common.errors.UnsupportedVersionException: Cannot create a v0 FindCoordinator request because we require features supported only in 1 or later."], ""),
    ("program-error", ["java.lang.IllegalArgumentException: The requested state does not exist. Check for typos in your state descriptor, or specify the state descriptor in the datastream.broadcast(...) call"], FRAMES),
    ("file-system-missing", ["java.io.IOException: Could not create FileSystem for highly available storage path (hdfs://ns/flink/ha/default)",
                             "org.apache.flink.core.fs.UnsupportedFileSystemSchemeException: Could not find a file system implementation for scheme 'hdfs'. The scheme is not directly supported by Flink"], ""),
    ("rpc-too-large", ["java.io.IOException: The rpc invocation size 27329480 exceeds the maximum akka framesize."], ""),
    # a statement that the database refuses: no outage, and no row
    ("statement-refused", [FORWARD, 'com.acme.StreamLoadFailException: { "Status": "Fail", "Message": "Syntax error in line 1: create,edit'], FRAMES),
    ("statement-refused", ["java.sql.SQLSyntaxErrorException: Unknown column 'amount' in 'field list'"], FRAMES),
    # files of a lake table: neither Flink's state nor an outage of the store
    ("table-files", ["org.apache.iceberg.exceptions.NotFoundException: Failed to open input stream for file: hdfs://nn/lake/t/metadata/a-00011.avro"], "org.apache.iceberg.flink.sink.IcebergFilesCommitter.initializeState"),
    ("table-files", ["java.lang.RuntimeException: java.io.FileNotFoundException: File 's3://lake/t/manifest/manifest-list-1' not found"], "org.apache.paimon.flink.sink.TableWriteOperator.initializeState"),
    ("source-history-gone", ["org.apache.paimon.table.source.OutOfRangeException: The snapshot with id 41 has expired."], ""),
    ("source-history-gone", ["DeltaFileNotFoundException: [DELTA_TRUNCATED_TRANSACTION_LOG] s3://lake/t/_delta_log/0.json: Unable to reconstruct state at version 2"], ""),
    ("iterator-expired", ["com.amazonaws.services.kinesis.model.ExpiredIteratorException: Iterator expired. The iterator was created at time Fri Mar 15 07:58:30 UTC 2024"], ""),
    ("database-log-gone", ["org.apache.kafka.connect.errors.ConnectException: ResumeToken not found. Cannot create a change stream cursor"], ""),
    ("checkpoint-missing", ["java.io.FileNotFoundException: File s3://cp/7537dc3f/chk-120/75613fb4 does not exist"], "org.apache.paimon.flink.sink.TableWriteOperator.initializeState"),
    # main() itself, or the job that it waits for
    ("main-failed", ["org.apache.flink.client.program.ProgramInvocationException: The main method caused an error: null", "java.lang.NullPointerException"],
     "com.acme.orders.Main.main\njava.lang.reflect.Method.invoke\norg.apache.flink.client.program.PackagedProgram.callMainMethod"),
    ("main-failed", ["java.lang.IllegalArgumentException"], "com.acme.orders.Main.main\njava.lang.reflect.Method.invoke\norg.apache.flink.client.program.PackagedProgram.callMainMethod"),
    ("main-failed", ["java.lang.RuntimeException: Python process exits with code: 1"], "org.apache.flink.client.python.PythonDriver.main\njava.lang.reflect.Method.invoke"),
    ("user-code-data", ["org.apache.flink.client.program.ProgramInvocationException: The main method caused an error: Job execution failed.", "org.apache.flink.runtime.client.JobExecutionException: Job execution failed.",
                        "java.lang.NullPointerException"], FRAMES),
    ("metadata-timeout", ["org.apache.flink.client.program.ProgramInvocationException: The main method caused an error: x",
                          "org.apache.kafka.common.errors.TimeoutException: Timeout expired while fetching topic metadata"], "PackagedProgram.callMainMethod"),
    # the source framework's wrapper, cut before its cause
    ("source-fetcher", ["java.lang.RuntimeException: One or more fetchers have encountered exception"], "SourceReaderBase.pollNext"),
    # change data capture
    ("slot-refused", ["io.debezium.DebeziumException: Creation of replication slot failed", 'org.postgresql.util.PSQLException: ERROR: could not access file "decoderbufs": No such file or directory'], ""),
    ("slot-refused", ['org.postgresql.util.PSQLException: ERROR: replication slot "orders" is active for PID 79319'], ""),
    ("service-access-denied", ["org.postgresql.util.PSQLException: ERROR: must be superuser to create FOR ALL TABLES publication"], ""),
    ("database-outage", ["io.debezium.jdbc.JdbcConnectionException: An I/O error occurred while sending to the backend."], ""),
    ("leader-missing", ["java.lang.Exception: Failed to send data to Kafka: This server is not the leader for that topic-partition."], ""),
    # external-system
    ("sink-gave-up", ["java.io.IOException: java.sql.SQLException: Attempt to execute batch failed, exhausted retry times = 3"], FRAMES),
    ("service-access-denied", ["org.postgresql.util.PSQLException: FATAL: password authentication failed for user \"enricher\""], ""),
    ("database-outage", [FORWARD, "com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure", "java.net.ConnectException: Connection refused"], FRAMES),
    ("database-outage", ["java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after 30000ms."], FRAMES),
    ("service-unreachable", [FORWARD, "org.apache.http.conn.HttpHostConnectException: Connect to profiles:8080 failed: Connection refused"], FRAMES),
    ("service-http", [FORWARD, "com.acme.http.ApiException: HTTP 503 Service Unavailable"], FRAMES),
    ("service-http", [FORWARD, "java.io.IOException: Server returned HTTP response code: 502 for URL: http://profiles/api"], FRAMES),
    ("store-outage", [FORWARD, "redis.clients.jedis.exceptions.JedisConnectionException: Could not get a resource from the pool"], FRAMES),
    ("store-outage", ["java.lang.Exception: Could not complete the stream element", "java.util.concurrent.TimeoutException: Async function call has timed out."], "AsyncWaitOperator"),
    ("search-outage", ["NoNodeAvailableException[None of the configured nodes are available]"], ""),
    ("storage-access", [FORWARD, "software.amazon.awssdk.services.dynamodb.model.DynamoDbException: Access Denied (Service: DynamoDb, Status Code: 403)"], FRAMES),
    # offsets
    ("offset-gone", ["org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Offsets out of range with no configured reset policy for partitions: {orders-1=12}"], ""),
    ("offset-undefined", ["org.apache.kafka.clients.consumer.NoOffsetForPartitionException: Undefined offset with no reset policy for partitions: [orders-0]"], ""),
    ("spark-data-loss", ["java.lang.IllegalStateException: Partition orders-0's offset was changed from 500 to 20, some data may have been missed."], ""),
    ("producer-fenced", ["org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer with the same transactionalId which fences the current one."], ""),
    ("commit-failed", ["org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member."], ""),
    ("transaction-timeout-too-large", ["org.apache.kafka.common.errors.InvalidTxnTimeoutException: The transaction timeout is larger than the maximum value allowed by the broker (as configured by transaction.max.timeout.ms)."], ""),
    # checkpoints
    ("tolerance-expired", ["org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure threshold. The latest checkpoint failed due to Checkpoint expired before completing., view the Checkpoint History tab"], ""),
    ("tolerance-storage", ["org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure threshold. The latest checkpoint failed due to Failure to finalize checkpoint., view the Checkpoint"], ""),
    ("tolerance", ["org.apache.flink.util.FlinkRuntimeException: Exceeded checkpoint tolerable failure threshold."], ""),
    ("state-too-large", ["java.io.IOException: Size of the state is larger than the maximum permitted memory-backed state. Size=6291497 , maxSize=5242880 ."], ""),
    ("checkpoint-missing", ["org.apache.flink.runtime.client.JobInitializationException: Could not start the JobMaster.", "java.io.FileNotFoundException: Cannot find checkpoint or savepoint file/directory 'file:/data/chk-9' on file system 'file'."], ""),
    ("checkpoint-missing", ["org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred during loading state."], ""),
    ("restore-incompatible", ["java.lang.IllegalStateException: Failed to rollback to checkpoint/savepoint hdfs:/sp/savepoint-1. Cannot map checkpoint/savepoint state for operator cbc357ccb763df2852fee8c4fc7d55f2 to the new program"], ""),
    ("two-writers", ["org.apache.spark.SparkException: [CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 12."], ""),
    ("log-damaged", ["java.lang.IllegalStateException: Failed to read log file /cp/offsets/7. Incomplete log file"], ""),
    ("other-query", ["java.lang.AssertionError: assertion failed: There are [1] sources in the checkpoint offsets and now there are [2] sources requested by the query. Cannot continue."], ""),
    ("disk-full", ["java.io.IOException: Could not flush to file and close the file system output stream to file:/data/checkpoints/1/chk-9/x", "java.io.IOException: No space left on device"], ""),
    ("snapshot-failed", ["java.lang.Exception: Could not materialize checkpoint 12 for operator totals (1/4)#0.", "java.io.IOException: Could not open output stream for state backend",
                         "org.apache.hadoop.ipc.RemoteException: SafeModeException: Name node is in safe mode"], ""),
    # workers and JobManager
    ("heartbeat-lost", ["java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id container_e08_1 timed out."], ""),
    ("heartbeat-lost", ["java.util.concurrent.TimeoutException: The heartbeat of TaskManager with id tm-1  timed out."], ""),
    ("heartbeat-lost", ["org.apache.flink.runtime.jobmaster.JobMasterException: TaskManager with id tm-1(10.0.0.3:6122) is no longer reachable."], ""),
    ("deploy-timeout", ["java.lang.Exception: Cannot deploy task enrich (1/8) (de8f109e944dfa92d35cdc3f79f40000) - TaskManager (tm-1 @ h) not responding after a rpcTimeout of 10000 ms",
                        "java.util.concurrent.TimeoutException: Invocation of [RemoteRpcInvocation(TaskExecutorGateway.submitTask(TaskDeploymentDescriptor, JobMasterId, Time))] at recipient [pekko.tcp://flink@h:6122/user/rpc/taskmanager_0] timed out."], ""),
    ("executor-lost", ["org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 1.0 failed 4 times, most recent failure: Lost task 3.3 in stage 1.0 (TID 10) (10.0.2.7 executor 9): ExecutorLostFailure (executor 9 exited unrelated to the running tasks) Reason: Remote RPC client disassociated"], ""),
    ("quarantined", ["Tried to associate with unreachable remote address [akka.tcp://flink@jm:6123]. Reason: [The remote system has quarantined this system.]"], ""),
    ("connection-to-worker", ["org.apache.flink.runtime.io.network.netty.exception.LocalTransportException: readAddress(..) failed: Connection reset by peer (connection to '10.0.0.3/10.0.0.3:44191')"], ""),
    ("connection-to-worker", ["org.apache.flink.runtime.io.network.partition.consumer.PartitionConnectionException: Connection for partition 1a not reachable.",
                              "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException: Connecting to remote task manager '/10.0.0.3:44191' has failed.", "java.lang.NullPointerException"], ""),
    ("out-of-memory", ["java.lang.OutOfMemoryError: Java heap space"], ""),
    ("database-outage", ["org.apache.flink.runtime.checkpoint.CheckpointException: Could not complete snapshot 12 for operator Sink: db (1/2)#0. Failure reason: Checkpoint was declined.",
                         "java.io.IOException: java.sql.BatchUpdateException: Communications link failure", "com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure"], ""),
    ("snapshot-failed", ["org.apache.flink.runtime.checkpoint.CheckpointException: Could not complete snapshot 12 for operator totals (1/2)#0. Failure reason: Checkpoint was declined.",
                         "java.io.IOException: Could not open output stream for state backend", "com.amazonaws.services.s3.model.AmazonS3Exception: Access Denied"], ""),
    ("jobmanager-killed", ["Application application_1722000000000_0031 failed 2 times due to AM Container for appattempt_1722000000000_0031_000002 exited with  exitCode: 137"], ""),
    ("partition-gone", ["org.apache.flink.util.FlinkException: Scheduler is being stopped."], ""),
    ("out-of-memory", [FORWARD, "java.lang.OutOfMemoryError: Metaspace. The metaspace out-of-memory error has occurred."], FRAMES),
    ("no-slots", ["org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Could not acquire the minimum required resources."], ""),
    ("container-killed", ["java.lang.Exception: Container container_e08_1 on host: h failed with exit code: 137"], ""),
    ("leadership-lost", ["org.apache.flink.util.FlinkException: JobManager is no longer the leader."], ""),
    ("cancelled", ["org.apache.flink.runtime.execution.CancelTaskException: Consumed partition PipelinedSubpartitionView"], ""),
    ("unknown", ["java.lang.NoClassDefFoundError: com/acme/Missing"], ""),
    ("unknown", ["org.apache.spark.api.python.PythonException: Traceback (most recent call last):", "ModuleNotFoundError: No module named 'pyarrow'"], "PythonException"),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "chain", "frames"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_chain_belongs_to_class(expected: str, chain: list[str], frames: str) -> None:
    assert classify(tuple(chain), chain[0], frames).id == expected


def test_what_open_throws_is_no_record() -> None:
    frames = "com.acme.Lookup.load\ncom.acme.Enrich.open\norg.apache.flink.api.common.functions.util.FunctionUtils.openFunction\norg.apache.flink.streaming.runtime.tasks.StreamTask.invoke"
    assert classify(("java.lang.NullPointerException: table is null",), "", frames).id == "unknown"
    assert (
        classify(("com.acme.LicenceExpiredException: licence 4711 ended",), "", f"{frames}\nuser frame: com.acme.Lookup.load").id
        == "unknown"
    )


def test_header_that_names_threads_and_loggers_rules_nothing_out() -> None:
    header = "2026-11-21 12:18:43,020 WARN  org.apache.flink.runtime.taskmanager.Task [flink-pekko.actor.default-dispatcher-5] - enrich (1/2)#0 switched from RUNNING to FAILED"
    assert classify(("java.net.ConnectException: Connection refused",), header, FRAMES).id == "service-unreachable"


def test_lost_connection_to_the_clusters_own_services_is_no_outage_of_a_called_one() -> None:
    header = "2026-11-21 12:18:43,020 WARN  org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.ClientCnxn [] - Session 0x0 for server null, closing socket"
    assert (
        classify(("java.net.ConnectException: Connection refused",), header, "ClientCnxnSocketNIO.doTransport").id != "service-unreachable"
    )


def test_every_class_compiles_and_names_a_known_cause() -> None:
    ids = [(c.id, c.frames) for c in FAULT_CLASSES]
    assert len(ids) == len(set(ids))
    for each in FAULT_CLASSES:
        assert each.cause is None or each.cause in CAUSES
        for pattern in (each.text, each.frames, each.unless):
            if pattern:
                re.compile(pattern)
