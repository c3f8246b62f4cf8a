"""Pasted fragments: small texts of any name that hold messages of the products.

A ticket, a chat, a notebook's output, a JSON answer: what people hand on when there is no log. A text is one if a signature of a fault
knows a line of it, or a trace of it is a streaming job's; source code, tables, settings and pages that quote such lines are none.
"""

from __future__ import annotations

import re

from analyzers.budget import BUDGET
from analyzers.logs.scan.captures import catalogue
from analyzers.logs.scan.kernel import Scanner
from analyzers.logs.scan.origin import Origin
from analyzers.logs.signatures.meanings import FAULTS
from analyzers.logs.wrappings.no_output import PRINTED
from analyzers.logs.wrappings.sniff import Sniffed
from analyzers.logs.wrappings.unwrapping import unwrapped_sample
from analyzers.readers.sources import NOTES

MOST_BYTES = BUDGET.fragment_bytes
_OF_ANY_PROGRAM = frozenset({"program-failed", "connection-refused", "call-timed-out", "http-unavailable", "connection-pool-exhausted"})
_OF_STREAMING = re.compile(
    rb"\b(?:org\.apache\.(?:flink|kafka|spark|beam)|io\.debezium|pyspark|kafka\.|Confluent\.Kafka|kafkajs|aiokafka|librdkafka)"
    rb"|\bLocal: Queue full|\bKafkaError\{code="
)


def holds_messages(name: str, head: bytes, found: Sniffed) -> bool:
    """Whether a small text is a fragment of what a streaming product printed."""
    if found.binary or found.encoding is not None or len(head) > MOST_BYTES or found.foreign:
        return False
    text = unwrapped_sample(name, found.wrapping, head).text if found.wrapping is not None else head
    scanner = Scanner(Origin(name, 0), catalogue())
    scanner.feed(text, last=True)
    part = scanner.finish()
    if NOTES.search(name) and not PRINTED.search(text):
        return False
    if any(str(group[0]) in FAULTS and group[0] not in _OF_ANY_PROGRAM for group, _, _ in part.known):
        return True
    return bool(PRINTED.search(text)) and bool(_OF_STREAMING.search(text)) and any(group[1] for group, _, _ in part.generic)
