"""What is known of a consumer, share or streams group while its brokers are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cli.collectors.kafka_leaders import TopicPartition


@dataclass(frozen=True)
class SharePartition:
    """Where a share partition begins, None before its first record, and the broker's count of records not acknowledged yet."""

    start: int | None
    lag: int | None
    error: str | None


@dataclass
class Group:
    """What is known of one group while its brokers are asked; `committed` holds None where it is certain that there is no commit."""

    coordinator: int
    type: str = "unknown"
    protocol_type: str | None = None
    state: str | None = None
    error: str | None = None
    assignor: str | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    members: list[dict[str, Any]] = field(default_factory=list)
    committed: dict[TopicPartition, int | None] = field(default_factory=dict)
    refused: dict[TopicPartition, str] = field(default_factory=dict)
    shared: dict[TopicPartition, SharePartition] = field(default_factory=dict)
