"""Wrappings around log lines, as data: what each looks like, and what is left of a line without it.

A wrapping only ever takes something off: the line below, which stream it belongs to, and when the collector saw it. Wrappings nest
(a pod prefix around a container runtime's around JSON), so they are peeled until none fits. Weak shapes (`name | text`) count only
where a sample of the file shows that many lines have them.
Sources: kubelet CRI log format, docker json-file driver, kubectl, stern, compose, systemd.journal-fields, RFC 3164, RFC 5424,
hadoop `LogToolUtils`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analyzers.logs.layouts.timestamps import parse
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.lines import classify
from analyzers.logs.wrappings.logfmt import LEVEL_SIGNS, record_of_pairs
from analyzers.logs.wrappings.records import Record, record_of

_RFC3339 = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"


class Peeled(NamedTuple):
    """A line without one wrapping. `local`: the time has no zone. `partial`: the next piece of the same stream continues the line."""

    text: bytes
    stream: str | None = None
    time_ms: int | None = None
    local: bool = False
    channel: str = ""
    partial: bool = False


Peel = Callable[[bytes], "Peeled | Record | None"]


@dataclass(frozen=True)
class Envelope:
    """One wrapping. `share`: fraction of the lines of a sample that must have it; `proof`: what is left must show log headers or frames.

    `signs`: one of these stands in every line that has it (empty = none is known), to pass over most wrappings at a glance.
    """

    name: str
    peel: Peel
    share: float = 0.5
    proof: bool = False
    always: bool = False  # unmistakable: peeled wherever it turns up in a wrapped file
    signs: tuple[bytes, ...] = ()


def _ms(text: bytes) -> int | None:
    stamp = parse(text.decode("ascii", "replace"))
    return stamp.ms if stamp is not None else None


CRI = expression(_RFC3339 + rb" (stdout|stderr) ([FP])(?::\S*)? ?(.*)$", re.DOTALL)


def _cri(line: bytes) -> Peeled | None:
    m = CRI.match(line)
    return Peeled(m[4], None, _ms(m[1]), False, m[2].decode(), m[3] == b"P") if m else None


POD = expression(rb"\[pod/([^/\]]+)/([^\]]+)\] ?(.*)$", re.DOTALL)


def _pod(line: bytes) -> Peeled | None:
    m = POD.match(line)
    return Peeled(m[3], f"{_text(m[1])}/{_text(m[2])}") if m else None


_TIMESTAMP = expression(_RFC3339 + rb" (.*)$", re.DOTALL)


def _kubectl_timestamps(line: bytes) -> Peeled | None:
    m = _TIMESTAMP.match(line)
    return Peeled(m[2], None, _ms(m[1])) if m else None


_LABELS = expression(_RFC3339 + rb" (\{[^{}]*=\"[^{}]*\}) ?(.*)$", re.DOTALL)
_LABEL = expression(r'(pod|container|host|hostname|instance|app)="([^"]*)"')


def _logcli(line: bytes) -> Peeled | None:
    m = _LABELS.match(line)
    if m is None:
        return None
    labels = dict(_LABEL.findall(_text(m[2])))
    stream = "/".join(labels[k] for k in ("pod", "container") if k in labels) or next(iter(labels.values()), None)
    return Peeled(m[3], stream, _ms(m[1]))


_AWS_TAIL = expression(_RFC3339 + rb" (?!\d{4}-\d\d-\d\d|\[\S*\] )(\S*[/\-]\S*) (.*)$", re.DOTALL)


def _aws_tail(line: bytes) -> Peeled | None:
    m = _AWS_TAIL.match(line)
    return Peeled(m[3], _text(m[2]), _ms(m[1])) if m else None


_COMPOSE = expression(rb"(?=[\w.-]*[A-Za-z])([A-Za-z0-9][\w.-]*) +\| ?(.*)$", re.DOTALL)  # a number is the key of a table


def _compose(line: bytes) -> Peeled | None:
    m = _COMPOSE.match(line)
    return Peeled(m[2], _text(m[1])) if m else None


_STERN = expression(rb"([a-z0-9][a-z0-9.-]*[a-z0-9]) (?:\xe2\x80\xba )?([a-z0-9][a-z0-9-]*) (.*)$", re.DOTALL)
_STERN_NOTE = expression(rb"[+-] [a-z0-9][a-z0-9.-]* \xe2\x80\xba ")


def _stern(line: bytes) -> Peeled | None:
    if _STERN_NOTE.match(line):
        return Peeled(b"", "")
    m = _STERN.match(line)
    return Peeled(m[3], f"{_text(m[1])}/{_text(m[2])}") if m else None


_POD_NAME = expression(rb"([a-z0-9][a-z0-9.-]*-[a-z0-9]{5,10}-[a-z0-9]{5}) (.*)$", re.DOTALL)  # of a Deployment


def _pod_name(line: bytes) -> Peeled | None:
    m = _POD_NAME.match(line)
    return Peeled(m[2], _text(m[1])) if m else None


_SYSLOG = expression(
    rb"(?:<\d{1,3}>)?([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?) (?:(\S*[^\s:]) )?([^\s:\[{\"]+)(?:\[(\d+)\])?: ?(.*)$", re.DOTALL
)
"""Some forwarders leave the host out."""
_SYSLOG_ISO = expression(rb"(?:<\d{1,3}>)?" + _RFC3339 + rb" ([\w.-]+) ([\w./@-]+)(?:\[(\d+)\]): ?(.*)$", re.DOTALL)
_SYSLOG_5424 = expression(
    rb"<\d{1,3}>\d "
    + _RFC3339
    + rb" (\S+) (\S+) (\S+) (\S+) (?:-|(?:\[(?:[^\]\"\\]|\\.|\"(?:[^\"\\]|\\.)*\")*\])+)(?: (?:\xef\xbb\xbf)?(.*))?$",
    re.DOTALL,
)


class Syslog:
    """RFC 3164 has no year: the normaliser supplies it."""

    def __init__(self, year: int | None = None, newest_ms: int | None = None) -> None:
        self.year, self.newest_ms = year, newest_ms

    def __call__(self, line: bytes) -> Peeled | None:
        m = _SYSLOG.match(line)
        if m is None:
            return Peeled(b"", "") if line.startswith(b"-- ") and line.endswith(b"--") else None
        stamp = parse(_text(m[1]), self.year, self.newest_ms)
        return Peeled(m[5], f"{_text(m[2])}/{_text(m[3])}" if m[2] else _text(m[3]), stamp.ms if stamp else None, True)


def _syslog_iso(line: bytes) -> Peeled | None:
    m = _SYSLOG_ISO.match(line)
    return Peeled(m[5], f"{_text(m[2])}/{_text(m[3])}", _ms(m[1])) if m else None


def _syslog_5424(line: bytes) -> Peeled | None:
    m = _SYSLOG_5424.match(line)
    return Peeled(m[6] or b"", f"{_text(m[2])}/{_text(m[3])}", _ms(m[1])) if m else None


_GREP = expression(rb"((?:[\w.@+-]*/)*[\w.@+-]+\.(?:log|out|err|txt)(?:\.[\w.-]*?)?)(?::(?:\d+:)?|-(?:\d+-(?!\d\d-\d\d))?)(.*)$", re.DOTALL)


def _grep(line: bytes) -> Peeled | None:
    if line == b"--":
        return Peeled(b"", "")
    m = _GREP.match(line)
    return Peeled(m[2], _text(m[1])) if m else None


_NUMBERED = expression(rb"\s{0,8}\d{1,7}(?:[:|\t-]| {1,2})[ \t]?(.*)$", re.DOTALL)


def _numbered(line: bytes) -> Peeled | None:
    m = _NUMBERED.match(line)
    return Peeled(m[1]) if m else None


_QUOTE = expression(rb"(?:> ?)+|\| (?=[\w(])")  # of mails within mails, too; a bar where no table is quoted


def _quote(line: bytes) -> Peeled | None:
    m = _QUOTE.match(line)
    return Peeled(line[m.end() :]) if m else Peeled(b"") if line == b"|" else None


def _json(line: bytes) -> Record | None:
    return record_of(line) if line[:1] == b"{" or line.lstrip()[:1] == b"{" else None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


ENVELOPES = (
    Envelope("cri", _cri, 0.3, always=True, signs=(b" stdout ", b" stderr ")),
    Envelope("kubectl-prefix", _pod, 0.2, always=True, signs=(b"[pod/",)),
    Envelope("json", _json, 0.2, always=True, signs=(b"{",)),
    Envelope("logfmt", record_of_pairs, 0.5, signs=LEVEL_SIGNS),
    Envelope("syslog-5424", _syslog_5424, 0.5, signs=(b"<",)),
    Envelope("syslog", Syslog(), 0.5),
    Envelope("journald-iso", _syslog_iso, 0.5),
    Envelope("logcli", _logcli, 0.5, signs=(b'="',)),
    Envelope("aws-tail", _aws_tail, 0.8, proof=True),
    Envelope("kubectl-timestamps", _kubectl_timestamps, 0.8, proof=True),
    Envelope("compose", _compose, 0.6, proof=True, signs=(b"|",)),
    Envelope("stern", _stern, 0.8, proof=True),
    Envelope("pod-name", _pod_name, 0.8, proof=True),
    Envelope("grep", _grep, 0.8, proof=True, signs=(b".log", b".out", b".err", b".txt", b"--")),
    Envelope("quote", _quote, 0.6, proof=True, signs=(b">", b"| ")),
    Envelope("numbered", _numbered, 0.9, proof=True),
)
BY_NAME = {envelope.name: envelope for envelope in ENVELOPES}

_PROOF = expression(rb"^(?:\s+at [\w.$/]+\(|Caused by: |\{\"|\[pod/)", re.MULTILINE)
# A line that is a header as it stands: what holds most lines of a text puts something before it.
_PLAIN = expression(rb"\[?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d\d/\d\d/\d\d \d\d:\d\d:\d\d ")
_YARN = expression(rb"^(?:Container: container_\S+ on \S+|LogType: ?\S+\s*$|End of LogType:)", re.MULTILINE)
_TAIL_HEADS = expression(rb"^==> .+ <==\s*$", re.MULTILINE)


def _headed(lines: Sequence[bytes]) -> int:
    """How many of the lines begin an event by their own look."""
    return int((classify(b"\n".join(lines) + b"\n").kinds != 0).sum()) if lines else 0


def peeled_sample(envelope: Envelope, lines: Sequence[bytes]) -> tuple[int, list[bytes]]:
    """How many of the lines have the wrapping, and what is left to be looked at; (0, []) as soon as its share is out of reach."""
    count, missing = 0, 0
    most = len(lines) - envelope.share * len(lines)
    rest: list[bytes] = []
    for line in lines:
        peeled = envelope.peel(line)
        if peeled is None:
            missing += 1
            if missing > most + 1:  # one to spare: fractions are rounded
                return 0, []
            rest.append(line)
            continue
        count += 1
        if isinstance(peeled, Record):
            rest += [] if peeled.structured else peeled.lines()  # a structured record is an event: nothing more is peeled off it
        else:
            rest.append(peeled.text)
    return count, rest


def wrappings_of(lines: Sequence[bytes]) -> tuple[str, ...]:
    """The wrappings of a sample of lines, outermost first."""
    names: list[str] = []
    lines = [line.rstrip(b"\r") for line in lines if line.strip()]
    while len(names) < 6:
        found = _outermost(lines, names)
        if found is None:
            return tuple(names)
        names.append(found[0])
        lines = [line for line in found[1] if line.strip()]
    return tuple(names)


def _outermost(lines: Sequence[bytes], names: Sequence[str]) -> tuple[str, list[bytes]] | None:
    if not lines:
        return None
    before = -1
    some = lines[:: max(len(lines) // 10, 1)]
    text = b"\n".join(lines)
    headers = sum(map(bool, map(_PLAIN.match, lines)))
    plain = headers * 2 > len(lines)
    if len(lines) - headers < min(envelope.share for envelope in ENVELOPES) * len(lines):
        return None  # too few lines are left for any
    for envelope in ENVELOPES:
        if plain and envelope.share >= 0.5:
            continue
        if envelope.signs and not any(sign in text for sign in envelope.signs):
            continue
        if envelope.name in names and envelope.name != "json":
            continue
        if envelope.name == "json" and names and names[-1] == "json" and names.count("json") > 2:
            continue
        if envelope.share >= 0.5 and not any(envelope.peel(line) is not None for line in some):
            continue
        count, rest = peeled_sample(envelope, lines)
        if not count or count < envelope.share * len(lines):
            continue
        if envelope.name == "syslog" and not _few_hosts(lines):
            continue
        if envelope.proof:
            before = _headed(lines) if before < 0 else before
            inside = _headed(rest)
            proven = bool(_PROOF.search(b"\n".join(rest)))
            if envelope.name in ("kubectl-timestamps", "aws-tail"):  # begin with a time, so that each line looks like a header before
                if not (inside >= 0.1 * count or (proven and inside) or (proven and not _levelled(rest))):
                    continue
            elif inside <= before and not (proven and not before) and not (envelope.name == "quote" and 2 <= count == len(lines)):
                continue
        return envelope.name, rest
    return None


def _levelled(lines: Sequence[bytes]) -> bool:
    """Whether lines go on with a level, as they do behind a time stamp of their own."""
    return sum(1 for line in lines if re.match(rb"\s*\[?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b", line)) * 3 > len(lines)


def _few_hosts(lines: Sequence[bytes]) -> bool:
    hosts = Counter(m[2] for m in map(_SYSLOG.match, lines) if m)
    return len(hosts) * 2 <= max(len(lines), 2)
