"""Tables that checkpoint directories fill, and those derived from them."""

from __future__ import annotations

from analyzers.tables.model import table

CHECKPOINT_FILES = table(
    "checkpoint_files",
    "each checkpoint or savepoint found",
    """
path string path of _metadata or of the checkpoint directory
checkpoint long checkpoint id
version long format version of _metadata
kind string checkpoint, savepoint, unknown
state string complete, empty (no _metadata), damaged, never (a job's directory without any checkpoint)
operators long number of operators
size_bytes long size of _metadata
state_bytes long size of all state it names
unread_bytes long bytes the reader could not account for (0 when right)
mtime timestamp modification time
damaged_at long byte offset of the damage
damage string what was expected there
savepoint_format string canonical, native; null for a checkpoint
state_files long different state files that it names; null = not looked for
state_files_missing long of them not there, where a restore will look
state_files_wrong_size long of them there with another size
state_files_elsewhere long of them only beside this copy, not at the stated place
state_files_unchecked long of them at a place that cannot be seen from here
metadata_alone boolean nothing but _metadata lies in its directory
state_files_outside long of them outside of its own directory: shared with other checkpoints, or of another job
outside strings directories that these lie in, at most 8
discarded strings when Flink deletes it: subsumed, finished, cancelled, failed, suspended (V4+); empty for what its user owns
""",
)
OPERATOR_STATES = table(
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
SUBTASK_STATES = table(
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
changelog boolean its keyed state is that of the changelog state backend
""",
)
STATE_FILES = table(
    "state_files",
    "each state file that is not simply where a checkpoint says it is",
    """
path string path of the _metadata that names it; where none does, of the newest checkpoint of the job
checkpoint long checkpoint id
state string missing, wrong-size, elsewhere (only beside this copy), unchecked (not seen from here), or named by none: orphaned, newer
file string the file as stated; of files that no checkpoint names: their directory; null for a row that stands for many
storage string file (absolute), relative, segment (of a merged file)
operator string operator id, hex
name string operator name (V5+)
subtask long subtask from 0
expected_bytes long bytes it must have
size_bytes long bytes it has
found_at string where it lies
files long number of files this row stands for
mtime timestamp newest modification time, of files that no checkpoint names
""",
)
SPLITS = table(
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
PENDING_TRANSACTIONS = table(
    "pending_transactions",
    "each Kafka transaction that a restore commits: flushed for a checkpoint, to be committed after it (a sink's committer state)",
    """
path string path of _metadata
checkpoint long checkpoint id
operator string operator id of the committer, hex
subtask long subtask from 0
of_checkpoint long checkpoint that it was flushed for: an earlier one, where its commit failed
transactional_id string transactional id; null where the state cannot be read
producer long producer id
producer_epoch long producer epoch
unread string why it could not be read: another sink, an older connector, or the file is not here
""",
)
BATCHES = table(
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
watermark_ms long event-time watermark of the batch, epoch milliseconds
committed_at timestamp modification time of commits/N
mtime timestamp modification time of offsets/N
sources long sources that offsets/N names; null where they have names and may come and go (log version 2)
source_directories long directories below sources/: sources that the query was ever started with
metadata string the file metadata, which holds the query's id: read, missing, damaged; null where it could not be looked at
""",
)
BATCH_OFFSETS = table(
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
_PROGRESS = """
at timestamp timestamp of the progress: the start of its trigger
query string query id
name string its name; null if it has none
run string run id
batch long batch id
rows long rows that the batch read
watermark timestamp watermark that the batch worked with; null if there is none
event_max timestamp newest event time that the batch read
event_avg timestamp mean of the event times that the batch read
state_rows long rows that its state operators hold; null without any
removed_rows long rows that they removed
dropped_rows long rows that they dropped because the watermark had passed them
out_rows long rows that the sink took; null if unknown
sources strings topics, else descriptions, of the sources
busy strings those of them that gave rows in this batch
duration_ms long time of the trigger
moved boolean offsets of a source moved in this batch
sink string description of the sink
"""
_PLACE = """
file string file that holds it
line long line of it
"""
QUERY_PROGRESS = table(
    "query_progress",
    "progress of a Structured Streaming query, a row per batch, of StreamingQueryProgress as JSON",
    _PROGRESS + "moment long number of the text among all that were given" + _PLACE,
)
QUERY_BATCHES = table(
    "query_batches",
    "batches of a Structured Streaming query: its progress, pasted or logged by the driver (analyzers/derived/flow/query_batches.py)",
    _PROGRESS + _PLACE,
    derived=True,
)

STATE_STORE_FILES = table(
    "state_store_files",
    "each state store of a Structured Streaming checkpoint directory",
    """
path string checkpoint directory
query string query id
operator long stateful operator
partition long partition
store string name of the store; default where the operator has one
state string ok, missing (a version that the next batch loads cannot be made), behind (the newest versions are), empty-file
wanted_version long version that the next batch loads: newest committed batch + 1
newest_version long newest version of which there is a file
newest_snapshot long newest full copy
missing strings versions without a file, of those that are needed
empty strings versions whose file is empty
files long files
size_bytes long bytes
""",
)
QUERY_LEFTOVERS = table(
    "query_leftovers",
    "files that a writer of a Structured Streaming checkpoint directory did not rename",
    """
path string checkpoint directory
query string query id
directory string offsets, commits
batch long batch number
batch_exists boolean somebody wrote the batch all the same
file string name
size_bytes long bytes
mtime timestamp modification time
""",
)

SPLIT_AUDIT = table(
    "split_audit",
    "each suspicious split: held twice, by nobody, gone back, never read, unknown to the job, outside of the log",
    """
problem string held-twice, held-by-nobody, went-back, never-read, not-discovered, topic-gone, below-log-start, beyond-log-end
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
log_edge long the broker's first offset (below-log-start) or end (beyond-log-end) of the partition
newest boolean the checkpoint is whole and no later one is there, of this job or of another that reads the same
""",
    derived=True,
)

SKIPPED_STATE = table(
    "skipped_state",
    "each operator whose state Flink skipped when it restored a job (analyzers/derived/checkpoints/skipped_state.py)",
    """
at timestamp when Flink logged it
file string file of that line
line long that line
text string that line
operator string operator id, hex
name string operator's name, from the checkpoint or from the job that wrote it
uid string operator's uid in the checkpoint (V5+)
path string checkpoint or savepoint that was restored
size_bytes long size of the state that was skipped; null if unknown
reason string uid-changed (an operator of its name has another id), removed (none is new), dropped, shrank, unknown (perhaps it was empty)
before_bytes long state in the job's last checkpoints before the restore, where those after it are much smaller
after_bytes long state in its first ones after it
new_operator string id of the operator that has its name now
new_uid string that operator's uid
""",
    derived=True,
)

UNREAD_PARTITIONS = table(
    "unread_partitions",
    "each partition of a job's topics that none of its readers has (analyzers/derived/checkpoints/unread_partitions.py)",
    """
at timestamp when a broker logged its creation; null if none did
file string file of that line, else the newest checkpoint
line long that line
text string that line, else that the checkpoint has no reader of it
topic string Kafka topic
partition long Kafka partition
known long partitions of the topic that the job has
existing long partitions that the topic has
records long records that lie in it; null if unknown
interval_ms long how often the job looks for partitions; null if it does not, or if that is unknown
reason string discovery-off, overdue, records-wait (whether the job discovers is unknown), empty, chosen (perhaps it is not to be read)
operator string operator id of the source in the checkpoint, hex
connector string as in splits
path string path of the newest checkpoint; null where only logs show what is read
checkpoint long its id
""",
    derived=True,
)
