"""The live systems that a run may ask, from the options that name them to the collectors that ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.gathering import Collector


@dataclass(frozen=True)
class LiveSources:
    """What to ask beside the files; nothing is asked of a system that no option names."""

    bootstrap_servers: Sequence[str] = ()
    command_config: Path | None = None
    groups: Sequence[str] = ()
    topics: Sequence[str] = ()
    timeout_seconds: float = 10.0

    def collectors(self) -> list[Collector]:
        """One per system and kind of question. Raises `UsageError` for addresses and properties that cannot be understood."""
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
