"""The questions of ``--what-if``, as ``entries=12 dead=4 kind=black-hole client=2.4.1 parallelism=64`` or, of a live cluster,
``remove=7,8,9``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from analyzers.forecast.clients import CONNECTORS, client_of_flink
from analyzers.forecast.odds import KINDS, Client, Entries

DEFAULT_VERSION = "2.4.1"

_SAME = {
    "client_version": "client", "version": "client", "clients": "parallelism",
    "default_api_timeout": "timeout", "default.api.timeout.ms": "timeout",
    "request.timeout.ms": "request_timeout", "socket.connection.setup.timeout.ms": "setup_timeout", "syn_retries": "tcp_syn_retries",
    "net.ipv4.tcp_syn_retries": "tcp_syn_retries", "removed": "remove", "brokers": "entries",
}  # fmt: skip
_COUNTS = ("entries", "dead", "parallelism", "tcp_syn_retries", *KINDS)
_TIMES = ("timeout", "request_timeout", "setup_timeout")
_WORDS = ("kind", "client", "flink", "connector", "remove", "name")
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|min)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0}
_KIND_WORDS = {"blackhole": "black-hole", "black_hole": "black-hole", "timeout": "black-hole", "stopped": "hung", "killed": "refused"}


@dataclass(frozen=True)
class WhatIf:
    """One question: `text` as asked; `entries` is None where the live list is meant, `remove` the node ids that would go.

    `dead` counts the imagined dead entries by kind.
    """

    text: str
    entries: Entries | None
    client: Client | None
    remove: tuple[int, ...] = ()
    kind: str = "black-hole"
    dead: Mapping[str, int] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)


def parse_what_if(text: str, *, stated: Mapping[str, str] | None = None) -> WhatIf:
    """`text` as a question; `stated` are ``client``, ``connector``, ``parallelism``, … from elsewhere, which `text` overrides.

    Raises ``ValueError`` with a sentence for what cannot be understood or cannot be.
    """
    said = _pairs(text)
    given = {**(stated or {}), **said}
    kind = _kind(given.get("kind", "black-hole"))
    if "remove" in given:
        for needless in ("entries", "dead", *KINDS):
            if needless in said:
                raise ValueError(f"{text!r}: remove= asks about the live cluster, {needless}= about an imagined one; give one of them")
        return WhatIf(
            text, None, client_of(given) if "client" in given or "flink" in given else None, _nodes(given["remove"]), kind, said=given
        )
    if "entries" not in given:
        raise ValueError(f'{text!r}: entries= is missing; for example "entries=12 dead=4 kind=black-hole client=2.4.1 parallelism=64"')
    dead = {k: _count(k, given[k]) for k in KINDS if k in given}
    if "dead" in given:
        dead[kind] = dead.get(kind, 0) + _count("dead", given["dead"])
    entries = Entries.of(_count("entries", given["entries"]), dead, one_name=given.get("name", "many") == "one")
    return WhatIf(text, entries, client_of(given), (), kind, {k: n for k, n in dead.items() if n}, given)


def _pairs(text: str) -> dict[str, str]:
    said: dict[str, str] = {}
    for part in re.split(r"[\s;]+", text.strip()):
        key, equals, value = part.partition("=")
        key = _SAME.get(key.strip().lower(), key.strip().lower())
        if not equals or not value:
            raise ValueError(f"{part!r} is no KEY=VALUE of {text!r}")
        known = (*_COUNTS, *_TIMES, *_WORDS)
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise ValueError(f"{text!r}: {key}= is not known" + (f", did you mean {near[0]}=?" if near else f"; one of {', '.join(known)}"))
        if key in said:
            raise ValueError(f"{text!r}: {key}= is given twice")
        if key in _TIMES and part.partition("=")[0].lower().endswith(".ms") and value.isdigit():
            value += "ms"  # as it stands in a properties file
        said[key] = value
    return said


def client_of(given: Mapping[str, str]) -> Client:
    """The client that ``client`` (or ``flink``), ``connector``, ``parallelism`` and times name. Raises ``ValueError``."""
    name = given.get("connector", "plain").lower()
    if name not in CONNECTORS:
        raise ValueError(f"connector={name} is not known; one of {', '.join(CONNECTORS)}")
    connector = CONNECTORS[name]
    version = given.get("client") or (client_of_flink(given["flink"]) if "flink" in given else DEFAULT_VERSION)
    clients = _count("parallelism", given.get("parallelism", "1"))
    return Client(
        version,
        1 if connector.one_client else clients,
        connector,
        api_timeout=_time("timeout", given),
        request_timeout=_time("request_timeout", given),
        setup_timeout=_time("setup_timeout", given),
        tcp_syn_retries=_count("tcp_syn_retries", given.get("tcp_syn_retries", "6")),
    )


def _count(key: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text):
        raise ValueError(f"{key}={text} is no number")
    return int(text)


def _time(key: str, given: Mapping[str, str]) -> float | None:
    if key not in given:
        return None
    match = _TIME.fullmatch(given[key].lower())
    if match is None:
        raise ValueError(f"{key}={given[key]} is no time; write 60s or 60000ms")
    return float(match[1]) * _SECONDS[match[2] or "s"]


def _nodes(text: str) -> tuple[int, ...]:
    parts = [part for part in text.split(",") if part]
    if not parts or not all(re.fullmatch(r"\d{1,9}", part) for part in parts):
        raise ValueError(f"remove={text}: write the node ids of brokers, as remove=7,8,9")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _kind(text: str) -> str:
    kind = _KIND_WORDS.get(text.lower(), text.lower())
    if kind not in KINDS:
        raise ValueError(f"kind={text} is not known; one of {', '.join(KINDS)}")
    return kind
