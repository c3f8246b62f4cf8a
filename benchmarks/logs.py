"""Made logs of a wanted size and share of hit lines, in the layouts that Flink, a Kafka broker and Spark ship.

Deterministic: same arguments and same catalogue, same bytes. Lines that no signature knows have many loggers, texts and values;
a hit line is the sample of one of the wanted signatures with other numbers. Stack traces make about 6 % of the lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np

from analyzers.logs.matching.matcher import Matcher
from analyzers.logs.signatures import SIGNATURES
from analyzers.logs.signatures.signature import Signature

Layout = Literal["flink", "kafka", "spark"]
FIRST = datetime(2026, 11, 1)
_BODIES, _TRACES, _BLOCK = 12_000, 300, 8192
_TRACE_LINES = 24
_TRACE_SHARE = 0.06  # of all lines

_LOGGERS: dict[Layout, tuple[str, ...]] = {
    "flink": (
        "org.apache.flink.runtime.taskexecutor.TaskExecutor",
        "org.apache.flink.streaming.runtime.tasks.StreamTask",
        "org.apache.flink.streaming.api.operators.AbstractStreamOperator",
        "org.apache.flink.runtime.state.heap.HeapKeyedStateBackend",
        "org.apache.flink.contrib.streaming.state.RocksDBStateDownloader",
        "org.apache.flink.runtime.io.network.partition.ResultPartitionManager",
        "org.apache.flink.runtime.io.network.netty.PartitionRequestQueue",
        "org.apache.flink.connector.kafka.source.reader.KafkaSourceReader",
        "org.apache.kafka.clients.consumer.internals.SubscriptionState",
        "org.apache.kafka.clients.Metadata",
        "org.apache.beam.runners.flink.translation.wrappers.streaming.DoFnOperator",
        "com.acme.orders.Enrich",
        "com.acme.orders.PriceLookup",
        "com.acme.billing.InvoiceWriter",
        "io.acme.platform.metrics.Reporter",
    ),
    "kafka": (
        "kafka.server.KafkaConfig",
        "kafka.log.UnifiedLog",
        "kafka.log.LogCleaner",
        "kafka.server.ReplicaManager",
        "kafka.coordinator.group.GroupMetadataManager",
        "kafka.cluster.Partition",
        "kafka.network.SocketServer",
        "org.apache.kafka.storage.internals.log.ProducerStateManager",
        "kafka.server.metadata.BrokerMetadataPublisher",
    ),
    "spark": (
        "TaskSetManager",
        "BlockManagerInfo",
        "MemoryStore",
        "DAGScheduler",
        "CodeGenerator",
        "FileScanRDD",
        "KafkaDataConsumer",
        "ShuffleBlockFetcherIterator",
        "OrderJob",
    ),
}
_TEXTS = (
    "{verb} {noun} of {noun} {id} for {service} in {small} ms",
    "{Verb} {small} {noun}s from {path}",
    "{service}: {noun} {hex} {verb} after {small} of {number} bytes",
    "{Verb} {noun} {noun}={number} {noun}={hex} state={word}",
    "{noun} [{id}, {id}] {verb} by {host}:{port} ({small} kB, {word})",
    "Cache of {noun}s: {number} hits, {small} misses, {small} evicted, ratio 0.{small}",
    "[{service}-{tiny}] {Verb} segment base {number} of {noun}-{tiny} in {tiny} ms at {path}",
    "{{\"event\":\"{noun}.{word}\",\"id\":\"{uuid}\",\"amount\":{small}.{tiny},\"region\":\"{word}\"}}",
    "GET /{noun}s/{id}?expand={word} 200 {number} {small}ms {host}",
    "user={id} {verb} {noun} {word} {word} {word} took={small}ms trace={hex}{hex}",
    "{Verb} window [{number}, {number}) with {tiny} {noun}s and key {word}-{id}",
    "Slow {noun}: select {word}, {word} from {noun}s where {word} = '{id}' and region = '{word}' ({small} ms, {tiny} rows)",
    "{noun} metrics: p50={tiny} p95={small} p99={small} max={number} count={number} service={service}",
    "{Verb} {path} ({number} bytes, version {tiny}.{tiny}.{tiny}) for {noun} {uuid}",
)  # fmt: skip
_VERBS = [
    "read",
    "stored",
    "fetched",
    "merged",
    "flushed",
    "loaded",
    "moved",
    "removed",
    "registered",
    "released",
    "copied",
    "compacted",
    "indexed",
    "scheduled",
    "drained",
    "assigned",
]
_NOUNS = [
    "order",
    "profile",
    "invoice",
    "shipment",
    "price",
    "customer",
    "basket",
    "payment",
    "voucher",
    "address",
    "supplier",
    "record",
    "bucket",
    "slot",
    "buffer",
    "snapshot",
    "channel",
]
_WORDS = [
    "late",
    "early",
    "north",
    "south",
    "central",
    "eu-west",
    "us-east",
    "blue",
    "green",
    "amber",
    "quiet",
    "busy",
    "partial",
    "complete",
    "open",
    "pending",
    "shipped",
    "returned",
    "gift",
    "express",
    "standard",
    "premium",
    "trial",
    "active",
    "dormant",
    "primary",
    "secondary",
    "local",
    "remote",
    "cold",
    "warm",
    "hot",
    "small",
    "medium",
    "large",
    "daily",
    "hourly",
    "weekly",
    "monthly",
    "legacy",
    "canary",
    "stable",
    "nightly",
    "internal",
    "external",
    "public",
    "private",
    "shared",
    "single",
    "double",
    "triple",
    "first",
    "second",
    "last",
    "next",
    "previous",
    "current",
    "other",
]
_SERVICES = [
    "orders-enricher",
    "price-lookup",
    "invoice-writer",
    "stock-keeper",
    "basket-joiner",
    "fraud-score",
    "click-sessions",
    "geo-index",
    "mail-relay",
]
_FRAMES = (
    "org.apache.flink.streaming.runtime.tasks.StreamTask.processInput(StreamTask.java:{small})",
    "org.apache.flink.streaming.runtime.tasks.mailbox.MailboxProcessor.runMailboxLoop(MailboxProcessor.java:{small})",
    "org.apache.flink.runtime.taskmanager.Task.runWithSystemExitMonitoring(Task.java:{small})",
    "java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:{small})",
    "java.base/java.net.SocketInputStream.socketRead0(Native Method)",
    "com.fasterxml.jackson.databind.ObjectMapper._readValue(ObjectMapper.java:{small})",
    "com.acme.orders.{Noun}Client.lambda$fetch$0({Noun}Client.java:{small})",
    "com.acme.orders.{Noun}Function.processElement({Noun}Function.java:{small})",
)
_FAILURES = (
    "java.io.IOException: {noun} {id} answered {tiny} times too slowly",
    "java.lang.IllegalStateException: {noun} {id} is {word}",
    "java.util.concurrent.CompletionException: {service} {id}",
    "com.acme.orders.Unpriced{Noun}Exception: {word} {id}",
)
_LEVELS = ("INFO ",) * 90 + ("DEBUG",) * 6 + ("WARN ",) * 4


@dataclass(frozen=True)
class Writing:
    """How one layout writes the time to the second, what follows it (milliseconds or not), and a line."""

    stamp: str
    millis: Sequence[str]
    line: Callable[[str, str, str], str]  # level, logger, message → all behind the time


_MILLIS = [f",{milli:03d}" for milli in range(1000)]
_WRITINGS: dict[Layout, Writing] = {
    "flink": Writing("%Y-%m-%d %H:%M:%S", _MILLIS, lambda level, logger, text: f" {level} {logger:<60} [] - {text}"),
    "kafka": Writing(
        "[%Y-%m-%d %H:%M:%S", [f"{milli}]" for milli in _MILLIS], lambda level, logger, text: f" {level.strip()} {text} ({logger})"
    ),
    "spark": Writing("%y/%m/%d %H:%M:%S", [""] * 1000, lambda level, logger, text: f" {level.strip()} {logger}: {text}"),
}
# the time at the head of a sample, which is replaced
_HEADS: dict[Layout, re.Pattern[str]] = {
    "flink": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}(?= )"),
    "kafka": re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\](?= )"),
    "spark": re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d(?= )"),
}
_NUMBERS = re.compile(r"(?<![\w.])\d{2,}(?![\w.])")


def write(
    path: Path,
    size: int,
    hit_share: float = 0.01,
    layout: Layout = "flink",
    signatures: Sequence[Signature] = SIGNATURES,
    seed: int = 7,
) -> None:
    """A log of about `size` bytes at `path`, of whose lines about `hit_share` are ones that `signatures` know."""
    writing, numbers = _WRITINGS[layout], np.random.RandomState(seed)  # RandomState: its streams never change
    bodies, traces, hits = _material(layout, tuple(signatures))
    if not hits:
        hit_share = 0.0
    lines_of_trace, lines_of_hit = 1 + _TRACE_LINES, sum(hit.count("\n") for hit in hits) / max(len(hits), 1)
    # of events: a hit, a trace, or a line
    traced = _TRACE_SHARE / (lines_of_trace * (1 - hit_share))
    hitting = hit_share * (1 + traced * (lines_of_trace - 1)) / (1 - hit_share * (lines_of_hit - 1))
    at, written = 0, 0
    with path.open("wb") as out:
        while written < size:
            at, text = _block(numbers, at, writing, bodies, traces, hits, traced, hitting)
            data = text.encode()
            out.write(data)
            written += len(data)


def _block(
    numbers: np.random.RandomState,
    at: int,
    writing: Writing,
    bodies: Sequence[str],
    traces: Sequence[str],
    hits: Sequence[str],
    traced: float,
    hitting: float,
) -> tuple[int, str]:
    """The time (ms after FIRST) behind it, and the text of some thousand events."""
    moments = at + numbers.randint(1, 40, _BLOCK).cumsum()
    kinds = numbers.random_sample(_BLOCK)
    which, values = numbers.randint(0, 1 << 30, _BLOCK).tolist(), numbers.randint(0, 1 << 30, _BLOCK).tolist()
    seconds, millis = np.divmod(moments, 1000)
    stamps = {
        second: (FIRST + timedelta(seconds=second)).strftime(writing.stamp) for second in range(int(seconds[0]), int(seconds[-1]) + 1)
    }
    heads = [stamps[second] + writing.millis[milli] for second, milli in zip(seconds.tolist(), millis.tolist(), strict=True)]
    texts = [bodies[one % len(bodies)] for one in which]
    tails: list[str] = [f"{value}\n" for value in values]
    for place in np.flatnonzero(kinds < traced + hitting).tolist():
        chosen = traces if kinds[place] < traced else hits
        text = chosen[which[place] % len(chosen)]
        texts[place], tails[place] = _renumbered(text, Random(values[place])) if chosen is hits else text, ""
    return int(moments[-1]), "".join(chain.from_iterable(zip(heads, texts, tails, strict=True)))


def _renumbered(text: str, random: Random) -> str:
    """The same with other numbers of the same length; those with a leading zero stay."""
    return _NUMBERS.sub(lambda found: found[0] if found[0][0] == "0" else _digits(random, len(found[0])), text)


def _digits(random: Random, count: int) -> str:
    return str(random.randrange(10 ** (count - 1), 10**count))


@lru_cache(maxsize=16)
def _material(layout: Layout, signatures: tuple[Signature, ...]) -> tuple[list[str], list[str], list[str]]:
    """What lines are made of: all that follows the time, of lines without a hit (but for the number and line break at their end), of
    stack traces, and of hits (both with all their line breaks)."""
    random, writing = Random(len(layout)), _WRITINGS[layout]
    lines = [_line(random, layout, writing) for _ in range(_BODIES)]
    traces = [_trace(random, layout, writing) for _ in range(_TRACES)]
    hits = []
    for signature in signatures:
        head = _HEADS[layout].match(signature.sample)
        if head:
            hits.append(signature.sample[head.end() :].rstrip("\n") + "\n")
    return _unknown(lines), _unknown(traces), hits


def _unknown(texts: list[str]) -> list[str]:
    """Those in which no signature of the catalogue has a literal."""
    literals = sorted({literal.encode() for signature in SIGNATURES for literal in signature.literals})
    encoded = [text.encode() for text in texts]
    _, places = Matcher(literals).scan(b"".join(encoded))
    ends = np.cumsum([len(text) for text in encoded])
    hit = set(np.searchsorted(ends, places, "right").tolist())
    return [text for number, text in enumerate(texts) if number not in hit]


def _line(random: Random, layout: Layout, writing: Writing) -> str:
    text = _filled(random, random.choice(_TEXTS))
    level, logger = random.choice(_LEVELS), random.choice(_LOGGERS[layout])
    if layout == "kafka":  # the logger follows, so the number that tells lines apart stands behind it
        return writing.line(level, logger, text) + " n="
    return writing.line(level, logger, text + random.choice((" #", " seq ", ", total ", "; next ")))


def _trace(random: Random, layout: Layout, writing: Writing) -> str:
    frames = "".join("\tat " + _filled(random, random.choice(_FRAMES)) + "\n" for _ in range(_TRACE_LINES - 1))
    text = writing.line("WARN ", random.choice(_LOGGERS[layout]), _filled(random, "retry {small} of {noun} {id}"))
    return f"{text}\n{_filled(random, random.choice(_FAILURES))}\n{frames}"


def _filled(random: Random, text: str) -> str:
    noun, verb = random.choice(_NOUNS), random.choice(_VERBS)
    return re.sub(r"\{(\w+)\}", lambda wanted: _value(random, wanted[1], noun, verb), text).replace("{{", "{").replace("}}", "}")


def _value(random: Random, kind: str, noun: str, verb: str) -> str:
    if kind in ("noun", "Noun", "verb", "Verb"):
        word = random.choice(_NOUNS) if kind == "noun" else noun if kind == "Noun" else verb
        return word.capitalize() if kind[0].isupper() else word
    if kind in ("word", "service"):
        return random.choice(_WORDS if kind == "word" else _SERVICES)
    if kind == "hex":
        return f"{random.getrandbits(32):08x}"
    if kind == "uuid":
        first, second, third, last = (f"{random.getrandbits(4 * digits):0{digits}x}" for digits in (8, 4, 3, 12))
        return f"{first}-{second}-4{third}-a{third}-{last}"
    if kind == "path":
        file = f"{random.choice(_NOUNS)}-{random.randrange(10**5):05d}.{random.choice(('sst', 'index', 'parquet', 'log'))}"
        return f"/data/{random.choice(_SERVICES)}/{random.getrandbits(24):06x}/{file}"
    if kind == "host":
        return f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}"
    if kind == "port":
        return str(random.randrange(30000, 60000))
    low, high = {"tiny": (1, 99), "small": (1, 9999), "id": (10**6, 10**8), "number": (10**4, 10**12)}[kind]
    return str(random.randrange(low, high))
