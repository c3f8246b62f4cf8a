"""A real broker behind TLS and a login: the right one gets in, every wrong one is told what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.lab.kafka import KafkaCluster
from tests.live.conftest import KafkaStarter
from tests.live.test_kafka_live import diag

TLS = Path(__file__).parent.parent / "data" / "tls"


@pytest.fixture(scope="module")
def guarded(kafka_cluster: KafkaStarter, tmp_path_factory: pytest.TempPathFactory) -> KafkaCluster:
    """One broker whose only listener is SASL_SSL with PLAIN, user ``doctor``, password ``right``."""
    store = tmp_path_factory.mktemp("tls") / "store.pem"
    store.write_bytes((TLS / "key.pem").read_bytes() + (TLS / "certificate.pem").read_bytes())
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="doctor" password="right" user_doctor="right";'
    return kafka_cluster(
        brokers=1,
        **{
            "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",  # the name stays, the protocol changes
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.plaintext.plain.sasl.jaas.config": login,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(TLS / "certificate.pem"),
        },
    )


RIGHT = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="doctor" password="right";',
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(TLS / "certificate.pem"),
}


def written(path: Path, properties: dict[str, str]) -> str:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return str(path)


def test_the_right_login_sees_everything(guarded: KafkaCluster, tmp_path: Path) -> None:
    config = written(tmp_path / "client.properties", RIGHT | {"bootstrap.servers": guarded.bootstrap})
    code, report = diag("broker-health", "--command-config", config)
    assert code == 0
    (entry,) = report["facts"]["bootstrap_servers"]
    assert (entry["state"], entry["broker"]) == ("alive", 1)
    assert entry["tls_days_left"] > 36000
    code, report = diag("lag-report", "--command-config", config)
    assert code == 0
    assert report["facts"]["groups"] == []


@pytest.mark.parametrize(
    ("change", "state", "says"),
    [
        ({"sasl.jaas.config": RIGHT["sasl.jaas.config"].replace("right", "wrong")}, "auth", "refused"),
        ({"sasl.mechanism": "SCRAM-SHA-512"}, "auth", "offers PLAIN"),
        ({"ssl.truststore.location": "", "ssl.truststore.type": ""}, "tls", "self-signed"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "tls", "security.protocol=SASL_SSL"),
        ({"security.protocol": "PLAINTEXT"}, "tls", "speaks TLS"),
        ({"security.protocol": "SSL"}, "auth", "wants a login"),
    ],
    ids=["password", "mechanism", "trust", "no-tls", "nothing", "no-login"],
)
def test_a_wrong_setting_is_named(guarded: KafkaCluster, tmp_path: Path, change: dict[str, str], state: str, says: str) -> None:
    config = written(tmp_path / "client.properties", RIGHT | change)
    code, report = diag("broker-health", "-b", guarded.bootstrap, "--command-config", config, "--timeout", "5s")
    assert code == 1
    (entry,) = report["facts"]["bootstrap_servers"]
    assert entry["state"] == state
    assert says in entry["why"]
