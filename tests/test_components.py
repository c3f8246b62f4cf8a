"""The table of components: its rows, who is looked up in it, and that no other list of packages stands beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyzers.components import ROLES, artefact_of, component_of, components, connector_of, is_user, named, of_scheme, packages, system_of
from analyzers.components.table import LANGUAGES
from analyzers.components.toml_files import toml_file

ROOT = Path(__file__).resolve().parent.parent
TABLE = toml_file("analyzers.components", "components.toml")
COLUMNS = ("java", "python", "dotnet", "go", "rust", "node", "names", "schemes", "artefacts")
NAMELESS = {"runtime", "library", "connect", "engine"}


def test_each_row_says_who_it_is() -> None:
    assert sum(len(row.get(column, ())) for row in TABLE.values() for column in COLUMNS) >= 1_000
    for key, row in TABLE.items():
        assert row.keys() <= {"called", "role", "vague", *COLUMNS}, key
        assert row["role"] in ROLES, key
        assert row.get("called") or row["role"] in NAMELESS, f"{key} may be to blame and has no name"
        assert any(row.get(column) for column in COLUMNS), f"{key} has no names"
    assert {component.role for component in components()} == set(ROLES)


@pytest.mark.parametrize("column", COLUMNS)
def test_no_name_stands_twice(column: str) -> None:
    names = [name for row in TABLE.values() for name in row.get(column, ())]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("key", TABLE)
def test_each_package_is_found_with_what_lies_below_it(key: str) -> None:
    for language in LANGUAGES:
        for name in TABLE[key].get(language, ()):
            separator = {"go": "/", "rust": "::", "node": "/"}.get(language, ".")
            for looked_up in (name, f"{name}{separator}x{separator}Y"):
                found = component_of(looked_up, language)
                assert found is not None, f"{looked_up} is not found"
                assert found.id == key, f"{looked_up} is taken by {found.id}"


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("com.mysql.cj.jdbc.ConnectionImpl.createNewIO", "MySQL"),
        ("org.apache.flink.cdc.connectors.mysql.source.MySqlSource", "MySQL"),
        ("org.apache.flink.elasticsearch7.shaded.org.elasticsearch.client.RestClient.x", "Elasticsearch"),
        ("org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.KeeperException$ConnectionLossException", "ZooKeeper"),
        ("app//org.rocksdb.RocksDB.put", "RocksDB"),
        ("java.base@17/java.lang.Thread.run", None),
        ("org.apache.kafka.common.errors.SerializationException", "a converter"),
        ("org.apache.kafka.common.errors.RecordTooLargeException", "Kafka"),
        ("/usr/lib/python3.11/site-packages/psycopg2/extras.py:execute", "PostgreSQL"),
        ("psycopg2.errors.UniqueViolation", "PostgreSQL"),
        ("github.com/jackc/pgx/v5.(*Conn).Exec", "PostgreSQL"),
        ("rdkafka::consumer::poll", "Kafka"),
        ("<tokio_postgres::client::Client as core::fmt::Debug>::fmt", "PostgreSQL"),
        ("query (/app/node_modules/@aws-sdk/client-s3/dist/index.js:3:1)", "S3"),
        ("/root/.cargo/registry/src/index.crates.io-6f17/redis-0.23.0/src/client.rs", "Redis"),
        ("/go/pkg/mod/github.com/segmentio/kafka-go@v0.4.4/reader.go:2", "Kafka"),
        ("StackExchange.Redis.ConnectionMultiplexer.Connect", "Redis"),
        ("com.acme.jobs.Parse.map", None),
    ],
)
def test_the_longest_name_wins(name: str, called: str | None) -> None:
    assert system_of(name) == called


@pytest.mark.parametrize(
    ("frame", "own"),
    [
        ("com.acme.jobs.Parse.map", True),
        ("io.acme.jobs.Parse.map", True),  # `io` is a module of Python, too
        ("com.mysql.cj.jdbc.ConnectionImpl.createNewIO", False),
        ("com.clickhouse.client.Client.x", False),
        ("io.lettuce.core.RedisClient.connect", False),
        ("org.apache.whatever.Thing.run", False),
        ("$Proxy12.save", False),
        ("nopackage", False),
        ("/srv/jobs/orders.py:in_cents", True),
        ("/usr/lib/python3.11/json/decoder.py:decode", False),
        ("fastavro/_read.pyx:read", False),
        ("<frozen importlib._bootstrap>:_call", False),
    ],
)
def test_what_is_the_users_own(frame: str, own: bool) -> None:
    assert is_user(frame) is own


@pytest.mark.parametrize(
    ("line", "artefact", "connector"),
    [
        ("at a.b.C.d(C.java:1) ~[flink-connector-jdbc-3.1.2-1.18.jar:3.1.2-1.18]", ("flink-connector-jdbc", "3.1.2-1.18"), True),
        ("at a.b.C.d(C.java:1) [flink-connector-mysql-cdc-3.1.0.jar:3.1.0]", ("flink-connector-mysql-cdc", "3.1.0"), True),
        ("at a.b.C.d(C.java:1) ~[flink-connector-cassandra_2.12-3.1.0-1.17.jar:?]", ("flink-connector-cassandra", "3.1.0-1.17"), True),
        ("at a.b.C.d(C.java:1) ~[postgresql-42.6.0.jar:42.6.0]", ("postgresql", "42.6.0"), True),
        ("at a.b.C.d(C.java:1) ~[flink-dist-1.18.1.jar:1.18.1]", ("flink-dist", "1.18.1"), False),
        ("at a.b.C.d(C.java:1) ~[job.jar:?]", ("job", None), False),
        ("at a.b.C.d(C.java:1) ~[?:1.8.0_292]", None, False),
        ("flink-sql-connector-kafka-3.2.0-1.19.jar", ("flink-sql-connector-kafka", "3.2.0-1.19"), True),
        ("confluent_kafka-2.5.0-cp311-cp311-manylinux_2_17_x86_64.whl", ("confluent_kafka", "2.5.0"), False),
        ("/go/pkg/mod/github.com/jackc/pgx/v5@v5.5.0/conn.go:137", ("github.com/jackc/pgx/v5", "v5.5.0"), True),
    ],
)
def test_the_file_behind_a_frame(line: str, artefact: tuple[str, str | None] | None, connector: bool) -> None:
    assert artefact_of(line) == artefact
    assert connector_of(line) == (artefact if connector else None)


def test_addresses_and_classes_without_packages() -> None:
    schemes = {"s3://b/k": "S3", "jdbc:mysql://h/d": "MySQL", "jdbc:oracle:thin:@//h": "Oracle", "jdbc:newdb://h": "a database"}
    for address, called in schemes.items():
        found = of_scheme(address)
        assert found is not None
        assert found.called == called
    assert of_scheme("mystery://x") is None
    for said, called in {"MongoServerError: x": "MongoDB", "pq: password": "PostgreSQL", "KafkaJSError": "Kafka"}.items():
        found = named(said)
        assert found is not None
        assert found.called == called
    assert named("Redistribute the Kafkaesque") is None


def test_packages_of_a_role() -> None:
    engines = packages("engine")
    assert "org.apache.flink" in engines
    assert not any(a != b and b.startswith(a + ".") for a in engines for b in engines)


# --- no other list ------------------------------------------------------------------------------------------------------------------

OTHERS = {
    "analyzers/derived/failures/faults.py": "words of streaming engines in texts, not frames: whether a text is about a streaming job",
    "analyzers/derived/failures/fault_words.py": "parts of fault classes, which go when the inference covers them",
}
"""Files that name several packages all the same, and why."""
MANY = 4


def _expanded(text: str) -> str:
    """`text` with the alternatives of simple groups written out: ``org\\.apache\\.(?:flink|kafka)\\.`` names two packages."""
    text = text.replace("\\.", ".").replace("\\b", " ")
    for _ in range(6):
        group = re.search(r"([\w.]*)\((?:\?:)?([\w.|\\+*$ ]+)\)(\.?)", text)
        if group is None:
            break
        text = text.replace(group[0], " ".join(f"{group[1]}{each}{group[3]}" for each in group[2].split("|")))
    return text


def _packages_in(text: str) -> set[str]:
    found = set()
    for name in re.findall(r"(?<![\w./$-])(?:[a-z][\w]*\.)+[a-z]\w*", _expanded(text)):
        component = component_of(name, "java")
        if component is not None and component.role != "runtime" and not name.startswith("java."):
            found.add(".".join(name.split(".")[:3]))
    return found


def _lists(path: Path) -> Iterator[tuple[int, set[str]]]:
    """Expressions with alternatives, and collections of strings, that name packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value and "\n" not in node.value:
            text = node.value
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            text = " ".join(
                each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str) and " " not in each.value
            )
        if text and (found := _packages_in(text)):
            yield node.lineno, found


def test_there_is_no_other_list_of_packages() -> None:
    found = {}
    for top in ("analyzers", "cli"):
        for path in sorted((ROOT / top).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            many = [(line, sorted(packages)) for line, packages in _lists(path) if len(packages) >= MANY]
            if many and not name.startswith("analyzers/logs/signatures/"):  # quotes what products print
                found[name] = many
    assert {name: lists for name, lists in found.items() if name not in OTHERS} == {}, "the table of components is the list of packages"
    assert OTHERS.keys() <= found.keys(), "no list there any more"


@pytest.mark.parametrize(
    "source",
    [
        r'X = r"org\.apache\.(?:flink|kafka|beam|spark)\."',
        'X = ("com.mysql", "org.postgresql", "redis.clients", "io.lettuce")',
        r'X = r"com\.mysql|org\.postgresql|redis\.clients|com\.mongodb"',
    ],
)
def test_another_list_would_be_seen(source: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert any(len(packages) >= MANY for _, packages in _lists(path))
