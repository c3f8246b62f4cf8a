"""The odds of the next start of the job's clients with the bootstrap entries as a probe saw them, or as they might be."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from analyzers.derived.next_start.job_clients import Said, logged_client
from analyzers.forecast.clients import CONNECTORS
from analyzers.forecast.fixes import GOOD_ENOUGH, fixes
from analyzers.forecast.odds import KINDS, SILENT, Client, Entries, Odds, is_measured, odds
from analyzers.forecast.what_if import WhatIf, client_of
from analyzers.tables import FORECAST, FORECAST_FIXES, Row

Tables = Mapping[str, Sequence[Row]]

ASSUMED_VERSIONS = ("2.4.1", "3.4.0")
"""Where the job's version is unknown: Flink 1.11 to 1.14 bring the first, Flink 1.16 and later behave like the second."""

HOPELESS = 1000
"""Expected starts; at a minute each nobody waits for the right one."""

NOW = "now"


@dataclass(frozen=True)
class _Case:
    """One forecast: `dead` counts entries by kind, `living` are those to keep, `extra` is what else the question brings to light."""

    scenario: str
    entries: Entries
    dead: Mapping[str, int]
    client: Client
    named: bool  # the connector is known
    assumed: bool
    living: tuple[str, ...] = ()
    extra: str = ""


def start_odds(tables: Tables, what_ifs: Sequence[WhatIf] = ()) -> dict[str, list[Row]]:
    """Rows of ``forecast`` and ``forecast_fixes``: for the client's version where it is known, else for each typical one.

    Options beat the client's properties, these the logs. Every entry alive has no odds, unless a question was asked.
    """
    scopes: dict[str, list[Row]] = defaultdict(list)
    for row in tables.get("bootstrap_servers", ()):
        scopes[row["scope"]].append(row)
    forecasts: list[Row] = []
    changes: list[Row] = []
    for scope, probed in sorted(scopes.items()) or [("", [])]:
        newest = max((row["as_of"] for row in probed if row["as_of"] is not None), default=None)
        latest = [row for row in probed if row["as_of"] == newest]
        for case in [*_now(scope, latest, tables), *(c for asked in what_ifs for c in _asked(asked, scope, latest, tables))]:
            head = {"scope": scope, "as_of": newest, "scenario": case.scenario, "client_version": case.client.version}
            proposed = _fix_rows(case, head)
            changes += proposed
            forecasts.append(_row(case, proposed, newest, scope))
    return {"forecast": forecasts, "forecast_fixes": changes}


def entry_states(probed: Iterable[Row]) -> dict[str, str]:
    """One state per entry: alive when any of its addresses is, else that of the first; entries without a judgement are left out."""
    states: dict[str, str] = {}
    for row in probed:
        if row["state"] is not None and states.get(row["entry"]) != "alive":
            entry, state = str(row["entry"]), str(row["state"])
            states[entry] = state if state == "alive" else states.get(entry, state)
    return states


def _each(probed: Sequence[Row]) -> Sequence[Row]:
    """`probed` with a name of its own for each place in the list: to a client an entry that is named twice is two servers."""
    first = {row["entry"]: row["position"] for row in reversed(probed)}
    return [row if row["position"] == first[row["entry"]] else {**row, "entry": f"{row['entry']} ({row['position']})"} for row in probed]


def _now(scope: str, probed: Sequence[Row], tables: Tables) -> Iterable[_Case]:
    states = entry_states(_each(probed))
    dead = Counter(state for state in states.values() if state != "alive")
    one_name = _addresses_of_one_name(probed)
    if one_name:
        states, dead = one_name, Counter(state for state in one_name.values() if state != "alive")
    if not dead or not set(dead) <= set(KINDS):
        return
    entries = Entries.of(len(states), dict(dead), one_name=bool(one_name))
    living = () if one_name else _living(probed)
    for client, named, assumed in _clients(scope, tables):
        yield _Case(NOW, entries, dead, client, named, assumed, living)


def _addresses_of_one_name(probed: Sequence[Row]) -> dict[str, str]:
    """States by address where the whole list is one name with several addresses; empty elsewhere."""
    places, addresses = {row["position"] for row in probed}, {row["ip"] for row in probed}
    if len(places) != 1 or len(addresses) < 2 or any(row["state"] is None for row in probed):
        return {}
    return {str(row["ip"]): str(row["state"]) for row in probed}


def _asked(asked: WhatIf, scope: str, probed: Sequence[Row], tables: Tables) -> Iterable[_Case]:
    if asked.entries is not None and asked.client is not None:
        known = bool({"client", "flink"} & set(asked.said))
        clients = [asked.client] if known else [replace(asked.client, version=version) for version in ASSUMED_VERSIONS]
        for client in clients:
            yield _Case(asked.text, asked.entries, asked.dead, client, "connector" in asked.said, not known)
        return
    each = _each(probed)
    states = entry_states(each)
    if not states:
        return
    brokers = {str(row["entry"]): row["broker"] for row in each if row["broker"] is not None}
    after = {entry: asked.kind if brokers.get(entry) in asked.remove else state for entry, state in states.items()}
    dead = Counter(state for state in after.values() if state != "alive")
    entries = Entries.of(len(after), {kind: n for kind, n in dead.items() if kind in KINDS})
    living = tuple(entry for entry in _living(probed) if after.get(entry) == "alive")
    extra = _partitions_without(asked.remove, scope, tables)
    for client, named, assumed in _clients(scope, tables, asked.said):
        yield _Case(asked.text, entries, Counter(dead), client, named, assumed, living, extra)


def _living(probed: Sequence[Row]) -> tuple[str, ...]:
    """The entries to keep, each once."""
    return tuple(entry for entry, state in entry_states(probed).items() if state == "alive")


def _partitions_without(remove: Sequence[int], scope: str, tables: Tables) -> str:
    """What would become of the partitions, in one clause; empty where they are unknown."""
    members = {row["broker"] for row in tables.get("brokers", ()) if row["scope"] == scope}
    strangers = [str(node) for node in remove if node not in members]
    if strangers:
        return f"unknown, broker {', '.join(strangers)} is not in the cluster" if members else "unknown, no broker told its cluster"
    rows = [row for row in tables.get("partitions", ()) if row["scope"] == scope]
    if not rows:
        return ""
    gone = {str(node) for node in remove}
    lost = [r for r in rows if r["replicas"] and set(r["replicas"]) <= gone]
    offline = [r for r in rows if r not in lost and r["isr"] and set(r["isr"]) <= gone]
    wanted = {
        r["topic"]: int(r["value"]) for r in tables.get("topic_configs", ()) if r["scope"] == scope and r["key"] == "min.insync.replicas"
    }
    lives = [r for r in rows if r not in lost and r not in offline]
    blocked = [r for r in lives if len(set(r["isr"] or ()) - gone) < wanted.get(r["topic"], 0)]
    fates = (("every replica gone", lost), ("no in-sync replica left", offline), ("closed to writers with acks=all", blocked))
    return "; ".join(f"{words}: {_named(found)}" for words, found in fates if found) or "every partition keeps an in-sync replica"


def _named(partitions: Sequence[Row]) -> str:
    names = [f"{row['topic']}-{row['partition']}" for row in partitions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _clients(scope: str, tables: Tables, asked: Mapping[str, str] | None = None) -> list[tuple[Client, bool, bool]]:
    """The clients to reckon with: whether the connector is known, and whether the version is a mere assumption."""
    said: Said = {**logged_client(scope, tables), **_stated(scope, tables), **(asked or {})}
    assumed = not {"client", "flink"} & set(said)
    found = []
    for version in ASSUMED_VERSIONS if assumed else (None,):
        try:
            found.append((client_of(said if version is None else {**said, "client": version}), "connector" in said, assumed))
        except ValueError:  # a number of no known form, out of a log or an old bundle
            continue
    return found


def _stated(scope: str, tables: Tables) -> Said:
    rows = [row for row in tables.get("client_configs", ()) if row["scope"] == scope]
    columns = {
        "client_version": "client", "connector": "connector", "clients": "parallelism", "tcp_syn_retries": "tcp_syn_retries",
    }  # fmt: skip
    seconds = {"api_timeout_seconds": "timeout", "request_timeout_seconds": "request_timeout", "setup_timeout_seconds": "setup_timeout"}
    said: Said = {}
    for row in rows:
        said.update({key: str(row[column]) for column, key in columns.items() if row.get(column) is not None})
        said.update({key: f"{row[column]:g}s" for column, key in seconds.items() if row.get(column) is not None})
    return said


# Rows ---------------------------------------------------------------------------------------------------------------------


def _row(case: _Case, proposed: Sequence[Row], as_of: datetime | None, scope: str) -> Row:
    found, unmeasured = odds_of_measured(case.entries, case.client)
    silent = [kind for kind in SILENT if case.dead.get(kind)]
    kind = "+".join(silent) or next((kind for kind, n in case.dead.items() if n), "none")
    values = {
        "entries": case.entries.total,
        "dead": case.entries.silent or sum(case.dead.values()),
        "kind": kind,
        "client_version": case.client.version,
        "assumed": case.assumed,
        "clients": case.client.clients,
        "timeout_seconds": case.client.timeout,
        "p_fail_client": found.p_fail_client,
        "p_fail_start": found.p_fail_start,
        "expected_starts": found.expected_starts,
        "scenario": case.scenario,
        "connector": case.client.connector.name if case.named else None,
        "skipped": case.entries.skipped,
        "p_fail_client_low": found.low,
        "p_fail_client_high": found.high,
        "measured": is_measured(case.entries, case.client),
        "minutes_lost": found.minutes_lost,
        "smallest_change": _smallest(proposed),
        "tcp_syn_retries": case.client.tcp_syn_retries,
        "scope": scope,
        "as_of": as_of,
    }
    says = odds_say(values, found, case.dead, unmeasured=unmeasured)
    return FORECAST.row(values | {"says": f"{says}. Partitions: {case.extra}" if case.extra else says})


def odds_of_measured(entries: Entries, client: Client) -> tuple[Odds, int]:
    """The odds, and how many entries were left out of account: of kinds that were never measured. Those of the others are then a bound, as
    such an entry ends a client or is left at once, and makes no start likelier."""
    found = odds(entries, client)
    if found.p_fail_client is not None or not entries.unusable or not entries.silent:
        return found, 0
    bound = odds(replace(entries, unusable=0, skipped=entries.skipped + entries.unusable), client)
    return (replace(bound, high=1.0), entries.unusable) if bound.p_fail_client is not None else (found, 0)


def _smallest(proposed: Sequence[Row]) -> str | None:
    first = next(iter(proposed), None)
    good = first is not None and first["helps"] and first["p_fail_start"] < GOOD_ENOUGH
    return str(first["change"]) if first is not None and good else None


def _fix_rows(case: _Case, head: Mapping[str, object]) -> list[Row]:
    rows = []
    for rank, fix in enumerate(fixes(case.entries, case.client, living=case.living), start=1):
        values = {"rank": rank, "change": fix.change, "effort": fix.effort, "helps": fix.helps, "lines": list(fix.lines), "note": fix.note}
        numbers = {name: getattr(fix.odds, name) for name in ("p_fail_client", "p_fail_start", "expected_starts", "minutes_lost")}
        rows.append(FORECAST_FIXES.row({**head, **values, **numbers}))
    return rows


def _starts(number: float) -> str:
    return f"{number:.2g}" if number < 100 else _large(number)


def _large(number: float) -> str:
    for least, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= least:
            return f"{float(f'{number / least:.2g}'):.0f} {word}" if number < 1e15 else f"{number:.0e}"
    return f"{float(f'{number:.2g}'):,.0f}"


def _dead(total: int, dead: Mapping[str, int]) -> str:
    """Every dead entry counts, those too that a client leaves at once."""
    kinds = [(kind, n) for kind, n in sorted(dead.items()) if n]
    if not kinds:
        return f"{total} entries, all alive"
    if len(kinds) == 1:
        return f"{kinds[0][1]} of {total} entries {kinds[0][0]}"
    return f"{sum(n for _, n in kinds)} of {total} entries dead ({', '.join(f'{n} {kind}' for kind, n in kinds)})"


def odds_say(row: Row, found: Odds, dead: Mapping[str, int], *, unmeasured: int = 0) -> str:
    """The forecast `row` in one sentence; `dead` counts entries by kind of death, `unmeasured` those that were left out of account."""
    who = "1 client must start" if row["clients"] == 1 else f"{row['clients']} clients must all start"
    if row["connector"] and CONNECTORS[row["connector"]].one_client:
        who = "1 client decides"
    head = f"kafka-clients {row['client_version']}, {_dead(row['entries'], dead)}, {who}"
    if found.p_fail_client is None or found.p_fail_start is None:
        return f"{head}: no forecast, this combination was never measured"
    least = "at least " if unmeasured else ""
    if found.p_fail_start == 0:
        says = "the next start does not fail for this"
        return f"{head}: {says}" if not unmeasured else f"{head}: {says} alone; what {unmeasured} of them do was never measured"
    if found.expected_starts is None:
        return f"{head}: no start can succeed"
    each = f"{'it' if row['clients'] == 1 else 'each'} fails with {least}{found.p_fail_client:.1%}"
    if found.expected_starts > HOPELESS:
        return f"{head}: {each}, practically no start succeeds (1 in {_large(found.expected_starts)})"
    together = f", a start of all with {found.p_fail_start:.1%}" if row["clients"] > 1 else ""
    return f"{head}: {each}{together}; {least}{_starts(found.expected_starts)} starts until one succeeds, on average"
