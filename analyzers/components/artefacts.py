"""The file that a frame was loaded from: its jar in brackets, its Go module, its crate, with the version.

Log4j and Logback print ``~[flink-connector-jdbc-3.1.2.jar:3.1.2]`` behind a frame; ``?`` is a version that the manifest lacks, and a tilde
says that the class was looked up again.
"""

from __future__ import annotations

import re

from analyzers.components.table import component_of, of_artefact

_JAR = re.compile(r"\[(?P<jar>[\w.+-]{1,200})\.jar(?:!/)?:(?P<version>[^\]\s]{0,60})\]")
_VERSION = re.compile(r"-(?P<version>v?\d[\w.+-]*)$")
_WHEEL = re.compile(
    r"(?P<name>[A-Za-z][\w.]*?)-(?P<version>\d[\w.!+]*)(?:-[\w.]+){2,4}\.whl\b|(?P<info>[A-Za-z][\w.]*?)-(?P<of>\d[\w.!+]*)\.dist-info"
)
_MODULE = re.compile(r"/pkg/mod/(?P<name>[\w./-]{1,200}?)@(?P<version>v[\w.+-]+)")
_CRATE = re.compile(r"/registry/src/[^/\s]{1,100}/(?P<name>[\w-]+?)-(?P<version>\d[\w.+-]*)/")
_SCALA = re.compile(r"_[23](?:\.\d+)?$")
_CALLS = frozenset(("service", "cloud", "storage", "table", "kafka", "codec", "state", "connect"))


def artefact_of(line: str) -> tuple[str, str | None] | None:
    """Name and version of the file that a frame's line was loaded from, or that is itself named: a jar, wheel, Go module or crate."""
    if found := _JAR.search(line):
        name, of_name = _parted(found["jar"])
        return name, (found["version"] if found["version"] not in ("", "?", "na") else of_name)
    if found := _MODULE.search(line) or _CRATE.search(line):
        return found["name"], found["version"]
    if found := _WHEEL.search(line):
        return found["name"] or found["info"], found["version"] or found["of"]
    word = line.strip().rpartition("/")[2]
    return _parted(word[:-4]) if word.endswith(".jar") and " " not in word else None


def connector_of(line: str) -> tuple[str, str | None] | None:
    """The connector or client that a frame's line belongs to, with its version; None: the engine's, the job's own, or not known."""
    found = artefact_of(line)
    if found is None:
        return None
    name = found[0]
    if re.search(r"connector|(?:^|-)cdc(?:-|$)", name):
        return found
    component = of_artefact(name) or component_of(name, "go")
    return found if component is not None and component.role in _CALLS else None


def _parted(jar: str) -> tuple[str, str | None]:
    """``flink-connector-cassandra_2.12-3.1.0-1.17`` → name without the Scala version, version."""
    at = re.search(r"-v?\d", jar)
    name, version = (jar[: at.start()], jar[at.start() :]) if at else (jar, "")
    said = _VERSION.search(version)
    return _SCALA.sub("", name), said["version"] if said else None
