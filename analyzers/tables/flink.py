"""Tables that the REST interface of a Flink JobManager fills: one picture of each job, with the moment each part was taken."""

from __future__ import annotations

from analyzers.tables.model import FAULT, table

_VERTEX = """
vertex string vertex id, 32 hex digits
task string name of the vertex, as in task of the log tables
"""
_SUBTASK = _VERTEX + "subtask long subtask from 0\n"

JOBS = table(
    "jobs",
    "each job that the JobManager knows",
    """
name string job name
state string state as Flink names it: RUNNING, RESTARTING, FAILED, …
started_at timestamp start of the job
ended_at timestamp end; null while it lives
modified_at timestamp last change of the job or of one of its tasks
captured_at timestamp when this was asked
engine_version string version of Flink
max_parallelism long max parallelism; null or -1 = per vertex
restarts long restarts counted by the JobManager; null if it does not tell
checkpoints_restored long restores
checkpoints_total long triggered checkpoints
checkpoints_in_progress long checkpoints under way
checkpoints_completed long completed checkpoints since the JobManager runs
checkpoints_failed long failed ones, with those that got no id and stand in no history
restored_checkpoint long checkpoint id of the last restore
restored_at timestamp when it was restored
restored_from string path of it
restored_savepoint boolean it was given by path (Flink says savepoint for a retained checkpoint too)
""",
)

VERTICES = table(
    "vertices",
    "each vertex of a job's graph, in topological order",
    _VERTEX
    + """
position long place in topological order, from 0
parallelism long number of subtasks
max_parallelism long max parallelism
status string status of the vertex
started_at timestamp when its first subtask was started
records_in long records that all its subtasks have read in these attempts
records_out long records that they have written
inputs strings vertex ids of its inputs; empty = a source
exchanges strings how each input is partitioned (FORWARD, HASH, …)
captured_at timestamp when this was asked
""",
)

SUBTASKS = table(
    "subtasks",
    "each subtask with its attempt, host and how its time goes",
    _SUBTASK
    + """
status string status of the current attempt
attempt long number of the current attempt, from 0
host string host:port or host it runs on
resource string TaskManager resource id
started_at timestamp start of the attempt
ended_at timestamp end; null while it runs
busy double share of time in use, 0 to 1; null if unknown
backpressured double share of time waiting for downstream, 0 to 1
idle double share of time waiting for input, 0 to 1
backpressure string ok, low, high as Flink judges it
records_in long records read in this attempt
records_out long records written
captured_at timestamp when this was asked
""",
)

CHECKPOINTS = table(
    "checkpoints",
    "the checkpoints that the JobManager remembers (ten by default, gone when it dies)",
    """
checkpoint long checkpoint id
status string COMPLETED, FAILED, IN_PROGRESS
kind string CHECKPOINT, UNALIGNED_CHECKPOINT, SAVEPOINT, SYNC_SAVEPOINT
savepoint boolean it is a savepoint
triggered_at timestamp trigger
last_ack_at timestamp last acknowledgement; null = none yet
failed_at timestamp failure
duration_ms long end to end
size_bytes long bytes written for it (incremental)
state_bytes long whole state
persisted_bytes long in-flight data written (unaligned)
subtasks long subtasks that must acknowledge
acknowledged long subtasks that did
path string external path; null if none
discarded boolean already deleted
failure string failure message
captured_at timestamp when this was asked
""",
)

CHECKPOINT_ACKS = table(
    "checkpoint_acks",
    "checkpoint × vertex × subtask: who acknowledged when, and the time of each phase",
    "checkpoint long checkpoint id\n"
    + _SUBTASK
    + """
status string completed, pending (in progress: not yet; failed: never), unknown (the JobManager no longer tells)
acknowledged_at timestamp acknowledgement
start_delay_ms long from trigger to the first barrier
alignment_ms long from the first to the last barrier
sync_ms long synchronous part
async_ms long asynchronous part
duration_ms long end to end
size_bytes long bytes written
state_bytes long whole state of the subtask
unaligned boolean taken unaligned
aborted boolean aborted by the subtask
captured_at timestamp when this was asked
""",
)

EXCEPTIONS = table(
    "exceptions",
    "failures of a job as the JobManager remembers them (sixteen by default, gone when it dies)",
    """
at timestamp when
root boolean it made the job restart; false = a concurrent failure of the same moment
task string task name without the subtask suffix; null for a failure of the whole job
subtask long subtask from 0
parallelism long parallelism that the task name shows
attempt long execution number that the task name shows
address string host:port of the TaskManager
resource string TaskManager resource id
labels map failure labels
text string stack trace, clipped
"""
    + FAULT,
)

JOB_CONFIG = table(
    "job_config",
    "settings that judge: of checkpoints, of the job and of its cluster",
    """
source string checkpoints, job, cluster; of a planned upgrade file, deployment (flinkConfiguration)
key string name: Flink's option, or the field of /checkpoints/config and of the execution config
value string value as text; secrets are hidden
origin string file, or address of a JobManager all of whose settings are here; null of a selection
""",
)

METRICS = table(
    "metrics",
    "single metrics that a rule reads, one row per value",
    _SUBTASK
    + """
resource string TaskManager, for its own metrics
operator string operator that the metric's name carries
name string last part of the metric's name: currentOffset, committedOffset, pendingRecords, commitsFailed, numLateRecordsDropped, …
topic string Kafka topic that the metric's name carries
partition long Kafka partition
value double value; null for NaN and for none
exact long value as a 64-bit integer where it is one
captured_at timestamp when this was asked
""",
)

WATERMARKS = table(
    "watermarks",
    "the watermark of each subtask's input",
    _SUBTASK
    + """
watermark long epoch milliseconds; null = none seen yet
captured_at timestamp when this was asked
""",
)

TASK_MANAGERS = table(
    "task_managers",
    "each TaskManager that is registered",
    """
resource string resource id
host string host of its path
slots long task slots
free_slots long free slots
heartbeat_at timestamp last heartbeat
heap_used_bytes long heap in use
heap_max_bytes long heap limit
gc_count long garbage collections, all collectors
gc_ms long time in them
captured_at timestamp when this was asked
""",
)

STACK_SAMPLES = table(
    "stack_samples",
    "what a suspect's threads do, from a thread dump",
    """
resource string TaskManager resource id
task string task name that the thread's name carries; null for one that writes snapshots
subtask long subtask from 0
thread string thread name
state string RUNNABLE, BLOCKED, WAITING, TIMED_WAITING
frames strings stack, innermost first, clipped
user_frame string first frame that belongs to no framework
captured_at timestamp when
parallelism long number of subtasks that the thread's name shows
waits string what it does (analyzers/states/frames.py): socket, connect, lock, future, sleep, idle, downstream, running, …
call string innermost frame that is not of the JDK, with file and line; of other languages the function that the user's code called
user_line string user_frame with file and line
system string the system whose client the call goes through: PostgreSQL, HTTP, …
lock string class of the lock that it waits for
owner string thread that holds this lock
cpu_ms double processor time that the thread has used
elapsed_seconds double age of the thread
thread_id string what distinguishes it from threads of the same name: address, or id
threads long threads of the dump
moment long number of the dump among all that were given; null of one that a JobManager was asked for
file string file that holds the dump
line long line of the thread
language string go, python, dotnet, native; null of a JVM
loop string what the thread runs, where its frames show it: consumer (it reads from Kafka), event-loop, request
library string Kafka client whose results are not read
channel string what they are read from: Successes()
waited_seconds double how long it has stood there, where the dump states it
alike long threads that the stack is printed for
""",
)

THREAD_WAITS = table(
    "thread_waits",
    "threads that stand in the same place in all dumps that show them, by what they wait for (analyzers/derived/flow/thread_waits.py)",
    """
reason string deadlock, lock, call (a peer does not answer), slow-call (it is there again), future, room, sleep, process; \
send (a channel without a receiver), undrained (results of a client that nothing reads), permit (a semaphore), event-loop (a call \
that blocks it), native (a call whose own stack is not printed)
threads strings names of the threads that wait there
task string task that their names carry, where they carry one
subtask long subtask from 0, where it is one thread
parallelism long number of subtasks that the name shows
named long how many of the threads work on records: tasks, listeners, consumers, queries
call string innermost frame that is not of the JDK, with file and line
user_frame string innermost frame of the job's own code, as in stack_samples
user_line string the same with file and line
system string the system whose client the call goes through
lock string class of the lock that they wait for
owner string thread that holds this lock
owner_call string innermost frame of that thread that is not of the JDK
owner_line string innermost frame of that thread's own code
owner_waits string what that thread does
owner_system string the system whose client it is in
ring string threads of a deadlock, each with the lock that it waits for
seen long dumps in which they stand there
dumps long dumps that show them
seconds double time from the first of these dumps to the last; null if unknown
since timestamp the first of these dumps
captured_at timestamp the last of these dumps
file string file that holds it
line long line of the thread
language string go, python, dotnet, native; null of a JVM
loop string consumer, event-loop, request, where the frames show it
library string Kafka client whose results are not read
channel string what they are read from: Successes()
waited_seconds double the longest time that the dump states for one of them
alike long how many threads stand there
behind long threads that wait for these in their turn
left_at timestamp when the consumer of the same logs left its group, if it has not come back and this thread may be the one that polls
""",
    derived=True,
)

BARRIER_FRONTIER = table(
    "barrier_frontier",
    "who holds the barrier of a checkpoint that does not complete, and who only waits (analyzers/derived/checkpoints/barrier_frontier.py)",
    "checkpoint long checkpoint id\n"
    + _SUBTASK
    + """
parallelism long number of subtasks of the vertex
role string culprit (has to be repaired), victim (waits for held_by), frontier (the barrier stopped here; more is not known)
reason string stuck-call, blocking-code, back-pressure, skew, slow-sync, slow-async, storage; null if unknown
phase string start-delay (the barrier waits before it), sync, async; null if unknown
alike long subtasks of the vertex in the same state
behind long subtasks behind the frontier that wait for the barrier
held_by string task that a victim waits for
status string of the checkpoint: IN_PROGRESS, FAILED
triggered_at timestamp trigger of the checkpoint
age_ms long how long it took until it expired or was looked at
timeout_ms long checkpoint time-out; null if unknown
interval_ms long checkpoint interval; null if unknown
since timestamp trigger of the first checkpoint since the last that completed
usual_ms long the slowest checkpoint that completed, of those remembered
expired long checkpoints that expired since the last that completed, of those remembered
last_completed long the last checkpoint that completed
last_completed_at timestamp when it had been acknowledged by all
unaligned boolean the checkpoint is unaligned
host string host:port or host
resource string TaskManager resource id
busy double share of time in use
backpressured double share of time waiting for downstream
idle double share of time waiting for input
records_per_second double records read per second
thread_state string state of the task's thread
user_frame string first frame of the task's thread that belongs to no framework
waits_in string innermost frame of the task's thread
async_queue_full boolean the thread waits for room in the queue of an asynchronous operator
captured_at timestamp when the checkpoint was looked at
""",
    derived=True,
)

CHECKPOINT_SERIES = table(
    "checkpoint_series",
    "how the checkpoints of a living job go, as the JobManager remembers them (analyzers/derived/checkpoints/checkpoint_series.py)",
    """
state string state of the job
interval_ms long interval; null = unknown or switched off
timeout_ms long time-out of one checkpoint
backlog_interval_ms long interval while a source reads a backlog; 0 = no checkpoint then; null = as always
tolerable long failures in a row that the job survives
last_completed long newest checkpoint that completed, or was restored
last_completed_at timestamp when it had been acknowledged by all, or restored
since timestamp from when on none completed: the last one, else the start of the job
restored_at timestamp when the job was last restored from a checkpoint
idle_seconds long from then to the look
allowed_seconds long max(interval, min_pause, time-out) × (min(tolerable, 2) + 2): longer is not healthy
completed long completed ones, of those remembered
expired long those that expired since the last that completed
failed_counted long failures since then that count against tolerable, with the expired
failed_ignored long failures since then that do not count: the job may have them for ever
failure string message of the newest failure since then
usual_ms double median duration of the completed ones
longest_ms long longest duration of the completed ones
first_state_bytes long state of the oldest remembered that completed
last_state_bytes long state of the newest that completed
grows boolean the state of at least four grew from each to the next
slowest_checkpoint long newest checkpoint that all acknowledged and whose phases are known
slowest_task string task of the subtask that acknowledged it last
slowest_subtask long that subtask, from 0
slowest_parallelism long how many subtasks of its task acknowledged
slowest_phase string where it spent most of its time: start-delay, alignment, sync, async
slowest_phase_ms long how long
expired_phase string where those that acknowledged the newest expired checkpoint spent most of their time; null of fewer than three
expired_phase_ms long how long, the median of them
expired_phase_of long how many acknowledged it
replay_records long records read since the last commit of the readers: what a restart reads again; null if unknown or commits failed
captured_at timestamp when this was asked
""",
    derived=True,
)

WATERMARK_HOLDERS = table(
    "watermark_holders",
    "readers that hold the watermark of a job back, or push it ahead of the clock (analyzers/derived/flow/watermark_holders.py)",
    _SUBTASK
    + """
parallelism long number of subtasks of the vertex
reason string idle-split, reader-without-split, silent-source (a whole source), empty-source (without a record), behind, future-timestamp
topic string topic of the split that holds it
partition long partition of the split that holds it
partitions strings all splits of the reader that never gave a record
watermark long watermark of the reader, epoch milliseconds; null = none yet
others long watermark of the reader that is furthest
downstream long watermark that arrives behind it; null = none
held_seconds long how far it is behind the others, or ahead of the clock
records_per_second double records that the reader reads
late_records double records dropped as late, of the whole job
event_time strings tasks at or behind it that need the watermark: windows, joins over time, patterns; of a silent split keyed ones
drift_ms double watermark alignment drift of the reader; null if it is not aligned
completed_at timestamp newest completed checkpoint: the job lives
host string host:port or host
resource string TaskManager resource id
captured_at timestamp when this was asked
""",
    derived=True,
)

BOTTLENECKS = table(
    "bottlenecks",
    "vertices that keep the sources waiting in a job whose checkpoints complete (analyzers/derived/flow/bottlenecks.py)",
    _VERTEX
    + """
parallelism long number of subtasks of the vertex
reason string overload (all subtasks are busy), skew (few are, and they get far more records)
subtasks strings the busy ones, from 0
busy double mean busy share of these
share double share of the vertex's records that they read
sources strings sources that wait for it
waiting double mean back-pressured share of these sources
pending_records long records in Kafka that the sources have not read
records_per_second double records that the sources read
grew_records long by how much pending_records grew since an earlier look; null with one look
grew_seconds double time between these looks
completed_at timestamp newest completed checkpoint
captured_at timestamp when this was asked
""",
    derived=True,
)
