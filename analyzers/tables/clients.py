"""Tables of Kafka clients that report about themselves: the statistics of librdkafka (stats_cb), as a file or a log holds them."""

from __future__ import annotations

from analyzers.tables.model import table

CLIENT_STATES = table(
    "client_states",
    "librdkafka clients as their own statistics show them, a row per client and moment",
    """
moment long number of the statistics among all that were given
at timestamp when, by the clock of the client's host
instance string name of the client within its process
client string client id
kind string consumer, producer
started double seconds of the host's monotonic clock at which the client was made; the same in all its statistics
age_seconds double since it was made
queued long messages in the queues of a producer, not acknowledged yet
queue_limit long the most that these queues take
sent long messages transmitted since it was made
received long messages consumed since it was made
group_state string state of its group handler: up, query-coord, wait-coord, wait-broker, wait-broker-transport, …; null without a group
group_state_seconds double since it is in that state
join_state string init, wait-join, wait-sync, wait-assign-call, …, steady
rebalances long rebalances of its own assignment (assign or revoke) since it was made
rebalance_reason string why it was rebalanced last
assigned long partitions that are assigned to it
producer_id_state string state of an idempotent producer: RequestPID, WaitPID, Assigned, FatalError, …
producer_id_seconds double since it is in that state
transaction_state string state of a transactional producer: Ready, InTransaction, AbortableError, FatalError, …
file string file that holds it
line long line of it
""",
)
CLIENT_BROKERS = table(
    "client_brokers",
    "brokers as the statistics of a librdkafka client show its connections to them",
    """
moment long number of the statistics
at timestamp when
instance string name of the client within its process
client string client id
address string host:port
broker long node id; null for a bootstrap server and a logical one
source string configured, learned, internal, logical (a coordinator)
state string INIT, DOWN, TRY_CONNECT, CONNECT, SSL_HANDSHAKE, AUTH_…, APIVERSION_QUERY, UP, …
state_seconds double since it is in that state
connects long attempts to connect
disconnects long connections that ended
responses long responses that came
timeouts long requests that timed out
errors long errors of sending and receiving
rtt_ms double mean round trip of the last interval; null without any
throttle_ms double mean delay by a quota in the last interval; null without any
partitions strings partitions that the client asks this broker for, as topic-partition
file string file that holds it
line long line of it
""",
)
CLIENT_PARTITIONS = table(
    "client_partitions",
    "partitions as the statistics of a librdkafka client show them",
    """
moment long number of the statistics
at timestamp when
instance string name of the client within its process
client string client id
topic string topic
partition long partition
leader long node id of its leader, as the client knows it; null if it knows none
assigned boolean the application wants to read it
fetch_state string none, stopping, stopped, offset-query, offset-wait, active
position long offset behind the last message that the application got; null before the first
stored long offset that is to be committed; null if none is
committed long offset that is committed; null if none is
high_watermark long high watermark
last_stable long last stable offset
lag_records long as librdkafka counts it: behind the commit; null if it does not know
fetched long messages that wait for the application
queued long messages that wait to be sent
inflight long messages that were sent and are not acknowledged
file string file that holds it
line long line of it
""",
)
CLIENT_MOMENTS = table(
    "client_moments",
    "what keeps a librdkafka client from its work, by its own statistics (analyzers/derived/flow/client_moments.py)",
    """
client string client id
instance string name of the client within its process
kind string consumer, producer
reason string what it is, as the rule names it: no-broker, broker, coordinator, rebalancing, unsent, unpolled, uncommitted, …
state string the state that it stays in
because string what librdkafka says of it
topic string topic of the partitions, where it is one
partitions strings partitions that it concerns, as topic-partition
address string broker that it concerns, where it is one
brokers strings brokers that it concerns, each as host:port STATE
broker long node id of the one broker
connects long attempts to connect to these brokers that the statistics count
position long position in the first of the partitions
committed long its committed offset; null if none is
stored long its stored offset; null if none is
records long records that were read, or log that grew, meanwhile
queued long messages that wait in the producer
queue_limit long the most that its queues take
sent long messages transmitted between the first moment and the last
rebalances long rebalances between the first moment and the last
moments long statistics of this client
seconds double from the first of them to the last; of a single one for how long its state lasts
at timestamp first of them
last_at timestamp last one
text string the values that show it
file string file that holds the last one
line long line of it
""",
    derived=True,
)
