"""BRK203: a broker cannot write to its log directory."""

from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, agreed, detail, distinct, event, first_of, found, has, place, rule, said
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, broker_named, is_up_again

_SIGNS = ("log-dir-failed", "broker-start-failed", "disk-full")
_OF_THE_LOG = r"\bkafka\.log\.|\bkafka\.storage\.internals\."
"""Frames of a broker at work on its partitions: another volume of the host (that of its own log) may be full, too."""


@rule("BRK203", title="A broker cannot write to its log directory", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(*_SIGNS, "broker-started"), needs=has(signature=_SIGNS),
    says="{who} cannot write to its log directory[[ {directories}]][[: {what}]][[, first at {since} UTC]]. {end}",
    missing="[[{unsaid}]]",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def log_directory_failed(log_events: DataFrame) -> DataFrame:
    """Per broker log: failed log directories, and starts that failed for want of room; a warning where the broker is up again.

    Source: Kafka's LogDirFailureChannel, LogManager and ReplicaManager.
    """
    full = F.rlike("text", F.lit(DISK_FULL))
    own = (F.col("role") == "kafka-broker") & F.rlike("text", F.lit(_OF_THE_LOG))
    failed = event("log-dir-failed") | (event("broker-start-failed") & full) | (event("disk-full") & own)
    of_partition = F.regexp_extract(detail("file_path"), r"^(/.+?)(?:/[^/]+-\d+)?/[^/]+$", 1)
    directory = F.coalesce(*map(detail, ("path", "paths", "directory", "written")), of_partition)
    up = F.max("_up")
    ends = F.max(F.contains("text", F.lit("all log dirs in ")) | event("broker-start-failed"))
    rows = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker").withColumn("_up", is_up_again(failed))
    per_log = found(
        rows.where(failed),
        "file",
        broker=agreed(broker_in_text()),
        directories=distinct(F.nullif(F.rtrim(directory), F.lit("")), "directories"),
        what=F.min_by(said(), F.when(F.col("root_exception").isNotNull(), place())),  # the line itself says no more than that it failed
        reason=first_of(("disk-full", F.max(full)), ("map-failed", F.max(F.contains("text", F.lit("Map failed")))), otherwise="disk"),
        severity=first_of(("warning", up), otherwise="critical"),
        end=first_of(
            ("It has been started again since", up),
            ("No directory is left to it: it shuts itself down", ends),
            otherwise="Its partitions there are offline, and it ends where no directory is left to it",
        ),
        unsaid=first_of(("what the disk answered: the exception before these lines has it", F.max("root_exception").isNull())),
    )
    return per_log.withColumn("who", broker_named(F.col("broker")))
