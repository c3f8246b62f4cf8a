"""The host or address of a called service, where an exception's message states it."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_STATED = (
    r"(?:https?|jdbc:[a-z0-9]+|redis|mongodb|grpc|hdfs|thrift)://(?:[^/@\s]*@)?([\w.-]+(?::\d{2,5})?)",
    r"(?:[Cc]onnect(?:ion|ing)? to|Connection refused:|host|server|Host:)\s*\[?[\"']?/?([\w.-]+(?:/[\d.]+)?:\d{2,5})\b",
    r"(?:^|[\s/\[(])((?:[A-Za-z][\w-]*(?:\.[\w-]+)*|\d+\.\d+\.\d+\.\d+)(?:/\d+\.\d+\.\d+\.\d+)?:\d{4,5})(?:[\s,;:)\]]|$)",
)
_ON_PORT = r"(?:server|host) ([A-Za-z\d][\w.-]*)(?:/[\d.]+)?,? (?:on )?port:? ([\d,]+\d)\b"  # DB2 (`on port 25,010`), SQL Server
_UNKNOWN_HOST = r"UnknownHostException: ([A-Za-z][\w.-]+)"


def address_in(name: str) -> Column:
    """``host:port`` (or the host of a URL) in the text of column `name`; null where it states none."""
    return F.coalesce(*(F.nullif(F.regexp_extract(name, pattern, 1), F.lit("")) for pattern in _STATED))


def service_address() -> Column:
    """``host:port`` (or the host of a URL) that the fault's chain or message states; null where it states none."""
    text = F.concat_ws("\n", F.reverse(F.coalesce("chain", F.array())), F.col("root_message"))
    port = F.regexp_replace(F.regexp_extract(text, _ON_PORT, 2), ",", "")
    apart = F.when(port != "", F.concat_ws(":", F.regexp_extract(text, _ON_PORT, 1), port))
    return F.coalesce(*(F.nullif(F.regexp_extract(text, pattern, 1), F.lit("")) for pattern in _STATED), apart)


def service_host() -> Column:
    """The host that could not be resolved, where the fault is that."""
    return F.nullif(F.regexp_extract(F.concat_ws("\n", "chain", F.col("root_message")), _UNKNOWN_HOST, 1), F.lit(""))
