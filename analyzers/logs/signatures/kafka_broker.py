"""Kafka brokers and controllers: life, fencing, replication, storage, groups and transactions seen from the server."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import TP
from analyzers.logs.signatures.origin import kafka_broker
from analyzers.logs.signatures.signature import Signature

_CONTROLLER = "org.apache.kafka.controller.ReplicationControlManager"
_GROUPS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
_Q = "[QuorumController id=1] "
_PLACE = rf"(?:{TP}|\[(?P<topic>[\w.-]+),(?P<partition>\d+)\])"  # `orders-1`, before 1.0 `[orders,1]`

SIGNATURES = (
    Signature(
        id="broker-started",
        says="A Kafka broker is up.",
        literals=("Kafka Server started", "] started (kafka.server.KafkaServer)"),
        pattern=r"(?:nodeId|id)=(?P<broker>\d+)\] (?:Kafka Server )?started",
        sample=kafka_broker("kafka.server.KafkaRaftServer", "[KafkaRaftServer nodeId=2] Kafka Server started"),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-transition",
        says="A broker's life-cycle state: STARTED to SHUTTING_DOWN is an orderly stop.",
        literals=("Transition from ",),
        pattern=r"\[BrokerServer id=(?P<broker>\d+)\] Transition from (?P<from_state>\w+) to (?P<to_state>\w+)",
        sample=kafka_broker("kafka.server.BrokerServer", "[BrokerServer id=2] Transition from STARTED to SHUTTING_DOWN"),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-shutting-down",
        says="A broker stops in order.",
        literals=(
            "Starting controlled shutdown",
            "Controlled shutdown request returned",
            "] shut down completed",
            "Controlled shutdown of",
        ),
        pattern=r"\[(?:KafkaServer|BrokerServer|BrokerLifecycleManager) id=(?P<broker>\d+)\]",
        sample=kafka_broker("kafka.server.KafkaServer", "[KafkaServer id=2] Starting controlled shutdown"),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-shutdown-granted",
        says="The controller lets a broker stop: an orderly shutdown, its leaderships move first.",
        literals=("requested and been granted a controlled shutdown", "to shut down has been granted"),
        pattern=r"(?:[Bb]roker (?P<broker>\d+) has requested and been granted|request from broker (?P<granted>\d+) to shut down)",
        sample=kafka_broker(
            "org.apache.kafka.controller.BrokerHeartbeatManager",
            _Q + "Unfenced broker 2 has requested and been granted a controlled shutdown.",
        ),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-fenced",
        says="The controller takes a broker out because its heartbeats stay out: dead, cut off or frozen (also every broker before it"
        " starts).",
        literals=("because its session has timed out", "Fencing broker "),
        pattern=r"Fencing broker (?P<broker>\d+)(?: at epoch (?P<epoch>\d+))?",
        sample=kafka_broker(_CONTROLLER, _Q + "Fencing broker 4 at epoch 91 because its session has timed out."),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-unfenced",
        says="A broker serves again.",
        literals=("has been unfenced",),
        pattern=r"\[BrokerLifecycleManager id=(?P<broker>\d+)\] The broker has been unfenced|[Bb]roker (?P<named>\d+) has been unfenced",
        sample=kafka_broker(
            "org.apache.kafka.server.BrokerLifecycleManager",
            "[BrokerLifecycleManager id=2] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.",
        ),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-registered",
        says="A broker registered with the controller.",
        literals=("Successfully registered broker ", "Registered new broker", "Registering broker ", "Re-registered broker"),
        pattern=r"(?:Successfully registered|Registered new|Re-registered|Registering) broker (?:id )?(?P<broker>\d+)",
        sample=kafka_broker(
            "org.apache.kafka.server.BrokerLifecycleManager",
            "[BrokerLifecycleManager id=2] Successfully registered broker 2 with broker epoch 91",
        ),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="controller-active",
        says="A controller took over.",
        literals=("Becoming the active controller", "successfully elected as the controller"),
        pattern=r"\[(?:QuorumController|Controller) id=(?P<broker>\d+)",
        sample=kafka_broker(
            "org.apache.kafka.controller.QuorumController", _Q + "Becoming the active controller at epoch 3, next write offset 901."
        ),
        keep=(200, 50),
    ),
    Signature(
        id="isr-shrunk",
        says="Replicas fell out of sync.",
        literals=("Shrinking ISR from",),
        pattern=rf"\[Partition {TP} broker=(?P<broker>\d+)\] Shrinking ISR from (?P<from_isr>[\w(), \[\]]+?) to (?P<to_isr>[\d, ]+|"
        rf"Set\([^)]*\)|\[[^\]]*\])",
        sample=kafka_broker(
            "kafka.cluster.Partition",
            "[Partition orders-1 broker=1] Shrinking ISR from 1,4,3 to 1,3. Leader: (highWatermark: 389, endOffset: 401). Out of sync"
            " replicas:"
            " (brokerId: 4, endOffset: 389).",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="isr-expanded",
        says="Replicas are in sync again.",
        literals=("Expanding ISR from", "ISR updated to "),
        pattern=rf"\[Partition {TP} broker=(?P<broker>\d+)\] (?:Expanding ISR from|ISR updated to) (?P<isr>\d(?:[\d, ]*\d)?)",
        sample=kafka_broker("kafka.cluster.Partition", "[Partition orders-1 broker=1] Expanding ISR from 1,3 to 1,3,4"),
        keep=(100, 50),
    ),
    Signature(
        id="internal-topic-unmade",
        says="One of Kafka's own topics cannot be created: fewer brokers are up than its replication factor; harmless while brokers start.",
        literals=("does not meet the required replication factor",),
        pattern=r"Number of alive brokers '(?P<alive>\d+)' does not meet the required replication factor '(?P<wanted>\d+)' for the"
        r" (?P<what>offsets|transactions state) topic",
        sample=kafka_broker(
            "kafka.server.KafkaApis",
            "[KafkaApi-1] Number of alive brokers '1' does not meet the required replication factor '3' for the offsets topic (configured"
            " via 'offsets.topic.replication.factor'). This error can be ignored if the cluster is starting up and not all brokers are up"
            " yet.",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="internal-topic-unplaced",
        says="One of Kafka's own topics cannot be created: fewer brokers are registered than its replication factor; harmless while brokers"
        " start.",
        versions="`larger than available brokers` before 0.11, `are registered` with KRaft",
        literals=("cannot be reached because only ", "larger than available brokers: "),
        pattern=r"(?:(?:Auto topic creation failed for |CreatableTopic\(name=')(?P<topic>__consumer_offsets|__transaction_state)\b[^\n]*?"
        r"eplication factor|eplication factor(?=: [^\n]*(?:\n[^\n]*){1,12}?GroupMetadataTopic))(?: of|:) (?P<wanted>\d+) "
        r"(?:cannot be reached because only |larger than available brokers: )(?P<alive>\d+)",
        where="event",
        sample=kafka_broker(
            "kafka.server.DefaultAutoTopicCreationManager",
            "Auto topic creation failed for __consumer_offsets with error 'INVALID_REPLICATION_FACTOR': Unable to replicate the partition 3"
            " time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered.",
            "WARN",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="leader-unclean",
        says="A replica that was not in sync became leader: records are lost.",
        versions="`No broker in ISR is alive` before 1.1",
        literals=(
            "UNCLEAN partition change for",
            "UNCLEAN partition leader election",
            "Unclean leader election",
            "UncleanLeaderElection for",
            "No broker in ISR is alive for ",
        ),
        pattern=r"(?i)(?:unclean (?:partition change|leader election|partition leader election)|No broker in ISR is alive)"
        rf"(?: for (?:partition )?{_PLACE})?"
        r"(?:[^\n]*?\bleader: (?P<from_leader>-?\d+) -> (?P<to_leader>\d+)|\. Elect leader (?P<elected>\d+))?",
        sample=kafka_broker(
            _CONTROLLER,
            _Q + "UNCLEAN partition change for orders-1 with topic ID CrKkfbRoQfiDOvaNxqjtJA: replicas: [1, 4], isr:"
            " [4] -> [1], leader: -1 -> 1",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="truncated-below-watermark",
        says="A follower cuts off records that were acknowledged: its leader does not have them.",
        versions="0.11 to 2.0 and since 4.1 for each (KAFKA-19474); 2.7 to 3.4.0 for records never acknowledged, too (KAFKA-14704)",
        literals=(" below high watermark ",),
        pattern=rf"(?:\[Replica\w+ replicaId=(?P<broker>\d+),[^\n]*?)?Truncating (?:partition )?{_PLACE} to offset (?P<cut_to>\d+)"
        r" below high watermark (?P<watermark>\d+)",
        sample=kafka_broker(
            "kafka.server.ReplicaFetcherThread",
            "[ReplicaFetcher replicaId=4, leaderId=1, fetcherId=0] Truncating orders-1 to offset 812031 below high watermark 845977",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="replica-beyond-leader",
        says="A follower has more records than its leader and cuts them off: the leader was elected without them.",
        versions="`Replica 4 for partition` before 1.1",
        literals=("eset fetch offset for partition ", " reset its fetch offset from "),
        pattern=rf"(?:Reset fetch offset for partition|Replica (?P<broker>\d+) for partition) {_PLACE}(?: reset its fetch offset)?"
        r" from (?P<watermark>\d+) to current leader(?: (?P<leader>\d+))?'s latest offset (?P<cut_to>\d+)",
        sample=kafka_broker(
            "kafka.server.ReplicaFetcherThread",
            "[ReplicaFetcher replicaId=4, leaderId=1, fetcherId=0] Reset fetch offset for partition orders-1 from 845990 to current"
            " leader's latest offset 812031",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="watermark-moved-back",
        says="A replica's high watermark moves back: harmless after most leader changes, lost records after an unclean election.",
        versions="2.4+",
        literals=("Non-monotonic update of high watermark from ",),
        pattern=rf"Log partition={TP}[^\]\n]*\] Non-monotonic update of high watermark from \(offset=(?P<watermark>\d+)[^)\n]*\)"
        r" to \(offset=(?P<cut_to>\d+)",
        sample=kafka_broker(
            "kafka.log.UnifiedLog",
            "[UnifiedLog partition=orders-1, dir=/data/kafka] Non-monotonic update of high watermark from (offset=845977"
            " segment=[790112:61840221]) to (offset=812031 segment=[790112:24310077])",
            "WARN",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="follower-starts",
        says="A replica becomes a follower, with the high watermark that it knows.",
        literals=(" and high watermark ",),
        pattern=rf"(?:\[Broker id=(?P<broker>\d+)\] )?Follower {TP} starts at leader epoch \d+ from offset (?P<end>\d+)[^\n]*?"
        r" and high watermark (?P<watermark>\d+)\. Current leader is (?P<leader>-?\d+)",
        sample=kafka_broker(
            "state.change.logger",
            "[Broker id=4] Follower orders-1 starts at leader epoch 8 from offset 845990 with partition epoch 21 and high watermark"
            " 845977. Current leader is 1.",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="partition-offline",
        says="A partition has no leader.",
        literals=(" -> -1,",),
        pattern=rf"partition change for {TP}[^\n]*leader: (?P<from_leader>-?\d+) -> -1",
        sample=kafka_broker(
            _CONTROLLER,
            _Q + "partition change for orders-1 with topic ID CrKkfbRoQfiDOvaNxqjtJA: isr: [4] -> [], leader: 4 -> -1,"
            " leaderEpoch: 7 -> 8, partitionEpoch: 9 -> 10",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="log-dir-failed",
        says="A broker's disk failed: its partitions there are offline, the broker ends when no directory is left.",
        literals=(
            "Stopping serving logs in dir",
            "have failed (kafka.log.LogManager)",
            "Error while writing to checkpoint file",
            "because they are in the failed log directory",
            "all log dirs in ",
            "Error while appending records to ",
            "Error while flushing log for ",
            "Error while rolling log segment for ",
            "Error while deleting segments for ",
            "Error while deleting all segments for ",
            "Error while deleting log for ",
            "Error while deleting dir for ",
            "Error while renaming dir for ",
            "Error while truncating ",
            "Error while reading checkpoint file ",
            "Failed to access checkpoint file ",
            "Failed to clean up log for ",
        ),
        pattern=r"(?:serving logs in dir (?P<path>[^\n(]+?)(?: \(|$)|all log dirs in (?P<paths>[^\n]{1,400}?) have failed|checkpoint file"
        r" (?P<file_path>\S+)|"
        r"failed log directory (?P<directory>[^\s]+?)\.?(?:\s|$)|"
        r"(?:Error while \w+|Failed to (?:clean up|access)) [^\n]{1,300}? in dir (?P<written>\S+?):?(?:\s|$))",
        where="line",
        sample=kafka_broker("kafka.log.LogManager", "Stopping serving logs in dir /data/kafka-2", "WARN"),
        keep=(100, 50),
    ),
    Signature(
        id="log-cleaner-started",
        says="A broker starts its log cleaner: with itself, or anew because a setting of the cleaner was changed.",
        literals=("Starting the log cleaner",),
        sample=kafka_broker("kafka.log.LogCleaner", "Starting the log cleaner"),
        keep=(20, 20),
    ),
    Signature(
        id="log-cleaner-died",
        says="A thread of a broker's log cleaner died of an exception: nothing starts it again, and compacted topics grow.",
        literals=("]: Error due to", "], Error due to"),
        pattern=r"\[kafka-log-cleaner-thread-(?P<cleaner>\d+)\][:,] Error due to(?:[^\n]*\n[^\n]{0,200}?"
        rf"(?:\b(?P<messages>\d+) messages in|offset map for) segment {TP}/)?",
        where="event",
        versions="`],` up to 0.11, `]:` since 1.0; since 2.1 only of an Error: an exception marks the partition as uncleanable",
        sample=kafka_broker(
            "kafka.log.LogCleaner",
            "[kafka-log-cleaner-thread-0]: Error due to \njava.lang.IllegalArgumentException: requirement failed: 9750860 messages in"
            " segment orders-2/00000000000047580165.log but offset map can fit only 5033164. You can increase"
            " log.cleaner.dedupe.buffer.size or decrease log.cleaner.threads",
            "ERROR",
        ),
        keep=(20, 20),
    ),
    Signature(
        id="partition-uncleanable",
        says="A broker's log cleaner failed at a partition and leaves it out until the broker is restarted: it grows.",
        literals=(") as uncleanable",),
        pattern=rf"Marking its partition \({TP}\) as uncleanable",
        versions="2.1+",
        sample=kafka_broker(
            "kafka.log.LogCleaner",
            "Unexpected exception thrown when cleaning log Log(dir=/data/kafka/orders-2, topic=orders, partition=2, highWatermark=401,"
            " lastStableOffset=401, logStartOffset=0, logEndOffset=401). Marking its partition (orders-2) as uncleanable",
            "WARN",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="coordinator-loaded",
        says="A group or transaction coordinator has read its partition; until then its groups or transactions get no answer.",
        versions="GroupMetadataManager, CoordinatorRuntime (4.0+) and TransactionStateManager; at INFO",
        literals=("Finished loading ",),
        pattern=r"Finished loading (?:offsets and group metadata|of metadata|\d+ transaction metadata) from (?P<tp>__[\w.-]+-\d+)"
        r"[^\n]{0,40}? in (?P<milliseconds>\d+) ?m(?:illi)?s",
        sample=kafka_broker(
            "kafka.coordinator.group.GroupMetadataManager",
            "[GroupMetadataManager brokerId=2] Finished loading offsets and group metadata from __consumer_offsets-11 in 841277"
            " milliseconds for epoch 12, of which 3 milliseconds was spent in the scheduler.",
        ),
        keep=(100, 100),
        apart=("tp",),
    ),
    Signature(
        id="coordinator-loading",
        says="A group or transaction coordinator begins to read a partition; until it has, its groups or transactions get no answer.",
        versions="GroupMetadataManager, CoordinatorRuntime (4.0+) and TransactionStateManager; at INFO",
        literals=("Scheduling loading of ", "Loading transaction metadata from "),
        pattern=r"(?:Scheduling loading of (?:offsets and group )?metadata|Loading transaction metadata) from (?P<tp>__[\w.-]+-\d+)",
        sample=kafka_broker(
            "kafka.coordinator.group.GroupMetadataManager",
            "[GroupMetadataManager brokerId=2] Scheduling loading of offsets and group metadata from __consumer_offsets-11 for epoch 12",
        ),
        keep=(100, 100),
        apart=("tp",),
    ),
    Signature(
        id="segment-expired",
        says="A broker deletes a segment whose newest record is older than the topic's retention.",
        versions="UnifiedLog (Log before 3.0), 2.5+; at INFO",
        literals=("largestRecordTimestamp=",),
        pattern=r"partition=(?P<tp>[\w.-]+-\d+)[^\n]{0,200}?Deleting segment LogSegment\(baseOffset=(?P<offset>\d+)[^\n)]*?"
        r" lastModifiedTime=(?P<modified>\d+), largestRecordTimestamp=(?:Some\()?(?P<largest>-?\d+)\)?\)"
        r" due to (?:log )?retention time (?P<retention>\d+)ms",
        sample=kafka_broker(
            "kafka.log.UnifiedLog",
            "[UnifiedLog partition=rides-1, dir=/d1] Deleting segment LogSegment(baseOffset=87364, size=1073740990,"
            " lastModifiedTime=1795092779116, largestRecordTimestamp=1795092778) due to log retention time 604800000ms breach based on the"
            " largest record timestamp in the segment",
        ),
        keep=(200, 100),
        apart=("tp",),
    ),
    Signature(
        id="broker-start-failed",
        says="A broker or controller could not start and ends itself (the trace says why).",
        literals=(
            "Fatal error during KafkaServer",
            "Fatal error during broker startup",
            "Fatal error during controller startup",
            "Exiting Kafka due to fatal exception",
            "Received a fatal error while waiting for ",
            "kafka.common.Inconsistent",
            "Socket server failed to bind to ",
            "Disk error while locking directory ",
            "unable to register with the controller quorum",
            "No readable meta.properties files found",
            "meta.properties` found in ",
        ),
        pattern=r"(?:\[(?:KafkaServer|BrokerServer|ControllerServer|BrokerLifecycleManager) id=(?P<broker>\d+)\] )?"
        r"(?:Fatal error during (?P<part>KafkaServer(?:Startable)?|broker|controller) startup|Exiting Kafka due to fatal exception"
        r"|Received a fatal error while waiting for (?P<awaited>[^\n]{1,120})|kafka\.common\.Inconsistent\w+IdException: "
        r"|Socket server failed to bind to (?P<address>\S+:\d+)|Disk error while locking directory (?P<dir>[^\s(]+)"
        r"|Shutting down because we were unable to register with the controller|No readable meta\.properties|No `meta\.properties` found)",
        sample=kafka_broker(
            "kafka.server.KafkaServer",
            "[KafkaServer id=2] Fatal error during KafkaServer startup. Prepare to shutdown",
            "ERROR",
        ),
    ),
    Signature(
        id="replica-fetch-failed",
        says="A follower cannot fetch from the leader of its partitions.",
        literals=("Error in response for fetch request", "Error sending fetch request", "Error in fetch to broker"),
        pattern=r"(?:leaderId=(?P<leader>\d+)|to node (?P<broker>\d+)|fetch to broker (?P<fetched>\d+))"
        r"(?:[^\n]*\n[^\n]*Connection to (?P<address>[\w.-]+:\d+) \(id: \d+)?",
        where="event",
        sample=kafka_broker(
            "kafka.server.ReplicaFetcherThread",
            "[ReplicaFetcher replicaId=1, leaderId=4, fetcherId=0] Error in response for fetch request (type=FetchRequest, replicaId=1)\n"
            "java.io.IOException: Connection to 4 was disconnected before the response was read",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="group-rebalance-on-broker",
        says="The coordinator begins a rebalance of a group, and why.",
        literals=("Preparing to rebalance group",),
        pattern=r"rebalance group (?P<group>\S+) in state (?P<to_state>\w+) with old generation (?P<generation>\d+)[^\n]*\(reason:"
        r" (?P<because>[^\n]*?)\)\.?"
        r"(?: \(|$)",
        sample=kafka_broker(
            _GROUPS,
            "[GroupCoordinator id=2 topic=__consumer_offsets partition=3] Preparing to rebalance group billing in state"
            " PreparingRebalance with old generation 17 (reason: removing member billing-1-5f6a on LeaveGroup).",
        ),
        keep=(100, 100),
        apart=("group",),
    ),
    Signature(
        id="group-member-failed",
        says="The coordinator dropped a member: its session ran out, or it did not join in time.",
        literals=(" has failed, removing it from the group", "fenced from the group because"),
        pattern=r"[Mm]ember (?P<member>\S+)[^\n]*? (?:in|from) (?:the )?group (?P<group>[^\s,]+)?[^\n]*(?:has failed|fenced|because)",
        sample=kafka_broker(
            "kafka.coordinator.group.GroupCoordinator",
            "[GroupCoordinator 2]: Member billing-1-5f6a in group billing has failed, removing it from the group",
        ),
        keep=(100, 100),
        apart=("group",),
    ),
    Signature(
        id="transaction-timed-out",
        says="The broker aborted a transaction that was open longer than its transaction.timeout.ms.",
        literals=("Completed rollback of ongoing transaction for",),
        pattern=r"transactionalId (?P<transactional_id>\S+) due to timeout",
        sample=kafka_broker(
            "kafka.coordinator.transaction.TransactionCoordinator",
            "[TransactionCoordinator id=2] Completed rollback of ongoing transaction for transactionalId totals-0-1 due to timeout",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="transaction-initialized",
        says="A producer registered its transactional id: who could hold a transaction open.",
        literals=("Initialized transactionalId ",),
        pattern=r"Initialized transactionalId (?P<transactional_id>\S+) with producerId (?P<producer_id>\d+) and producer epoch"
        r" (?P<epoch>\d+)",
        sample=kafka_broker(
            "kafka.coordinator.transaction.TransactionCoordinator",
            "[TransactionCoordinator id=2] Initialized transactionalId"
            " totals-0-1 with producerId 4001 and producer epoch 7 on partition __transaction_state-2",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="topic-created",
        says="A topic was created.",
        literals=("CreateTopics result(s):",),
        pattern=r"CreatableTopic\(name='(?P<topic>[^']+)', numPartitions=(?P<partitions>-?\d+)[^\n]*: (?P<outcome>[A-Z_]+)",
        sample=kafka_broker(
            _CONTROLLER,
            _Q + "CreateTopics result(s): CreatableTopic(name='orders', numPartitions=4, replicationFactor=1,"
            " assignments=[], configs=[]): SUCCESS",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="topic-deleted",
        says="A topic was deleted.",
        versions="KRaft: `Removed topic` <=3.6, `Replayed RemoveTopicRecord` later; ZooKeeper mode: `Deletion of topic`",
        literals=("Replayed RemoveTopicRecord for topic", "Removed topic ", "Deletion of topic "),
        pattern=r"(?:Replayed RemoveTopicRecord for topic|Removed topic) (?P<topic>[\w.-]+) with ID (?P<topic_id>[\w-]+)|"
        r"Deletion of topic (?P<deleted>[\w.-]+) successfully completed",
        sample=kafka_broker(_CONTROLLER, _Q + "Replayed RemoveTopicRecord for topic orders with ID CrKkfbRoQfiDOvaNxqjtJA."),
        keep=(100, 50),
    ),
    Signature(
        id="partition-log-deleted",
        says="A broker deleted its copy of a partition: its topic was deleted, or the replica moved away.",
        literals=("Deleted log for partition ",),
        pattern=rf"Deleted log for partition {TP} in (?P<path>\S+-delete)",
        sample=kafka_broker(
            "kafka.log.LogManager", "Deleted log for partition orders-1 in /data/kafka/orders-1.f5a1ec6d0f1d4b2092670b06f0398bcc-delete."
        ),
        keep=(100, 50),
    ),
    Signature(
        id="replica-partition-failed",
        says="A follower gave a partition up: deleted, truncated beyond repair, or on a failed disk.",
        literals=(" marked as failed",),
        pattern=rf"replicaId=(?P<broker>\d+), leaderId=(?P<leader>\d+), fetcherId=\d+\] Partition {TP} marked as failed",
        sample=kafka_broker(
            "kafka.server.ReplicaFetcherThread",
            "[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0] Partition orders-1 marked as failed",
            "WARN",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="group-offsets-deleted",
        says="A group's committed offsets expired or went with their topic.",
        literals=("while deleting offsets for topics", "Removed expired offset", "expired offsets in "),
        pattern=r"(?:name=(?P<topic>[\w.-]+)|Removed (?P<removed>\d+) expired offsets|Generated (?P<tombstones>\d+) tombstone)",
        sample=kafka_broker(
            "org.apache.kafka.coordinator.group.GroupCoordinatorShard",
            "[GroupCoordinator id=2 topic=__consumer_offsets partition=3]"
            " Generated 4 tombstone records in 2 milliseconds while deleting offsets for topics"
            " [DeletedTopic[id=CrKkfbRoQfiDOvaNxqjtJA, name=orders]].",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="login-refused",
        says="A connection did not pass the login: TLS, SASL or credentials. Servers and clients print it; `by` tells which.",
        literals=("Failed authentication with ", "Failed re-authentication with "),
        pattern=r"^\[(?P<by>[A-Za-z]+)[^\]\n]*\] Failed (?:re-)?authentication with (?P<named_host>[^/\s]*)/(?P<peer>[\da-fA-F.:%]+)"
        r"(?: \(channelId=[^)\n]*\))? \((?P<because>[^\n]*)\)",
        versions="1.0+ (`channelId` 3.4+, `re-` 2.2+)",
        sample=kafka_broker(
            "org.apache.kafka.common.network.Selector",
            "[SocketServer listenerType=BROKER, nodeId=2] Failed authentication with /10.0.4.7 (channelId=10.0.1.2:9094-10.0.4.7:56244-10)"
            " (Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512)",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="request-version-refused",
        says="A broker closed a connection: its client sent a request in a version that the broker does not speak.",
        versions="4.0+ names the request; before by its number, also for what cannot be parsed",
        literals=("and unsupported version ", "Error getting request for apiKey: "),
        pattern=r"^(?:Exception while processing request from|Closing socket for) \S+?:\d+-(?P<peer>[\da-fA-F.:%]+?):\d+(?:-\d{1,9}){0,3}\b"
        r"[^\n]{0,200}\n(?:[^\n]{0,600}\n){0,2}?[^\n]{0,200}?"
        r"(?:api with key \d+ \((?P<request>\w+)\) and unsupported version (?P<request_version>\d+)"
        r"|apiKey: (?P<request2>\d+) and apiVersion: (?P<request_version2>\d+)(?!\d))",
        where="event",
        sample=kafka_broker(
            "kafka.network.Processor",
            "Exception while processing request from 10.0.1.2:9092-10.0.4.7:53220-311\n"
            "org.apache.kafka.common.errors.InvalidRequestException: Error getting request for apiKey: JOIN_GROUP, apiVersion: 1,"
            " connectionId: 10.0.1.2:9092-10.0.4.7:53220-311, listenerName: ListenerName(PLAINTEXT), principal: User:ANONYMOUS\n"
            "Caused by: org.apache.kafka.common.errors.UnsupportedVersionException: Received request for api with key 11 (JoinGroup) and"
            " unsupported version 1",
            "ERROR",
        ),
        keep=(100, 50),
        apart=("request",),
    ),
    Signature(
        id="login-not-begun",
        says="A client does not speak as the listener wants it: without SASL where a login comes first, or TLS where there is none.",
        literals=("during SASL handshake", "Invalid receive (size = 36929"),  # the head of a TLS record, read as a length
        pattern=r"^\[(?P<by>[A-Za-z]+)[^\]\n]*\] Unexpected error from (?P<named_host>[^/\s]*)/(?P<peer>[\da-fA-F.:%]+)"
        r"(?: \(channelId=[^)\n]*\))?; closing connection\n[^\n]*?(?P<because>Unexpected Kafka request of type"
        r" \w+ during SASL handshake|Invalid receive \(size = 36929\d{4} larger than \d+\))",
        where="event",
        versions="TLS: all; without SASL 4.0+ (before, a login that was refused)",
        sample=kafka_broker(
            "org.apache.kafka.common.network.Selector",
            "[SocketServer listenerType=BROKER, nodeId=1] Unexpected error from /10.0.4.7 (channelId=10.0.1.1:9094-10.0.4.7:40894-5-26);"
            " closing connection\norg.apache.kafka.common.errors.InvalidRequestException: Unexpected Kafka request of type METADATA during"
            " SASL handshake.",
            "WARN",
        ),
        keep=(100, 50),
    ),
)
