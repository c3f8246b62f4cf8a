"""Tables that a Kafka cluster fills, and the forecast derived from them."""

from __future__ import annotations

from analyzers.tables.model import table

BOOTSTRAP_SERVERS = table(
    "bootstrap_servers",
    "each bootstrap entry, probed from this host",
    """
entry string host:port as configured
position long place in the list, from 0
ip string resolved address that was probed
state string alive, dns, refused, black-hole, hung, tls, auth, not-kafka
why string what happened, with the operating system's words
connect_ms double TCP connect time
api_versions_ms double round trip of ApiVersions
metadata_ms double round trip of Metadata
broker long node id behind it, from Metadata where it can be told
tls_days_left double days until the certificate expires
seen_from string host the probe ran on
probed_at timestamp when
""",
)
BROKERS = table(
    "brokers",
    "each broker of the metadata, probed at its advertised address",
    """
broker long node id
address string advertised host:port
rack string rack
state string as bootstrap_servers
why string what happened
connect_ms double TCP connect time
api_versions_ms double round trip of ApiVersions
controller boolean active controller
in_metadata boolean the cluster lists it now
seen_from string host the probe ran on
probed_at timestamp when
""",
)
PARTITIONS = table(
    "partitions",
    "each partition with its leader and replicas",
    """
topic string topic
topic_id string topic id
partition long partition
leader long leader's node id; null if none
replicas strings replica node ids
isr strings in-sync node ids
offline strings replicas whose broker is not in the cluster
state string ok, leaderless, under-replicated, leader-unreachable
""",
)
LOG_OFFSETS = table(
    "log_offsets",
    "ends of each partition's log, sampled",
    """
at timestamp when asked
topic string topic
partition long partition
log_start long first offset kept
last_stable long last stable offset (end for read_committed)
high_watermark long high watermark (end for read_uncommitted)
""",
)
GROUPS = table(
    "groups",
    "consumer groups",
    """
group string group id
type string classic, consumer (KIP-848) or unknown
state string state as the broker names it
coordinator long node id of the coordinator
members long number of members
simple boolean no members and no protocol: a client that assigns itself (Flink, Spark, Beam)
error string why it could not be described
asked boolean the user named exactly this group
""",
)
MEMBERS = table(
    "members",
    "group members",
    """
group string group id
member string member id
client string client id
instance string group instance id
host string host
assigned strings topic-partitions
""",
)
CLIENT_CONFIGS = table(
    "client_configs",
    "what is known of the job's own Kafka client",
    """
source string where it is known from: option, command-config
client_version string kafka-clients version; null if unknown
clients long clients that must all start: subtasks of FlinkKafkaConsumer, 1 for KafkaSource
tcp_syn_retries long net.ipv4.tcp_syn_retries of the job's hosts
configured boolean the job's client properties were given, not only its address list
""",
)
COMMITTED_OFFSETS = table(
    "committed_offsets",
    "what each group has committed, sampled, beside the log ends",
    """
at timestamp when asked
group string group id
topic string topic
partition long partition
committed long committed offset; null = none
log_start long first offset kept
last_stable long last stable offset
high_watermark long high watermark
lag_records long high watermark - max(committed, log start); null without a commit
member string member that owns it
client string its client id
host string its host
error string why it is unknown
""",
)

FORECAST = table(
    "forecast",
    "the odds of the next start of the job's Kafka clients with the bootstrap entries as they are (analyzers/derived/forecast.py)",
    """
entries long entries of the bootstrap list that were judged
dead long those that are dead in this way
kind string how they are dead
client_version string kafka-clients version that the odds are for
assumed boolean the job's version is unknown: these are the odds if it were this one
clients long clients that must all start
timeout_seconds double what ends the call
p_fail_client double probability that one client fails; null if never measured
p_fail_start double probability that a start of all clients fails
expected_starts double starts until one succeeds, on average; null if none can
says string the odds in one sentence
""",
    derived=True,
)

RECORDS = table(
    "records",
    "records read around a suspect offset, or the first one at a position; never their contents unless asked",
    """
group string the group whose position it is; null for a suspect window
why string committed, last-stable, log-end, suspect, neighbour
topic string topic
partition long partition
wanted long the offset that was asked for
offset long the record's offset (the next that exists: compaction and control records leave gaps)
at timestamp the record's time stamp; null if there is none
clock string create-time, log-append-time
key_bytes long size of the key; null = no key
value_bytes long size of the value; null = tombstone
headers strings names of the headers
schema_id long Confluent schema id after the magic byte 0; null if none
decodes strings what the value decodes as: utf-8, json, avro-framed; empty = none
differs string how it differs from its neighbours
content string the value, only with --show-content
error string why it could not be read
""",
)
