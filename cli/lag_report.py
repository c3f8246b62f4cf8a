"""Lag report: what every group has committed beside the ends of the logs, per partition, with who holds it."""

from __future__ import annotations

import asyncio
import difflib
import re
import ssl
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from analyzers.tables import Row
from cli.broker_health import client_and_entries
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_connection import Limits
from cli.collectors.kafka_groups import GroupAnswers, ask_groups
from cli.collectors.kafka_wire import Entry
from cli.evidence import Evidence
from cli.exits import UsageError
from cli.judging import Subject
from cli.renderers.wording import counted


def collect(
    bootstrap_servers: Sequence[str],
    *,
    command_config: Path | None = None,
    groups: Sequence[str] = (),
    topics: Sequence[str] = (),
    timeout_seconds: float = 10.0,
) -> Callable[[], Evidence]:
    """A function that asks the cluster: ``groups``, ``members``, ``committed_offsets``, ``log_offsets``, ``sources``.

    `groups` are group ids or regular expressions that match whole ids; `topics` are names. Raises `UsageError` at once for options that
    cannot be understood; the function raises `CannotLook` when no bootstrap server answers, `UsageError` for a group or topic that does
    not exist.
    """
    client, entries = client_and_entries(bootstrap_servers, command_config)
    wants = wanted_groups(groups)
    tls = client.tls_context() if client.uses_tls else None

    def ask() -> Evidence:
        cluster, answers = asyncio.run(_ask(entries, client, tls, Limits.within(timeout_seconds), groups, wants, topics))
        for row in answers.groups:
            row["asked"] = row["group"] in groups
        anything = any(row["error"] is None for row in answers.groups)
        return Evidence(
            {
                "groups": answers.groups,
                "members": answers.members,
                "committed_offsets": answers.committed_offsets,
                "log_offsets": answers.log_offsets,
                "sources": [cluster.source("consumer groups", sorted(answers.problems), anything=anything)],
            }
        )

    return ask


async def _ask(
    entries: Sequence[Entry],
    client: ClientProperties,
    tls: ssl.SSLContext | None,
    limits: Limits,
    groups: Sequence[str],
    wants: Callable[[str], bool],
    topics: Sequence[str],
) -> tuple[Cluster, GroupAnswers]:
    cluster = await Cluster.connect(entries, client, tls, limits)
    try:
        known = {topic.name for topic in cluster.topics}
        for name in topics:
            if name not in known:
                raise UsageError(f"topic {name} does not exist, or this user may not describe it.", _did_you_mean(name, known))
        answers = await ask_groups(cluster, wants, [g for g in groups if _is_plain(g)], lambda topic: not topics or topic in topics)
        _refuse_unknown(groups, answers)
        return cluster, answers
    finally:
        cluster.close()


def wanted_groups(groups: Sequence[str]) -> Callable[[str], bool]:
    """Whether a group id is one of `groups`, ids or expressions; every id when there are none. Raises `UsageError` for a bad expression."""
    patterns = []
    for text in groups:
        try:
            patterns.append(re.compile(text))
        except re.error as error:
            if not _is_plain(text):
                raise UsageError(f"--group {text}: {error}", "Write a group id, or a regular expression that matches whole ids.") from None
    return lambda name: not groups or name in groups or any(pattern.fullmatch(name) for pattern in patterns)


def _is_plain(text: str) -> bool:
    """Whether `text` is meant as an id: dots are common in ids, the other metacharacters are not."""
    return not re.search(r"[*+?\[\](){}|^$\\]", text)


def _refuse_unknown(groups: Sequence[str], answers: GroupAnswers) -> None:
    """A group that surely does not exist is a mistyped option; one whose coordinator is silent is a row."""
    existing = {str(row["group"]) for row in answers.groups if row["state"] != "Dead"}
    for text in groups:
        dead = any(row["group"] == text and row["state"] == "Dead" for row in answers.groups)
        nobody = not any(re.fullmatch(text, name) for name in existing) if not _is_plain(text) else False
        if (dead or nobody) and not _coordinators_unknown(answers):
            raise UsageError(f"no group {'is named' if dead else 'matches'} {text}.", _did_you_mean(text, answers.listed))


def _coordinators_unknown(answers: GroupAnswers) -> bool:
    return any(problem.startswith("groups coordinated by") for problem in answers.problems)


def _did_you_mean(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    return (
        f"Did you mean {' or '.join(near)}?"
        if near
        else f"There are {len(known)}; `diag lag-report` without --group and --topic shows them."
    )


def _per_group(rows: Sequence[Row]) -> list[str]:
    """One sentence per group, the furthest behind last."""
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_group[str(row["group"])].append(row)
    return [says for _, _, says in sorted(_total(group, own) for group, own in by_group.items())]


def _total(group: str, rows: Sequence[Row]) -> tuple[int, str, str]:
    known = [row for row in rows if row["lag_records"] is not None]
    behind = sum(int(row["lag_records"]) for row in known)
    if not known:
        return -1, group, f"group {group}: how far behind is unknown on all of its {counted(len(rows), 'partition')}"
    says = f"group {group}: {behind:,} records behind on {len(known)} of {counted(len(rows), 'partition')}"
    if len(known) < len(rows):
        says += f", {len(rows) - len(known)} unknown"
    worst = max(known, key=lambda row: int(row["lag_records"]), default=None)
    if worst is not None and worst["lag_records"]:
        holder = f", held by {worst['client']} on {worst['host']}" if worst["host"] else ""
        says += f"; most on {worst['topic']}-{worst['partition']} ({worst['lag_records']:,}{holder})"
    # what a read_committed consumer cannot see yet: an open transaction, or the markers of closed ones
    hidden = sum(max(0, row["high_watermark"] - row["last_stable"]) for row in known if row["last_stable"] is not None)
    return behind, group, says + (f"; {hidden:,} of the records lie behind an open transaction" if hidden else "")


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    nouns = (("groups", "group"), ("members", "member"), ("log_offsets", "partition"))
    return ", ".join(counted(len(tables.get(name, ())), noun) for name, noun in nouns)


LAG_REPORT = Subject(
    command="lag-report",
    collected=("groups", "members", "committed_offsets", "log_offsets"),
    facts=("groups", "members", "committed_offsets", "log_offsets"),
    looked_at=_looked_at,
    remarks=lambda tables: _per_group(tables.get("committed_offsets", ())),
)
