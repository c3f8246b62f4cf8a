"""`python benchmarks/lag.py`: wall time, CPU and memory of `diag lag-report --facts-only` beside kafka-consumer-groups, on one broker.

Starts a broker of the lab, creates `--partitions` (default 10,000) and groups, and runs both tools in turn in the same run: one group that
commits everywhere, many groups of a few hundred partitions each, and one of those alone. Prints ratios first: machines differ, ratios less.
Needs the lab's jars and org.apache.kafka:kafka-tools on `--tools-classpath`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from confluent_kafka import Consumer, KafkaException, TopicPartition  # noqa: E402  # the checkout is put on the path above
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

from benchmarks.measuring import Cost, run  # noqa: E402
from fixtures.lab.artifacts import class_path, java  # noqa: E402
from fixtures.lab.kafka import KAFKA, KafkaCluster  # noqa: E402
from fixtures.lab.processes import wait_until  # noqa: E402

PER_TOPIC = 1000
QUIET = {"log_level": 0}


def cost(command: Sequence[str]) -> Cost:
    """What `command` costs, its output thrown away."""
    return run(command, memory=True)


def fill(bootstrap: str, partitions: int, groups: int, per_group: int) -> None:
    """`partitions` in topics of a thousand, group `big` with a commit on each; `groups` groups with commits on all `per_group` partitions
    of one topic more: of a topic with a commit all partitions are reported where a group has no members."""
    settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, **QUIET}
    topics = [f"wide-{number}" for number in range(-(-partitions // PER_TOPIC))]
    admin = AdminClient(settings)
    for topic in topics:  # one by one: a small broker is fenced when it makes ten thousand logs at once
        for created in admin.create_topics([NewTopic(topic, PER_TOPIC, 1)], operation_timeout=300, request_timeout=300).values():
            created.result(timeout=600)
        places = [TopicPartition(topic, number, 0) for number in range(PER_TOPIC)]
        wait_until(partial(_committed, settings, "big", places), f"the leaders of {topic}", patience_seconds=600)
    for created in admin.create_topics([NewTopic("narrow", per_group, 1)], operation_timeout=300, request_timeout=300).values():
        created.result(timeout=600)
    for group in range(groups):
        places = [TopicPartition("narrow", number, 0) for number in range(per_group)]
        wait_until(partial(_committed, settings, f"many-{group:04}", places), "a commit", patience_seconds=60)


def _committed(settings: Mapping[str, object], group: str, places: list[TopicPartition]) -> bool:
    consumer = Consumer({**settings, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.commit(offsets=places, asynchronous=False)
    except KafkaException:
        return False
    finally:
        consumer.close()
    return True


def compare(title: str, ours: Sequence[str], theirs: Sequence[str], rounds: int) -> str:
    """A row of the table: medians of `rounds`, the tools in turn."""
    runs: list[tuple[Cost, Cost]] = [(cost(ours), cost(theirs)) for _ in range(rounds)]

    def middle(of: Callable[[Cost], float], side: int) -> float:
        return statistics.median(of(run[side]) for run in runs)

    cells = [title]
    for of in (lambda c: c.wall, lambda c: c.cpu, lambda c: c.peak_mb):
        mine, other = middle(of, 0), middle(of, 1)
        cells.append(f"{mine / other:.2f}× ({mine:.2f} / {other:.2f})")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--partitions", type=int, default=10_000)
    options.add_argument("--groups", type=int, default=100)
    options.add_argument("--per-group", type=int, default=500)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--bootstrap-server", help="a cluster that is filled already, instead of one of the lab")
    options.add_argument("--tools-classpath", required=True, help="jars with org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
    wanted = options.parse_args()
    if wanted.bootstrap_server:
        table(wanted, wanted.bootstrap_server)
        return
    with KafkaCluster(1, {"offsets.topic.num.partitions": "10"}) as kafka:
        begun = time.monotonic()
        fill(kafka.bootstrap, wanted.partitions, wanted.groups, wanted.per_group)
        print(f"filled in {time.monotonic() - begun:.0f} s", file=sys.stderr)
        table(wanted, kafka.bootstrap)


def table(wanted: argparse.Namespace, bootstrap: str) -> None:
    """Print the comparison."""
    jars = ":".join([wanted.tools_classpath, *map(str, class_path(KAFKA))])
    theirs = [java(), "-cp", jars, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", bootstrap]
    theirs += ["--timeout", "120000", "--describe"]
    ours = [str(Path(sys.executable).parent / "diag"), "lag-report", "-b", bootstrap, "--facts-only", "-o", "json", "-q", "--timeout", "2m"]
    print("| diag / kafka-consumer-groups | wall | CPU | peak MB |\n|---|---|---|---|")
    rows: tuple[tuple[str, list[str]], ...] = (
        (f"one group of {wanted.partitions:,} partitions", ["--group", "big"]),
        (f"one group of {wanted.per_group:,}", ["--group", "many-0000"]),
        (f"all {wanted.groups + 1} groups", []),
    )
    for title, group in rows:
        print(compare(title, ours + group, theirs + (group or ["--all-groups"]), wanted.rounds), flush=True)


if __name__ == "__main__":
    main()
