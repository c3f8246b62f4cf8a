"""The odds of the next start of the job's clients with the bootstrap entries as a probe saw them: `forecast` applied to tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analyzers.derived.forecast import SILENT, Forecast, forecast, parse_version
from analyzers.tables import FORECAST, Row

ASSUMED_VERSIONS = ("2.4.1", "3.4.0")
"""Where the job's version is unknown: Flink 1.11 to 1.14 bring the first, Flink 1.16 and later behave like the second."""

HOPELESS = 1000
"""Expected starts; at a minute each nobody waits for the right one."""

_VERSION = re.compile(r"kafka-clients[ :]+(\d+\.\d+\.\d+)")


def start_odds(tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Rows of ``forecast``, one per kind of silent death: for the client's version where it is known, else for each typical one."""
    scopes: dict[str, list[Row]] = defaultdict(list)
    for row in tables.get("bootstrap_servers", ()):
        scopes[row["scope"]].append(row)
    found = []
    for scope, probed in sorted(scopes.items()):
        newest = max((row["as_of"] for row in probed if row["as_of"] is not None), default=None)
        states = entry_states(row for row in probed if row["as_of"] == newest)
        dead = [state for state in states.values() if state != "alive"]
        if not dead:
            continue
        said = [row for row in tables.get("client_configs", ()) if row["scope"] == scope]
        versions, assumed = _versions(scope, said, tables)
        # each silent kind by itself, a lower bound where both are there: no model of the mixture was ever measured
        kinds = sorted(set(dead) & SILENT) or dead[:1]
        for version in versions:
            for kind in kinds:
                odds = _odds(len(states), dead.count(kind) if kind in SILENT else len(dead), kind, version, said)
                if odds is not None:
                    row = {**vars(odds), "assumed": assumed, "says": odds_say(odds), "scope": scope, "as_of": newest}
                    found.append(FORECAST.row(row))
    return found


def entry_states(probed: Iterable[Row]) -> dict[str, str]:
    """One state per entry: alive when any of its addresses is, else that of the first; entries without a judgement are left out."""
    states: dict[str, str] = {}
    for row in probed:
        if row["state"] is not None and states.get(row["entry"]) != "alive":
            entry, state = str(row["entry"]), str(row["state"])
            states[entry] = state if state == "alive" else states.get(entry, state)
    return states


def odds_say(said: Forecast) -> str:
    """The forecast in one sentence."""
    who = "1 client must start" if said.clients == 1 else f"{said.clients} clients must all start"
    head = f"kafka-clients {said.client_version}, {said.dead} of {said.entries} entries {said.kind}, {who}"
    if said.p_fail_client is None or said.p_fail_start is None:
        return f"{head}: no forecast, this combination was never measured"
    if said.p_fail_start == 0:
        return f"{head}: the next start does not fail for this"
    each = f"{'it' if said.clients == 1 else 'each'} fails with {said.p_fail_client:.1%}"
    if said.expected_starts is None:
        return f"{head}: {each}, no start can succeed"
    if said.expected_starts > HOPELESS:
        return f"{head}: {each}, practically no start succeeds (1 in {said.expected_starts:.2g})"
    together = f", a start of all with {said.p_fail_start:.1%}" if said.clients > 1 else ""
    return f"{head}: {each}{together}; {said.expected_starts:.2g} starts until one succeeds, on average"


def _versions(scope: str, said: Sequence[Row], tables: Mapping[str, Sequence[Row]]) -> tuple[Sequence[str], bool]:
    """The versions to compute for, and whether they are mere assumptions. The user beats the logs; of several the oldest counts."""
    stated = [row["client_version"] for row in said if row["client_version"]]
    if stated:
        return stated[-1:], False
    logs = [row for row in tables.get("log_files", ()) if row["scope"] == scope]
    logged = {version for row in logs for client in row["clients"] or () for version in _VERSION.findall(client)}
    return ([min(logged, key=parse_version)], False) if logged else (ASSUMED_VERSIONS, True)


def _odds(entries: int, dead: int, kind: str, version: str, said: Sequence[Row]) -> Forecast | None:
    config = said[-1] if said else {}
    try:
        return forecast(
            entries=entries, dead=dead, kind=kind, client_version=version, clients=config.get("clients") or 1,
            tcp_syn_retries=6 if config.get("tcp_syn_retries") is None else config["tcp_syn_retries"],
        )  # fmt: skip
    except ValueError:  # a version of no known form, out of a log or an old bundle
        return None
