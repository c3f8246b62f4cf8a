"""Lag report: what every group has committed beside the ends of the logs, per partition, with who holds it."""

from __future__ import annotations

import asyncio
import difflib
import re
import shlex
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from analyzers.derived import lag_of
from analyzers.derived.lag.connector_stands import connector_stands
from analyzers.derived.lag.lag_status import sampled_places
from analyzers.report.durations import counted, few
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from cli.collectors.client_properties import ClientProperties
from cli.collectors.collector import Collector
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_groups import OFFSETS, GroupAnswers, ask_again, ask_groups
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_positions import positions as positions_of
from cli.collectors.kafka_positions import topic_settings, topics_by_age
from cli.collectors.kafka_quotas import ask_quotas
from cli.collectors.kafka_session import Limits
from cli.collectors.kafka_times import ask_offsets_at
from cli.collectors.kafka_topics import partition_rows
from cli.collectors.kafka_wire import Entry, client_and_entries
from cli.renderers.lag_listing import LEFT_OUT
from cli.runs.evidence import Progress
from cli.runs.gathering import asking, merged
from cli.runs.run import Subject
from cli.shell.exits import UsageError


@dataclass(frozen=True)
class Sampling:
    """How often the group's offsets are looked at: `samples` looks, `every_seconds` from one to the next."""

    samples: int = 1
    every_seconds: float = 2.0


ONCE = Sampling()


def collect(
    bootstrap_servers: Sequence[str],
    *,
    command_config: Path | None = None,
    groups: Sequence[str] = (),
    topics: Sequence[str] = (),
    timeout_seconds: float = 10.0,
    sampling: Sampling = ONCE,
    positions: bool = True,
    members: bool = False,
    at: datetime | None = None,
    progress: Progress = lambda said: None,
) -> Callable[[], Evidence]:
    """A function that asks the cluster: ``groups``, ``members``, ``committed_offsets``, ``log_offsets``, ``sources``, and with
    `positions` ``records``, ``open_transactions``, ``topic_configs``; with `members` their epochs, too, with `at` ``offsets_at`` that time.

    `groups` are group ids, with any signs in them, or regular expressions that match whole ids; `topics` are names. `timeout_seconds` is
    for each look. Raises `UsageError` at once for options that cannot be understood; the function raises `CannotLook` when no bootstrap
    server answers, `UsageError` for a group or topic that does not exist.
    """
    client, entries = client_and_entries(bootstrap_servers, command_config)
    asked = _Asked(groups, wanted_groups(groups), topics, sampling, positions, members, at, timeout_seconds, progress)
    tls = client.tls_context() if client.uses_tls else None

    def ask() -> Evidence:
        cluster, answers, more, absent = asyncio.run(_ask(entries, client, tls, asked))
        for row in answers.groups:
            row["asked"] = row["group"] in groups
        hidden = unseen(cluster.sight, answers, [] if groups and all(map(_is_plain, groups)) else ["--group '*'"])
        known = any(row["error"] is None for row in answers.groups) and not hidden
        anything = bool(answers.committed_offsets) or known or not (hidden or answers.problems)
        problems = sorted(dict.fromkeys(answers.problems)) + hidden + answers.passed
        return Evidence(
            {
                "groups": answers.groups,
                "members": answers.members,
                "committed_offsets": answers.committed_offsets,
                "share_offsets": answers.share_offsets,
                "log_offsets": answers.log_offsets,
                **more,
                "sources": [cluster.source("consumer groups", problems, anything=anything)],
            },
            half_seen(cluster.sight, answers),
            absent,
        )

    return ask


def half_seen(sight: Sight, answers: GroupAnswers) -> list[str]:
    """That groups without members may have commits of topics that this user is not shown: brokers leave them out without an error, and no
    member names them."""
    shown = {row["group"] for row in answers.committed_offsets if row["committed"] is not None}
    bare = sorted({str(row["group"]) for row in answers.groups if not row["members"] and row["group"] in shown})
    if sight.unrestricted is not False or not bare:
        return []
    named = few(bare)
    return [f"{named}: commits of topics that {sight.who} may not DESCRIBE {LEFT_OUT}, so there may be more of them"]


def unseen(sight: Sight, answers: GroupAnswers, all_of: Sequence[str]) -> list[str]:
    """What brokers may have left out of `answers` without a word, in sentences; `all_of`: what to grant to see every group."""
    said = []
    if all_of and sight.lists_all_groups is False:
        shown = "other groups may be there" if answers.groups else "no group is shown"
        grant = sight.grant("DESCRIBE", ["--cluster", *all_of])
        said.append(f"{shown}: {sight.who} may not DESCRIBE the cluster, so only groups that it may DESCRIBE are listed – grant: {grant}")
    if sight.unrestricted is False:
        told = {row["group"] for row in answers.committed_offsets}
        bare = [str(row["group"]) for row in answers.groups if row["error"] is None and row["group"] not in told and row["type"] != "share"]
        if bare:
            named = few(bare)
            said.append(
                f"no commit of {named} is shown: there is none, or {sight.who} may not DESCRIBE the topics – grant: "
                + sight.grant("DESCRIBE", ["--topic TOPIC"])
            )
    return said


def with_others(
    ask: Callable[[], Evidence], checkpoints: Sequence[str], others: Sequence[Collector], progress: Progress
) -> Callable[[], Evidence]:
    """A function that asks Kafka, then reads `checkpoints`, then asks `others`; what fails is a row of ``sources``.

    The order matters: whatever is in a checkpoint that is read later than a commit is newer than it, so a commit that is further than the
    job was then cannot be its own.
    """

    def all_of_it() -> Evidence:
        parts = []
        for collector in (Collector("consumer groups", "kafka", ask), *_of_checkpoints(checkpoints), *others):
            with asking([collector]) as answers:
                parts += answers()
            failed = [row for row in parts[-1].tables.get("sources", ()) if row["state"] == "failed" and len(parts[-1].tables) == 1]
            for row in failed:
                progress(f"{row['name']}: {row['why']}")
        return merged(parts)

    return all_of_it


def _of_checkpoints(paths: Sequence[str]) -> list[Collector]:
    if not paths:
        return []
    from cli.runs import checkpoint_inspect

    return [Collector(", ".join(paths), "checkpoint", checkpoint_inspect.collect(paths))]


@dataclass(frozen=True)
class _Asked:
    """What is wanted of the cluster."""

    groups: Sequence[str]
    wants: Callable[[str], bool]
    topics: Sequence[str]
    sampling: Sampling
    positions: bool
    members: bool
    at: datetime | None
    timeout_seconds: float
    progress: Progress

    def wants_topic(self, topic: str) -> bool:
        return not self.topics or topic in self.topics


async def _ask(
    entries: Sequence[Entry], client: ClientProperties, tls: ssl.SSLContext | None, asked: _Asked
) -> tuple[Cluster, GroupAnswers, dict[str, list[Row]], dict[str, str]]:
    started = time.monotonic()
    cluster = await Cluster.connect(entries, client, tls, Limits.within(asked.timeout_seconds))
    try:
        known = {topic.name for topic in cluster.topics}
        missing = [name for name in asked.topics if name not in known]
        refused = await cluster.refused_topics(missing)
        for name in missing:
            if name not in refused:
                raise UsageError(f"topic {name} does not exist.", _did_you_mean(name, known))
        named = [group for group in asked.groups if _is_plain(group)]
        others = not asked.groups or len(named) < len(asked.groups)
        answers = await ask_groups(cluster, asked.wants, named, asked.wants_topic, epochs=asked.members, others=others)
        hidden = [f"topic {name}: {cluster.sight.needs('DESCRIBE', '--topic ' + shlex.quote(name))}" for name in refused]
        answers.unlisted[:0] = answers.problems[:0] = hidden  # for all samples
        _refuse_unknown(asked.groups, answers, cluster.sight)
        await _ask_again(cluster, answers, asked, started)
        more: dict[str, list[Row]] = {}
        absent: dict[str, str] = {}
        if answers.members:
            quotas, unknown = await ask_quotas(cluster, newest(answers.members))
            more |= {"client_quotas": quotas} if unknown is None else {}
            absent |= {"client_quotas": f"the quotas of clients are unknown: {unknown}"} if unknown is not None else {}
        more |= _without_leader(cluster, answers)
        if asked.at is not None:
            more["offsets_at"] = await ask_offsets_at(cluster, _places(cluster, answers, asked.topics), asked.at)
        if asked.positions:
            # records have a time of their own: a slow look must not leave nothing for them
            cluster.extend(Limits.within(asked.timeout_seconds))
            read, unread = await positions_of(cluster, answers.committed_offsets)
            more |= read
            answers.problems += unread
            topics = topics_by_age(newest(answers.committed_offsets), more["records"])
            more["topic_configs"], untold = await topic_settings(cluster, topics)
            answers.problems += untold
        return cluster, answers, more, absent
    finally:
        cluster.close()


def _without_leader(cluster: Cluster, answers: GroupAnswers) -> dict[str, list[Row]]:
    """Rows of ``partitions`` of the topics that are read and of the commits, where one of them has no leader: its lag is unknown."""
    topics = {OFFSETS} | {row["topic"] for row in answers.committed_offsets}
    if all(leader in cluster.brokers for (topic, _), leader in cluster.leaders.items() if topic in topics):
        return {}
    return {"partitions": [row for row in partition_rows(cluster, {}) if row["topic"] in topics]}


def _places(cluster: Cluster, answers: GroupAnswers, topics: Sequence[str]) -> set[tuple[str, int]]:
    """The partitions of the groups, and all of `topics`."""
    return {(row["topic"], row["partition"]) for row in answers.committed_offsets} | {at for at in cluster.leaders if at[0] in topics}


async def _ask_again(cluster: Cluster, answers: GroupAnswers, asked: _Asked, started: float) -> None:
    """The other samples. The first one is told at once: the engineer need not wait for the trend."""
    total = sum(row["lag_records"] or 0 for row in answers.committed_offsets)
    if asked.sampling.samples > 1 and answers.committed_offsets:
        partitions = counted(len(answers.committed_offsets), "partition")
        asked.progress(f"{counted(len(answers.groups), 'group')}, {partitions}, {total:,} records behind; watching them for the trend")
    for number in range(1, asked.sampling.samples):
        if not answers.committed_offsets:
            return
        due = started + number * asked.sampling.every_seconds
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await cluster.renew(Limits.within(asked.timeout_seconds))
        await ask_again(cluster, answers, asked.wants_topic)


def newest(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last look."""
    last = max((row["as_of"] for row in rows), default=None)
    return [row for row in rows if row["as_of"] == last]


def wanted_groups(groups: Sequence[str]) -> Callable[[str], bool]:
    """Whether a group id is one of `groups`, ids or expressions; every id when there are none. What is no expression is an id."""
    patterns = [pattern for pattern in map(_pattern, groups) if pattern is not None]
    return lambda name: not groups or name in groups or any(pattern.fullmatch(name) for pattern in patterns)


def _pattern(text: str) -> re.Pattern[str] | None:
    """`text` as a regular expression; None if it is none."""
    try:
        return re.compile(text)
    except re.error:
        return None


def _is_plain(text: str) -> bool:
    """Whether `text` is meant as an id: dots are common in ids, the other metacharacters are not, and what is no expression is one."""
    return not re.search(r"[*+?\[\](){}|^$\\]", text) or _pattern(text) is None


def _refuse_unknown(groups: Sequence[str], answers: GroupAnswers, sight: Sight) -> None:
    """A group that surely does not exist is a mistyped option; one that may only be hidden or whose coordinator is silent is none."""
    existing = {str(row["group"]) for row in answers.groups if row["state"] != "Dead"}
    for text in groups:
        dead = any(row["group"] == text and row["state"] == "Dead" for row in answers.groups)
        nobody = not _is_plain(text) and text not in existing and not any(re.fullmatch(text, name) for name in existing)
        if (dead or (nobody and sight.lists_all_groups is not False)) and not _coordinators_unknown(answers):
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


NO_GROUPS = (
    "this cluster has no consumer groups: there was nothing to check. A job that commits nothing has none (no group.id, checkpointing or "
    "commits switched off); --flink-rest or --checkpoint shows how far it is"
)


def _remarks(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """One sentence per group; where there is none, that this is certain."""
    seen = all(row["state"] == "ok" for row in tables.get("sources", ()) if row["kind"] == "kafka")
    if "groups" in tables and not tables["groups"] and seen:
        return [NO_GROUPS]
    shared = _share_groups(newest(tables.get("share_offsets", ())))
    return [*_bare_groups(tables), *shared, *_per_group(tables.get("committed_offsets", ()))]


def _bare_groups(tables: Mapping[str, Sequence[Row]]) -> list[str]:
    """One sentence per group that was asked for by name and has no committed offset: its lag is unknown, not 0."""
    committed = tables.get("committed_offsets", ())
    told = {row["group"] for row in committed}
    bare = sorted({(str(row["group"]), row["members"]) for row in newest(tables.get("groups", ())) if _is_bare(row, told)})
    why = "it never committed, its commits have expired, or the topics that it read were deleted"
    return [f"group {name} has no committed offset{' and no member' * (not members)}: {why}" for name, members in bare]


def _is_bare(row: Row, told: Collection[str]) -> bool:
    return bool(row["asked"]) and row["error"] is None and row["group"] not in told and row["type"] != "share"


def _share_groups(rows: Sequence[Row]) -> list[str]:
    """One sentence per share group; its records are acknowledged one by one, so no offset is subtracted."""
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_group[str(row["group"])].append(row)
    said = []
    for group, own in sorted(by_group.items()):
        known = [int(row["lag_records"]) for row in own if row["lag_records"] is not None]
        partitions = counted(len(own), "partition")
        says = f"{sum(known):,} records not acknowledged yet on {len(known)} of {partitions}, as the broker counts them"
        said.append(f"share group {group}: " + (says if known else f"how many records are not acknowledged is unknown on {partitions}"))
    return said


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
    looks = len({row["as_of"] for row in tables.get("committed_offsets", ())})
    words = ", ".join(counted(len(newest(tables.get(name, ()))), noun) for name, noun in nouns if name in tables)
    return words + (f" in {looks} samples" if looks > 1 else "")


def _lag(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """What the samples come to, and of what is sampled the newest look: the others are in the bundle, and in `lag_status`."""
    last = {name: newest(tables[name]) for name in ("groups", "members", "share_offsets", "log_offsets") if name in tables}
    if "committed_offsets" not in tables:
        return last
    sampled = sampled_places(tables)
    made = lag_of(tables, sampled)
    stands = {"connector_stands": connector_stands({**tables, **made})} if "connector_tasks" in tables else {}
    return last | {"committed_offsets": [place.newest for place in sampled]} | made | stands


_ANSWERED = (
    "groups", "members", "committed_offsets", "share_offsets", "log_offsets", "records", "open_transactions", "client_quotas", "offsets_at",
)  # fmt: skip
"""Tables of what brokers answer, in the order in which they are shown."""

_OF_CONNECT = ("connector_tasks", "connector_offsets", "connector_stands")

LAG_REPORT = Subject(
    command="lag-report",
    collected=(*_ANSWERED, "topic_configs"),
    facts=(*_ANSWERED, "lag_status", "lag_truth", *_OF_CONNECT),
    looked_at=_looked_at,
    derived=_lag,
    remarks=_remarks,
    apart=(
        ("batches", "batch_offsets", "query_metadata"),
        ("checkpoint_files", "splits"),
        ("vertices", "subtasks", "metrics", "watermarks"),
        _OF_CONNECT,
    ),
)
