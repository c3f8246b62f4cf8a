"""Services outside Kafka and the engine: databases, HTTP, search, caches, object stores; down, slow, throttling or refusing.

Texts of clients and drivers as their exceptions print them. They say what was seen, not whose fault it is: an object store may be
the job's sink or its checkpoint storage, and a read that timed out may be the only sign of a slow database.
"""

from __future__ import annotations

from analyzers.logs.signatures.origin import failed_task, in_flink
from analyzers.logs.signatures.signature import Signature

SIGNATURES = (
    Signature(
        id="program-panicked",
        says="A program of Go or Rust panicked: a bug, or a value that its author took for impossible.",
        literals=(" panicked at ", "panic: ", "goroutine 1 [running]"),
        pattern=r"\bthread '[^'\n]*' panicked at (?P<panicked_at>[^\s,]+)|(?:^|\s)panic: (?P<panic>[^\n]{1,300})",
        where="line",
        sample="thread 'tokio-runtime-worker' panicked at src/render.rs:88:41:",
        keep=(20, 5),
    ),
    Signature(
        id="client-retry",
        says="A client of a service tries again by itself.",
        literals=(
            "Retrying request to {",
            "Trying to restore lost connection to ",
            "Failed to send HTTP request to endpoint: ",
            "Retrying connect to server: ",
        ),
        pattern=r"(?:Retrying request to \{[a-z]*\}->(?:\w+://)?|Trying to restore lost connection to |HTTP request to endpoint: \w+://"
        r"|Retrying connect to server: (?:[^/\s]+/)?)(?P<address>[\w.-]+(?::\d+)?)",
        sample=in_flink("org.apache.http.impl.execchain.RetryExec", "Retrying request to {s}->https://minio.internal:9000"),
        keep=(20, 5),
    ),
    Signature(
        id="connection-refused",
        says="Nothing listens at the address (process down, wrong port).",
        literals=("Connection refused",),
        pattern=r"(?:Connect to (?P<target>\S+)[^\n]*? failed: |Connection to (?P<endpoint>[\w.-]+:\d+) refused|"
        r"Connection refused(?:: (?:no further information: )?(?:(?P<named_host>[^/\s:]+)?/)?(?P<address>[\w.-]+:\d+))?)",
        where="line",
        sample=failed_task("Caused by: java.net.ConnectException: Connection refused: db-1.internal/10.0.3.4:5432"),
        keep=(20, 5),
    ),
    Signature(
        id="connection-timed-out",
        says="The address does not answer (host gone, firewall, route).",
        literals=(
            "connect timed out",
            "Connect timed out",
            "Connection timed out",
            "connection timed out",
            "No route to host",
            "Network is unreachable",
        ),
        pattern=r"(?:[Cc]onnect(?:ion)? timed out|No route to host|Network is unreachable)(?:: (?:no further information:"
        r" )?(?:(?P<named_host>[^/\s:]+)?/)?"
        r"(?P<address>[\w.-]+:\d+))?",
        where="line",
        sample=failed_task("Caused by: java.net.ConnectException: Connection timed out: profiles.internal/10.0.3.9:443"),
        keep=(20, 5),
    ),
    Signature(
        id="host-unknown",
        says="A name does not resolve.",
        literals=(
            "java.net.UnknownHostException",
            "Name or service not known",
            "Temporary failure in name resolution",
            "nodename nor servname provided",
        ),
        pattern=r"UnknownHostException: (?P<named_host>[\w.-]+)|Name or service not known|name resolution|nodename nor servname",
        where="line",
        sample=failed_task("Caused by: java.net.UnknownHostException: db-1.internal: Name or service not known"),
        keep=(20, 5),
    ),
    Signature(
        id="call-timed-out",
        says="A service took the call but did not answer in time.",
        literals=(
            "Read timed out",
            "java.net.SocketTimeoutException",
            "HttpTimeoutException",
            "DEADLINE_EXCEEDED",
            "ReadTimeoutException",
            "Net.SocketTimeout",
            "request timed out",
        ),
        pattern=r"(?P<error>Read timed out|SocketTimeoutException|HttpTimeoutException|DEADLINE_EXCEEDED|ReadTimeoutException|request"
        r" timed out)",
        where="line",
        sample=failed_task("Caused by: java.net.SocketTimeoutException: Read timed out"),
        keep=(20, 5),
    ),
    Signature(
        id="http-unavailable",
        says="An HTTP service answers that it cannot: 429, 5xx.",
        literals=(
            "Bad Gateway",
            "Service Unavailable",
            "Gateway Time-out",
            "Gateway Timeout",
            "Too Many Requests",
            "Internal Server Error",
            "Status Code: 5",
            "NoHttpResponseException",
            "response code: 5",
            "HTTP/1.1 5",
        ),
        pattern=r"(?:\b(?P<http_status>429|50\d)\b[^\n]{0,40}(?:Bad Gateway|Service (?:Temporarily )?Unavailable|Gateway Time-?out|Too"
        r" Many Requests|"
        r"Internal Server Error)|Status Code: (?P<status>5\d\d)|response code: (?P<code>5\d\d)|HTTP/1\.1 (?P<http>5\d\d)|"
        r"NoHttpResponseException)",
        where="line",
        sample=failed_task("Caused by: java.io.IOException: Server returned HTTP 503 Service Unavailable for https://profiles.internal/v1"),
        keep=(20, 5),
    ),
    Signature(
        id="database-unreachable",
        says="A JDBC driver lost its database or cannot reach it.",
        literals=(
            "Communications link failure",
            "CommunicationsException",
            "The Network Adapter could not establish the connection",
            "The connection attempt failed",
            "JDBC connection is not valid",
            "An I/O error occurred while sending to the backend",
            "This connection has been closed",
            "No operations allowed after connection closed",
            "terminating connection due to administrator command",
            "the database system is starting up",
            "the database system is shutting down",
            "The TCP/IP connection to the host",
        ),
        pattern=r"(?:TCP/IP connection to the host (?P<named_host>\S+), port (?P<port>\d+) has failed|Communications link failure|"
        r"CommunicationsException|"
        r"Network Adapter|connection attempt failed|connection is not valid|sending to the backend|has been closed|connection closed|"
        r"administrator command|"
        r"is starting up|is shutting down)",
        where="line",
        sample=failed_task("Caused by: com.mysql.cj.jdbc.exceptions.CommunicationsException: Communications link failure"),
        keep=(20, 5),
    ),
    Signature(
        id="connection-pool-exhausted",
        says="No connection is free: the pool is too small, or its database too slow or gone.",
        literals=(
            "Connection is not available, request timed out after",
            "Could not get a resource from the pool",
            "Timeout waiting for connection from pool",
            "Unable to acquire JDBC Connection",
            "Cannot get a connection, pool error",
            "Acquire operation took longer than",
        ),
        pattern=r"timed out after (?P<duration_ms>\d+)ms|resource from the pool|connection from pool|JDBC Connection|pool error|"
        r"Acquire operation",
        where="line",
        sample=failed_task(
            "Caused by: java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after"
            " 30001ms."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="database-overloaded",
        says="A database takes no more connections, or gives up on locks.",
        literals=(
            "Too many connections",
            "too many clients already",
            "remaining connection slots are reserved",
            "Lock wait timeout exceeded",
            "deadlock detected",
            "Deadlock found when trying to get lock",
            "canceling statement due to statement timeout",
            "ORA-00018",
            "ORA-00060",
        ),
        where="line",
        sample=failed_task("Caused by: org.postgresql.util.PSQLException: FATAL: sorry, too many clients already"),
        keep=(20, 5),
    ),
    Signature(
        id="access-denied",
        says="A service refuses the credentials or the right.",
        literals=(
            "Access denied for user",
            "password authentication failed for user",
            "Access Denied",
            "AccessDeniedException",
            "Status Code: 403",
            "403 Forbidden",
            "401 Unauthorized",
            "PERMISSION_DENIED",
            "InvalidAccessKeyId",
            "ExpiredToken",
            "The security token included in the request",
            "Permission denied: user=",
        ),
        pattern=r"(?:for user ['\"](?P<user>[^'\"]*)['\"]|Status Code: (?P<status>403)|(?P<http>40[13]) (?:Forbidden|Unauthorized)|"
        r"Permission denied: user=(?P<hdfs_user>[^,]+)|"
        r"(?P<error>Access ?Denied(?:Exception)?|PERMISSION_DENIED|InvalidAccessKeyId|ExpiredToken\w*)|security token)",
        where="line",
        sample=failed_task(
            "Caused by: java.nio.file.AccessDeniedException: s3a://totals/part-0: PUT 0-byte object: com.amazonaws.services.s3.model"
            ".AmazonS3Exception: Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied)"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="tls-failed",
        says="A TLS hand-shake failed: certificate expired, unknown or for another name.",
        literals=(
            "SSLHandshakeException",
            "PKIX path building failed",
            "PKIX path validation failed",
            "certificate has expired",
            "NotAfter:",
            "No subject alternative",
        ),
        pattern=r"(?P<error>PKIX path \w+ failed|certificate has expired|NotAfter: [^\n]{1,60}|No subject alternative|"
        r"SSLHandshakeException)",
        where="line",
        sample=failed_task(
            "Caused by: javax.net.ssl.SSLHandshakeException: PKIX path validation failed:"
            " java.security.cert.CertPathValidatorException: validity check failed"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="search-refused",
        says="Elasticsearch or OpenSearch refuses writes: overloaded, read-only because its disk is full, or without a node.",
        literals=(
            "es_rejected_execution_exception",
            "circuit_breaking_exception",
            "cluster_block_exception",
            "NoNodeAvailableException",
            "unavailable_shards_exception",
            "index_not_found_exception",
            "rejected execution of coordinating operation",
        ),
        pattern=r"(?P<error>es_rejected_execution_exception|circuit_breaking_exception|cluster_block_exception|NoNodeAvailableException|"
        r"unavailable_shards_exception|index_not_found_exception|rejected execution)",
        where="line",
        sample=failed_task(
            "Caused by: ElasticsearchException[Elasticsearch exception [type=cluster_block_exception, reason=index [totals] blocked by:"
            " [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];]]"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="throttled",
        says="A cloud service slows the job down.",
        literals=(
            "SlowDown",
            "ProvisionedThroughputExceeded",
            "ThrottlingException",
            "Throttling: Rate",
            "Rate exceeded",
            "RESOURCE_EXHAUSTED",
            "RequestLimitExceeded",
            "TooManyRequestsException",
            "Please reduce your request rate",
        ),
        pattern=r"(?P<error>SlowDown|ProvisionedThroughputExceeded\w*|ThrottlingException|Rate exceeded|RESOURCE_EXHAUSTED|"
        r"RequestLimitExceeded|"
        r"TooManyRequestsException|reduce your request rate|Throttling)",
        where="line",
        sample=failed_task(
            "Caused by: com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. (Service: Amazon S3; Status"
            " Code: 503; Error Code: SlowDown)"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="object-store-missing",
        says="A bucket or object is not there.",
        literals=(
            "NoSuchBucket",
            "NoSuchKey",
            "The specified bucket does not exist",
            "The specified key does not exist",
            "BlobNotFound",
            "ContainerNotFound",
        ),
        pattern=r"(?P<error>NoSuchBucket|NoSuchKey|specified (?:bucket|key) does not exist|BlobNotFound|ContainerNotFound)",
        where="line",
        sample=failed_task(
            "Caused by: com.amazonaws.services.s3.model.AmazonS3Exception: The specified bucket does not exist (Service: Amazon S3; Status"
            " Code: 404; Error Code: NoSuchBucket)"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="hdfs-unavailable",
        says="HDFS cannot write or read: safe mode, standby, no datanodes, quota.",
        literals=(
            "Name node is in safe mode",
            "Operation category ",
            "could only be written to 0 of the",
            "All datanodes ",
            "BlockMissingException",
            "The DiskSpace quota of",
            "The NameSpace quota",
        ),
        pattern=r"(?P<error>safe mode|is not supported in state standby|could only be written to|All datanodes [^\n]* are bad|"
        r"BlockMissingException|quota)",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.hadoop.ipc.RemoteException(org.apache.hadoop.hdfs.server.namenode.SafeModeException): Cannot create file"
            " /flink/chk-42. Name node is in safe mode."
        ),
        keep=(20, 5),
    ),
    Signature(
        id="redis-unavailable",
        says="Redis cannot be reached, is full, read-only or failing over.",
        literals=(
            "Unable to connect to Redis",
            "JedisConnectionException",
            "RedisConnectionException",
            "RedisCommandTimeoutException",
            "CLUSTERDOWN",
            "READONLY You can't write against a read only",
            "OOM command not allowed when used memory",
        ),
        pattern=r"(?:Unable to connect to (?:\[?[\w.-]+[/:]|Redis)|(?P<error>JedisConnectionException|RedisConnectionException|"
        r"RedisCommandTimeoutException|"
        r"CLUSTERDOWN|READONLY|OOM command))",
        where="line",
        sample=failed_task("Caused by: io.lettuce.core.RedisConnectionException: Unable to connect to Redis"),
        keep=(20, 5),
    ),
    Signature(
        id="store-unavailable",
        says="Cassandra, MongoDB, HBase or ZooKeeper cannot serve the call.",
        literals=(
            "All host(s) tried for query failed",
            "NoNodeAvailableException",
            "UnavailableException",
            "MongoTimeoutException",
            "MongoSocketOpenException",
            "RetriesExhaustedException",
            "NoServerForRegionException",
            "KeeperErrorCode = ConnectionLoss",
            "KeeperErrorCode = SessionExpired",
            "WriteTimeoutException",
        ),
        pattern=r"(?P<error>All host\(s\) tried|NoNodeAvailableException|UnavailableException|MongoTimeoutException|"
        r"MongoSocketOpenException|"
        r"RetriesExhaustedException|NoServerForRegionException|KeeperErrorCode = \w+|WriteTimeoutException)",
        where="line",
        sample=failed_task("Caused by: com.mongodb.MongoTimeoutException: Timed out after 30000 ms while waiting to connect."),
        keep=(20, 5),
    ),
    Signature(
        id="connection-reset",
        says="The other side broke the connection: a restart, a load balancer, an idle timeout; often a consequence.",
        literals=("Connection reset", "Broken pipe", "Connection closed by peer", "Connection aborted"),
        pattern=r"(?P<error>Connection reset(?: by peer)?|Broken pipe|Connection closed by peer|Connection aborted)",
        where="line",
        sample=failed_task("Caused by: java.io.IOException: Connection reset by peer"),
        keep=(20, 5),
    ),
    Signature(
        id="circuit-open",
        says="The job's own circuit breaker is open: the service behind it failed before.",
        literals=("CallNotPermittedException", "does not permit further calls"),
        pattern=r"CircuitBreaker '(?P<name>[^']+)' is (?P<to_state>\w+)|CallNotPermitted|does not permit further calls",
        where="line",
        sample=failed_task(
            "Caused by: io.github.resilience4j.circuitbreaker.CallNotPermittedException: CircuitBreaker 'profiles' is OPEN and does not"
            " permit further calls"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="jdbc-sink-retrying",
        says="Flink's JDBC sink failed to write a batch and tries again; with the last retry the job fails.",
        literals=("JDBC executeBatch error, retry times =", "Writing records to JDBC failed", "Unable to execute JDBC batch"),
        pattern=r"retry times = (?P<retries>\d+)|Writing records to JDBC failed|JDBC batch",
        where="line",
        sample=in_flink(
            "org.apache.flink.connector.jdbc.internal.JdbcOutputFormat",
            "JDBC executeBatch error, retry times = 0\njava.sql.BatchUpdateException: ERROR: canceling statement due to statement timeout",
            "ERROR",
        ),
        keep=(20, 5),
    ),
)
