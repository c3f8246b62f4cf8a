"""What can be changed, what each change would bring, and what it costs; advice that does not help stands among them with its odds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analyzers.forecast.clients import CONNECTORS, FIRST_WITH_SETUP_TIMEOUT, ending_property, parse_version
from analyzers.forecast.odds import Client, Entries, Odds, odds
from analyzers.forecast.properties import BOOTSTRAP, property_lines

GOOD_ENOUGH = 0.01
"""Below one failing start in a hundred nobody notices."""

NEW_CLIENT = "2.8.1"  # the first that Flink ships with KIP-601: Flink 1.15
PATIENT_SECONDS = 180.0  # above 127 s, so that an old client gets a second pick
QUICK_SETUP_SECONDS = 3.0
QUICK_REQUEST_SECONDS = 10.0
FEW_SYN_RETRIES = 2


@dataclass(frozen=True)
class Fix:
    """One change. `effort`: 1 a property and a restart, 2 the same with a side effect, 3 the job's hosts, 4 an upgrade, 5 code.

    `lines` are what to write; `note` says what to know before.
    """

    change: str
    effort: int
    lines: tuple[str, ...]
    note: str
    odds: Odds
    helps: bool


@dataclass(frozen=True)
class _Candidate:
    change: str
    effort: int
    entries: Entries
    client: Client
    lines: Sequence[str] = ()
    note: str = ""


def fixes(entries: Entries, client: Client, *, living: Sequence[str] = ()) -> list[Fix]:
    """Candidate changes, those that are good enough first and the easiest of them first, then by what they bring.

    `living` are the entries that answer, for the line to write. Empty where the next start does not fail anyway.
    """
    now = odds(entries, client)
    if not now.p_fail_start:  # 0, or unknown
        return []
    found = []
    for candidate in _candidates(entries, client, living):
        then = odds(candidate.entries, candidate.client)
        helps = then.p_fail_start is not None and then.p_fail_start < now.p_fail_start * 0.999
        found.append(Fix(candidate.change, candidate.effort, tuple(candidate.lines), candidate.note, then, helps))
    return sorted(found, key=_rank)


def _rank(fix: Fix) -> tuple[bool, bool, float, float, str]:
    p = 1.0 if fix.odds.p_fail_start is None else fix.odds.p_fail_start
    good = fix.helps and p < GOOD_ENOUGH
    # 64 clients make every poor fix a certain failure: what one client does still tells them apart
    each = fix.odds.p_fail_client if fix.odds.p_fail_client is not None else 1.0
    return (not good, not fix.helps, float(fix.effort) if good else p, each, fix.change)


def _candidates(entries: Entries, client: Client, living: Sequence[str]) -> Iterator[_Candidate]:
    connector = client.connector.name
    if entries.alive:
        kept = ",".join(living) or "HOST:PORT,… (the living entries)"
        dead = entries.total - entries.alive
        gone = "the dead entry" if dead == 1 else f"the {dead} dead entries"
        yield _Candidate(
            f"drop {gone} from bootstrap.servers", 1, Entries(entries.alive), client,
            property_lines(connector, BOOTSTRAP, kept), "keep two living entries at least; the job must be restarted",
        )  # fmt: skip
    if not entries.alive or entries.unusable:
        return  # with nobody alive no patience helps
    old = parse_version(client.version) < FIRST_WITH_SETUP_TIMEOUT
    yield from _of_timeouts(entries, client, old=old)
    if entries.black_holes and old:
        yield from _of_old_clients(entries, client)
    if connector == "legacy" and client.clients > 1:
        yield _Candidate(
            "replace FlinkKafkaConsumer by KafkaSource: one client decides instead of all", 5, entries,
            replace(client, connector=CONNECTORS["kafka-source"], clients=1, api_timeout=None, request_timeout=None),
            note="new code; state moves only through committed offsets or a mapped savepoint",
        )  # fmt: skip


def _of_timeouts(entries: Entries, client: Client, *, old: bool) -> Iterator[_Candidate]:
    connector = client.connector.name
    key = ending_property(client.version, client.connector)
    patient = max(PATIENT_SECONDS, 3 * client.timeout)
    request_ends = key == "request.timeout.ms"
    waits = replace(client, request_timeout=patient) if request_ends else replace(client, api_timeout=patient)
    yield _Candidate(
        f"{key}={patient * 1000:.0f}", 2, entries, waits, property_lines(connector, key, f"{patient * 1000:.0f}"),
        f"a start may take up to {patient:.0f} s, whether it fails or not",
    )  # fmt: skip
    if entries.black_holes and not old and (client.setup_timeout or 10.0) > QUICK_SETUP_SECONDS:
        setup = f"{QUICK_SETUP_SECONDS * 1000:.0f}"
        yield _Candidate(
            f"socket.connection.setup.timeout.ms={setup}", 1, entries, replace(client, setup_timeout=QUICK_SETUP_SECONDS),
            property_lines(connector, "socket.connection.setup.timeout.ms", setup), "too short for slow TLS or far hosts",
        )  # fmt: skip
    if not request_ends and client.request > QUICK_REQUEST_SECONDS:
        request = f"{QUICK_REQUEST_SECONDS * 1000:.0f}"
        note = (
            f"a start still waits {QUICK_REQUEST_SECONDS:.0f} s for each hung entry that it picks first, instead of {client.request:.0f} s"
        )
        if not entries.hung:
            note = "the usual advice, and no help: it does not bound a TCP connect"
        yield _Candidate(
            f"request.timeout.ms={request}", 1, entries, replace(client, request_timeout=QUICK_REQUEST_SECONDS),
            property_lines(connector, "request.timeout.ms", request), note,
        )  # fmt: skip


def _of_old_clients(entries: Entries, client: Client) -> Iterator[_Candidate]:
    if client.tcp_syn_retries > FEW_SYN_RETRIES:
        yield _Candidate(
            f"sysctl net.ipv4.tcp_syn_retries={FEW_SYN_RETRIES}", 3, entries, replace(client, tcp_syn_retries=FEW_SYN_RETRIES),
            [f"sysctl -w net.ipv4.tcp_syn_retries={FEW_SYN_RETRIES}"],
            "on every host (or pod) of the job, for all its connections: one attempt then ends after 7 s",
        )  # fmt: skip
    yield _Candidate(
        f"kafka-clients {NEW_CLIENT} or newer (Flink 1.15 brings it)", 4, entries, replace(client, version=NEW_CLIENT, setup_timeout=None),
        note="it gives a connect 10 s and goes on to the next entry (KIP-601)",
    )  # fmt: skip
