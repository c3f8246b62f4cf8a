"""Whether a job survives that brokers are taken away: one answer per question, from the cluster as it is now.

It is asked what happens when the brokers are stopped as they are. Sources: Kafka's documentation of partition reassignment, of
``min.insync.replicas`` and of the KRaft quorum; the group coordinator is the leader of partition ``|hash(group)| mod n`` of
``__consumer_offsets`` (kafka.coordinator.group.GroupMetadataManager.partitionFor).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analyzers.derived.next_start.job_clients import logged_bootstrap
from analyzers.derived.next_start.start_odds import start_odds
from analyzers.derived.planned.answers import BREAKS, GOES, MOST_KEPT, MOST_NAMED, ORDER, UNKNOWN, answer, counted, some
from analyzers.forecast.fixes import GOOD_ENOUGH
from analyzers.forecast.what_if import parse_what_if
from analyzers.tables import PREFLIGHT, Row

Tables = Mapping[str, Sequence[Row]]

CHANGE = "broker-removal"
_OFFSETS, _TRANSACTIONS = "__consumer_offsets", "__transaction_state"
_MOVE = (
    "Move every replica off {brokers} first: kafka-reassign-partitions.sh --generate with the other brokers as --broker-list, then "
    "--execute and --verify."
)
_ROOM = 0.95
"""Share of a volume that may be filled: a broker whose volume is full stops."""


@dataclass(frozen=True)
class _Cluster:
    """One scope of `tables`, and which brokers would go."""

    scope: str
    tables: Tables
    leaving: frozenset[str]
    groups: tuple[str, ...]

    def rows(self, name: str) -> list[Row]:
        return [row for row in self.tables.get(name, ()) if row["scope"] == self.scope]

    @cached_property
    def brokers(self) -> dict[str, Row]:
        return {str(row["broker"]): row for row in self.rows("brokers") if row["in_metadata"] is not False}

    @cached_property
    def staying(self) -> frozenset[str]:
        """Those that stay and answer."""
        return frozenset(node for node, row in self.brokers.items() if node not in self.leaving and row["state"] in ("alive", None))

    @cached_property
    def partitions(self) -> list[Row]:
        return self.rows("partitions")

    @cached_property
    def named(self) -> str:
        return f"broker {', '.join(sorted(self.leaving, key=int))}"


def broker_removal(tables: Tables) -> list[Row]:
    """Rows of ``preflight`` for each row of ``planned_changes`` that removes brokers; what breaks comes first.

    A plan is about its own scope, or about all of them where that is none of the evidence's.
    """
    scopes = {row["scope"] for name in ("brokers", "partitions", "bootstrap_servers") for row in tables.get(name, ())}
    found: list[Row] = []
    for plan in tables.get("planned_changes", ()):
        if plan["change"] != CHANGE:
            continue
        for scope in [plan["scope"]] if plan["scope"] in scopes or not scopes else sorted(scopes):
            cluster = _Cluster(scope, tables, frozenset(plan["brokers"] or ()), tuple(plan["groups"] or ()))
            head = {
                "scope": scope,
                "as_of": _newest(cluster) or plan["as_of"],
                "change": CHANGE,
                "brokers": sorted(cluster.leaving, key=int),
            }
            answers = sorted(_answers(cluster), key=lambda one: ORDER.index(one["answer"]))
            found += [PREFLIGHT.row({**head, **one}) for one in answers]
    return found


def _newest(cluster: _Cluster) -> Any:
    rows = (row for name in ("brokers", "partitions", "bootstrap_servers") for row in cluster.rows(name))
    return max((row["as_of"] for row in rows if row["as_of"] is not None), default=None)


def _answers(cluster: _Cluster) -> Iterator[dict[str, Any]]:
    strangers = sorted(cluster.leaving - cluster.brokers.keys())
    if strangers and cluster.brokers:
        there = ", ".join(sorted(cluster.brokers, key=int))
        yield _answer(
            "replicas", UNKNOWN, f"broker {', '.join(strangers)} is not in the cluster's metadata, which lists {there}",
            "Name the brokers by the node ids that the cluster has now.",
        )  # fmt: skip
        return
    yield from _of_partitions(cluster)
    yield from _quorum(cluster)
    yield from _bootstrap(cluster)


def _answer(question: str, said: str, says: str, todo: str | None = None, about: Sequence[Row] = (), **more: Any) -> dict[str, Any]:
    topics = list(dict.fromkeys(str(row["topic"]) for row in about))[:MOST_KEPT]
    names = [_name(row) for row in about[:MOST_KEPT]]
    own = {"topics": topics or None, "partitions": names or None, "number": len(about) or None}
    return answer(question, said, says, todo, **own, **more)


def _name(row: Row) -> str:
    return f"{row['topic']}-{row['partition']}"


def _some(rows: Sequence[Row]) -> str:
    return some([_name(row) for row in rows])


# Partitions ---------------------------------------------------------------------------------------------------------------


def _of_partitions(cluster: _Cluster) -> Iterator[dict[str, Any]]:
    rows = cluster.partitions
    if not rows:
        yield _answer(
            "replicas", UNKNOWN, "no partition is known: what lies on the brokers that go cannot be said",
            "Give --bootstrap-server with a user that may DESCRIBE the topics.",
        )  # fmt: skip
        return
    gone = cluster.leaving
    on_them = [row for row in rows if set(row["replicas"] or ()) & gone]
    lost = [row for row in on_them if not set(row["replicas"] or ()) - gone]
    alive = cluster.staying
    left = [row for row in on_them if row not in lost and not set(row["isr"] or ()) & alive]
    move = _MOVE.format(brokers=cluster.named)
    if lost:
        says = f"every replica of {counted(len(lost), 'partition')} lies on {cluster.named}: {_some(lost)}"
        yield _answer("replicas", BREAKS, f"{says}. Their records are gone with it", move, lost)
    elif on_them:
        yield _answer("replicas", GOES, f"{counted(len(on_them), 'partition')} on {cluster.named} have a replica elsewhere", move, on_them)
    else:
        yield _answer("replicas", GOES, f"no partition has a replica on {cluster.named}")
    if left:
        says = f"{counted(len(left), 'partition')} would have no leader: no replica elsewhere is in sync now ({_some(left)})"
        yield _answer("in-sync", BREAKS, says, "Wait until these replicas are in sync, or repair what keeps them behind.", left)
    elif on_them:
        yield _answer("in-sync", GOES, f"each of {'the others' if lost else 'them'} has a replica in sync that stays")
    yield from _min_isr(cluster, [row for row in on_them if row not in lost and row not in left])
    yield from _replication_factor(cluster, rows)
    led = [row for row in rows if str(row["leader"]) in gone and row not in lost and row not in left]
    if led:
        says = f"{counted(len(led), 'partition')} change their leader: clients retry for about a second, as in a rolling restart"
        yield _answer("leaders", GOES, says, None, led)
    yield from _reassignments(cluster, rows)
    yield from _space(cluster, on_them)
    yield from _coordinators(cluster, rows)


def _min_isr(cluster: _Cluster, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    if not rows:
        return
    wanted = {row["topic"]: int(row["value"]) for row in cluster.rows("topic_configs") if row["key"] == "min.insync.replicas"}
    hidden = [row for row in rows if row["topic"] not in wanted]
    closed = [row for row in rows if len(set(row["isr"] or ()) & cluster.staying) < wanted.get(row["topic"], 1)]
    if hidden and not closed:
        topics = list(dict.fromkeys(str(row["topic"]) for row in hidden))
        of = some(topics)
        yield _answer(
            "min-isr", UNKNOWN, f"min.insync.replicas of {of} is not known: writers with acks=all may be refused",
            "Grant DESCRIBE_CONFIGS on the topics, or: kafka-configs.sh --describe --all --entity-type topics.", hidden,
        )  # fmt: skip
        return
    if not closed:
        yield _answer("min-isr", GOES, "each partition keeps as many replicas in sync as its min.insync.replicas")
        return
    first = closed[0]
    keeps = len(set(first["isr"] or ()) & cluster.staying)
    says = (
        f"{counted(len(closed), 'partition')} would have fewer replicas in sync than min.insync.replicas: {_some(closed)} "
        f"({_name(first)} keeps {keeps} of {wanted[first['topic']]}). Writers with acks=all are refused (NOT_ENOUGH_REPLICAS)"
    )
    yield _answer("min-isr", BREAKS, says, _MOVE.format(brokers=cluster.named), closed)


def _replication_factor(cluster: _Cluster, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    left = len(cluster.brokers.keys() - cluster.leaving)
    if not cluster.brokers:
        return
    wide = [row for row in rows if len(row["replicas"] or ()) > left]
    if wide:
        most = max(len(row["replicas"]) for row in wide)
        says = (
            f"{counted(left, 'broker')} stay, and {counted(len(wide), 'partition')} have up to {most} replicas ({_some(wide)}): they "
            "stay under-replicated, and no topic can be created with that replication factor"
        )
        todo = f"Add brokers, or lower the replication factor of these topics and default.replication.factor to {left} first."
        yield _answer("replication-factor", BREAKS, says, todo, wide)
    else:
        yield _answer("replication-factor", GOES, f"{counted(left, 'broker')} stay: enough for each topic's replication factor")


def _reassignments(cluster: _Cluster, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    if all(row["adding"] is None and row["removing"] is None for row in rows):
        yield _answer(
            "reassignments", UNKNOWN, "whether a reassignment is under way is not known",
            "Grant DESCRIBE on the cluster, or: kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --list.",
        )  # fmt: skip
        return
    onto = [row for row in rows if set(row["adding"] or ()) & cluster.leaving]
    moving = [row for row in rows if row["adding"] or row["removing"]]
    if onto:
        says = f"a reassignment under way moves {counted(len(onto), 'partition')} onto {cluster.named}: {_some(onto)}. It could never end"
        yield _answer("reassignments", BREAKS, says, "Cancel it (kafka-reassign-partitions.sh --cancel), and plan it without them.", onto)
    elif moving:
        says = f"a reassignment of {counted(len(moving), 'partition')} is under way: {_some(moving)}"
        todo = "Wait until it has ended: kafka-reassign-partitions.sh --verify, or --list shows none."
        yield _answer("reassignments", BREAKS, f"{says}. What it takes away from them is not yet safe elsewhere", todo, moving)
    else:
        yield _answer("reassignments", GOES, "no reassignment is under way")


def _space(cluster: _Cluster, on_them: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Whether what lies on the brokers that go has room on those that stay."""
    if not on_them:
        return
    dirs = cluster.rows("log_dirs")
    theirs = [row for row in dirs if str(row["broker"]) in cluster.leaving]
    others = [row for row in dirs if str(row["broker"]) in cluster.staying]
    usable, total = ([row[name] for row in others] for name in ("usable_bytes", "total_bytes"))
    sizes = [row["size_bytes"] for row in theirs]
    if not theirs or not others or None in sizes or None in usable or None in total:
        yield _answer(
            "space", UNKNOWN, f"whether the other brokers have room for what lies on {cluster.named} is not known",
            "kafka-log-dirs.sh --describe shows the sizes, df on each broker what is free (Kafka 3.3 and later report it).",
        )  # fmt: skip
        return
    needed = sum(sizes)
    room = sum(max(0, free - whole * (1 - _ROOM)) for free, whole in zip(usable, total, strict=True))
    known = f"{_bytes(needed)} lie on {cluster.named}, and {_bytes(room)} are free on those that stay"
    if needed > room:
        yield _answer("space", BREAKS, f"{known}: there is no room to move it", "Add disks or brokers, or shorten retention, first.")
    else:
        yield _answer("space", GOES, known)


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def _coordinators(cluster: _Cluster, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    from analyzers.bundle.harmless import IS_TOKEN  # its many expressions are for who redacts, or plans a change

    offsets = {row["partition"]: row for row in rows if row["topic"] == _OFFSETS}
    for group in cluster.groups:
        if IS_TOKEN.search(group):
            says = f"the name of group {group} is redacted, and its coordinator follows from the name"
            yield _answer("coordinator", UNKNOWN, says, "Ask without --redact, or of a bundle that is not redacted.", group=group)
            continue
        if not offsets or set(offsets) != set(range(len(offsets))):
            says = f"the coordinator of group {group} is not known: {_OFFSETS} is not shown in full"
            yield _answer("coordinator", UNKNOWN, says, f"Grant DESCRIBE on {_OFFSETS}.", group=group)
            continue
        row = offsets[coordinator_partition(group, len(offsets))]
        where = f"group {group} is kept in {_name(row)}, which broker {row['leader']} leads"
        if not set(row["isr"] or ()) & cluster.staying:
            says = f"{where}: no replica in sync stays, so the group could neither commit nor join"
            yield _answer("coordinator", BREAKS, says, _MOVE.format(brokers=cluster.named), [row], group=group)
        elif str(row["leader"]) in cluster.leaving:
            says = f"{where}: another broker becomes its coordinator, and the group joins it again"
            yield _answer("coordinator", GOES, says, None, [row], group=group)
        else:
            yield _answer("coordinator", GOES, f"{where} and which stays", None, [row], group=group)


def coordinator_partition(group: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` that keeps `group`: Java's ``String.hashCode`` without its sign, modulo `partitions`."""
    number = 0
    encoded = group.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        number = (number * 31 + int.from_bytes(encoded[at : at + 2], "big")) & 0xFFFFFFFF
    return (number & 0x7FFFFFFF) % partitions


# The controllers ----------------------------------------------------------------------------------------------------------


def _quorum(cluster: _Cluster) -> Iterator[dict[str, Any]]:
    voters = {str(row["node"]): row for row in cluster.rows("metadata_quorum") if row["role"] in ("leader", "voter")}
    if not voters:
        return  # ZooKeeper, or not shown: brokers that are no controllers are most common
    going = sorted(voters.keys() & cluster.leaving, key=int)
    if not going:
        yield _answer("quorum", GOES, f"none of them is one of the {counted(len(voters), 'controller')} of the KRaft quorum")
        return
    behind = [node for node, row in voters.items() if node not in cluster.leaving and row["log_end_offset"] is None]
    need = len(voters) // 2 + 1
    stay = len(voters) - len(going) - len(behind)
    who = f"controller {', '.join(going)}"
    if stay < need:
        silent = f", and {', '.join(behind)} do not fetch" if behind else ""
        says = (
            f"{who} of {len(voters)} go{silent}: {stay} are left of {need} that a majority needs. No leader can be elected or changed then"
        )
        todo = (
            "Add controllers elsewhere first (kafka-metadata-quorum.sh add-controller), then remove these (remove-controller), one at a "
            "time."
        )
        yield _answer("quorum", BREAKS, says, todo)
    else:
        says = f"{who} of {len(voters)} voters go; {stay} are left of {need} that a majority needs"
        todo = "Take it out of the voters as well (kafka-metadata-quorum.sh remove-controller, or controller.quorum.voters on every node)."
        yield _answer("quorum", GOES, says, todo)


# The clients --------------------------------------------------------------------------------------------------------------


def _bootstrap(cluster: _Cluster) -> Iterator[dict[str, Any]]:
    """Whether clients that start afterwards find the cluster: bootstrap lists that name brokers that go."""
    addresses = {str(row["address"]).lower(): node for node, row in cluster.brokers.items() if row["address"]}
    logged = logged_bootstrap(cluster.scope, cluster.tables)
    if logged:
        yield _logged_list(cluster, logged, addresses)
    probed = cluster.rows("bootstrap_servers")
    if not probed:
        return
    entries = {str(row["entry"]): row for row in probed}
    unknown = [entry for entry, row in entries.items() if row["broker"] is None and entry.lower() not in addresses]
    named = [entry for entry, row in entries.items() if _node(row, addresses) in cluster.leaving]
    if named and len(named) == len(entries):
        says = f"every entry of the bootstrap list goes ({', '.join(named)}): no client of it starts again"
        yield _answer("bootstrap", BREAKS, says, _write_list(cluster))
        return
    if not named:
        if unknown and len(entries) == len(unknown):
            says = f"which broker stands behind {', '.join(unknown)} is not known"
            yield _answer("bootstrap", UNKNOWN, says, "Give the list that the job has with --bootstrap-server.")
        else:
            yield _answer("bootstrap", GOES, f"none of the {counted(len(entries), 'entry', 'entries')} of the bootstrap list goes")
        return
    yield _odds(cluster, named, len(entries))


def _node(row: Row, addresses: Mapping[str, str]) -> str | None:
    return str(row["broker"]) if row["broker"] is not None else addresses.get(str(row["entry"]).lower())


def _logged_list(cluster: _Cluster, listed: Sequence[str], addresses: Mapping[str, str]) -> dict[str, Any]:
    going = [entry for entry in listed if addresses.get(entry.lower()) in cluster.leaving]
    known = [entry for entry in listed if entry.lower() in addresses]
    where = f"the bootstrap list in the job's log ({', '.join(listed[:6])}{', …' if len(listed) > 6 else ''})"
    if not known:
        return _answer(
            "bootstrap", UNKNOWN, f"{where} names none of the brokers' advertised addresses", "Compare it with the brokers' hosts."
        )
    if going and len(going) == len(listed):
        return _answer("bootstrap", BREAKS, f"{where} names only brokers that go: the job does not start again", _write_list(cluster))
    if going:
        says = f"{where} names {', '.join(going)}: each start of an old client may pick one of them"
        return _answer("bootstrap", BREAKS, says, _write_list(cluster))
    return _answer("bootstrap", GOES, f"{where} names none of them")


def _write_list(cluster: _Cluster) -> str:
    staying = [str(cluster.brokers[node]["address"]) for node in sorted(cluster.staying, key=int) if cluster.brokers[node]["address"]]
    return (
        f"Write the list without them into each client, and restart it, first: {','.join(staying[:6])}" if staying else "Write a new list."
    )


def _odds(cluster: _Cluster, named: Sequence[str], entries: int) -> dict[str, Any]:
    """By the forecast of the job's next start (`analyzers/forecast/`)."""
    asked = parse_what_if(f"remove={','.join(sorted(cluster.leaving, key=int))}")
    own = {
        name: rows
        for name, rows in cluster.tables.items()
        if name in ("bootstrap_servers", "brokers", "client_configs", "log_events", "log_files")
    }
    forecasts = [row for row in start_odds(own, [asked])["forecast"] if row["scope"] == cluster.scope and row["scenario"] == asked.text]
    chances = [row["p_fail_start"] for row in forecasts]
    more = ", …" if len(named) > MOST_NAMED else ""
    names = f"{len(named)} of {entries} entries of the bootstrap list go ({', '.join(named[:MOST_NAMED])}{more})"
    todo = _write_list(cluster)
    if not chances or None in chances:
        return _answer("bootstrap", UNKNOWN, f"{names}; how often a start fails then was never measured", todo)
    worst = max(forecasts, key=lambda row: row["p_fail_start"])
    told = str(worst["says"]).rstrip(".")
    if all(chance >= GOOD_ENOUGH for chance in chances):
        return _answer("bootstrap", BREAKS, f"{names}. {told}", todo)
    if all(chance < GOOD_ENOUGH for chance in chances):
        return _answer("bootstrap", GOES, f"{names}, and its clients start all the same. {told}", todo)
    versions = ", ".join(f"{row['client_version']}: {row['p_fail_start']:.0%}" for row in forecasts)
    says = f"{names}; how often a start fails depends on the version of kafka-clients ({versions})"
    return _answer(
        "bootstrap", UNKNOWN, says, "Give --client-version (the job's log says `Kafka version: …`), --connector and --parallelism."
    )


def plan_row(brokers: Iterable[int], groups: Iterable[str], *, scope: str = "", as_of: Any = None) -> Row:
    """A row of ``planned_changes``."""
    from analyzers.tables import PLANNED_CHANGES

    ids = [str(node) for node in sorted(set(brokers))]
    return PLANNED_CHANGES.row({"scope": scope, "as_of": as_of, "change": CHANGE, "brokers": ids, "groups": list(groups) or None})
