"""Twelve ``client.properties`` as Kafka's own tools take them: each is understood, or refused in a sentence that says what would work."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.collectors.client_properties import read_client_properties
from cli.collectors.kafka_library import LACKS
from cli.shell.exits import UsageError
from tests.kafka_servers import TLS

_SECURITY = "org.apache.kafka.common.security"
_PEM = (TLS / "certificate.pem").read_text().strip().replace("\n", " \\\n  ")
_KEY = (TLS / "key.pem").read_text().strip().replace("\n", " \\\n  ")

FILES: dict[str, tuple[str, dict[str, str]]] = {
    # what is written, and what must come of it: protocol, mechanism, user, and settings of librdkafka
    "no security": ("# nothing but where\nbootstrap.servers=a:1,\\\n    b:2\n", {"protocol": "PLAINTEXT"}),
    "PLAIN, continued JAAS": (
        (f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={_SECURITY}.plain.PlainLoginModule required \\\n"
        '  username="KEY" \\\n  password="a=b c";\nssl.endpoint.identification.algorithm=https\nclient.dns.lookup=use_all_dns_ips\n'),
        {"protocol": "SASL_SSL", "mechanism": "PLAIN", "username": "KEY", "password": "a=b c"},
    ),
    "PLAIN, host names not verified": (
        ("security.protocol = sasl_ssl\nsasl.mechanism: PLAIN\nssl.endpoint.identification.algorithm=\n"
        f"sasl.jaas.config {_SECURITY}.plain.PlainLoginModule required username='u' password='p';\n"),
        {"protocol": "SASL_SSL", "username": "u", "ssl.endpoint.identification.algorithm": "none"},
    ),
    "SCRAM": (
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={_SECURITY}.scram.ScramLoginModule required username="doc" password="p\\\\"q";\n'),
        {"protocol": "SASL_PLAINTEXT", "mechanism": "SCRAM-SHA-512", "username": "doc", "password": 'p"q'},
    ),
    "OAUTHBEARER with a client secret": (
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=https://id/token\n"
        f"sasl.login.callback.handler.class={_SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler\n"
        f'sasl.jaas.config={_SECURITY}.oauthbearer.OAuthBearerLoginModule required clientId="job" clientSecret="s" scope="kafka";\n'),
        {"mechanism": "OAUTHBEARER", "sasl.oauthbearer.client.id": "job", "sasl.oauthbearer.scope": "kafka"},
    ),
    "OAUTHBEARER with a token file": (
        ("security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url=file:///var/run/token\n"
        f"sasl.jaas.config={_SECURITY}.oauthbearer.OAuthBearerLoginModule required;\n"),
        {"mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "file:///var/run/token"},
    ),
    "mutual TLS, inline PEM": (
        (f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.truststore.type=PEM\nssl.truststore.certificates={_PEM}\n"
        f"ssl.keystore.certificate.chain={_PEM}\nssl.keystore.key={_KEY}\n"),
        {"protocol": "SSL", "certificate": "shown"},
    ),
    "mutual TLS, PEM files": (
        (f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location=FOLDER/own.pem\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location={TLS}/certificate.pem\nssl.enabled.protocols=TLSv1.3,TLSv1.2\n"),
        {"protocol": "SSL", "certificate": "shown", "ssl.ca.location": f"{TLS}/certificate.pem"},
    ),
    "producer settings beside": (
        ("acks=all\nlinger.ms=5\nkey.serializer=org.apache.kafka.common.serialization.StringSerializer\n"
        "interceptor.classes=com.corp.Audit\nsecurity.protocol=PLAINTEXT\nsasl.jaas.config=ignored here\n"),
        {"protocol": "PLAINTEXT"},
    ),
    "Kerberos": (
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
        "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab=\"/k\" principal=\"u@R\";\n"),
        {"mechanism": "GSSAPI"},  # the probe speaks it where gssapi is; librdkafka's wheel does not: LACKS says it
    ),
    "Amazon's IAM": (
        ("security.protocol=SASL_SSL\nsasl.mechanism=AWS_MSK_IAM\nsasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required;\n"
        "sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler\n"),
        {"mechanism": "AWS_MSK_IAM"},
    ),
    "a password from elsewhere": (
        ("config.providers=file\nconfig.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
        f'security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={_SECURITY}.plain.PlainLoginModule required username="u" '
        'password="${file:/secrets:password}";\n'),
        {"refused": "sasl.jaas.config"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_it_is_understood_or_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    text, expected = FILES[name]
    path = tmp_path / "client.properties"
    path.write_text(text.replace("FOLDER", str(tmp_path)))
    (tmp_path / "own.pem").write_text((TLS / "key.pem").read_text() + (TLS / "certificate.pem").read_text())  # Java wants both in one
    if "refused" in expected:
        with pytest.raises(UsageError) as raised:
            read_client_properties(path)
        assert expected["refused"] in raised.value.message
        assert raised.value.hint
        return
    client = read_client_properties(path)
    if "certificate" in expected:
        assert client.has_certificate
        assert client.tls_context() is not None
    known = {
        "certificate": "shown",
        "protocol": client.protocol,
        "mechanism": client.mechanism,
        "username": client.username,
        "password": client.password,
    }
    for key, value in expected.items():
        assert (known[key] if key in known else client.librdkafka.get(key)) == value, key
    if client.mechanism in ("GSSAPI", "AWS_MSK_IAM"):
        assert client.mechanism in LACKS


def test_there_are_twelve() -> None:
    assert len(FILES) == 12
