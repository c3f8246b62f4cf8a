"""A real broker with ACLs: what it leaves out without a word is never taken for "nothing there"."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import admin as kafka_admin

from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from tests.live.conftest import KafkaStarter
from tests.live.test_kafka_live import diag

names: Any = kafka_admin  # its stubs do not export the names of ACLs

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def settings(kafka: KafkaCluster, **more: Any) -> dict[str, Any]:
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "a"}
    return {"bootstrap.servers": kafka.bootstrap, "log_level": 0, **login, **more}


@pytest.fixture(scope="module")
def guarded(kafka_cluster: KafkaStarter) -> KafkaCluster:
    """One broker, user ``admin`` (super) and user ``doctor``, who may do nothing yet; group ``enrich`` is 9 behind on ``orders``."""
    kafka = kafka_cluster(
        brokers=1,
        **{
            "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.plaintext.plain.sasl.jaas.config": (f'{LOGIN} username="admin" password="a" user_admin="a" user_doctor="d";'),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin;User:ANONYMOUS",
        },
    )
    admin = names.AdminClient(settings(kafka))
    admin.create_topics([names.NewTopic("orders", 1, 1)])["orders"].result(timeout=60)
    producer = Producer(settings(kafka))
    for _ in range(10):
        producer.produce("orders", b"record")
    assert producer.flush(60) == 0
    consumer = Consumer(settings(kafka, **{"group.id": "enrich", "enable.auto.commit": False}))

    def committed() -> bool:
        with contextlib.suppress(KafkaException):  # the coordinator of a young cluster is still loading
            consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
            return True
        return False

    wait_until(committed, "a commit of enrich")
    consumer.close()
    return kafka


def grant(kafka: KafkaCluster, kind: str, name: str, operation: str) -> None:
    acl = names.AclBinding(
        getattr(names.ResourceType, kind), name, names.ResourcePatternType.LITERAL, "User:doctor", "*",
        getattr(names.AclOperation, operation), names.AclPermissionType.ALLOW,
    )  # fmt: skip
    admin = names.AdminClient(settings(kafka))
    for granted in admin.create_acls([acl]).values():
        granted.result(timeout=30)


def test_what_a_user_may_not_see_is_said_with_the_acl_that_shows_it(guarded: KafkaCluster, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text(f'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={LOGIN} username="doctor" password="d";\n')

    def ask(command: str, *more: str) -> tuple[int, dict[str, Any], dict[str, Any]]:
        code, report = diag(command, "-b", guarded.bootstrap, "--command-config", str(config), *more)
        return code, report, {source["name"]: source for source in report["sources"]}

    code, report, sources = ask("broker-health")
    assert (code, report["facts"]["bootstrap_servers"][0]["state"], report["facts"]["partitions"]) == (3, "alive", [])
    assert "--allow-principal User:doctor --operation Describe --topic '*'" in sources["topics"]["why"]

    for more, wanted in (
        ((), "--operation Describe --cluster --group '*'"),
        (("--group", "en.*"), "--operation Describe --cluster --group '*'"),
        (("--group", "enrich"), "--operation Describe --group enrich"),
        (("--topic", "orders"), "--operation Describe --topic orders"),
    ):
        code, report, sources = ask("lag-report", *more)
        assert (code, report["facts"]["groups"], sources["consumer groups"]["state"]) == (3, [], "failed")
        assert wanted in sources["consumer groups"]["why"]

    def shows(group: str, table: str, rows: int) -> None:
        wait_until(lambda: len(ask("lag-report", "--group", group)[1]["facts"][table]) == rows, f"{table} of {group}")

    # the group may be seen, the topic not: its commits are left out of the answer without an error
    grant(guarded, "GROUP", "enrich", "DESCRIBE")
    shows("enrich", "groups", 1)
    code, report, sources = ask("lag-report", "--group", "enrich")
    assert (code, sources["consumer groups"]["state"]) == (3, "failed")
    assert "no commit of enrich is shown: there is none, or User:doctor may not DESCRIBE the topics" in sources["consumer groups"]["why"]

    # the lag is known, its age and retention are not
    grant(guarded, "TOPIC", "orders", "DESCRIBE")
    shows("enrich", "committed_offsets", 1)
    code, report, sources = ask("lag-report", "--group", "enrich")
    why = sources["consumer groups"]["why"]
    assert (code, report["facts"]["committed_offsets"][0]["lag_records"], sources["consumer groups"]["state"]) == (0, 9, "partial")
    assert "--operation Read --topic orders" in why
    assert "--operation DescribeConfigs --topic orders" in why

    # nothing is missing for the group that was asked for; without a name other groups may be hidden
    grant(guarded, "TOPIC", "orders", "READ")
    grant(guarded, "TOPIC", "orders", "DESCRIBE_CONFIGS")
    wait_until(lambda: ask("lag-report", "--group", "enrich")[2]["consumer groups"]["state"] == "ok", "everything to be shown")
    assert "other groups may be there" in ask("lag-report")[2]["consumer groups"]["why"]
    assert ask("broker-health", "--topic", "orders")[2]["topics"]["state"] == "ok"
