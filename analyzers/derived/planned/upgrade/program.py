"""What the job is made of: its connectors' jars, and classes that the release does not have.

Sources: the removed classes in the release notes; Flink's rules for the names of connectors' jars, and its list of connectors.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN, answer, some
from analyzers.derived.planned.restore.case import version_of
from analyzers.derived.planned.upgrade.case import Answer, Jar, Upgrade
from analyzers.derived.planned.upgrade.facts import Connector, release, spoken

_BUILD = "Build the job against the new release: what the compiler does not find is what is gone."
_TREE = "mvn dependency:tree (or gradle dependencies) names them: each flink-connector-… must be one for the new release."


def connectors(case: Upgrade) -> Iterator[Answer]:
    """One answer per jar that is named; most connectors are within the job's own jar, which is not looked into."""
    for jar in case.connectors:
        yield _connector(case, jar)
    says = "which connectors are within the job's own jar is not known" if case.connectors else "cannot be known without the job's jars"
    yield answer("connectors", UNKNOWN, says, _TREE)


def _connector(case: Upgrade, jar: Jar) -> Answer:
    known = next((each for each in case.facts.connectors.values() if jar.name.startswith(each.name)), None)
    target, made_for = case.target, jar.made_for
    assert target is not None
    seen = f"{jar.file} ({jar.where})"
    if made_for is None:
        return answer("connectors", UNKNOWN, f"which Flink {seen} is for is not known", _TREE)
    name = f"{seen} is made for Flink {spoken(made_for)}"
    if made_for == target:
        return answer("connectors", GOES, f"{name} ({case.facts.sources['connector rules']})")
    jar_version = f"{jar.version}-{spoken(made_for)}"
    if known is not None and spoken(target) in known.played.get(jar_version, ()):
        return answer("connectors", GOES, f"{name}, and jobs have been run with it on Flink {spoken(target)}")
    todo = f"Take one for Flink {spoken(target)}{_others(known)}."
    if made_for[0] < target[0] and known is not None and known.stands_on:
        says = f"{name}, and parts of it need classes that Flink {target[0]}.0 removed ({case.facts.sources[known.source]})"
        return answer("connectors", BREAKS, says, todo)
    return answer("connectors", UNKNOWN, f"{name}; whether it works with {case.to} is not documented", todo)


def _others(known: Connector | None) -> str:
    return f" (there are {', '.join(known.known)})" if known is not None and known.known else ", if there is one"


def classes(case: Upgrade) -> Iterator[Answer]:
    """Classes that are gone and that a line, an exception or the checkpoint shows."""
    assert case.target is not None
    shown = list(case.texts())
    found: set[str] = set()
    for entry in case.facts.classes:
        if entry.since > case.target or entry.shown is None or (case.runs is not None and case.runs >= entry.since):
            continue
        where = next((origin for text, origin in shown if entry.shown.search(text)), None)
        if entry.name == "FlinkKafkaConsumer" and where is None:
            where = next((row["path"] for row in case.rows("splits") if row["connector"] == "kafka-legacy"), None)
        if where is not None:
            found.add(entry.name)
            says = (
                f"the job uses {entry.name}, which is removed in Flink {spoken(entry.since)} ({where}; {case.facts.sources[entry.source]})"
            )
            yield answer("removed-classes", BREAKS, says, entry.instead)
    if not found and any(entry.since > (case.runs or (0, 0)) for entry in case.facts.classes):
        names = some([entry.name for entry in case.facts.classes])
        says = f"cannot be known without the job's code: {names} are removed, and nothing that was read shows them"
        yield answer("removed-classes", UNKNOWN, says, _BUILD)


def kafka(case: Upgrade) -> Iterator[Answer]:
    """Whether the brokers are new enough for the client that a new connector brings. Nothing where no Kafka is seen."""
    clients, brokers = _kafka_versions(case, brokers=False), _kafka_versions(case, brokers=True)
    if not (clients or any(jar.name == "kafka" for jar in case.connectors) or any(row["topic"] for row in case.rows("splits"))):
        return
    least, since = release(case.facts.kafka["brokers"]), release(case.facts.kafka["clients"])
    source = case.facts.sources[case.facts.kafka["source"]]
    now = f" (now {', '.join(clients)})" if clients else ""
    rule = f"a new Kafka connector may bring kafka-clients {spoken(since)} or later{now}, which need brokers of {spoken(least)}"
    old = [version for version in brokers if (version_of(version) or least) < least]
    if old:
        says = f"{rule}, and a broker has {old[0]} ({source})"
        yield answer("kafka-brokers", BREAKS, says, f"Upgrade the brokers to {spoken(least)} or later first.")
    elif brokers:
        yield answer("kafka-brokers", GOES, f"{rule}: the brokers have {', '.join(brokers)} ({source})")
    elif clients and all((version_of(version) or (0, 0)) >= since for version in clients):
        says = f"the job has kafka-clients {', '.join(clients)} already: its brokers suit the later ones, too ({source})"
        yield answer("kafka-brokers", GOES, says)
    else:
        says = f"{rule}, and which version the brokers have is not known ({source})"
        todo = "kafka-broker-api-versions.sh shows what they speak; the start of a broker's log says its version (--logs)."
        yield answer("kafka-brokers", UNKNOWN, says, todo)


def _kafka_versions(case: Upgrade, *, brokers: bool) -> list[str]:
    """Versions that Kafka's library says of itself in the logs of brokers, or of others."""
    files = [row for row in case.rows("log_files") if (row["role"] == "kafka-broker") is brokers]
    said = {client.partition(" ")[2] for row in files for client in row["clients"] or () if client.startswith("kafka-clients ")}
    return sorted((each for each in said if version_of(each)), key=lambda each: version_of(each) or (0, 0))
