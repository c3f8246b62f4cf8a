"""No secret survives in whatever spelling, no innocent line changes, and no text takes long.

Before there was one scrubber, 209 of the 374 plain spellings survived; at its first run 16; of a second attack's 54 it left 26.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from analyzers.bundle import read_bundle, write_bundle
from analyzers.report.finding import Evidence, Finding, Severity
from analyzers.report.report import Report, Source
from analyzers.secrets import HIDDEN, scrub
from analyzers.tables import TABLES, Row
from cli.shell.environment import Environment
from cli.shell.output import FORMATS, emit

FIXTURES = Path(__file__).parents[2] / "fixtures"
MOST_SECONDS = 12.0
"""For a line of a megabyte, on a busy host; what looks at a character twice as often for each that stands before it takes hours."""


def _spellings() -> ModuleType:
    name = "spellings_of_secrets"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("spellings.py"))
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SPELT = _spellings()
PLAIN = [one for one in SPELT.spellings() if not one.kind.startswith("limits")]


def event(text: str, **values: Any) -> Row:
    return TABLES["log_events"].row({"scope": "", "signature": "x", "text": text, **values})


def test_there_are_enough_spellings() -> None:
    assert len(PLAIN) >= 300
    assert len({one.kind for one in PLAIN}) >= 10


def test_no_plain_spelling_survives() -> None:
    assert [(one.text, scrub(one.text), left) for one, left in SPELT.survived(scrub) if one in PLAIN] == []


def test_no_plain_spelling_survives_between_the_lines_of_a_stack() -> None:
    frames = "\tat org.shop.KeyedPass$2.process(KeyedPass.java:12)\n\tat java.lang.Thread.run(Thread.java:840) ~[?:?]\n"

    def among_frames(text: str) -> str:
        return scrub(f"{frames}{text}\n{frames}")

    assert [(one.text, left) for one, left in SPELT.survived(among_frames) if one in PLAIN] == []


def test_scrubbing_twice_changes_nothing_more() -> None:
    assert [one.text for one in PLAIN if scrub(scrub(one.text)) != scrub(one.text)] == []


@pytest.mark.parametrize("redact", [True, False])
def test_no_plain_spelling_survives_in_a_bundle(tmp_path: Path, redact: bool) -> None:
    """Neither in its tables nor in the raw files that it takes over."""
    place = tmp_path / "b"
    write_bundle(place, {"sources": []}, version="1", redact=redact, key_store=tmp_path / "keys")
    (place / "raw").mkdir()
    whole = "\n\n".join(one.text for one in PLAIN)
    (place / "raw" / "jm.log").write_text(whole, encoding="utf-8")
    rows = [event(one.text, detail={"said": one.text}) for one in PLAIN]
    write_bundle(place, {"log_events": rows}, version="1", redact=redact, key_store=tmp_path / "keys")
    for one, row in zip(PLAIN, read_bundle(place).tables["log_events"], strict=True):
        assert one.survivors(row["text"]) == []
        assert one.survivors(row["detail"]["said"]) == []
    raw = (place / "raw" / "jm.log").read_text(encoding="utf-8")
    assert raw.count("\n") > len(PLAIN)
    assert [s for one in PLAIN for s in one.secrets if len(s) > 8 and s in raw and whole.count(s) == 1] == []


def test_what_cannot_be_cleaned_stays_out_of_a_bundle(tmp_path: Path) -> None:
    place = tmp_path / "b"
    write_bundle(place, {"sources": []}, version="1", key_store=tmp_path / "keys")
    (place / "raw").mkdir()
    (place / "raw" / "jm.log.gz").write_bytes(gzip.compress(b"password=hunter2"))
    (place / "raw" / "_metadata").write_bytes(b"\x49\x60\x72\xd3\0\0\0\x04hunter2")
    assert write_bundle(place, {"sources": []}, version="1", key_store=tmp_path / "keys").left_out == ("_metadata", "jm.log.gz")
    assert not (place / "raw").exists()


@pytest.mark.parametrize("form", FORMATS)
def test_no_plain_spelling_survives_in_a_report(form: str, tmp_path: Path) -> None:
    for begin in range(0, len(PLAIN), 40):
        some = PLAIN[begin : begin + 40]
        place = tmp_path / f"{begin}.{form}"
        emit(_report([one.text for one in some]), [f"{form}={place}"], "never", Environment(_Nowhere(), _Nowhere(), verbosity=-1))
        text = place.read_text(encoding="utf-8")
        assert text
        assert [s for one in some for s in one.secrets if len(s) > 8 and s in text and "\n" not in s] == []


def test_settings_that_are_named_beside_their_value_are_hidden(tmp_path: Path) -> None:
    rows = [TABLES["job_config"].row({"scope": "", "key": k, "value": v}) for k, v in (("s3.secret-key", "abc"), ("parallelism", "4"))]
    write_bundle(tmp_path / "b", {"job_config": rows}, version="1", redact=False)
    assert [row["value"] for row in read_bundle(tmp_path / "b").tables["job_config"]] == [HIDDEN, "4"]


def _lines() -> Iterator[tuple[Path, str]]:
    for place in sorted(FIXTURES.rglob("*")):
        if place.is_file() and place.suffix in (".log", ".jsonl", ".out", ".txt", ".json", ".properties") and place.name != "label.json":
            try:
                text = place.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            yield from ((place, line) for line in text.splitlines())


_HIDDEN = frozenset({"vault-audit-and-server.log", "catalog.txt"})
"""Files whose lines call an object ``secret``, or hold tokens that were cut short: all of it is hidden, be it a secret or not."""


def test_innocent_lines_stay_as_they_are() -> None:
    """250,000 lines of recorded incidents, in which nobody wrote a secret."""
    lines = 0
    changed = []
    for place, line in _lines():
        lines += 1
        if scrub(line) != line and place.name not in _HIDDEN:
            changed.append((str(place), line))
    assert lines > 100_000
    assert changed == []


INNOCENT = (
    "nothing could be read of /etc/passwd: it holds no log",
    "Unrecognized token 'abc': was expecting (JSON String, Number, Array, Object or token 'null', 'true')",
    "Fencing token mismatch: ignoring LocalFencedMessage(b7e9c4d1f0a2, x) because the fencing token b7e9c4d1f0a2 did not match",
    "Starting DefaultLeaderElectionService with fencing token: b7e9c4d1f0a2b7e9c4d1f0a2b7e9c4d1",
    'secret "flink-tls" not found',
    'MountVolume.SetUp failed for volume "certs" : secret "orders-tls" not found',
    'FATAL: password authentication failed for user "orders"',
    "Invalid username or password",
    "sasl.jaas.config = [hidden]",
    "ssl.keystore.password = null",
    "spark.redaction.regex  (?i)secret|password|token|access[.]?key",
    "key.deserializer = class org.apache.kafka.common.serialization.StringDeserializer",
    "ConsumerRecord(topic = orders, partition = 3, leaderEpoch = 4, offset = 12, CreateTime = 1, serialized key size = 5, key = k1)",
    "sasl.login.refresh.window.factor = 0.8",
    "delegation.token.expiry.time.ms = 86400000",
    "security.delegation.tokens.renewal.retry.backoff: 1 h",
    "basic.auth.credentials.source = USER_INFO",
    "ssl.keystore.location = /etc/kafka/secrets/kafka.keystore.jks",
    "akka.tcp://flink@jm-1:6123/user/rpc/jobmanager_2",
    "pekko.ssl.tcp://flink@10.0.0.1:6122/user/rpc/taskmanager_0",
    "https://registry.npmjs.org:8080/@scope/package@1.2.3",
    "located at s3://lake/checkpoints/f83dbb7e04f400ccfd1258d03b96d7ad/chk-4.",
    "com.google.auth:google-auth-library-oauth2-http:1.28.0",
    "at com.acme.auth.TokenFilter.doFilter(TokenFilter.java:33)",
    "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed due to invalid credentials",
    "java.io.IOException: keystore password was incorrect",
    "Failed to load SSL keystore: keystore password was incorrect",
    "max_tokens: 4000, tokens=17",
    "kafka.network.InvalidRequestException: Error getting request for apiKey: 11 and apiVersion: 5",
    "token: 3",
    "signature=checkpoint-expired",
    "PWD=/opt/flink",
    "hadoop.security.authorization = true",
    "compass=north, bypass=17, passed: 3, passes=2",
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider: No AWS credentials in the Hadoop configuration",
    "fs.s3a.aws.credentials.provider = org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    "Kind: HDFS_DELEGATION_TOKEN, Service: ha-hdfs:ns1, Ident: (token for flink: HDFS_DELEGATION_TOKEN owner=flink@ACME, renewer=yarn)",
    "client.id = orders-1, sessionid = 0x100000a1b2c0001",
    "primary key = (id), row key: 17, partition key=abc",
    "password=${DB_PASSWORD} --password $DB_PASSWORD",
    "Authorization: required",
    "user bob@acme.com wrote to topic a@b",
    "2026-11-21T09:35:19.130Z [main] INFO o.a.f.c.GlobalConfiguration - Loading configuration property: s3.secret-key, ******",
)


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert scrub(text) == text


REPEATED = (
    "password=", "password=,",
    'password="', '"password":"', "password='x' ", "password:\n  ", "a@b ", "://a:b@c ", "x://a:b@c,", "token ",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "eyJaaaaaaaa.", "Bearer aaaaaaaaaaaa", "secret -> (", "<password>",
    "<password ", "password\\\"", "curl -u a:b ", "mysql ", "pass|", 'value="x" name="', "AKIA", "a,b=", "password=a,b;c)d ", "password",
    "sasl.jaas.config=", 'sasl.jaas.config="a" ', "cookie: a; ", "'' password='", "passwords:\n - a\n", "password: |\n  a\n",
    " ", "=", "A", "/",    "password\tx\n", "password=\\\n", "jdbc:oracle:thin:a/b", "https://a:b/c@", "&lt;password&gt;",
    "password" + " " * 40, "name: password\n",
)  # fmt: skip

LONGEST = ("password=", '"password":"', "password=a,b;c)d ", "x://a:b@c,", "-----BEGIN PRIVATE KEY-----", " ", "A")


@pytest.mark.parametrize("unit", REPEATED, ids=range(len(REPEATED)))
def test_a_long_line_takes_no_time(unit: str) -> None:
    size = 1 << (20 if unit in LONGEST else 17)
    text = unit * (size // len(unit))
    began = time.process_time()
    scrub(text)
    assert time.process_time() - began < MOST_SECONDS


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None: ...


def _report(texts: list[str]) -> Report:
    evidence = tuple(Evidence("log_events", "jm.log", n, None, text) for n, text in enumerate(texts, 1))
    findings = [
        Finding(
            "BRK101", "other", "x", "failure", Severity.CRITICAL, 1.0, "job", {"host": text}, None, None, text, text, text,
            evidence[n : n + 1], "BRK101",
            headline=text, steps=(text,), missing=text,
        )
        for n, text in enumerate(texts)
    ]  # fmt: skip
    facts = {"log_events": [event(text) for text in texts]}
    return Report(
        "diag", "1", "triage", None, (None, None), [Source("s", "logs", "failed", text) for text in texts], findings=findings, facts=facts,
        notes=texts, looked_at=texts[0],
    )  # fmt: skip


def test_json_stays_json(tmp_path: Path) -> None:
    emit(
        _report([one.text for one in PLAIN[:50]]),
        [f"json={tmp_path / 'r.json'}"],
        "never",
        Environment(_Nowhere(), _Nowhere(), verbosity=-1),
    )
    assert json.loads((tmp_path / "r.json").read_text())["findings"]
