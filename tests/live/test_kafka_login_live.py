"""A real broker behind TLS and a login: the right one gets in, every wrong one is told what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import admin as kafka_admin

from fixtures.lab.kafka import KafkaCluster
from tests.live.conftest import KafkaStarter
from tests.live.test_kafka_live import diag

OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
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
            "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER,SCRAM-SHA-512",
            "listener.name.plaintext.oauthbearer.sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="broker";',
            "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
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


def test_the_other_logins_are_spoken(guarded: KafkaCluster, tmp_path: Path) -> None:
    admin: Any = kafka_admin.AdminClient(
        {
            "bootstrap.servers": guarded.bootstrap, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "doctor",
            "sasl.password": "right", "ssl.ca.location": str(TLS / "certificate.pem"),
        }
    )  # fmt: skip
    names: Any = kafka_admin  # its stubs do not export them
    iterated = names.ScramCredentialInfo(names.ScramMechanism.SCRAM_SHA_512, 4096)
    for done in admin.alter_user_scram_credentials([names.UserScramCredentialUpsertion("nurse", iterated, b"mild")]).values():
        done.result(timeout=30)
    tokens = {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f'{OAUTH} unsecuredLoginStringClaim_sub="doctor";'}
    salted = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": f'{SCRAM} username="nurse" password="mild";'}
    for change in (tokens, salted):
        config = written(tmp_path / "client.properties", RIGHT | change)
        code, report = diag("broker-health", "-b", guarded.bootstrap, "--command-config", config, "--timeout", "8s")
        (entry,) = report["facts"]["bootstrap_servers"]
        assert (code, entry["state"], entry["broker"]) == (0, "alive", 1), entry["why"]
        code, report = diag("lag-report", "-b", guarded.bootstrap, "--command-config", config, "--timeout", "8s")
        assert (code, report["sources"][0]["state"]) == (0, "ok"), report


@pytest.mark.parametrize(
    ("change", "state", "says"),
    [
        ({"sasl.jaas.config": RIGHT["sasl.jaas.config"].replace("right", "wrong")}, "auth", "refused"),
        ({"sasl.mechanism": "SCRAM-SHA-256"}, "auth", "which offers"),
        ({"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH};"}, "auth", "no token for OAUTHBEARER"),
        ({"ssl.truststore.location": "", "ssl.truststore.type": ""}, "tls", "self-signed"),
        ({"security.protocol": "SASL_PLAINTEXT"}, "tls", "security.protocol=SASL_SSL"),
        ({"security.protocol": "PLAINTEXT"}, "tls", "speaks TLS"),
        ({"security.protocol": "SSL"}, "auth", "wants a login"),
    ],
    ids=["password", "mechanism", "token", "trust", "no-tls", "nothing", "no-login"],
)
def test_a_wrong_setting_is_named(guarded: KafkaCluster, tmp_path: Path, change: dict[str, str], state: str, says: str) -> None:
    config = written(tmp_path / "client.properties", RIGHT | change)
    code, report = diag("broker-health", "-b", guarded.bootstrap, "--command-config", config, "--timeout", "5s")
    assert code == 1
    (entry,) = report["facts"]["bootstrap_servers"]
    assert entry["state"] == state
    assert says in entry["why"]
