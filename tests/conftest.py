"""One Spark for the whole test run: it takes seconds to start, and every test with data of its own may share it.

A test that starts its own does so on a `host` where nothing of this run is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.engine.class_archive import SWITCH
from cli.engine.java import Java, find_java
from cli.engine.spark import Engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    # Class-data archives of test runs stay with the checkout, and the commands that tests run share them.
    os.environ["XDG_CACHE_HOME"] = str(config.rootpath / ".pytest_cache" / "user-cache")


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A running engine, two local threads. It records no archive: for as long as it did, no command under test could."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "1")
        started = Engine.start("local[2]")
    with started:
        started.context()
        yield started


@pytest.fixture(scope="session")
def spark(engine: Engine) -> SparkSession:
    """The session of `engine`."""
    return engine.session()


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    """The environment of a host of its own: empty cache, own temporary directory."""
    for name in ("cache", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    return environment | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
    }


@pytest.fixture
def real_java() -> Java:
    """The Java that is installed here."""
    return find_java()
