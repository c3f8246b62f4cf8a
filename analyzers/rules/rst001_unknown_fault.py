"""RST001: a real failure that no other rule knows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import earliest, failures
from analyzers.finding import Severity
from analyzers.poison import USER_CODE, user_code_failures, without_jobs
from analyzers.rule import FAILING, rule

NOBODY_KNOWS = (
    "unknown",
    "program-error",
    "topic-missing",
    "transaction-timeout-too-large",
    "class-twice",
    "producer-in-error",
    "source-fetcher",
)
_PACKAGING = (
    "ClassNotFound|NoClassDefFound|NoSuchMethodError|NoSuchFieldError|AbstractMethodError|UnsupportedClassVersion|IncompatibleClassChange|"
    r"LinkageError|unread block data|ModuleNotFoundError|ImportError"
    r"|ClassCastException: (?:class )?(\S+) cannot be cast to (?:class )?\1(?:\s|$)"
)
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
        "earlier-error": "A Kafka producer of the job[[ in {task}]] takes nothing more after an error that it had before: {what}; "
        "{failures} failure(s)[[ since {since} UTC]]",
        "untold": "The job failed {failures} time(s)[[, first at {since} UTC]], and these lines do not say why: {what}",
        "program": "The job's program is refused or cannot be shipped[[ in {task}]]: {what}; {failures} failure(s)[[ since {since} UTC]]"
        "[[; first frame of your code: {user_frame}]]",
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
        "earlier-error": "Look for the first error of that producer, above in the same TaskManager's log or in the task that failed first "
        "(fenced, timed out, refused by the broker): that is to be repaired, this exception only repeats that there was one.",
        "untold": "Take the exception from the JobManager's log: below these lines, at the task that switched to FAILED just before, or in "
        "the web UI (Exceptions); then ask again with it.",
        "program": "Repair the program (the message names the expression or object) and submit it again; restarts do not help.",
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
    found = failures(faults, earliest("user_frame"), F.count_if(theirs).alias("strange"), _silent())
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
        .when(F.array_contains("fault_ids", "producer-in-error"), F.lit("earlier-error"))
        .when(F.col("what").rlike(_PACKAGING), F.lit("class-loading"))
        .when(F.array_contains("fault_ids", "program-error") | F.col("what").rlike(_PROGRAM), F.lit("program"))
        .when(F.forall("fault_ids", lambda f: f.isin(*USER_CODE)), F.lit("user-code"))
        .otherwise(F.lit("unknown"))
    )
