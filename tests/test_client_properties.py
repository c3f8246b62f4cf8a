"""The job's own client.properties, as written for Java or for librdkafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.collectors.client_properties import ClientProperties, parse_properties, read_client_properties, translate
from cli.shell.exits import UsageError


def test_the_java_format() -> None:
    text = "# comment\n! another\n\nbootstrap.servers = a:1,\\\n    b:2\nsecurity.protocol:SASL_SSL\n"
    text += "client.id  job\\ one\npath=C\\:\\\\x\\u0041\nempty=\n"
    assert parse_properties(text) == {
        "bootstrap.servers": "a:1,b:2", "security.protocol": "SASL_SSL", "client.id": "job one", "path": "C:\\xA", "empty": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    "spelling",
    [
        {"sasl.mechanism": "PLAIN", "sasl.username": "doc", "sasl.password": 'a"b;c'},
        {"sasl.mechanisms": "PLAIN", "sasl.username": "doc", "sasl.password": 'a"b;c'},
        {
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required\n"
            ' username="doc" password="a\\"b;c" serviceName=kafka;',
        },
    ],
)
def test_java_and_librdkafka_spellings_mean_the_same_login(spelling: dict[str, str]) -> None:
    client = translate({"security.protocol": "sasl_plaintext"} | spelling, "file")
    assert (client.protocol, client.mechanism, client.username, client.password) == ("SASL_PLAINTEXT", "PLAIN", "doc", 'a"b;c')
    assert client.uses_sasl
    assert not client.uses_tls


def test_pem_stores_become_files() -> None:
    given = {
        "security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM", "ssl.keystore.location": "/client.pem",
    }  # fmt: skip
    assert translate(given, "file").librdkafka == {
        "security.protocol": "SSL", "ssl.ca.location": "/ca.pem", "ssl.certificate.location": "/client.pem",
        "ssl.key.location": "/client.pem",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "instead"),
    [
        ({"security.protocol": "SSL", "ssl.truststore.location": "/t.jks"}, "ssl.ca.location="),
        ({"security.protocol": "SSL", "ssl.keystore.location": "/k.jks"}, "ssl.certificate.location="),
        ({"sasl.password": "${file:/secrets:password}"}, "sasl.password="),
        ({"sasl.jaas.config": "nonsense"}, "sasl.username="),
        ({"sasl.jaas.config": "com.corp.OwnLoginModule required;"}, "listener"),
        ({"security.protocol": "TLS"}, "SASL_SSL"),
    ],
)
def test_what_only_java_can_is_refused_with_the_line_to_write(given: dict[str, str], instead: str) -> None:
    with pytest.raises(UsageError) as raised:
        translate(given, "client.properties")
    assert instead in raised.value.hint
    assert "client.properties" in raised.value.message


IAM = "software.amazon.msk.auth.iam.IAMLoginModule required;"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def test_token_logins() -> None:
    head = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example/token",
    }
    client = translate({**head, "sasl.jaas.config": f'{OAUTH} clientId="job" clientSecret="s3cret" scope="kafka";'}, "file")
    assert client.librdkafka["sasl.oauthbearer.client.id"] == "job"
    assert "s3cret" not in repr(client)
    assert translate({**head, "sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="alice";'}, "file").unsecured_subject == "alice"
    iam = translate({"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": IAM}, "file")
    assert (iam.mechanism, iam.username) == ("AWS_MSK_IAM", None)


def test_secrets_do_not_show() -> None:
    client = translate(
        {
            "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "doc", "sasl.password": "hunter2",
            "ssl.key.password": "hunter2", "ssl.keystore.key": "hunter2", "group.id": "orders", "default.api.timeout.ms": "15000",
        },
        "file",
    )  # fmt: skip
    assert client.settings() == {
        "default.api.timeout.ms": "15000", "group.id": "orders", "sasl.mechanism": "PLAIN", "security.protocol": "SASL_SSL",
    }  # fmt: skip
    assert "hunter2" not in repr(client)


def test_files_that_cannot_be_read_are_a_wrong_option(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the client properties"):
        read_client_properties(tmp_path / "missing")
    with pytest.raises(UsageError, match="cannot load the TLS certificates"):
        ClientProperties(protocol="SSL", librdkafka={"ssl.ca.location": str(tmp_path / "missing")}).tls_context()


def test_what_stands_beside_a_config_provider_is_not_shown() -> None:
    jaas = 'a.PlainLoginModule required username="${env:USER}" password="hunter2";'
    with pytest.raises(UsageError) as raised:
        translate({"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas}, "f")
    assert "${env:" in str(raised.value)
    assert "hunter2" not in f"{raised.value} {raised.value.message} {raised.value.hint}"


def test_half_an_escape_is_refused_as_java_does() -> None:
    with pytest.raises(UsageError, match="four hexadecimal digits"):
        parse_properties("ssl.key.password=x\\u12")
