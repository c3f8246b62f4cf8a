"""One Spark for the whole test run: it takes seconds to start, and every test with data of its own may share it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from cli.class_archive import SWITCH
from cli.spark import Engine

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
