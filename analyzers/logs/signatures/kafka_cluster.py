"""Which brokers a cluster has, where they listen, who left and came back; and what clients were configured with."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import TP
from analyzers.logs.signatures.origin import in_flink, kafka_broker
from analyzers.logs.signatures.signature import Signature

_Q = "[QuorumController id=1] "

SIGNATURES = (
    Signature(
        id="broker-address",
        says="Where a broker of the cluster listens.",
        literals=("RegisterBrokerRecord(brokerId=", " with addresses: "),
        pattern=r"RegisterBrokerRecord\(brokerId=(?P<broker>\d+),[^\n]*?BrokerEndpoint\(name='[^']*', host='(?P<named_host>[^']+)',"
        r" port=(?P<port>\d+)|"
        r"Registered broker (?P<registered>\d+) at path \S+ with addresses: \S*?(?P<listener>[\w.-]+:\d+)",
        versions="KRaft 3.x+; second wording ZooKeeper mode",
        sample=kafka_broker(
            "org.apache.kafka.controller.ClusterControlManager",
            _Q + "Replayed initial RegisterBrokerRecord for broker 4: RegisterBrokerRecord(brokerId=4, isMigratingZkBroker=false,"
            " incarnationId=xeZpbLZLR4WvDFFm1ScGNQ, brokerEpoch=18, endPoints=[BrokerEndpoint(name='PLAINTEXT', host='kafka-4', port=9092,"
            " securityProtocol=0)], features=[], rack=null, fenced=true, inControlledShutdown=false, logDirs=[])",
        ),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-left-at-once",
        says="The controller lets a broker go without moving leaderships: it leads nothing, or the cluster cannot wait.",
        versions="KRaft",
        literals=("requested and been granted an immediate shutdown",),
        pattern=r"[Bb]roker (?P<broker>\d+) has requested and been granted an immediate shutdown",
        sample=kafka_broker(
            "org.apache.kafka.controller.BrokerHeartbeatManager",
            _Q + "Unfenced broker 6 has requested and been granted an immediate shutdown.",
        ),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-unfence-granted",
        says="The controller lets a broker serve again (or for the first time).",
        versions="KRaft",
        literals=(" to unfence has been granted",),
        pattern=r"request from broker (?P<broker>\d+) to unfence has been granted",
        sample=kafka_broker(
            "org.apache.kafka.controller.BrokerHeartbeatManager",
            _Q + "The request from broker 2 to unfence has been granted because it has caught up with the offset of its register broker"
            " record 30.",
        ),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-failure-callback",
        says="The controller learnt that a broker is gone.",
        versions="ZooKeeper mode",
        literals=("Broker failure callback for ",),
        pattern=r"Broker failure callback for (?P<broker>\d+)(?P<more>(?:, ?\d{1,9}){0,100})",
        sample=kafka_broker("kafka.controller.KafkaController", "[Controller id=1] Broker failure callback for 5", "INFO"),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="broker-startup-callback",
        says="The controller learnt that a broker came (back).",
        versions="ZooKeeper mode",
        literals=("New broker startup callback for ",),
        pattern=r"New broker startup callback for (?P<broker>\d+)(?P<more>(?:, ?\d{1,9}){0,100})",
        sample=kafka_broker("kafka.controller.KafkaController", "[Controller id=1] New broker startup callback for 5", "INFO"),
        keep=(200, 50),
        apart=("broker",),
    ),
    Signature(
        id="partition-unelectable",
        says="The controller finds no leader for a partition: none of its in-sync replicas is on a broker that is up.",
        versions="ZooKeeper mode; the strategy 2.2+",
        literals=(" failed to change state for partition ",),
        pattern=rf"failed to change state for partition {TP} from (?P<from_state>\w+) to OnlinePartition"
        r"(?:[^\n]*\n[^\n]*under strategy (?P<strategy>\w+))?",
        where="event",
        sample=kafka_broker(
            "state.change.logger",
            "[Controller id=1 epoch=12] Controller 1 epoch 12 failed to change state for partition orders-1 from OfflinePartition to"
            " OnlinePartition\nkafka.common.StateChangeFailedException: Failed to elect leader for partition orders-1 under strategy"
            " OfflinePartitionLeaderElectionStrategy(false)",
            "ERROR",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="controller-unanswering",
        says="A broker gets no answer from the active controller: it cannot register, or its heartbeats stay out and it is fenced.",
        versions="KRaft",
        literals=("because the RPC got timed out before it could be sent",),
        pattern=r"\[BrokerLifecycleManager id=(?P<broker>\d+)\] Unable to (?P<what>register|send)",
        sample=kafka_broker(
            "kafka.server.BrokerLifecycleManager",
            "[BrokerLifecycleManager id=2] Unable to send a heartbeat because the RPC got timed out before it could be sent.",
        ),
        keep=(50, 100),
    ),
    Signature(
        id="quorum-state",
        says="A controller or broker changes its place in the metadata quorum: only Leader and Follower know a leader.",
        literals=("Completed transition to ",),
        pattern=r"\[RaftManager (?:node)?[iI]d=(?P<broker>\d+)\] Completed transition to (?P<to_state>[A-Z][a-z]+)(?:State)?\("
        r"(?:[^\n]*?\bepoch=(?P<epoch>\d+))?(?:[^\n]*?\bvoters=\[(?P<voters>[\d, ]+)\])?",
        sample=kafka_broker(
            "org.apache.kafka.raft.QuorumState",
            "[RaftManager id=1] Completed transition to CandidateState(localId=1, epoch=46, retries=1, voters=[1, 2, 3],"
            " electionTimeoutMs=1880) from UnattachedState(epoch=45)",
        ),
        versions="Kafka 2.8+ (KRaft)",
        keep=(50, 100),
    ),
    Signature(
        id="election-failed",
        says="A controller did not get enough votes in time.",
        literals=("Election timed out before receiving sufficient", "Election has timed out, backing off"),
        pattern=r"\[RaftManager (?:node)?[iI]d=(?P<broker>\d+)\] Election (?:timed out before|has timed out)",
        sample=kafka_broker(
            "org.apache.kafka.raft.KafkaRaftClient",
            "[RaftManager id=1] Election has timed out, backing off for 1000ms before becoming a candidate again",
        ),
        versions="Kafka 3.3+ (KRaft)",
        keep=(50, 100),
    ),
    Signature(
        id="kafka-client-config",
        says="What a Kafka client was configured with: its bootstrap list, and what it does without a position.",
        literals=("ConsumerConfig values:", "ProducerConfig values:", "AdminClientConfig values:"),
        pattern=r"(?P<config_of>Consumer|Producer|AdminClient)Config values:(?=(?:[^\n]*\n)*?\s*auto\.offset\.reset = (?P<reset>\w+)|)"
        r"(?:[^\n]*\n)*?\s*bootstrap\.servers = \[(?P<bootstrap>[^\]\n]*)\]",
        where="event",
        sample=in_flink(
            "org.apache.kafka.clients.consumer.ConsumerConfig",
            "ConsumerConfig values: \n\tallow.auto.create.topics = false\n\tauto.offset.reset = earliest\n"
            "\tbootstrap.servers = [kafka-1:9092, kafka-4:9092]\n\tgroup.id = orders-totals\n",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="partition-made",
        says="A broker was sent a partition that it does not have yet, and makes it.",
        versions="state.change.logger, KRaft; at ERROR",
        literals=("to exist, but it was missing. Creating...",),
        pattern=r"Expected partition (?P<topic>[\w.-]{1,249})-(?P<partition>\d{1,9}) with topic id (?P<topic_id>\S+) to exist",
        sample=kafka_broker(
            "state.change.logger",
            "[Broker id=1] Expected partition orders-4 with topic id CrKkfbRoQfiDOvaNxqjtJA to exist, but it was missing. Creating...",
            "ERROR",
        ),
        keep=(5, 5),
    ),
    Signature(
        id="partition-log-created",
        says="A broker has a new partition, or a new copy of one.",
        versions="LogManager, `[orders,1]` up to 1.0; the controller's `Replayed PartitionRecord` in KRaft mode",
        literals=("Created log for partition ", "Replayed PartitionRecord for new partition "),
        pattern=r"(?:Created log for partition|PartitionRecord for new partition) \[?(?P<topic>[\w.-]{1,249})[-,](?P<partition>\d{1,9})\b",
        sample=kafka_broker(
            "kafka.log.LogManager", "Created log for partition orders-4 in /data/kafka/orders-4 with properties {cleanup.policy=delete}"
        ),
        keep=(50, 300),
        apart=("topic",),
    ),
    Signature(
        id="broker-registration-refused",
        says="The controller refuses a broker's registration: another one has its id, or it belongs to another cluster.",
        versions="KRaft",
        literals=("because the controller returned error ",),
        pattern=r"(?:\[BrokerLifecycleManager id=(?P<broker>\d+)[^\]\n]*\] )?Unable to register broker (?P<registers>\d+) because the"
        r" controller returned error (?P<error>[A-Z_]+)",
        sample=kafka_broker(
            "kafka.server.BrokerLifecycleManager",
            "[BrokerLifecycleManager id=4] Unable to register broker 4 because the controller returned error DUPLICATE_BROKER_REGISTRATION",
        ),
        keep=(50, 50),
    ),
    Signature(
        id="node-fault",
        says="A broker or controller could not go on as it should: fatal, it ends its process; else its metadata stays behind.",
        versions="KRaft 3.3+",
        literals=("Encountered fatal fault: ", "Encountered metadata loading fault: ", "Encountered metadata publishing fault: "),
        pattern=r"Encountered (?P<of>fatal|metadata loading|metadata publishing) fault: (?P<because>[^\n]*?)(?: \([\w.]+\))?(?:\n|$)",
        where="event",
        sample=kafka_broker(
            "org.apache.kafka.server.fault.ProcessTerminatingFaultHandler",
            "Encountered fatal fault: Error loading metadata log record from offset 991",
            "ERROR",
        ),
        keep=(20, 20),
    ),
)
