"""What stands behind several jobs is true: names that every cluster has are no root, and one true root is found among them."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from analyzers.fleet.identities import is_cluster, is_telling, names_of, surroundings
from analyzers.fleet.roots import shared_roots
from analyzers.report.fleet import JobRow, Root, rows_of
from analyzers.report.report import Name, Quote, Report, Verdict
from analyzers.tables import Row
from tests.bundles import INCIDENTS
from tests.report_samples import AT, minutes, report, verdict

DRAWN, OTHER = "2fvMl6kzTmmqF4MuK4MHAA", "GyCWvCS_R8yUMTvpablDtw"
LINE = "acme.orders.Prices.of(Prices.java:31)"
TRUE: dict[str, tuple[dict[str, Any], list[Name], str]] = {
    "address": ({"cause": "external-system", "subject": {"address": "ledger.shop.internal:5432"}}, [], "ledger.shop.internal:5432"),
    "address of words": (
        {"cause": "barrier-unacknowledged", "subject": {}, "words": (Quote("Connect to https://rates.acme.io/v1 timed out"),)},
        [],
        "rates.acme.io:443",
    ),
    "broker": (
        {"cause": "broker-unreachable", "subject": {"broker": 5, "address": "kafka-5:9092"}},
        [Name("cluster", DRAWN)],
        f"5 of cluster {DRAWN}",
    ),
    "broker of one list": (
        {"cause": "offset-commit", "subject": {"broker": [5]}},
        [Name("bootstrap", "k7.shop.internal:9092")],
        "5 of cluster k7.shop.internal:9092",
    ),
    "storage": (
        {"cause": "checkpoint-storage", "subject": {}, "words": (Quote("No space: s3a://acme-ckpt/orders/chk-7"),)},
        [],
        "s3://acme-ckpt",
    ),
    "topic": ({"cause": "offset-reset", "subject": {"topic": "orders"}}, [Name("cluster", DRAWN)], f"orders of cluster {DRAWN}"),
    "host": ({"cause": "taskmanager-lost", "subject": {"host": "ip-10-0-3-17.ec2.internal"}}, [], "ip-10-0-3-17.ec2.internal"),
    "image": ({"cause": "taskmanager-lost", "subject": {"image": "registry.acme.io/orders:41"}}, [], "registry.acme.io/orders:41"),
    "frame": ({"cause": "poison-record", "subject": {"user_line": LINE}}, [], LINE),
}
EVERYWHERE: tuple[tuple[dict[str, Any], list[Name]], ...] = (
    ({"cause": "taskmanager-lost", "subject": {"resource": "tm-1", "host": "localhost"}}, []),
    ({"cause": "jobmanager-lost", "subject": {"host": "flink-jobmanager-0.flink-jobmanager.default.svc.cluster.local"}}, []),
    ({"cause": "broker-unreachable", "subject": {"broker": [1, 2], "address": ["kafka-1:9092", "127.0.0.5:9092"]}}, []),
    ({"cause": "broker-unreachable", "subject": {"address": "kafka.default.svc.cluster.local:9092"}}, []),
    ({"cause": "external-system", "subject": {"address": "172.18.0.3:5432"}}, []),
    ({"cause": "external-system", "subject": {"address": "postgres:5432"}, "words": (Quote("http://localhost:8081/jobs"),)}, []),
    ({"cause": "checkpoint-storage", "subject": {"path": "file:/srv/checkpoints"}, "words": (Quote("s3://checkpoints/flink"),)}, []),
    ({"cause": "poison-record", "subject": {"topic": "orders", "user_frame": "acme.Parse.map"}}, []),
    ({"cause": "offset-reset", "subject": {"topic": "orders"}}, [Name("cluster", "MkU3OEVBNTcwNTJENDM2Qg")]),
    ({"cause": "other", "subject": {"address": "10.244.1.7:6123", "resource": "tm-0"}}, []),
)


def ill(scope: str, values: dict[str, Any], around: list[Name], *, at: datetime = AT, lasts: float = 20) -> list[JobRow]:
    """The rows of a job with one verdict, made as those of a run are."""
    own: Verdict = verdict(**{"words": (), "because": (), "job": f"job of {scope}", **values}, since=at, scope=scope)
    kept = [name for name in around if name.kind != "cluster" or is_cluster(name.value)]
    made: Report = replace(report(), verdicts=[own], as_of=at + timedelta(minutes=lasts), surroundings=kept)
    return rows_of(scope, made, names_of)


def noise(number: int = 60) -> list[JobRow]:
    """Ill jobs of unrelated clusters, all at one time, that use the names which every cluster has."""
    return [row for n in range(number) for row in ill(f"noise-{n:03d}", *EVERYWHERE[n % len(EVERYWHERE)])]


def said(root: Root) -> tuple[str, str, str, tuple[str, ...]]:
    return root.kind, root.value, root.link, root.scopes


def test_names_that_every_cluster_has_are_no_root() -> None:
    assert shared_roots(noise()) == []


@pytest.mark.parametrize("what", TRUE)
def test_one_true_root_is_found_among_noise(what: str) -> None:
    values, around, expected = TRUE[what]
    true = [row for n in range(4) for row in ill(f"true-{n}", values, around, at=minutes(3 * n))]
    rows = [*noise(), *true]
    random.Random(what).shuffle(rows)
    (root,) = shared_roots(rows)
    assert said(root) == (what.split()[0], expected, "explains", tuple(f"true-{n}" for n in range(4)))
    assert (root.cause, root.since, root.until) == (values["cause"], AT, minutes(29))


def test_what_is_ill_at_another_time_is_another_trouble() -> None:
    values, around, expected = TRUE["address"]
    early = [row for n in range(2) for row in ill(f"early-{n}", values, around)]
    late = [row for n in range(2) for row in ill(f"late-{n}", values, around, at=minutes(600))]
    alone = ill("alone", values, around, at=minutes(1200))
    assert [said(root) for root in shared_roots([*early, *late, *alone])] == [
        ("address", expected, "explains", ("early-0", "early-1")),
        ("address", expected, "explains", ("late-0", "late-1")),
    ]


def test_logs_of_one_job_are_one_job_and_memory_of_its_own_explains_no_machine() -> None:
    values, around, _ = TRUE["address"]
    job = "acd4866536867a21b5f46e8f6d3ff42c"
    assert shared_roots([row for name in ("jm.log", "tm.log") for row in ill(name, {**values, "job": job}, around)]) == []
    values, around, expected = TRUE["host"]
    assert len(shared_roots([row for name in "ab" for row in ill(name, values, around)])) == 1
    heap = ill("b", {**values, "code": "RST402", "reason": "heap"}, around)
    assert shared_roots([*ill("a", values, around), *heap]) == [], expected


def test_a_verdict_has_one_root_and_the_machine_stands_for_its_ports() -> None:
    """Two services of one host and the frame that called them: the host explains most."""
    cause = {"cause": "external-system"}
    rows = [
        *ill("a", {**cause, "subject": {"address": "ledger.shop.internal:5432", "user_line": LINE}}, []),
        *ill("b", {**cause, "subject": {"address": "ledger.shop.internal:5432", "user_line": LINE}}, []),
        *ill("c", {**cause, "subject": {"address": "ledger.shop.internal:8080"}}, []),
    ]
    assert [said(root) for root in shared_roots(rows)] == [("server", "ledger.shop.internal", "explains", ("a", "b", "c"))]


def test_one_root_may_bring_about_several_causes() -> None:
    address = {"subject": {"address": "ledger.shop.internal:5432"}}
    rows = [
        *ill("a", {"cause": "external-system", **address}, []),
        *ill("b", {"cause": "external-system", **address}, []),
        *ill("c", {"cause": "barrier-unacknowledged", **address}, []),
        *ill("d", {"cause": "poison-record", **address}, []),
    ]
    (root,) = shared_roots(rows)
    assert (root.cause, root.causes, root.scopes) == ("external-system", ("external-system", "barrier-unacknowledged"), ("a", "b", "c"))


def test_clusters_are_one_by_their_id_or_by_a_server_of_their_lists() -> None:
    values = {"cause": "broker-unreachable", "subject": {"broker": 7}}
    both = [Name("bootstrap", "k7.shop.internal:9092"), Name("cluster", DRAWN)]
    rows = [
        *ill("by-both", values, both),
        *ill("by-id", values, both[1:]),
        *ill("by-list", values, both[:1]),
        *ill("other", values, [Name("cluster", OTHER)]),
    ]
    assert [said(root) for root in shared_roots(rows)] == [
        ("broker", f"7 of cluster {DRAWN}", "explains", ("by-both", "by-id", "by-list")),
    ]


def test_what_ill_jobs_stand_on_is_in_common_where_well_ones_stand_on_another() -> None:
    here, there = [Name("node", "ip-10-0-3-17.eu")], [Name("node", "ip-10-0-9-9.eu")]
    values = {"cause": "no-progress", "subject": {}}
    rows = [row for n in range(4) for row in ill(f"ill-{n}", values, here)]
    well = [JobRow(f"well-{n}", None, None, "clear", None, None, None, "", names=there) for n in range(9)]
    assert [said(root) for root in shared_roots([*rows, *well])] == [
        ("node", "ip-10-0-3-17.eu", "in-common", tuple(f"ill-{n}" for n in range(4)))
    ]
    assert shared_roots(rows) == [], "there is no other node"
    mostly_well = [JobRow(f"here-{n}", None, None, "clear", None, None, None, "", names=here) for n in range(5)]
    assert shared_roots([*rows, *well, *mostly_well]) == [], "most jobs of the node are well"
    assert shared_roots([*rows[:2], *well]) == [], "two may be chance"


@pytest.mark.parametrize(
    ("host", "telling"),
    [
        *((host, False) for host in ("localhost", "127.0.0.9", "::1", "0.0.0.0", "[::1]", "tm-1", "jobmanager", "kafka-3", "kafka.io")),
        *((host, False) for host in ("172.17.0.2", "10.244.3.9", "192.168.65.1", "my-cluster-kafka-bootstrap.kafka.svc", "db.prod.svc")),
        *((host, True) for host in ("10.0.3.7", "172.31.4.4", "fd00::7", "orders-db", "ip-10-0-3-17", "k1.shop.internal", "host-7c1e")),
    ],
)  # fmt: skip
def test_a_host_is_known_beyond_its_cluster_by_a_word_of_its_own(host: str, telling: bool) -> None:
    assert is_telling(host) is telling


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Connection refused: db.shop.internal/10.1.2.3:5432", ["address db.shop.internal:5432", "server db.shop.internal"]),
        ("jdbc:postgresql://Ledger.shop.internal/orders?user=x", ["address ledger.shop.internal:5432", "server ledger.shop.internal"]),
        ("https://me:secret@rates.acme.io/v1", ["address rates.acme.io:443", "server rates.acme.io"]),
        ("s3a://acme-ckpt/a and abfss://ckpt@acme.dfs.core.windows.net/b", ["storage s3://acme-ckpt", "storage abfss://ckpt@acme.dfs.core.windows.net"]),
        ("at acme.Orders.map(Orders.java:31), order.avsc:12, 12:34:56, unknown://acme/x, file:///srv/orders, http://localhost:80", []),
    ],
)  # fmt: skip
def test_addresses_and_storage_are_read_from_decisive_words(words: str, found: list[str]) -> None:
    names = names_of(verdict(subject={}, words=(Quote(words),), because=()))
    assert [f"{name.kind} {name.value}" for name in names] == found


@pytest.mark.parametrize(
    ("identity", "drawn"),
    [(DRAWN, True), ("lkc-7x2v1", True), ("MkU3OEVBNTcwNTJENDM2Qk", False), ("4L6g3nShT-eMCtK--X86sw", False), ("my-cluster", False)],
)
def test_a_cluster_is_known_by_an_id_that_was_drawn(identity: str, drawn: bool) -> None:
    assert is_cluster(identity) is drawn


def test_a_scope_with_two_kafka_clusters_names_none() -> None:
    def event(signature: str, **detail: str) -> Row:
        return {"signature": signature, "detail": detail}

    lists = [event("kafka-client-config", bootstrap=f"k{n}.shop.internal:9092, k9.shop.internal:9092") for n in (1, 2)]
    assert surroundings({"log_events": [*lists, event("cluster-reached", cluster=DRAWN)]}) == [
        *(Name("bootstrap", f"k{n}.shop.internal:9092") for n in (1, 2, 9)),
        Name("cluster", DRAWN),
    ]
    assert surroundings({"log_events": [event("cluster-reached", cluster=each) for each in (DRAWN, OTHER)]}) == []
    apart = event("kafka-client-config", bootstrap="k5.shop.internal:9092")
    assert surroundings({"log_events": [*lists, apart]}) == []


def test_recordings_of_unrelated_clusters_have_no_root(grid: Report, evidence: dict[str, list[Row]]) -> None:
    """Healthy and ill, as one fleet: they share only what every cluster has, as ``tm-1`` and the cluster id of an example."""
    recorded = {case.scope for case in INCIDENTS}
    around: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for table in ("log_events", "log_files", "pod_containers"):
        for each in evidence[table]:
            around[each["scope"]][table].append(each)
    rows = []
    for scope in recorded:
        ends = [each["at"] for each in around[scope]["log_events"] if each["at"] is not None]
        own = [each for each in grid.verdicts if each.scope == scope]
        alone = replace(grid, verdicts=own, findings=[], job_state=(), as_of=max(ends, default=None))
        alone.surroundings = surroundings(around[scope])
        rows += rows_of(scope, alone, names_of)
    assert sum(row.outcome == "ill" for row in rows) >= 57
    assert sum(name.kind == "cluster" for row in rows for name in row.names) > 50, "there is something that could be shared"
    assert shared_roots(rows) == []
