"""Records with their keys, as kcat (its own format, ``-f``) and ``kafka-console-consumer`` print them: which key stands in which partition.

Of a key and of a value only digests are kept. Source: kcat's ``-f`` (README), Kafka's DefaultMessageFormatter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from analyzers.logs.matching.expressions import expression
from analyzers.states.metric_store import moment_of
from analyzers.states.state import State, Text

SHAPE = "listing of records"
SIGNS = (b"kcat ", b"kafkacat ", b"Partition:")
GLANCE = re.compile(rb"(?:kcat|kafkacat) [^\n]{0,400}?-f|print\.partition=true")

_COMMAND = expression(r"\b(?:kcat|kafkacat)\s")
_FORMAT = expression(r"\s-f\s{0,4}(?P<quote>['\"])(?P<format>[^\n'\"]{1,200})(?P=quote)")
_OF_TOPIC = expression(r"\s(?:-t|--topic)[ =]{0,4}(?P<topic>[\w.-]{1,249})(?=\s|$)")
_CONSOLE = expression(r"\bkafka-console-consumer(?:\.sh)?\s")
_PRINTS = expression(r"print\.(?P<what>key|partition|offset|timestamp|headers|value|epoch|delivery)=true")
_PROMPT = expression(r"^(?:\[[^\]\n]*\]|[\w@.:~/-]+)?\s*[$#] \S")
_FIELDS = {
    "t": r"(?P<t>[\w.-]{1,249})", "p": r"(?P<p>\d{1,6})", "o": r"(?P<o>\d{1,18})", "k": r"(?P<k>\S.*?)",
    "T": r"(?P<T>\d{1,18}|\d\d:\d\d:\d\d(?:\.\d{1,6})?)",
    "s": r"(?P<s>.*?)", "S": r"-?\d+", "K": r"-?\d+", "R": r".*?", "h": r".*?", "%": "%",
}  # fmt: skip
_SAME = expression(r"^\S{0,60}[$#] ?(?:\.\.\.|…)")
"""A command that is the one above with another filter."""
_LOOP = expression(r"\bfor\s+(?P<name>\w{1,30})\s+in\s+(?P<values>[\w. -]{1,400}?)\s*;")
_OF_LOOP = expression(r"\s(?:-t|--topic)[ =]{0,4}[\"']?\$\{?(?P<name>\w{1,30})")
_ESCAPES = {r"\t": "\t", r"\r": "", r"\\": "\\"}
_MOST, _LONGEST, _LONGEST_COMMAND = 20_000, 300, 2_000
_NO_KEYS = frozenset({"", "null", "NULL"})


def read(text: Text) -> Iterator[State]:
    """The records below each command, one state for each."""
    form: re.Pattern[str] | None = None
    topic: str | None = None
    state: State | None = None
    for number, line in enumerate(text.lines):
        begins = _begun(line)
        if begins is not None or _PROMPT.match(line):
            if state is not None:
                yield state
            state = None
            if begins is not None or not _SAME.match(line):
                form, topic = begins or (None, None)
            continue
        m = form.match(line) if form is not None and len(line) <= _LONGEST else None
        if m is None:
            continue
        found = m.groupdict()
        of = found.get("t") or topic
        if of is None or not found.get("p") or (found.get("k") or "").strip() in _NO_KEYS:
            continue
        state = state or State(SHAPE, number, number + 1)
        state.last = number + 1
        if len(state.rows.get("keyed_records", ())) < _MOST:
            state.add("keyed_records", {
                "at": moment_of(found["T"]) if (found.get("T") or ":").isdigit() else None, "topic": of, "partition": int(found["p"]),
                "offset": int(found["o"]) if found.get("o") else None, "key": _digest(found["k"]),
                "value": _digest(found["s"]) if found.get("s") else None, "line": number + 1,
            })  # fmt: skip
    if state is not None:
        yield state


def _digest(written: str) -> str:
    return hashlib.blake2b(written.strip().encode(), digest_size=8).hexdigest()


def _begun(line: str) -> tuple[re.Pattern[str], str | None] | None:
    """How the records below a command are written, and their topic."""
    line = line[:_LONGEST_COMMAND]
    topic = _topic(line)
    if _COMMAND.search(line) and (m := _FORMAT.search(line)) is not None:
        form = _form(m["format"])
        return (form, topic) if form is not None else None
    if _CONSOLE.search(line) and topic is not None:
        prints = {m["what"] for m in _PRINTS.finditer(line)}
        return (_printed(prints), topic) if {"key", "partition"} <= prints and not prints & {"epoch", "delivery"} else None
    return None


def _topic(command: str) -> str | None:
    """The topic of a command; of a loop all of them, whose records are mixed."""
    if (found := _OF_TOPIC.search(command)) is not None:
        return found["topic"]
    looped, loop = _OF_LOOP.search(command), _LOOP.search(command)
    if looped is None or loop is None or looped["name"] != loop["name"]:
        return None
    return ", ".join(loop["values"].split())


def _printed(prints: set[str]) -> re.Pattern[str]:
    """The line of a record of kafka-console-consumer that prints these of it, in whichever order its version does."""
    parts = [r"Partition:(?P<p>\d{1,6})\t"]
    if "timestamp" in prints:
        parts.append(r"(?:CreateTime|LogAppendTime):(?P<T>\d{1,18})\t")
    if "offset" in prints:
        parts.append(r"Offset:(?P<o>\d{1,18})\t")
    headers = r"[^\t\n]*\t" if "headers" in prints else ""
    return re.compile(f"^(?:{'|'.join(parts)}){{{len(parts)}}}{headers}(?P<k>[^\\t\\n]+)")


def _form(written: str) -> re.Pattern[str] | None:
    """A format of kcat as an expression for one line; None where a field stands in it twice, or one that it does not have."""
    first = written.split(r"\n", 1)[0]
    parts, seen = [], set[str]()
    for piece in re.findall(r"%.|\\.|[^%\\]+", first):
        if piece.startswith("%"):
            if (
                piece[1] not in _FIELDS
                or (piece[1] in seen and piece[1] in "tpoTk")
                or (
                    piece[1] in "shR" and seen & {"s", "h", "R"} and not {"k", "p"} <= seen  # behind both nothing is read any more
                )
            ):
                return None
            seen.add(piece[1])
            parts.append(_FIELDS[piece[1]])
        else:
            parts.append(r"\s+".join(map(re.escape, re.split(r" +", _ESCAPES.get(piece, piece)))))  # people line columns up
    return re.compile(rf"^\s*{''.join(parts)}\s*$") if {"k", "p"} <= seen else None
