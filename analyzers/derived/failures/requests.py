"""What a server within the job's own process logs of a request: whoever asked gets the error, and no job fails of it.

Kafka Connect's REST interface, Jetty (Kafka Connect, the UI of Spark) and Flink's REST handlers. Who submits a program by REST learns there
why it did not start: those handlers speak of the job itself.
"""

from __future__ import annotations

import re

from analyzers.tables import Row

_SERVERS = re.compile(
    r"(?:^|\.)ConnectExceptionMapper$"
    r"|^(?:(?:[\w.]*\bjetty|o\.[es]\.j)\.(?:\w+\.)*)?(?:HttpChannel(?:State)?|ServletHandler)$"
    r"|\b(?:rest\.handler|webmonitor\.handlers|o\.a\.f\.r\.[rw]\.h)\.(?:[\w$]+\.)*(?!Jar(?:Run|Plan)Handler|JobSubmitHandler)\w*Handlers?(?:\$\w+)?$"
)
"""Loggers, in full or abbreviated."""
_LINE_NUMBER = re.compile(r":\d+$")
_OF_THE_PROCESS = re.compile(r"\bjava\.lang\.(?:OutOfMemory|Internal|Unknown)Error\b")
"""What a request only meets first."""


def of_request(event: Row) -> bool:
    """Whether an event is about a request that failed, where nothing but its client has to do with it."""
    logger = _LINE_NUMBER.sub("", event["logger"] or "")
    if not _SERVERS.search(logger):
        return False
    return not any(_OF_THE_PROCESS.search(each) for each in event["chain"] or ())
