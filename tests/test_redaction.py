"""Redaction: no name of the user's systems leaves in a bundle, and everything a rule needs stays."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.bundle import BundleError, BundleNotFound, read_bundle, write_bundle
from analyzers.bundle.redact import Redactor
from analyzers.secrets import addresses, assignments, forms, names, scrub
from analyzers.secrets.scrub import signs_in
from analyzers.tables import TABLES, Row
from tests.examples import examples

NOW = datetime(2026, 11, 21, 9, 35, 19, tzinfo=timezone.utc)
KEY = b"0123456789abcdef"


SIGNED = [
    *addresses.FORMS,
    (forms.SIGNS, forms._TOKEN),
    (("digest",), forms._DIGEST),
    (forms.HASHES, forms._HASHED),
    (forms.SCHEMES, forms._SCHEMES),
    (names.SIGNS_OF_NAMES, names.SIGN),
]


def event(text: str, **values: Any) -> Row:
    return TABLES["log_events"].row({"scope": "", "as_of": NOW, "at": NOW, "signature": "x", "text": text, **values})


def redacted(*rows: Row, key: bytes = KEY) -> list[Row]:
    redactor = Redactor(key)
    redactor.learn({"log_events": list(rows)})
    return redactor.tables({"log_events": list(rows)})["log_events"]


def text_of(text: str, **values: Any) -> str:
    (row,) = redacted(event(text, **values))
    said = row["text"]
    assert isinstance(said, str)
    return said


def test_tokens_keep_kind_and_shape() -> None:
    (row,) = redacted(
        event(
            "node-7.acme.internal lost orders-eu-3 of group billing",
            host="node-7.acme.internal",
            address="kafka-3.acme.internal:9092",
            topic="orders-eu",
            partition=3,
            group="billing",
            client="billing-source-2",
        )
    )
    host, topic, group = row["host"], row["topic"], row["group"]
    assert row["address"].startswith("host-")
    assert row["address"].endswith(":9092")
    assert row["client"].startswith("client-")
    assert row["client"].endswith("-2")  # the subtask of a Flink source
    assert row["text"] == f"{host} lost {topic}-3 of group {group}"
    assert (row["partition"], row["signature"]) == (3, "x")


def test_the_same_key_gives_the_same_tokens_and_another_key_others() -> None:
    row = event("x", topic="orders-eu")
    assert redacted(row)[0]["topic"] == redacted(row)[0]["topic"] != redacted(row, key=KEY[::-1])[0]["topic"]


def test_a_name_one_table_knows_leaves_the_texts_of_another() -> None:
    redactor = Redactor(KEY)
    tables = {
        "partitions": [TABLES["partitions"].row({"topic": "payroll", "partition": 0})],
        "log_events": [event("Resetting offset for partition payroll-0 to position 12")],
        "sources": [TABLES["sources"].row({"name": "db1.acme.internal:9092", "kind": "kafka", "why": "payroll: timed out"})],
    }
    redactor.learn(tables)
    found = redactor.tables(tables)
    assert "payroll" not in repr(found)
    assert "acme" not in repr(found)
    assert found["log_events"][0]["text"].endswith("-0 to position 12")


@pytest.mark.parametrize(
    ("text", "leaks"),
    [
        ("[Consumer clientId=acme-reader-1, groupId=acme-group] Node 5 disconnected; acme-group is rebalancing", "acme"),
        ("Connection to node 5 (kafka5/10.20.30.40:9092) could not be established", "10.20.30.40"),
        ("Connection to node 5 (kafka5/10.20.30.40:9092) could not be established", "kafka5"),
        ("Connecting to fd00:12::7", "fd00"),
        ("bootstrap.servers = [kafka1:9092, kafka2:9092] and later kafka2 alone", "kafka2"),
        ("java.io.FileNotFoundException: /home/mallory/state/chk-7", "mallory"),
        (r"C:\Users\mallory\flink", "mallory"),
        ("hdfs:///user/mallory/checkpoints", "mallory"),
        ("no such file /users/mallory/flink", "mallory"),
        ("FileStreamSource[file:/srv/acme-pay/in]: {}", "acme"),
        ("file:///srv/acme-pay/in: denied; then /srv/acme-pay/in/part-1.json", "acme"),
        ("located at s3://lake7/acme-pay/checkpoints/chk-4.", "acme"),
        ("located at s3://lake7/acme-pay/checkpoints/chk-4.", "lake7"),
        ("hdfs://namenode.acme.example/flink", "acme"),
        ("s3://acme-lake/checkpoints", "acme"),
        ("jdbc:postgresql://app:hunter2@db.acme.example:5432/orders", "hunter2"),
        ("Principal User:mallory has no access", "mallory"),
        ("flink-mallory-taskexecutor-0-node7.log", "mallory"),
        ("flink-mallory-taskexecutor-0-node7.log", "node7"),
        ("reading es-7.search.example:9200 failed", "search.example"),
    ],
)
def test_texts_lose(text: str, leaks: str) -> None:
    assert leaks not in text_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "09:35:19,130 INFO org.apache.kafka.clients.NetworkClient - Node -1 disconnected.",
        "at org.apache.flink.streaming.runtime.tasks.StreamTask.runMailboxLoop(StreamTask.java:1022)",
        "Job f83dbb7e04f400ccfd1258d03b96d7ad switched from state RUNNING to RESTARTING.",
        "Checkpoint 23 expired before completing.",
        "Source (2/4) (f83dbb7e04f400ccfd1258d03b96d7ad_f83dbb7e04f400ccfd1258d03b96d7ad_1_0) switched from RUNNING to FAILED on 127.0.0.1",
        "akka.tcp://flink@localhost:6123/user/rpc/dispatcher_1",
        "pekko://flink/user/rpc/taskmanager_0",
        "taskmanager.memory.process.size: 1728m, jobmanager.rpc.address",
        "Kafka version: 2.4.1; see https://issues.apache.org",
        "[2026-11-21T09:35:19.130+00:00] std::vector a::b",
        "Unrecognized token '<text, 3 characters>': was expecting ('true', 'false')",
    ],
)
def test_texts_keep(text: str) -> None:
    assert text_of(text, host="taskmanager", topic="com", job="f83dbb7e04f400ccfd1258d03b96d7ad") == text


def test_internal_topics_and_names_that_everybody_has_stay() -> None:
    (row,) = redacted(event("x", topic="__consumer_offsets", host="localhost", address="localhost:9092"))
    assert (row["topic"], row["host"], row["address"]) == ("__consumer_offsets", "localhost", "localhost:9092")


def test_a_topic_named_like_a_package_does_not_break_class_names() -> None:
    said = text_of("org.apache.flink.orders.StreamMap failed on orders, orders.StreamMap", topic="orders")
    assert said.startswith("org.apache.flink.orders.StreamMap failed on topic-")
    assert re.fullmatch(r"w[0-9a-f]{7}\.StreamMap", said.rpartition(", ")[2])


def test_a_class_of_nobody_known_keeps_the_shape_of_one() -> None:
    said = text_of("at com.acme.pay.PayrollMapper.map(PayrollMapper.java:33)")
    assert (found := re.fullmatch(r"at com\.w[0-9a-f]{7}\.w[0-9a-f]{7}\.(W[0-9a-f]{7})Mapper\.map\((W[0-9a-f]{7})Mapper\.java:33\)", said))
    assert found[1] == found[2]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("password=hunter2", "password=***"),
        ("ssl.keystore.password = hunter2", "ssl.keystore.password = ***"),
        ('{"api_key": "hunter2"}', '{"api_key": "***"}'),
        ("Authorization: Bearer hunter2", "Authorization: ***"),
        ("sasl.jaas.config=hunter2;", "sasl.jaas.config=***;"),
        ("https://me:hunter2@registry/", "https://me:***@registry/"),
        (
            "PUT https://acme.blob.core.windows.net/chk/7?sv=2022-11-02&se=2027&sp=rw&sig=aB%2Fc%3D failed",
            "PUT https://acme.blob.core.windows.net/chk/7?sv=2022-11-02&se=2027&sp=rw&sig=*** failed",
        ),
        (
            "https://b.s3.amazonaws.com/k?X-Amz-Signature=0a1b&X-Amz-Expires=60",
            "https://b.s3.amazonaws.com/k?X-Amz-Signature=***&X-Amz-Expires=60",
        ),
        ("?X-Amz-Security-Token=IQoJb3%2F&X-Amz-Date=2027", "?X-Amz-Security-Token=***&X-Amz-Date=2027"),
        ("https://storage.googleapis.com/b/o?X-Goog-Signature=77aa", "https://storage.googleapis.com/b/o?X-Goog-Signature=***"),
        ("SharedAccessSignature sr=acme&sig=hunter2%3D&se=1&skn=k", "SharedAccessSignature sr=acme&sig=***&se=1&skn=k"),
        ("SharedAccessSignature=sv=1&sig=hunter2", "SharedAccessSignature=***"),
        ("AccountName=acme;AccountKey=aGVs+bG8/==;EndpointSuffix=x", "AccountName=acme;AccountKey=***;EndpointSuffix=x"),
        ("SharedAccessKeyName=k;SharedAccessKey=aGVs+bG8=", "SharedAccessKeyName=k;SharedAccessKey=***"),
        ("https://idp/cb?access_token=ey.J.z&x=1", "https://idp/cb?access_token=***&x=1"),
        ('{"access_token": "ey.J.z"}', '{"access_token": "***"}'),
        ("invalid token: x, design=3, sigma=2", "invalid token: x, design=3, sigma=2"),
        ("password: ******", "password: ******"),
        ("ssl.key.password = null", "ssl.key.password = null"),
        ("sasl.jaas.config = [hidden]", "sasl.jaas.config = [hidden]"),
    ],
)
def test_secrets_leave_in_any_case(tmp_path: Path, text: str, kept: str) -> None:
    assert scrub(text) == kept
    write_bundle(tmp_path / "b", {"log_events": [event(text)]}, version="1", redact=False)
    assert read_bundle(tmp_path / "b").tables["log_events"][0]["text"] == kept


def test_a_jaas_line_loses_its_password() -> None:
    said = scrub('sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";')
    assert "hunter2" not in said


def test_a_later_sample_of_the_same_user_continues_the_tokens(tmp_path: Path) -> None:
    for minute in (0, 1):
        offset = TABLES["log_offsets"].row({"scope": "", "at": NOW + timedelta(minutes=minute), "topic": "orders-eu", "partition": 0})
        write_bundle(tmp_path / "b", {"log_offsets": [offset]}, version="1", key_store=tmp_path / "keys")
    rows = read_bundle(tmp_path / "b").tables["log_offsets"]
    assert len(rows) == 2
    assert len({r["topic"] for r in rows}) == 1
    assert "orders" not in (tmp_path / "b" / "log_offsets.jsonl").read_text()


def test_somebody_else_needs_the_key(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", {"sources": []}, version="1", key_store=tmp_path / "keys")
    with pytest.raises(BundleError, match="does not have") as raised:
        write_bundle(tmp_path / "b", {"sources": []}, version="1", key_store=tmp_path / "others")
    assert "--redaction-key" in raised.value.hint
    with pytest.raises(BundleError, match="is redacted"):
        write_bundle(tmp_path / "b", {"sources": []}, version="1", redact=False)


def test_the_key_never_travels_with_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    write_bundle(tmp_path / "b", {"log_events": [event("x", topic="orders-eu")]}, version="1", key_file=tmp_path / "key")
    assert all(KEY not in p.read_bytes() for p in (tmp_path / "b").iterdir())


def test_a_key_file_joins_bundles(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY)
    for name in "12":
        write_bundle(tmp_path / name, {"log_events": [event("x", topic="orders-eu")]}, version="1", key_file=tmp_path / "key")
    topics = {read_bundle(tmp_path / name).tables["log_events"][0]["topic"] for name in "12"}
    assert len(topics) == 1
    with pytest.raises(BundleNotFound):
        write_bundle(tmp_path / "3", {}, version="1", key_file=tmp_path / "none")
    (tmp_path / "short").write_text("x")
    with pytest.raises(BundleError, match="fewer than"):
        write_bundle(tmp_path / "3", {}, version="1", key_file=tmp_path / "short")


def test_what_was_looked_at_names_nobody() -> None:
    asked = ("bootstrap servers, from pc", "groups of broker7:9092, 10.3.0.7:9092", "/srv/acme-pay/logs/kafka-3/a.tar.gz!mallory/jm.log")
    kinds = ("kafka", "kafka", "logs")
    tables = {
        "bootstrap_servers": [TABLES["bootstrap_servers"].row({"entry": "10.3.0.7:9092", "seen_from": "pc"})],
        "sources": [
            TABLES["sources"].row({"name": name, "kind": kind, "why": f"{name}: no"}) for name, kind in zip(asked, kinds, strict=True)
        ],
        "log_files": [TABLES["log_files"].row({"file": asked[2], "host": "kafka-3"})],
    }
    redactor = Redactor(KEY)
    redactor.learn(tables)
    found = redactor.tables(tables)
    looker, groups, logs = (row["name"] for row in found["sources"])
    assert looker == f"bootstrap servers, from {found['bootstrap_servers'][0]['seen_from']}"
    assert not any(name in repr(found) for name in ("broker7", "10.3.0.7", "acme", "kafka-3", "mallory"))
    assert groups.count(":9092") == 2
    assert logs == found["log_files"][0]["file"] == found["sources"][2]["why"].removesuffix(": no")
    assert logs.startswith("/srv/dir-")
    assert f"/logs/{found['log_files'][0]['host']}/" in logs
    assert logs.endswith("/jm.log")


def test_paths_of_checkpoints_lose_names_alike_wherever_they_stand() -> None:
    job = "f83dbb7e04f400ccfd1258d03b96d7ad"
    path = f"/srv/acme-pay/checkpoints/{job}/chk-7/_metadata"
    tables = {
        "checkpoint_files": [TABLES["checkpoint_files"].row({"path": path, "job": job})],
        "log_events": [event(f"Restoring job {job} from Checkpoint 7 @ 1 for {job} located at file:{path.removesuffix('/_metadata')}.")],
        "batches": [TABLES["batches"].row({"path": "/srv/acme-pay/query"})],
    }
    redactor = Redactor(KEY)
    redactor.learn(tables)
    found = redactor.tables(tables)
    kept = found["checkpoint_files"][0]["path"]
    assert kept.startswith("/srv/dir-")
    assert kept.endswith(f"/checkpoints/{job}/chk-7/_metadata")
    assert f"file:{kept.removesuffix('/_metadata')}." in found["log_events"][0]["text"]
    assert found["batches"][0]["path"].startswith(kept.partition("/checkpoints")[0] + "/dir-")


@pytest.mark.parametrize(
    "file",
    [
        "/var/log/flink/jobmanager.log",
        "logs/taskmanager-2/taskmanager.log",
        "/yarn/userlogs/application_1700000000000_0001/container_1700000000000_0001_01_000002/jobmanager.log",
        "jobmanager.log",
        "file:/opt/flink/checkpoints/f83dbb7e04f400ccfd1258d03b96d7ad/chk-7/_metadata",
        "hdfs:///flink/savepoints/savepoint-f83dbb-0123456789ab",
    ],
)
def test_directories_that_everybody_has_stay(file: str) -> None:
    assert redacted(event("x", file=file, job="f83dbb7e04f400ccfd1258d03b96d7ad"))[0]["file"] == file


def test_the_brokers_that_were_asked_are_told_by_no_name(tmp_path: Path) -> None:
    asked = "db1.acme.internal:9092,q7:9093"
    row = TABLES["sources"].row({"scope": "", "name": "consumer groups", "kind": "kafka", "state": "ok", "asked": asked})
    write_bundle(tmp_path / "b", {"sources": [row]}, version="1", key_store=tmp_path / "keys")
    (told,) = read_bundle(tmp_path / "b").tables["sources"]
    assert re.fullmatch(r"[^,]+:9092,[^,]+:9093", told["asked"])
    assert not re.search("acme|db1|q7", told["asked"])


@pytest.mark.parametrize(("signs", "form"), [pytest.param(*each, id=each[1].pattern[:40]) for each in SIGNED if each[0]])
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_a_form_matches_has_one_of_its_signs(signs: tuple[str, ...], form: re.Pattern[str], data: st.DataObject) -> None:
    text = data.draw(st.from_regex(form, alphabet=st.characters(max_codepoint=127)))
    assert not signs_in(text).isdisjoint(signs) or (form is forms._TOKEN and "SK" in text)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.sampled_from((*names.SIGNS_OF_NAMES, "access", "docker", "config", "client", "phrase", " ", "_", "\n", "x"))).map("".join)
)
def test_lines_with_a_sign_have_all_names(text: str) -> None:
    find, at, found = assignments._Finder(text, signs_in(text).intersection(names.SIGNS_OF_NAMES)).find, 0, []
    while hit := find(at):
        found.append(hit.span())
        at = hit.end()
    assert found == [hit.span() for hit in names.SIGN.finditer(text)]


def test_signs_of_letters_that_may_equal_others() -> None:
    assert signs_in("Token \u017fecret") >= {"secret", "pass"}  # the long s
    assert signs_in("nothing of the kind") == set()
