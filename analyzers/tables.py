"""The declared schema of every evidence table: one place, a sentence per column. Imports neither pyspark nor pyarrow.

A row is a plain ``dict`` with exactly the declared columns (missing = ``None``). Times are aware UTC ``datetime`` with
millisecond precision in memory and ISO-8601 ``…Z`` in files. Every table begins with ``scope`` (one incident), ``as_of``, ``job``.
Columns are only ever added: a bundle names the columns it was written with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Row = dict[str, Any]
ColumnType = Literal["string", "long", "double", "boolean", "timestamp", "strings", "map"]


@dataclass(frozen=True)
class Column:
    """One column: name, logical type (``strings`` = list of string, ``map`` = string to string), what it says."""

    name: str
    type: ColumnType
    says: str


@dataclass(frozen=True)
class Table:
    """One table: its columns in file order; ``derived`` tables are computed and never stored in a bundle."""

    name: str
    says: str
    columns: tuple[Column, ...]
    derived: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    def row(self, values: Mapping[str, Any]) -> Row:
        """Exactly the declared columns, ``None`` where `values` has none; raises ``KeyError`` for an undeclared one."""
        unknown = set(values) - set(self.names)
        if unknown:
            raise KeyError(f"{self.name}: no such column: {', '.join(sorted(unknown))}")
        return {name: values.get(name) for name in self.names}


def _columns(spec: str) -> tuple[Column, ...]:
    columns = []
    for line in filter(str.strip, spec.splitlines()):  # the shared parts leave blank lines where they are joined
        name, kind, says = line.strip().split(None, 2)
        columns.append(Column(name, kind, says))  # type: ignore[arg-type]  # the literal is checked by tests/test_tables.py
    return tuple(columns)


_HEAD = """
scope string the incident this row belongs to (one bundle, one run, one directory of a fleet)
as_of timestamp moment of collection, or the newest event of the evidence
job string job id (Flink: 32 hex digits; Spark: query id); null if unknown
"""

_PLACE = """
task string task (vertex) name as logged, without the subtask suffix
subtask long subtask index, counted from 0
parallelism long number of subtasks of the task
execution string execution attempt id
topic string Kafka topic
partition long Kafka partition
offset long Kafka offset
broker long Kafka node id (negative: bootstrap entry -1-index; coordinator ids are folded back)
address string host:port that the line names
resource string TaskManager resource id, container, pod or executor that the line names
checkpoint long checkpoint id (Structured Streaming: batch id)
"""

_FAULT = """
exception string class of the outermost exception
root_exception string class of the deepest exception of the chain (serialised wrappers resolved)
root_message string message of the deepest exception, first line
chain strings the causal chain, outermost first, each "class: message" (message clipped)
user_frame string first stack frame that belongs to no framework
"""


def _table(name: str, says: str, spec: str, *, derived: bool = False) -> Table:
    return Table(name, says, _columns(_HEAD + spec), derived)


LOG_EVENTS = _table(
    "log_events",
    "single log events: one row per event and signature; without a signature an event is kept when it is an error or carries an exception",
    """
at timestamp time of the event's header, UTC; null where the log has none
zone string how the time zone is known: stated, option, inferred, assumed-utc, unknown
file string file (archive members and streams as file!member)
line long line of the event's first line, counted from 1 in the file as stored
seq long order of the event within the scope (time where known, else file order)
role string jobmanager, taskmanager, kafka-broker, kafka-client, spark-driver, spark-executor, beam, client or null
host string host, pod, container or TaskManager id that wrote the line, if the file or wrapping tells
level string TRACE DEBUG INFO WARN ERROR FATAL or null
logger string logger as printed
thread string thread as printed
signature string word id of the signature; error-logged / exception-logged where no other matched
attempt long attempt number of the task as printed (#a)
from_state string state before a transition
to_state string state after a transition
group string consumer group
client string client id
operator string operator name or id
vertex string vertex id
duration_ms long duration that the line states
detail map other named captures of the signature
"""
    + _PLACE
    + _FAULT
    + """
frames strings the first frames of the outermost and of the root exception (class.method), for masking tests
text string the event's text, clipped
""",
)

LOG_COUNTS = _table(
    "log_counts",
    "how often each signature was seen, per task, host and minute; counts are complete where log_events is a selection",
    """
signature string word id of the signature
task string task name
host string who wrote it
file string file
minute timestamp the minute (UTC), null where lines have no time
events long number of events
first_at timestamp first event
last_at timestamp last event
""",
)

LOG_FILES = _table(
    "log_files",
    "each log file or stream that was read",
    """
file string file (archive members and streams as file!member)
role string who wrote it, if known
host string host, pod or container, if known
layout string layouts seen, by share
wrapping string envelopes that were peeled, outermost first
zone string how the time zone is known
first_at timestamp first time stamp
last_at timestamp last time stamp
size_bytes long size as stored
lines long number of lines
events long number of events
unparsed_lines long lines before the first header or without any
version string component version from the start banner
clients strings client versions named (kafka-clients 2.4.1, …)
""",
)

SOURCES = _table(
    "sources",
    "what was looked at and whether it could be read whole",
    """
name string file, directory, address
kind string logs, checkpoint, kafka, flink-rest, bundle
state string ok, partial, failed
why string what was tried and what went wrong; null when ok
""",
)

# Derived from logs ----------------------------------------------------------------------------------------------

JOBS_SEEN = _table(
    "jobs_seen",
    "each job (or query) that the logs show, with its last known state",
    """
name string job or query name
kind string flink, beam, spark
state string last known state
first_at timestamp first event
last_at timestamp last event
restarts long failed attempts
planned_restarts long restarts that somebody ordered
checkpoints_completed long completed checkpoints (committed batches)
checkpoints_expired long expired checkpoints
last_completed_at timestamp last completed checkpoint
engine_version string Flink / Spark version
kafka_clients string kafka-clients versions
""",
    derived=True,
)

ATTEMPTS = _table(
    "attempts",
    "each attempt of a job to run: from its start or restart to its end",
    """
attempt long number of the attempt, from 0
started_at timestamp when the attempt began
ended_at timestamp when it ended; null if it still ran at the end of the log
ended string failed, planned, finished, cancelled, suspended, running
planned_because string what ordered the restart, when planned
trigger string fault class of the first fault of the attempt
trigger_says string that fault in one line
fault string fault class of the deepest fault that is no consequence; null if all are consequences
cause string its cause
fingerprint string identity of the deepest fault (root class, message without numbers, task), to compare attempts
restored_checkpoint long checkpoint the attempt began from
restored_from string path of it
checkpoints_completed long completed during the attempt
batch long Structured Streaming: the batch it failed in, or the last one planned or resumed
run string Structured Streaming: run id
file string file of the first fault
line long line of the first fault
""",
    derived=True,
)

FAULTS = _table(
    "faults",
    "each failure, de-duplicated over the places that print it, classified by its exception chain",
    """
at timestamp when
file string file of the most telling event
line long line of it
role string who wrote it
host string who wrote it
attempt long attempt of the job (see attempts); null outside of any
first boolean first fault of its attempt
fault string fault class (analyzers/derived/fault_classes.py)
cause string cause it points to; null if unknown
reason string how
consequence boolean a mere consequence of another fault (closed handover, cancellation, lost connection while cancelling)
fatal boolean it failed a task, a job or a process (not merely logged)
occurrences long how many events were folded into this row
fingerprint string identity to compare attempts by
signature string signature of the event that showed it
level string level of the event
"""
    + _PLACE
    + _FAULT
    + """
group string consumer group
client string client id
detail map other captures
text string the event's text, clipped
""",
    derived=True,
)

SPLIT_CLAIMS = _table(
    "split_claims",
    "each time a log says that a reader got a source split, restored or assigned",
    """
at timestamp when
file string file
line long line
attempt long attempt of the job
how string restored, assigned, reading
source string source name
split string split identity
topic string Kafka topic
partition long Kafka partition
offset long start offset; null where a sentinel
subtask long reader's subtask from 0, if named
host string who wrote it
text string the event's text, clipped
""",
    derived=True,
)

# Kafka ------------------------------------------------------------------------------------------------------------

BOOTSTRAP_SERVERS = _table(
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
BROKERS = _table(
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
PARTITIONS = _table(
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
LOG_OFFSETS = _table(
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
GROUPS = _table(
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
MEMBERS = _table(
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
CLIENT_CONFIGS = _table(
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
COMMITTED_OFFSETS = _table(
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

FORECAST = _table(
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

# Checkpoints --------------------------------------------------------------------------------------------------------

CHECKPOINT_FILES = _table(
    "checkpoint_files",
    "each checkpoint or savepoint found",
    """
path string path of _metadata or of the checkpoint directory
checkpoint long checkpoint id
version long format version of _metadata
kind string checkpoint, savepoint, unknown
state string complete, empty (no _metadata), damaged
operators long number of operators
size_bytes long size of _metadata
state_bytes long size of all state it names
unread_bytes long bytes the reader could not account for (0 when right)
mtime timestamp modification time
damaged_at long byte offset of the damage
damage string what was expected there
savepoint_format string canonical, native; null for a checkpoint
""",
)
OPERATOR_STATES = _table(
    "operator_states",
    "each operator of a checkpoint",
    """
path string path of _metadata
checkpoint long checkpoint id
operator string operator id, hex
name string operator name (V5+)
uid string operator uid (V5+)
parallelism long parallelism
max_parallelism long max parallelism
subtasks long subtasks with state
size_bytes long state size
coordinator_bytes long coordinator state size; null = none
finished boolean the operator had finished
complete boolean false for the operator that damage cut
""",
)
SUBTASK_STATES = _table(
    "subtask_states",
    "each subtask state of a checkpoint",
    """
path string path of _metadata
checkpoint long checkpoint id
operator string operator id, hex
subtask long subtask from 0
size_bytes long state size
managed_operator_bytes long managed operator state
raw_operator_bytes long raw operator state
managed_keyed_bytes long managed keyed state
raw_keyed_bytes long raw keyed state
channel_bytes long in-flight data of an unaligned checkpoint
finished boolean the subtask had finished
""",
)
SPLITS = _table(
    "splits",
    "each source split that a checkpoint holds",
    """
path string path of _metadata
checkpoint long checkpoint id
operator string operator id, hex
subtask long subtask from 0; null for the enumerator
role string reader, enumerator
connector string kafka, kafka-dynamic, kafka-legacy, beam, beam-kafka, number-sequence, opaque
identity string identity of the split
topic string Kafka topic
partition long Kafka partition
offset long next offset to read; null for a marker
offset_kind string next, earliest, latest, committed, none
stopping_offset long stopping offset; null = none
status string assigned, unassigned, unknown
stopping_kind string none, offset, latest, committed
split_index long Beam's index of the split, whose meaning changes with the number of splits
""",
)
BATCHES = _table(
    "batches",
    "batches of a Structured Streaming checkpoint directory",
    """
path string checkpoint directory
query string query id
batch long batch number
planned boolean offsets/N exists
committed boolean commits/N exists
planned_at timestamp batchTimestampMs
damage string what is wrong with its files
""",
)
BATCH_OFFSETS = _table(
    "batch_offsets",
    "end offsets of each batch and source",
    """
path string checkpoint directory
batch long batch number
source long source index
topic string Kafka topic
partition long Kafka partition
offset long end offset (exclusive)
raw string the offset as written, for sources that are not Kafka
offset_kind string next, earliest, latest, unknown; null for sources that are not Kafka
""",
)

SPLIT_AUDIT = _table(
    "split_audit",
    "each suspicious split: held twice, by nobody, gone back, never read, unknown to the job, outside of the log",
    """
problem string held-twice, held-by-nobody, went-back, never-read, not-discovered, below-log-start, beyond-log-end
seen_by string what showed it: checkpoint, lineage, broker
path string path of the _metadata that shows it
checkpoint long checkpoint id
since_checkpoint long first checkpoint in a row that shows it
compared_with string path of the checkpoint that a position was compared with
operator string operator id, hex
connector string as in splits
identity string identity of the split
topic string Kafka topic
partition long Kafka partition
subtasks strings reader subtasks that hold it, from 0
offsets strings positions in the order of subtasks; gone back: before, after
inferred boolean the lineage was inferred from the checkpoint ids alone
""",
    derived=True,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        LOG_EVENTS, LOG_COUNTS, LOG_FILES, SOURCES, JOBS_SEEN, ATTEMPTS, FAULTS, SPLIT_CLAIMS, BOOTSTRAP_SERVERS, BROKERS, PARTITIONS,
        LOG_OFFSETS, CLIENT_CONFIGS, FORECAST, GROUPS, MEMBERS, COMMITTED_OFFSETS, CHECKPOINT_FILES, OPERATOR_STATES, SUBTASK_STATES,
        SPLITS, SPLIT_AUDIT, BATCHES, BATCH_OFFSETS,
    )
}  # fmt: skip
