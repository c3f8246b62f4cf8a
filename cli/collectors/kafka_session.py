"""An open connection to a broker: questions and answers in turn, none that could change the cluster.

kafka-python serves as the codec; the socket is our own.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import struct
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from kafka.errors import KafkaError
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.parser import KafkaProtocol

from analyzers.budget import BUDGET
from cli.collectors.client_properties import ClientProperties

LARGEST_ANSWER_BYTES = BUDGET.kafka_answer_bytes

# Every request that diag may send, by API key. A session refuses all others: nothing here writes, joins, commits or creates.
READ_ONLY = {
    1: "Fetch", 3: "Metadata", 10: "FindCoordinator", 15: "DescribeGroups", 16: "ListGroups", 17: "SaslHandshake", 18: "ApiVersions",
    35: "DescribeLogDirs", 36: "SaslAuthenticate", 46: "ListPartitionReassignments", 48: "DescribeClientQuotas", 55: "DescribeQuorum",
    61: "DescribeProducers", 65: "DescribeTransactions", 66: "ListTransactions", 69: "ConsumerGroupDescribe", 77: "ShareGroupDescribe",
    89: "StreamsGroupDescribe", 90: "DescribeShareGroupOffsets",
}  # fmt: skip

CLIENT_ID = "diag"


def now() -> datetime:
    """This moment with the precision of the tables: milliseconds."""
    moment = datetime.now(timezone.utc)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def moment(milliseconds: int) -> datetime | None:
    """The time of a record; None for none (-1, or outside of what a calendar holds)."""
    if not 0 <= milliseconds < 253_402_300_800_000:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, timezone.utc).replace(microsecond=milliseconds % 1000 * 1000)


@dataclass(frozen=True)
class Limits:
    """Seconds granted to each step, the moment (``time.monotonic``) when everything ends, and the wall-clock time that all rows carry."""

    lookup: float
    connect: float
    answer: float
    deadline: float
    as_of: datetime

    @classmethod
    def within(cls, timeout_seconds: float) -> Limits:
        """Shares of one `timeout_seconds`, so that a black hole and a hung broker found through it both fit."""
        return cls(0.3 * timeout_seconds, 0.45 * timeout_seconds, 0.4 * timeout_seconds, time.monotonic() + 0.95 * timeout_seconds, now())

    def granted(self, wanted: float, doing: str) -> float:
        """Seconds for the next step. Raises :class:`Dead` without a judgement when too little is left for one."""
        left = self.deadline - time.monotonic()
        if left < wanted / 4:
            raise Dead(None, f"--timeout ended before {doing}")
        return min(wanted, left)

    def rest(self, doing: str, *, keep: float) -> float:
        """Seconds of what is left but for the share `keep`, which what is asked later needs. Raises :class:`Dead` as `granted` does."""
        return max(self.granted(self.answer, doing), (self.deadline - time.monotonic()) * (1 - keep))


class Dead(Exception):
    """The conversation is over: `state` is the kind of death, None when the time was too short to tell; `why` says what was seen.

    `lives`: only this one question cannot be asked.
    """

    def __init__(self, state: str | None, why: str, *, silent: bool = False, lives: bool = False) -> None:
        super().__init__(why)
        self.state, self.why, self.lives = state, why, lives
        self.silent = silent  # closed before a first byte of answer: perhaps the other side expected (or did not expect) TLS

    @property
    def says(self) -> str:
        """``hung, no answer to Metadata in 4.0 s``."""
        return f"{self.state}, {self.why}" if self.state else self.why


def speaks_tls(client: ClientProperties) -> Dead:
    """What is said of a port that answers plaintext with TLS."""
    return Dead("tls", "the port speaks TLS: use security.protocol=" + ("SASL_SSL" if client.uses_sasl else "SSL"))


_OF_CERTIFICATES = re.compile(r"alert.*(certificate|unknown ca|access denied)|(certificate|unknown ca).*alert")


def reason_of(error: ssl.SSLError) -> str:
    """``tlsv13 alert certificate required``."""
    return (error.reason or str(error)).replace("_", " ").lower()


def refused_by_tls(error: ssl.SSLError, client: ClientProperties) -> Dead | None:
    """What is said where the broker ended TLS because of the client's certificate, as its alert says; None for another reason."""
    reason = reason_of(error)
    give = "write ssl.keystore.location, or ssl.certificate.location and ssl.key.location"
    if "alert handshake failure" in reason and not client.has_certificate:  # TLS 1.2 has one alert for both
        return Dead("tls", f"{reason}: the broker requires a client certificate ({give}), or has no cipher suite in common")
    if not _OF_CERTIFICATES.search(reason):
        return None
    if client.has_certificate:
        return Dead("tls", f"the broker refuses the client certificate ({reason}): is its issuer in the broker's trust store?")
    return Dead("tls", f"the broker requires a client certificate ({reason}): {give}")


class Session:
    """An open connection: requests and answers in turn. Refuses whatever could change the cluster."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: ClientProperties, limits: Limits) -> None:
        self.reader, self.writer, self.client, self.limits = reader, writer, client, limits
        self.address = ""  # ``kafka-1:9092``, as it was given or advertised
        self.supported: dict[int, tuple[int, int]] = {}
        self.round_trip_ms: float | None = None  # of the last answer: request's last byte to answer's first, without our decoding
        self._sent = 0.0
        self._one_at_a_time = asyncio.Lock()
        self.protocol = KafkaProtocol(client_id=CLIENT_ID, receive_message_max_bytes=LARGEST_ANSWER_BYTES)

    def close(self) -> None:
        self.writer.transport.abort()  # no TLS good-bye: a hung peer would make us wait for it

    @property
    def lost(self) -> bool:
        """Whether the other side has gone, or nothing can be asked on it any more."""
        return self.reader.at_eof() or self.reader.exception() is not None or self.writer.is_closing()

    async def ask(self, request: Any, name: str, *, newest: int, **fields: Any) -> Any:
        """The answer to `request` (a class of kafka-python) with `fields`, in the newest version both sides speak, at most `newest`."""
        if request.API_KEY not in self.supported:  # asked all the same, it would hang up
            if request is MetadataRequest:
                raise Dead("not-kafka", "speaks Kafka and knows no Metadata: the listener of a KRaft controller, no broker's")
            raise Dead(None, f"the broker is too old for {name}", lives=True)
        lowest, highest = self.supported[request.API_KEY]
        version = min(newest, highest, request.max_version)
        if version < lowest:
            most = min(newest, request.max_version)
            raise Dead(None, f"the broker speaks {name} {lowest} to {highest} only, this diag at most {most}", lives=True)
        return await self.exchange(request[version](**fields), name)

    async def exchange(self, request: Any, name: str, *, correlation_id: int | None = None) -> Any:
        """The decoded answer; raises :class:`Dead` when there is none in time, or none that is Kafka's."""
        if request.API_KEY not in READ_ONLY:
            raise AssertionError(f"{name} (API key {request.API_KEY}) may change the cluster; diag only looks")
        async with self._one_at_a_time:
            seconds = self.limits.granted(self.limits.answer, f"{name} was asked")
            self.protocol.send_request(request, correlation_id=correlation_id)
            self.writer.write(bytes(self.protocol.send_bytes()))
            self._sent = time.perf_counter()
            try:
                return await asyncio.wait_for(self._answer(name), seconds)
            except (asyncio.TimeoutError, TimeoutError):
                self.close()  # an answer that comes late would be taken for the next one
                raise Dead("hung", f"accepts the connection, no answer to {name} in {seconds:.1f} s") from None

    async def _answer(self, name: str) -> Any:
        seen = b""
        while True:
            try:
                block = await self.reader.read(1 << 16)
            except ssl.SSLError as error:  # with TLS 1.3 the broker judges the client after the client's handshake is over
                raise refused_by_tls(error, self.client) or Dead(
                    "tls", f"TLS ended while waiting for {name}: {reason_of(error)}"
                ) from error
            except OSError as error:
                raise Dead("closed", f"closed without an answer to {name} ({in_words(error)})", silent=not seen) from error
            if not block:
                half = "in the middle of its answer" if seen else "without an answer"
                raise Dead("closed", f"closed {half} to {name}", silent=not seen)
            if not seen:
                self.round_trip_ms = milliseconds_since(self._sent)
            seen += block[: 64 - len(seen)] if len(seen) < 64 else b""
            if seen[:2] in (b"\x15\x03", b"\x16\x03"):  # a TLS record: alert or handshake
                raise speaks_tls(self.client)
            try:
                answers = self.protocol.receive_bytes(block)
            except (KafkaError, ValueError, IndexError, struct.error) as error:
                raise Dead("not-kafka", f"answers {name} with something that is not Kafka: {_printable(seen)}") from error
            if answers:
                return answers[0][1]


def in_words(error: OSError) -> str:
    """What the operating system says; asyncio puts its own sentence in the place of it."""
    return os.strerror(error.errno) if error.errno else str(error) or type(error).__name__


def milliseconds_since(started: float) -> float:
    """From `started` (``time.perf_counter``) until now."""
    return round((time.perf_counter() - started) * 1000, 2)


def _printable(seen: bytes) -> str:
    text = "".join(chr(b) if 32 <= b < 127 else "." for b in seen[:40])
    return f'"{text}"'
