"""Tables that logs fill, and those derived from them."""

from __future__ import annotations

from analyzers.tables.model import FAULT, PLACE, table

LOG_EVENTS = table(
    "log_events",
    "single log events: one row per event and signature; without a signature an event is kept when it is an error or carries an exception",
    """
at timestamp time of the event's header, UTC; null where the log has none
zone string how the time zone is known: stated, option, inferred, assumed-utc, unknown
file string file (archive members and streams as file!member)
line long line of the event's first line, counted from 1 in the file as stored
seq long order of the event within the scope (time where known, else file order)
role string jobmanager, taskmanager, kafka-broker, kafka-client, spark-driver, spark-executor, zookeeper, beam, client or null
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
left_out map events of its family (coordinator lost, found, …) between this row and the next that are counted and no rows, by signature
"""
    + PLACE
    + FAULT
    + """
frames strings the first frames of the outermost and of the root exception (class.method), for masking tests
text string the event's text, clipped
""",
)

LOG_REMARKS = table(
    "log_remarks",
    "warnings and other lines of trouble that no signature knows, the first and the last of each shape; and the lines of notes beside logs",
    """
at timestamp time of the line, UTC; null where it has none
file string file (archive members and streams as file!member)
line long number of the line
role string who wrote it, if known
host string host, pod or container, if known
level string level as printed; null of a note
logger string logger as printed
times long how many lines of its shape the file holds; null of a note
text string the text, clipped
""",
)

SETTINGS = table(
    "settings",
    "settings that configuration, code and notes beside logs give, or a client at its start (analyzers/derived/settings_given.py)",
    """
at timestamp time of the line, UTC; null where it has none
file string file (archive members and streams as file!member)
line long number of the line
name string the name as the line spells it
key string the name without case and separators: autooffsetreset
value string the value
text string the line, clipped
""",
    derived=True,
)

STANDING_VALUES = table(
    "standing_values",
    "numbers of a line that a log repeats, which moved and then stand still to its end (analyzers/readers/standing_values.py)",
    """
at timestamp first line with the value that stays, UTC; null where it has no time
last_at timestamp last line with it
file string file (archive members and streams as file!member)
line long number of that line
name string what stands before the number: lag, rows_written
value string the value that stays
moved strings the last values before
lines long lines that repeat it
before long lines before, in which it moved
siblings long numbers of the same kind in the line, which all move on; null where there are none, or fewer than two
text string the line, without its time
""",
)

LOG_COUNTS = table(
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

SCANNED_PATTERNS = table(
    "scanned_patterns",
    "the expressions of a user's own rules for which the logs were scanned; of others nothing is known",
    """
signature string id of the signature: a digest of the expression
""",
)

LOG_FILES = table(
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
utc_minutes long minutes that its clock is ahead of UTC, where the zone is no part of its times (option, inferred)
""",
)

SOURCES = table(
    "sources",
    "what was looked at and whether it could be read whole",
    """
name string file, directory, address
kind string logs, checkpoint, kafka, flink-rest, connect-rest, kubectl, bundle, states (what other tools showed, saved as a file)
state string ok, partial, failed
why string what was tried and what went wrong; null when ok
asked string the bootstrap servers that were asked, where name is no address
shapes string what it holds, where it is states: 2 thread dump, 1 consumer group
works boolean its states show a job at work
""",
)

POD_CONTAINERS = table(
    "pod_containers",
    "containers of pods as kubectl showed them (of a list of pods a row per pod)",
    """
namespace string namespace
pod string pod
container string container; null in a list of pods
node string node
phase string phase of the pod: Pending, Running, Failed, …
ready boolean it is ready
restarts long restarts of the container
state string Running, Waiting, Terminated
reason string why it waits or ended: CrashLoopBackOff, OOMKilled, ImagePullBackOff, Evicted, Completed, …
message string what Kubernetes says of it
exit_code long exit code, where it has ended
last_reason string how it ended before it was started again
last_exit_code long exit code of that end
last_finished_at timestamp time of that end
started_at timestamp when it was started last
memory_limit string limit of its memory
probe string probe for which it was killed: liveness or startup; of a description with its events
probe_kills long how often it was killed for that
probe_rule string how that probe asks: port or path, delay, period, failures
probe_said string what the probe that failed reported
age string age of the pod in a list
moment long number of the view among all that were given
file string file that shows it
""",
)

JOBS_SEEN = table(
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

ATTEMPTS = table(
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
line_at timestamp time of that line
""",
    derived=True,
)

FAULTS = table(
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
fault string fault class (analyzers/derived/failures/fault_classes.py)
cause string cause it points to; null if unknown
reason string how
consequence boolean a mere consequence of another fault (closed handover, cancellation, lost connection while cancelling)
fatal boolean it failed a task, a job or a process (not merely logged)
occurrences long how many events were folded into this row
fingerprint string identity to compare attempts by
signature string signature of the event that showed it
level string level of the event
"""
    + PLACE
    + FAULT
    + """
group string consumer group
client string client id
detail map other captures
text string the event's text, clipped
line_at timestamp time of the line that file and line name; `at` may be that of an earlier line that tells of the same fault
unkept long failures just like this one, each of another attempt, that were counted and whose lines were not kept
""",
    derived=True,
)

CHECKPOINT_EXPIRIES = table(
    "checkpoint_expiries",
    "how often the checkpoints of a job expire: one row per job with an expired one (analyzers/derived/checkpoints/checkpoint_expiries.py)",
    """
expired long those that expired of the newest ten that ended
seen long how many of these ten there are
still boolean one of the newest three expired
in_a_row long expired since the last that completed
in_a_row_or_more boolean these may be more
dropped boolean lines about expiries were counted, and their rows dropped
completed long completed ones, of those that are rows
last_completed long the last that completed
last_completed_at timestamp when it completed
since timestamp first expiry of the newest ten, or of those in a row
until timestamp last expiry
completed_since long completed after the last expiry
timeout_seconds long shortest time from trigger to expiry
ended boolean the job was cancelled, suspended or finished after the last expiry
in_all long all that expired
of_all long these and the completed ones
first_at timestamp the first expiry
longest long most that expired with none completed between
often_seconds double fewest seconds in which five expired
spell long most that expired with none completed between, and others completed after them
spell_since timestamp first of these
spell_until timestamp last of these
completed_since_spell long completed after these
""",
    derived=True,
)

SPLIT_CLAIMS = table(
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

OPEN_ENDS = table(
    "open_ends",
    "what was still open where the evidence ends, so that it does not show how that went on (analyzers/derived/open_ends/)",
    """
at timestamp time of the line that shows it open
kind string what is open: checkpoint-pending, batch, driver, connection, registration, …
name string what it is called: file of a log, exception, errors
number long how many: brokers known to a client, hand-shakes, checkpoints that show what is usual
lasted_seconds double for how long it was open when the evidence ended
usual_seconds double how long such a thing took before
file string file of the line
line long line
text string the event's text, clipped
client string client id
batch long Structured Streaming: batch id
query string Structured Streaming: name or id of the query
"""
    + PLACE,
    derived=True,
)

JOB_STATE = table(
    "job_state",
    "each job (or query) as it is now, as far as the evidence shows (analyzers/derived/failures/job_state.py)",
    """
name string job or query name
kind string flink, beam, spark
state string as Flink names it: RUNNING, RESTARTING, FAILED, CANCELED, FINISHED, SUSPENDED; null if unknown
loops boolean it fails again and again: two failures or more, and no checkpoint (batch) completed since the last one
state_as_of timestamp when that was so
state_source string jobmanager, logs
failures long failed attempts in the window
first_failure_at timestamp the first of them
last_failure_at timestamp the last of them
last_checkpoint long id of the last completed checkpoint (committed batch)
last_checkpoint_at timestamp when it completed
last_checkpoint_age_seconds double how long before state_as_of that was
checkpoints_completed long completed checkpoints (batches) in the window
checkpoints_expired long expired checkpoints in the window
usual_interval_seconds double usual time between two completed checkpoints; null if fewer than three are known
""",
    derived=True,
)

JOB_LIVES = table(
    "job_lives",
    "each life of a job on its JobManager: from the start of a JobMaster, or CREATED to RUNNING, to the next one of the same job",
    """
job_name string name of the job
file string file of its first line
log string name that the logs of all processes share that were this JobManager one after the other
begins long order of its first line (seq, or line, of log_events); null where the job ran before its logs begin
ends long order of its last line
began_at timestamp time of its first line; null where the job ran before its logs begin
last_at timestamp time of its last line that only a running job has
running_at timestamp first switch to RUNNING
running_again_at timestamp last switch to RUNNING
ended_at timestamp first switch to FAILED, CANCELLING, CANCELED, FINISHED or SUSPENDED
over boolean its last switch is to CANCELED, FINISHED or FAILED
restored boolean it was restored from a checkpoint or savepoint
nothing_found boolean its log has a line that no checkpoint was found to restore
in_memory boolean its checkpoints are kept in the JobManager's memory
first_checkpoint long lowest checkpoint id that was triggered or completed
last_completed long its last completed checkpoint
last_completed_at timestamp when that one completed
jobmanager_starts long starts of a JobManager since the life before began
replaces boolean its JobManager can have taken the place of the one that ran the life before: the same log, shortly after
before_job string job id of the life before, of a job of the same name
before_completed long last completed checkpoint of the life before
before_completed_at timestamp when that one completed
before_over boolean whether the life before was over
before_in_memory boolean whether the life before kept its checkpoints in the JobManager's memory
skipped_offsets long offsets between the start of the life before and this one, where this one begins further on
skipped_partitions long in how many partitions
repeated_offsets long offsets between the two starts where this one begins further back
repeated_partitions long in how many partitions
forgotten_from timestamp when the JobManager started again that recovered no job, and this one did not come back
forgotten_at timestamp when that JobManager had recovered none
forgotten long order of the line that shows it
""",
    derived=True,
)

RECURRING_ERRORS = table(
    "recurring_errors",
    "errors that no signature knows and that come back to the end of their log, with what was inferred of them"
    " (analyzers/derived/failures/recurring_errors.py)",
    """
at timestamp time of the first of them
last_at timestamp time of the last
times long in how many lines they were printed
lasted_seconds double from the first to the last
worked long checkpoints or batches that completed in between
lives long in how many files, each of which ends with it: the lives of one process; 1 where it runs on
file string file of the first
line long line of it
called string what failed, as a sentence calls it
role string its role (analyzers/components)
kind string kind of the failure (analyzers/inference)
effect string its effect (report/effects.py)
cause string cause that the names point to; null if none
exception string class of the decisive exception
words string its whole message
user_frame string first frame of the user's own code
address string address that the message names
confidence double how much the clues weigh
clues string what was read, and from which words
record string words that name one record, file or batch and stand in or before each of them; null where these differ
records long how many records, files or batches their own lines name; 0 where these name none
text string the event's text, clipped
""",
    derived=True,
)
