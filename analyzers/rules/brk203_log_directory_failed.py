"""BRK203: a broker cannot write to its log directory."""

import re

from analyzers.tables import Row
from analyzers.vocabulary import (
    BROKER,
    CRITICAL,
    DataFrame,
    F,
    Window,
    agreed,
    detail,
    distinct,
    event,
    first_of,
    found,
    place,
    rule,
    said,
    some,
)
from analyzers.vocabulary.brokers import DISK_FULL, broker_in_text, broker_named, is_up_again
from analyzers.vocabulary.columns import in_short

_SIGNS = ("log-dir-failed", "broker-start-failed", "disk-full", "too-many-open-files")
_OF_THE_LOG = r"\bkafka\.log\.|\bkafka\.storage\.internals\."
"""Frames of a broker at work on its partitions: the volume of its log4j log may be full, too, and is another."""
_ACCEPTS = r"Error while accepting connection|\bkafka\.network\.\w*(?:Acceptor|SocketServer)"
"""What a broker prints of a connection that it cannot accept: it lives on, and clients and followers do not get in."""


def _is_sign(row: Row) -> bool:
    """Whether a line could be of a log directory of a broker."""
    if row["signature"] == "broker-start-failed":
        return re.search(DISK_FULL, row["text"] or "") is not None
    return row["signature"] == "log-dir-failed" or (row["signature"] in _SIGNS and row["role"] in BROKER)


@rule("BRK203", title="A broker cannot write to its log directory", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(*_SIGNS, "broker-started"), needs=some(_is_sign),
    says={
        "open-files": "{who} {had_none} open files left (Too many open files[[, {directories}]])[[, first at {since} UTC]]. {end}",
        "": "{who} {cannot} write to its log directory[[ {directories}]][[: {what}]][[, first at {since} UTC]]. {end}",
    },
    missing="[[{unsaid}]]",
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def log_directory_failed(
    log_events: DataFrame,
    *,
    repeated: int = 2,  # shutdowns: a broker that is started again without a repair fails again
) -> DataFrame:
    """Per broker log: log directories that failed, starts that failed on a full disk, no file handles left. A warning where it is up again
    and has failed once.

    Source: Kafka's LogDirFailureChannel, LogManager, ReplicaManager and SocketServer (Acceptor).
    """
    full = F.rlike("text", F.lit(DISK_FULL))
    own = (F.col("role") == "kafka-broker") & F.rlike("text", F.lit(_OF_THE_LOG))
    accepting = F.rlike("text", F.lit(_ACCEPTS))
    handles = event("too-many-open-files") & (own | ((F.col("role") == "kafka-broker") & accepting))
    failed = event("log-dir-failed") | (event("broker-start-failed") & full) | (event("disk-full") & own) | handles
    no_handles = F.max(F.contains("text", F.lit("Too many open files")))
    of_partition = F.regexp_extract(detail("file_path"), r"^(/.+?)(?:/[^/]+-\d+)?/[^/]+$", 1)
    directory = F.coalesce(*map(detail, ("path", "paths", "directory", "written")), of_partition)
    up, of_log = F.max("_up"), Window.partitionBy("scope", "file")
    gone = F.contains("text", F.lit("all log dirs in ")) | event("broker-start-failed")
    ends, shutdowns = F.max(gone), F.count_distinct(F.when(gone, F.date_trunc("minute", "at")))
    again = shutdowns >= repeated
    rows = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker").withColumns(
        {"_up": is_up_again(failed), "_started": F.max(F.when(event("broker-started"), F.col("broker"))).over(of_log)}
    )
    per_log = found(
        rows.where(failed),
        "file",
        broker=F.coalesce(agreed(broker_in_text()), agreed("_started")),
        directories=distinct(F.nullif(F.rtrim(directory), F.lit("")), "directories"),
        what=F.min_by(said(), F.when(F.col("root_exception").isNotNull(), place())),
        reason=first_of(
            ("disk-full", F.max(full)),
            ("map-failed", F.max(F.contains("text", F.lit("Map failed")))),
            ("open-files", no_handles),
            otherwise="disk",
        ),
        had_none=first_of(("had no", up), otherwise="has no"),
        cannot=first_of(("could not", up), otherwise="cannot"),
        severity=first_of(("warning", up & ~again), otherwise="critical"),
        shutdowns=F.when(again, shutdowns),
        end=first_of(
            ("It has shut itself down several times and was started again each time: nothing was repaired between", again),
            ("It has started again since", up),
            ("No log directory is left, so it shuts itself down", ends),
            ("It runs on and accepts no new connection: clients and followers do not get in", F.bool_and(handles)),
            otherwise="Its partitions there are offline; it shuts itself down when no directory is left",
        ),
        unsaid=first_of(("the I/O error itself: the exception before these lines in the broker's log", F.max("root_exception").isNull())),
    )
    return per_log.withColumns({"who": broker_named(F.col("broker")), "short": in_short("what"), "stated": F.lit(2)})
