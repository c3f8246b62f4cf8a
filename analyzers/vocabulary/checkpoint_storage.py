"""Why a checkpoint could not be written or read, from the words of file systems and object stores; and where."""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.tables import Row

FULL = r"(?i)No space left on device|quota|not enough (?:free )?space|disk is full|StorageFull"
CLOCK = r"RequestTimeTooSkewed|request time and the (?:current|server) time is too large|Clock skew too great"  # S3, its likes, Kerberos
ACCESS_DENIED = (
    r"Access ?Denied|AccessControlException|Permission denied|PERMISSION_DENIED|\b40[13] (?:Forbidden|Unauthorized)|[Ss]tatus [Cc]ode: "
    r"40[13]"
    r"|InvalidAccessKeyId|ExpiredToken|SignatureDoesNotMatch|AuthorizationPermissionMismatch|Forbidden"
)
NO_DIRECTORY = r"Mkdirs failed|Failed to create (?:directory|parent)|Could not create (?:directory|the directory)|mkdir"
UNREACHABLE = (
    r"ConnectException|Connection (?:refused|reset|timed out)|connect timed out|Read timed "
    r"out|SocketTimeoutException|UnknownHostException|NoRouteToHost"
    r"|Unable to execute HTTP request|SafeMode|[Ss]afe ?mode|StandbyException|NoHttpResponse|Service Unavailable|SlowDown|Slow Down"
    r"|could only be (?:written|replicated) to 0|NameNode|BlockMissing|[Ss]tatus [Cc]ode: 50\d|InternalError|RetriesExhausted"
)
PATH = (
    r"((?:s3[an]?|hdfs|viewfs|file|gs|abfss?|wasbs?|oss|cosn|obs|swift):/{1,3}(?:[\w.@-]+:\d+(?=/))?[^\s'\",;:)\]}]+"
    r"|/[^\s'\",;:)\]}]*(?:chk-\d+|savepoint-[\w-]+|/shared/|taskowned|checkpoints?/)[^\s'\",;:)\]}]*)"
)

_STORES = (
    r"NamenodeHostName:([\w.-]+)",  # SafeModeException
    r"Call From \S+ to ([\w.-]+:\d+) failed on",  # Hadoop's NetUtils.wrapException
    r"UnknownHostException: ([\w-]+(?:\.[\w-]+)+|[\w-]+)(?![\w.]*Exception)",
    r"(?:Connect|Connection) to (?:https?://)?([\w.-]+:\d+) ",
)

_STREAMS = r"org\.apache\.kafka\.streams\.|\bstream-(?:client|thread) \["


def words() -> Column:
    """The exception chain and the text of a fault, as one string."""
    return F.concat_ws("\n", F.array_join("chain", "\n"), "root_message", "text")


def why_not_written() -> Column:
    """``clock``, ``full``, ``access-denied``, ``no-directory``, ``unreachable``, or null where the text does not show it."""
    return (
        F.when(F.rlike(words(), F.lit(CLOCK)), F.lit("clock"))
        .when(F.rlike(words(), F.lit(FULL)), F.lit("full"))
        .when(F.rlike(words(), F.lit(ACCESS_DENIED)), F.lit("access-denied"))
        .when(F.rlike(words(), F.lit(UNREACHABLE)), F.lit("unreachable"))
        .when(F.rlike(words(), F.lit(NO_DIRECTORY)), F.lit("no-directory"))
    )


def store_named() -> Column:
    """The name node or the endpoint that a fault names, or null."""
    found = (F.nullif(F.regexp_extract(words(), pattern, 1), F.lit("")) for pattern in _STORES)
    return F.coalesce(*found)


def path_named() -> Column:
    """The checkpoint path or URI that a fault names, or null."""
    return F.nullif(F.regexp_replace(F.regexp_extract(words(), PATH, 1), r"\.$", ""), F.lit(""))


def of_flink(faults: DataFrame) -> DataFrame:
    """`faults` without those of Structured Streaming and Kafka Streams, whose checkpoints and stores are of another kind."""
    return faults.where(~_of_spark() & ~_of_streams())


def of_streams(faults: DataFrame) -> DataFrame:
    """Only the `faults` of Kafka Streams."""
    return faults.where(_of_streams())


def _of_streams() -> Column:
    return F.rlike(F.concat_ws("\n", F.array_join("chain", "\n"), "text"), F.lit(_STREAMS))


def is_of_streams(fault: Row) -> bool:
    """Whether one fault is of Kafka Streams."""
    return re.search(_STREAMS, "\n".join([*(fault["chain"] or ()), fault["text"] or ""])) is not None


def of_spark(faults: DataFrame) -> DataFrame:
    """Only the `faults` of Structured Streaming."""
    return faults.where(_of_spark())


def _of_spark() -> Column:
    # Flink has a KeyedStateStore and an OperatorStateStore of its own, in the trace of many a state that does not fit
    own = r"org\.apache\.spark|MicroBatchExecution|HDFSMetadataLog|(?<!Keyed)(?<!Operator)StateStore"
    named = F.rlike(F.coalesce("text", F.lit("")), F.lit(own)) & ~_of_streams()  # whose frames name state stores, too
    # a Flink job's id has no dashes, and what else stands for a job (an application, a connector) is no UUID
    query = F.rlike(F.coalesce("job", F.lit("")), F.lit(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"))
    return named | query | F.startswith(F.coalesce("role", F.lit("")), F.lit("spark"))
