"""Key stores as Java's own keytool writes them, opened by Java and used in a handshake that asks for the certificate."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest

from cli.collectors.client_properties import translate
from cli.collectors.kafka_session import Limits
from cli.collectors.kafka_wire import parse_entries, survey
from cli.engine.java import JavaMissing, find_java
from cli.shell.exits import UsageError
from tests.kafka_servers import TLS, FakeBroker, serving


def keytool(*arguments: str) -> None:
    try:
        java = find_java().path
    except JavaMissing as missing:
        pytest.skip(str(missing))
    command = [str(java), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-m", "java.base/sun.security.tools.keytool.Main", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``trust.jks``, ``own.jks`` with a password of its own on the key, and both as PKCS12; server and client share a certificate."""
    folder = tmp_path_factory.mktemp("stores")
    both = folder / "both.pem"
    both.write_bytes((TLS / "key.pem").read_bytes() + (TLS / "certificate.pem").read_bytes())
    packed = ["openssl", "pkcs12", "-export", "-in", str(both), "-name", "me", "-passout", "pass:store1", "-out", str(folder / "own.p12")]
    try:
        subprocess.run(packed, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no openssl here")
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", str(TLS / "certificate.pem"), "-keystore", str(folder / "trust.jks"),
            "-storetype", "JKS", "-storepass", "changeit")  # fmt: skip
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", str(TLS / "certificate.pem"), "-keystore", str(folder / "trust.p12"),
            "-storetype", "PKCS12", "-storepass", "changeit")  # fmt: skip
    target = ("-destkeystore", str(folder / "own.jks"), "-deststoretype", "JKS", "-deststorepass", "store1", "-destkeypass", "key123")
    keytool("-importkeystore", "-srckeystore", str(folder / "own.p12"), "-srcstorepass", "store1", "-srcalias", "me", *target)
    return folder


@pytest.mark.parametrize(
    "own",
    [
        {"ssl.keystore.location": "own.jks", "ssl.keystore.password": "store1", "ssl.key.password": "key123"},
        {"ssl.keystore.location": "own.p12", "ssl.keystore.password": "store1"},  # without a type: Kafka says JKS, Java sees what it is
        {"ssl.keystore.location": "own.p12", "ssl.keystore.password": "store1", "ssl.keystore.type": "pkcs12"},
    ],
    ids=["jks", "pkcs12 without type", "pkcs12"],
)
@pytest.mark.parametrize("trust", ["trust.jks", "trust.p12"])
def test_a_java_store_shows_its_certificate_to_the_broker(stores: Path, own: dict[str, str], trust: str) -> None:
    given = {"security.protocol": "SSL", "ssl.truststore.location": str(stores / trust), "ssl.truststore.password": "changeit", **own}
    client = translate(given | {"ssl.keystore.location": str(stores / own["ssl.keystore.location"])}, "client.properties")
    with serving(FakeBroker().talk, tls=True, wants_certificate=ssl.TLSVersion.TLSv1_3) as address:
        seen = asyncio.run(survey(parse_entries([address]), client, client.tls_context(), Limits.within(5.0)))
    (row,) = seen.bootstrap_servers
    assert row["state"] == "alive", row["why"]
    assert {path.name for path in stores.iterdir()} == {"both.pem", "own.p12", "own.jks", "trust.jks", "trust.p12"}


def test_a_trust_store_of_jks_needs_no_password(stores: Path) -> None:
    client = translate({"security.protocol": "SSL", "ssl.truststore.location": str(stores / "trust.jks")}, "client.properties")
    assert client.librdkafka["ssl.ca.pem"] == (TLS / "certificate.pem").read_text()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ssl.keystore.location": "own.jks", "ssl.keystore.password": "wrong"}, "password was incorrect"),
        ({"ssl.keystore.location": "own.jks", "ssl.keystore.password": "store1"}, "Cannot recover key"),
        ({"ssl.keystore.location": "none.jks", "ssl.keystore.password": "store1"}, "No such file"),
        ({"ssl.keystore.location": "trust.jks", "ssl.keystore.password": "changeit"}, "holds no private key"),
        ({"ssl.truststore.location": "own.jks", "ssl.truststore.type": "BCFKS"}, "BCFKS not found"),
    ],
    ids=["password", "key password", "missing", "no key", "type"],
)
def test_a_store_that_java_cannot_open_is_named_with_javas_words(stores: Path, given: dict[str, str], says: str) -> None:
    placed = {key: str(stores / value) if key.endswith("location") else value for key, value in given.items()}
    with pytest.raises(UsageError, match=says) as raised:
        translate({"security.protocol": "SSL", **placed}, "client.properties")
    assert next(iter(given)) in raised.value.message
    assert "store1" not in f"{raised.value} {raised.value.message} {raised.value.hint}"
