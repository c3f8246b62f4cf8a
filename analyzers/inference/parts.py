"""Which component a failure belongs to: by the classes of its chain, by who called whom in its frames, by the addresses it names.

What the table of components does not know gets a role by its place: what the engine calls is the user's code; what a connector calls, and
what the user's code calls in a package of its own, is the client of a service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from analyzers.components import Component, component_of, is_user, named, of_scheme
from analyzers.inference.link import Failure, Link

TELLING = frozenset(("service", "cloud", "storage", "table", "disk", "codec", "kafka", "state", "checkpoint", "peer", "ha"))
"""Roles of what can be to blame."""
_SPECIFIC = frozenset(("service", "storage", "table"))
_SILENT = frozenset(("runtime", "library"))
_HEADER = 200
_URL = re.compile(r"\b(?:jdbc:)?[a-z][a-z0-9+:._-]{1,20}://[^\s\"'<>]+")
_QUOTED = re.compile(r"\b(?:[a-z][\w$]*\.){2,}[A-Z][\w$]*")
_CALLED_URL = re.compile(r"(?:url|URL|to|from|GET|POST|PUT|PATCH|DELETE|endpoint|uri|URI|for|during \[\w+\])[ :(\[\"'=]{1,4}https?://")
_TOP = frozenset(
    (
        "apache",
        "microsoft",
        "ibm",
        "oracle",
        "alibaba",
        "com",
        "org",
        "net",
        "io",
        "de",
        "cn",
        "fr",
        "uk",
        "co",
        "ru",
        "dev",
        "ai",
        "me",
        "eu",
        "us",
        "ch",
        "nl",
        "se",
        "no",
        "jp",
        "br",
        "in",
        "app",
        "tech",
        "cloud",
        "software",
    )
)
_GENERAL = frozenset(
    ("client", "clients", "driver", "drivers", "jdbc", "sdk", "api", "internal", "impl", "exceptions", "exception", "errors", "error", "core", "common", "java", "scala", "kotlin", "python", "http", "rpc", "grpc", "rest",
     "util", "utils", "v1", "v2", "v3", "model", "models", "sync", "async", "protocol", "net", "network", "transport", "connection", "connector", "connectors", "flink", "spark", "kafka", "beam", "sink", "source", "writer")
)  # fmt: skip
_OF_CLIENTS = frozenset(["client", "clients", "driver", "drivers", "sdk", "jdbc", "rpc", "protocol", "connection", "transport"])
_SUFFIX = re.compile(r"(?:Client|Server|Service|Db|DB|Jdbc|Sdk|SDK)?(?:Runtime|Status|Api|Call|Http)?(?:Exception|Error|Failure|Fault)$")
_ASKED = frozenset(
    ("unavailable", "unanswered", "refused", "access", "exhausted", "expired", "fenced", "conflict", "missing", "full", "gone")
)
"""Kinds of failures of a call: who says so was asked."""


@dataclass(frozen=True)
class Part:
    """What failed: what it is called, its role, and what shows it."""

    called: str | None
    role: str
    shown_by: str
    package: str | None = None  # of a client that the table does not know
    vague: bool = False


def part_of(failure: Failure, deciding: Link, kind: str | None, logger: str | None = None) -> tuple[Part, str | None]:
    """The component that failed, and the frame of the user's own code next to it; `logger`: who prints it, the last to be asked."""
    own = _own_package(failure)
    user = _user_frame(failure, own)
    if kind not in _ASKED and _of_user(deciding, failure.language):
        return Part(None, "user", f"class {deciding.kind}"), user
    part = _known(failure, deciding) or _unknown(failure, deciding, kind, own) or _by_address(failure)
    if part is None or part.called in (None, "Flink", "Spark", "Beam") or part.role == "engine":
        part = _unknown(failure, deciding, kind, own) or _by_address(failure, kind) or part
    if part is None or (part.called is None and part.role != "user"):
        part = _by_logger(failure, logger) or part
    if part is not None and part.vague:
        part = _specific(failure, part)
    if part is None:
        role = "user" if user else "runtime" if deciding.kind else "user"
        part = Part(None, role, f"frame {user}" if user else deciding.simple or "message")
    return part, user


def _of_user(link: Link, language: str) -> bool:
    """Whether an exception is a class of the user's own."""
    return (
        language in ("java", "")
        and link.kind.count(".") >= 2
        and component_of(link.kind) is None
        and not _client_like(link.kind)
        and is_user(link.kind)
    )


def _known(failure: Failure, deciding: Link) -> Part | None:
    """The first component with a name of its own that the table knows, from the deciding exception outwards, then inwards."""
    chain = failure.chain
    at = next(number for number, link in enumerate(chain) if link is deciding)
    fallback: Part | None = None
    for link in (*reversed(chain[: at + 1]), *chain[at + 1 :]):
        if (part := _of_class(link, failure.language)) is not None:
            if part.role in TELLING:
                return part
            fallback = fallback or part
        if (part := _of_frames(link, failure.language)) is not None:
            if part.role in TELLING or part.role == "user":
                if part.role == "user" and fallback is not None and fallback.role == "connect":
                    return fallback
                return part
            fallback = fallback or part
    return fallback


def _of_class(link: Link, language: str) -> Part | None:
    if not link.kind:
        return None
    found = component_of(link.kind, language if language in ("rust", "go", "node") else None)
    if found is None and language != "dotnet":
        found = named(link.simple) if "." not in link.kind or language in ("node", "python", "rust") else None
    if found is None or found.role in _SILENT:
        return None
    return Part(found.called, found.role, f"class {link.kind}", vague=found.vague) if found.role != "connect" else None


def _of_frames(link: Link, language: str) -> Part | None:
    """Who threw: the first frame that is no library's; ``user`` where that is the user's own."""
    of = language if language in ("go", "rust", "node") else None
    printed = link.printed if language == "node" else link.frames
    for frame in printed:
        found = component_of(frame, of)
        if found is not None:
            if found.role in _SILENT or (found.role == "engine" and not found.called):
                continue
            if found.role == "connect":
                name = _of_connector(frame)
                return Part(name, "service", f"frame {frame}") if name else None
            return Part(found.called, found.role, f"frame {frame}", vague=found.vague)
        if is_user(frame, of or ("python" if language == "python" else None)):
            return Part(None, "user", f"frame {frame}")
    return None


def _of_connector(frame: str) -> str | None:
    """What a connector is called that no table names: ``org.apache.flink.connector.gridhouse.sink.X.write`` → Gridhouse."""
    found = re.search(r"\.connectors?\.(?:kafka\.)?(?P<it>[a-z][a-z0-9]+)\.", frame) or re.search(
        r"\.cdc\.connectors\.(?P<it>[a-z0-9]+)\.", frame
    )
    if found is None or found["it"] in ("base", "source", "sink", "file", "datagen", "print", "internals", "common"):
        return None
    return found["it"].capitalize()


def _frames(failure: Failure) -> Iterator[str]:
    """All frames, the innermost of the root first."""
    for link in reversed(failure.chain):
        yield from link.frames


def _own_package(failure: Failure) -> str | None:
    """The package of the user's own code: of the first unknown frame above one of the engine's."""
    if failure.language not in ("java", ""):
        return None
    best: str | None = None
    for link in reversed(failure.chain):
        unknown: str | None = None
        for frame in link.frames:
            found = component_of(frame)
            if found is None and is_user(frame):
                unknown = frame
            elif found is not None and found.role in ("engine",) and unknown is not None:
                return _package(unknown)
            elif found is not None and found.role not in _SILENT:
                unknown = None if found.role in ("connect", *TELLING) else unknown
        if unknown is not None and not _client_like(unknown):
            best = best or _package(unknown)
    return best


def _package(name: str) -> str:
    return ".".join(name.split(".")[:2])


def _client_like(name: str) -> bool:
    return any(segment in _OF_CLIENTS for segment in name.split("."))


def _user_frame(failure: Failure, own: str | None) -> str | None:
    language = failure.language
    for link in reversed(failure.chain):
        shown = link.printed if language == "node" else link.frames
        for frame, line in zip(link.frames, [*shown, *link.frames[len(shown) :]], strict=False):
            if language == "java" or not language:
                if (
                    is_user(frame)
                    and (own is None or frame.startswith(own))
                    and not (own is None and _client_like(frame))
                    and not _below_client(frame, own)
                ):
                    return frame
            elif is_user(line if language == "node" else frame, language if language != "dotnet" else None):
                if language == "go" and frame.startswith(("panic", "runtime.")):
                    continue
                return frame
    return None


def _below_client(frame: str, own: str | None) -> bool:
    """Whether a frame of the user's own organisation is its client all the same: ``com.acme.frobnicator.client``."""
    return own is not None and _client_like(frame)


def _unknown(failure: Failure, deciding: Link, kind: str | None, own: str | None) -> Part | None:
    """A client that the table does not know: a class in a package that is not the user's, or below a connector's frame."""
    foreign = own is not None and "." in deciding.kind and _package(deciding.kind) != own
    if kind not in _ASKED and not (kind is not None and foreign and not _named_in_table(deciding.kind)):
        return None
    for link in (deciding, *(other for other in reversed(failure.chain) if other is not deciding)):
        for name in (link.kind, *link.frames):
            parts = name.split("/") if "site-packages/" in name else None
            if parts is not None:
                module = name.partition("site-packages/")[2].partition("/")[0].removesuffix(".py")
                if not _named_in_table(name) and module:
                    return Part(module.capitalize(), "service", f"module {module}")
                continue
            if "." not in name or _named_in_table(name) or name.count(".") < 1 or ":" in name or "(" in name:
                continue
            theirs = _package(name) != own or _client_like(name)
            if (
                theirs
                and (name is link.kind or own is not None or _client_like(name) or component_of(name) is not None)
                and (called := _called(name, link))
            ):
                return Part(called, "service", f"class {name}" if name is link.kind else f"frame {name}", ".".join(name.split(".")[:3]))
    return None


def _named_in_table(name: str) -> bool:
    """Whether the table knows more of a name than its vendor."""
    found = component_of(name)
    return found is not None and found.id != "vendors"


def _called(name: str, link: Link) -> str | None:
    """What a client's class says that it is a client of: ``io.camunda.zeebe.client.api.X`` → Zeebe."""
    segments = [segment for segment in re.split(r"[.$]", name) if segment and segment[0].islower()]
    while segments and segments[0] in _TOP:
        segments.pop(0)
    mine: list[str] = []
    for segment in segments:
        if segment in _GENERAL:
            break
        mine.append(segment)
    simple = _SUFFIX.sub("", link.simple)
    if simple and simple.lower() in (segment.lower() for segment in segments):
        return simple
    return mine[-1].capitalize() if mine else None


def _specific(failure: Failure, part: Part) -> Part:
    """The one that is meant, where anything in the failure names it: which database, which store, which of a cloud's services."""
    for link in reversed(failure.chain):
        for name in (link.kind, *_QUOTED.findall(link.message[:2_000]), *link.frames):
            found = component_of(name) if "." in name else None
            if found is not None and found.role in _SPECIFIC and not found.vague:
                return Part(found.called, found.role, f"frame {name}" if name in link.frames else f"class {name}")
    by_address = _by_address(failure)
    return by_address if by_address is not None and not by_address.vague and by_address.role in _SPECIFIC else part


def _by_address(failure: Failure, kind: str | None = None) -> Part | None:
    """By the scheme of an address that a message names."""
    for link in reversed(failure.chain):
        for address in _URL.findall(link.message[:4_000]):
            found: Component | None = of_scheme(address)
            if found is not None and found.role in TELLING:
                return Part(found.called, found.role, f"address {address[:80]}", vague=found.vague)
    if kind in _ASKED and any(_CALLED_URL.search(link.message[:2_000]) for link in failure.chain):
        return Part("an HTTP service", "service", "address https://", vague=True)
    for link in reversed(failure.chain):
        if (found := named(link.said[:2_000])) is not None and found.role in TELLING and (kind is None or kind in _ASKED):
            return Part(found.called, found.role, f"name {found.called}", vague=found.vague)
    return None


def _by_logger(failure: Failure, logger: str | None) -> Part | None:
    """By who prints the line: a client of Kafka reports its own connections. A line that was not parted has its logger before the message."""
    head = failure.text.partition("\n")[0][:_HEADER]
    for name in ([logger] if logger else []) + _QUOTED.findall(head):
        found = component_of(name)
        if found is not None and found.role in TELLING:
            return Part(found.called, found.role, f"logger {name}", vague=found.vague)
    return None
