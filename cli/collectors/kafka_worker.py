"""The child process that holds librdkafka (confluent-kafka): questions come on stdin, answers go to stdout, each a length and JSON.

It is a process of its own because librdkafka may abort: a coordinator request that timed out, in a client that lives on until the
coordinator moves, ends in ``eonce->refcnt > 0`` (confluentinc/librdkafka#4605, seen in 2.16.0). So no request here ever times out: the
answers that came in time are sent, and the rest is left in flight. Nothing is destroyed, either: ``os._exit`` ends it, and no garbage is
collected, which librdkafka's threads may not do (confluentinc/confluent-kafka-python#2129). Secrets come by stdin alone.

All calls only look: ``tests/test_kafka_worker.py`` holds the list of those that may stand here. No group is ever joined.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import os
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType  # type: ignore[attr-defined]  # not in its __all__

from cli.collectors.kafka_frames import frames, send_frame

ENDLESS = 3600.0  # seconds: longer than this process lives
PARTITIONS_PER_CALL = 200  # librdkafka's list of offsets is quadratic: 10,000 at once take 8 s, in calls of 200 one second
TOPICS_PER_CALL = 200
FETCH_BYTES = 64 << 10  # holds the first batch of most producers (batch.size is 16 KB by default); a larger batch comes whole all the same

FIXED: Mapping[str, Any] = {
    "client.id": "diag",
    "log_level": 0,
    "allow.auto.create.topics": False,
    "enable.metrics.push": False,  # KIP-714: on by default, and it writes to the broker's plugin
    "socket.connection.setup.timeout.ms": 5000,
}
READING: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 50,
    "fetch.message.max.bytes": FETCH_BYTES,
    "fetch.max.bytes": 8 << 20,
    "queued.max.messages.kbytes": 32 << 10,
}
# a leader that moved, or is not yet known to this client: asked once more
_AGAIN = frozenset({
    KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.FENCED_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE, KafkaError._NOENT, KafkaError._TRANSPORT,
})  # fmt: skip
_DAMAGED = frozenset({KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION})
_OFFSET_SPECS: Mapping[str, tuple[Callable[[], Any], IsolationLevel]] = {
    "log_start": (OffsetSpec.earliest, IsolationLevel.READ_UNCOMMITTED),
    "high_watermark": (OffsetSpec.latest, IsolationLevel.READ_UNCOMMITTED),
    "last_stable": (OffsetSpec.latest, IsolationLevel.READ_COMMITTED),
}
_AT = "at"  # the first offset at or after a time
_NONE_SO_LATE = -1  # the answer where every record is older

Send = Callable[[dict[str, Any]], None]


class Deadline:
    """When a question ends, by the clock of this process."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._at - time.monotonic())


class Answers:
    """What this client can be asked; each method is a question, and sends its rows as they come."""

    def __init__(self, settings: Mapping[str, Any], token: str | None, extensions: Mapping[str, str]) -> None:
        self._settings: dict[str, Any] = {**settings, **FIXED}
        self._calling = threading.Lock()  # a call of two threads at once has ended in a segmentation fault
        self._consumers: list[Consumer] = []
        if token is not None:
            self._settings["oauth_cb"] = lambda _: (token, time.time() + ENDLESS, "", dict(extensions))
        self._admin = AdminClient(self._settings)
        if token is not None:
            threading.Thread(target=self._serve_token, daemon=True).start()

    def _serve_token(self) -> None:
        """``oauth_cb`` runs in polls alone. Nothing else polls: beside a poll in another thread calls have crashed."""
        while True:
            self._admin.poll(0.2)

    # Groups ---------------------------------------------------------------------------------------------------------------

    def groups(self, question: Mapping[str, Any], deadline: Deadline, send: Send) -> None:
        """Members and committed offsets of each group; one group a call: the answers of a list come only when all are in."""
        calls: list[tuple[str, str, Any, Callable[[Any], Any]]] = []
        for name in question["groups"]:
            wanted = ConsumerGroupTopicPartitions(name)
            # require_stable would refuse partitions with a pending transactional commit instead of naming the last one
            offsets = self._admin.list_consumer_group_offsets([wanted], require_stable=False, request_timeout=ENDLESS)
            calls.append((name, "committed", offsets[name], _committed))
            if name in question["described"]:
                described = self._admin.describe_consumer_groups([name], request_timeout=ENDLESS)
                calls.append((name, "described", described[name], _described))
        for name, kind, future, rows in calls:
            outcome = _outcome(future, deadline)
            if outcome is None:
                continue  # not answered
            answer, error = outcome
            send({"group": name, kind: None if error else rows(answer), "error": error})

    # Offsets --------------------------------------------------------------------------------------------------------------

    def log_ends(self, question: Mapping[str, Any], deadline: Deadline, send: Send) -> None:
        """Log start, high watermark, last stable offset, or the first offset ``at`` a time; each leader in calls of its own: a silent one
        costs its own alone."""
        at = question.get("at", 0)  # epoch milliseconds

        def one(places: Sequence[tuple[str, int]]) -> None:
            # the last stable offset after the high watermark: up to that everything is stable then, unless a transaction is open
            for together in (question["first"], question["then"]):
                again = self._offsets(places, together, deadline, send, at)
                if again:
                    time.sleep(min(0.25, deadline.left))
                    self._learn_leaders(deadline)
                    for name, left in again.items():
                        self._offsets(left, [name], deadline, send, at, last=True)

        # those of an earlier sample may be dead now, and would be waited for; without any list_offsets has crashed, one in twenty times
        self._learn_leaders(deadline)
        _all_at_once(one, [[(topic, number) for topic, number in places] for places in question["leaders"]])

    def _offsets(
        self, places: Sequence[tuple[str, int]], names: Sequence[str], deadline: Deadline, send: Send, at: int, *, last: bool = False
    ) -> dict[str, list[tuple[str, int]]]:
        """Send the offsets `names` of `places`; those to ask once more are returned, or sent as errors when it is the `last` time."""
        calls = []
        for chunk in _chunks(places, PARTITIONS_PER_CALL):
            for name in names:
                spec, isolation = _OFFSET_SPECS.get(name) or (lambda: OffsetSpec.for_timestamp(at), IsolationLevel.READ_UNCOMMITTED)
                asked = {TopicPartition(topic, number): spec() for topic, number in chunk}
                with self._calling:
                    calls.append((name, self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=ENDLESS)))
        again: dict[str, list[tuple[str, int]]] = {}
        for name, futures in calls:
            told = []
            for place, future in futures.items():
                outcome = _outcome(future, deadline)
                if outcome is None:
                    continue
                answer, error = outcome
                row = [place.topic, place.partition, None if error else answer.offset, error]
                if name == _AT and not error and answer.offset >= _NONE_SO_LATE:
                    told.append([*row[:2], answer.offset if answer.offset >= 0 else None, None, answer.timestamp])
                # below 0: its leader was dead when the metadata were last read, and no error says so
                elif not last and (error[0] in _AGAIN if error else answer.offset < 0):
                    again.setdefault(name, []).append((place.topic, place.partition))
                elif error or answer.offset >= 0:
                    told.append(row)
            if told:
                send({"offset": name, "places": told})
        return again

    def _learn_leaders(self, deadline: Deadline) -> None:
        """Read the metadata anew: without it the same brokers are asked again."""
        with contextlib.suppress(KafkaException):
            self._admin.list_topics(timeout=max(0.1, deadline.left / 2))

    # Settings of topics ---------------------------------------------------------------------------------------------------

    def configs(self, question: Mapping[str, Any], deadline: Deadline, send: Send) -> None:
        """The settings `keys` of each topic, or why it does not show them."""
        keys = frozenset(question["keys"])
        for chunk in _chunks(question["topics"], TOPICS_PER_CALL):
            if not deadline.left:
                return
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in chunk]
            # without a broker it asks the controller of its metadata, which KRaft makes up: it may be a dead one
            asked = self._admin.describe_configs(resources, request_timeout=ENDLESS, broker=question["broker"])
            for resource, future in asked.items():
                outcome = _outcome(future, deadline)
                if outcome is not None:
                    answer, error = outcome
                    values = {} if error else {key: entry.value for key, entry in answer.items() if key in keys}
                    send({"topic": resource.name, "configs": values, "error": error})

    # Records --------------------------------------------------------------------------------------------------------------

    def records(self, question: Mapping[str, Any], deadline: Deadline, send: Send) -> None:
        """The records of each want, ``[number, topic, partition, offset, most, until]``; all are read in one way."""
        _all_at_once(lambda asked: self._read(asked, question, deadline, send), _one_per_place(question["wants"]))

    def _read(self, wants: Sequence[Sequence[Any]], question: Mapping[str, Any], deadline: Deadline, send: Send) -> None:
        level = "read_committed" if question["committed"] else "read_uncommitted"
        checked = {"check.crcs": question["checked"], "isolation.level": level, "group.id": f"diag-{uuid.uuid4()}"}
        consumer = Consumer({**self._settings, **READING, **checked})  # its group is never joined
        self._consumers.append(consumer)  # destroying it could wait for a broker
        pending = {(topic, number): _Reading(*want) for want in wants for _, topic, number, *_ in [want]}
        consumer.assign([TopicPartition(topic, number, reading.at) for (topic, number), reading in pending.items()])
        while pending and deadline.left:
            first = consumer.poll(min(0.2, deadline.left))
            for message in [] if first is None else [first, *consumer.consume(num_messages=200, timeout=0)]:
                place = (str(message.topic()), int(message.partition() or 0))
                reading = pending.get(place)
                if reading is None:
                    continue  # done, or an event of the group that nobody joins
                for row in reading.take(message, contents=question["contents"]):
                    send(row)
                if reading.done:
                    del pending[place]
                    consumer.incremental_unassign([TopicPartition(*place)])
        consumer.unassign()


class _Reading:
    """One want, while its records come."""

    def __init__(self, number: int, topic: str, partition: int, at: int, most: int, until: int | None) -> None:
        self.number, self.at, self.left, self.until = number, at, most, until
        self.done = False

    def take(self, message: Any, *, contents: bool) -> Iterator[dict[str, Any]]:
        """The rows of one message: a record, or why there are no more."""
        error = message.error()
        if error is not None:
            self.done = True
            if error.code() == KafkaError._PARTITION_EOF:
                yield {"want": self.number, "log_end": message.offset()}
                return
            yield {"want": self.number, "error": _words(error), "damaged": error.code() in _DAMAGED, "batch": _batch_at(error)}
            return
        if self.until is not None and message.offset() > self.until:
            self.done = True
            yield {"want": self.number, "beyond": message.offset()}
            return
        self.left -= 1
        self.done = self.left <= 0
        kind, at = message.timestamp()
        row = {"want": self.number, "offset": message.offset(), "at": at, "clock": kind}
        if contents:
            row |= {
                "key": _text(message.key()), "value": _text(message.value()),
                "headers": [[name, _text(held)] for name, held in message.headers() or ()],
            }  # fmt: skip
        yield row


def _outcome(future: Any, deadline: Deadline) -> tuple[Any, list[Any] | None] | None:
    """The answer, or the error as code and words; None when there is none in time."""
    # after the deadline only what is there already: a wait of no time costs a millisecond each, and there may be 30,000
    if not deadline.left and not future.done():
        return None
    try:
        return future.result(timeout=deadline.left), None
    except KafkaException as error:
        return None, _words(error.args[0])
    except TimeoutError:
        return None
    except Exception as error:
        if not future.done():  # concurrent.futures.TimeoutError before Python 3.11
            return None
        return None, [None, str(error)]


def _words(error: KafkaError) -> list[Any]:
    return [error.code(), error.str()]


def _batch_at(error: KafkaError) -> int | None:
    """Where the batch begins that librdkafka finds damaged: it names it in its text alone."""
    match = re.search(r"at offset (\d+)", error.str())
    return int(match[1]) if match else None


def _committed(answer: Any) -> list[list[Any]]:
    return [
        [place.topic, place.partition, place.offset if place.offset >= 0 else None, _words(place.error) if place.error else None]
        for place in answer.topic_partitions
    ]


def _described(answer: Any) -> dict[str, Any]:
    return {
        "state": answer.state.name,
        "assignor": answer.partition_assignor or None,
        "simple": answer.is_simple_consumer_group,
        "members": [
            {
                "member": member.member_id, "client": member.client_id, "instance": member.group_instance_id, "host": member.host,
                "assigned": sorted([place.topic, place.partition] for place in member.assignment.topic_partitions),
            }
            for member in answer.members
        ],
    }  # fmt: skip


def _one_per_place(wants: Iterable[Sequence[Any]]) -> list[list[Sequence[Any]]]:
    """`wants` so that no partition is twice in one list: a consumer has one position in each."""
    rounds: list[dict[tuple[str, int], Sequence[Any]]] = []
    for want in wants:
        place = (want[1], want[2])
        for asked in rounds:
            if place not in asked:
                asked[place] = want
                break
        else:
            rounds.append({place: want})
    return [list(asked.values()) for asked in rounds]


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _all_at_once(work: Callable[[Any], None], parts: Sequence[Any]) -> None:
    threads = [threading.Thread(target=work, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _text(data: bytes | str | None) -> str | None:
    held = data.encode() if isinstance(data, str) else data
    return None if held is None else base64.b64encode(held).decode()


# The pipe -----------------------------------------------------------------------------------------------------------------


def main() -> None:
    """The first frame has the settings, every other a question with its number; an answer's last frame has ``end``."""
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when this ends
    one_at_a_time = threading.Lock()

    def send(content: Mapping[str, Any]) -> None:
        with one_at_a_time:
            send_frame(sys.stdout.buffer, content)

    incoming = frames(sys.stdin.buffer)
    first = next(incoming, None)
    if first is None:
        return
    try:
        answers = Answers(first["settings"], first["token"], first["extensions"])
    except (KafkaException, ValueError, TypeError) as error:
        send({"refused": error.args[0].str() if isinstance(error, KafkaException) else str(error)})
        return

    def answer(question: Mapping[str, Any]) -> None:
        number = question["number"]
        failed = None
        try:
            ask = getattr(answers, question["ask"])
            ask(question, Deadline(question["seconds"]), lambda row: send({"number": number, **row}))
        except (KafkaException, ValueError, TypeError) as error:
            failed = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        send({"number": number, "end": True, "failed": failed})

    for question in incoming:
        threading.Thread(target=answer, args=(question,), daemon=True).start()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
    os._exit(0)  # without destroying anything: that could wait for a broker that does not answer
