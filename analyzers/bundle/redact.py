"""What shows whose systems these are becomes tokens that keep kind and shape, so that rules still work and people still can talk.

Hosts, IP addresses, topics, consumer groups, client ids, pods, users and directories become tokens of their kind in their columns, and
inside every text once a table or a text form (``groupId=…``, ``scheme://host``) has stated the name. Of what is left each word becomes one,
too, that is not known to be harmless (`harmless`): no list of what is secret is ever complete. Kept: ids of jobs and vertices, loopback
addresses, and names that everybody has (``localhost``, ``taskmanager``). Secrets with a name or a form of their own are cut out before.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from analyzers.bundle.directories import directories_in, directory_of, place_of, without_names
from analyzers.bundle.harmless import IS_TOKEN, Denial
from analyzers.bundle.names import ARN, EMAIL, OF_ARNS, PRINCIPAL, asked, stated
from analyzers.logs.signatures.identifiers import HEX
from analyzers.secrets import scrub, scrub_values, shortened
from analyzers.tables import TABLES, Row

KINDS = ("host", "ip", "topic", "group", "client", "user", "dir", "store", "account", "w")

_COLUMN_KIND = {
    "host": "host", "seen_from": "host", "address": "host", "entry": "host", "ip": "host", "resource": "host",
    "topic": "topic", "group": "group", "client": "client", "instance": "client", "transactional_id": "client",
    "client_id": "client", "user": "user",
}  # fmt: skip
_ID_COLUMNS = ("job", "query", "vertex", "execution", "operator", "run")
_KEPT_COLUMNS = frozenset({
    "job", "query", "zone", "role", "level", "signature", "from_state", "to_state", "vertex", "execution",
    "layout", "wrapping", "kind", "state", "type", "connector", "offset_kind", "status", "topic_id",
    "version", "replicas", "isr", "offline", "adding", "removing", "assignor", "counts", "probe",
})  # fmt: skip
"""Ids and words of diag's own: what was found in a log stands in them only as far as diag knows the word."""
_OF_JOBS = ("job_name", "query_name")
"""What details of log events call a job by."""
_LINES = ("before", "last_line")
"""Details that are lines of a log, which no expression has read."""
_LIKE_JOBS = ("group", "client")
_JOB_ID = re.compile(rf"'? \({HEX}\)")
_AFTER_JOB = re.compile(r"\b[Jj]ob '?$")
_SHORTEST = 3
_GENERIC = frozenset({
    "localhost", "jobmanager", "taskmanager", "jobmanager-1", "taskmanager-1", "kafka", "zookeeper", "broker", "driver", "executor",
    "client", "consumer", "producer", "admin", "adminclient", "unknown", "null", "none", "default", "group", "topic", "source", "sink",
    "state", "server", "standalone", "local", "master", "worker", "flink", "spark", "beam", "hadoop", "yarn", "hdfs",
    "<default>",
})  # fmt: skip
_GENERIC_USERS = frozenset({
    "root", "flink", "spark", "hadoop", "kafka", "hdfs", "yarn", "hive", "ubuntu", "nobody", "runner", "rpc", "anonymous",
})  # fmt: skip
_INTERNAL_TOPIC = re.compile(r"__(?:consumer_offsets|transaction_state|share_group_state|cluster_metadata|remote_log_metadata)")
_SHAPE = re.compile(r"(?P<name>.+?)(?P<kept>(?:-(?:taskmanager|jobmanager|exec|driver))?(?:-\d{1,4})+)")
"""The end of a pod or client name that counts replicas: ``orders-taskmanager-1-2``, ``source-3``; a rule may need it."""

_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/,\[\]]+)(?P<port>:\d{1,5})?")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f:]*\d)(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")

_LOG_FILE = r"\b(flink-)([\w.]+)(-(?:taskexecutor|standalonesession|standalonejob|client|historyserver|yarn-session)-\d+-)"

_ASKED_FROM = re.compile(r"(?<=, from )\S+\Z")
_USER_PATH = re.compile(r"(/(?:homes?|[Uu]sers?)/|\\Users\\)([^/\\\s:'\",)\]]+)")
_USER_FILE = re.compile(_LOG_FILE)
_HOST_FILE = re.compile(_LOG_FILE + r"([\w.-]+?)\.(?:log|out)")


def scrubbed(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """`tables` without secrets and otherwise unchanged: what ``--no-redact`` writes."""
    return {name: [scrub_values(row) for row in rows] for name, rows in tables.items()}


class Redactor:
    """Replaces names by keyed tokens. The same key gives the same tokens. First `learn`, then `tables`."""

    def __init__(self, key: bytes, keep: Iterable[str] = ()) -> None:
        self._key = key
        self._keep = frozenset(keep)
        self._names: dict[str, str] = {}
        self._jobs: set[str] = set()  # names of jobs, which stay unless a group or a client is called so, too
        self._finder: Any = None
        self._done: dict[str, str] = {}

    @property
    def names(self) -> Iterable[str]:
        """The names that were learnt."""
        return self._names

    @cached_property
    def _denial(self) -> Denial:
        return Denial(self.token, partial(self._hash, "w"), self._of_id, self._keep | _GENERIC | _GENERIC_USERS)

    def token(self, kind: str, name: str) -> str:
        """``host-7c1e03aa`` for a name; what counts replicas at its end is kept. 32 bits: two names of one bundle hardly ever meet."""
        kept = ""
        if name in self._keep or IS_TOKEN.fullmatch(name):
            return name
        if kind in ("host", "client", "dir") and (shape := _SHAPE.fullmatch(name)):
            name, kept = shape["name"], shape["kept"]
        return f"{kind}-{self._hash(kind, name)[:8]}{kept}"

    def _of_id(self, id: str) -> str:
        """As many digits for those of an id; their end is checked by the key, so that they stay what they are when they come again."""
        digits = id.replace("-", "")
        if digits[24:] != self._hash("id", digits[:24])[:8]:
            begin = self._hash("id", digits)[:24]
            digits = begin + self._hash("id", begin)[:8]
        left = iter(digits)
        return "".join(c if c == "-" else next(left) for c in id)

    def _hash(self, kind: str, name: str) -> str:
        return hmac.new(self._key, f"{kind}\0{name}".encode("utf-8", "surrogateescape"), "sha256").hexdigest()

    def learn(self, tables: Mapping[str, Sequence[Row]]) -> None:
        """Remember the names that columns and telling texts hold."""
        seen: set[str] = set()
        for row in (row for rows in tables.values() for row in rows):
            for column, kind in _COLUMN_KIND.items():
                if isinstance(row.get(column), str):
                    self._add(kind, row[column])
            for column in _ID_COLUMNS:
                if isinstance(row.get(column), str):
                    self._denial.keep_id(row[column])
            for key, value in (row.get("detail") or {}).items():
                if key in _OF_JOBS and value:
                    self._jobs.add(value)
                if value and key != "value" and key not in _LINES:
                    self._denial.keep_id(value)
                if key in _COLUMN_KIND and value:
                    self._add(_COLUMN_KIND[key], value)
            for value in row.values():
                for text in _texts(value):
                    if text not in seen:
                        seen.add(text)
                        self._learn_text(text)
        self._jobs |= {row["name"] for row in tables.get("jobs", ()) if row.get("name")}
        for row in tables.get("sources", ()):
            if row.get("kind") == "kafka":
                for address in asked(f"{row['name']},{row.get('asked') or ''}"):
                    self._add("host", address)
        for directory in {*map(directory_of, _read_from(tables)), *map(place_of, _written_to(tables))}:
            self._add_directory(directory)
        self._finder = None
        self._done.clear()

    def learn_lines(self, text: str) -> None:
        """Remember the names that lines of a file tell by their form."""
        for line in text.split("\n"):
            self._learn_text(line)
        self._finder = None

    def lines(self, text: str) -> str:
        """`text`, which may be a large part of a file, as `text` gives it for a line; nothing of it is kept."""
        return self._cleaned(text)

    def tables(self, tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
        """`tables` with every learnt name replaced and without secrets."""
        return {name: [self._row(name, row) for row in rows] for name, rows in tables.items()}

    def _row(self, table: str, row: Row) -> Row:
        changed = row = scrub_values(row)
        if table == "sources":  # a host name may be too short to be looked for in texts
            changed["name"] = _ASKED_FROM.sub(lambda match: self._host(match[0]), row["name"])
            changed["asked"] = row.get("asked") and ",".join(map(self._host, row["asked"].split(",")))
        of_key = self._denial.known(row["key"]) if isinstance(row.get("key"), str) else None
        for column in TABLES[table].columns:
            value = row[column.name]
            if column.name == "content":  # of a record: names can be replaced, what people wrote cannot
                changed[column.name] = None
                continue
            if value is None or column.type not in ("string", "strings", "map") or column.name in _KEPT_COLUMNS:
                continue
            if column.name == "scope":
                changed["scope"] = self.scope(value)
            elif table == "jobs" and column.name == "name":
                changed["name"] = self._job(value)
            elif column.name == "value" and of_key is not None:
                changed["value"] = self._setting(value, known=of_key)
            elif column.type == "map":
                changed[column.name] = self._map(value)
            else:
                changed[column.name] = _map_text(value, partial(self._value, _COLUMN_KIND.get(column.name)))
        return changed

    def _map(self, values: Mapping[str, str | None]) -> dict[str, str | None]:
        """What a signature has captured: numbers in it are those that its expression names."""
        key = values.get("key")
        made: dict[str, str | None] = {}
        for name, value in values.items():
            if value is None:
                made[name] = None
            elif name in _LINES:
                made[name] = self.text(value)
            elif name in _OF_JOBS:
                made[name] = self._job(value)
            elif name == "value" and key:
                made[name] = self._setting(value, known=self._denial.known(key))
            elif (kind := _COLUMN_KIND.get(name)) is not None:
                made[name] = self._value(kind, value)
            else:
                made[name] = self._cleaned(value, numbers=not self._denial.is_prose(value))
        return made

    def _setting(self, value: str, *, known: bool) -> str:
        """What a setting is set to; of one that no engine has every word may be a secret."""
        return self._cleaned(value, numbers=known, strictly=not known)

    def _job(self, name: str) -> str:
        """The token of a job that is called as a group or a client is, with the same digits; else the name, and what it states."""
        kind = self._names.get(name)
        return self._job_like(kind, name) if kind in _LIKE_JOBS else self.text(name)

    def _job_like(self, kind: str, name: str) -> str:
        return f"job-{self.token(kind, name).partition('-')[2]}"

    def tokens_of_job(self, name: str) -> list[str]:
        """The tokens of a job that is called as something else is."""
        return [self._job_like(kind, name) for kind in _LIKE_JOBS]

    def scope(self, scope: str) -> str:
        """A token for each directory that a job is called after: other jobs have others."""
        return "/".join(part if not part or IS_TOKEN.fullmatch(part) else self.token("dir", part) for part in scope.split("/"))

    def _value(self, kind: str | None, value: str) -> str:
        if kind is None:
            return self.text(value)
        if kind == "host":
            return self._host(value)
        return value if _everybodys(kind, value) else self.token(kind, value)

    def _host(self, value: str) -> str:
        address = _ADDRESS.fullmatch(value)
        if address is None or _is_ip(value.strip("[]")):
            return self.text(value)
        host, port = address["host"], address["port"] or ""
        if _is_ip(host.strip("[]")):
            return self.text(host) + port
        return (host if _everybodys("host", host) else self.token("host", host)) + port

    def _add(self, kind: str, value: str) -> None:
        if kind == "host":
            address = _ADDRESS.fullmatch(value)
            if address is None or _is_ip(address["host"].strip("[]")) or _is_ip(value):
                return
            value = address["host"]
            short = value.partition(".")[0]
            if short != value and re.search(r"[a-zA-Z]", short) and not _everybodys("host", short) and len(short) >= _SHORTEST + 1:
                self._names.setdefault(short, "host")
        # a topic wins over a group or client of the same name: it is what texts speak of most
        if (
            len(value) >= _SHORTEST
            and not value.isdigit()
            and not _everybodys(kind, value)
            and (value not in self._names or kind == "topic")
        ):
            self._names[value] = kind

    def _add_directory(self, directory: str) -> None:
        if without_names(directory, self._directory) != directory:
            self._names.setdefault(directory, "dir")

    def _learn_text(self, text: str) -> None:
        for kind, name in stated(text):
            if kind != "user" or name.lower() not in _GENERIC_USERS:
                self._add(kind, name)
        for match in _HOST_FILE.finditer(text):
            self._add("host", match[4])
        for directory in directories_in(text):
            self._add_directory(directory)

    def text(self, text: str) -> str:
        """`text` with every learnt name, address, user and secret replaced."""
        if text not in self._done:
            self._done[text] = self._cleaned(text)
        return self._done[text]

    def _cleaned(self, text: str, *, numbers: bool = False, strictly: bool = False) -> str:
        changed = scrub(shortened(text))
        changed = ARN.sub(self._arn, EMAIL.sub(lambda match: self.token("user", match[0]), changed))
        changed = "".join(self._replaced(changed))
        for expression in (_USER_PATH, _USER_FILE, PRINCIPAL):
            changed = expression.sub(self._user, changed)
        return self._denial.without(_IPV6.sub(self._ip, _IPV4.sub(self._ip, changed)), numbers=numbers, strictly=strictly)

    def _replaced(self, text: str) -> Iterator[str]:
        """Pieces of `text`; the longest name that begins first wins."""
        if not self._names:
            yield text
            return
        if self._finder is None:
            from ahocorasick_rs import AhoCorasick, Implementation

            names = list(self._names)
            # of few names it would make a DFA, which takes the square of the time for one that repeats itself: a letter 100,000 times
            self._finder = (names, AhoCorasick(names, implementation=Implementation.ContiguousNFA))
        names, finder = self._finder
        as_utf8 = text.encode("utf-8", "replace").decode()  # the bytes of an undecodable name, each as one character
        done = 0
        for index, start, end in sorted(finder.find_matches_as_indexes(as_utf8, overlapping=True), key=lambda m: (m[1], -m[2])):
            name = names[index]
            kind = self._names[name]
            if start >= done and _stands_alone(text, start, end, kind):
                yield text[done:start]
                if name in self._jobs and (_JOB_ID.match(as_utf8, end) or _AFTER_JOB.search(as_utf8, max(0, start - 8), start)):
                    yield self._job(name) if kind in _LIKE_JOBS else self.token(kind, name)
                else:
                    yield without_names(name, self._directory) if kind == "dir" else self.token(kind, name)
                done = end
        yield text[done:]

    def _directory(self, name: str) -> str:
        """The token of one directory's name; that of the host or pod that it is named after."""
        return self.token(self._names.get(name, "dir"), name)

    def _user(self, match: re.Match[str]) -> str:
        name = match[2]
        kept = name.lower() in _GENERIC_USERS or name.startswith(("user-", "taskmanager", "jobmanager", "resourcemanager", "dispatcher"))
        return match[0] if kept else match[1] + self.token("user", name) + "".join(match.groups()[2:])

    def _arn(self, match: re.Match[str]) -> str:
        """An ARN with tokens for its account and for the names of what it stands for; what kind of thing that is stays."""
        partition, service, region, account, resource = match.groups()
        parts = re.split(r"([/:])", resource)
        kept = [part if part in OF_ARNS or part in "/:" else self.token(self._names.get(part, "store"), part) for part in parts]
        return f"arn:{partition}:{service}:{region}:{account and self.token('account', account)}:{''.join(kept)}"

    def _ip(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        return match[0] if address.is_loopback or address.is_unspecified else self.token("ip", match[0])


def _stands_alone(text: str, start: int, end: int, kind: str) -> bool:
    """Whether the match is no part of a longer word, nor of a class name or a setting (``orders.OrderMapper``, ``jobmanager.memory``)."""
    before, after, next_one = text[start - 1 : start], text[end : end + 1], text[end + 1 : end + 2]
    if kind == "dir" and text[start] == "/":
        before = ""  # of a path that is longer, or the bucket it lies in
    if before.isalnum() or before in ("_", "$") or after.isalnum() or after == "_":
        return False
    if kind in ("host", "store", "account"):
        return True
    follows = after == "." and next_one.isalnum() and not re.match(r"\.(?:log|out|gz|txt|json)\b", text[end : end + 6])
    return before != "." and not follows


def _read_from(tables: Mapping[str, Sequence[Row]]) -> set[str]:
    """The paths of the logs that were read."""
    named = {row["name"] for row in tables.get("sources", ()) if row.get("kind") == "logs"}
    return named | {row["file"] for name in ("log_files", "log_events", "log_counts") for row in tables.get(name, ()) if row.get("file")}


def _written_to(tables: Mapping[str, Sequence[Row]]) -> set[str]:
    """The paths that checkpoints lie at; addresses with a scheme are found in every text."""
    columns = ("path", "restored_from", "compared_with", "file")
    rows = (row for name, own in tables.items() if not name.startswith("log_") for row in own)
    named = {row[column] for row in rows for column in columns if isinstance(row.get(column), str)}
    named |= {row["name"] for row in tables.get("sources", ()) if row.get("kind") in ("checkpoint", "flink-rest", "connect-rest")}
    return {path for path in named if "/" in path and "://" not in path}


def _everybodys(kind: str, name: str) -> bool:
    return name.lower() in _GENERIC or (kind == "topic" and bool(_INTERNAL_TOPIC.fullmatch(name)))


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, dict):
        return [v for v in value.values() if isinstance(v, str)]
    return [v for v in value if isinstance(v, str)] if isinstance(value, (list, tuple)) else ()


def _map_text(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with `change` applied to the texts in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [change(v) if isinstance(v, str) else v for v in value]
    if isinstance(value, dict):
        return {k: change(v) if isinstance(v, str) else v for k, v in value.items()}
    return value
