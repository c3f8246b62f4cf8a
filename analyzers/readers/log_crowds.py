"""Logs of many clusters below one directory: which of them belong together, so that each is read and judged as if it lay there alone.

Directories belong together where their logs name the same Flink job, Spark application or streaming query. A directory whose logs name none
(a broker's, a client's) belongs to the only cluster beside which it lies, else to none.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np

from analyzers.logs.matching.matcher import Matcher
from analyzers.readers.opening import TROUBLES, at_most, open_file, parts
from analyzers.tables import Row

TOGETHER = 3
"""So many clusters are judged as one: that a job runs twice, or was submitted again in another directory, shows only there. So do the
brokers' logs beside them. More of them are a crowd, in which lines of one would be taken for another's. So are two or three whose clients
name no bootstrap server in common: they are two systems."""
COORDINATORS = ("jobmanager", "spark-driver")
_READ = 4 << 20  # of each text; a coordinator names its jobs again and again
_AT_END = 1 << 20
_IDS = re.compile(
    rb"[Jj]ob(?! ?[Mm](?:aster|anager)\b)(?:Graph\()?"
    rb"(?:[ :=](?:[Ii][Dd][ :=]*|with (?:JobId=|job id )|'[^'\n]{0,200}' |[^\n(]{1,120}? )??|Id[:=] ?)\(?([0-9a-f]{32})\b"
    rb"|\b(application_\d{10,13}_\d+)|\b(app-\d{14}-\d{4})|\[id = ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
_SERVERS = re.compile(rb"(?<![\w.])bootstrap\.servers[ =:]{1,3}\[?([\w.-]{1,200}:\d{2,5}(?:,[ ]?[\w.-]{1,200}:\d{2,5}){0,30})")
_APART = 2
_ID, _STEP = 32, 8
_HEX, _WORD = np.zeros(256, bool), np.zeros(256, bool)
_HEX[list(b"0123456789abcdef")] = True
_WORD[list(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")] = True

Log = tuple[str, tuple[str, ...], str | None]  # path, members on the way into an archive, role of the process


def crowd(logs: Sequence[Log]) -> list[tuple[str, list[int]]]:
    """Name and logs (by number) of each cluster, in order of name; empty where they are no crowd."""
    homes: dict[str, list[int]] = defaultdict(list)
    for number, (path, members, _) in enumerate(logs):
        homes[os.path.dirname("!".join((path, *members)))].append(number)
    leading = {home for home, own in homes.items() if any(logs[number][2] in COORDINATORS for number in own)}
    if len(leading) < _APART:
        return []
    ids, servers = _named_below(logs, homes)
    sets = _joined([(frozenset((home,)), frozenset(ids[home])) for home in homes if ids[home]])
    led = [own for own in sets if leading & own]
    if len(led) <= TOGETHER and not _are_apart([frozenset().union(*(servers[home] for home in own)) for own in led]):
        return []
    top = os.path.commonpath([home or "." for home in homes]) if len({os.path.isabs(home) for home in homes}) == 1 else ""
    of = {home: number for number, own in enumerate(sets) for home in own}
    clusters: dict[object, set[str]] = {number: set(own) for number, own in enumerate(sets)}
    for home in homes:
        if home not in of:
            clusters.setdefault(_beside(home, top, of), set()).add(home)
    named: dict[str, list[int]] = {}
    for own in sorted(map(sorted, clusters.values())):
        name = os.path.relpath(_common(own, leading), top or ".")
        name = name if name not in named else f"{name} ({own[0]})"
        named[name] = sorted(number for home in own for number in homes[home])
    return sorted(named.items())


def _are_apart(servers: Sequence[frozenset[bytes]]) -> bool:
    """Whether the clients of each cluster name bootstrap servers, and none of another's."""
    return len(servers) >= _APART and all(servers) and sum(map(len, servers)) == len(frozenset().union(*servers))


def _common(own: Sequence[str], leading: set[str]) -> str:
    """The directory that a cluster is called by: the one above all of its logs, or that of its coordinator."""
    return os.path.commonpath(own) if len(own) > 1 else next(iter(sorted(leading & set(own))), own[0])


def _beside(home: str, top: str, of: Mapping[str, int]) -> object:
    """The cluster of the nearest directory above `home` below which there is only one; else the branch of `top` that it is in."""
    above = home
    while above not in (top, ""):
        near = {number for other, number in of.items() if other == above or other.startswith(above + os.sep)}
        if near:
            return next(iter(near)) if len(near) == 1 else f"beside {above}"
        branch, above = above, os.path.dirname(above)
        if above == branch:
            break
    return os.path.relpath(home, top or ".").split(os.sep)[0] if home != top else home


def _joined(sets: Iterable[tuple[frozenset[str], frozenset[bytes]]]) -> list[set[str]]:
    """Homes that share an id, directly or through others."""
    leader: dict[str, str] = {}

    def first(home: str) -> str:
        while leader[home] != home:
            leader[home] = home = leader[leader[home]]
        return home

    seen: dict[bytes, str] = {}
    for homes, ids in sets:
        for home in homes:
            leader.setdefault(home, home)
            for each in ids:
                leader[first(home)] = first(seen.setdefault(each, home))
    together: dict[str, set[str]] = defaultdict(set)
    for home in leader:
        together[first(home)].add(home)
    return list(together.values())


def _named_below(logs: Sequence[Log], homes: Mapping[str, Sequence[int]]) -> tuple[dict[str, set[bytes]], dict[str, set[bytes]]]:
    """By directory the jobs that its logs name, and the bootstrap servers."""
    of = {number: home for home, own in homes.items() for number in own}
    by_path: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for number, (path, members, _) in enumerate(logs):
        by_path[path][members] = number
    found: dict[str, set[bytes]] = defaultdict(set)
    servers: dict[str, set[bytes]] = defaultdict(set)

    def look(home: str, text: bytes) -> None:
        found[home] |= ids_in(text)
        for named in _SERVERS.finditer(text):
            servers[home] |= {each for each in re.split(rb"[,\s]+", named[1]) if each}

    for path, wanted in by_path.items():
        try:
            with open_file(path) as stream:
                for members, text, _ in parts(stream):
                    if members in wanted:
                        look(of[wanted[members]], at_most(text, _READ))
                if () in wanted and (size := stream.seek(0, os.SEEK_END)) > _READ:
                    stream.seek(max(size - _AT_END, 0))
                    look(of[wanted[()]], at_most(stream, _AT_END))
        except TROUBLES:
            continue  # it is told when the file is read
    return found, servers


def ids_in(text: bytes) -> set[bytes]:
    """The Flink jobs, Spark applications and queries that lines name."""
    found: set[bytes] = set()
    done = -1  # where the last line that was looked at ends
    signs = ((last, b"") for last in _signs().scan(text)[1].tolist())
    for at, known in sorted((*signs, *_ends_of_ids(text))):
        if at <= done or known in found:
            continue  # of all its ids the line has to name a new one
        start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        if known and text.find(b"ob", start, at) < 0:
            continue  # an id of something else
        done = end = len(text) if end < 0 else end
        found.update(next(filter(None, each)) for each in _IDS.findall(text, start, end))
    return found


@lru_cache(maxsize=1)
def _signs() -> Matcher:
    """What stands where applications and queries may be named."""
    return Matcher((b"application_", b"app-", b"[id = "))


def _ends_of_ids(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Words that end in 32 hexadecimal digits: where, and these. Every eighth byte is looked at, four of which are digits of such an id."""
    data = np.frombuffer(text + b" " * _ID, np.uint8)
    sampled = _HEX[data[::_STEP]]
    four = sampled[:-3] & sampled[1:-2] & sampled[2:-1] & sampled[3:]
    ends = np.flatnonzero(four) * _STEP + 3 * _STEP
    for _ in range(_STEP):
        ends += _HEX[data[ends]]
    ends = ends[(ends >= _ID) & ~_WORD[data[ends]]]
    ends = ends[_HEX[data[ends[:, None] - np.arange(1, _ID + 1)]].all(axis=1)]
    return ((end - 1, text[end - _ID : end]) for end in ends.tolist())


def belongs_to(log_files: Sequence[Row]) -> Callable[[str], str]:
    """Of logs that were read cluster by cluster: which scope what lies at a path is in, "" where none of them or several are as near."""
    above: dict[str, list[str]] = defaultdict(list)
    for row in log_files:
        above[row["scope"]].append(os.path.dirname(row["file"]))
    places = {scope: os.path.commonpath(homes).split(os.sep) for scope, homes in above.items() if scope and all(homes)}

    def nearest(path: str) -> str:
        way = path.split(os.sep)
        shared = {scope: _shared(way, place) for scope, place in places.items()}
        most = max(shared.values(), default=0)
        near = [scope for scope, length in shared.items() if length == most]
        return near[0] if len(near) == 1 else ""

    return nearest


def _shared(way: Sequence[str], place: Sequence[str]) -> int:
    return next((at for at, (here, there) in enumerate(zip(way, place, strict=False)) if here != there), min(len(way), len(place)))
