"""Kafka clients of other languages: what those on librdkafka raise (.NET, Go, Node, PHP, Ruby, Rust, Python), and those with a client of
their own: sarama, franz-go and kafka-go (Go), kafkajs (Node).

Sources: rd_kafka_err2str of librdkafka, sarama's errors.go and client.go, franz-go's broker.go and kerr, kafka-go's error.go, kafkajs'
src/errors.js and connection.js. Of kafkajs the fields of a record stand behind its message (`records.py`).
"""

from __future__ import annotations

from analyzers.logs.signatures.protocol_errors import (
    ACCESS,
    FENCED_MEMBER,
    FENCED_PRODUCER,
    MEMBERSHIP,
    OFFSET,
    PASSING,
    POLICY,
    SIZE,
    TOPIC,
    literals,
    meaning,
    names,
    numbered,
    of_sarama,
    words,
)
from analyzers.logs.signatures.signature import Signature

_OF_TLS = r"[^\n]{0,300}(?:x509: |\btls: (?!first record)|[cC]ertificate |CERTIFICATE_VERIFY_FAILED)"
_FINAL = meaning(ACCESS, FENCED_MEMBER, FENCED_PRODUCER, MEMBERSHIP, OFFSET, POLICY, SIZE, TOPIC)
_HOST = r"(?P<address>(?:\[[0-9a-f:]+\]|[\w.-]+):\d+)"

_LISTED = (
    r"(?i:\bcommitted\b)[^\n]{0,80}?(?:TopicPartition\{topic=)?(?P<topic>[\w.-]+)(?:,partition=| \[\[|\[)(?P<partition>\d+)"
    r"(?:,offset=|\]\] @|\]@)"
)
"""How bindings of librdkafka print a partition with an offset: in Python, .NET, Go."""

SIGNATURES = (
    Signature(
        id="offset-listed",
        says="An application prints the offset that its group has committed of a partition.",
        literals=("TopicPartition{topic=",),
        pattern=rf"{_LISTED}(?P<offset>\d+)",
        where="line",
        sample="committed TopicPartition{topic=orders,partition=1,offset=390,leader_epoch=None,error=None}",
        keep=(100, 50),
    ),
    Signature(
        id="offset-listed-none",
        says="An application prints that its group has no committed offset of a partition: normal at its first start.",
        literals=("offset=-1001", "@Unset [-1001]", "]@unset"),
        pattern=rf"{_LISTED}(?:-1001|Unset \[-1001\]|unset)",
        where="line",
        sample="committed TopicPartition{topic=orders,partition=1,offset=-1001,leader_epoch=None,error=None}",
        keep=(100, 50),
    ),
    Signature(
        id="kafkajs-offset-reset",
        says="kafkajs wanted an offset that does not exist, and went to the end that fromBeginning names.",
        literals=("Offset out of range, resetting to default offset",),
        pattern=r"resetting to default offset(?:\n    with (?:clientId=[^,\n]{1,255}, )?(?:groupId=(?P<group>[^,\n]{1,255}), )?"
        r"topic=(?P<topic>[\w.-]{1,249}), partition=(?P<partition>\d+))?",
        where="event",
        sample="2026-03-09T07:05:15.440Z ERROR kafkajs - [ConsumerGroup] Offset out of range, resetting to default offset\n"
        "    with groupId=billing, topic=readings, partition=4",
        keep=(200, 50),
    ),
    Signature(
        id="rdkafka-error-raised",
        says="An application got an error of librdkafka that the client does not mend by itself.",
        literals=(
            "Local: Message timed out",
            "Local: Value deserialization error",
            "Local: Key deserialization error",
            "Local: Authentication failure",
            "Local: Fatal error",
            "Failed to initialize Producer ID: ",
            *(f"Broker: {error.rdkafka}" for error in _FINAL if error.means != MEMBERSHIP),  # commit-after-rebalance
        ),
        pattern=r"(?:Subscribed topic not available: (?P<topic>[\w.-]+): )?(?P<error>(?:Local|Broker): [A-Z][\w -]+(?:\([\w.]+\) \w+)?)",
        where="line",
        sample="Confluent.Kafka.ConsumeException: Subscribed topic not available: orders: Broker: Unknown topic or partition",
        keep=(20, 20),
    ),
    Signature(
        id="rdkafka-error-passing",
        says="An application got word of a lost connection or a timeout, which librdkafka mends by itself.",
        literals=("Local: Broker transport failure", "Local: All broker connections are down", "Local: Timed out"),
        pattern=r"(?<!Producer ID: )(?P<error>Local: [A-Z][\w -]+)",
        where="line",
        sample="Error: Local: Broker transport failure",
        keep=(5, 5),
    ),
    Signature(
        id="binding-connect-failed",
        says="A Kafka client without librdkafka could not connect to a broker, or lost the connection while it waited for an answer.",
        literals=(
            "while fetching metadata: ",
            "unable to open connection to broker",
            "Failed to connect to broker ",
            "[Connection] Connection ",
            "failed to dial: failed to open connection to ",
            "Connect attempt to <BrokerConnection ",  # kafka-python
            "Unable connect to ",  # aiokafka
            "DNS lookup failed for ",
            "error connecting to broker ",  # rskafka
        ),
        pattern=r"(?:got error from broker -?\d+ while fetching metadata: (?!EOF$)[^\n]*?(?:->|dial tcp )"
        rf"|unable to open connection to broker(?:\n[^\n]{{0,200}}\baddr=|[^\n]{{0,200}}?\"addr\": ?\"|\W+(?:addr=)?)"
        r"|Failed to connect to broker (?!e=)|failed to open connection to |error connecting to broker \\?\""
        r"|Connect attempt to <BrokerConnection [^\n]{0,80}?\bhost=|\bUnable connect to \""
        r"|DNS lookup failed for (?=\S+ \((?:\d+|AddressFamily\.\w+)\))"
        rf"|\[Connection\] Connection (?:error|timeout)(?![^\n]*[cC]ertificate)[^\n]*\n[^\n]*\bbroker=)"
        rf"{_HOST}(?!{_OF_TLS})"
        r"(?:[^\n]{0,20}?\bbroker\W{1,3}(?P<broker>\d+))?",
        where="event",
        sample="[sarama] 2026/03/11 21:34:14 client/metadata got error from broker -1 while fetching metadata:"
        " dial tcp 10.0.1.4:9092: i/o timeout",
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="binding-brokers-down",
        says="A client of rskafka got through to none of its brokers: it waits, and tries them all again.",
        literals=("Failed to connect to any broker, backing off",),
        sample="2026-03-11T07:00:15.120000Z  INFO rskafka::backoff: request encountered non-fatal error - backing off e=Failed to connect"
        ' to any broker, backing off request_name="broker_connect" backoff_secs=1',
        keep=(20, 20),
    ),
    Signature(
        id="binding-access-denied",
        says="A Kafka client without librdkafka and the broker do not accept each other's certificate, or the broker refuses the login.",
        literals=(
            "x509: ",
            "CERTIFICATE_VERIFY_FAILED",
            "remote error: tls: ",
            "unable to initialize sasl",
            "[Connection] Connection error: ",
        ),
        pattern=r"(?:unable to open connection to broker(?:\n[^\n]{0,200}\baddr=|[^\n]{0,200}?\"addr\": ?\"|\W+(?:addr=)?)"
        r"|Failed to connect to broker |\bUnable connect to \"|<BrokerConnection [^\n]{0,80}?\bhost="
        rf"|\[Connection\] Connection error: (?=[^\n]*[cC]ertificate)[^\n]*\n[^\n]*\bbroker=){_HOST}"
        r"|unable to initialize sasl|run out of available brokers to talk to\b[^\n]{0,200}x509: ",
        where="event",
        sample="[sarama] 2026/03/11 21:34:14 Failed to connect to broker kafka-1.internal:9093: tls: failed to verify certificate: x509:"
        " certificate signed by unknown authority",
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="binding-answered",
        says="A Kafka client without librdkafka got answers: it knows the brokers, or is a member of its group.",
        literals=(
            "Successfully initialized new client",
            "client/brokers registered new broker",
            "connection initialized successfully",
            "new group session begun",
            "Consumer has joined the group",
            "joinGroup succeeded for response",
        ),
        sample="[sarama] 2026/03/11 10:06:22 Successfully initialized new client",
        keep=(20, 20),
    ),
    Signature(
        id="binding-gave-up",
        says="A Kafka client gave up: it raised this to its application, which has to start it again.",
        literals=(
            "client has run out of available brokers to talk to",
            "KafkaJSNumberOfRetriesExceeded",
            "KafkaJSNonRetriableError",
            "[Consumer] Crash: KafkaJS",
            "KafkaJSProtocolError: ",
            "KafkaJSSASLAuthenticationError",
        ),
        pattern=r"client has run out of available brokers to talk to|(?P<error>KafkaJS\w+(?:: [^\n\"]*)?)",
        where="line",
        sample="panic: kafka: client has run out of available brokers to talk to (Is your cluster reachable?)",
        keep=(20, 20),
    ),
    Signature(
        id="kafkajs-record-failed",
        says="The application's own handler threw an error over a record (kafkajs): the record is tried again, then the consumer crashes.",
        literals=("Error when calling eachMessage", "Error when calling eachBatch"),
        pattern=r"Error when calling each(?:Message|Batch)[^\n]*\n[^\n]*\btopic=(?P<topic>[\w.-]+), partition=(?P<partition>\d+)"
        r"(?:, offset=(?P<offset>\d+))?",
        where="event",
        sample="2026-03-11T07:09:40.915Z ERROR kafkajs - [Runner] Error when calling eachMessage\n"
        "    with topic=orders, partition=0, offset=358",
        keep=(20, 20),
    ),
    Signature(
        id="binding-coordinator-refused",
        says="A Kafka client without librdkafka gets no coordinator for its group: it cannot join, nor commit.",
        literals=("[15] Group Coordinator Not Available", "[16] Not Coordinator For Group", "KafkaJSGroupCoordinatorNotFound"),
        pattern=r"(?:group \"?(?P<group>[\w.-]+)\"?: )?(?:\[1[56]\] (?P<error>Group Coordinator Not Available|Not Coordinator For Group)"
        r"|KafkaJSGroupCoordinatorNotFound: (?P<js_error>[^\n\"]*)(?:\n[^\n]*\bgroupId=(?P<js_group>[\w.-]+))?)",
        where="event",
        sample="kafka-go: 2026/03/11 07:10:04 Unable to establish connection to consumer group coordinator for group orders:"
        " [15] Group Coordinator Not Available: the broker returns this error code for group coordinator requests",
        keep=(20, 20),
    ),
    Signature(
        id="binding-server-error",
        says="A broker answered a client in Go or Node with an error that it does not mend by itself, or only by joining its group anew.",
        literals=(
            "kafka server: ",
            "The coordinator is not aware of this member",  # kafkajs; of Java's clients only in their own words
            *(f"[{error.code}] {error.kafka_go}" for error in _FINAL),
            *(f"{error.name}: " for error in _FINAL),  # franz-go
        ),
        pattern=r"(?:error while consuming (?P<topic>[\w.-]+)/(?P<partition>\d+): )?"
        rf"(?:kafka server: (?!{of_sarama(meaning(*PASSING))})(?P<error>[A-Z][^\n.\"]*)"
        rf"|(?={numbered(_FINAL)})\[\d+\] (?P<numbered>[A-Z][\w ]+):"
        rf"|(?:\bgroup=(?P<group>[^,\n]{{1,255}}), )?\berr(?:or)?\W{{1,3}}(?P<named>{names(_FINAL)}): "
        r"|\berror=(?P<js_error>The coordinator is not aware of this member))",
        where="line",
        sample="2026/03/11 14:29:50 kafka: error while consuming orders/8: kafka server: The provided member is not known in the current"
        " generation.",
        keep=(20, 20),
    ),
    Signature(
        id="binding-error-passing",
        says="A broker answered a client in another language than Java with an error after which the client tries again by itself.",
        literals=literals(*PASSING),
        pattern=r"(?:error while consuming (?P<topic>[\w.-]+)/(?P<partition>\d+): |produce message to topic (?P<written>[\w.-]+): )?"
        rf"(?P<error>{words(*PASSING)})",
        where="event",
        sample="2026/03/11 14:29:50 kafka: error while consuming orders/8: kafka server: In the middle of a leadership election, there is"
        " currently no leader for this partition and hence it is unavailable for writes.",
        keep=(20, 20),
        apart=("error",),
    ),
    Signature(
        id="python-coordinator-lost",
        says="A client in Python (kafka-python, aiokafka, Faust) gives up its group's coordinator, and looks for it again.",
        literals=("Marking the coordinator dead (node ",),
        pattern=r"Marking the coordinator dead \(node (?P<broker>-?\d+)\) ?for group (?P<group>[\w.-]{0,254}[\w-])",
        sample="[2019-01-02 22:53:13,005: WARNING]: Marking the coordinator dead (node 2)for group pipeline.",
        keep=(20, 20),
        apart=("group",),
    ),
    Signature(
        id="consumer-too-slow",
        says="sarama stopped reading a partition for a moment: the application did not take its records within MaxProcessingTime.",
        literals=("because consuming was taking too long",),
        pattern=r"broker/(?P<broker>\d+) abandoned subscription to (?P<topic>[\w.-]+)/(?P<partition>\d+) because",
        sample="[sarama] 2026/03/11 14:51:49 consumer/broker/1 abandoned subscription to orders/9 because consuming was taking too long",
        keep=(20, 20),
    ),
)
