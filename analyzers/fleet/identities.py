"""Which names mean the same thing in every cluster: only these can be what several jobs have in common.

A worker ``tm-1``, a broker ``kafka-1:9092``, the address 172.18.0.3 exist wherever the defaults were kept. What identifies a thing beyond
its own cluster is a name that was chosen for it, or a number that was drawn for it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from analyzers.components.toml_files import toml_file
from analyzers.report.report import Name, Verdict
from analyzers.tables import Row

_KNOWN = toml_file(__package__ or "analyzers.fleet", "identities.toml")
_ROLES = frozenset(_KNOWN["roles"].split())
_NETWORKS = tuple(map(ip_network, _KNOWN["networks"]))
_COPIED = frozenset(_KNOWN["clusters"])
_STORES = frozenset(_KNOWN["stores"])
_PORTS: Mapping[str, int] = _KNOWN["ports"]
_SHORTEST = 3
"""Letters of a word that identifies something: shorter ones are abbreviations of roles (``db``, ``tm``, ``cp``) or countries."""

_WORD = re.compile(r"[a-z]+")
_OF_AWS = re.compile(r"ip(?:-\d{1,3}){4}\b")
_REDACTED = re.compile(r"\bhost-[0-9a-f]{4,}\b")
_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\],]+)(?:/[\w.<>-]*)?:(?P<port>\d{1,5})")
_IN_WORDS = re.compile(
    r"(?<![\w.@/-])(?P<host>(?:[a-zA-Z0-9_-]+\.)+(?!(?:java|scala|kt|py|go|js|ts|rs|cs|cc?|cpp|rb|sql|jar|log|txt|md|csv|html"
    r"|avsc|proto|json|ya?ml|toml|xml|sh|conf|properties)\b)[a-z]{2,24}"
    r"|\d{1,3}(?:\.\d{1,3}){3})(?:/[\d.]+)?:(?P<port>\d{2,5})\b"
)
_URI = re.compile(r"(?P<scheme>[a-z][a-z0-9+-]{1,20})://(?P<authority>[^\s/'\",;)\]<>?\\]+)")
_LINE = re.compile(r"\.\w+\([\w$]+\.\w+:\d+\)|File \"[^\"\n]+\", line \d+, in \w+")


def is_telling(host: str) -> bool:
    """Whether a host's name or IP address identifies one machine or service beyond its own cluster."""
    host = host.strip("[]").rstrip(".").lower()
    try:
        return _is_of_one(ip_address(host))
    except ValueError:
        pass
    names = host.rpartition(".")[0] or host  # the top-level domain identifies nothing
    words = (word for word in _WORD.findall(names) if len(word) >= _SHORTEST and word not in _ROLES)
    return any(words) or bool(_OF_AWS.match(host) or _REDACTED.search(host))


def _is_of_one(ip: IPv4Address | IPv6Address) -> bool:
    if ip.is_loopback or ip.is_unspecified or ip.is_link_local or ip.is_multicast:
        return False
    return not any(ip in network for network in _NETWORKS)


def is_cluster(identity: str) -> bool:
    """Whether the id of a Kafka cluster was drawn for it, as a random UUID or by Confluent Cloud: not copied from an example, not typed."""
    if identity.startswith("lkc-"):
        return True
    try:
        drawn = base64.urlsafe_b64decode(identity + "=" * (-len(identity) % 4))
    except (binascii.Error, ValueError):
        return False
    return len(drawn) == 16 and identity not in _COPIED and not all(32 <= byte < 127 for byte in drawn)


def names_of(verdict: Verdict) -> list[Name]:
    """What the chain of `verdict` names: its subject, and its decisive words, among which are those of what explains it."""
    said = verdict.subject
    found = [
        *(name for each in _all(said.get("address")) for name in _of_address(each)),
        *(Name("broker", each) for each in _all(said.get("broker"))),
        *(Name("topic", each) for each in _all(said.get("topic"))),
        *(Name("host", host) for key in ("host", "worker") for each in _all(said.get(key)) if is_telling(host := _host_of(each))),
        *(Name("image", each) for each in _all(said.get("image")) if "/" in each or is_telling(each.partition(":")[0])),
        *(Name("frame", each) for each in _all(said.get("user_line")) if _LINE.search(each)),
        *(name for each in _all(said.get("path")) for name in _in_words(each)),
        *(name for quote in verdict.words for name in _in_words(quote.words)),
    ]
    return list(dict.fromkeys(found))


def surroundings(tables: Mapping[str, Sequence[Row]]) -> list[Name]:
    """What the evidence of one scope shows its jobs to stand on: the Kafka cluster where it is one, nodes, images, hosts."""
    clusters: set[str] = set()
    lists: set[frozenset[str]] = set()
    found: list[Name] = []
    for event in tables.get("log_events", ()):
        detail = event["detail"] or {}
        if event["signature"] == "cluster-reached" and "cluster" in detail:
            clusters.add(detail["cluster"])
        elif event["signature"] == "kafka-client-config" and detail.get("bootstrap"):
            lists.add(frozenset(entry.strip() for entry in detail["bootstrap"].split(",")))
        elif event["signature"] == "image-pulled" and "image" in detail:
            found.append(Name("image", detail["image"]))
    if len(clusters) < 2 and (not lists or frozenset.intersection(*lists)):  # else a broker's number may be of any of them
        found += [Name("cluster", identity) for identity in clusters if is_cluster(identity)]
        found += [Name("bootstrap", entry) for entry in frozenset().union(*lists) if is_telling(_host_of(entry))]
    found += [Name("node", str(row["node"])) for row in tables.get("pod_containers", ()) if row["node"] and is_telling(row["node"])]
    found += [Name("host", str(row["host"])) for row in tables.get("log_files", ()) if row["host"] and is_telling(row["host"])]
    return sorted(set(found), key=lambda name: (name.kind, name.value))


def _all(value: object) -> Iterable[str]:
    return [str(each) for each in (value if isinstance(value, (list, tuple)) else [value]) if each is not None]


def _host_of(address: str) -> str:
    match = _ADDRESS.fullmatch(address)
    return match["host"] if match else address.partition("/")[0]


def _of_address(address: str) -> Iterator[Name]:
    match = _ADDRESS.fullmatch(address)
    if match and is_telling(match["host"]):
        yield Name("address", f"{match['host'].lower()}:{match['port']}")
        yield Name("server", match["host"].lower())


def _in_words(words: str) -> Iterator[Name]:
    for match in _URI.finditer(words):
        scheme, authority = match["scheme"], match["authority"].lower()
        if scheme in _STORES:
            if is_telling(_host_of(authority)):
                yield Name("storage", f"{'s3' if scheme.startswith('s3') else scheme}://{authority}")
            continue
        called = authority.rpartition("@")[2]
        if ":" in called or scheme in _PORTS:
            yield from _of_address(called if ":" in called else f"{called}:{_PORTS[scheme]}")
    for match in _IN_WORDS.finditer(words):
        yield from _of_address(f"{match['host']}:{match['port']}")
