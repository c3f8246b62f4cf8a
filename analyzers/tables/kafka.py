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
state string alive, dns, refused, black-hole, hung, closed (without an answer), tls, auth, not-kafka
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
speaks string digest of the requests and versions that it understands: equal software, equal digest
features strings features that it supports, as name first-last
finalized strings features that the cluster has settled on, as name level, as this broker says
leaders long partitions that it leads
preferred long partitions whose preferred leader it is
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
adding strings replicas that a reassignment under way adds; null if reassignments are unknown
removing strings replicas that it removes
""",
)
LOG_DIRS = table(
    "log_dirs",
    "each log directory of each broker, as the broker describes it",
    """
broker long node id
path string the directory; null where the broker did not answer
state string ok, offline, unknown
why string what the broker says of it
total_bytes long size of its volume (Kafka 3.3)
usable_bytes long what is free on its volume (Kafka 3.3)
replicas long replicas that lie in it
size_bytes long size of their logs
moving_replicas long replicas that are being copied here from another directory of the broker
""",
)
METADATA_QUORUM = table(
    "metadata_quorum",
    "voters and observers of the KRaft quorum, as its leader sees them",
    """
node long node id
address string host:port of its listener (Kafka 3.9)
role string leader, voter, observer
leader_epoch long epoch of the leader
log_end_offset long end of its copy of the metadata log; null if it has not fetched from this leader
lag_offsets long offsets that it misses
last_fetch_at timestamp when it fetched last, by the leader's clock (Kafka 3.3)
last_caught_up_at timestamp when it had everything last, by the leader's clock (Kafka 3.3)
behind_seconds double from then to the leader's now; null if it has not fetched from this leader
""",
)
CLIENT_QUOTAS = table(
    "client_quotas",
    "quotas that may throttle the members of the groups that were looked at, each per broker",
    """
user string the user that it is for; <default> for every other user; null if for any
client_id string the client id that it is for; <default> for every other client id; null if for any
ip string the address that it is for
key string consumer_byte_rate, request_percentage, …
value double bytes per second, or percent of a thread
groups strings groups with a member that it may apply to
""",
)
OFFSETS_AT = table(
    "offsets_at",
    "the first offset at or after a time that was asked for",
    """
at timestamp the time that was asked for
topic string topic
partition long partition
offset long first offset with a time stamp at or after it; the log end where every record is older
record_at timestamp its time stamp; null where every record is older
high_watermark long high watermark
error string why it is unknown
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
type string classic, consumer (KIP-848), share (KIP-932), streams (KIP-1071) or unknown
state string state as the broker names it
coordinator long node id of the coordinator
members long number of members
simple boolean no members and no protocol: a client that assigns itself (Flink, Spark, Beam)
error string why it could not be described
asked boolean the user named exactly this group
assignor string what assigns partitions to its members
epoch long group epoch (KIP-848, share and streams groups; asked for with --members); classic groups do not show their generation
assignment_epoch long epoch of the newest assignment; below epoch one is being made
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
epoch long member epoch (as groups.epoch); below it the member has not come to the newest assignment
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
connector string legacy, kafka-source, beam, spark, plain; null if unknown
api_timeout_seconds double default.api.timeout.ms; null for the client's default
request_timeout_seconds double request.timeout.ms; null for the client's default
setup_timeout_seconds double socket.connection.setup.timeout.ms; null for the client's default
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
SHARE_OFFSETS = table(
    "share_offsets",
    "where each share group (KIP-932) is, sampled: it acknowledges records one by one and commits no offset",
    """
at timestamp when asked
group string group id
topic string topic
partition long partition
start_offset long every record before it is acknowledged or given up; null before the first
lag_records long records not acknowledged yet, as the broker counts them (Kafka 4.2); null if it does not say
error string why it is unknown
""",
)

PASTED_GROUPS = table(
    "pasted_groups",
    "consumer groups as tables of Kafka's tools showed them, pasted or saved: in their order, often without a time",
    """
moment long number of the table among all that were given
group string group id
state string state as the tool names it; null if it does not show it
members long number of members; null if unknown
coordinator long node id of the coordinator
assignor string what assigns partitions to its members
file string file that holds the table
line long line of the row
""",
)
PASTED_OFFSETS = table(
    "pasted_offsets",
    "what each group has committed, as tables of Kafka's tools showed it, pasted or saved",
    """
moment long number of the table among all that were given
at timestamp when, where the paste shows it
of_day double time of day that the paste shows without a date, in seconds
group string group id
topic string topic
partition long partition
committed long committed offset; null = none
high_watermark long log end offset
lag_records long as the tool shows it
member string member that owns it
client string its client id
host string its host
file string file that holds the table
line long line of the row
""",
)
PASTED_PARTITIONS = table(
    "pasted_partitions",
    "partitions that exist, as tables of Kafka's tools showed them: kafka-topics, kafka-get-offsets, kcat",
    """
topic string topic
partition long partition
high_watermark long log end offset; null if only its existence was shown
moment long number of the look, in the order of the text
file string file that holds it
line long line of it
""",
)
KEYED_RECORDS = table(
    "keyed_records",
    "records with their keys, as kcat and kafka-console-consumer printed them",
    """
at timestamp time of the record; null if it was not printed
topic string topic
partition long partition
offset long offset; null if it was not printed
key string digest of the key; equal keys have equal ones
value string digest of the value; null if it was not printed
moment long number of the listing among all that were given
file string file that holds it
line long line of it
""",
)
GROUP_MOMENTS = table(
    "group_moments",
    "what pasted tables of one group show from one moment to the next (analyzers/derived/lag/group_moments.py)",
    """
group string group id
reason string moves, behind, uneven, stands (some partitions), transaction (one holds it), group-stands (all), rebalancing, null
topic string topic of the partitions that stand, where it is one
partitions strings partitions that stand, as topic-partition, the largest lag first
committed long commit of the first of them
lag_records long its lag
grew_records long by how much its log grew
moved long partitions of the group whose commits moved
moved_lag long largest lag of these
first_lag long lag of all partitions that stand, or are read too slowly, in the first moment
last_lag long their lag in the last one
read_records long records of them that were committed meanwhile
throttled_ms double longest delay that a client quota adds to an answer for one of its clients; null if no metric shows one
producer long producer of the transaction that is open at the commit of the first one that stands; null if none is known
transactional_id string its transactional id
transaction_ended boolean its coordinator holds it for ended
hanging boolean kafka-transactions find-hanging lists it
coordinator_epoch long epoch that kafka-transactions.sh abort wants
written_at timestamp when that producer last wrote there
moments long moments that show the group
seconds double time from the first to the last; null if unknown
state string state of the group in the last moment
members long members of the group in the last moment; null if unknown
client string client that owns the partitions that stand, where it is one
host string its host
captured_at timestamp the last moment
file string file that shows it
line long line of the first partition
""",
    derived=True,
)

TRANSACTIONAL_IDS = table(
    "transactional_ids",
    "what the coordinator knows of a transactional id that a checkpoint is to commit (DescribeTransactions)",
    """
transactional_id string transactional id
state string Ongoing, PrepareCommit, CompleteCommit, PrepareAbort, CompleteAbort, Empty, …; null if no coordinator knows it or answers
known boolean a coordinator knows it; null if not every one could be asked
producer long producer id that it has now
producer_epoch long producer epoch that it has now
started_at timestamp when the transaction that is open was begun
timeout_ms long its transaction.timeout.ms
error string why it is unknown
""",
)

FORECAST = table(
    "forecast",
    "the odds of a start of the job's Kafka clients, with the bootstrap entries as they are or as they might be (analyzers/forecast/)",
    """
entries long entries of the bootstrap list that were judged
dead long those that are dead in this way
kind string how they are dead; two kinds are joined by +
client_version string kafka-clients version that the odds are for
assumed boolean the job's version is unknown: these are the odds if it were this one
clients long clients that must all start
timeout_seconds double what ends the call
p_fail_client double probability that one client fails; null if never measured
p_fail_start double probability that a start of all clients fails
expected_starts double starts until one succeeds, on average; null if none can
says string the odds in one sentence
scenario string now, or the question that was asked (--what-if)
connector string legacy, kafka-source, beam, spark, plain; null if unknown
skipped long entries that refuse or have no address: a client leaves them at once
p_fail_client_low double lower end of what measurements leave open (95 %)
p_fail_client_high double upper end
measured boolean real clients of the same code were measured; else inferred from their rules
minutes_lost double minutes of failing starts until one succeeds, on average; null if none can
smallest_change string the easiest change after which a start fails less than once in a hundred
tcp_syn_retries long net.ipv4.tcp_syn_retries that was reckoned with
""",
    derived=True,
)

FORECAST_FIXES = table(
    "forecast_fixes",
    "what each change would bring to a start that may fail, the best first; advice that does not help is among them",
    """
scenario string as in forecast
client_version string as in forecast
rank long 1 is to be tried first
change string what to change
effort long 1 a property and a restart, 2 the same with a side effect, 3 the job's hosts, 4 an upgrade, 5 code
helps boolean whether it makes a failing start less likely
p_fail_client double probability that one client fails, then
p_fail_start double probability that a start of all clients fails, then
expected_starts double starts until one succeeds, then; null if none can
minutes_lost double minutes of failing starts, then
lines strings what to write, for the connector where it is known
note string what to know before
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
skipped_control long control records (commit and abort markers) between wanted and offset; without an offset: up to the end of the log
reached_end boolean there is no record from wanted to the end of the log, only markers and offsets that were compacted away
header_only boolean only the batch could be read: at is the time of its first record
producer long producer id of the batch; null if it has none
transactional boolean the batch belongs to a transaction
markers strings times of the transaction markers just before it, oldest first (why = last-stable)
""",
)

OPEN_TRANSACTIONS = table(
    "open_transactions",
    "the transaction that holds the last stable offset of a partition, as its coordinator describes it",
    """
topic string topic
partition long partition
offset long the last stable offset, where the transaction begins
producer long producer id
producer_epoch long producer epoch
coordinator_epoch long epoch that kafka-transactions.sh abort wants; null where the leader does not tell
transactional_id string its transactional id
state string Ongoing, PrepareCommit, …; null if its coordinator holds it for ended, or shows no such transaction
ended boolean a pasted table of its coordinator shows it as ended; null if none shows it, or of a live cluster
hanging boolean kafka-transactions find-hanging lists it
started_at timestamp when it was begun
timeout_ms long its transaction.timeout.ms
written_at timestamp when its producer last wrote to the partition; of pasted tables only
newest_at timestamp when any producer of that table last wrote
error string why it could not be told
file string file that holds the pasted table; null of a live cluster
line long line of it
""",
)

TOPIC_CONFIGS = table(
    "topic_configs",
    "settings of a topic that decide about unread records, and about its writers",
    """
topic string topic
key string cleanup.policy, retention.ms, retention.bytes, message.timestamp.type, max.message.bytes, min.insync.replicas
value string value as text
""",
)

LAG_STATUS = table(
    "lag_status",
    "group × topic × partition over all samples: does the group keep up (analyzers/derived/lag/lag_status.py)",
    """
group string group id
topic string topic
partition long partition
status string ok, warn, stall, stop, rewind, not-enough-samples, unknown
because string the status in one sentence
at timestamp the newest sample
samples long samples that it rests on
window_seconds double from the first sample to the newest
wanted_seconds double how long a commit must stand still before that says something
lag_records long as in committed_offsets, at the newest sample
history strings lag at each sample, oldest first
produced_per_second double records written per second
consumed_per_second double records committed per second; null until a commit moved often enough
trend string growing, shrinking, steady; null if it cannot be told
catch_up_seconds double until nothing is left at these rates; null if unknown or never
never boolean at these rates it never catches up
record_at timestamp time stamp of the record at the committed offset
time_lag_seconds double its age at the newest sample; null if there is none or its time stamp makes no sense
clock string create-time, log-append-time
time_doubt string why the time stamp is no age
beside_moved long other partitions of its member that moved meanwhile; null unless it alone stood among them
""",
    derived=True,
)

LAG_TRUTH = table(
    "lag_truth",
    "group × topic × partition: is the lag real (analyzers/derived/lag/lag_truth.py)",
    """
group string group id
topic string topic
partition long partition
truth string one of analyzers.derived.lag.lag_truth.TRUTHS: real, saw-tooth, commits-broken, blocked, …
healthy boolean nothing has to be repaired because of this
says string the arithmetic, on one line
lag_records long as counted from the commit
behind_records long how far the reader really is behind; null if unknown
at_least long bound of behind_records
at_most long bound of behind_records
position long next offset that the reader reads; null if unknown
position_from string flink-rest, checkpoint, commit
committed long committed offset
high_watermark long high watermark
lost_records long records that were deleted unread
checkpoint long checkpoint that the commit belongs to
newest_checkpoint long newest completed checkpoint
newest_checkpoint_at timestamp when it completed
overdue boolean no checkpoint has completed for much longer than their interval, and the commit is that of the newest
interval_seconds double interval of the checkpoints (of the writer's transactions, where one is open)
since timestamp since when; null if unknown
last_stable long last stable offset
members long members of the group; null if unknown
client_version string kafka-clients version of the reader, where it is known
log_start long log start
""",
    derived=True,
)

SUSPECT_WINDOWS = table(
    "suspect_windows",
    "where the record lies that makes a job fail again and again, as far as logs, checkpoints and commits bound it",
    """
topic string topic
partition long partition
from_offset long first offset that can hold it
to_offset long last offset that can hold it; null = not known
exact boolean the failure names this one record
task string task that failed
subtask long subtask that failed, from 0; null if several or unknown
attempts long attempts that failed so
why string how the window was found, in one sentence
""",
    derived=True,
)

STRANGE_STARTS = table(
    "strange_starts",
    "partitions that a group began elsewhere than where it was (analyzers/derived/lag/strange_starts.py)",
    """
at timestamp when it began
file string file of the line that shows it
line long that line
text string that line
group string group id; null where no line names it
client string name of the client, without the number that each new one gets
topic string topic
partition long partition
offset long where it began; null where it is only known to be the end
policy string auto.offset.reset, as far as it is known: latest, earliest
reason string gone (its committed offset is), renamed (another group was there), added (others have one), marked (restored without one)
before string the group, else the client, that was there: another one where it is `renamed`
known long the offset that it was known to have, null where it had none
known_at timestamp when
records long so many at most lie between: not read if above zero, read again if below; null if unknown
others long partitions of the topic of which it had a committed offset
removed_at timestamp when a broker removed committed offsets in between, of any group; null where no log shows it
""",
    derived=True,
)

DEAD_LETTERS = table(
    "dead_letters",
    "each connector that tolerates all errors and fills its dead-letter topic (analyzers/derived/failures/dead_letters.py)",
    """
at timestamp first error that was logged, else when the connector was configured
file string file of that line
line long that line
text string that line
connector string connector
topics strings topics that it reads
dead_letters string its dead-letter topic
converter string value.converter of the connector; null where it is the worker's
words string what the converter, transformation or sink says of the newest record
records long records that failed
reason string consecutive (one offset after the other), as-many (as many as were read), sample (whether all fail is unknown)
""",
    derived=True,
)
