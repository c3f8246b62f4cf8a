"""A real broker that wants client certificates and counts connections: what lives is never called something else, and Java's files work."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from cli.engine.java import find_java
from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from tests.live.conftest import KafkaStarter, unavailable
from tests.live.test_kafka_live import diag

TLS = Path(__file__).parent.parent / "data" / "tls"
CONNECTIONS = 12


@pytest.fixture(scope="module")
def strict(kafka_cluster: KafkaStarter, tmp_path_factory: pytest.TempPathFactory) -> KafkaCluster:
    """One broker whose only listener is TLS with client certificates, for a dozen connections of one address."""
    store = tmp_path_factory.mktemp("tls") / "store.pem"
    store.write_bytes((TLS / "key.pem").read_bytes() + (TLS / "certificate.pem").read_bytes())
    return kafka_cluster(
        brokers=1,
        **{
            "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",  # the name stays, the protocol changes
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(TLS / "certificate.pem"),
            "max.connections.per.ip": str(CONNECTIONS),
        },
    )


def keytool(*arguments: str) -> None:
    command = [str(find_java().path), "-m", "java.base/sun.security.tools.keytool.Main", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Client properties as Java clients are run with, by what they hold."""
    if shutil.which("openssl") is None:
        unavailable(LabUnavailable("openssl is not installed"))
    folder = tmp_path_factory.mktemp("clients")
    certificate, key = (TLS / "certificate.pem").read_text(), (TLS / "key.pem").read_text()
    (folder / "both.pem").write_text(key + certificate)
    packed = ["-export", "-in", str(folder / "both.pem"), "-name", "me", "-passout", "pass:store1", "-out", str(folder / "own.p12")]
    subprocess.run(["openssl", "pkcs12", *packed], check=True, capture_output=True)
    trust = ("-importcert", "-noprompt", "-alias", "ca", "-file", str(TLS / "certificate.pem"), "-storepass", "changeit", "-keystore")
    keytool(*trust, str(folder / "trust.jks"), "-storetype", "JKS")
    own = ("-destkeystore", str(folder / "own.jks"), "-deststoretype", "JKS", "-deststorepass", "store1", "-destkeypass", "key123")
    keytool("-importkeystore", "-srckeystore", str(folder / "own.p12"), "-srcstorepass", "store1", "-srcalias", "me", *own)

    def inline(text: str) -> str:
        return " \\\n  ".join(text.splitlines())

    jks = f"ssl.truststore.location={folder}/trust.jks\nssl.truststore.password=changeit\n"
    pem = f"ssl.truststore.type=PEM\nssl.truststore.location={TLS}/certificate.pem\n"
    return {
        "jks": jks + f"ssl.keystore.location={folder}/own.jks\nssl.keystore.password=store1\nssl.key.password=key123\n",
        "pkcs12": jks + f"ssl.keystore.location={folder}/own.p12\nssl.keystore.password=store1\n",
        "pem files": pem + f"ssl.keystore.type=PEM\nssl.keystore.location={folder}/both.pem\n",
        "inline pem": f"ssl.truststore.type=PEM\nssl.truststore.certificates={inline(certificate)}\nssl.keystore.type=PEM\n"
        f"ssl.keystore.certificate.chain={inline(certificate)}\nssl.keystore.key={inline(key)}\n",
        "librdkafka": f"ssl.ca.location={TLS}/certificate.pem\nssl.certificate.location={TLS}/certificate.pem\n"
        f"ssl.key.location={TLS}/key.pem\n",
        "no certificate": pem,
    }


@pytest.mark.parametrize("kind", ["jks", "pkcs12", "pem files", "inline pem", "librdkafka"])
def test_a_client_with_its_certificate_gets_everything(strict: KafkaCluster, files: dict[str, str], kind: str, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text(f"bootstrap.servers={strict.bootstrap}\nsecurity.protocol=ssl\n{files[kind]}")
    code, report = diag("broker-health", "--command-config", str(config), "--timeout", "20s")
    assert (code, report["facts"]["bootstrap_servers"][0]["state"]) == (0, "alive"), report
    code, report = diag("lag-report", "--command-config", str(config), "--timeout", "20s")
    assert (code, report["sources"][0]["state"]) == (0, "ok"), report


def test_a_client_without_one_is_named(strict: KafkaCluster, files: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text(f"security.protocol=SSL\n{files['no certificate']}")
    _, report = diag("broker-health", "-b", strict.bootstrap, "--command-config", str(config), "--timeout", "10s")
    (entry,) = report["facts"]["bootstrap_servers"]
    assert entry["state"] == "tls"
    assert "the broker requires a client certificate" in entry["why"]
    _, report = diag("broker-health", "-b", strict.bootstrap, "--timeout", "10s")
    (entry,) = report["facts"]["bootstrap_servers"]
    assert (entry["state"], "security.protocol=SSL" in entry["why"]) == ("tls", True)


def test_a_broker_that_is_full_for_this_host_is_named(strict: KafkaCluster) -> None:
    member = strict.members[1]
    with contextlib.ExitStack() as held:
        for _ in range(CONNECTIONS + 2):
            connection = held.enter_context(socket.socket())
            connection.connect((member.host, member.port))

        def full() -> bool:
            _, report = diag("broker-health", "-b", strict.bootstrap, "--timeout", "10s")
            (entry,) = report["facts"]["bootstrap_servers"]
            return entry["state"] == "closed" and "max.connections.per.ip" in entry["why"]

        wait_until(full, "the broker to count the connections", patience_seconds=30)
