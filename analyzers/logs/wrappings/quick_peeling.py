"""The wrappings of every day, peeled without expressions: container runtimes, Docker, `kubectl --prefix` and JSON records.

Each function of `Quick` either gives just what peeling envelope by envelope (`unwrapping.py`) would give, or None, which leaves the line
to that: pieces of a line, tags, other widths, wrappings within wrappings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs; documented by its use as JSONDecoder.parse_string
from typing import TypeVar

from analyzers.logs.layouts.timestamps import Zone
from analyzers.logs.wrappings.envelopes import CRI, POD
from analyzers.logs.wrappings.json_templates import Seconds, Templates, is_text
from analyzers.logs.wrappings.silent_records import Form

NAMES = frozenset(("cri", "kubectl-prefix", "json"))  # of wrappings, which may stand in one another
_CHANNELS = {b" stdout F ": "stdout", b" stderr F ": "stderr"}
_DOCKER = b'{"log":"'
_DOCKER_ENDS = {b'\\n","stream":"stdout","time":"': "stdout", b'\\n","stream":"stderr","time":"': "stderr"}
_END = len(next(iter(_DOCKER_ENDS)))
_END_BEGINS, _LONGEST_TIME = b'\\n","stream":"', 40
_OPENERS = frozenset(b" \t\r\x0b\x0c")  # blanks, behind which JSON may stand
_KEPT = 4096
_BRACE, _BRACKET, _BACKSLASH, _QUOTE, _RETURN = b'{[\\"\r'  # a number is found four times as quickly as bytes

_FRACTION = _END + 20  # in what stands behind the text: the time follows its key
_QUOTED = b'\\"'
_LETTERS = bytes(byte for byte in range(33, 127) if byte not in b"[{")  # nothing that is wrapped begins with one of them
_Value = TypeVar("_Value")
_Of = Callable[[bytes], "_Value | None"]

Quickly = tuple["str | None", str, bytes, "int | None"]  # stream, channel, text, envelope time (UTC milliseconds)


class Quick:
    """Peels the lines of one file. `zone` = of times without one."""

    def __init__(self, zone: Zone) -> None:
        self._seconds = Seconds()
        self._templates = Templates(zone)
        self._said = self._templates.said
        self._pods: dict[bytes, str] = {}

    @property
    def form(self) -> Form | None:
        """Of the records of the file, where they are known to be simple ones."""
        return self._templates.form

    def peel_all(self, lines: Sequence[bytes]) -> list[Quickly | None]:
        """What `peel` gives for each of some lines, one at least."""
        if lines[0].startswith(_DOCKER):
            return self._docker_all(lines)
        said = self._templates.many(lines, self.peel)
        return [*map(self.peel, lines)] if said is None else said

    def _docker_all(self, lines: Sequence[bytes]) -> list[Quickly | None]:
        """What `peel` gives for each of some lines, most of them Docker's whose ends are equally long: those are cut at fixed places."""
        joined = b"".join(lines)
        if not joined.isascii() or _RETURN in joined:
            return [*map(self.peel, lines)]
        end_of, second_of, zone, width, closing = self._docker_end()
        said: list[Quickly | None] = []
        for line in lines:
            end = line[-width:]
            channel, second = end_of(end[:_END]), second_of(end[_END:_FRACTION])
            if channel is not None and second is not None and end[zone:] == closing and end[_FRACTION:zone].isdigit():
                text = line[len(_DOCKER) : -width]
                if _BACKSLASH in text:
                    if text[:5] == b"\\tat ":  # most of what has escapes
                        text = b"\t" + text[2:]
                    if _QUOTE in text:  # each of them must be escaped
                        text = b"\\" if _QUOTE in text.replace(_QUOTED, b"") else text.replace(_QUOTED, b'"')
                    bare = _BACKSLASH not in text and (text[:1] in _LETTERS or _is_bare(text))
                else:
                    bare = _QUOTE not in text and (text[:1] in _LETTERS or _is_bare(text))
                if bare and text and line.startswith(_DOCKER):
                    said.append((None, channel, text, second[0] + int(end[_FRACTION : _FRACTION + 3])))
                    continue
            said.append(self.peel(line))
            end_of, second_of, zone, width, closing = self._docker_end()
        return said

    def _docker_end(self) -> tuple[_Of[str], _Of[tuple[int, bytes]], int, int, bytes]:
        """Look-ups of channels and seconds; where the zone begins, how long the end is, and its last bytes; as of the last line."""
        seconds = self._seconds
        return _DOCKER_ENDS.get, seconds.known.get, _END + seconds.end, _END + seconds.length + 2, seconds.zone + b'"}'

    def peel(self, line: bytes) -> Quickly | None:
        """The line without its wrappings; None where that takes a closer look."""
        if line[-1:] == b"\r":
            line = line.rstrip(b"\r")
        name, channel, time_ms = None, "", None
        if line[:1] == b"[" and line.startswith(b"[pod/"):
            end = line.find(b"] ") + 2
            name = self._pods.get(line[:end]) or self._pod(line[:end])
            if name is None:
                return None
            line = line[end:]
        if line[10:11] == b"T" and line[4:5] == b"-":
            end = line.find(b" ", 20, 40)
            found = _CHANNELS.get(line[end : end + 10])
            if found is not None:
                time_ms = self._seconds.ms(line[:end])
                if time_ms is None:
                    return None
                line, channel = line[end + 10 :], found
            elif CRI.match(line):
                return None
        if not line:
            return name, channel, line, time_ms
        first = line[0]
        if first == _BRACE:
            if line.startswith(_DOCKER):
                return self._record(line, name)
            said = self._said(line, time_ms)
            if said is None or said[1] is None:
                return None if said is None else (name, channel, said[0], said[2])
            return _within(name, said[1]), channel, said[0], said[2]
        if first in _OPENERS and not line.startswith(b"\tat ") and line.lstrip()[:1] == b"{":
            return None
        if first == _BRACKET and name is None and line.startswith(b"[pod/"):
            return None
        return name, channel, line, time_ms

    def _pod(self, prefix: bytes) -> str | None:
        """The name of the stream that `kubectl --prefix` states; None if that is not what stands there."""
        m = POD.match(prefix)
        if m is None or m.start(3) != len(prefix):
            return None
        if len(self._pods) >= _KEPT:
            self._pods.clear()
        name = self._pods[prefix] = f"{m[1].decode('utf-8', 'replace')}/{m[2].decode('utf-8', 'replace')}"
        return name

    def _record(self, line: bytes, name: str | None) -> Quickly | None:
        """A line of Docker's, and what is in it."""
        docker = self._docker(line)
        if docker is None:
            return None
        line, channel, time_ms = docker
        first = line[:1]
        if first == b"{":
            said = None if line.startswith(_DOCKER) else self._said(line, time_ms)
            return None if said is None else (_within(name, said[1]), channel, said[0], said[2])
        if (first.isspace() and line.lstrip()[:1] == b"{") or (first == b"[" and line.startswith(b"[pod/")):
            return None
        return name, channel, line, time_ms

    def _docker(self, line: bytes) -> tuple[bytes, str, int] | None:
        """Text, channel and time of a line of Docker's json-file driver that ends where the program's line ends."""
        at = line.rfind(_END_BEGINS, -_END - _LONGEST_TIME)
        channel = _DOCKER_ENDS.get(line[at : at + _END])
        if channel is None or line[-2:] != b'"}':
            return None
        time_ms = self._seconds.ms(line[at + _END : -2])
        text = line[len(_DOCKER) : at]
        if time_ms is None or (not line.isascii() and not is_text(line)):
            return None
        if text.startswith(b"\\tat "):  # most of what has escapes
            text = b"\t" + text[2:]
        if _BACKSLASH in text or _QUOTE in text:
            if text[:1] == b"\t":
                text = b"\\t" + text[1:]
            said = text.decode() + '"'
            try:
                plain, stop = scanstring(said, 0, False)
            except ValueError:
                return None
            if stop != len(said) or "\n" in plain:
                return None
            text = plain.encode("utf-8", "replace").rstrip(b"\r")
        return None if _RETURN in text else (text, channel, time_ms)


def _is_bare(text: bytes) -> bool:
    """Whether the first bytes of a text that begins with no letter show that nothing is wrapped around it."""
    return text[:4] == b"\tat " or (text[:1] == b"[" and text[:5] != b"[pod/")


def _within(name: str | None, stream: str | None) -> str | None:
    """The name of a stream inside of another one."""
    if stream is None or stream == name:
        return name
    return stream if name is None else f"{name}/{stream}"
