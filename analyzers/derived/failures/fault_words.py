"""Parts of the expressions of `fault_classes.py`: families of exceptions and frames, by whom they are thrown."""

from __future__ import annotations

import re

HTTP_OUTAGE = (
    r"(?:\b(?i:status|code|http|response|error code)\b\D{0,20}(?:5\d\d|429)\b|\bHTTP/\d(?:\.\d)? (?:5\d\d|429)\b|\b(?:50[0234]|429) (?:Internal Server Error|Bad Gateway|"
    r"Service (?:Temporarily )?Unavailable|Gateway Time-?out|Too Many Requests)|Service Unavailable|Bad Gateway|Gateway Time-?out|Too Many Requests)"
)
CONNECTION_GONE = (
    r"(?:java\.net\.(?:ConnectException|NoRouteToHostException|UnknownHostException|SocketTimeoutException|PortUnreachableException|SocketException: (?:Connection|Broken))"
    r"|ConnectTimeoutException|HttpHostConnectException|NoHttpResponseException|HttpTimeoutException|HttpConnectTimeoutException|SSLHandshakeException"
    r"|Connection refused|Connection timed out|connect timed out|Read timed out|No route to host|Connection reset|Broken pipe"
    r"|Name or service not known|E(?:CONNREFUSED|TIMEDOUT|NOTFOUND|HOSTUNREACH)\b|Temporary failure in name resolution|ConnectionRefusedError|ConnectionError|ReadTimeout|requests\.exceptions)"
)
OTHER_STREAM = (
    r"org\.apache\.(?:pulsar|flink\.connector\.pulsar|flink\.streaming\.connectors\.pulsar|rocketmq)\.|\bPulsar(?:Client|Admin)Exception"
)
"""Exceptions of a source of another system: its enumerator says some things in the words of Kafka's (PulsarSourceEnumerator)."""
KAFKA_PLACE = r"org\.apache\.kafka\.common\.errors|org\.apache\.kafka\.clients|KafkaException|KafkaAdminClient|bootstrap\.servers"
FLINK_NET = (
    r"(?:Local|Remote)TransportException|PartitionConnectionException|PartitionRequestClient|akka\.|pekko\.|taskmanager|TaskExecutor|BlobClient|BlobServer|resourcemanager|ResourceManager"
    r"|ZooKeeper|zookeeper|Curator|kubernetes\.client|fabric8"
)
CLUSTER_LOGGER = re.compile(r"[zZ]oo[kK]eeper|Curator|Blob(?:Client|Server)|kubernetes\.client|fabric8|PartitionRequestClient")
"""Who prints a lost connection of the cluster's own: no service that the job calls."""
DATA = (
    r"(?:NumberFormatException|DateTimeParseException|DateTimeException|JsonParseException|JsonMappingException|JsonProcessingException|JsonSyntaxException|MalformedJsonException"
    r"|MismatchedInputException|UnrecognizedPropertyException|InvalidFormatException|JsonEOFException|JSONException|AvroTypeException|AvroRuntimeException|InvalidProtocolBufferException"
    r"|MalformedInputException|CharConversionException|UnmappableCharacterException|ParseException|InputMismatchException|CsvReadException|CSVParseException|XMLStreamException|SAXParseException"
    r"|NullPointerException|ClassCastException|ArrayIndexOutOfBoundsException|StringIndexOutOfBoundsException|IndexOutOfBoundsException|ArithmeticException|NoSuchElementException|MatchError"
    r"|NegativeArraySizeException|BufferUnderflowException|NoSuchFieldException|IllegalArgumentException|UnsupportedOperationException"
    r"|ValueError|TypeError|KeyError|IndexError|JSONDecodeError|UnicodeDecodeError|ZeroDivisionError|AttributeError|AssertionError|InvalidOperation)"
)
PER_RECORD = (
    r"Could not forward element to next operator|ExceptionInChainedOperatorException|processElement|\.processRecord|emitRecord|pollNext|pushToOperator|"
    r"Exception caught in process\. taskId=|processBatch|DoFn|UserCodeException|FAILED_EXECUTE_UDF|PythonException|foreachBatch|FOREACH_BATCH|\.invoke\b|StreamExecCalc|mapPartitions|PythonUDF|\.deserialize\b|"
    r"BaseRowHashing|SinkWriterOperator|asyncInvoke|AsyncWaitOperator|"
    # methods of functions over records that collections have, too: those of Scala stand in every trace of a Spark driver
    r"(?m:^(?:[ \t]*at )?(?!(?:scala|javax?|jdk|sun|org\.apache\.(?:spark|iceberg|hudi|hadoop))\.)[\w.$/-]*\.(?:flatMap|map|filter|reduce|aggregate|add)\b)"
)

SERVICE_SAYS = (  # in the exception itself: a warning of somebody's logger about a service is no failure of a call
    r"(?im)^(?:Caused by: )?[\w.$]+(?:Exception|Error|Failure|Pool)\b(?:[^\n]{0,300}?(?:"
    r"\b(?:service|server|host|cluster|endpoint|backend|upstream|gateway|database|connection|region|shard|replica)s? (?:\S+ ){0,3}?"
    r"(?:(?:temporarily |currently )?unavailable|not available|unreachable|not reachable|overloaded|not alive|timed out|(?:is|was|been|already) closed|was lost|is down)\b"
    r"|\b(?:could not|cannot|can't|unable to|failed to) (?:re)?connect\b|\bcommunication error|stream was reset|attempts left\b"
    r"|\btoo many (?:parts|connections|concurrent|simultaneous)|rate (?:limit(?:ed| exceeded)|exceeded)|rate limits\b|\bthrottl(?:ed|ing)\b|temporarily unavailable"
    r"|Service_?Unavailable|timeout waiting for idle object|[^\n]: time-?out$)"
    r")|^(?:Caused by: )?[\w.$]*(?-i:Unavailable|Unreachable|Throttl|RateLimit|Overload|ConnectionLost|ConnectionClosed|NotConnected|Disconnect|ServiceFailure)\w*Exception\b"
)
CLIENT_LIBRARIES = (
    r"(?m)^(?:Caused by: )?(?:com\.amazonaws|software\.amazon|com\.google\.(?:cloud|api)|com\.azure|com\.microsoft\.azure|redis\.clients|io\.lettuce|org\.redisson|com\.couchbase"
    r"|org\.elasticsearch|org\.opensearch|com\.datastax|com\.mongodb|com\.influxdb|org\.influxdb|okhttp3|retrofit2|feign|org\.apache\.http|org\.springframework\.web|io\.grpc|org\.neo4j"
    r"|org\.apache\.(?:hadoop\.hbase|phoenix|pulsar|solr|kudu|ignite|iceberg\.exceptions|doris|rocketmq|activemq)|com\.starrocks|com\.clickhouse|ru\.yandex\.clickhouse"
    r"|com\.rabbitmq|com\.aerospike|com\.hazelcast|com\.snowflake|net\.snowflake|io\.milvus|com\.scylladb)[\w.$]*(?:Exception|Error)\b"
)
"""An exception of a client's own class: what it calls is to blame, unless it says that it was given something wrong."""
GIVEN_WRONG = r"(?i)invalid|malformed|illegal|validat|pars(?:e|ing)\b|too large|exceeds the|bad request|\b400\b|mismatch|\bnull\b|not found|no such (?!file or directory)|does not exist|unknown (?:field|column)|duplicate|constraint|serializ|type"
SINK_FILES = (
    r"RecoverableFsDataOutputStream|RecoverableMultiPartUpload|S3RecoverableMultipartUpload|connector\.file\.sink\.|functions\.sink\.filesystem\."
    r"|org\.apache\.(?:iceberg|paimon|hudi)\.|io\.delta\.flink\.|legacy\.sink\."
)
"""Frames of what a sink writes when the barrier comes (FileSink, StreamingFileSink, tables of a lake): the checkpoint fails, its storage does not."""
SETUP = r"ModuleNotFoundError|ImportError|ClassNotFound|NoClassDefFound|NoSuchMethodError|NoSuchFieldError|AbstractMethodError|UnsupportedClassVersion|LinkageError|VerifyError|NotSerializableException|InvalidProgramException|ConfigException|ConfigurationException|TimeoutException"

JOB_ENDED = (
    r"JobExecutionException|JobException|Job execution failed|Job failed|ClusterDeploymentException|YarnDeploymentException"
    r"|JobSubmissionException|RestClientException|RestHandlerException(?!: Could not execute application)|ClusterRetrieveException"
)
"""What main() throws when the job that it started fails, or the cluster does not take it: that is no failure of main's own. What the
JobManager itself throws when it runs a jar and main() fails stands around main's exception, not behind it (JarRunHandler)."""
OPENING = r"openFunction|initializeStateAndOpenOperators|restoreGates|openOperator|\.initializeState\("
"""Frames of a task that is set up (StreamTask.invoke stands in every trace)."""

STATE_WRITTEN = (
    r"Could not materialize checkpoint|Could not (?:flush|open|create|close) .*(?:checkpoint|FsCheckpointStateOutputStream|/chk-\d+|in order to obtain the stream state handle)|Failure to finalize checkpoint"
    r"|Could not finalize the pending|Cannot create FsCheckpointStreamFactory|Failed to create directory for (?:shared|checkpoint)|Could not open output stream for state backend"
    r"|An Exception occurred while triggering the checkpoint\. IO-problem|CheckpointException: (?:Trigger checkpoint failure|Asynchronous task checkpoint failed|Task local checkpoint failure)"
    r"|Could not initialize (?:checkpoint storage|the checkpoint)|Failed to (?:initialize|create) checkpoint storage at checkpoint coordinator side"
)
"""What Flink was doing: a checkpoint's directory, one operator's state, or the metadata was being written (CheckpointFailureReason)."""
STORAGE_SAYS = (
    r"IOException|AmazonS3|S3Exception|AmazonClientException|Sdk(?:Client|Service)?Exception|AccessDenied|AccessControl|Permission denied|SafeMode|StandbyException|NameNode|Connection|Timeout|timed out"
    r"|No space|[qQ]uota|FileNotFound|NoSuchFile|FileSystemException|Filesystem closed|HttpException|StorageException|AbfsRestOperation|AzureException|OSSException|OBSException|CosServiceException"
    r"|GoogleJsonResponse|googleapis|SlowDown|Mkdirs failed|InvalidToken|GSS(?:Exception| initiate)|Kerberos|UnknownHostException|SSL\w*Exception|RocksDBException|[dD]atanode"
    r"|Read-only file system|Stale file handle|Input/output error|\b(?:s3[an]?|gs|hdfs|abfss?|wasbs?|oss|obs|cosn)://"
)
"""What a file system or an object store says, or its client, when it does not take what is written."""
