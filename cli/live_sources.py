"""The live systems that a run may ask, from the options that name them to the collectors that ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.exits import UsageError
from cli.gathering import Collector


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

    def collectors(self) -> list[Collector]:
        """One per system and kind of question. Raises `UsageError` for addresses and properties that cannot be understood."""
        return [*self._flink(), *self._kafka()]

    def _flink(self) -> list[Collector]:
        if self.flink_rest is None:
            if self.jobs:
                raise UsageError("--job names a job of a JobManager", "Give its address, too: --flink-rest http://HOST:8081.")
            return []
        from cli.collectors.flink_rest import flink_collector
        from cli.collectors.flink_transport import read_login

        ask = flink_collector(
            self.flink_rest, job=self.jobs, login=read_login(self.flink_rest_auth), timeout_seconds=self.timeout_seconds
        )  # fmt: skip
        return [Collector(self.flink_rest, "flink-rest", ask)]

    def _kafka(self) -> list[Collector]:
        if not self.bootstrap_servers and self.command_config is None:
            return []
        from cli import broker_health, lag_report

        name = ", ".join(self.bootstrap_servers) or f"the bootstrap servers of {self.command_config}"
        wait = self.timeout_seconds
        brokers = broker_health.collect(
            self.bootstrap_servers, command_config=self.command_config, topics=self.topics, timeout_seconds=wait
        )  # fmt: skip
        groups = lag_report.collect(
            self.bootstrap_servers, command_config=self.command_config, groups=self.groups, topics=self.topics, timeout_seconds=wait
        )  # fmt: skip
        return [Collector(name, "kafka", brokers), Collector(f"groups of {name}", "kafka", groups)]
