"""RST001: a real failure that no other rule knows."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, IfGiven, agreed, earliest, event, failures, first_of, rule
from analyzers.vocabulary.user_code import USER_CODE, some_other, user_code_failures, without_jobs

OWN_REASON = (
    "native-library", "statement-refused", "kafka-version", "rpc-too-large", "table-files", "tolerance", "main-failed",
    "file-system-missing", "streams-ended", "source-rewritten", "source-schema-changed", "state-locked", "connect-rest", "schema-history",
    "table-locked", "channel-unacknowledged",
)  # fmt: skip
"""Fault classes with a reason of their own (`analyzers/derived/failures/fault_classes.py`), which the page has a text for."""
WITHOUT_RULE = (
    "unknown", "program-error", "topic-missing", "transaction-timeout-too-large", "class-twice", "class-not-made", "producer-in-error",
    "source-fetcher", "writers-conflict", "receiver-displaced", *OWN_REASON,
)  # fmt: skip
_PACKAGING = "ClassNotFound|NoClassDefFound|un(?:read|expected) block data|Cannot load user class|ModuleNotFoundError|ImportError"
_CONFLICT = (
    "NoSuchMethodError|NoSuchFieldError|AbstractMethodError|IncompatibleClassChange|LinkageError|VerifyError"
    r"|ClassCastException: (?:class )?(\S+) cannot be cast to (?:class )?\1(?:\s|$)"
)
"""The class is there, and is another one than the caller was compiled against, or loaded twice (java.lang.LinkageError and below)."""
_PROGRAM = "NotSerializableException|Task not serializable|InvalidProgramException|AnalysisException|ValidationException|SqlParserException"
_SINCE = "{failures} failure(s)[[ since {since} UTC]]"
_FRAME = "[[; first frame of your code: {user_frame}]]"


@rule(
    "RST001", title="The job fails for a reason that no rule knows", stage="failure", severity=CRITICAL, cause="other",
    faults=(*WITHOUT_RULE, *USER_CODE), needs=some_other,
    says={
        "untold": "The job failed {failures} time(s)[[, first at {since} UTC]], and these lines do not show why: {what}",
        "checkpoints": "The job failed {failures} time(s)[[, first at {since} UTC]] because more of its checkpoints failed than it "
        "tolerates, and these lines do not show why they did",
        "checkpoint-refused": "The job failed {failures} time(s)[[, first at {since} UTC]] because more of its checkpoints failed than it "
        "tolerates; the last one failed with: {what}",
        "streams-ended": "An instance of Kafka Streams stopped[[ ({client})]]: all of its threads died[[, the last at {since} UTC]], and "
        "these lines do not show why",
        "program": f"{{headline}}: {{what}}; {_SINCE}{_FRAME}",
        **dict.fromkeys(("unknown", "user-code"), "The job fails[[ in {task}]][[ {subtask_shown}]]: {what}; {failures} failure(s)"
                        f"[[ in {{attempts}} attempt(s)]][[ since {{since}} UTC]]{_FRAME}"),
        "": f"{{headline}}: {{what}}; {_SINCE}",
    },
    inferred="[[The code failed only {once}: these lines do not show whether the same record fails it again or the condition passed.]]",
    missing={"untold": "why the job failed: the stack trace after the job's own line is cut off or filtered out"},
    next_command={
        "topic-missing": "kafka-topics.sh --bootstrap-server HOST:PORT,… --list   # is it there, under this very name?",
        "transaction-timeout": "kafka-configs.sh --bootstrap-server HOST:PORT,… --describe --all --entity-type brokers "
        "| grep transaction.max.timeout.ms",
        "": "[[zless {shown_at}   # the whole trace, and what came before it]]",
    },
)  # fmt: skip
def unknown_fault(
    faults: DataFrame,
    attempts: IfGiven,
    *,
    enough: int = 2,  # as RST203: user code that fails alike so often is a poison record
) -> DataFrame:
    """Fatal faults without a known class, and user code of which no record is known to fail it; any known cause of the job comes first."""
    # nothing but the job's own switch is known of each failure
    silent = F.min(event("job-state") & F.col("chain").isNull()).alias("_silent")
    strange = F.count_if(F.col("fault").isin(*WITHOUT_RULE)).alias("_strange")
    found = failures(faults, earliest("user_frame"), strange, silent, agreed("client"))
    records = user_code_failures(faults, attempts, enough=enough).where(F.col("clue").isNotNull())
    once = F.when((F.col("_strange") == 0) & (F.col("failures") == 1), "once")
    return without_jobs(found, records).withColumns({"once": once, "reason": _reason()})


def _reason() -> Column:
    def one(*classes: str) -> Column:
        return F.exists("fault_ids", lambda fault: fault.isin(*classes))

    what, own = F.col("what"), F.array(*(F.lit(each) for each in OWN_REASON))
    return first_of(
        ("topic-missing", one("topic-missing")),
        ("transaction-timeout", one("transaction-timeout-too-large")),
        ("untold", F.col("_silent")),
        ("checkpoint-refused", (F.col("reason") == "checkpoints") & ~what.rlike("failure threshold")),
        (F.coalesce("reason", F.get(F.array_intersect("fault_ids", own), F.lit(0))), one(*OWN_REASON)),
        ("earlier-error", one("producer-in-error")),
        ("writers-conflict", one("writers-conflict")),
        ("displaced", one("receiver-displaced")),
        ("java-version", what.rlike("UnsupportedClassVersion")),
        ("class-conflict", one("class-twice") | what.rlike(_CONFLICT)),
        ("class-loading", one("class-not-made") | what.rlike(_PACKAGING)),
        ("program", one("program-error") | what.rlike(_PROGRAM)),
        ("user-code", F.forall("fault_ids", lambda fault: fault.isin(*USER_CODE)) & F.col("user_frame").isNotNull()),
        otherwise="unknown",
    )
