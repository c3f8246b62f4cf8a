"""Mechanisms that words show (`analyzers/causal/asks.toml`): which one, what the words name, and what other lines may explain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzers.causal.asks import _table, asks_of, facts_of, name_in
from analyzers.causal.words import Said
from analyzers.components.programs import program_of
from analyzers.diagnosis.asking import because_of_beside, by_mechanism
from analyzers.report.finding import Quote
from analyzers.report.report import Verdict

SAID = {
    "Backlog quota exceeded for topic [persistent://acme/scan/events]. Applying [consumer_backlog_eviction] policy": "unread-evicted",
    "Discarding oversized payload sent to Actor[x]. Max allowed size 10485760 bytes, actual size was 11964080 bytes.": "oversized",
    "client intended to send too large body: 12401171 bytes": "oversized",
    "Provided list of item keys contains duplicates": "twice-in-one",
    "Incorrect string value: '\\xF0\\x9F' for column 'note' at row 1": "characters",
    "Timestamp 1794589331729 of message with offset 0 is out of range.": "timestamp",
    "cgroup: fork rejected by pids controller in /kubepods/pod1": "threads",
    "Limit of total fields [1000] has been exceeded while adding new fields [3]": "limit",
    "Cannot create file. Name node is in safe mode. Resources are low on NN.": "no-room",
    "EXECABORT Transaction discarded because of previous errors.": "aborted-before",
    "Provided Schema does not match Table a.b. Field c has changed mode from NULLABLE to REQUIRED": "schema",
    "Skipping committing checkpoint 2001. 2148 is already committed.": "same-again",
    "Block with ID all_1_2 already exists locally as part all_9_9_0; ignoring it.": "same-again",
    "Login failed for user 'CORP\\svc'. Reason: The password of the account has expired.": "password-expired",
    "PKIX path validation failed: validity check failed, NotAfter: Mon Nov 02": "certificate",
    "No subject alternative DNS name matching kafka-1 found.": "certificate-name",
    "chronyd: Can't synchronise: system time is 372 s slow; clock skew detected": "clock",
    "token (HDFS_DELEGATION_TOKEN token 41 for svc) can't be found in cache": "token",
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi": "thrown-away",
    "Memory cgroup out of memory: Killed process 4411 (java)": "killed-for-memory",
    "blk_update_request: critical medium error, dev nvme1n1, sector 3": "device",
    "GC(412) Pause Full (G1 Compaction Pause) 12288M->11630M(12288M) 11234.5ms": "pause",
    "pid 20117 | idle in transaction | update stock_level": "lock",
    "java.io.IOException: Too many open files": "open-files",
    "delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms": "unacknowledged",
    "etcdserver: slow fdatasync took 3.1s": "slow-disk",
    "Rule tmp-cleanup: lifecycle expired and deleted 4102 objects": "deleted",
    "Ignoring compaction request because compaction is disabled": "switched-off",
    "/lib64/libc.so.6: version `GLIBC_2.28' not found": "native-library",
    "/tmp/libzstd-jni-1.so: failed to map segment from shared object: Operation not permitted": "noexec",
    "No backend alive.": "nobody-alive",
    'invalidating obsolete replication slot "dbz" because its LSN exceeds the limit': "slot",
    "server promoted to leader: received promote request": "failover",
    "ProvisionedThroughputExceededException: The level of configured throughput was exceeded": "capacity",
    "Connection pool is full, discarding connection: risk-model.ml.svc": "no-permits",
    "Distributing maxAllowedWatermark=-9223372036854745808 of group=pay to subTaskIds=[0, 1]": "watermark",
    "Skipping record due to null key or value. topic=[a] partition=[1] offset=[3]": "skipped",
    "[parent] Data too large, data for [<http_request>] would be [4165208166/3.8gb], real usage: [4164115456/3.8gb]": "heap-breaker",
    "The bucket is in this region: eu-central-1. Please use this region to retry the request": "elsewhere",
    "Input record ConsumerRecord(CreateTime = -1) has invalid (negative) timestamp.": "no-timestamp",
    "Too many parts (301). Merges are processing significantly slower than inserts.": "small-writes",
    "BufferError: Local: Queue full": "producer-queue",
    "Fetch position is out of range for partition a-0, resetting offset": "reset-by-policy",
    "Unsupported callback type:software.amazon.msk.auth.iam.internals.AWSCredentialsCallback": "loaded-twice",
    "class com.acme.Order cannot be cast to class com.acme.Order (unnamed module of loader 'app')": "loaded-twice",
    "Data row is smaller than a column index, internal schema representation is probably out of sync": "schema-history",
    "A slave with the same server_uuid/server_id as this slave has connected to the master": "same-identity",
    "The state directory is already held by another process (pid 2211)": "same-identity",
    "clientid: bridge-1, msg: terminate, peername: 10.0.0.1:51000, reason: {shutdown,takenover}": "same-identity",
    "1795183336: Client bridge-1 already connected, closing old connection.": "same-identity",
    "TypeError: code expected at most 16 arguments, got 18": "other-python",
    "ValueError: unsupported pickle protocol: 5": "other-python",
    "billing.events holds the same records several times": "copies",
    "Received fatal alert: handshake_failure: no cipher suites in common": "tls-version",
    "java.net.BindException: Address already in use (Bind failed)": "port-in-use",
    "FileNotFoundException: /tmp/staging/3f9c/job.jar (No such file or directory)": "own-disk",
    "current running txns on db 21043 is 1000, larger than limit 1000": "limit",
    "MQRC_SYNCPOINT_LIMIT_REACHED": "limit",
    " 212684 | __debezium_unavailable_value | 2026-11-23 06:58:31": "placeholder",
    "TopologyException: Following topics do not have the same number of partitions: [a, b]": "partitioner",
    "SaslAuthenticationException: [5bc8]: Too many connects": "capacity",
}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("A quota of the brokers throttles group recs", "Quota configs for the default user-principal are consumer_byte_rate=2097152.0"),
        ("RecordTooLargeException: The message is 2097164 bytes, larger than max.request.size", "message.max.bytes=1048588"),
        ("MQRC_SYNCPOINT_LIMIT_REACHED", "   MAXUMSGS(10000)"),
    ],
)
def test_a_setting_rules_a_mechanism(words: str, line: str) -> None:
    asks = asks_of(words)
    assert asks is not None
    assert asks.is_ruled_by(line)
    assert not asks.is_ruled_by("10:40:19 rgupta kafka-consumer-groups.sh --describe --group recs")


@pytest.mark.parametrize("words", SAID)
def test_words_show_a_mechanism(words: str) -> None:
    asks = asks_of(words)
    assert asks is not None
    assert (asks.mechanism, asks.specific) == (SAID[words], True)


def test_each_mechanism_is_tried() -> None:
    assert {asks.mechanism for asks in _table()[0]} == set(SAID.values())


@pytest.mark.parametrize(
    "words",
    [
        "Completed checkpoint 12 for job 0 (1024 bytes, checkpointDuration=12 ms).",
        "Resetting the in-memory buffer to its default size",
        "Connection refused: kafka-1/10.0.0.1:9092",
        "Timeout expired while fetching topic metadata",
        "Source: orders (1/4) switched from RUNNING to FAILED.",
        "DynamoDB console: no throttling, latency normal.",
    ],
)
def test_others_show_none(words: str) -> None:
    asks = asks_of(words)
    assert asks is None or not asks.specific


def test_what_words_name() -> None:
    assert name_in("Login failed for user 'CORP\\svc_sqlagent'. Reason: expired") == "CORP\\svc_sqlagent"
    assert name_in('{"errorMsg": "no", "table": "dwd.orders"}') == "no"
    assert facts_of("Max allowed size 10485760 bytes, actual size was 1", file="a/tm.log")["limit"] == "10485760 bytes"
    assert facts_of("x", file="dir/a.tgz!tm.log")["host"] == "the process of tm.log"


def _verdict(beside: tuple[Quote, ...], missing: str | None) -> Verdict:
    return Verdict(
        "barrier-unacknowledged", None, "CKP101", None, None, None, {}, "6 checkpoints expired.", "Look.", 0.9, (), (),
        missing=missing, headline="6 checkpoints expired.", steps=("Look.",), beside=beside,
    )  # fmt: skip


def test_a_line_beside_explains_what_the_words_do_not() -> None:
    own = Said("Checkpoint expired before completing.", "CheckpointException", 3)
    said = "Discarding oversized payload sent to Actor[x]. Max allowed size 10485760 bytes, actual size was 11964080 bytes."
    told = because_of_beside(_verdict((Quote(said, None, "tm.log", 7),), "which subtask"), own, program_of({}), vague=True)
    assert (
        told.headline == "6 checkpoints expired; probably because the process of tm.log takes nothing of that size (limit: 10485760 bytes)."
    )
    assert (told.certainty, told.missing, told.words[0].words) == ("inferred", None, said)
    assert (len(told.steps), "Look." in told.steps) == (2, False)


@pytest.mark.parametrize("said", ["Offset commit failed with a retriable exception.", "Could not find checkpointing statistics for 169."])
def test_a_line_that_only_names_a_common_kind_explains_nothing(said: str) -> None:
    verdict = _verdict((Quote(said, "RetriableCommitFailedException", "tm.log", 7),), "which broker")
    own = Said("Timeout expired while fetching topic metadata", "TimeoutException", 3)
    assert because_of_beside(verdict, own, program_of({}), vague=True) == verdict


def test_words_that_show_a_mechanism_need_no_other_line() -> None:
    own = Said("/var/x.sst: too many open files", "IOException", 3)
    verdict = _verdict((Quote("token 41 can't be found in cache", None, "tm.log", 7),), None)
    assert because_of_beside(verdict, own, program_of({}), vague=False) == verdict


def test_own_words_that_the_page_says_nothing_of_give_the_steps() -> None:
    said = Said("While open a file for appending: /var/lib/x.sst: Too many open files", "RocksDBException", 3)
    told = by_mechanism(_verdict((), None), said, program_of({}))
    assert told.headline == "6 checkpoints expired: it may open no more files."
    assert "LimitNOFILE" in " ".join(told.steps)
    about = replace(_verdict((), None), steps=("Raise the limit of open files.",))
    assert by_mechanism(about, said, program_of({})) == about


def test_a_loss_explains_no_other_failure() -> None:
    own = Said("Timeout expired while fetching topic metadata", "TimeoutException", 3)
    verdict = _verdict((Quote("Skipping record due to null key", None, "tm.log", 7),), "which broker")
    assert because_of_beside(verdict, own, program_of({}), vague=True) == verdict


@pytest.mark.parametrize(
    "words",
    [
        "no incompatible schema was found",  # denied just before, also where a mechanism has words that exclude it
        "Service 'SparkUI' could not bind on port 4040. Attempting port 4041.",
        "cleanup.policy -> delete, retention.ms -> 604800000",
        "The mbean of App info already exists, so skipping a new mbean creation.",
    ],
)
def test_words_that_are_denied_or_excluded_show_none(words: str) -> None:
    asks = asks_of(words)
    assert asks is None or not asks.specific
