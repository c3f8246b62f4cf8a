"""Pasted tables of a consumer group from one moment to the next. The order is known, the time only where the paste shows it.

That one partition stands while its log grows and others of the group move needs no clock: whoever commits for the others is at work.
That all stand needs one: between two commits every group stands. That a group reads more slowly than its topics grow needs none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from analyzers.derived.flow.metric_troubles import QUOTA, label
from analyzers.derived.lag.lag_status import BESIDE, MEMBER_STILL_SECONDS
from analyzers.tables import GROUP_MOMENTS, Row

Tables = Mapping[str, Sequence[Row]]

FAR = 10
"""Times the lag of those that move: a partition as far behind waits for no turn."""
UNSETTLED = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
SLOW, MANY = 2.0, 10_000
"""A group falls behind whose lag is at least so many times as large in the last moment as in the first, and at least so many records."""
Place = tuple[str, str, int, int]
_AT_END, _FAR_BEHIND = 100, 1_000
"""Records: a partition that is read to its end, and one that is not."""
_APART = 100
"""Times the lag of all others, busy as they are: a partition that is so far behind is not read as they are."""
_LOOKS = 3
"""Two moments of a job that commits at its checkpoints may be just after one and just before the next."""
_LONGEST = 900_000  # ms: transaction.max.timeout.ms of a broker
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
    opened = {(row["scope"], row["topic"], row["partition"], row["offset"]): row for row in tables.get("open_transactions", ())}
    delays = _delays(tables.get("metric_samples", ()))
    found = []
    for scope, group in sorted({*offsets, *states}):
        values = _of_group(scope, group, offsets[scope, group], states[scope, group], opened)
        clients = values.pop("clients")
        values["throttled_ms"] = max((delay for client, delay in delays[scope] if client in clients), default=None)
        found.append(GROUP_MOMENTS.row(values))
    return found


def _delays(samples: Sequence[Row]) -> dict[str, list[tuple[str, float]]]:
    """By scope, the clients whose fetches a quota delays in their newest sample, and by how many milliseconds."""
    newest: dict[tuple[str, str, str], Row] = {}
    for row in sorted(samples, key=lambda row: (row["moment"], row["line"])):
        client = label(row, "client_id", "clientid", "client-id")
        if row["counts"] == QUOTA and client is not None and "produce" not in row["name"].lower():
            newest[row["scope"], client, row["name"]] = row
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for (scope, client, _), row in newest.items():
        found[scope].append((client, row["value"]))
    return found


def _of_group(
    scope: str, group: str, by_moment: Mapping[int, Sequence[Row]], states: Sequence[Row], opened: Mapping[Place, Row]
) -> dict[str, Any]:
    looks = _in_order([rows for _, rows in sorted(by_moment.items())])
    known = [row["state"] for row in sorted(states, key=lambda row: row["moment"]) if row["state"]]
    members = next((row["members"] for row in sorted(states, key=lambda row: -row["moment"]) if row["members"] is not None), None)
    values: dict[str, Any] = {
        "scope": scope, "group": group, "moments": len(looks) or len(states), "state": known[-1] if known else None, "members": members,
        "clients": {row["client"] for look in looks for row in look if row["client"]},
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
    reason, shown = _reason(standing, moved, values, unsettled, looks[-1] if looks else ())
    if looks and (held := _held(scope, looks[-1], standing, opened)) is not None:
        transaction, shown = held
        reason = "transaction"
        values |= {name: transaction[name] for name in ("producer", "transactional_id", "coordinator_epoch", "written_at", "hanging")}
        values["transaction_ended"] = transaction["ended"]
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
            "first_lag": sum(rows[0]["lag_records"] or 0 for rows in shown),
            "last_lag": sum(row["lag_records"] or 0 for row in last),
            "read_records": sum(rows[-1]["committed"] - rows[0]["committed"] for rows in shown),
        }
    return values


def _reason(
    standing: Sequence[list[Row]], moved: Sequence[list[Row]], values: Mapping[str, Any], unsettled: int, last: Sequence[Row]
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
    if moved and (slow := _behind(moved)):
        return "behind", slow
    if last and (far := _uneven(last)):
        return "uneven", far
    return ("moves" if moved else None), ()


def _uneven(look: Sequence[Row]) -> list[list[Row]]:
    """The partitions, the largest lag first, that are far behind where most of the others are read to their ends, or nearly so."""
    known = sorted((row for row in look if row["lag_records"] is not None), key=lambda row: -row["lag_records"])
    for number in range(1, len(known) // 2 + 1):
        rest, least = known[number]["lag_records"] if number < len(known) else 0, known[number - 1]["lag_records"]
        if least >= max(_FAR_BEHIND, _APART * rest) or rest <= _AT_END:
            return [[row] for row in known[:number]] if least >= _FAR_BEHIND else []
    return []


def _behind(moved: Sequence[list[Row]]) -> list[list[Row]]:
    """The partitions, the largest lag first, if from moment to moment the group is farther behind."""
    known = [rows for rows in moved if all(row["lag_records"] is not None for row in rows)]
    lags = [sum(row["lag_records"] for row in look) for look in zip(*known, strict=True)]
    if len(lags) < _LOOKS or sorted(lags) != lags or lags[-1] < MANY or lags[-1] < SLOW * max(1, lags[0]):
        return []
    return sorted((rows for rows in known if _farther(rows)), key=lambda rows: -rows[-1]["lag_records"])


def _farther(rows: Sequence[Row]) -> bool:
    return bool(rows[-1]["lag_records"] > rows[0]["lag_records"])


def _held(
    scope: str, look: Sequence[Row], standing: Sequence[list[Row]], opened: Mapping[Place, Row]
) -> tuple[Row, Sequence[list[Row]]] | None:
    """The transaction that begins where a partition stands, and that partition; of one moment one that find-hanging lists, or an old one.

    A caught-up reader of committed records always stands where the newest transaction begins.
    """
    stand = {(rows[-1]["topic"], rows[-1]["partition"]): rows for rows in standing}
    for row in sorted(look, key=lambda row: -(row["lag_records"] or 0)):
        transaction = opened.get((scope, row["topic"], row["partition"], row["committed"]))
        if transaction is not None and row["lag_records"]:
            rows = stand.get((row["topic"], row["partition"]))
            if rows is not None or transaction["hanging"] or _is_old(transaction):
                return transaction, [rows or [row]]
    return None


def _is_old(transaction: Row) -> bool:
    written, newest = transaction["written_at"], transaction["newest_at"]
    longest = timedelta(milliseconds=transaction["timeout_ms"] or _LONGEST)
    return written is not None and newest is not None and newest - written > longest


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
