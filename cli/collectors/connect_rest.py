"""What a worker of Kafka Connect answers over REST about its connectors, as the text that whoever asks it with curl would paste.

The way of the data: GETs (`flink_transport`) → a text of answers, each below its time and the path that was asked → read with the logs by
`analyzers.states.connectors`, so that rules judge it as they judge a paste, live and of a bundle. Of a configuration only the settings are
written that are kept anyway; all others may be secrets.

Source: ConnectorsResource, RootResource; offsets since Kafka 3.6 (KIP-875), ``expand`` since 2.3 (KIP-465).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from analyzers.budget import BUDGET
from analyzers.logs.wrappings.connect_status import statuses
from analyzers.report.durations import few
from analyzers.states.connectors import kept_settings
from analyzers.tables import SOURCES, Row
from cli.collectors.flink_transport import CONNECT, Address, Answer, Rest, RestClient, RestLogin
from cli.shell.exits import CannotLook

KIND = "connect-rest"
_LISTED = "/connectors?expand=status&expand=info"
_MOST_CONNECTORS = BUDGET.connectors
_MOST_PROBLEMS = 5


@dataclass
class ConnectAnswers:
    """What was asked: `text` to be read with the logs, and the row of ``sources``."""

    text: str
    source: Row
    stop: BaseException | None = None
    """Ctrl-C or SIGTERM, where it ended the wait for the second look."""


def ask_connect(
    where: Address,
    login: RestLogin,
    *,
    timeout_seconds: float = 10.0,
    wait_seconds: float = 5.0,
    progress: Callable[[str], None] = lambda said: None,
    sleep: Callable[[float], None] = time.sleep,
) -> ConnectAnswers:
    """Ask the worker at `where`: states and settings once, offsets of what runs twice, `wait_seconds` apart. `timeout_seconds` is for
    each of the two looks. Raises `CannotLook` where what answers is no worker of Connect."""
    with RestClient(where, login, timeout_seconds, min(10.0, timeout_seconds), CONNECT) as client:
        picture = _Picture(client)
        picture.begin()
    if picture.running:
        progress(f"{where.url}: {len(picture.running)} connector(s) RUNNING; their offsets are asked for again in {wait_seconds:g} s")
        try:
            sleep(wait_seconds)
            with RestClient(where, login, timeout_seconds, min(10.0, timeout_seconds), CONNECT) as client:
                picture.rest = client
                picture.again()
        except BaseException as stop:
            if isinstance(stop, Exception):
                raise
            progress("stopped before the second look at the offsets; what was answered is judged; once more ends at once")
            picture.problems.setdefault("stopped before the second look at the offsets, so that whether connectors go on is unknown", [])
            return ConnectAnswers(picture.text, picture.source(), stop)
    return ConnectAnswers(picture.text, picture.source())


@dataclass
class _Picture:
    rest: Rest
    written: list[str] = field(default_factory=list, init=False)
    running: list[str] = field(default_factory=list, init=False)
    """Connectors that say RUNNING and whose offsets could be asked for."""
    seen: dict[str, list[str]] = field(default_factory=dict, init=False)
    """States of each connector and its tasks, as they were written last: a failure that is read twice would count twice."""
    problems: dict[str, list[str]] = field(default_factory=dict, init=False)
    as_of: datetime = field(default_factory=lambda: datetime.now(timezone.utc), init=False)

    @property
    def text(self) -> str:
        return "\n".join(self.written) + "\n"

    def begin(self) -> None:
        """Version, states and settings, and the first look at the offsets."""
        first = self.rest.ask(["/", _LISTED])
        root, listed = first["/"], first[_LISTED]
        names = self._names(root, listed)
        self._states(names, listed)
        self._offsets(self.running)

    def again(self) -> None:
        """The second look: states, as a connector may have been paused or failed meanwhile, and offsets."""
        running = list(self.running)
        listed = self.rest.ask([_LISTED])[_LISTED]
        if listed.ok and isinstance(listed.body, Mapping):
            self.running = []
            self._states(list(listed.body), listed, settings=False)
            running = [name for name in running if name in self.running]
        else:
            self._note([listed])
        self._offsets(running)

    def _names(self, root: Answer, listed: Answer) -> list[str]:
        is_connect = root.ok and isinstance(root.body, Mapping) and "version" in root.body
        named = isinstance(listed.body, list) and all(isinstance(name, str) for name in listed.body)
        if not listed.ok or not (isinstance(listed.body, Mapping) or named) or not (is_connect or _is_listing(listed.body)):
            raise CannotLook(
                f"Kafka Connect's REST interface at {self.rest.name} cannot be asked: "
                f"{listed.why or root.why or 'what answers there is no worker of Connect'}.",
                "Give the address of a worker: --connect-rest http://HOST:8083.",
            )
        self._note([root])
        self._write(root.at, "/", {"version": root.body["version"]} if is_connect else None)
        return [str(name) for name in listed.body]

    def _states(self, names: Sequence[str], listed: Answer, *, settings: bool = True) -> None:
        """Writes the state of each connector, and its settings."""
        wanted = sorted(names)[:_MOST_CONNECTORS]
        if len(wanted) < len(names):
            self.problems.setdefault(f"only the first {len(wanted)} of {len(names)} connectors were asked for", [])
        body, at = listed.body, listed.at
        if not isinstance(body, Mapping):  # a worker before 2.3 gives names only
            answers = self.rest.ask([f"{_of(name)}{part}" for name in wanted for part in ("/status", "")])
            self._note(answers.values())
            body = {name: {"status": answers[f"{_of(name)}/status"].body, "info": answers[_of(name)].body} for name in wanted}
            at = max((answer.at for answer in answers.values()), default=at)
        for name in wanted:
            of = body.get(name)
            status = next(statuses(of.get("status")), None) if isinstance(of, Mapping) else None
            if status is None:
                self.problems.setdefault("no state was answered", []).append(name)
                continue
            states = [str(each.get("state")) for each in (status["connector"], *status["tasks"]) if isinstance(each, Mapping)]
            if self.seen.get(name) != states:
                self._write(at, f"{_of(name)}/status", status)
            self.seen[name] = states
            if status["connector"]["state"] == "RUNNING":
                self.running.append(name)
            info = of.get("info") if settings else None
            config = info.get("config") if isinstance(info, Mapping) else None
            if isinstance(config, Mapping) and (kept := kept_settings(config)):
                self._write(at, _of(name), {"name": name, "config": kept})

    def _offsets(self, names: Sequence[str]) -> None:
        answers = self.rest.ask([f"{_of(name)}/offsets" for name in names])
        older = [name for name in names if answers[f"{_of(name)}/offsets"].status in (404, 405)]
        if older:
            why = "it has no offsets to show (a worker before Kafka 3.6), so that whether a connector goes on is unknown"
            self.problems.setdefault(why, older)
            self.running = [name for name in self.running if name not in older]
        for name in names:
            answer = answers[f"{_of(name)}/offsets"]
            if answer.ok:
                self._write(answer.at, answer.path, answer.body)
            elif name not in older:
                self._note([answer])

    def _write(self, at: datetime, path: str, body: Any) -> None:
        """An answer below its time and the command that gives it."""
        if body is not None:
            asked = f"$ curl -s {self.rest.name}{path}"
            self.written += [f"{at:%Y-%m-%dT%H:%M:%SZ}", asked, json.dumps(body, ensure_ascii=False), ""]
        self.as_of = max(self.as_of, at)

    def _note(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            if not answer.ok:
                self.problems.setdefault(str(answer.why), []).append(answer.path.partition("?")[0])

    def source(self) -> Row:
        said = [f"{few(paths)}: {why}" if paths else why for why, paths in self.problems.items()]
        values = {
            "name": self.rest.name,
            "kind": KIND,
            "state": "partial" if said else "ok",
            "why": "; ".join(said[:_MOST_PROBLEMS]) or None,
        }
        return SOURCES.row({"scope": "", "as_of": self.as_of, **values})


def _of(name: str) -> str:
    return f"/connectors/{quote(name, safe='')}"


def _is_listing(body: Any) -> bool:
    """Whether connectors are listed with their states, which no other interface does."""
    return isinstance(body, Mapping) and any(True for _ in statuses(body))
