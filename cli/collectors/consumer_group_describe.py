"""ConsumerGroupDescribe (API key 69, version 0): members of KIP-848 groups. kafka-python 3.0 names the key and has no message for it.

Classic DescribeGroups answers for such a group as if it were dead. Both classes behave as kafka-python's messages do where its protocol
parser touches them. Layout: ConsumerGroupDescribeRequest.json and ConsumerGroupDescribeResponse.json of Apache Kafka 3.7 and later.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class DescribedMember:
    """One member; `assigned` are the partitions that it owns now (not the target that it moves to)."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assigned: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class DescribedGroup:
    """One group; `error_code` 0 = no error."""

    error_code: int
    group_id: str
    group_state: str
    members: tuple[DescribedMember, ...]


@dataclass(frozen=True)
class ConsumerGroupDescribeResponse:
    """The decoded answer."""

    groups: tuple[DescribedGroup, ...]


@dataclass
class _Header:
    correlation_id: int
    api_key: int = 69
    api_version: int = 0

    def get_response_class(self) -> type[_Decoder]:
        return _Decoder


class _Decoder:
    @staticmethod
    def parse_header(data: Any) -> _Header:
        (correlation_id,) = struct.unpack(">i", data.read(4))
        _skip_tags(_Reader(data.read(1)))
        return _Header(correlation_id)

    @staticmethod
    def decode(data: Any) -> ConsumerGroupDescribeResponse:
        reader = _Reader(bytes(data.read()))
        reader.number(">i")  # throttle time
        return ConsumerGroupDescribeResponse(tuple(reader.array(_group)))


class ConsumerGroupDescribeRequest:
    """Ask for `group_ids`. ``ConsumerGroupDescribeRequest[0](group_ids=…)``, as with kafka-python's own messages."""

    API_KEY: ClassVar[int] = 69
    max_version: ClassVar[int] = 0

    def __init__(self, group_ids: Sequence[str]) -> None:
        self.group_ids = group_ids
        self.header: _Header | None = None
        self._client_id = b""

    def __class_getitem__(cls, version: int) -> type[ConsumerGroupDescribeRequest]:
        if version != 0:
            raise ValueError(f"ConsumerGroupDescribe version {version} is not known here")
        return cls

    def with_header(self, correlation_id: int, client_id: str) -> None:
        self.header, self._client_id = _Header(correlation_id), client_id.encode()

    def expect_response(self) -> bool:
        return True

    def encode(self, *, framed: bool, header: bool) -> bytes:
        assert framed
        assert header
        assert self.header is not None
        head = struct.pack(">hhih", self.API_KEY, 0, self.header.correlation_id, len(self._client_id)) + self._client_id + b"\0"
        names = b"".join(_unsigned(len(name) + 1) + name for name in (group.encode() for group in self.group_ids))
        body = _unsigned(len(self.group_ids) + 1) + names + b"\0\0"  # no authorised operations, no tagged fields
        return struct.pack(">i", len(head) + len(body)) + head + body


class _Reader:
    """The flexible encoding (KIP-482): lengths are unsigned varints of the length plus one, 0 = null."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def text(self) -> str | None:
        length = self.unsigned() - 1
        if length < 0:
            return None
        self.at += length
        if self.at > len(self.data):
            raise ValueError("the answer ends inside a string")
        return self.data[self.at - length : self.at].decode("utf-8", "replace")

    def array(self, item: Callable[[_Reader], Item]) -> list[Item]:
        return [item(self) for _ in range(self.unsigned() - 1)]


def _group(reader: _Reader) -> DescribedGroup:
    error_code = reader.number(">h")
    reader.text()  # error message
    group_id, state = reader.text() or "", reader.text() or ""
    reader.number(">i"), reader.number(">i")  # group and assignment epoch
    reader.text()  # assignor
    members = tuple(reader.array(_member))
    reader.number(">i")  # authorised operations
    _skip_tags(reader)
    return DescribedGroup(error_code, group_id, state, members)


def _member(reader: _Reader) -> DescribedMember:
    member_id, instance_id = reader.text() or "", reader.text()
    reader.text()  # rack
    reader.number(">i")  # member epoch
    client_id, client_host = reader.text() or "", reader.text() or ""
    reader.array(_Reader.text)  # subscribed topics
    reader.text()  # subscribed expression
    assigned = _assignment(reader)
    _assignment(reader)  # target
    _skip_tags(reader)
    return DescribedMember(member_id, instance_id, client_id, client_host, assigned)


def _assignment(reader: _Reader) -> tuple[tuple[str, int], ...]:
    partitions = [place for of_topic in reader.array(_topic_partitions) for place in of_topic]
    _skip_tags(reader)
    return tuple(sorted(partitions))


def _topic_partitions(reader: _Reader) -> list[tuple[str, int]]:
    reader.at += 16  # topic id
    topic = reader.text() or ""
    numbers = reader.array(lambda r: r.number(">i"))
    _skip_tags(reader)
    return [(topic, number) for number in numbers]


def _skip_tags(reader: _Reader) -> None:
    for _ in range(reader.unsigned()):
        reader.unsigned()
        size = reader.unsigned()
        reader.at += size


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
