"""Real servers for the tests of this folder. Where they must be had (CI=true) a missing one fails; elsewhere it skips, with the reason."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.kafka import KafkaCluster

KafkaStarter = Callable[..., KafkaCluster]

# The jars of the lab are shared by all checkouts; the cache that tests keep for the commands under test is not.
os.environ.setdefault("DIAG_LAB_CACHE", str(Path.home() / ".cache" / "diag" / "lab"))


def unavailable(reason: LabUnavailable) -> None:
    """Fail where CI promises the lab, skip elsewhere."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"CI must have the lab: {reason}")
    pytest.skip(f"no lab here: {reason}")


@pytest.fixture(scope="module")
def kafka_cluster() -> Iterator[KafkaStarter]:
    """``kafka_cluster(brokers=3)``: a running cluster, stopped at the end of the module."""
    with contextlib.ExitStack() as running:

        def start(brokers: int = 3, **properties: str) -> KafkaCluster:
            try:
                return running.enter_context(KafkaCluster(brokers, properties))
            except LabUnavailable as reason:
                unavailable(reason)
                raise

        yield start
