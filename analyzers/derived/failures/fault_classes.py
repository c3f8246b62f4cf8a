"""What an exception chain says about the thing that must be repaired: an ordered table, the most telling text first.

A class is tried on the whole chain ("class: message" per exception, outermost first) and on the first lines of the event, so that
it holds for stack traces, for exceptions flattened into one line and for fragments. Sources: the exception texts of Flink, kafka-clients,
Beam and Spark by release, and the drivers' own (JDBC, HTTP, Elasticsearch, Redis, Cassandra, MongoDB, object stores).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from analyzers.derived.failures.fault_words import (
    CLIENT_LIBRARIES,
    CLUSTER_LOGGER,
    CONNECTION_GONE,
    DATA,
    FLINK_NET,
    GIVEN_WRONG,
    HTTP_OUTAGE,
    JOB_ENDED,
    KAFKA_PLACE,
    OPENING,
    OTHER_STREAM,
    PER_RECORD,
    SERVICE_SAYS,
    SETUP,
    SINK_FILES,
    STATE_WRITTEN,
    STORAGE_SAYS,
)
from analyzers.derived.failures.needed_words import Candidates
from analyzers.logs.signatures import protocol_errors
from analyzers.logs.signatures.protocol_errors import words


@dataclass(frozen=True)
class FaultClass:
    """One class of faults.

    ``text``: searched in the chain and the message. ``frames``: must also be found among frames and text, where given.
    ``unless``: rules the class out. ``not_in``: so does such a frame. ``running``: so does a frame of a task's set-up: what open() throws, it throws for no record.
    ``consequence``: never a cause, at most a trigger. ``strong``: says so even where no job is seen to fail.
    """

    id: str
    cause: str | None
    reason: str | None
    text: str
    frames: str | None = None
    unless: str | None = None
    not_in: str | None = None
    running: bool = False
    consequence: bool = False
    strong: bool = False


FAULT_CLASSES: tuple[FaultClass, ...] = (
    # what the operator throws says what it could not do with a deployment: RST103 counts it
    FaultClass("operator", "other", "operator", r"org\.apache\.flink\.kubernetes\.operator\.exception\."),
    # --- one class, loaded twice: packaging, whatever the task was doing ---------------------------------------------------------------------
    FaultClass("class-twice", "other", "class-loading", r"(?:class )?([\w.$]+) cannot be cast to (?:class )?\1\b"),
    # a function that is not even made has seen no record, whatever its deepest exception looks like
    FaultClass("class-not-made", "other", "class-loading",
               r"Cannot (?:instantiate user function|load user class)|Could not instantiate outputs in order|cannot assign instance of java\.lang\.invoke\.SerializedLambda"),
    FaultClass("native-library", "other", "native-library",
               r"UnsatisfiedLinkError|Could not load the native RocksDB library|Could not initialize class org\.(?:rocksdb|xerial\.snappy)\."),
    # --- the program itself is wrong: no record is to blame, although one is at hand -----------------------------------------------------------
    FaultClass("program-error", "other", "program",
               r"Record has Long\.MIN_VALUE timestamp \(= no timestamp marker\)|Key group -?\d+ is not in KeyGroupRange|Timestamps/Watermarks (?:are|is) not (?:set|assigned)|The requested state does not exist\. Check for typos in your state descriptor"),
    FaultClass("statement-refused", "other", "statement",
               r"SQLSyntaxErrorException|BadSqlGrammarException|You have an error in your SQL syntax|(?i:syntax error (?:at or near|in line))|ORA-009\d\d|relation \"[^\"]+\" does not exist|Table '[^']+' doesn't exist|Unknown column '"),
    FaultClass("file-system-missing", "other", "file-system", r"UnsupportedFileSystemSchemeException|Could not find a file system implementation for scheme"),
    FaultClass("kafka-version", "other", "kafka-version", r"org\.apache\.kafka\.common\.errors\.UnsupportedVersionException"),
    FaultClass("rpc-too-large", "other", "rpc-too-large", r"rpc invocation size \d+ exceeds the maximum|exceeds the maximum (?:akka|pekko|rpc) framesize|Discarding oversized payload sent to"),
    # --- a process that was told to end; endings.py tells what else is a consequence of that ------------------------------------------------
    FaultClass("told-to-end", None, None,
               r"cancelled because SparkContext was shut ?down|cancelled (?:as )?part of (?:cancelled job group|cancellation of all jobs)|methods on a stopped SparkContext"
               r"|SparkContext has been shutdown|SparkException: Could not find (?:CoarseGrainedScheduler|HeartbeatReceiver|BlockManagerEndpoint)|RpcEnvStoppedException"
               r"|Shutdown in progress, cannot (?:add|remove) a shutdownHook|(?m:^KeyboardInterrupt\b)", consequence=True),
    # --- a task is stopped because another one failed: never a cause -------------------------------------------------------------------------
    FaultClass("cancelled", None, None, r"CancelTaskException|TaskCancelerWatchDog|Task (?:was )?cancell?ed|JobCancellationException|java\.util\.concurrent\.CancellationException", consequence=True),
    FaultClass("streams-reassigned", None, None, r"Task(?:Corrupted|Migrated)Exception|LockException: [^\n]{0,200}Failed to lock the state directory", consequence=True),  # a thread of Kafka Streams takes them up again
    FaultClass("connect-ended", None, None, r"Shared scheduler not started", consequence=True),  # another thread of the worker ended it meanwhile
    FaultClass("name-taken", None, None, r"InstanceAlreadyExistsException", consequence=True),
    # --- Kafka says which record ------------------------------------------------------------------------------------------------------------
    FaultClass("corrupt-batch", "poison-record", "corrupt-batch",
               r"Record batch for partition \S+ at offset \d+ is invalid|Record is corrupt|Encountered corrupt message when fetching|CorruptRecordException|InvalidRecordException|Received exception when fetching the next record", strong=True),
    FaultClass("record-too-large", "poison-record", "sink-refuses",
               r"RecordTooLargeException|MessageSizeTooLargeException|Broker: Message size too large|The message is \d+ bytes when serialized which is larger|larger than the max(?:imum)? (?:message|request) size", strong=True),
    # --- schema registry: an outage is no poison ---------------------------------------------------------------------------------------------
    FaultClass("registry-outage", "external-system", "schema-registry",
               rf"(?s)(?:RestClientException|SchemaRegistry|schema registry|Error (?:retrieving|registering) (?:Avro|JSON|Protobuf)\S* (?:key|value|schema)|Error deserializing (?:Avro|JSON|Protobuf) message|Could not find schema with id|Failed to deserialize).*(?:error code: 5\d\d|error code: 50\d\d\d|{CONNECTION_GONE}|{HTTP_OUTAGE})"),
    FaultClass("registry-refused", "external-system", "access-denied", r"(?s)(?:RestClientException|SchemaRegistry|schema registry|Error (?:retrieving|registering) (?:Avro|JSON|Protobuf)).*(?:Unauthorized|Forbidden|error code: 40[13]\b)"),
    FaultClass("registry-write", "external-system", "schema-registry", r"Error (?:registering (?:Avro|JSON|Protobuf) schema|retrieving (?:Avro|JSON|Protobuf) schema(?! for id))"),
    FaultClass("connect-rest", "other", "connect-rest", r"trying to forward REST request|Request to leader to reconfigure connector tasks failed"),
    FaultClass("schema-history", "other", "schema-history", r"(?:schema |db |database )history topic (?:or its content )?is (?:fully or partially )?missing|whose schema isn't known to this connector"),
    # a worker of Kafka Connect ends itself; it times out while brokers answer and refuse (TopicAdmin)
    FaultClass("connect-topic", "other", "connect-topic",
               r"property is required to have 'cleanup\.policy=compact'|Timeout expired while trying to create topic\(s\)|Error while attempting to create/find topic\(s\) [\s\S]{0,600}InvalidReplicationFactor", strong=True),
    # --- Kafka unreachable -------------------------------------------------------------------------------------------------------------------
    FaultClass("handover-masked", "broker-unreachable", "metadata-timeout",
               r"Handover\$ClosedException", frames=r"createAndStartDiscoveryLoop", strong=True),
    FaultClass("kafka-access-denied", "broker-unreachable", "access-denied",
               r"SaslAuthenticationException|SslAuthenticationException|Failed to load SSL keystore|Could not find a 'KafkaClient' entry in the JAAS|KafkaException: javax\.security\.auth\.login\.LoginException|UnsupportedSaslMechanismException|IllegalSaslStateException|Unable to find LoginModule class|(?:Topic|Group|Cluster|TransactionalId|DelegationToken)AuthorizationException|Not authorized to access (?:topics|group)|Cluster authorization failed|(?i:authentication failed(?: during authentication)? due to|failed authentication due to)|InvalidGroupIdException: To use the group management"
               rf"|Local: Authentication failure|KafkaJSSASLAuthenticationError|{words(protocol_errors.ACCESS)}"
               # kafka-python and aiokafka, franz-go, sarama and kafkajs where the certificate is not accepted
               r"|(?:Topic|Group|Cluster|TransactionalId)AuthorizationFailedError|unable to initialize sasl"
               r"|(?:run out of available brokers to talk to|to open connection to broker|Failed to connect to broker)\b[^\n]*(?:\n {4}with [^\n]*)?(?:x509: |tls: (?:failed to verify|bad certificate|unknown certificate|certificate ))"
               r"|(?:KafkaConnectionError|Unable connect to \"|<BrokerConnection )[^\n]*CERTIFICATE_VERIFY_FAILED|\[Connection\] Connection error: (?:self[- ]signed certificate|unable to (?:verify|get)|certificate has expired|Hostname/IP does not match)"
               # librdkafka; where the other side only hangs up, the certificate need not be to blame
               r"|(?:\[thrd:[^\n]{1,400}?|\b(?:sasl_)?(?:ssl|plaintext)://[\w.-]+:\d+/\w+: )(?:Failed to verify broker certificate|SSL handshake failed: (?!Disconnected)[^\n]{0,200}(?:certificate|unknown ca|alert handshake failure|wrong version number)|(?:SASL authentication error|SASL \S+ mechanism handshake failed): (?![^\n]*Local: (?:Timed out|Broker transport)))", strong=True),
    FaultClass("kafka-access-denied", "broker-unreachable", "access-denied", r"Failed to (?:create new KafkaAdminClient|construct kafka (?:consumer|producer))", frames=r"LoginContext|AbstractLogin|SaslChannelBuilder|SslFactory|SslEngineFactory", strong=True),
    FaultClass("bootstrap-unresolvable", "broker-unreachable", "dns", r"No resolvable bootstrap urls given in bootstrap\.servers|(?:(?:Couldn't|Could not) resolve|Removing) server \S+ from (?:`)?bootstrap\.servers", strong=True),
    FaultClass("metadata-timeout", "broker-unreachable", "metadata-timeout", r"client has run out of available brokers to talk to|NoBrokersAvailable\b|KafkaConnectionError: Unable to bootstrap from|KafkaTimeoutError: (?:KafkaTimeoutError: )?Failed to update metadata after|KafkaJS\w+: (?:Connection (?:error|timeout)|Not connected)|Timeout expired while fetching topic metadata|Timeout expired before the topic metadata|Failed to update metadata after \d+ ?ms|Unable to fetch metadata for", strong=True),
    FaultClass("topic-missing", "other", "topic-missing", r"Topic\(s\) \[[^\]\n]*\] is/are not present and missingTopicsFatal is true", frames=r"missingTopicsFatal", strong=True),
    FaultClass("topic-missing", "other", "topic-missing", r"UnknownTopicOrPartitionException|Broker: Unknown topic or partition|kafka server: Request was for a topic or partition that does not exist|\[3\] Unknown Topic Or Partition|source topics (?:are|were) missing|This server does not host this topic-partition|Could not fetch partitions for .* Make sure that the topic exists|Unable to retrieve any partitions with KafkaTopicsDescriptor|does not exist on Kafka brokers"),
    FaultClass("admin-timeout", "broker-unreachable", "metadata-timeout",
               r"Timed out while checking for or creating topic\(s\)|Could not create internal topics within \d+ milliseconds|Timed out waiting for a node assignment|Timed out waiting to send the call|Call\(callName=\w+, deadlineMs=\d+|Failed to list subscribed topic partitions|Failed to get metadata for (?:topics|all topics|\S+ topics)|Failed to get topic metadata|Failed to fetch committed offsets for consumer group|Failed to list offsets for topic partitions|AdminClient thread has exited", strong=True, unless=OTHER_STREAM),
    FaultClass("producer-timeout", "broker-unreachable", "producer-timeout",
               r"Local: Message timed out|Batch containing \d+ record\(s\) expired due to|Topic \S+ not present in metadata after \d+ ?ms|Partition \d+ of topic \S+ with partition count \d+ is not present in metadata|Expiring \S+ record\(s\) for \S+:? ?\d+ ms has passed|Timeout expired (?:after \d+ ?(?:ms|milliseconds) )?while (?:awaiting|initializing) (?:InitProducerId|EndTxn|AddOffsetsToTxn|transactional state)|(?:KafkaError\{[^\n]{0,80}|Transaction error: )Failed to initialize Producer ID: Local: Timed out", strong=True),
    FaultClass("leader-missing", "broker-unreachable", "leader-missing",
               r"LeaderNotAvailableException|NotLeaderOrFollowerException|NotLeaderForPartitionException|There is no leader for this topic-partition|This server is not the leader for that topic-partition|leader brokers without a matching listener|NotEnoughReplicas(?:AfterAppend)?Exception|Messages are rejected since there are fewer in-sync replicas|NotCoordinatorException|CoordinatorNotAvailableException|Broker: Not enough in-sync replicas|kafka server: (?:Tried to send a message to a replica that is not the leader|In the middle of a leadership election|Messages are rejected since there are fewer in-sync)|\[19\] Not Enough Replicas|KafkaJSGroupCoordinatorNotFound"),
    FaultClass("kafka-reader-timeout", "broker-unreachable", "reader-timeout", r"Timeout while initializing partition '[^'\n]+'\. Kafka client may not", strong=True),  # Beam's KafkaUnboundedReader
    FaultClass("kafka-timeout", "broker-unreachable", "request-timeout",
               r"Timeout of \d+ ?ms expired before the position for partition|Failed to get offsets by times in \d+|Timeout of \d+ ?ms expired before successfully|Failed to send request after \d+ ms|org\.apache\.kafka\.common\.errors\.(?:TimeoutException|DisconnectException|NetworkException)|Cannot fetch record for offset \d+ in \d+ milliseconds|The server disconnected before a response was received|Local: (?:Broker transport failure|All broker connections are down|Host resolution failure)"),
    FaultClass("channel-unacknowledged", "other", "channel-stopped", r"TooManyMessagesWithoutAckException", strong=True),  # SmallRye closes the channel's consumer
    # --- offsets -----------------------------------------------------------------------------------------------------------------------------
    FaultClass("offset-gone", "offset-reset", "out-of-range",
               r"OffsetOutOfRangeException|Broker: Offset out of range|kafka server: The requested offset is outside the range|Offsets? out of range with no configured reset policy|OFFSET_OUT_OF_RANGE|KafkaError\{code=_AUTO_OFFSET_RESET\b|is out of range for partition \S+, raising error to the application", strong=True),
    FaultClass("offset-undefined", "offset-reset", "no-offset", r"NoOffsetForPartitionException|Undefined offset with no reset policy", strong=True),
    FaultClass("log-truncated", "offset-reset", "truncated", r"LogTruncationException|Detected log truncation with diverging offsets", strong=True),
    FaultClass("spark-data-loss", "offset-reset", "data-loss",
               r"KAFKA_DATA_LOSS|Some data may have been (?:lost|missed)|Cannot find earliest offsets of|offset was changed from \d+ to \d+|are gone\. (?:Kafka|Some data)|KAFKA_START_OFFSET_DOES_NOT_MATCH|set the source option \"?failOnDataLoss", strong=True),
    # change data capture: the position is one in the database's own log (Debezium; MySQL error 1236, PostgreSQL, Oracle, MongoDB)
    FaultClass("database-log-gone", "offset-reset", "database-log",
               r"(?i:the connector is trying to read) [\s\S]{0,1500}? no longer av\w+ on the server(?!\. Forcing)|Could not find first log file name in binary log index|could not find next log; the first event"
               r"|(?:master|source) (?:has )?purged (?:required )?binary logs|requested WAL segment \S+ has already been removed|can no longer (?:get changes|access) \w* ?(?:from )?replication slot"
               r"|REDO LOG files or archive logs? (?:files )?do not contain the offset scn|None of log files contains offset SCN|resume point may no longer be in the oplog|ChangeStreamHistoryLost|CappedPositionLost|(?i:resume ?token (?:was )?not found)"
               r"|Client requested (?:master|source) to start replication from|Could not find GTID state requested by (?:slave|replica)|requested to start from GTID \S{1,200} which is not in the (?:master|source|primary)|Cannot seek to the last known offset '|(?i:cannot read from logical replication slot)"
               r"|ORA-(?:01291|00308)\b|insufficient number of arguments were supplied for the procedure or function cdc\.fn_cdc_get", strong=True),
    # other sources that keep a history of their own: a table's snapshots, a stream's shards, an event hub's retention
    FaultClass("source-history-gone", "offset-reset", "source-history",
               r"Cannot load current offset at snapshot -?\d+, the snapshot was expired or removed|Starting snapshot \((?:in|ex)clusive\) -?\d+ is not an? (?:parent )?ancestor"
               r"|Cannot invoke \"org\.apache\.iceberg\.Snapshot\.operation\(\)\" because|The stream from your Delta table was expecting process data from version|DELTA_MISSING_FILES_UNEXPECTED_VERSION"
               r"|DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE|If you never deleted it, it's likely your query is lagging behind"
               r"|Shard \S+ in stream \S+ (?:under account \S+ )?does not exist|TrimmedDataAccessException|request seqNo \d+ is less than the received seqNo"
               # Paimon (NextSnapshotFetcher), Delta, Hudi (HoodieIncrementalPathNotFoundException)
               r"|paimon\S*\.OutOfRangeException|(?i:the snapshot with id) \d+ has expired|(?i:snapshot) \d+ does not exist or has expired|DELTA_TRUNCATED_TRANSACTION_LOG|DELTA_STREAMING_TRAILING_COMMIT_MISSING"
               r"|FileNotFoundException: [^\n]{0,300}/_delta_log/\w+\.(?:json|checkpoint\S*\.parquet)\b"
               r"|Path not found during incremental query|HoodieIncrementalPathNotFoundException"
               r"|DELTA_VERSION_NOT_FOUND|Cannot time travel Delta table to version|DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION|timestamp \([^)\n]*\) is before the earliest version available"
               r"|DELTA_CHANGE_DATA_FILE_NOT_FOUND|Cannot find snapshot with ID -?\d+|Cannot find a snapshot older than", strong=True),
    # the table was dropped and made again: its versions are others than those that the checkpoint means
    FaultClass("source-recreated", "offset-reset", "recreated", r"DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE|(?i:used to read from another Delta table)|used in GetShardIterator on shard \S+ in stream \S+ (?:under account \S+ )?is invalid because it did not come from this stream", strong=True),
    FaultClass("source-files-gone", "offset-reset", "files-gone", r"FAILED_READ_FILE\.(?:DBR_)?FILE_NOT_EXIST|does(?: not|n't) exist[.\s]{1,4}It is possible the underlying files have been updated", strong=True),
    # the source's table was changed in a way that a stream of appended rows cannot follow, or has another schema: the position is there
    FaultClass("source-rewritten", "other", "source-rewritten", r"DELTA_SOURCE_(?:TABLE_IGNORE_CHANGES|IGNORE_DELETE)|Detected (?:a data update|deleted data) \([^\n]{0,300}\) (?:in the source table|from (?:the )?streaming source)|Cannot process (?:unknown operation|overwrite|delete) snapshot: ", strong=True),
    FaultClass("source-schema-changed", "other", "schema-changed", r"DELTA_SCHEMA_CHANGED|DELTA_STREAMING_(?:INCOMPATIBLE_SCHEMA|SCHEMA_|METADATA_EVOLUTION|CANNOT_CONTINUE_PROCESSING_POST_SCHEMA|CHECK_COLUMN_MAPPING)\w*|Detected (?:an? )?(?:incompatible )?schema change[ :]|UNKNOWN_FIELD_EXCEPTION\b", strong=True),
    # not by itself: libraries that read shards ask for a new iterator, and log the old one's end
    FaultClass("iterator-expired", "offset-reset", "source-history", r"ExpiredIteratorException"),
    # Iceberg's MetastoreLock, HiveTableOperations: a writer that was killed leaves its lock in the Hive metastore (iceberg#2301)
    FaultClass("table-locked", "other", "table-locked",
               r"(?:CommitFailedException|LockException): Timed out after \d+ ms waiting for lock on|\bWaitingForLockException: Waiting for lock", strong=True),
    # two that write to one table of a lake, or read one partition of an event hub for one consumer group
    FaultClass("writers-conflict", "other", "writers-conflict",
               r"iceberg\.exceptions\.CommitFailedException|Cannot commit: Base metadata location|Found conflicting files that can contain records matching|Concurrent(?:Append|DeleteRead|DeleteDelete|Transaction|Write)Exception"
               r"|by a concurrent update\. Please try the operation again|DELTA_CONCURRENT_|HoodieWriteConflictException"
               # Paimon (FileStoreCommitImpl, ManifestEntry)
               r"|File deletion conflicts detected! Give up committing|LSM conflicts detected! Give up committing|Trying to delete file [^\n]{1,400} which is not previously added", strong=True),
    FaultClass("receiver-displaced", "other", "displaced", r"ReceiverDisconnectedException|New receiver (?:'[^']*' )?with higher epoch|ConsumerBusyException|Exclusive consumer is already connected", strong=True),
    FaultClass("member-fenced", "offset-commit", "fenced-member", r"Fatal error: Broker: Static consumer fenced by other consumer|FencedInstanceId(?:Exception|Error)|FENCED_INSTANCE_ID: |another consumer with the same group\.instance\.id has registered", strong=True),
    FaultClass("producer-fenced", "offset-commit", "fenced", r"(?:#producer-\d+\W|\[thrd:)[^\n]{0,200}Fatal (?:transaction )?error: [^\n]*(?:fenced|old epoch|INVALID_PRODUCER_EPOCH|PRODUCER_FENCED)", frames=r"Fatal ", strong=True),
    FaultClass("producer-fenced", "offset-commit", "fenced",
               rf"{words(protocol_errors.FENCED_PRODUCER)}|\bProducerFenced: There is a newer producer using|"
               r"ProducerFencedException|InvalidProducerEpochException|because its producer is already fenced|There is a newer producer with the same transactionalId|INVALID_PRODUCER_EPOCH|InvalidPidMappingException|producer id which is not currently assigned to its transactional id|attempted to (?:produce|operate) (?:with|on) an old epoch"),
    FaultClass("commit-failed", "offset-commit", "rebalance", r"kafka server: The provided member is not known in the current generation|CommitFailedError\b|\[Error 2[25]\] (?:UnknownMemberId|IllegalGeneration)Error|Commit failed: Broker: (?:Unknown member|Specified group generation id is not valid)|\[25\] Unknown Member ID|\[22\] Illegal Generation|CommitFailedException|Commit cannot be completed since the group has already rebalanced|UnknownMemberIdException|RebalanceInProgressException|IllegalGenerationException"),
    FaultClass("transaction-timeout-too-large", "other", "transaction-timeout", r"InvalidTxnTimeoutException|transaction timeout is larger than the maximum value allowed|InvalidTransactionTimeout", strong=True),
    # --- checkpoints: state cannot be written or read ------------------------------------------------------------------------------------------
    FaultClass("tolerance-storage", "checkpoint-storage", "finalize",
               r"(?s)Exceeded checkpoint tolerable failure threshold.*(?:Failure to finalize checkpoint|IO-problem detected|Asynchronous task checkpoint failed)", strong=True),
    FaultClass("tolerance-expired", "barrier-unacknowledged", "expired", r"(?s)Exceeded checkpoint tolerable failure threshold.*Checkpoint expired before completing", strong=True),
    FaultClass("state-too-large", "checkpoint-storage", "too-large", r"Size of the state is larger than the maximum permitted memory-backed state|The size of the metadata file already exceeds|MemCheckpointStreamFactory.*maximum", strong=True),
    FaultClass("disk-full", "checkpoint-storage", "full",
               r"(?s)(?:chk-|checkpoint|Checkpoint|snapshot|RocksDB|savepoint|_metadata|StateBackend|state/\d).*(?:No space left on device|Disk quota exceeded|DSQuotaExceeded|not enough space)|(?:No space left on device|Disk quota exceeded|DSQuotaExceededException).*(?:chk-|checkpoint|savepoint|_metadata)", not_in=SINK_FILES),
    # a file of the table that the job reads or writes: no state of Flink's, and no outage of what stores it
    FaultClass("table-files", "other", "table-files",
               r"org\.apache\.iceberg\.exceptions\.NotFoundException: |snapshot expires too fast"),
    FaultClass("table-files", "other", "table-files", r"FileNotFoundException(?![^\n]*(?:/chk-\d|savepoint-|taskowned|/shared/|/tmp/))", frames=r"org\.apache\.(?:iceberg|paimon|hudi)\."),
    FaultClass("query-id-missing", "checkpoint-storage", "missing", r"STREAMING_CHECKPOINT_MISSING_METADATA_FILE|the metadata file is missing but offset and/or commit logs contain data", strong=True),
    FaultClass("state-directory-shared", "checkpoint-storage", "two-instances", r"multiple instances of Kafka Streams are running in the same state directory", strong=True),
    FaultClass("state-directory-unwritable", "checkpoint-storage", "write", r"ProcessorStateException: (?:base state directory|task directory|state directory) \[[^\]\n]*\] doesn't exist and couldn't be created|StreamsException: [^\n]{0,100}Failed to create (?:the )?state directory"),
    # the file systems of Structured Streaming's own directory: offsets, commits, the logs of its sources, state
    FaultClass("checkpoint-missing", "checkpoint-storage", "missing", r"FileNotFoundException|NoSuchFileException|NoSuchKey", strong=True,
               frames=r"CheckpointFileManager|HDFSMetadataLog|CompactibleFileStreamLog", unless=r"Permission denied|Too many open files|No space left"),
    # the state stores of Structured Streaming; a task that is stopped while it loads or writes one proves nothing
    FaultClass("state-damaged", "checkpoint-storage", "damaged", r"CANNOT_LOAD_STATE_STORE\.(?:CANNOT_READ_(?:DELTA|SNAPSHOT)_FILE_(?:KEY|VALUE)_SIZE|UNEXPECTED_FILE_SIZE|UNEXPECTED_VERSION|CANNOT_READ_CHECKPOINT|AUTO_SNAPSHOT_REPAIR_FAILED)|Error reading (?:delta|snapshot) file \S+ of [^\n]{0,400}(?:key|value) size cannot be", strong=True),
    FaultClass("state-missing", "checkpoint-storage", "missing", r"CANNOT_LOAD_STATE_STORE\.(?:CANNOT_FIND_BASE_SNAPSHOT|SNAPSHOT_PARTITION_ID|PREVIOUS_CHECKPOINT_NOT_FOUND)\w*|STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY|STATE_STORE_(?:CHECKPOINT_LOCATION|METADATA_FILE|OPERATOR_METADATA)\w*(?:NOT_FOUND|MISSING|EMPTY)", strong=True),
    FaultClass("state-unreadable", "checkpoint-storage", "unreadable", r"CANNOT_LOAD_STATE_STORE\.UNCATEGORIZED", unless=r"Interrupted|ClosedByInterrupt|TaskKilled|OutOfMemory|OUT_OF_MEMORY", strong=True),
    FaultClass("state-not-written", "checkpoint-storage", "write", r"CANNOT_WRITE_STATE_STORE|Cannot perform commit during state checkpoint|Error committing version \d+ into HDFSStateStore", unless=r"Interrupted|ClosedByInterrupt|TaskKilled|OutOfMemory|No space left|ConcurrentModification|CONCURRENT_"),
    FaultClass("state-locked", "other", "state-locked", r"CANNOT_LOAD_STATE_STORE\.UNRELEASED_THREAD_ERROR|RocksDB instance could not be acquired by \["),
    FaultClass("checkpoint-missing", "checkpoint-storage", "missing",
               r"(?s)Cannot find checkpoint or savepoint file/directory|(?:FileNotFoundException|IllegalStateException)[^\n]{0,300}/(?:sources/\d+|offsets|commits)(?:/[\w.-]+){0,2} does not exist|Cannot find meta data file '_metadata'|(?:FileNotFoundException|NoSuchKey|does not exist|No such file)[^\n]{0,300}(?:/chk-\d+|savepoint-|/shared/|taskowned|\.delta|\.snapshot|/state/|_metadata)|Could not retrieve checkpoint \d+ from state handle|(?:chk-\d+|savepoint-)[^\n]{0,200}(?:FileNotFoundException|does not exist|No such file)|CANNOT_READ_(?:DELTA|MISSING_SNAPSHOT|SNAPSHOT)\w*|Error reading (?:delta|snapshot) file|Could not read any of the \d+ checkpoints|Checkpoint location .* does not exist|Error while creating rocksDb instance|RocksDBException: (?:Corruption|IO error|While (?!append|sync|fsync))"),
    FaultClass("restore-incompatible", "checkpoint-storage", "incompatible",
               r"CANNOT_LOAD_STATE_STORE\.(?:INVALID_CHANGE_LOG_\w+VERSION|(?:KEY|VALUE)_ROW_FORMAT\w*)|STATE_STORE_(?:KEY|VALUE)_(?:SCHEMA_NOT_COMPATIBLE|ROW_FORMAT_VALIDATION_FAILURE)|STATE_STORE_(?:VALUE_SCHEMA_EVOLUTION|(?:INCOMPATIBLE_)?COLUMN_FAMILY_SCHEMA|INCOMPATIBLE_COLUMN_FAMILY|INVALID_(?:VALUE_SCHEMA|CONFIG_AFTER_RESTART)|STATE_SCHEMA_FILES)\w*"
               r"|STATEFUL_PROCESSOR_CANNOT_\w+|TRANSFORM_WITH_STATE_SCHEMA\w*|StateSchemaNotCompatible|Cannot map checkpoint/savepoint state for operator|There is no operator for the state|Failed to rollback to checkpoint/savepoint|StateMigrationException|(?:The new|new) (?:state|key|namespace) serializer .*(?:incompatible|must (?:not )?be)|InvalidClassException|IncompatibleSerializer|Unexpected state handle|The state processor|(?:max(?:imum)? parallelism) .*(?:cannot|mismatch|lower|does not match|is set)|Cannot restore (?:from )?(?:savepoint|checkpoint)|STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE|Provided schema doesn't match to the schema for existing state|state written by an older Flink version|Cannot read state of|local class incompatible"),
    FaultClass("sink-log-missing", "checkpoint-storage", "sink-log", r"/_spark_metadata/\d+(?:\.compact)? doesn't exist (?:when compacting batch|\(latestId)", strong=True),
    FaultClass("two-writers", "checkpoint-storage", "two-writers", r"CONCURRENT_STREAM_LOG_UPDATE|Concurrent update to the log|Multiple streaming (?:queries|jobs) (?:are concurrently using|detected)|another query with same id is already active|ConcurrentModificationException: Multiple streaming", strong=True),
    FaultClass("other-query", "checkpoint-storage", "other-query", r"There are \[\d+\] sources in the checkpoint offsets and now there are \[\d+\] sources|There must be exactly one|STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA|Streaming stateful operator name does not match|checkpoint .* belongs to (?:another|a different)|This query does not support recovering from checkpoint location", strong=True),
    FaultClass("log-damaged", "checkpoint-storage", "damaged",
               r"(?s)Incomplete log file|Failed to read log file|Log file was malformed|UnsupportedLogVersion|offset log for batch \d+ doesn't exist|batch(?:es)? \(?[\d, ]+\)? do(?:es)?n't exist|(?:OffsetSeqLog|HDFSMetadataLog|CommitLog).*(?:JsonEOFException|JsonParseException|MappingException)|Corrupt(?:ed)? (?:checkpoint|savepoint|metadata)|Unexpected magic number|EOFException[^\n]*(?:_metadata|Checkpoints\.load)"),
    FaultClass("log-unreadable", "checkpoint-storage", "damaged", r"\S", frames=r"(?:OffsetSeqLog|CommitLog|HDFSMetadataLog|CompactibleFileStreamLog|FileStreamSourceLog|AsyncOffsetSeqLog)[.$]*(?:deserialize|get\b|parse)"),
    FaultClass("restore-failed", "checkpoint-storage", "restore",
               r"(?s)(?:Could not restore|Exception while creating StreamOperatorStateContext|BackendBuildingException|Caught unexpected exception when trying to (?:build|restore)|Failed (?:when trying )?to restore (?:operator|keyed|heap))(?!.*(?:CancelTaskException|AlreadyClosed|RejectedExecution))"),
    FaultClass("snapshot-failed", "checkpoint-storage", "write", rf"(?s)(?:{STATE_WRITTEN}).*(?:{STORAGE_SAYS})"
               # the synchronous part runs the operator's own code (a sink's flush): only words of a storage tell that it is the storage
               r"|Could not complete snapshot.*(?:AmazonS3|S3Exception|S3A|\bhdfs\b|HDFS|CheckpointStateOutputStream|CheckpointStreamFactory|No space left|quota|SafeMode|NameNode|/chk-\d+|/shared/|RocksDBException: (?:IO error|While))", not_in=SINK_FILES),
    FaultClass("storage-write", "checkpoint-storage", "write",
               r"(?s)(?:Permission denied|Access ?Denied|Forbidden)[^\n]{0,200}(?:/chk\b|/chk-\d|checkpoint|savepoint|/commits/|/offsets/)|(?:/chk-\d|checkpoints?/|savepoint|/commits/|/offsets/)[^\n]{0,200}(?:Permission denied|Access ?Denied|Forbidden)|Mkdirs failed to create \S*(?:checkpoint|chk-|savepoint|state)|Failed to create directory for shared state|(?:chk-\d+|/shared/|checkpoint)[^\n]*(?:could only be (?:written|replicated) to 0|no (?:live )?datanodes?|There are 0 datanode)|Failed to rename \S*/(?:state|offsets|commits|_spark_metadata)/|rename from \S*/(?:state|offsets|commits)/\S+ to \S+ failed|Failed to rename temp file \S*(?:state|offsets|commits|checkpoint)|Could not finalize the pending checkpoint|Failure to finalize checkpoint"),
    # --- what answers for a worker -----------------------------------------------------------------------------------------------------------
    FaultClass("out-of-memory", "taskmanager-lost", "out-of-memory", r"java\.lang\.OutOfMemoryError|OutOfMemoryError:|GC overhead limit exceeded|Insufficient number of network buffers|IllegalStateException: Insufficient memory", strong=False),
    FaultClass("disk-full", "checkpoint-storage", "full", r"No space left on device|Disk quota exceeded|DSQuotaExceeded",
               frames=r"AsyncOffsetSeqLog|AsyncCommitLog|CheckpointFileManager|HDFSMetadataLog|OffsetSeqLog"),
    FaultClass("worker-disk-full", "taskmanager-lost", "disk", r"No space left on device|Disk quota exceeded|There is not enough space on the disk|Could not find any valid local directory",
               unless=r"SQL\w*Exception|Elasticsearch|Mongo|RemoteException|RemoteTransport|ClickHouse|[cC]assandra"),
    FaultClass("jobmanager-out-of-memory", "jobmanager-lost", "out-of-memory", r"(?!)"),  # faults.py: out-of-memory as the JobManager's own end
    FaultClass("jobmanager-killed", "jobmanager-lost", "killed", r"AM Container for appattempt_\w+ exited"),
    # the process of the user's Python or Go code beside the TaskManager: when it goes, its side of the stream is cancelled, whatever it worked on
    FaultClass("sdk-harness-lost", "taskmanager-lost", "sdk-harness",
               r"beam\.vendor\.grpc[\w.]*\.Status(?:Runtime)?Exception: (?:CANCELLED: (?:client cancelled|cancelled before receiving half close|call already cancelled)|UNAVAILABLE)|IllegalStateException: (?:Process died with exit code|No container running for id)", strong=True),
    FaultClass("container-killed", "taskmanager-lost", "killed",
               r"OOMKilled|exitCode=137|[Ee]xit[ _]?(?:[Cc]ode|status)\b\D{0,14}(?:137|143|239|-100|50|52|134|139)\b|running beyond (?:physical|virtual) memory limits|Container killed (?:by YARN|on request)|was preempted|killed by (?:YARN|external signal)|Container (?:marked as failed|from a bad node|released on a \*?lost\*? node)|Pod terminated|Evicted|The node was low on resource|Worker \S+ is terminated"),
    FaultClass("no-slots", "taskmanager-lost", "no-slots",
               r"NoResourceAvailableException|Could not (?:allocate|acquire) the (?:required|minimum required) (?:slot|resources)|Slot request bulk is not fulfillable|Could not fulfill slot request|Not enough (?:slots|resources)|Could not allocate all required slots|Slot allocation request timed out|Initial job has not accepted any resources", strong=True),
    FaultClass("deploy-timeout", "taskmanager-lost", "not-responding", r"Cannot deploy task .* - TaskManager \(.*\) not responding after a (?:rpcTimeout|timeout) of", strong=True),
    FaultClass("heartbeat-lost", "taskmanager-lost", "heartbeat", r"[Hh]eartbeat of TaskManager with id .*timed out|TaskManager with id \S+ ?(?:\([^)]*\) )?is no longer reachable"),
    # a PySpark program that calls into a JVM that is no more (Py4J); what the JVM throws it hands over as an exception with a Java trace
    FaultClass("driver-jvm-lost", "taskmanager-lost", "driver-jvm", r"Py4JNetworkError: (?:Answer from Java side is empty|An error occurred while trying to connect to the Java server)", strong=True),
    FaultClass("executor-lost", "taskmanager-lost", "executor-lost", r"Executor heartbeat timed out|ExecutorLostFailure|Lost executor|Slave lost|worker lost|Max number of executor failures|with no recent heartbeats: \d+ ms exceeds timeout"),
    FaultClass("quarantined", "taskmanager-lost", "quarantined", r"The remote system has quarantined this system|irrecoverably failed\. UID is now quarantined|has been quarantined"),
    FaultClass("executor-fetch", "taskmanager-lost", "executor", r"ExecutorDeadException|FetchFailedException|Failed to connect to executor|MetadataFetchFailedException"),
    # --- JobManager and leadership -------------------------------------------------------------------------------------------------------------
    FaultClass("leadership-lost", "jobmanager-lost", "leadership", r"Job(?:Manager)?(?:Master)? (?:is no longer the leader|lost leadership)|JobMaster for job .* lost leadership|Connection to ZooKeeper (?:lost|suspended)|has been suspended|lost leadership|leader(?:ship)? (?:was )?revoked|KeeperErrorCode = (?:ConnectionLoss|SessionExpired)|JobNotFoundException|revoked leadership"),
    FaultClass("jobmanager-heartbeat", "jobmanager-lost", "heartbeat", r"[Hh]eartbeat of JobManager with id .*timed out|The heartbeat of (?:JobManager|ResourceManager) with id \S+ timed out|Could not register at the ResourceManager within"),
    # --- a worker that went away makes its neighbours fail: at most a trigger ------------------------------------------------------------------
    FaultClass("worker-left", None, None, r"FlinkExpectedException: The TaskExecutor is shutting down", consequence=True),
    FaultClass("connection-to-worker", "taskmanager-lost", "connection",
               r"(?:Local|Remote)TransportException|Lost connection to task manager|Connecting to remote task (?:manager|executor)|PartitionConnectionException|Connection (?:unexpectedly )?closed by remote task|Error at remote task manager|The assigned slot \S+ was removed|TaskExecutor .* has no more allocated slots|No more slots registered|Execution \S+ is unexpectedly no longer running|The TaskExecutor is shutting down|TaskManager .* (?:disconnected|was lost)|Association with remote system|RecipientUnreachableException|because the recipient is unreachable|has failed, address is now gated|Remote connection to \[[^\]]*\] failed|ConnectionClosed.*task manager", consequence=True),
    FaultClass("partition-gone", None, None, r"(?:Adaptive|AdaptiveBatch)?Scheduler is being stopped|JobManager is shutting down|PartitionNotFoundException|ProducerFailedException|PartitionProducerStateException|PartitionUnavailable|ExecutionGraphException: The execution attempt|Task did not exit|Buffer pool (?:is|has been) destroyed|Job leader for job id \S+ lost|TaskNotRunningException|Checkpoint ?Coordinator (?:is suspending|shutdown)|(?<!rabbitmq\.client\.)AlreadyClosedException|common\.errors\.WakeupException|InterruptedException|InterruptException|ClosedByInterruptException|RejectedExecutionException|Subpartition|Disconnect from JobManager|fencing token|SlotNotFound|was released|ClosedChannelException: null$", consequence=True),
    FaultClass("handover-closed", None, None, r"Handover\$(?:Closed|Wakeup)Exception", consequence=True),
    # a producer that failed before, and refuses all that follows: the error of before is the cause
    FaultClass("producer-in-error", "other", "earlier-error", r"Cannot (?:perform send|execute transactional method) because (?:at least one previous|we are in an error state)|Producer is closed forcefully"),
    FaultClass("streams-ended", "other", "streams-ended", r"All stream threads have died\. The instance will be in error state"),
    # --- services the job calls ----------------------------------------------------------------------------------------------------------------
    # RBAC; an exceeded quota is forbidden too, and nobody's right
    FaultClass("kubernetes-forbidden", "external-system", "access-denied",
               r"is forbidden: (?:User \"[^\"\n]+\" cannot \w+ (?:resource|path) |error looking up service account )|Message: Forbidden!? ?Configured service account doesn't have access"),
    FaultClass("slot-refused", "external-system", "replication-slot",
               r"(?i)replication slot \S+ (?:is active for PID|already exists|does not exist|is already in use)|all replication slots are in use|could not access file \"(?:decoderbufs|wal2json|pgoutput)|logical decoding requires wal_level|Creation of replication slot failed|Cannot obtain valid replication slot '", strong=True),
    FaultClass("service-access-denied", "external-system", "access-denied",
               r"SecretManager\$InvalidToken|token \(token for \S+: \w+_DELEGATION_TOKEN|ERROR: (?:must be (?:superuser|owner|able)|permission denied)|permission denied for (?:database|table|schema|relation|sequence)|command denied to user|you need \(at least one of\) the [^\n]* privilege|password authentication failed|Access denied for user|Login failed for user|ORA-01017|no pg_hba\.conf entry|NOAUTH Authentication required|WRONGPASS|role \"[^\"]+\" does not exist|MongoSecurityException|missing authentication credentials|unable to authenticate user"
               r"|ACCESS_REFUSED|rabbitmq\.client\.(?:Possible)?AuthenticationFailureException|PulsarClientException\$Auth(?:entication|orization)Exception|eventhubs\.AuthorizationFailedException|Unauthorized access\. '\w+' claim"),
    FaultClass("database-outage", "external-system", "database",
               r"CommunicationsException|Communications link failure|Failed to restore connection to \S+:\d+|io\.debezium\.jdbc\.JdbcConnectionException|An I/O error occurr?ed while sending to the backend|Failed to deserialize data of EventHeaderV4|SQL(?:Transient|NonTransient|Recoverable)\w*Connection\w*Exception|SQLRecoverableException|SQLTransientException|SQLTimeoutException|SQLNonTransientConnectionException|Connection is not available, request timed out|HikariPool|PSQLException:? (?:The connection attempt failed|This connection has been closed|An I/O error|Connection to|FATAL)|[Tt]oo many connections|terminating connection due to|the database system is (?:starting up|shutting down|in recovery)|Lock wait timeout|[Dd]eadlock (?:found|detected)|ORA-(?:12[1-6]\d\d|03113|03114|01033|01034|17002)|JDBC connection (?:is not valid|check)|Reestablish JDBC connection failed|Unable to acquire JDBC Connection|Cannot get a connection|server closed the connection"),
    FaultClass("search-outage", "external-system", "elasticsearch", r"NoNodeAvailableException|circuit_breaking_exception|es_rejected_execution|EsRejectedExecution|cluster_block_exception|ClusterBlockException|index read-only|NoNodesAvailable|all shards failed|process_cluster_event_timeout|Flush timeout expired with unflushed records|Add timeout expired before buffer availability"),
    FaultClass("store-outage", "external-system", "service",
               r"JedisConnectionException|JedisDataException: (?:LOADING|READONLY|OOM|CLUSTERDOWN)|RedisConnectionException|RedisConnectionFailure|RedisTimeoutException|RedisCommandTimeoutException|CLUSTERDOWN|NoHostAvailableException|AllNodesFailedException|OperationTimedOutException|DriverTimeoutException|WriteTimeoutException|ReadTimeoutException|UnavailableException: Not enough replicas|MongoTimeoutException|MongoSocket\w+|MongoNotPrimary|MongoServerException|RetriesExhausted\w*Exception|RegionTooBusy|NoServerForRegion|CallTimeoutException|CallQueueTooBig|ThrottlingException|ProvisionedThroughputExceeded|RequestLimitExceeded|SlowDown|ThrottledException|TooManyRequestsException|StatusRuntimeException: (?:UNAVAILABLE|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|PERMISSION_DENIED|UNAUTHENTICATED)|BrokerNotAvailable|SafeModeException|ipc\.StandbyException|DSQuotaExceededException|PulsarClientException|rabbitmq\.client\.(?:AlreadyClosed|ShutdownSignal)Exception|AmqpConnect|ServiceUnavailableException|BigQueryException: Quota|quotaExceeded|CircuitBreaker\w*Open|CallNotPermittedException|Retry limit exceeded|Retries exhausted|Async function call has timed out|AsyncFunction.*[Tt]imed? ?out"),
    # --- the record -----------------------------------------------------------------------------------------------------------------------------
    FaultClass("sink-refuses", "poison-record", "sink-refuses",
               r"SQLIntegrityConstraintViolationException|SQLDataException|DataIntegrityViolation|DataTruncation|Data truncation|[Vv]alue too long for (?:type|column)|violates (?:not-null|check|unique|foreign key|exclusion) constraint|invalid input syntax for|invalid byte sequence for encoding|InvalidTimestampException|cannot be null|Out of range value for column|Incorrect \w+ value|Column '[^']+' is NOT NULL, however|numeric field overflow|DATA_QUALITY_ERROR|Encountered unqualified data|too many filtered rows|mapper_parsing_exception|document_parsing_exception|strict_dynamic_mapping|failed to parse field|illegal_argument_exception|Data too long for column|Duplicate entry|duplicate key value|ORA-(?:01400|12899|01438|00001|01722)|\b(?:400 Bad Request|413 (?:Request|Payload)|422 Unprocessable)|[Ss]tatus(?: code)?[ :=]+(?:400|413|422)\b"),
    FaultClass("deserialise", "poison-record", "deserialiser",
               r"Local: (?:Key|Value) deserialization error|(?s:Tolerance exceeded in error handler.{0,4000}?\.Data(?:Exception|TypeException))|Failed to deserialize|Converting byte\[\] to Kafka Connect data failed|Exception caught during Deserialization|RecordDeserializationException|has invalid \(negative\) timestamp|DDL statement couldn't be parsed|BSONObj size: \d+ |Error deserializing (?:key|value|KEY|VALUE|Avro|JSON|Protobuf|\w+ message)|Can't deserialize|Cannot deserialize|Could not deserialize|Fail to deserialize|Unable to deserialize|Unknown magic byte|Unknown data format\. Magic number|Magic number does not match|Corrupt (?:Debezium|Canal|Maxwell|Ogg) |Malformed (?:records? (?:are|is) detected|data|JSON|input)|MALFORMED_RECORD|Could not find schema with id|DeserializationException|InvalidProtocolBufferException|Failed to decode|Failed to parse (?:the )?(?:record|message|JSON|row)|SerializationException: (?:Error|Can|Could|Unknown|Size of data)|Parse Mode: FAILFAST|Error retrieving (?:Avro|JSON|Protobuf)\S* (?:key|value)? ?schema for id|CoderException|Unable to decode", unless=r"TimeoutException|Timeout\(\d+|while waiting for"),
    # what a sink's task on Kafka Connect says of a record
    FaultClass("connect-data", "poison-record", "sink-refuses", r"org\.apache\.kafka\.connect\.errors\.(?:DataException|SchemaProjectorException)\b"),
    # a sink that gives up and does not name the row: of Kafka Connect (RetryUtil of the OpenSearch and Elasticsearch sinks), of Flink's JDBC
    FaultClass("sink-gave-up", "external-system", "service",
               r"Failed to (?:execute|send|bulk|write|flush|upload|insert|put|publish|load|append|index)\b[^\n]{0,200}? after (?:a )?(?:total (?:of )?)?(?:\d+|all|max(?:imum)?(?: number of)?) (?:attempt|retry|retries|tries)",
               frames=r"org\.apache\.kafka\.connect\.|Worker(?:Sink|Source)Task\b", unless=r"org\.apache\.kafka\.(?:clients|common)\."),
    FaultClass("sink-gave-up", "external-system", "database", r"(?:Attempt to execute batch failed|JDBC executeBatch error|execute batch)[^\n]*(?:exhausted retry times|retry times = \d+)"),
    # --- external, in general: after the record classes that name their text, before user code ------------------------------------------------
    FaultClass("service-http", "external-system", "http", HTTP_OUTAGE, unless=FLINK_NET),
    FaultClass("storage-access", "external-system", "access-denied", r"AccessDeniedException|Access Denied|AccessControlException|Permission denied|403 Forbidden|401 Unauthorized|status code: 40[13]|Status Code: 40[13]|InvalidAccessKeyId|ExpiredToken|SignatureDoesNotMatch|Access denied for user|password authentication failed|invalid credentials", unless=r"akka\.|pekko\.|BlobServer|ResourceManager|kubernetes\.client|fabric8"),
    FaultClass("kafka-connection", "broker-unreachable", "connection", rf"(?s)(?:{KAFKA_PLACE}).*{CONNECTION_GONE}|{CONNECTION_GONE}.*(?:{KAFKA_PLACE})"),
    FaultClass("kafka-connection", "broker-unreachable", "connection", CONNECTION_GONE, frames=r"org\.apache\.kafka\.common\.network\."),
    FaultClass("service-unreachable", "external-system", "connection", CONNECTION_GONE, unless=FLINK_NET),
    FaultClass("async-timeout", "external-system", "timeout", r"java\.util\.concurrent\.TimeoutException", frames=r"AsyncWaitOperator|asyncInvoke|AsyncFunction"),
    # Kinesis: the stream was deleted, or the registered consumer of enhanced fan-out; as a failed task reports it, for a caller may expect it
    FaultClass("service-said", "external-system", "service",
               r"SerializedThrowable: (?:[\w.$]+: )?(?:Consumer|Stream) \S+ (?:with creation timestamp \d+ )?under (?:stream:? \S+ )?account \S+ not found\b",
               frames=r"[kK]inesis"),
    # what client libraries say that no class above knows by name
    FaultClass("service-said", "external-system", "service", SERVICE_SAYS, unless=FLINK_NET),
    FaultClass("service-client", "external-system", "service", CLIENT_LIBRARIES, unless=GIVEN_WRONG),
    # the client, or the JobManager in application mode, runs the program's main method: there is no task yet, and no record
    FaultClass("main-failed", "other", "main", r"The main method caused an error|ApplicationExecutionException|Python process exits with code: [1-9]", unless=JOB_ENDED),
    FaultClass("main-failed", "other", "main", r"\S", frames=r"PackagedProgram\.callMainMethod", unless=JOB_ENDED),
    FaultClass("user-code-data", "poison-record", "user-code", r"NullFieldException: Field|RowTime field should not be null|Error when calling each(?:Message|Batch)\b"),
    # the source before FLIP-27 hands records on when its deserialiser is done (KafkaFetcher): what fails within fails to read
    FaultClass("deserialise", "poison-record", "deserialiser", r"\S", frames=r"(?s)DeserializationSchema\w*\.deserialize\b.*KafkaFetcher\.", running=True),
    # --- user code over one record -----------------------------------------------------------------------------------------------------------
    FaultClass("user-code-data", "poison-record", "user-code", DATA, frames=PER_RECORD, running=True),
    # the thread in which a source asks its system: no operator has seen a record of it
    FaultClass("source-fetcher", "other", "source", r"SplitFetcher thread \d+ received unexpected exception while polling|One or more fetchers have encountered exception"),
    FaultClass("user-code", "poison-record", "user-code", r"\S", frames=PER_RECORD, running=True, unless=SETUP),
    # the first frame of the user's own code, thrown while the task ran and not while it was set up
    FaultClass("user-code", "poison-record", "user-code", r"\S", running=True, frames=r"user frame: (?!\S*(?:\.open|\.<init>|\.<clinit>|\.main|\.initializeState|\.setRuntimeContext|\.build\w*|\.configure)(?:\n|$))", unless=SETUP),
    FaultClass("tolerance", None, "checkpoints", r"Exceeded checkpoint tolerable failure threshold|Checkpoint failure threshold exceeded"),
)  # fmt: skip

UNKNOWN = FaultClass("unknown", "other", None, "")


@cache
def expression(pattern: str) -> re.Pattern[str]:
    """Compiled when it is first needed: most evidence needs few of the expressions."""
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _by_words() -> tuple[Candidates, Candidates]:
    """The classes whose text may match, told by its words, and those whose frames may; behind the last one, whether a task may be set up."""
    return Candidates(c.text for c in FAULT_CLASSES), Candidates([*(c.frames for c in FAULT_CLASSES), OPENING])


_RECORD_WRAPPER = "Failed to deserialize consumer record"
_DOWNSTREAM = re.compile(r"ExceptionInChainedOperatorException|Could not forward element to next operator")


def _opened(chain: tuple[str, ...]) -> str:
    """`chain` in lines, without the source's wrapper where an operator chained behind it failed: that record did deserialise."""
    said = "\n".join(chain)
    if _RECORD_WRAPPER in said and _DOWNSTREAM.search(said):
        return "\n".join(c for c in chain if _RECORD_WRAPPER not in c)
    return said


@lru_cache(maxsize=4096)
def classify(chain: tuple[str, ...], message: str, frames: str) -> FaultClass:
    """The first class that fits a fault: `chain` outermost first, `message` the event's own first line, `frames` its stack frames as text."""
    said = _opened((*chain, *message.splitlines()))
    places = f"{frames}\n{said}"
    thrown = _opened(chain)  # a header names threads, loggers and hosts (…taskmanager.Task, pekko): they rule nothing out
    by_text, by_frames = _by_words()
    placed: Sequence[int] | None = None  # most classes ask for no frames
    for number in by_text.of(said):
        each = FAULT_CLASSES[number]
        if not expression(each.text).search(said):
            continue
        if each.frames is not None:
            if placed is None:
                placed = by_frames.of(places)
            if number not in placed or not expression(each.frames).search(places):
                continue
            if each.running and len(FAULT_CLASSES) in placed and expression(OPENING).search(places):
                continue
        if each.unless is not None and expression(each.unless).search(thrown or said):
            continue
        if each.not_in is not None and expression(each.not_in).search(frames):
            continue
        if each.unless == FLINK_NET and CLUSTER_LOGGER.search(message):
            continue
        return each
    return UNKNOWN


@lru_cache(maxsize=1)
def _ids() -> dict[str, FaultClass]:
    return {c.id: c for c in (*FAULT_CLASSES, UNKNOWN)}


def by_id(fault: str) -> FaultClass:
    """The class with this id; raises ``KeyError``."""
    return _ids()[fault]
