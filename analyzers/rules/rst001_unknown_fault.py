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
