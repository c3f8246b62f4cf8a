"""ZooKeeper: its servers' elections and disks, and its clients' sessions (Kafka brokers before KRaft, Flink's high availability)."""

from __future__ import annotations

from analyzers.logs.signatures.origin import in_flink, kafka_broker
from analyzers.logs.signatures.signature import Signature

_CLIENT = "org.apache.zookeeper.ClientCnxn"
_PEER = "org.apache.zookeeper.server.quorum.QuorumPeer"

OF_CLIENTS = (
    Signature(
        id="zookeeper-without-login",
        says="A client has no login of its own (no JAAS section) and goes on without one, which Curator calls an error.",
        literals=("Authentication failed",),
        pattern=r"^Authentication failed$",
        logger="org.apache.curator.ConnectionState",
        sample=in_flink("org.apache.flink.shaded.curator5.org.apache.curator.ConnectionState", "Authentication failed", "ERROR"),
    ),
    Signature(
        id="zookeeper-session-expired",
        says="A client's session expired: what it registered for as long as it lives is gone (a broker's id, a leadership).",
        literals=(
            "Unable to reconnect to ZooKeeper service, session 0x",
            "] Session expired.",
            "zookeeper state changed (Expired)",
            "KeeperErrorCode = Session expired",
        ),
        pattern=r"(?:Unable to reconnect to ZooKeeper service, session 0x(?P<session>[0-9a-f]+) has expired"
        r"|\[ZooKeeperClient[^\]\n]*\] Session expired\.|zookeeper state changed \(Expired\)|KeeperErrorCode = Session expired)",
        where="line",
        versions="ZooKeeper 3.4+; Kafka 1.1 to 3.9; ZkClient in Kafka up to 1.0",
        sample=kafka_broker(_CLIENT, "Unable to reconnect to ZooKeeper service, session 0x16d9eaefce70000 has expired", "WARN"),
        keep=(100, 50),
    ),
    Signature(
        id="zookeeper-session-timed-out",
        says="A client heard nothing from its server for two thirds of the session timeout and looks for another one.",
        literals=("session timed out, have not heard from server in ",),
        pattern=r"have not heard from server in (?P<duration_ms>\d+) ?ms for session ?id 0x(?P<session>0*[1-9a-f][0-9a-f]*)",
        versions="`sessionid` up to 3.4, `session id` later",
        sample=kafka_broker(
            _CLIENT, "Client session timed out, have not heard from server in 12010ms for sessionid 0x16d9eaefce70000", "WARN"
        ),
        keep=(100, 50),
    ),
    Signature(
        id="zookeeper-connection-broken",
        says="A client lost its connection, or could not make one, and tries the next server.",
        literals=(
            "likely server has closed socket",
            "Closing socket connection. Attempting reconnect",
            "unexpected error, closing socket connection and attempting reconnect",
            "Socket error occurred: ",
        ),
        pattern=r"(?:^Socket error occurred: (?P<address>[^\s:]+:\d+)|session ?id 0x|Session 0x(?P<session>[0-9a-f]+) for ser?ver"
        r" (?P<server>[^\s,]+))",
        versions="`sever` in 3.5.6 to 3.6",
        sample=kafka_broker(_CLIENT, "Socket error occurred: zk-1/10.0.3.1:2181: Connection refused"),
        keep=(50, 50),
    ),
    Signature(
        id="zookeeper-awaited",
        says="A Kafka broker waits for its connection to ZooKeeper, for as long as it takes.",
        literals=("] Waiting until connected.",),
        pattern=r"^\[ZooKeeperClient[^\]\n]*\] Waiting until connected",
        versions="Kafka 1.1 to 3.9",
        sample=kafka_broker("kafka.zookeeper.ZooKeeperClient", "[ZooKeeperClient Kafka server] Waiting until connected."),
        keep=(50, 50),
    ),
    Signature(
        id="zookeeper-session-established",
        says="A client has a session, the same as before or a new one, and the timeout that the server granted.",
        literals=("Session establishment complete on server ",),
        pattern=r"on server (?P<server>\S+?), session ?id = 0x(?P<session>[0-9a-f]+), negotiated timeout = (?P<timeout_ms>\d+)",
        sample=kafka_broker(
            _CLIENT,
            "Session establishment complete on server zk-1/10.0.3.1:2181, sessionid = 0x16d9eaefce70000, negotiated timeout = 18000",
        ),
        keep=(100, 50),
    ),
    Signature(
        id="curator-state",
        says="What Curator, through which Flink speaks with ZooKeeper, thinks of the connection.",
        literals=("State change: ",),
        pattern=r"^State change: (?P<to_state>SUSPENDED|LOST|RECONNECTED|CONNECTED)",
        logger="ConnectionStateManager",
        sample=in_flink(
            "org.apache.flink.shaded.curator5.org.apache.curator.framework.state.ConnectionStateManager", "State change: SUSPENDED"
        ),
        keep=(100, 50),
    ),
)

SIGNATURES = (
    *OF_CLIENTS,
    Signature(
        id="zookeeper-state",
        says="A server looks for a leader, or knows one.",
        literals=("LOOKING", "LEADER ELECTION TOOK", "OBSERVING"),
        pattern=r"^(?P<to_state>LOOKING|LEADING|FOLLOWING|OBSERVING)(?: - LEADER ELECTION TOOK|\s*$)",
        sample=kafka_broker(_PEER, "LOOKING"),
        keep=(100, 50),
    ),
    Signature(
        id="zookeeper-electing",
        says="A server got no vote in time and asks again, each time with more patience (200 ms to 60 s).",
        literals=("Notification time out: ",),
        pattern=r"^Notification time out: (?P<timeout_ms>\d+)",
        sample=kafka_broker("org.apache.zookeeper.server.quorum.FastLeaderElection", "Notification time out: 25600"),
        keep=(50, 100),
    ),
    Signature(
        id="zookeeper-peer-unreachable",
        says="A server cannot reach another one of the ensemble to vote.",
        literals=("Cannot open channel to ", "Cannot open secure channel to "),
        pattern=r"^Cannot open (?:secure )?channel to (?P<peer>\d+) at election address (?P<address>\S+:\d+)",
        sample=kafka_broker(
            "org.apache.zookeeper.server.quorum.QuorumCnxManager", "Cannot open channel to 2 at election address zk-2:3888", "WARN"
        ),
        keep=(50, 50),
    ),
    Signature(
        id="zookeeper-not-serving",
        says="A server turns a client away: it belongs to no quorum (yet).",
        literals=("ZooKeeperServer not running",),
        where="line",
        sample=kafka_broker(
            "org.apache.zookeeper.server.NIOServerCnxn",
            "Exception causing close of session 0x0 due to java.io.IOException: ZooKeeperServer not running",
            "WARN",
        ),
        keep=(20, 50),
    ),
    Signature(
        id="zookeeper-session-ended",
        says="The leader ends the session of a client from which it hears nothing.",
        literals=("Expiring session 0x",),
        pattern=r"^Expiring session 0x(?P<session>[0-9a-f]+), timeout of (?P<timeout_ms>\d+) ?ms exceeded",
        sample=kafka_broker(
            "org.apache.zookeeper.server.ZooKeeperServer", "Expiring session 0x16d9eaefce70000, timeout of 18000ms exceeded"
        ),
        keep=(100, 50),
    ),
    Signature(
        id="zookeeper-sync-slow",
        says="A server waited long for its disk before it could answer (said above fsync.warningthresholdms, 1 s).",
        literals=("fsync-ing the write ahead log in ",),
        pattern=r"^fsync-ing the write ahead log in \S+ took (?P<duration_ms>\d+) ?ms",
        sample=kafka_broker(
            "org.apache.zookeeper.server.persistence.FileTxnLog",
            "fsync-ing the write ahead log in SyncThread:2 took 3932ms which will adversely effect operation latency. File size is 67108880"
            " bytes. See the ZooKeeper troubleshooting guide",
            "WARN",
        ),
        keep=(100, 50),
    ),
)
