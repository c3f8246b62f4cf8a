"""Pasted tables of a consumer group from one moment to the next. The order is known, the time only where the paste shows it.

That one partition stands while its log grows and others of the group move needs no clock: whoever commits for the others is at work.
That all stand needs one: between two commits every group stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.derived.lag.lag_status import BESIDE, MEMBER_STILL_SECONDS
from analyzers.tables import GROUP_MOMENTS, Row

Tables = Mapping[str, Sequence[Row]]

FAR = 10
"""Times the lag of those that move: a partition as far behind waits for no turn."""
UNSETTLED = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_MOST_NAMED = 50
_DAY = 86400.0


def group_moments(tables: Tables) -> list[Row]:
    """Rows of ``group_moments``: one per scope and group that was pasted."""
    offsets: dict[tuple[str, str], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    states: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables.get("pasted_offsets", ()):
        offsets[row["scope"], row["group"]][row["moment"]].append(row)
    for row in tables.get("pasted_groups", ()):
        states[row["scope"], row["group"]].append(row)
    return [_of_group(scope, group, offsets[scope, group], states[scope, group]) for scope, group in sorted({*offsets, *states})]


def _of_group(scope: str, group: str, by_moment: Mapping[int, Sequence[Row]], states: Sequence[Row]) -> Row:
    looks = _in_order([rows for _, rows in sorted(by_moment.items())])
    known = [row["state"] for row in sorted(states, key=lambda row: row["moment"]) if row["state"]]
    members = next((row["members"] for row in sorted(states, key=lambda row: -row["moment"]) if row["members"] is not None), None)
    values: dict[str, Any] = {
        "scope": scope, "group": group, "moments": len(looks) or len(states), "state": known[-1] if known else None, "members": members,
        "file": (looks[-1][0] if looks else states[-1])["file"], "line": looks[-1][0]["line"] if looks else None,
    }  # fmt: skip
    if looks:
        values |= {"seconds": _seconds(looks[0][0], looks[-1][0]), "captured_at": looks[-1][0]["at"], "as_of": looks[-1][0]["at"]}
    places: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for look in looks:
        for row in look:
            places[row["topic"], row["partition"]].append(row)
    whole = {place: rows for place, rows in places.items() if len(rows) == len(looks) > 1}
    moved = [rows for rows in whole.values() if _moved(rows)]
    standing = sorted((rows for rows in whole.values() if _stands(rows)), key=lambda rows: -(rows[-1]["lag_records"] or 0))
    unsettled = sum(state in UNSETTLED for state in known)
    reason, shown = _reason(standing, moved, values, unsettled)
    values |= {"reason": reason, "moved": len(moved), "moved_lag": max((rows[-1]["lag_records"] or 0 for rows in moved), default=None)}
    if shown:
        last = [rows[-1] for rows in shown]
        values |= {
            "topic": last[0]["topic"] if len({row["topic"] for row in last}) == 1 else None,
            "partitions": [f"{row['topic']}-{row['partition']}" for row in last[:_MOST_NAMED]],
            "committed": last[0]["committed"],
            "lag_records": last[0]["lag_records"],
            "grew_records": last[0]["high_watermark"] - shown[0][0]["high_watermark"],
            **{name: last[0][name] if len({row[name] for row in last}) == 1 else None for name in ("client", "host")},
            "line": last[0]["line"],
            "file": last[0]["file"],
        }
    return GROUP_MOMENTS.row(values)


def _reason(
    standing: Sequence[list[Row]], moved: Sequence[list[Row]], values: Mapping[str, Any], unsettled: int
) -> tuple[str | None, Sequence[list[Row]]]:
    """What the moments show, and of which partitions."""
    seconds = values.get("seconds")
    if unsettled and not moved:
        return "rebalancing", standing
    if standing and moved:
        far = max(rows[-1]["lag_records"] or 0 for rows in moved) * FAR
        worst = [rows for rows in standing if rows[-1]["lag_records"] > far]
        if worst or len(moved) >= BESIDE * len(standing):
            return "stands", worst or standing
    if standing and not moved and (values["members"] or 0) > 0 and seconds is not None and seconds >= MEMBER_STILL_SECONDS:
        return "group-stands", standing
    return ("moves" if moved else None), ()


def _moved(rows: Sequence[Row]) -> bool:
    first, last = rows[0]["committed"], rows[-1]["committed"]
    return first is not None and last is not None and last > first


def _stands(rows: Sequence[Row]) -> bool:
    """Whether nothing was committed in all moments although there was something to read, and more came."""
    commits, ends = {row["committed"] for row in rows}, [row["high_watermark"] for row in rows]
    if len(commits) != 1 or None in commits or None in ends or not rows[0]["lag_records"]:
        return False
    return bool(ends[-1] > ends[0])


def _in_order(looks: Sequence[Sequence[Row]]) -> list[Sequence[Row]]:
    """The moments by their times where all have one; else by the ends of the logs, which only grow, else as they were pasted."""
    if all(look[0]["at"] for look in looks):
        return sorted(looks, key=lambda look: look[0]["at"])
    if len({look[0]["file"] for look in looks}) > 1:
        return sorted(looks, key=lambda look: sum(row["high_watermark"] or 0 for row in look))
    return list(looks)


def _seconds(first: Row, last: Row) -> float | None:
    if first["at"] and last["at"]:
        return float((last["at"] - first["at"]).total_seconds())
    if first["of_day"] is not None and last["of_day"] is not None and first["file"] == last["file"]:
        return float((last["of_day"] - first["of_day"]) % _DAY)
    return None
