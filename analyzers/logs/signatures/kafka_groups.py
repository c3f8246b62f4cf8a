"""Consumer groups, positions and commits of Kafka clients (catalogue B22, D03, D04, F07–F12; positions of section 7)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import CLIENT, NODE, TP
from analyzers.logs.signatures.origin import failed_task, flink, kafka_client
from analyzers.logs.signatures.signature import Signature

_C = "[Consumer clientId=orders-totals-1, groupId=orders-totals] "
_COORDINATOR = "consumer.internals.ConsumerCoordinator"
_POSITION = (
    "FetchPosition{offset=390, offsetEpoch=Optional[0], currentLeader=LeaderAndEpoch{leader=Optional[kafka-1:9092 (id: 1 rack: null)],"
    " epoch=0}}"
)
_FETCH_POSITION = r"FetchPosition\{offset=(?P<offset>\d+),"

_REFUSED = (
    r"(?:supported protocols are incompatible|nconsistent group protocol|protocol type is incompatible|Inconsistent Group Protocol"
    r"|InconsistentGroupProtocolError|INCONSISTENT_GROUP_PROTOCOL)"
)

SIGNATURES = (
    Signature(
        id="coordinator-found",
        ref="F10",
        says="A client found its group coordinator; needed for commits even with manual assignment.",
        literals=("Discovered group coordinator ",),
        pattern=rf"{CLIENT}Discovered group coordinator {NODE}",
        sample=kafka_client(_COORDINATOR, _C + "Discovered group coordinator kafka-2:9092 (id: 2147483645 rack: null)"),
        keep=(50, 50),
        family="coordinator",
        apart=("group",),
    ),
    Signature(
        id="coordinator-unavailable",
        ref="B22",
        says="The group coordinator cannot be used: its broker died or moved, or the connection broke.",
        literals=("is unavailable or invalid",),
        pattern=rf"{CLIENT}Group coordinator {NODE} is unavailable or invalid(?: due to cause: (?P<because>[^\n]*?)\.(?:"
        rf" isDisconnected|$| [A-Z]))?",
        sample=kafka_client(
            "consumer.internals.AbstractCoordinator",
            _C
            + "Group coordinator kafka-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: coordinator unavailable."
            " isDisconnected: false. Rediscovery will be attempted.",
        ),
        keep=(50, 50),
        family="coordinator",
        apart=("group",),
    ),
    Signature(
        id="coordinator-disconnected",
        ref="B22",
        says="The client has been without its group coordinator for this long: commits stand still.",
        versions="2.8+",
        literals=("Consumer has been disconnected from the group coordinator for",),
        pattern=rf"{CLIENT}Consumer has been disconnected from the group coordinator for (?P<duration_ms>\d+)ms",
        sample=kafka_client(
            "consumer.internals.AbstractCoordinator", _C + "Consumer has been disconnected from the group coordinator for 61204ms", "WARN"
        ),
        keep=(50, 50),
        family="coordinator",
        apart=("group",),
    ),
    Signature(
        id="partition-commit-failed",
        ref="F07",
        says="The broker refused or lost the commit of one partition.",
        literals=("Offset commit failed on partition ",),
        pattern=rf"{CLIENT}Offset commit failed on partition {TP} at offset (?P<offset>\d+): (?P<error>[^\n]*)",
        sample=kafka_client(
            _COORDINATOR, _C + "Offset commit failed on partition orders-1 at offset 390: This is not the correct coordinator.", "WARN"
        ),
        keep=(20, 20),
        family="coordinator",
        apart=("group",),
    ),
    Signature(
        id="offsets-commit-failed",
        ref="F07",
        says="A commit failed as a whole (the trace).",
        literals=("ommit with offsets {", "ommit of offsets {"),
        pattern=rf"{CLIENT}(?:Offset|Synchronous auto-|Asynchronous auto-)\s?commit (?:with|of) offsets (?P<offsets>\{{[^\n]*\}}) failed",
        sample=kafka_client(
            _COORDINATOR,
            _C + "Offset commit with offsets {orders-1=OffsetAndMetadata{offset=390, leaderEpoch=0, metadata=''}}"
            " failed\norg.apache.kafka.clients.consumer.RetriableCommitFailedException: Offset commit failed with a retriable"
            " exception.",
            "WARN",
        ),
        keep=(20, 20),
        apart=("group",),
    ),
    Signature(
        id="commit-after-rebalance",
        ref="F08",
        says="The group gave the partitions to another member: the poll loop was too slow, or a second consumer uses the group.",
        literals=(
            "Commit cannot be completed since the group has already rebalanced",
            "offset commit failed for group",  # kafka-python
            "OffsetCommit failed for group ",  # aiokafka
            "OffsetCommit for group ",  # kafka-python
            "CommitFailedError: ",
            "Broker: Unknown member",  # librdkafka
            "Broker: Specified group generation id is not valid",
            "Offset commit cannot be completed since the consumer is not part of an active group",
            "OffsetCommit failed with unknown member ID",
            "stale member epoch",
        ),
        pattern=r"Commit cannot be completed since the group has already rebalanced|offset commit failed for group"
        r"|OffsetCommit (?:failed )?for group (?P<group>[\w.-]+) (?:due to group error|failed:?)[ (:]*\[Error (?:22|25|27)\] (?P<error>\w+)"
        r"|CommitFailedError: (?:CommitFailedError: )?(?:Commit cannot|Group rebalance)"
        r"|Broker: (?P<answer>Unknown member|Specified group generation id is not valid)"
        r"|Offset commit cannot be completed since the consumer is not part|OffsetCommit failed with unknown member ID|stale member epoch",
        where="line",
        sample=failed_task(
            "org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since the group has already"
            " rebalanced and assigned the partitions to another member."
        ),
        keep=(20, 20),
    ),
    Signature(
        id="commit-retriable",
        ref="F09",
        says="A commit failed in a way that a retry may cure; the cause names the coordinator's trouble.",
        literals=("Offset commit failed with a retriable exception",),
        where="line",
        sample=flink(
            "connector.kafka.source.reader.KafkaSourceReader",
            "Failed to commit consumer offsets for checkpoint 42\n"
            "org.apache.kafka.clients.consumer.RetriableCommitFailedException: Offset commit failed with a retriable exception.\n"
            "Caused by: org.apache.kafka.common.errors.CoordinatorNotAvailableException: The coordinator is not available.",
            "WARN",
        ),
        keep=(20, 20),
        family="coordinator",
    ),
    Signature(
        id="group-joining",
        ref="F10",
        says="A consumer (re-)joins its group: never done by Flink, Spark or Beam, so with their group id it is somebody else.",
        literals=("(Re-)joining group", "Successfully joined group with generation"),
        pattern=rf"{CLIENT}(?:\(Re-\)joining group|Successfully joined group with generation"
        rf" (?:Generation\{{generationId=)?(?P<generation>\d+))",
        sample=kafka_client(
            _COORDINATOR,
            _C + "Successfully joined group with generation Generation{generationId=17, memberId='orders-totals-1-5f6a', protocol='range'}",
        ),
        keep=(100, 100),
        apart=("group",),
    ),
    Signature(
        id="group-rebalancing",
        ref="F10",
        says="A member learnt that its group rebalances.",
        literals=("since group is rebalancing", "Request joining group due to: group is already rebalancing", " because it is rebalancing"),
        pattern=rf"{CLIENT}(?:Attempt to heartbeat failed since group is rebalancing|Request joining group)|"
        r"Heartbeat failed for group (?P<python_group>\S+) because it is rebalancing",  # kafka-python
        sample=kafka_client("consumer.internals.AbstractCoordinator", _C + "Attempt to heartbeat failed since group is rebalancing"),
        keep=(100, 100),
        apart=("group",),
    ),
    Signature(
        id="group-member-expelled",
        says="The coordinator no longer knows this member: its session ran out, or another took its place.",
        literals=(
            "Attempt to heartbeat failed",
            "Resetting generation and member id due to",
            "Heartbeat session expired",  # kafka-python, aiokafka; the last one too
            "Heartbeat failed: local member_id was not recognized",
        ),
        pattern=r"Heartbeat session expired(?:,| -) marking coordinator dead|Heartbeat failed: local member_id|"
        rf"{CLIENT}(?:Attempt to heartbeat failed (?!since group is rebalancing)[^\n]*|"
        r"Resetting generation and member id due to: (?!consumer pro-actively leaving)(?P<because>[^\n]*))",
        sample=kafka_client(
            _COORDINATOR, _C + "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
        ),
        keep=(100, 100),
        apart=("group",),
    ),
    Signature(
        id="group-session-expired",
        says="A client of librdkafka heard nothing of its group's coordinator for a session timeout, or the coordinator knows a client of"
        " ruby-kafka no longer: it gives its partitions up and joins anew.",
        literals=("Consumer group session timed out (in join-state ", "Error sending heartbeat: Kafka::"),
        pattern=r"(?:\[\[(?P<group>[^\]\n]{1,255})\] [^\n]{0,2000}?)?"
        r"Error sending heartbeat: Kafka::(?:UnknownMemberId|IllegalGeneration)\b"
        r"|(?:[|\[](?P<client>[^|\[\]\n]{1,120})[|\]] ?)?(?:\[thrd:[^\]\n]{0,300}\]: )?"
        r"Consumer group session timed out \(in join-state"
        r" (?P<join_state>[\w-]+)\) after (?P<duration_ms>\d+) ms[^\n]*?coordinator"
        r" \(broker (?P<broker>-?\d+), last error was (?P<because>[^)\n]*)\)",
        where="line",
        sample="%4|1746421200.096|SESSTMOUT|rdkafka#consumer-4| [thrd:main]: Consumer group session timed out (in join-state steady) after"
        " 10112 ms without a successful response from the group coordinator (broker 0, last error was Success): revoking assignment and"
        " rejoining group",
        keep=(100, 100),
    ),
    Signature(
        id="poll-timeout-expired",
        ref="F10",
        says="A consumer took longer than max.poll.interval.ms between two polls: it leaves the group, its partitions move.",
        literals=(
            "consumer poll timeout has expired",
            "max.poll.interval.ms) exceeded by",
            "Application maximum poll interval (",
            "Maximum application poll interval (max.poll.interval.ms) exceeded",
            "due to consumer poll timeout has expired",
            "Heartbeat poll expired, leaving group",  # kafka-python
        ),
        pattern=r"(?:\|(?P<client>[^|\n]{1,120})\| ?\[thrd:[^\]\n]{0,300}\]: [^\n]{0,200}?)?"
        r"(?:consumer poll timeout has expired|exceeded by (?P<duration_ms>\d+)ms"
        r"|poll interval \(max\.poll\.interval\.ms\) exceeded|Heartbeat poll expired)",
        where="line",
        sample=kafka_client(
            "consumer.internals.AbstractCoordinator",
            _C + "consumer poll timeout has expired. This means the time between"
            " subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically implies that the"
            " poll loop is spending too much time processing messages.",
            "WARN",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="instance-fenced",
        says="Another consumer with the same group.instance.id took over.",
        literals=(
            "FencedInstanceId",
            "FENCED_INSTANCE_ID",
            "Static consumer fenced by other consumer",
            "has been fenced by another instance",
            "another consumer with the same group.instance.id has registered",
            "Caught fenced group.instance.id",
        ),
        pattern=r"\bgroup(?:Id)?=(?P<group>[^,\]\n]{1,255})(?:[^\]\n]{0,300}\] (?:(?:\w{1,30} failed: )?The group instance id"
        r"|Caught fenced group\.instance\.id) (?:Optional\[)?(?P<instance>[^\]\s]+)\]? (?:has been fenced|error in)"
        r"|, err(?:or)?=(?:FENCED_INSTANCE_ID|The broker rejected this static consumer))"
        r"|\|(?P<client>[^|\n]{1,120})\| ?\[thrd:[^\n]*Static consumer fenced|FencedInstanceId(?:Exception|Error)|FENCED_INSTANCE_ID"
        r"|Static consumer fenced|has been fenced by another instance"
        r"|another consumer with the same group\.instance\.id has registered",
        where="line",
        sample=kafka_client(
            _COORDINATOR,
            _C + "JoinGroup failed: The group instance id orders-1 has been fenced by another instance."
            " Sent generation was Generation{generationId=4, memberId='orders-1-5f6a', protocol='range'}",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="partitions-assigned-by-client",
        says="A consumer assigned partitions to itself (assign, not subscribe).",
        literals=("Assigned to partition(s):", "Subscribed to partition(s):"),
        pattern=rf"{CLIENT}(?:Assigned|Subscribed) to partition\(s\): (?P<partitions>[^\n]*)",
        sample=kafka_client("consumer.internals.ClassicKafkaConsumer", _C + "Assigned to partition(s): orders-1"),
        keep=(200, 50),
    ),
    Signature(
        id="group-protocol-refused",
        says="A consumer cannot join its group: it offers no assignment strategy that all members have in common.",
        versions="the words of Java, librdkafka, sarama, kafka-go, kafkajs, franz-go, kafka-python",
        literals=(
            "supported protocols are incompatible with those of existing members",
            "Broker: Inconsistent group protocol",
            "provider group protocol type is incompatible",
            "[23] Inconsistent Group Protocol",
            "InconsistentGroupProtocolError",
            "INCONSISTENT_GROUP_PROTOCOL: ",
        ),
        pattern=r"\[Consumer clientId=(?P<client>[^,\]\n]{1,200}), groupId=(?P<group>[^\]\n]{1,255})\] [^\n]{0,120}?"
        rf"{_REFUSED}|{_REFUSED}",
        where="line",
        sample=kafka_client(
            "consumer.internals.ConsumerCoordinator",
            _C + "JoinGroup failed: The group member's supported protocols are incompatible with those of existing members.",
            "ERROR",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="offset-out-of-range",
        ref="F11",
        says="The wanted offset no longer (or not yet) exists: retention, or a recreated topic; records are skipped or read again.",
        literals=("is out of range for partition", "Offsets out of range with no configured reset policy"),
        pattern=rf"{CLIENT}Fetch (?:offset (?P<offset>\d+)|position FetchPosition\{{offset=(?P<position>\d+),[^\n]*\}}) is out of"
        rf" range for partition"
        rf" {TP}, (?P<then>resetting offset|raising error)|no configured reset policy for partitions: (?P<offsets>\{{[^\n]*\}})",
        where="line",
        sample=kafka_client(
            "consumer.internals.FetchCollector", _C + f"Fetch position {_POSITION} is out of range for partition orders-1, resetting offset"
        ),
        keep=(200, 50),
    ),
    Signature(
        id="offset-undefined",
        ref="F11",
        says="No committed offset and no reset policy: the consumer cannot start.",
        literals=("Undefined offset with no reset policy for partition",),
        pattern=r"reset policy for partitions?: (?P<partitions>\[?[^\n]*)",
        where="line",
        sample=failed_task(
            "org.apache.kafka.clients.consumer.NoOffsetForPartitionException: Undefined offset with no reset policy for partitions:"
            " [orders-1]"
        ),
        keep=(20, 20),
    ),
    Signature(
        id="offset-not-committed",
        says="The group has no committed offset of a partition: normal at its first start.",
        literals=("Found no committed offset for partition",),
        pattern=rf"{CLIENT}Found no committed offset for partition {TP}",
        sample=kafka_client(_COORDINATOR, _C + "Found no committed offset for partition orders-1"),
        keep=(100, 50),
    ),
    Signature(
        id="offset-committed-used",
        says="Reading starts at the group's committed offset.",
        literals=("to the committed offset ",),
        pattern=rf"{CLIENT}Setting offset for partition {TP} to the committed offset {_FETCH_POSITION}",
        sample=kafka_client(_COORDINATOR, _C + f"Setting offset for partition orders-1 to the committed offset {_POSITION}"),
        keep=(200, 50),
    ),
    Signature(
        id="offset-sought",
        says="Reading goes on at this offset (restored from state).",
        literals=("Seeking to offset ",),
        pattern=rf"{CLIENT}Seeking to offset (?P<offset>\d+) for partition {TP}",
        sample=kafka_client("consumer.internals.ClassicKafkaConsumer", _C + "Seeking to offset 390 for partition orders-1"),
        keep=(200, 50),
    ),
    Signature(
        id="offset-sought-end",
        says="Reading starts at an end of the partition.",
        literals=(" offset of partition ",),
        pattern=rf"{CLIENT}Seeking to (?:AutoOffsetResetStrategy\{{type=)?(?P<start>[\w-]+)\}}? offset of partition {TP}",
        sample=kafka_client("consumer.internals.SubscriptionState", _C + "Seeking to EARLIEST offset of partition orders-1"),
        keep=(200, 50),
    ),
    Signature(
        id="offset-reset",
        says="The position was reset by policy: normal at a first start, else records are skipped or read again.",
        literals=("Resetting offset for partition",),
        pattern=rf"{CLIENT}Resetting offset for partition {TP} to (?:offset |position FetchPosition\{{offset=)(?P<offset>\d+)",
        sample=kafka_client(
            "consumer.internals.SubscriptionState", _C + f"Resetting offset for partition orders-1 to position {_POSITION}."
        ),
        keep=(200, 50),
    ),
    Signature(
        id="log-truncated",
        ref="F12",
        says="The broker's log is shorter than what was read: an unclean leader election lost records.",
        literals=("runcation detected for partition",),
        pattern=rf"runcation detected for partition {TP} at offset (?P<offset>\d+)|"
        r"runcation detected for partition (?P<other_tp>[\w.-]+-\d+)",
        where="line",
        sample=kafka_client(
            "consumer.internals.SubscriptionState",
            _C + f"Truncation detected for partition orders-1 at offset {_POSITION}, the end"
            " offset from the broker is (offset=350, leaderEpoch=2)",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="record-undecodable",
        ref="D03",
        says="A deserializer inside the Kafka consumer refused the record at this offset.",
        literals=(
            "Error deserializing key/value for partition",
            "Error deserializing KEY for partition",
            "Error deserializing VALUE for partition",
        ),
        pattern=rf"Error deserializing (?P<part>key/value|KEY|VALUE) for partition {TP} at offset (?P<offset>\d+)",
        where="line",
        sample=failed_task(
            "org.apache.kafka.common.errors.RecordDeserializationException: Error deserializing VALUE for partition orders-1 at"
            " offset 390. If needed, please seek past the record to continue consumption."
        ),
        keep=(20, 20),
    ),
    Signature(
        id="record-corrupt",
        ref="D04",
        says="A batch in the partition is corrupt, or does not fit the fetch.",
        literals=(
            "Received exception when fetching the next record from",
            "Encountered corrupt message when fetching offset",
            "whose size is larger than the fetch size",
            "Record is corrupt (stored crc",
        ),
        pattern=rf"fetching the next record from {TP}|fetching offset (?P<offset>\d+) for topic-partition (?P<corrupt_tp>[\w.-]+-\d+)|"
        r"at \[Partition=Offset\]: \{(?P<large_tp>[\w.-]+-\d+)=(?P<large_offset>\d+)|"
        r"Record batch for partition (?P<batch_tp>[\w.-]+-\d+) at offset (?P<batch_offset>\d+) is invalid|Record is corrupt \(stored crc",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.KafkaException: Received exception when fetching the next record from orders-1."
            " If needed, please seek past the record to continue consumption."
        ),
        keep=(20, 20),
    ),
    Signature(
        id="fetch-session-invalid",
        says="A broker did not accept the fetch session: it restarted, or a topic id changed.",
        literals=(
            "was unable to process the fetch request",
            "sent an invalid full fetch response",
            "sent an invalid incremental fetch response",
        ),
        pattern=rf"{CLIENT}Node (?P<broker>-?\d+) (?:was unable to process the fetch request with [^\n]*: (?P<error>\w+)|sent an invalid)",
        sample=kafka_client(
            "FetchSessionHandler",
            _C + "Node 1 was unable to process the fetch request with (sessionId=841290532, epoch=74): FETCH_SESSION_TOPIC_ID_ERROR.",
        ),
        keep=(20, 20),
    ),
)
