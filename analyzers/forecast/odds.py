"""The formula: what happens to a start of clients whose bootstrap entries are partly dead.

Three ways to be dead, three costs of a pick. Refused (and a name that does not resolve): nothing. Black hole: until 2.6 the operating
system's connect time-out, which no client property bounds; from 2.7 on ``socket.connection.setup.timeout.ms``. Hung:
``request.timeout.ms``. A client fails when the picks before the first living entry cost more than its deadline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analyzers.forecast.clients import (
    CONNECTORS,
    REQUEST_TIMEOUT_SECONDS,
    RETRY_BACKOFF_SECONDS,
    SETUP_JITTER,
    Behaviour,
    Connector,
    behaviour,
    ending_property,
    ending_seconds,
)
from analyzers.forecast.measured import BOUNDED_PICKS, FIRST_PICK_DECIDES, HUNG, OLD_SEVERAL_PICKS, Error

SKIPPED = ("refused", "dns")
"""Kinds that cost nothing per pick: never fatal while one entry lives."""
SILENT = ("black-hole", "hung")
UNUSABLE = ("tls", "auth", "not-kafka", "closed")
"""An answer that ends the client (AuthenticationException), or of a kind that was never measured."""
KINDS = (*SKIPPED, *SILENT, *UNUSABLE)
LONGEST_SECONDS = 3600.0


@dataclass(frozen=True)
class Entries:
    """A bootstrap list: how many entries, and how many of them are dead in which way; the others live.

    `one_name`: the entries are the addresses of one name (a headless service, a VIP), which a client takes for one server.
    Raises ``ValueError`` for impossible numbers.
    """

    total: int
    black_holes: int = 0
    hung: int = 0
    skipped: int = 0
    unusable: int = 0
    one_name: bool = False

    def __post_init__(self) -> None:
        dead = (self.black_holes, self.hung, self.skipped, self.unusable)
        if self.total < 1 or min(dead) < 0 or sum(dead) > self.total:
            raise ValueError(f"impossible: {sum(dead)} dead of {self.total} entries")

    @classmethod
    def of(cls, total: int, dead: dict[str, int], *, one_name: bool = False) -> Entries:
        """`dead` counts entries by kind of death. Raises ``ValueError`` for an unknown kind."""
        for kind in dead:
            if kind not in KINDS:
                raise ValueError(f"unknown kind of death: {kind}; one of {', '.join(KINDS)}")
        return cls(
            total, dead.get("black-hole", 0), dead.get("hung", 0), sum(dead.get(k, 0) for k in SKIPPED),
            sum(dead.get(k, 0) for k in UNUSABLE), one_name,
        )  # fmt: skip

    @property
    def silent(self) -> int:
        return self.black_holes + self.hung

    @property
    def alive(self) -> int:
        return self.total - self.silent - self.skipped - self.unusable


@dataclass(frozen=True)
class Client:
    """A start of `clients` clients that must all succeed. Seconds are None for the default of the version.

    `tcp_syn_retries` is net.ipv4.tcp_syn_retries of the job's hosts, the only bound of a connect before 2.7.
    Raises ``ValueError`` for impossible numbers and for what is no version.
    """

    version: str
    clients: int = 1
    connector: Connector = CONNECTORS["plain"]
    api_timeout: float | None = None
    request_timeout: float | None = None
    setup_timeout: float | None = None
    tcp_syn_retries: int = 6

    def __post_init__(self) -> None:
        behaviour(self.version)
        times = [t for t in (self.api_timeout, self.request_timeout, self.setup_timeout) if t is not None]
        if self.clients < 1 or not 0 <= self.tcp_syn_retries <= 127 or any(not 0 < t <= LONGEST_SECONDS for t in times):
            raise ValueError(f"impossible: {self.clients} clients, tcp_syn_retries {self.tcp_syn_retries}, times {times} (up to 3600 s)")

    @property
    def behaviour(self) -> Behaviour | None:
        return behaviour(self.version)

    @property
    def timeout(self) -> float:
        """What ends the deciding call: default.api.timeout.ms, for an AdminClient up to 2.4 request.timeout.ms."""
        if self._request_ends:
            return self.request
        return self.api_timeout if self.api_timeout is not None else ending_seconds(self.version, self.connector)

    @property
    def request(self) -> float:
        """What ends a request that is not answered."""
        if self.request_timeout is not None:
            return self.request_timeout
        return ending_seconds(self.version, self.connector) if self._request_ends else REQUEST_TIMEOUT_SECONDS

    @property
    def _request_ends(self) -> bool:
        return ending_property(self.version, self.connector) == "request.timeout.ms"

    @property
    def connect(self) -> float:
        """Seconds until the operating system gives up a connect: 1 + 2 + 4 + … (127 s at 6 retries)."""
        return min(2.0 ** (self.tcp_syn_retries + 1) - 1, 1e9)


@dataclass(frozen=True)
class Odds:
    """Probabilities in [0, 1]; `low` and `high` are where measurements leave `p_fail_client` with 95 %.

    All are None where the rules of the version are not known well enough; `expected_starts` is None as well when no start can succeed.
    """

    p_fail_client: float | None
    low: float | None
    high: float | None
    p_fail_start: float | None
    expected_starts: float | None
    minutes_lost: float | None


RESTART_DELAY_SECONDS = 1.0  # Flink: restart-strategy.fixed-delay.delay; the way to the next attempt comes on top


def odds(entries: Entries, client: Client) -> Odds:
    """What happens when `client` starts against `entries`. `minutes_lost` waits for the failing starts, each as long as the deadline."""
    p = p_fail_client(entries, client)
    if p is None:
        return Odds(None, None, None, None, None, None)
    low, high = measured_nearest(entries, client).factors if 0 < p < 1 else (1.0, 1.0)
    success = (1 - p) ** client.clients
    starts = 1 / success if success > 0 else None
    lost = None if starts is None else (starts - 1) * (client.timeout + RESTART_DELAY_SECONDS) / 60
    return Odds(p, p * low, min(1.0, p * high), p_fail_start(p, client.clients), starts, lost)


def p_fail_start(p: float, clients: int) -> float:
    """1 − (1 − p)^clients, in logarithms: the chance of success of 64 clients at p = 1/3 is 5e-12."""
    return -math.expm1(clients * math.log1p(-p)) if p < 1 else 1.0


def p_fail_client(entries: Entries, client: Client) -> float | None:
    """Probability that one client reaches nobody before its deadline; None where that was never measured and cannot be derived."""
    if entries.alive == 0:
        return 1.0
    rules = client.behaviour
    if entries.silent == 0 and not entries.unusable:
        return 0.0
    if entries.unusable or rules is None:
        return None
    if entries.one_name and rules.setup_timeout is not None:
        return _addresses_of_a_name(entries, client, rules)
    if rules.stays_with_pending:
        return _any_may_be_next(entries, client)
    return _oldest_attempt_next(entries, client, client.setup_timeout or rules.setup_timeout or 0.0)


def _any_may_be_next(entries: Entries, client: Client) -> float:
    """Until 2.6: a black hole is held until the system gives it up; then any entry may be next, the same one too. Hung ones do not return.

    Entries that refuse are left at once for any other, so that only the silent and the living ones count.
    """
    hole, hang = client.connect + RETRY_BACKOFF_SECONDS, client.request + RETRY_BACKOFF_SECONDS
    fails: dict[tuple[int, int], float] = {}
    most_hung = min(entries.hung, math.ceil(client.timeout / hang))
    most_holes = math.ceil(client.timeout / hole)
    for hung in range(most_hung, -1, -1):
        for holes in range(most_holes, -1, -1):
            if holes * hole + hung * hang >= client.timeout:
                fails[holes, hung] = 1.0
                continue
            left = entries.hung - hung
            total = entries.black_holes + left + entries.alive
            p = entries.black_holes / total * fails.get((holes + 1, hung), 1.0)
            fails[holes, hung] = p + (left / total * fails.get((holes, hung + 1), 1.0) if left else 0.0)
    return fails[0, 0]


def _oldest_attempt_next(entries: Entries, client: Client, setup: float) -> float:
    """From 2.7 on the entry with the oldest attempt is next: nothing is picked twice before all were tried."""
    hang = client.request + RETRY_BACKOFF_SECONDS
    longest, shortest = setup * (1 + SETUP_JITTER) + RETRY_BACKOFF_SECONDS, setup * (1 - SETUP_JITTER) + RETRY_BACKOFF_SECONDS
    if entries.black_holes * longest + entries.hung * hang < client.timeout:
        return 0.0
    counted = entries.black_holes + entries.hung + entries.alive
    in_time = 0.0
    for hung in range(entries.hung + 1):
        if hung * hang >= client.timeout:
            break
        left = client.timeout - hung * hang
        for holes in range(entries.black_holes + 1):
            if holes * shortest >= left:
                break
            drawn = holes + hung
            first = math.comb(entries.black_holes, holes) * math.comb(entries.hung, hung) / math.comb(counted, drawn)
            in_time += first * entries.alive / (counted - drawn) * _sum_below(holes, left, setup)
    return min(1.0, max(0.0, 1.0 - in_time))


def _addresses_of_a_name(entries: Entries, client: Client, rules: Behaviour) -> float:
    """One server to the client: each failure moves to its next address and doubles the set-up time-out. Inferred, never measured."""

    def spent(picks: int, first: float, most: float) -> float:
        return math.fsum(min(first * 2**n, most) for n in range(picks))

    setup, most = client.setup_timeout or rules.setup_timeout or 0.0, rules.setup_timeout_max or 30.0
    each = client.request if entries.hung else 0.0
    dead = entries.silent
    picks = 1
    while picks < dead + 1 and (spent(picks, setup, most) if not each else picks * each) < client.timeout:
        picks += 1
    return math.comb(dead, picks) / math.comb(dead + entries.alive, picks) if picks <= dead else 0.0


def _sum_below(picks: int, seconds: float, setup: float) -> float:
    """Probability that `picks` jittered connects take less than `seconds` together: the Irwin–Hall distribution, scaled."""
    if picks == 0:
        return 1.0
    width = setup * 2 * SETUP_JITTER
    x = (seconds - picks * (setup * (1 - SETUP_JITTER) + RETRY_BACKOFF_SECONDS)) / width
    if x <= 0:
        return 0.0
    if x >= picks:
        return 1.0
    if picks > 20:  # the alternating sum loses its digits; the normal curve is within 0.001 here
        return 0.5 * (1 + math.erf((x - picks / 2) / math.sqrt(picks / 6)))
    return math.fsum((-1) ** k * math.comb(picks, k) * (x - k) ** picks for k in range(math.floor(x) + 1)) / math.factorial(picks)


def measured_nearest(entries: Entries, client: Client) -> Error:
    """What was measured of the way in which `client` would fail."""
    rules = client.behaviour
    if entries.hung and not entries.black_holes:
        return HUNG
    if rules is not None and rules.stays_with_pending:
        return FIRST_PICK_DECIDES if client.connect >= client.timeout else OLD_SEVERAL_PICKS
    return BOUNDED_PICKS


def is_measured(entries: Entries, client: Client) -> bool:
    """Whether this combination was measured with a client of the same code; else it is inferred from the rules."""
    rules = client.behaviour
    mixed = bool(entries.black_holes and entries.hung)
    return rules is not None and not entries.unusable and client.connector.measured and not mixed and not entries.one_name
