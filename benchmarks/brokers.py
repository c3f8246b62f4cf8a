"""`python benchmarks/brokers.py`: `diag broker-health --facts-only` with a third of the entries dead, and beside Kafka's own kafka-topics.

Part one: 3, 30 and 300 entries (`--entries`) on loopback, a third of them black holes, hung or refusing in turn; the run has to end within
its `--timeout` plus one second of start-up. Part two: a broker of the lab with `--partitions` (default 10,000), described by both in turn.
Needs the lab's jars for part two, and org.apache.kafka:kafka-tools on `--tools-classpath`; without that option only part one runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # noqa: E402  # it is there; the checkout is put on the path above

from benchmarks.lag import PER_TOPIC, QUIET, compare, cost  # noqa: E402
from fixtures.lab.artifacts import class_path, java  # noqa: E402
from fixtures.lab.kafka import KAFKA, KafkaCluster  # noqa: E402
from tests.kafka_servers import FakeBroker, black_hole, refusing, serving, silent  # noqa: E402

DIAG = str(Path(sys.executable).parent / "diag")
TIMEOUT_SECONDS = 10
START_SECONDS = 1


def probe(entries: int, rounds: int) -> str:
    """A row: medians of `rounds` over a list of `entries` with a third dead."""
    with ExitStack() as servers:
        addresses = []
        for number in range(entries):
            kind = ("black-hole", "hung", "refused")[number // 3 % 3] if number % 3 == 0 else "alive"
            if kind == "alive":
                addresses.append(servers.enter_context(serving(FakeBroker().talk)))
            elif kind == "hung":
                addresses.append(servers.enter_context(serving(silent)))
            else:
                addresses.append(servers.enter_context(black_hole() if kind == "black-hole" else refusing()))
        command = [DIAG, "broker-health", "-b", ",".join(addresses), "--facts-only", "-o", "json", "-q", "--timeout", f"{TIMEOUT_SECONDS}s"]
        runs = [cost(command) for _ in range(rounds)]
    wall, cpu, peak = (statistics.median(getattr(run, name) for run in runs) for name in ("wall", "cpu", "peak_mb"))
    held = "yes" if wall <= TIMEOUT_SECONDS + START_SECONDS else "no"
    return f"| {entries} | {wall:.1f} s | {cpu:.1f} s | {peak:.0f} MB | {held} |"


def describe(bootstrap: str, partitions: int, tools: str, rounds: int) -> str:
    """A row: both tools in turn on the same cluster."""
    jars = ":".join([tools, *map(str, class_path(KAFKA))])
    theirs = [java(), "-cp", jars, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", bootstrap, "--describe"]
    ours = [DIAG, "broker-health", "-b", bootstrap, "--facts-only", "-o", "plain", "-q", "--timeout", "2m"]
    return compare(f"{partitions:,} partitions", ours, theirs, rounds)


def fill(bootstrap: str, partitions: int) -> None:
    """`partitions` in topics of a thousand."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})  # to be held: its answers end with it
    for number in range(-(-partitions // PER_TOPIC)):  # one by one: a controller refuses more than 10,000 records at once
        (created,) = admin.create_topics([NewTopic(f"wide-{number}", PER_TOPIC, 1)], operation_timeout=600).values()
        created.result(timeout=600)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", default="3,30,300")
    options.add_argument("--partitions", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--bootstrap-server", help="a cluster that is filled already, instead of one of the lab")
    options.add_argument("--tools-classpath", help="jars with org.apache.kafka.tools.TopicCommand")
    wanted = options.parse_args()
    print(f"| entries, a third dead | wall | CPU | peak | within {TIMEOUT_SECONDS} s + {START_SECONDS} s |\n|---|---|---|---|---|")
    for entries in filter(None, wanted.entries.split(",")):
        print(probe(int(entries), wanted.rounds), flush=True)
    if not wanted.tools_classpath:
        return
    print("\n| diag / kafka-topics --describe | wall | CPU | peak MB |\n|---|---|---|---|")
    if wanted.bootstrap_server:
        print(describe(wanted.bootstrap_server, wanted.partitions, wanted.tools_classpath, wanted.rounds))
        return
    with KafkaCluster(1) as kafka:
        fill(kafka.bootstrap, wanted.partitions)
        print(describe(kafka.bootstrap, wanted.partitions, wanted.tools_classpath, wanted.rounds))


if __name__ == "__main__":
    main()
