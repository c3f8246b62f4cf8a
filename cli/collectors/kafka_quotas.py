"""Quotas that may throttle the members of groups. Read-only, by our own session: librdkafka has no call for them.

A broker that throttles says so to the throttled client alone, so whether one is throttled right now is unknown here. Nor does Kafka show
which user a member has logged in as: a quota for a user may be for any of them, and one for a user goes before one for a client id.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from kafka.protocol.admin.client_quotas import DescribeClientQuotasRequest

from analyzers.tables import CLIENT_QUOTAS, Row
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import CLUSTER_AUTHORIZATION_FAILED, error_says
from cli.collectors.kafka_session import Dead

DEFAULT = "<default>"
_OF_READERS = frozenset({"consumer_byte_rate", "request_percentage"})


async def ask_quotas(cluster: Cluster, members: Sequence[Row]) -> tuple[list[Row], str | None]:
    """Rows of ``client_quotas`` that may apply to `members` (rows of that table), or why they are unknown."""
    try:
        answer = await cluster.ask_first(
            DescribeClientQuotasRequest, "DescribeClientQuotas", newest=1, components=[], strict=False
        )  # fmt: skip
    except Dead as dead:
        return [], "the broker is too old to describe them" if dead.lives else dead.says
    if answer.error_code == CLUSTER_AUTHORIZATION_FAILED:
        return [], cluster.sight.needs("DESCRIBE_CONFIGS", "--cluster")
    if answer.error_code:
        return [], error_says(answer.error_code, cluster.sight, answer.error_message)
    rows = []
    entities = [
        {part.entity_type: part.entity_name if part.entity_name is not None else DEFAULT for part in entry.entity}
        for entry in answer.entries or ()
    ]
    named = {(entity.get("user"), entity.get("client-id")) for entity in entities}
    for entity, entry in zip(entities, answer.entries or (), strict=True):
        groups = sorted({str(row["group"]) for row in members if _may_apply(entity, row, named)})
        if not groups:
            continue
        head: dict[str, Any] = {
            "scope": "", "as_of": cluster.as_of, "user": entity.get("user"), "client_id": entity.get("client-id"), "ip": entity.get("ip"),
            "groups": groups,
        }  # fmt: skip
        rows += [CLIENT_QUOTAS.row({**head, "key": limit.key, "value": limit.value}) for limit in entry.values if limit.key in _OF_READERS]
    return sorted(rows, key=lambda row: (row["user"] or "", row["client_id"] or "", row["key"])), None


def _may_apply(entity: dict[str, str], member: Row, named: Collection[tuple[str | None, str | None]]) -> bool:
    """Whether a quota of `entity` may be for `member`, whose user is unknown; those that are `named` go before the default.

    Connections from an address are limited by another key.
    """
    if "ip" in entity:
        return False
    client = entity.get("client-id")
    return client in (None, member["client"]) or (client == DEFAULT and (entity.get("user"), member["client"]) not in named)
