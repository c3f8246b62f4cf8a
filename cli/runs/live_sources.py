"""The live systems that a run may ask, from the options that name them to the collectors that ask."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.options.connect import ConnectRest, ConnectRestAuth, ConnectWait
from cli.options.flink import FlinkRest, FlinkRestAuth, JobIds
from cli.options.kafka import BootstrapServers, CommandConfig, Groups, Timeout, Topics, seconds
from cli.options.kube import KubeContext, KubeNamespace, KubeObject, KubeSince, Yes
from cli.options.shared import Given, declared, own_parameters
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from cli.collectors.beside import Beside
    from cli.collectors.collector import Collector
    from cli.collectors.kubectl import Kubernetes

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_OBJECT = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,100}/[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_CONTEXT = re.compile(r"[^\s-][^\s]{0,250}")
_AGE = re.compile(r"[1-9]\d{0,5}[smh]")
_EXAMPLES = {"--kube": "shop", "--kube-object": "deployment/orders", "--kube-context": "prod", "--kube-since": "6h"}


@dataclass(frozen=True)
class LiveSources:
    """What to ask beside the files; nothing is asked of a system that no option names."""

    bootstrap_servers: Sequence[str] = ()
    command_config: Path | None = None
    groups: Sequence[str] = ()
    topics: Sequence[str] = ()
    timeout_seconds: float = 10.0
    flink_rest: str | None = None
    flink_rest_auth: Path | None = None
    jobs: Sequence[str] = ()
    connect_rest: str | None = None
    connect_rest_auth: Path | None = None
    connect_wait_seconds: float = 5.0
    kube: str | None = None
    kube_object: str | None = None
    kube_context: str | None = None
    kube_since: str = "6h"
    yes: bool = False

    @property
    def anything(self) -> bool:
        """Whether any option is about a living system."""
        return bool(self.named or self.command_config or self.jobs)

    @property
    def kubernetes(self) -> Kubernetes | None:
        """What kubectl is asked for. Raises `UsageError` for names that cannot be one: they become words of a command."""
        if self.kube is None and self.kube_object is None:
            if self.kube_context is not None or self.yes:
                raise UsageError("--kube-context and --yes are about kubectl", "Say what to ask it for: --kube NAMESPACE.")
            return None
        from cli.collectors.kubectl import Kubernetes

        for option, value, form in (
            ("--kube", self.kube, _NAME), ("--kube-object", self.kube_object, _OBJECT), ("--kube-context", self.kube_context, _CONTEXT),
            ("--kube-since", self.kube_since, _AGE),
        ):  # fmt: skip
            if value is not None and not form.fullmatch(value):
                raise UsageError(f"{option} {value[:60]} is no name that Kubernetes has", f"Write {option} {_EXAMPLES[option]}.")
        return Kubernetes(self.kube, self.kube_object, self.kube_context, self.kube_since)

    def planned(self) -> list[str]:
        """The commands of kubectl that would be run with ``--yes``; none where it stands there, or nothing is asked of kubectl."""
        asked = self.kubernetes
        return [] if asked is None or self.yes else asked.planned()

    @property
    def named(self) -> list[str]:
        """The addresses, as they were given."""
        of_kube = "/".join(filter(None, (self.kube, self.kube_object)))
        return [*(each for each in (self.flink_rest, self.connect_rest, of_kube) if each), *self.bootstrap_servers]

    def collectors(self) -> list[Collector]:
        """One per system and kind of question. Raises `UsageError` for addresses and properties that cannot be understood."""
        return [*self._flink(), *self._kafka()]

    @contextmanager
    def answered(self, progress: Callable[[str], None]) -> Iterator[Beside]:
        """The answers that are read as files, for as long as this lasts; a worker that does not answer is a source that failed. Where the
        asking was stopped (`Beside.stop`), nothing else is to be asked.

        Raises `UsageError` for an address or a login that cannot be understood.
        """
        from cli.collectors.beside import beside

        with beside() as found:
            if self.connect_rest is not None:
                self._connect(self.connect_rest, found, progress)
            if (asked := self.kubernetes) is not None and found.stop is None:
                from cli.collectors.kubectl import ask_kubernetes

                ask_kubernetes(asked, found, progress)
            yield found

    def _connect(self, address: str, found: Beside, progress: Callable[[str], None]) -> None:
        from cli.collectors.connect_rest import KIND, ask_connect
        from cli.collectors.flink_transport import CONNECT, parse_address, read_login

        where, login = parse_address(address, CONNECT), read_login(self.connect_rest_auth, CONNECT)
        try:
            answers = ask_connect(
                where, login, timeout_seconds=self.timeout_seconds, wait_seconds=self.connect_wait_seconds, progress=progress
            )  # fmt: skip
        except CannotLook as error:
            found.failed(where.url, KIND, f"{error.message} {error.hint}".strip())
            return
        found.add(f"connect-rest of {where.host}:{where.port}", answers.text.encode())
        found.sources.append(answers.source)
        found.stop = answers.stop

    def _flink(self) -> list[Collector]:
        if self.flink_rest is None:
            if self.jobs:
                raise UsageError("--job names a job of a JobManager", "Give its address, too: --flink-rest http://HOST:8081.")
            return []
        from cli.collectors.collector import Collector
        from cli.collectors.flink_rest import flink_collector
        from cli.collectors.flink_transport import read_login

        ask = flink_collector(
            self.flink_rest, job=self.jobs, login=read_login(self.flink_rest_auth), timeout_seconds=self.timeout_seconds
        )  # fmt: skip
        return [Collector(self.flink_rest, "flink-rest", ask)]

    def _kafka(self) -> list[Collector]:
        if not self.bootstrap_servers and self.command_config is None:
            return []
        from cli.collectors.collector import Collector
        from cli.runs import broker_health, lag_report

        name = ", ".join(self.bootstrap_servers) or f"the bootstrap servers of {self.command_config}"
        wait = self.timeout_seconds
        brokers = broker_health.collect(
            self.bootstrap_servers, command_config=self.command_config, topics=self.topics, timeout_seconds=wait
        )  # fmt: skip
        groups = lag_report.collect(
            self.bootstrap_servers, command_config=self.command_config, groups=self.groups, topics=self.topics, timeout_seconds=wait
        )  # fmt: skip
        return [Collector(name, "kafka", brokers), Collector(f"groups of {name}", "kafka", groups)]


NOTHING_LIVE = LiveSources()

LIVE: tuple[Given, ...] = (
    ("flink_rest", FlinkRest, None),
    ("flink_rest_auth", FlinkRestAuth, None),
    ("jobs", JobIds, None),
    ("connect_rest", ConnectRest, None),
    ("connect_rest_auth", ConnectRestAuth, None),
    ("connect_wait", ConnectWait, "5s"),
    ("bootstrap_servers", BootstrapServers, None),
    ("command_config", CommandConfig, None),
    ("groups", Groups, None),
    ("topics", Topics, None),
    ("timeout", Timeout, "10s"),
)
"""The options that name every live system, in the order of the help."""


OF_KUBE: tuple[Given, ...] = (
    ("kube", KubeNamespace, None),
    ("kube_object", KubeObject, None),
    ("kube_context", KubeContext, None),
    ("kube_since", KubeSince, "6h"),
    ("yes", Yes, False),
)
"""Those that ask kubectl: for commands that look once."""


def asking_live(command: Callable[..., int], *, kube: bool = False) -> Callable[..., int]:
    """`command` for Typer: in the place of its parameter ``live`` stand the options `LIVE`, with `kube` also `OF_KUBE`, of which it is
    made."""
    options = (*LIVE, *(OF_KUBE if kube else ()))

    @functools.wraps(command)
    def asked(**given: Any) -> int:
        chosen = {name: given.pop(name) for name, _, _ in options}
        chosen["timeout_seconds"] = seconds(chosen.pop("timeout"), "--timeout")
        chosen["connect_wait_seconds"] = seconds(chosen.pop("connect_wait"), "--connect-wait")
        return command(live=LiveSources(**{name: value for name, value in chosen.items() if value is not None}), **given)

    own = own_parameters(command)
    return declared(asked, [each for one in own for each in (options if one[0] == "live" else (one,))])
