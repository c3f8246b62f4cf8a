"""What stands below a group's lag on request: who is in it, which quotas may throttle them, and which offsets lie at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby

from analyzers.report.durations import counted
from analyzers.tables import Row
from cli.renderers.wording import printable, when

_MOST_MEMBERS = 50
_MOST_PLACES = 50

Facts = Mapping[str, Sequence[Row]]


def members_of(group: str, row: Mapping[str, object], facts: Facts) -> list[str]:
    """A line for the assignor and the epochs of `group`, and one for each of its members with its partitions."""
    known = [
        ("assignor", row.get("assignor")),
        ("epoch", row.get("epoch")),
        ("assignment of epoch", row.get("assignment_epoch") if row.get("assignment_epoch") != row.get("epoch") else None),
    ]
    own = [member for member in facts.get("members", ()) if member["group"] == group]
    words = ", ".join(f"{name} {printable(str(value))}" for name, value in known if value is not None)
    lines = [f"  members{f' ({words})' if words else ''}:"] if own else []
    for member in own[:_MOST_MEMBERS]:
        instance = f", instance {member['instance']}" if member["instance"] else ""
        behind = f", epoch {member['epoch']}" if member["epoch"] is not None else ""
        lines.append("    " + printable(f"{member['client']} on {member['host']}{instance}{behind}: {_assigned(member['assigned'] or ())}"))
    return lines + ([f"    … {counted(len(own) - _MOST_MEMBERS, 'member')} more; -o json has all"] if len(own) > _MOST_MEMBERS else [])


def _assigned(places: Sequence[str]) -> str:
    """``orders 0-3,7; payments 1``."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for place in places:
        topic, _, number = place.rpartition("-")
        numbers[topic].append(int(number))
    return "; ".join(f"{topic} {_ranges(sorted(own))}" for topic, own in sorted(numbers.items())) or "no partition"


def _ranges(numbers: Sequence[int]) -> str:
    spans = []
    for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        own = [number for _, number in run]
        spans.append(str(own[0]) if len(own) == 1 else f"{own[0]}-{own[-1]}")
    return ",".join(spans)


def quotas_of(group: str, facts: Facts) -> list[str]:
    """A line for each quota that may throttle a member of `group`."""
    lines = []
    for row in facts.get("client_quotas", ()):
        if group in (row["groups"] or ()):
            whom = " and ".join(f"{name} {row[key]}" for name, key in (("user", "user"), ("client id", "client_id")) if row[key])
            limit = f"{row['value']:,.0f} bytes/s" if row["key"].endswith("byte_rate") else f"{row['value']:g} %"
            unsure = ", if a member is that user" if row["user"] else ""
            lines.append("    " + printable(f"quota: {row['key']} {limit} per broker for {whom}{unsure}"))
    return lines


def offsets_at(facts: Facts) -> list[str]:
    """The offset of each partition at the time that was asked for, and how far the commits are from it."""
    rows = facts.get("offsets_at", ())
    if not rows:
        return []
    commits = defaultdict[tuple[str, int], list[Row]](list)
    for row in facts.get("committed_offsets", ()):
        commits[row["topic"], row["partition"]].append(row)
    lines = ["", f"Offsets at {when(rows[0]['at'])} UTC, by the records' time stamps:"]
    for row in rows[:_MOST_PLACES]:
        place = f"  {printable(row['topic'])}-{row['partition']}: "
        if row["error"]:
            lines.append(f"{place}unknown: {row['error']}")
            continue
        which = "the log end, every record is older" if row["record_at"] is None else f"record of {when(row['record_at'])}"
        away = [_away(own, row["offset"]) for own in commits[row["topic"], row["partition"]] if own["committed"] is not None]
        lines.append("; ".join([f"{place}{row['offset']:,} ({which})", *away]))
    return lines + ([f"  … {counted(len(rows) - _MOST_PLACES, 'partition')} more; -o json has all"] if len(rows) > _MOST_PLACES else [])


def _away(own: Row, offset: int) -> str:
    ahead = own["committed"] - offset
    return f"{printable(own['group'])} " + ("is there" if not ahead else f"is {abs(ahead):,} {'past' if ahead > 0 else 'before'} it")
