"""RST001: a real failure that no other rule knows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, earliest, failures
from analyzers.vocabulary.rule import FAILING, rule
from analyzers.vocabulary.user_code import USER_CODE, user_code_failures, without_jobs

TOLD_BY_CLASS = (
    "native-library",
    "statement-refused",
    "kafka-version",
    "rpc-too-large",
    "table-files",
    "tolerance",
    "main-failed",
    "file-system-missing",
    "streams-ended",
)
"""Fault classes whose own reason has words here."""
NOBODY_KNOWS = (
    "unknown",
    "program-error",
    "topic-missing",
    "transaction-timeout-too-large",
    "class-twice",
    "class-not-made",
    "producer-in-error",
    "source-fetcher",
    "writers-conflict",
    "receiver-displaced",
    *TOLD_BY_CLASS,
)
_PACKAGING = "ClassNotFound|NoClassDefFound|un(?:read|expected) block data|Cannot load user class|ModuleNotFoundError|ImportError"
_CONFLICT = (
    "NoSuchMethodError|NoSuchFieldError|AbstractMethodError|IncompatibleClassChange|LinkageError|VerifyError"
    r"|ClassCastException: (?:class )?(\S+) cannot be cast to (?:class )?\1(?:\s|$)"
)
"""The class is there, and is another one than the caller was compiled against, or loaded twice (java.lang.LinkageError and below)."""
_PROGRAM = "NotSerializableException|Task not serializable|InvalidProgramException|AnalysisException|ValidationException|SqlParserException"


@rule(
    "RST001",
    title="The job fails for a reason that no rule knows",
    cause="other",
    stage="failure",
    severity=Severity.CRITICAL,
    faults=(*NOBODY_KNOWS, *USER_CODE),
    says={
        "topic-missing": "The job fails because a Kafka topic does not exist[[ (task {task})]]: {what}; {failures} failure(s)[[ since "
        "{since} UTC]]",
        "transaction-timeout": "The exactly-once Kafka sink[[ in {task}]] asks for a longer transaction than the broker allows: {what}; "
        "{failures} failure(s)[[ since {since} UTC]]",
        "class-loading": "The job fails because its code cannot be loaded[[ in {task}]]: {what}; {failures} failure(s)[[ since {since} "
        "UTC]]",
        "class-conflict": "The job fails because two versions or copies of the same code meet[[ in {task}]]: {what}; {failures} failure(s)"
        "[[ since {since} UTC]]",
        "java-version": "The job's code was compiled for a newer Java than the one that runs it[[ (task {task})]]: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "earlier-error": "A Kafka producer of the job[[ in {task}]] takes nothing more after an error that it had before: {what}; "
        "{failures} failure(s)[[ since {since} UTC]]",
        "writers-conflict": "Somebody else writes to the table that the job writes to[[ in {task}]], and its commit was refused: {what}; "
        "{failures} failure(s)[[ since {since} UTC]]",
        "displaced": "Another receiver reads the same partition for the same consumer group, and the job's[[ in {task}]] is turned out: "
        "{what}; {failures} failure(s)[[ since {since} UTC]]",
        "untold": "The job failed {failures} time(s)[[, first at {since} UTC]], and these lines do not say why: {what}",
        "program": "The job's program is refused or cannot be shipped[[ in {task}]]: {what}; {failures} failure(s)[[ since {since} UTC]]"
        "[[; first frame of your code: {user_frame}]]",
        "native-library": "A native library that the job needs cannot be loaded on this machine[[ (task {task})]]: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "statement": "The database refuses the statement that the job sends[[ from {task}]]: {what}; {failures} failure(s)[[ since "
        "{since} UTC]]",
        "kafka-version": "The Kafka client of the job and its brokers do not fit each other's versions[[ (task {task})]]: {what}; "
        "{failures} failure(s)[[ since {since} UTC]]",
        "rpc-too-large": "A message between Flink's processes is larger than allowed[[ (task {task})]]: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "table-files": "A file or snapshot of a table that the job reads or writes is gone[[ (task {task})]]: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "checkpoints": "The job was failed {failures} time(s)[[, first at {since} UTC]] because more of its checkpoints failed than it "
        "tolerates, and these lines do not say why they did",
        "checkpoint-refused": "The job was failed {failures} time(s)[[, first at {since} UTC]] because more of its checkpoints failed "
        "than it tolerates; of the last one the log says: {what}",
        "file-system": "A process of the job knows no file system for a path that it is given[[ (task {task})]]: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "main": "The job is not even submitted, its main method fails[[ in {user_frame}]]: {what}; {failures} failure(s)[[ since {since} "
        "UTC]]",
        "streams-ended": "An instance of Kafka Streams has ended[[ ({client})]]: all of its threads died[[, the last at {since} UTC]], and "
        "these lines do not say why",
        "": "The job fails[[ in {task}]][[ {subtask_shown}]]: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[ since {since} "
        "UTC]]"
        "[[; first frame of your code: {user_frame}]]",
    },
    fix={
        "topic-missing": "Create the topic, or correct its name in the job's configuration; check with the job's own credentials that it "
        "is "
        "visible (kafka-topics.sh --describe --topic NAME --command-config FILE).",
        "transaction-timeout": "Set transaction.timeout.ms of the sink to at most the broker's transaction.max.timeout.ms (default "
        "900000), "
        "but longer than the checkpoint interval plus the longest outage to be survived; or raise the broker's limit.",
        "class-loading": "Put the missing class or module into the job's jar or environment, in one version only (mvn dependency:tree, "
        "pip list on the workers): the fault is in packaging, not in data. Restarts do not help.",
        "class-conflict": "Nothing is missing; have each library once and in one version (mvn dependency:tree). A connector must be built "
        "for the version of Flink that runs (flink-connector-kafka 3.2.0-1.19: for 1.19), and what the cluster brings (Flink's or Spark's "
        "own classes, what lies in its lib/) must stay out of the job's jar (scope provided). Where the job needs another version than the "
        "cluster has, relocate it (shade); where both must share one class, let the cluster's win: "
        "classloader.parent-first-patterns.additional, and the jar in lib/ only. Restarts do not help.",
        "java-version": "Run the job on that Java or a newer one (class file version 55 is Java 11, 61 is 17, 65 is 21) on each process of "
        "the job; or compile it, and take its libraries, for the Java that is there (--release). Restarts do not help.",
        "earlier-error": "Look for the first error of that producer, above in the same TaskManager's log or in the task that failed first "
        "(fenced, timed out, refused by the broker): that is to be repaired, this exception only repeats that there was one.",
        "writers-conflict": "Find the other writer: a second copy of the job, a compaction, a MERGE or DELETE (the table's history, or the "
        "conflicting commit in the message, names it). Let only one of them rewrite the same partitions at a time, or let the query of "
        "the other name the partitions that it touches. A restart of the job commits the batch again.",
        "displaced": "Give each job a consumer group of its own (of Pulsar: a subscription): a second job or query, an earlier copy of "
        "this one or a notebook reads with the same one. Where there is none, an earlier attempt of the task is still connected (it hangs "
        "on its worker, or was moved while it still read: speculation, a slow batch): it passes with a later try. The service itself "
        "answers.",
        "untold": "Take the exception from the JobManager's log: below these lines, at the task that switched to FAILED just before, or in "
        "the web UI (Exceptions); then ask again with it.",
        "program": "Repair the program (the message names the expression or object) and submit it again; restarts do not help.",
        "native-library": "Use an image or host that the library was built for (the message names the missing symbol or file: another C "
        "library such as musl, another processor, an older system), or a release of the library that fits; and let java.io.tmpdir be on "
        "a disk that may hold programs (not noexec). No checkpoint and no record is to blame.",
        "statement": "Correct the statement, or create what it names (table, column): reserved words as names need quotes, and the sink's "
        "schema must follow a renamed or dropped column. Restarts send the same statement again.",
        "kafka-version": "Use a connector whose Kafka client fits the brokers (kafka-broker-api-versions.sh says what they speak), or "
        "upgrade the brokers; restarts do not help.",
        "rpc-too-large": "Raise akka.framesize (pekko.framesize from Flink 1.18 on) above that size on the JobManager and all "
        "TaskManagers, "
        "and find what makes it so large: in an acknowledged checkpoint state that is kept within the message (many small state files "
        "below "
        "state.storage.fs.memory-threshold, operator list state), else an object in the program's closure, an accumulator, collect().",
        "table-files": "Find out who removed it: a snapshot expiry, cleaner or clean-up of orphan files that keeps less than the job's "
        "longest stop (Paimon snapshot.time-retained or a consumer-id, Iceberg expire_snapshots, Hudi's retained commits), or a table "
        "dropped and made anew. If it is lost: start a source from a snapshot that exists, a sink without its old state (a new uid and "
        "--allowNonRestoredState). Checkpoints are not to blame, and restarts from the same one ask for the same file.",
        "checkpoints": "Read the JobManager's log before that moment: CheckpointFailureManager and CheckpointCoordinator print why each "
        "checkpoint failed (expired: a subtask that does not answer; declined: the exception of its snapshot), or the web UI "
        "(Checkpoints, History); then ask again with it. Raising execution.checkpointing.tolerable-failed-checkpoints stops the "
        "restarts, not the failing checkpoints.",
        "checkpoint-refused": "Repair what that exception says: the subtask that threw it declined the checkpoint (its snapshot, a "
        "sink's flush, or a task that was not running yet or no more, which passes by itself). Where the job should outlive a few "
        "of them: execution.checkpointing.tolerable-failed-checkpoints (0 by default), which hides no other failure.",
        "file-system": "Install the file system that the scheme asks for on the JobManager, on all TaskManagers and where the job is "
        "submitted from: the plug-in in a folder of its own below plugins/ (plugins/s3-fs-hadoop/flink-s3-fs-hadoop-….jar), for hdfs a "
        "Hadoop class path (HADOOP_CLASSPATH). Or correct the scheme of the path. Restarts do not help.",
        "main": "Repair the program, its arguments or its configuration[[ at {user_frame}]]; of a Python program the traceback stands "
        "above, in the log of the same process. No record was read yet, and restarts run into the same line.",
        "streams-ended": "Read the log before that line: each thread that died printed its exception (StreamThread: Encountered the "
        "following exception during processing). Until the process is started again it does nothing, though it lives: close the instance "
        "and end the process in state ERROR, or let StreamsUncaughtExceptionHandler replace a thread.",
        "": "Start from the deepest cause above[[ and from {user_frame}]]; the lines before it in the log of the task that failed first "
        "say "
        "what led to it. If it comes back after each restart, restarts will not heal it.",
    },
    inferred="[[{assumed}]]",
    missing="[[{untold}]]",
    next_command={
        "topic-missing": "kafka-topics.sh --bootstrap-server HOST:PORT,… --list   # is it there, under this very name?",
        "transaction-timeout": "kafka-configs.sh --bootstrap-server HOST:PORT,… --describe --all --entity-type brokers "
        "| grep transaction.max.timeout.ms",
        "": "[[zless {shown_at}   # the whole trace, and what came before it]]",
    },
    needs=FAILING,
)
def unknown_fault(
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    enough: int = 2,  # as RST203: user code that fails alike so often is a poison record
) -> DataFrame:
    """Fatal faults without a known class, and user code that no record is known to fail; any known cause of the job comes first."""
    user_code = user_code_failures(faults, attempts, enough=enough)
    theirs = F.col("fault").isin(*NOBODY_KNOWS)
    found = failures(faults, earliest("user_frame"), F.count_if(theirs).alias("strange"), _silent(), agreed("client"))
    found = without_jobs(found, user_code.where(F.col("clue").isNotNull())).withColumn("reason", _reason())
    once = (F.col("strange") == 0) & (F.col("failures") == 1)
    assumed = F.lit(
        "The code failed once: whether the same record fails it again, or whether it was a passing condition, is not to be seen."
    )
    untold = F.when(F.col("silent"), F.lit("why the job failed: the trace behind the job's own line is cut off or filtered out"))
    return found.withColumns({"assumed": F.when(once, assumed), "untold": untold}).drop("strange", "silent")


def _silent() -> Column:
    """Aggregate: whether the job's own switch is all that is known of each failure."""
    return F.min((F.col("signature") == "job-state") & F.col("chain").isNull()).alias("silent")


def _reason() -> Column:
    known = F.when(F.array_contains("fault_ids", "topic-missing"), F.lit("topic-missing")).when(
        F.array_contains("fault_ids", "transaction-timeout-too-large"), F.lit("transaction-timeout")
    )
    return (
        known.when(F.col("silent"), F.lit("untold"))
        .when((F.col("reason") == "checkpoints") & ~F.col("what").rlike("failure threshold"), F.lit("checkpoint-refused"))
        .when(F.exists("fault_ids", lambda f: f.isin(*TOLD_BY_CLASS)), F.col("reason"))
        .when(F.array_contains("fault_ids", "producer-in-error"), F.lit("earlier-error"))
        .when(F.array_contains("fault_ids", "writers-conflict"), F.lit("writers-conflict"))
        .when(F.array_contains("fault_ids", "receiver-displaced"), F.lit("displaced"))
        .when(F.col("what").rlike("UnsupportedClassVersion"), F.lit("java-version"))
        .when(F.array_contains("fault_ids", "class-twice") | F.col("what").rlike(_CONFLICT), F.lit("class-conflict"))
        .when(F.array_contains("fault_ids", "class-not-made") | F.col("what").rlike(_PACKAGING), F.lit("class-loading"))
        .when(F.array_contains("fault_ids", "program-error") | F.col("what").rlike(_PROGRAM), F.lit("program"))
        .when(F.forall("fault_ids", lambda f: f.isin(*USER_CODE)) & F.col("user_frame").isNotNull(), F.lit("user-code"))
        .otherwise(F.lit("unknown"))
    )
