"""Tables of what is planned (diag preflight): the change, what it is to meet, and one answer per question."""

from __future__ import annotations

from analyzers.tables.model import table

PLANNED_CHANGES = table(
    "planned_changes",
    "what is planned to be changed, as the command line says it (diag preflight)",
    """
change string broker-removal, restore, upgrade
brokers strings node ids of the brokers that would go
groups strings consumer groups that are asked about
path string checkpoint or savepoint that is to be restored, as it was named
claim_mode string no-claim, claim, legacy: whose its files are afterwards
engine_version string Flink's version that is to restore it, or to run the job; null if not said
max_parallelism long max parallelism that the program sets for the whole job; null if not said
allow_non_restored boolean state without an operator may be left behind (--allowNonRestoredState)
beam_version string Beam's version that the job runs with; null if not said
from_version string Flink's version that runs the job now, as stated; null if not said
""",
)
PLANNED_OPERATORS = table(
    "planned_operators",
    "each operator that the program to be restored is known to have, from its plan, a JobManager or a checkpoint of it",
    """
source string plan, rest, checkpoint
origin string the file, address or path that shows it
operator string operator id, hex; of a plan that of the vertex, which is its first operator's
name string name; of a plan that of the whole vertex
uid string uid (checkpoint, V5+)
parallelism long parallelism
max_parallelism long max parallelism: of a running vertex, or as the checkpoint recorded it
chained long operators behind the first one of the vertex, whose ids a plan does not show; null if that is not shown; 0 of a checkpoint
configured_max long max parallelism that the job sets as a whole; -1 = it sets none; null if unknown
size_bytes long size of its state in that checkpoint
job_state string state of the job (rest)
job_restored boolean that job was started from a checkpoint itself (rest); null if unknown
engine_version string Flink's version of that JobManager (rest)
changelog boolean the job has the changelog state backend on (rest, 1.15 and later); null if unknown
""",
)
PROCESS_ENVIRONMENTS = table(
    "process_environments",
    "what a process of the engine that is to be upgraded runs with, as it says itself",
    """
source string rest
origin string address or directory that shows it
engine_version string Flink's version
java string major version of Java
jars strings file names on its class path
""",
)
PREFLIGHT = table(
    "preflight",
    "per planned change and question whether it goes, judged from what is there now",
    """
change string as in planned_changes
question string removal: replicas, in-sync, min-isr, …; restore: complete, state-files, operators, …; upgrade: settings, connectors, …
answer string goes, breaks, unknown
says string the answer in one sentence
todo string what to do before; of what is unknown, what would tell
brokers strings node ids that would go
topics strings topics that it is about, at most 20
partitions strings partitions that it is about, as topic-number, at most 20
number long how many partitions, operators, files or transactions
group string consumer group that it is about
path string checkpoint or savepoint that it is about
operators strings operators that it is about, by name or else id, at most 20
files strings state files that it is about, at most 20
release string Flink's version that the job is to run with
settings strings settings that it is about, at most 20
""",
    derived=True,
)
