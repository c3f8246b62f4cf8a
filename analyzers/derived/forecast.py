"""Will a job survive its next start while some of its bootstrap servers are dead? A pure function of the client's rules.

Source: NetworkClient.leastLoadedNode and ClusterConnectionStates of kafka-clients 2.3 to 3.9, KAFKA-8376, KAFKA-9893 / KIP-601. The model
was measured with 2.4.1, 2.7.2 and 3.4.1 against 12 addresses; tests hold that table. It speaks of a client without any live connection: one
that starts, restarts, or lost its last one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

RETRY_BACKOFF_SECONDS = 0.1  # retry.backoff.ms, between a failed pick and the next
SETUP_JITTER = 0.2  # socket.connection.setup.timeout.ms is varied by ±20 % (KIP-601)

# The list of the client holds only what its selection rule treats alike.
HARMLESS = frozenset({"refused", "dns", "alive"})  # costs nothing per pick: never fatal while one entry lives
SILENT = frozenset({"black-hole", "hung"})
UNUSABLE = frozenset(
    {"tls", "auth", "not-kafka"}
)  # an answer that ends the client (AuthenticationException) or costs as little as a refusal


@dataclass(frozen=True)
class Forecast:
    """One start of `clients` clients that must all succeed. Probabilities are in [0, 1].

    `p_fail_client` and what follows from it are None where the rules of `client_version` are not known well enough; `expected_starts` is
    None as well when no start can succeed.
    """

    entries: int
    dead: int
    kind: str
    client_version: str
    clients: int
    timeout_seconds: float
    p_fail_client: float | None
    p_fail_start: float | None
    expected_starts: float | None


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor of a kafka-clients version ("2.4.1", "7.5.0-ccs" is not one); raises ``ValueError``."""
    match = re.match(r"(\d+)\.(\d+)(?:\.|$|-)", text)
    if match is None:
        raise ValueError(f"{text!r} is not a kafka-clients version")
    return int(match[1]), int(match[2])


def forecast(
    *,
    entries: int,
    dead: int,
    kind: str,
    client_version: str,
    clients: int = 1,
    timeout_seconds: float = 60.0,
    tcp_syn_retries: int = 6,
    setup_timeout_seconds: float = 10.0,
    request_timeout_seconds: float = 30.0,
) -> Forecast:
    """What happens when `dead` of `entries` are dead in one way.

    `timeout_seconds` is what ends the call: default.api.timeout.ms (60 s), for AdminClients up to 2.4 request.timeout.ms (120 s).
    `tcp_syn_retries` is net.ipv4.tcp_syn_retries of the client's host, the only bound of a connect before 2.7.
    Raises ``ValueError`` for impossible numbers, an unknown kind or version.
    """
    if not 0 <= dead <= entries or entries < 1 or clients < 1 or timeout_seconds <= 0:
        raise ValueError(f"impossible: {dead} dead of {entries} entries, {clients} clients, {timeout_seconds} s")
    if kind not in HARMLESS | SILENT | UNUSABLE:
        raise ValueError(f"unknown kind of death: {kind}")
    per_client = _per_client(
        entries, dead, kind, parse_version(client_version), timeout_seconds, tcp_syn_retries, setup_timeout_seconds, request_timeout_seconds
    )
    per_start = None if per_client is None else -math.expm1(clients * math.log1p(-per_client)) if per_client < 1 else 1.0
    # 1 - (1-P)^S in logarithms: at 64 clients and P = 1/3 the chance of success is 5e-12 and must not round to nothing
    success = None if per_client is None else (1 - per_client) ** clients
    return Forecast(entries, dead, kind, client_version, clients, timeout_seconds, per_client, per_start, 1 / success if success else None)


def _per_client(
    entries: int, dead: int, kind: str, version: tuple[int, int], timeout: float, syn_retries: int, setup: float, request: float
) -> float | None:
    if dead == 0:
        return 0.0
    if dead == entries:
        return 1.0
    if kind in HARMLESS:
        return 0.0
    if kind in UNUSABLE or version < (2, 3):
        return None  # not measured
    if kind == "hung":
        return _without_return(entries, dead, math.ceil(timeout / (request + RETRY_BACKOFF_SECONDS)))
    if version < (2, 7):
        # While one SYN is unanswered every retry returns that same node; when the system gives up, any node may be next, this one too.
        connect = 2.0 ** (syn_retries + 1) - 1
        return (dead / entries) ** math.ceil(timeout / (connect + RETRY_BACKOFF_SECONDS))
    return _bounded_connects(entries, dead, timeout, setup)


def _bounded_connects(entries: int, dead: int, timeout: float, setup: float) -> float:
    """From 2.7 on: the node with the oldest attempt is next, so picks never return to a dead entry before all were tried.

    How many picks fit into `timeout` varies with the jitter; each count is weighed with its probability.
    """
    shortest = setup * (1 - SETUP_JITTER) + RETRY_BACKOFF_SECONDS
    total, used_up_before = 0.0, 0.0
    for picks in range(1, math.ceil(timeout / shortest) + 1):
        used_up = 1 - _sum_below(picks, timeout, setup)
        total += (used_up - used_up_before) * _without_return(entries, dead, picks)
        used_up_before = used_up
    return total


def _sum_below(picks: int, timeout: float, setup: float) -> float:
    """Probability that `picks` jittered connects take less than `timeout` together: the Irwin–Hall distribution, scaled."""
    width = setup * 2 * SETUP_JITTER
    x = (timeout - picks * (setup * (1 - SETUP_JITTER) + RETRY_BACKOFF_SECONDS)) / width
    if x <= 0:
        return 0.0
    if x >= picks:
        return 1.0
    if picks > 20:  # the alternating sum loses its digits; the normal curve is within 0.001 here
        return 0.5 * (1 + math.erf((x - picks / 2) / math.sqrt(picks / 6)))
    return math.fsum((-1) ** k * math.comb(picks, k) * (x - k) ** picks for k in range(math.floor(x) + 1)) / math.factorial(picks)


def _without_return(entries: int, dead: int, picks: int) -> float:
    """Probability that `picks` different entries, drawn at random, are all dead."""
    return math.comb(dead, picks) / math.comb(entries, picks) if picks <= dead else 0.0
