"""The pipe between this process and the one of librdkafka: frames of a length and JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import IO, Any


def frames(source: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The frames of `source` to its end."""
    while len(head := source.read(4)) == 4:
        yield json.loads(source.read(struct.unpack(">I", head)[0]))


def send_frame(sink: IO[bytes], content: Mapping[str, Any]) -> None:
    """Write `content` as one frame."""
    body = json.dumps(content).encode()
    sink.write(struct.pack(">I", len(body)) + body)
    sink.flush()
