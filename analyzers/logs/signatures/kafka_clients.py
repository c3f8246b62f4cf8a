"""Kafka clients and their brokers: connections, metadata, requests (catalogue B01–B10, B16–B20, B22).

Node ids: negative = entry ``-1-id`` of the bootstrap list, above 2147480000 = coordinator connection to broker ``2147483647-id``.
"""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import CLIENT, NODE, SOCKET, TP
from analyzers.logs.signatures.origin import failed_task, flink, in_flink, kafka_broker, kafka_client
from analyzers.logs.signatures.signature import Signature

_C = "[Consumer clientId=orders-totals-1, groupId=orders-totals] "
_A = "[AdminClient clientId=orders-totals-enumerator-admin-client] "
_P = "[Producer clientId=producer-totals-1] "

SIGNATURES = (
    Signature(
        id="connection-failed",
        ref="B01 B02",
        says="A connection to a broker was refused or gave up; for a black hole only after the operating system's timeout (130 s).",
        versions="`Broker` <=3.6, `Node` 3.7+",
        literals=("could not be established",),
        pattern=rf"{CLIENT}Connection to node (?P<broker>-?\d+) \({SOCKET}\) could not be established\.(?: (?:Broker|Node) may not be"
        rf" available)?",
        sample=kafka_client(
            "NetworkClient",
            _C + "Connection to node -4 (kafka-4/10.0.1.4:9092) could not be established. Broker may not be available.",
            "WARN",
        ),
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="bootstrap-disconnected",
        ref="B03",
        says="An entry of bootstrap.servers did not answer: refused, black hole (2.7+) or hung.",
        literals=("Bootstrap broker ",),
        pattern=rf"{CLIENT}Bootstrap broker {NODE} disconnected",
        sample=kafka_client("NetworkClient", _C + "Bootstrap broker kafka-4:9092 (id: -4 rack: null) disconnected", "WARN"),
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="node-disconnected",
        ref="B04",
        says="A connection ended; normal for idle ones.",
        versions="INFO 3.1+",
        literals=(" disconnected.",),
        pattern=rf"{CLIENT}Node (?P<broker>-?\d+) disconnected\.",
        sample=kafka_client("NetworkClient", _C + "Node 4 disconnected."),
        keep=(20, 20),
        apart=("broker",),
    ),
    Signature(
        id="node-request-timeout",
        ref="B05",
        says="A broker took a connection but did not answer a request in time: hung, or overloaded.",
        versions="INFO 3.1+",
        literals=("due to request timeout.",),
        pattern=rf"{CLIENT}Disconnecting from node (?P<broker>-?\d+) due to request timeout",
        sample=kafka_client("NetworkClient", _C + "Disconnecting from node 4 due to request timeout."),
        keep=(20, 20),
        apart=("broker",),
    ),
    Signature(
        id="node-setup-timeout",
        ref="B05",
        says="A connection could not be set up in time: the black hole's signature.",
        versions="2.7+, INFO 3.1+",
        literals=("due to socket connection setup timeout",),
        pattern=rf"{CLIENT}Disconnecting from node (?P<broker>-?\d+) due to socket connection setup timeout\. The timeout value is"
        r" (?P<timeout_ms>\d+) ms",
        sample=kafka_client(
            "NetworkClient", _C + "Disconnecting from node -4 due to socket connection setup timeout. The timeout value is 9342 ms."
        ),
        keep=(20, 20),
        apart=("broker",),
    ),
    Signature(
        id="request-cancelled",
        says="A request in flight was lost with its connection.",
        versions="3.1+",
        literals=("Cancelled in-flight ",),
        pattern=rf"{CLIENT}Cancelled in-flight (?P<request>\w+) request with correlation id (?P<correlation>\d+) due to node"
        rf" (?P<broker>-?\d+)"
        r" being disconnected(?: \(elapsed time since creation: (?P<duration_ms>\d+)ms)?",
        sample=kafka_client(
            "NetworkClient",
            _C + "Cancelled in-flight API_VERSIONS request with correlation id 7 due to node -4 being"
            " disconnected (elapsed time since creation: 30021ms, elapsed time since send: 30021ms, request timeout: 30000ms)",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="node-connect-error",
        ref="B06",
        says="A connection to a broker could not even be tried; usually its name does not resolve.",
        literals=("Error connecting to node",),
        pattern=rf"{CLIENT}Error connecting to node {NODE}",
        sample=kafka_client(
            "NetworkClient", _C + "Error connecting to node kafka-4:9092 (id: 4 rack: null)\njava.net.UnknownHostException: kafka-4", "WARN"
        ),
        keep=(20, 5),
        apart=("address",),
    ),
    Signature(
        id="node-name-changed",
        says="A broker is advertised under another name than before.",
        literals=("Hostname for node ",),
        pattern=rf"{CLIENT}Hostname for node (?P<node>\d+) changed from (?P<from_host>\S+) to (?P<to_host>\S+?)\.?$",
        sample=kafka_client("ClusterConnectionStates", _C + "Hostname for node 4 changed from 10.0.1.4 to kafka-4.internal.example."),
        keep=(20, 5),
    ),
    Signature(
        id="bootstrap-unresolvable",
        ref="B06",
        says="An entry of bootstrap.servers, or every one, does not resolve.",
        literals=(
            "Couldn't resolve server",
            "from bootstrap.servers as DNS resolution failed",
            "No resolvable bootstrap urls given in bootstrap.servers",
        ),
        versions="`Removing server` up to 2.0",
        pattern=r"(?:Couldn't resolve|Removing) server (?P<address>\S+) from bootstrap\.servers as DNS resolution failed for"
        r" (?P<named_host>[^\s.]\S*)|No resolvable bootstrap urls",
        where="line",
        sample=kafka_client(
            "ClientUtils", "Couldn't resolve server kafka-4:9092 from bootstrap.servers as DNS resolution failed for kafka-4", "WARN"
        ),
        keep=(20, 5),
        apart=("address",),
    ),
    Signature(
        id="metadata-error",
        ref="B07",
        says="A broker answered a metadata request with an error per topic.",
        versions="second wording 3.9+",
        literals=("Error while fetching metadata with correlation id", "metadata response from the cluster reported a recoverable issue"),
        pattern=rf"^{CLIENT}[^\n]*?correlation id (?P<correlation>\d+) ?: \{{(?P<topic>[\w.-]+)=(?P<error>\w+)",
        sample=kafka_client(
            "NetworkClient", _C + "Error while fetching metadata with correlation id 18 : {orders=LEADER_NOT_AVAILABLE}", "WARN"
        ),
        keep=(20, 5),
        apart=("topic",),
    ),
    Signature(
        id="listener-missing",
        ref="B08",
        says="Partitions are led by brokers that do not listen where this client asks.",
        literals=("partitions have leader brokers without a matching listener",),
        pattern=rf"{CLIENT}(?P<partitions>\d{{1,9}}) partitions have leader brokers without a matching listener, including"
        rf" \[(?P<tps>[^\]]*)\]",
        sample=kafka_client(
            "NetworkClient", _C + "2 partitions have leader brokers without a matching listener, including [orders-1, orders-3]", "WARN"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="rebootstrap",
        ref="B09",
        says="A client lost all brokers it knew and goes back to bootstrap.servers.",
        versions="3.8+; default 4.0+",
        literals=(
            "Rebootstrapping with [",
            "Rebootstrapping with Cluster(",
            "due to client rebootstrap",
            "Rebootstrap requested by server",
        ),
        pattern=rf"{CLIENT}(?:Rebootstrapping with (?:\[(?P<bootstrap>[^\]]*)\]|Cluster\()|Disconnecting from node (?P<broker>-?\d+) due to"
        r" client rebootstrap|Rebootstrap requested by server)",
        sample=kafka_client("Metadata", _C + "Rebootstrapping with [kafka-1/10.0.1.1:9092, kafka-4/10.0.1.4:9092]"),
        keep=(20, 5),
    ),
    Signature(
        id="metadata-timeout",
        ref="B10",
        says="A client could not get metadata within its timeout: no reachable broker among those it tried.",
        literals=("Timeout expired while fetching topic metadata",),
        where="line",
        sample=failed_task("org.apache.kafka.common.errors.TimeoutException: Timeout expired while fetching topic metadata"),
        keep=(200, 50),
    ),
    Signature(
        id="admin-call-timeout",
        ref="B16 B17",
        says="The AdminClient (KafkaSource's enumerator, Spark's offset reader) found no broker that answers.",
        literals=(
            "Timed out waiting for a node assignment",
            "Timed out waiting to send the call",
            "Call(callName=",
            "The AdminClient thread has exited",
        ),
        pattern=r"Timed out waiting (?:for a node assignment|to send the call)\.?(?: Call: (?P<call>\w+))?|"
        r"Call\(callName=(?P<call_name>\w+), deadlineMs=\d+[^)\n]*\) timed out at (?P<timed_out_ms>\d+) after (?P<tries>\d+) attempt|"
        r"The AdminClient thread has exited",
        where="line",
        sample=flink(
            "runtime.source.coordinator.SourceCoordinatorContext",
            "Exception while handling result from async call in SourceCoordinator-Source: orders. Triggering job failover.\n"
            "Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
            "ERROR",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="admin-node-revoked",
        ref="B18",
        says="The AdminClient gave up a broker that takes too long to become ready.",
        versions="3.0+",
        literals=("node assignment(s) because the node is taking too long",),
        pattern=rf"{CLIENT}Disconnecting from (?P<broker>-?\d+) and revoking (?P<calls>\d+) node assignment",
        sample=kafka_client(
            "admin.KafkaAdminClient",
            _A + "Disconnecting from -4 and revoking 1 node assignment(s) because the node is taking too long to become ready.",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="admin-metadata-failed",
        says="The AdminClient's metadata update failed.",
        literals=("Metadata update failed",),
        pattern=rf"{CLIENT}Metadata update failed",
        sample=kafka_client(
            "admin.internals.AdminMetadataManager",
            _A + "Metadata update failed\n"
            "org.apache.kafka.common.errors.TimeoutException: Call(callName=fetchMetadata, deadlineMs=1733192286996, tries=1,"
            " nextAllowedTryMs=-9223372036854775709) timed out at 9223372036854775807 after 1 attempt(s)",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="producer-topic-missing",
        ref="B19",
        says="A producer found no metadata of its topic or partition within max.block.ms.",
        literals=(" not present in metadata after ",),
        pattern=r"(?:Topic (?P<topic>[\w.-]+)|Partition (?P<partition>\d+) of topic (?P<topic_of>[\w.-]+) with partition count"
        r" (?P<count>\d+) is)"
        r" not present in metadata after (?P<timeout_ms>\d+) ms",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.TimeoutException: Topic totals not present in metadata after 60000 ms."
        ),
        keep=(20, 20),
    ),
    Signature(
        id="listener-topic-missing",
        says="A Spring application does not start: topics of its listeners are missing, and it is set not to go on without them.",
        versions="Spring Kafka; on by default in 2.3 only",
        literals=(" is/are not present and missingTopicsFatal is true",),
        pattern=r"Topic\(s\) \[(?P<topic>[\w.-]+)(?P<more>[^\]\n]*)\] is/are not present and missingTopicsFatal",
        where="line",
        sample="Caused by: java.lang.IllegalStateException: Topic(s) [orders] is/are not present and missingTopicsFatal is true",
        keep=(20, 20),
    ),
    Signature(
        id="producer-batch-expired",
        ref="B19",
        says="A producer could not deliver records within delivery.timeout.ms.",
        literals=(" ms has passed since ",),
        pattern=rf"Expiring (?P<records>\d+) record\(s\) for {TP}: ?(?P<waited_ms>\d+) ms has passed since",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for totals-0:120000 ms has passed"
            " since batch creation"
        ),
        keep=(20, 20),
    ),
    Signature(
        id="unknown-topic-or-partition",
        ref="B20",
        says="A broker does not know a partition that is being read or looked up: deleted, recreated or not yet there.",
        literals=("Received unknown topic or partition error in",),
        pattern=rf"{CLIENT}Received unknown topic or partition error in (?P<request>\w+)(?: request)? for partition {TP}",
        sample=kafka_client(
            "consumer.internals.FetchCollector", _C + "Received unknown topic or partition error in fetch for partition orders-1", "WARN"
        ),
        keep=(20, 20),
    ),
    Signature(
        id="request-timed-out",
        says="A consumer's request got no answer in time.",
        literals=("Failed to send request after ", "Failed to get offsets by times in "),
        pattern=r"Failed to (?:send request after (?P<timeout_ms>\d+) ?ms|get offsets by times in (?P<offsets_ms>\d+) ?ms)",
        where="line",
        sample=in_flink(
            "org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumerBase",
            "Consumer subtask 1 failed async Kafka commit.\n"
            "Caused by: org.apache.kafka.common.errors.TimeoutException: Failed to send request after 30000 ms.",
            "WARN",
        ),
        keep=(20, 20),
        family="coordinator",
    ),
    Signature(
        id="cluster-reached",
        says="A client got metadata from a broker: it is connected.",
        literals=("Cluster ID: ",),
        pattern=rf"{CLIENT}Cluster ID: (?P<cluster>[\w-]+)",
        sample=kafka_client("Metadata", _C + "Cluster ID: MkU3OEVBNTcwNTJENDM2Qg"),
        keep=(200, 50),
    ),
    Signature(
        id="topic-id-changed",
        says="Metadata shows another topic id; `from null` is a first look (or a client that never knew one), anything else a"
        " recreated topic.",
        versions="2.8+",
        literals=("since the associated topicId changed from", "Topic ID for partition"),
        pattern=rf"{CLIENT}Resetting the last seen epoch of partition {TP} to (?P<epoch>\d+) since the associated topicId changed from"
        r" (?P<from_id>\S+) to (?P<to_id>\S+)",
        sample=kafka_client(
            "Metadata",
            _C + "Resetting the last seen epoch of partition orders-1 to 0 since the associated topicId changed from"
            " mcuXWxN5RHN0QvYTIHoRzQ to CrKkfbRoQfiDOvaNxqjtJA",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="authentication-failed",
        says="A broker refused the client's credentials or certificate.",
        literals=("failed authentication due to", "SaslAuthenticationException", "SslAuthenticationException"),
        pattern=r"(?:Connection to node (?P<broker>-?\d+) \((?:[^/()\s]+)?/(?P<address>[^)\s]+)\) failed authentication due to:"
        r" (?P<because>[^\n]*)|"
        r"(?:Sasl|Ssl)AuthenticationException(?:: (?P<message>[^\n]*))?)",
        where="line",
        sample=kafka_client(
            "NetworkClient",
            _P + "Connection to node -1 (kafka-1/10.0.1.1:9093) failed authentication due to: Authentication"
            " failed: Invalid username or password",
            "ERROR",
        ),
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="authorization-failed",
        says="A broker's access control refuses a topic, group or transactional id.",
        literals=("Not authorized to access ", "TransactionalId authorization failed", "Cluster authorization failed"),
        pattern=r"Not authorized to access (?:topics: \[(?P<topics>[^\]]*)\]|group: (?P<group>\S+))|(?P<what>TransactionalId|Cluster)"
        r" authorization failed",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]"
        ),
        keep=(20, 20),
        apart=("group",),
    ),
    Signature(
        id="partition-read-refused",
        says="A broker's access control refuses to let a consumer read a partition.",
        literals=("Not authorized to read from partition",),
        pattern=rf"{CLIENT}Not authorized to read from partition {TP}\.",
        sample=kafka_client("FetchCollector", _C + "Not authorized to read from partition orders-1.", "WARN"),
        keep=(20, 20),
        apart=("group",),
    ),
    Signature(
        id="plaintext-on-tls-port",
        says="A client speaks the wrong protocol to a listener, or an endless size came back: security.protocol does not fit the port.",
        literals=(
            "Unexpected handshake request with client mechanism",
            "Terminated during authentication. This may",
            "terminated during authentication",
        ),
        pattern=rf"{CLIENT}(?:Connection to node (?P<broker>-?\d+) \({SOCKET}\) terminated during authentication)?",
        sample=kafka_client(
            "NetworkClient",
            _C + "Connection to node -1 (kafka-1/10.0.1.1:9093) terminated during authentication. This may happen"
            " due to any of the following reasons: (1) Authentication failed due to invalid credentials with brokers older than"
            " 1.0.0, (2) Firewall blocking Kafka TLS traffic (eg it may only allow HTTPS traffic), (3) Transient network issue.",
            "WARN",
        ),
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="console-consumer-ended",
        says="kafka-console-consumer ended, as no record came within its --timeout-ms.",
        literals=("Error processing message, terminating consumer process",),
        pattern=r"terminating consumer process:[^\n]*\n[^\n]*TimeoutException\s*(?:\n|$)",
        where="event",
        sample=kafka_broker("kafka.tools.ConsoleConsumer$", "Error processing message, terminating consumer process: ", "ERROR")
        + "\norg.apache.kafka.common.errors.TimeoutException",
    ),
)
