"""Requests that tests send to a broker themselves: what no client library in Python has, or what must not go through a proxy."""

from __future__ import annotations

import socket
import struct
import uuid
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin.client_quotas import AlterClientQuotasRequest
from kafka.protocol.parser import KafkaProtocol

Address = tuple[str, int]

_NONE, _EMPTY = b"\x00", b"\x01"


def _text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()


def exchange(address: Address, request: Any) -> Any:
    """The answer of the broker at `address` to a request of kafka-python's."""
    protocol = KafkaProtocol(client_id="test")
    protocol.send_request(request)
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(bytes(protocol.send_bytes()))
        while not (answers := protocol.receive_bytes(connection.recv(1 << 16))):
            pass
    return answers[0][1]


def _beat(address: Address, key: int, version: int, body: bytes) -> bytes | None:
    """The answer to a heartbeat behind its error code; None where it is refused."""
    frame = struct.pack(">hhih", key, version, 1, 4) + b"test" + _NONE + body
    with socket.create_connection(address, timeout=10) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        answer: bytes = answers.read(struct.unpack(">i", answers.read(4))[0])
    error, said = struct.unpack_from(">hB", answer, 9)
    return answer[12 + max(0, said - 1) :] if error == 0 else None


@dataclass
class Member:
    """A member of a share group (or of a streams group with the one task of reading ``orders``), as its heartbeats say."""

    addresses: list[Address]
    group: str
    kind: str
    name: str = field(default_factory=lambda: str(uuid.uuid4()))
    epoch: int = 0

    def beat(self) -> bool:
        """One heartbeat to whichever broker coordinates the group; whether it is a member now."""
        key, version, body = (88, 0, self._streams()) if self.kind == "streams" else (76, 1, self._share())
        for address in self.addresses:
            answer = _beat(address, key, version, body)
            if answer is not None:
                (self.epoch,) = struct.unpack_from(">i", answer, answer[0])
                return True
        return False

    def leave(self) -> None:
        """The last heartbeat."""
        self.epoch = -1
        self.beat()

    def _share(self) -> bytes:
        topics = b"\x02" + _text("orders") if self.epoch == 0 else _NONE
        return _text(self.group) + _text(self.name) + struct.pack(">i", self.epoch) + _NONE + topics + _NONE

    def _streams(self) -> bytes:
        topology = b"\x01" + struct.pack(">i", 0) + b"\x02" + _text("0") + b"\x02" + _text("orders") + _EMPTY * 5 + _NONE * 2
        joining = self.epoch == 0
        body = _text(self.group) + _text(self.name) + struct.pack(">ii", self.epoch, 0) + _NONE * 2 + struct.pack(">i", 60_000)
        body += topology if joining else b"\xff"
        body += (_EMPTY if joining else _NONE) * 3 + (_text("process") if joining else _NONE) + b"\xff" + (_EMPTY if joining else _NONE)
        return body + _NONE * 2 + b"\x00" + _NONE


def set_quota(address: Address, client_id: str, key: str, value: float) -> None:
    """Let `client_id` have no more than `value` of `key`."""
    of = AlterClientQuotasRequest.EntryData
    entry = of(entity=[of.EntityData(entity_type="client-id", entity_name=client_id)], ops=[of.OpData(key=key, value=value, remove=False)])
    answer = exchange(address, AlterClientQuotasRequest[1](entries=[entry], validate_only=False))
    assert [told.error_code for told in answer.entries] == [0]
