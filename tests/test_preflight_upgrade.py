"""`diag preflight upgrade`: what is documented, what is answered from it, and how a run ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.derived.planned.upgrade.facts import Facts, facts, spoken
from analyzers.derived.planned.upgrade.questions import upgrade_answers, upgrade_row
from analyzers.tables import JOB_CONFIG, LOG_EVENTS, LOG_FILES, PROCESS_ENVIRONMENTS, SPLITS, Row
from cli.collectors.flink_settings import settings_of_file
from cli.runs.preflight_upgrade import target
from cli.shell.exits import UsageError
from tests.command_line import diag

FIXTURES = Path(__file__).parent.parent / "fixtures"
SAVEPOINT = FIXTURES / "checkpoints" / "recorded" / "lab-restore" / "savepoint-d4d858-0598a407de3b"

# the facts ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known() -> Facts:
    return facts()


ENTRIES = [*facts().removed, *facts().values, *facts().classes]


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name or entry.keys[0] for entry in ENTRIES])
def test_each_fact_names_its_source_and_what_to_do(entry: Any, known: Facts) -> None:
    assert known.sources[entry.source]
    assert entry.since in known.releases
    assert 0 < len(entry.instead.split()) <= 30  # a step of a finding
    assert entry.keys or entry.shown


def test_each_source_is_used(known: Facts) -> None:
    used = {entry.source for entry in ENTRIES} | {each.source for each in known.connectors.values()} | {"connector rules"}
    used |= {fact["source"] for fact in (known.java, known.kafka, known.file)}
    assert used == set(known.sources)


def test_no_setting_is_removed_twice_and_none_is_still_read(known: Facts) -> None:
    keys = [key for entry in known.removed for key in entry.keys]
    assert len(keys) == len(set(keys))
    for entry in known.removed:
        if entry.since == known.releases[0]:
            assert not [key for key in entry.keys if key in known.options], entry


def test_old_names_lead_to_options_of_the_same_release(known: Facts) -> None:
    lost = [key for key, option in known.options.items() if option.proper and option.proper not in known.options]
    assert not lost
    assert (known.options["akka.ask.timeout"].proper, known.options["state.backend"].proper) == ("pekko.ask.timeout", "state.backend.type")


def test_what_is_to_be_set_in_place_of_a_removed_option_is_one(known: Facts) -> None:
    """Words of advice that look like options are options."""
    for entry in known.removed:
        for word in entry.instead.replace(",", " ").replace(";", " ").replace("(", " ").replace(":", " ").split():
            key = word.rstrip(".")
            if key.count(".") >= 2 and key.islower() and "…" not in key:
                assert key in known.options, entry


def test_the_options_are_those_of_the_releases(known: Facts) -> None:
    """Some that each release has, and some that came later."""
    assert len(known.options) > 1_000
    for key, since in {
        "taskmanager.load-balance.mode": (2, 0),
        "events.reporters": (2, 1),
        "application-result-store.storage-path": (2, 3),
    }.items():
        assert known.options[key].since == since
        assert [spoken(each) for each in known.releases if known.option(key, each)] == [
            spoken(each) for each in known.releases if each >= since
        ]


# the answers --------------------------------------------------------------------------------------------------------------


def _set(source: str = "file", **settings: str) -> list[Row]:
    origin = {"file": "config.yaml", "cluster": "http://jm:8081", "deployment": "orders.yaml"}[source]
    return [
        JOB_CONFIG.row({"scope": "", "source": source, "key": key.replace("__", "-").replace("_", "."), "value": value, "origin": origin})
        for key, value in settings.items()
    ]


def _event(signature: str, role: str = "jobmanager", **more: Any) -> Row:
    return LOG_EVENTS.row({"scope": "", "signature": signature, "file": f"{role}.log", "role": role, "line": 1, "text": "", **more})


def _answers(to: str = "2.3", from_version: str | None = "1.20.5", **tables: list[Row]) -> dict[str, tuple[str, str, str | None]]:
    """Answer, sentence and what to do, by question; the worst where there are several."""
    rows = upgrade_answers({**tables, "planned_changes": [upgrade_row(to, from_version=from_version)]})
    return {row["question"]: (row["answer"], row["says"], row["todo"]) for row in reversed(rows)}


@pytest.mark.parametrize(
    ("settings", "question", "answer", "words"),
    [
        ({"security_ssl_enabled": "true"}, "removed-settings", "breaks", "security.ssl.enabled is set"),
        ({"security_ssl_enabled": "false"}, "old-settings", "goes", "false is what holds without it"),
        ({"cluster_evenly__spread__out__slots": "true"}, "removed-settings", "breaks", "without an error"),
        ({"jobmanager_heap_size": "1g"}, "removed-settings", "breaks", "jobmanager.heap.size"),
        ({"jobmanager_heap_size": "1g", "jobmanager_memory_process_size": "1600m"}, "old-settings", "goes", "is set in its place"),
        ({"web_backpressure_num__samples": "50"}, "old-settings", "goes", "did not use it any more"),
        ({"metrics_reporter_prom_class": "x.PrometheusReporter"}, "old-settings", "goes", "did not use it"),
        ({"metrics_reporter_prom_port": "9249"}, "settings", "goes", "reads 1 of 1 setting"),
        ({"metrics_reporter_prom_factory_class": "x.PrometheusReporterFactory"}, "settings", "goes", "reads 1 of 1 setting"),
        ({"state_backend": "rocksdb"}, "old-settings", "goes", "state.backend is state.backend.type"),
        ({"state_backend": "filesystem"}, "setting-values", "breaks", "state.backend is filesystem in config.yaml"),
        ({"state_backend_type": "hashmap"}, "settings", "goes", "reads 1 of 1 setting"),
        ({"execution_target": "yarn-per-job"}, "setting-values", "breaks", "yarn-per-job"),
        ({"parallelism_defualt": "4"}, "other-settings", "unknown", "parallelism.defualt"),
        ({"kubernetes_operator_savepoint_history_max_age": "1h"}, "settings", "goes", ""),
    ],
)
def test_settings(settings: dict[str, str], question: str, answer: str, words: str) -> None:
    said = _answers(job_config=_set(**settings))[question]
    assert (said[0], words in said[1]) == (answer, True), said


def test_an_option_of_a_list_of_removed_ones_that_is_still_read_does_not_break() -> None:
    """Flink's list of 2.0 names state.backend.type, state.backend.local-recovery and web.port; 2.3.0 reads all of them."""
    settings = _set(state_backend_type="hashmap", state_backend_local__recovery="true", web_port="8081")
    said = _answers(job_config=settings)
    assert (said["settings"][0], "removed-settings" in said) == ("goes", False)


def test_an_option_is_removed_from_the_release_on_that_does_not_have_it() -> None:
    settings = _set(traces_report__events__as__spans="true")
    assert "removed-settings" not in _answers("2.1", job_config=settings)
    assert _answers("2.2", job_config=settings)["removed-settings"][0] == "breaks"


def test_an_option_of_a_later_release_is_none_of_this_one() -> None:
    settings = _set(events_reporters="otel")
    assert _answers("2.0", job_config=settings)["other-settings"][0] == "unknown"
    assert _answers("2.1", job_config=settings)["settings"][0] == "goes"


def test_of_logs_the_last_value_holds() -> None:
    lines = [
        _event("configuration-property", seq=seq, detail={"key": "state.backend", "value": value})
        for seq, value in ((1, "filesystem"), (2, "rocksdb"))
    ]
    assert "setting-values" not in _answers(log_events=lines)


def test_what_a_process_had_before_it_was_started_again_is_over() -> None:
    """Logs that were kept from before another upgrade."""
    lines = [
        _event("flink-banner", seq=1, detail={"version": "1.17.2"}),
        _event("flink-jvm", seq=2, detail={"java": "1.8"}),
        _event("configuration-property", seq=3, detail={"key": "security.ssl.enabled", "value": "true"}),
        _event("flink-banner", seq=4, detail={"version": "1.20.5"}),
        _event("flink-jvm", seq=5, detail={"java": "17"}),
        _event("configuration-property", seq=6, detail={"key": "parallelism.default", "value": "2"}),
    ]
    said = _answers(from_version=None, log_events=lines)
    assert (said["java"][0], said["settings"][0], "removed-settings" in said) == ("goes", "goes", False)
    assert "1.20.5" in said["release"][1]


def test_without_configuration_nothing_is_promised_of_it() -> None:
    said = _answers()
    assert said["settings"][:2] == ("unknown", "cannot be known without the configuration: none was found")
    assert "goes" not in {answer for question, (answer, _, _) in said.items() if question != "release"}


def test_a_selection_of_settings_is_not_all() -> None:
    """Bundles of triage have what rules judge of a JobManager's settings."""
    selected = [{**row, "origin": None} for row in _set("cluster", parallelism_default="2")]
    assert _answers(job_config=selected)["settings"][0] == "unknown"


@pytest.mark.parametrize(
    ("from_version", "to", "answer"),
    [
        ("1.20.5", "2.3", "goes"),
        ("2.3.0", "2.3", "goes"),
        ("2.3.0", "2.2", "breaks"),
        ("1.12.2", "2.3", "unknown"),
        (None, "2.3", "unknown"),
    ],
)
def test_the_releases(from_version: str | None, to: str, answer: str) -> None:
    said = _answers(to, from_version)
    assert said["release"][0] == answer
    assert ("java" in said) == (answer != "breaks")  # of a downgrade nothing else is said


@pytest.mark.parametrize(
    ("tables", "answer"),
    [
        ({"job_config": [{**row, "origin": "conf/flink-conf.yaml"} for row in _set(parallelism_default="2")]}, "breaks"),
        ({"job_config": _set(parallelism_default="2")}, "goes"),
        ({"job_config": _set("deployment", parallelism_default="2")}, "unknown"),
        ({"log_events": [_event("configuration-file", detail={"parser": "legacy", "path": "/opt/flink/conf/flink-conf.yaml"})]}, "breaks"),
        ({"log_events": [_event("configuration-file", detail={"parser": "standard", "path": "/opt/flink/conf/config.yaml"})]}, "goes"),
        ({}, "unknown"),
    ],
)
def test_the_file(tables: dict[str, list[Row]], answer: str) -> None:
    assert _answers(**tables)["configuration-file"][0] == answer


def test_flink_before_1_19_has_the_old_file_only_and_2_the_new_one() -> None:
    assert _answers(from_version="1.18.1")["configuration-file"][0] == "breaks"
    assert "configuration-file" not in _answers(from_version="2.0.1")
    deployed = _set("deployment", parallelism_default="2")
    assert _answers(from_version="1.18.1", job_config=deployed)["configuration-file"][0] == "unknown"  # the operator writes it


def _jars(*names: str) -> dict[str, list[Row]]:
    return {
        "process_environments": [PROCESS_ENVIRONMENTS.row({"scope": "", "source": "rest", "origin": "http://jm:8081", "jars": list(names)})]
    }


@pytest.mark.parametrize(
    ("jar", "to", "answer", "words"),
    [
        ("flink-connector-kafka-3.4.0-1.20.jar", "2.3", "breaks", "made for Flink 1.20"),
        ("flink-sql-connector-kafka-3.1.0-1.18.jar", "2.0", "breaks", "made for Flink 1.18"),
        ("flink-connector-kafka-1.16.3.jar", "2.3", "breaks", "made for Flink 1.16"),
        ("flink-connector-kafka_2.11-1.12.2.jar", "2.3", "breaks", "made for Flink 1.12"),
        ("flink-connector-elasticsearch7-3.1.0-1.20.jar", "2.0", "breaks", "made for Flink 1.20"),
        ("flink-connector-kafka-4.0.0-2.0.jar", "2.0", "goes", "made for Flink 2.0"),
        ("flink-connector-kafka-5.0.0-2.2.jar", "2.3", "goes", "jobs have been run"),
        ("flink-connector-kafka-4.0.0-2.0.jar", "2.3", "unknown", "not documented"),
        ("flink-connector-mongodb-2.0.0-1.20.jar", "2.3", "unknown", "not documented"),
        ("flink-connector-aws-kinesis-streams-5.1.0-1.20.jar", "2.3", "unknown", "not documented"),
    ],
)
def test_connectors(jar: str, to: str, answer: str, words: str) -> None:
    rows = upgrade_answers({**_jars(jar, "log4j-api-2.25.3.jar"), "planned_changes": [upgrade_row(to, from_version="1.20")]})
    said = [(row["answer"], row["says"]) for row in rows if row["question"] == "connectors" and jar in row["says"]]
    assert [each[0] for each in said] == [answer]
    assert words in said[0][1]


def test_connectors_that_come_with_flink_are_not_asked_about() -> None:
    assert _answers(**_jars("flink-connector-base-1.20.5.jar", "flink-connector-files-1.20.5.jar"))["connectors"][1] == (
        "cannot be known without the job's jars"
    )


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ("org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumerBase.run", "FlinkKafkaConsumer"),
        ("org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer.invoke", "FlinkKafkaProducer"),
        ("org.apache.flink.streaming.api.functions.sink.TwoPhaseCommitSinkFunction.snapshotState", "a sink on SinkFunction"),
        ("org.apache.flink.streaming.api.scala.DataStream.map", "the Scala API of DataStream"),
    ],
)
def test_classes_that_are_gone(frame: str, name: str) -> None:
    said = _answers(log_events=[_event("exception-logged", "taskmanager", frames=[frame])])["removed-classes"]
    assert (said[0], f"the job uses {name}" in said[1]) == ("breaks", True), said


def test_flinks_own_legacy_classes_are_not_meant() -> None:
    frame = "org.apache.flink.streaming.api.functions.sink.legacy.TwoPhaseCommitSinkFunction.snapshotState"
    assert _answers(log_events=[_event("exception-logged", frames=[frame])])["removed-classes"][0] == "unknown"


def test_the_state_of_a_legacy_source_shows_it() -> None:
    split = SPLITS.row({"scope": "", "path": "chk-7/_metadata", "connector": "kafka-legacy", "topic": "orders"})
    assert _answers(splits=[split])["removed-classes"][0] == "breaks"


@pytest.mark.parametrize(
    ("java", "answer"),
    [("1.8", "breaks"), ("8", "breaks"), ("11", "goes"), ("17", "goes"), ("21", "goes"), ("25", "unknown"), ("10", "breaks")],
)
def test_java(java: str, answer: str) -> None:
    assert _answers(log_events=[_event("flink-jvm", detail={"java": java})])["java"][0] == answer


@pytest.mark.parametrize(
    ("client", "broker", "answer"),
    [("3.4.0", None, "unknown"), ("3.4.0", "2.0.1", "breaks"), ("3.4.0", "2.8.2", "goes"), ("4.2.0", None, "goes"), (None, "2.0.1", None)],
)
def test_brokers(client: str | None, broker: str | None, answer: str | None) -> None:
    files = [
        LOG_FILES.row({"scope": "", "file": f"{role}.log", "role": role, "clients": [f"kafka-clients {version}"]})
        for role, version in (("taskmanager", client), ("kafka-broker", broker))
        if version
    ]
    assert _answers(log_files=files).get("kafka-brokers", (None,))[0] == answer


def test_each_cluster_of_the_logs_is_answered_by_itself() -> None:
    files = [LOG_FILES.row({"scope": scope, "file": f"{scope}/jm.log", "role": "jobmanager"}) for scope in ("a", "b")]
    lines = [{**_event("flink-jvm", detail={"java": java}), "scope": scope} for scope, java in (("a", "1.8"), ("b", "17"))]
    rows = upgrade_answers({"log_files": files, "log_events": lines, "planned_changes": [upgrade_row("2.3")]})
    assert {(row["scope"], row["answer"]) for row in rows if row["question"] == "java"} == {("a", "breaks"), ("b", "goes")}


# files --------------------------------------------------------------------------------------------------------------------

DEPLOYMENT = """\
apiVersion: v1
kind: List
items:
- apiVersion: flink.apache.org/v1beta1
  kind: FlinkDeployment
  spec:
    flinkVersion: v1_19
    flinkConfiguration:
      taskmanager.numberOfTaskSlots: "2"
      state:
        backend:
          type: rocksdb
    podTemplate:
      spec:
        containers:
        - name: flink-main-container
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: flink-config
data:
  flink-conf.yaml: |+
    parallelism.default: 2
    # security.ssl.enabled: true
    web.port: 8081
  log4j-console.properties: |+
    rootLogger.level = INFO
"""


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("flink-conf.yaml", "a.b: 1\n# c.d: 2\ne.f: x # y\n", {"a.b": "1", "e.f": "x"}),
        ("config.yaml", "a:\n  b: 1\n  c:\n    - d\n    - e\n  f: 'x'\ng.h: 2\n", {"a.b": "1", "a.f": "x", "g.h": "2"}),
        ("orders.yaml", DEPLOYMENT, {"taskmanager.numberOfTaskSlots": "2", "state.backend.type": "rocksdb"}),
        ("map.yaml", CONFIG_MAP, {"parallelism.default": "2", "web.port": "8081"}),
    ],
)
def test_files_with_settings(name: str, text: str, settings: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = settings_of_file(tmp_path / name).tables
    assert {row["key"]: row["value"] for row in found["job_config"]} == settings
    if name == "orders.yaml":
        assert [row["engine_version"] for row in found["process_environments"]] == ["1.19"]
    if name == "map.yaml":
        assert {row["origin"] for row in found["job_config"]} == {f"{tmp_path / name}!flink-conf.yaml"}


@pytest.mark.parametrize(
    ("image", "java"),
    [
        ("flink:1.18-java8", "8"),
        ("registry.acme.io/mirror/flink:1.18.1-scala_2.12-java11", "11"),
        ("acme/orders:1.18-java8", None),
        ("flink:1.18", None),
    ],
)
def test_the_official_image_names_its_java(image: str, java: str | None, tmp_path: Path) -> None:
    """A team's own image may be tagged as it likes."""
    deployed = DEPLOYMENT.replace("    flinkVersion:", f"    image: {image}\n    flinkVersion:", 1)
    (tmp_path / "orders.yaml").write_text(deployed, encoding="utf-8")
    found = settings_of_file(tmp_path / "orders.yaml").tables["process_environments"]
    assert [row["java"] for row in found if row["engine_version"] is None] == ([java] if java else [])


def test_a_secret_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "flink-conf.yaml").write_text("s3.secret-key: hunter2hunter2\nparallelism.default: 2\n")
    assert "hunter2hunter2" not in str(settings_of_file(tmp_path / "flink-conf.yaml").tables)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe binary", b"apiVersion: v1\nkind: Pod\n", b"no settings at all\n"])
def test_a_file_without_settings_is_wrong_usage(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "conf").write_bytes(content)
    with pytest.raises(UsageError):
        settings_of_file(tmp_path / "conf")


@pytest.mark.parametrize("line", ["this is no setting", "restart-strategy: {type: none}", "\tparallelism.default: 2"])
def test_lines_that_cannot_be_read_are_reported(line: str, tmp_path: Path) -> None:
    (tmp_path / "flink-conf.yaml").write_text(f"parallelism.default: 2\n{line}\n")
    _, said = _asked("--to", "2.3", "--conf", str(tmp_path / "flink-conf.yaml"))
    found = settings_of_file(tmp_path / "flink-conf.yaml").tables
    assert [(row["state"], row["why"]) for row in found["sources"]] == [("partial", "1 of its lines cannot be read as settings")]
    assert said["settings"]["answer"] == "unknown"


# the command --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["9.9", "1.20", "kafka-4.0", "spark-4.1", "", "two"])
def test_a_release_that_is_not_known_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError) as wrong:
        target(text)
    assert "2.0, 2.1, 2.2, 2.3" in wrong.value.hint


def test_nothing_named_is_wrong_usage() -> None:
    code, _, err = diag("preflight", "upgrade", "--to", "2.3")
    assert (code, "nothing of the job is named" in err) == (2, True)


def _asked(*arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    _, out, err = diag("preflight", "upgrade", *arguments, "--facts-only", "-o", "json")
    assert out, err
    report = json.loads(out)
    return report, {row["question"]: row for row in reversed(report["facts"]["preflight"])}


def test_a_jobmanager_that_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "jobs_overview.json").write_text('{"jobs": []}')
    (tmp_path / "overview.json").write_text(json.dumps({"flink-version": "1.20.5", "taskmanagers": 1}))
    config = [{"key": "cluster.evenly-spread-out-slots", "value": "true"}, {"key": "rest.port", "value": "8081"}]
    (tmp_path / "jobmanager_config.json").write_text(json.dumps(config))
    jvm = {"version": "OpenJDK 64-Bit Server VM - Eclipse Adoptium - 11/11.0.26+4", "arch": "amd64", "options": []}
    paths = ["/opt/flink/lib/flink-connector-jdbc-3.3.0-1.20.jar:/opt/flink/lib/flink-dist-1.20.5.jar"]
    (tmp_path / "jobmanager_environment.json").write_text(json.dumps({"jvm": jvm, "classpath": paths}))
    _, said = _asked("--to", "2.3", "--flink-rest", str(tmp_path))
    wanted = {
        "release": "goes",
        "removed-settings": "breaks",
        "settings": "goes",
        "java": "goes",
        "connectors": "breaks",
        "state": "unknown",
    }
    assert {question: said[question]["answer"] for question in wanted} == wanted


def test_a_jobmanager_that_does_not_answer_promises_nothing() -> None:
    arguments = ("--to", "2.3", "--flink-rest", "http://127.0.0.1:1", "--timeout", "2s")
    report, said = _asked(*arguments)
    assert diag("preflight", "upgrade", *arguments, "--facts-only")[0] == 3
    assert "goes" not in {row["answer"] for row in said.values()}
    assert [source["state"] for source in report["sources"]] == ["failed"]


def test_the_state_of_a_savepoint() -> None:
    assert _asked("--to", "2.3", "--from", "2.2", "--checkpoint", str(SAVEPOINT))[1]["state"]["answer"] == "goes"
    assert _asked("--to", "2.0", "--checkpoint", str(SAVEPOINT))[1]["state"]["answer"] == "breaks"


@pytest.mark.jvm
@pytest.mark.parametrize(("bundle", "code"), [("PRE103/quiet-played", 0), ("PRE103/fires-played", 1), ("PRE903/fires", 0)])
def test_what_breaks_makes_the_exit_code_1(bundle: str, code: int) -> None:
    ended, out, err = diag("preflight", "upgrade", "--to", "2.3", "--bundle", str(FIXTURES / bundle), "-o", "json")
    assert ended == code, err
    report = json.loads(out)
    assert ("breaks" in {row["answer"] for row in report["facts"]["preflight"]}) == (code == 1)
    assert report["command"] == "preflight upgrade"
    assert not {"PRE101", "PRE102", "PRE901", "PRE902"} & set(report["clean"])
