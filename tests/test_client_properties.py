"""The job's own client.properties, as written for Java or for librdkafka."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from cli.collectors.client_properties import ClientProperties, parse_properties, read_client_properties, translate
from cli.collectors.kafka_login import extensions_of
from cli.shell.exits import UsageError
from tests.kafka_servers import TLS

SASL = {"security.protocol": "SASL_SSL"}
PEM_KEY = "-----BEGIN PRIVATE KEY----- AAAA -----END PRIVATE KEY-----"


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
        "security.protocol": "Ssl", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM", "ssl.keystore.location": "/client.pem",
    }  # fmt: skip
    assert translate(given, "file").librdkafka == {
        "security.protocol": "SSL", "ssl.ca.location": "/ca.pem", "ssl.certificate.location": "/client.pem",
        "ssl.key.location": "/client.pem",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "names", "instead"),
    [
        ({"sasl.password": "${file:/secrets:password}"}, "sasl.password", "sasl.password="),
        ({**SASL, "sasl.jaas.config": "nonsense"}, "sasl.jaas.config", "sasl.username="),
        ({**SASL, "sasl.jaas.config": "com.corp.OwnLoginModule required;"}, "OwnLoginModule", "listener"),
        ({**SASL, "sasl.jaas.config": 'a.ScramLoginModule required username="a" password="b" tokenauth=true;'}, "tokenauth", "SCRAM"),
        (
            {**SASL, "sasl.jaas.config": "a.PlainLoginModule required;", "sasl.client.callback.handler.class": "x.Vault"},
            "x.Vault",
            "sasl.u",
        ),
        ({**SASL, "sasl.oauthbearer.assertion.algorithm": "RS256"}, "sasl.oauthbearer.assertion.algorithm", "file:"),
        ({"security.protocol": "TLS"}, "security.protocol", "SASL_SSL"),
        ({"security.protocol": "SSL", "ssl.engine.factory.class": "x.Y"}, "ssl.engine.factory.class", "ssl.ca.location"),
        ({"security.protocol": "SSL", "ssl.keystore.key": PEM_KEY}, "client key without its certificate", "ssl.keystore.location"),
        ({"security.protocol": "SSL", "ssl.certificate.location": "/c.pem"}, "client certificate without its key", "ssl.key.location"),
        ({"security.protocol": "SSL", "ssl.truststore.certificates": "/ca.pem"}, "ssl.truststore.certificates", "-----BEGIN"),
    ],
)
def test_what_cannot_work_here_is_refused_with_its_name_and_the_line_to_write(given: dict[str, str], names: str, instead: str) -> None:
    with pytest.raises(UsageError) as raised:
        translate(given, "client.properties")
    assert instead in raised.value.hint
    assert names in raised.value.message
    assert "client.properties" in raised.value.message


def test_a_login_that_the_protocol_does_not_use_is_not_read() -> None:
    """Java ignores it, so such a file works."""
    assert translate({"security.protocol": "PLAINTEXT ", "sasl.jaas.config": "nonsense"}, "file").protocol == "PLAINTEXT"


def test_inline_pem_in_continued_lines_is_what_openssl_reads() -> None:
    certificate, key = (TLS / "certificate.pem").read_text(), (TLS / "key.pem").read_text()

    def continued(text: str) -> str:
        return " \\\n ".join(text.splitlines())

    written = f"security.protocol=ssl\nssl.truststore.type=PEM\nssl.truststore.certificates={continued(certificate)}\n"
    written += f"ssl.keystore.type=PEM\nssl.keystore.certificate.chain={continued(certificate)}\nssl.keystore.key={continued(key)}\n"
    client = translate(parse_properties(written), "file")
    assert "\n" not in parse_properties(written)["ssl.keystore.key"]
    assert client.librdkafka["ssl.certificate.pem"] == certificate
    assert client.has_certificate
    before = set(Path(tempfile.gettempdir()).iterdir())
    client.tls_context()
    assert not [path for path in set(Path(tempfile.gettempdir()).iterdir()) - before if path.name.startswith("diag-")]
    assert "PRIVATE KEY" not in f"{client!r}{client.settings()}"


def test_a_key_with_a_password_that_nobody_gave_asks_no_terminal(tmp_path: Path) -> None:
    locked = tmp_path / "locked.pem"
    command = ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", str(TLS / "key.pem"), "-out", str(locked)]
    if shutil.which("openssl") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no openssl here")
    given = {"security.protocol": "SSL", "ssl.certificate.location": str(TLS / "certificate.pem"), "ssl.key.location": str(locked)}
    with pytest.raises(UsageError, match=r"cannot load the TLS certificates .*ssl\.key\.location"):
        translate(given, "file").tls_context()
    translate({**given, "ssl.key.password": "secret"}, "file").tls_context()


IAM = "software.amazon.msk.auth.iam.IAMLoginModule required;"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ('clientId="job" clientSecret="s" extension_logicalCluster="lkc-1" extension_identityPoolId="pool-2"',
         {"sasl.oauthbearer.client.id": "job", "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-2"}),
        ('oauth.client.id="job" oauth.client.secret="s" oauth.token.endpoint.uri="https://id/token"',
         {"sasl.oauthbearer.client.id": "job", "sasl.oauthbearer.token.endpoint.url": "https://id/token"}),
        ("", {"sasl.oauthbearer.client.id": "from-the-properties"}),
    ],
)  # fmt: skip
def test_every_spelling_of_a_token_login(options: str, told: dict[str, str]) -> None:
    head = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.client.credentials.client.id": "from-the-properties"}
    client = translate({**head, "sasl.jaas.config": f"{OAUTH} {options};"}, "file")
    assert told.items() <= client.librdkafka.items()
    assert extensions_of(client).get("logicalCluster") == ("lkc-1" if "extension" in options else None)


def test_a_token_that_stands_in_the_file() -> None:
    head = {**SASL, "sasl.mechanism": "OAUTHBEARER"}
    client = translate({**head, "sasl.jaas.config": f'{OAUTH} oauth.access.token="a.b.c";'}, "file")
    assert client.access_token == "a.b.c"
    assert "a.b.c" not in f"{client!r}{client.settings()}"


def test_names_that_only_java_knows_are_no_obstacle() -> None:
    given = {
        "security.protocol": "SSL",
        "ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "ssl.endpoint.identification.algorithm": "HTTPS",
    }
    assert translate(given, "file").librdkafka == {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "https"}


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
            "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "doc", "sasl.password": "hunter2",
            "ssl.key.password": "hunter2", "ssl.keystore.key": "hunter2", "group.id": "orders", "default.api.timeout.ms": "15000",
        },
        "file",
    )  # fmt: skip
    assert client.settings() == {
        "default.api.timeout.ms": "15000", "group.id": "orders", "sasl.mechanism": "PLAIN",
        "security.protocol": "SASL_PLAINTEXT",
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
