"""All settings of a Flink job for a planned upgrade: of a file, of a deployment in Kubernetes, of a JobManager (three GETs)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from analyzers.bundle.small_files import small_file
from analyzers.secrets import scrub
from analyzers.states import flink_rows as rows
from analyzers.tables import JOB_CONFIG, PROCESS_ENVIRONMENTS, SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.flink_recording import open_recording
from cli.collectors.flink_transport import Rest, RestClient, RestLogin, parse_address
from cli.collectors.json_answers import MOST_BYTES
from cli.shell.exits import CannotLook, UsageError

_LINE = re.compile(r"""(?P<indent> *(?:- +)*)(?P<key>"[^"]*"|'[^']*'|[^\s#"'\[{][^\n]*?):(?:\s+(?P<value>.*))?$""")
_IN_BLOCK = re.compile(r"[|>][+-]?\d*$")
_OF_DEPLOYMENT = re.compile(r"(?:^|\.)spec\.(?:template\.spec\.)?flinkConfiguration\.(?P<key>.+)$")
_OF_MAP = re.compile(r"(?:^|\.)data\.(?P<file>flink-conf\.yaml|config\.yaml)\.(?P<key>.+)$")
_RELEASE = re.compile(r"v(\d+)_(\d+)$")
_IMAGE = re.compile(r"(?:^|/)flink:[\w.-]*?\bjava(?P<java>\d{1,2})\b")
"""The official image, whose tag names its Java."""
_JAVA = re.compile(r" - (?P<java>\d[\w.]*)/")
_HINT = "Give flink-conf.yaml, config.yaml, or the YAML of a FlinkDeployment or of the ConfigMap with Flink's configuration."


def settings_of_file(path: Path) -> Evidence:
    """``job_config`` and ``process_environments`` of the file at `path`. Raises `UsageError` for what cannot be read or holds none."""
    try:
        text = small_file(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise UsageError(f"--conf {path} cannot be read: {why}.", _HINT) from error
    found, unread = _entries(text)
    of_kubernetes = "apiVersion" in found or "items.apiVersion" in found
    settings: list[Row] = []
    environments: list[Row] = []
    for key, value in found.items():
        own, of_map = _OF_DEPLOYMENT.search(key), _OF_MAP.search(key)
        if not of_kubernetes:
            settings.append(_setting("file", key, value, str(path)))
        elif own is not None:
            settings.append(_setting("deployment", own["key"], value, str(path)))
        elif of_map is not None:
            settings.append(_setting("file", of_map["key"], value, f"{path}!{of_map['file']}"))
        elif key.endswith("spec.image") and (tag := _IMAGE.search(value)):
            environments.append(
                PROCESS_ENVIRONMENTS.row({"scope": "", "source": "deployment", "origin": f"{path}: {value}", "java": tag["java"]})
            )
        elif key.endswith("spec.flinkVersion") and (release := _RELEASE.match(value)):
            said = f"{release[1]}.{release[2]}"
            environments.append(
                PROCESS_ENVIRONMENTS.row({"scope": "", "source": "deployment", "origin": str(path), "engine_version": said})
            )
    if not settings:
        raise UsageError(f"--conf {path} holds no settings of Flink that can be read", _HINT)
    why = None if not unread else f"{unread} of its lines cannot be read as settings"
    source = SOURCES.row({"scope": "", "name": str(path), "kind": "configuration", "state": "partial" if why else "ok", "why": why})
    return Evidence({"job_config": settings, "process_environments": environments, "sources": [source]})


def _setting(source: str, key: str, value: str, origin: str) -> Row:
    shown = scrub(f"{key}={value}").partition("=")[2]
    return JOB_CONFIG.row({"scope": "", "source": source, "key": key, "value": shown, "origin": origin})


def _entries(text: str) -> tuple[dict[str, str], int]:
    """Keys in full (parents before a dot) with their values, and how many lines are neither these nor what belongs to them.

    It reads what Flink's files are, flat or nested; a text in a block is read as if it were nested, so that files within a ConfigMap are
    read, too. Items of lists are left out: no option of Flink is a list of settings.
    """
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    unread = 0
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.strip() in ("---", "..."):
            above = []
            continue
        indent = len(line) - len(line.lstrip(" -"))
        match = _LINE.match(line)
        while above and above[-1][0] >= indent:
            above.pop()
        if match is None:
            unread += not above and not line.lstrip().startswith("- ")
            continue
        key = (above[-1][1] if above else "") + match["key"].strip("\"'")
        value = re.sub(r"\s+#.*$", "", match["value"] or "").strip()
        above.append((indent, f"{key}."))
        if value.startswith("{") and value != "{}":
            unread += 1  # settings on one line, which Flink's own files do not have
        elif value and not _IN_BLOCK.match(value):
            found[key] = value.strip("\"'")
    return found, unread


def settings_of_rest(address: str, *, login: RestLogin | None = None, timeout_seconds: float = 10.0) -> Callable[[], Evidence]:
    """A function that gives the same of the JobManager at `address`, or of a directory of saved answers.

    Raises `UsageError` at once for an address that cannot be understood; the function raises `CannotLook` when it does not answer as
    Flink does.
    """
    if "://" not in address and Path(address).is_dir():
        recording = open_recording(Path(address))
        return lambda: _asked(recording, recording.captured_at)
    where = parse_address(address)

    def look() -> Evidence:
        with ExitStack() as stack:
            client = stack.enter_context(RestClient(where, login or RestLogin(), timeout_seconds, min(10.0, timeout_seconds)))
            return _asked(client, datetime.now(timezone.utc))

    return look


def _asked(rest: Rest, now: datetime) -> Evidence:
    at = now.replace(microsecond=0)
    answers = rest.ask(["/overview", "/jobmanager/config", "/jobmanager/environment"])
    overview, config, around = answers.values()
    version = rows.text(rows.member(overview.body).get("flink-version"))
    listed = config.body if config.ok and isinstance(config.body, list) else []
    pairs = [(str(each["key"]), str(each.get("value"))) for each in listed if isinstance(each, dict) and "key" in each]
    if version is None and not pairs:
        raise CannotLook(f"the JobManager at {rest.name} shows neither its version nor its settings: {config.why or overview.why}.", "")
    environment = rows.member(around.body)
    said = _JAVA.search(str(rows.member(environment.get("jvm")).get("version")))
    path = environment.get("classpath")
    own = {
        "source": "rest",
        "origin": rest.name,
        "engine_version": version,
        "java": said["java"] if said else None,
        "jars": sorted(_jars(path)) or None,
    }
    settings = [{**_setting("cluster", key, value, rest.name), "as_of": at} for key, value in pairs]
    why = None if pairs else f"it did not show its settings: {config.why}"
    head = {"scope": "", "as_of": at}
    source = SOURCES.row({**head, "name": rest.name, "kind": "flink-rest", "state": "partial" if why else "ok", "why": why})
    return Evidence({"job_config": settings, "process_environments": [PROCESS_ENVIRONMENTS.row({**head, **own})], "sources": [source]})


def _jars(path: object) -> Iterator[str]:
    """The file names on a class path: a list of paths, each of which may be several."""
    for entry in path if isinstance(path, list) else [path]:
        yield from (each.rpartition("/")[2] for each in str(entry or "").split(":") if each.endswith(".jar"))
