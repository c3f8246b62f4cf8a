"""`diag fleet` on a standalone cluster says, byte for byte, what it says here; also when a worker dies in the middle of the run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.engine.java import find_java, has_module
from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.spark_cluster import SparkCluster
from tests.bundles import FIXTURES, Case
from tests.hostile.crowd import copied
from tests.live.conftest import unavailable

ROOT = Path(__file__).resolve().parent.parent.parent
READ = "rules have something to look at"
"""What a run says between its two halves."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    if not has_module(find_java(), "jdk.incubator.vector"):
        unavailable(LabUnavailable("Java from a wheel lacks a module that Spark's executors want"))
    try:
        with SparkCluster(2) as running:
            yield running
    except LabUnavailable as reason:
        unavailable(reason)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("jobs")
    copied(Case(FIXTURES / "incidents/ill/lab-broker-shrink-hung"), home)
    shutil.copytree(home / "incidents-ill-lab-broker-shrink-hung", home / "the-same-brokers")
    (home / "empty").mkdir()
    return home


def started(folder: Path, target: Path, *more: str) -> subprocess.Popen[str]:
    asked = [sys.executable, "-m", "cli", "fleet", str(folder), "-o", f"json={target}", "--fail-on", "never", *more]
    return subprocess.Popen(asked, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def test_a_worker_that_dies_changes_nothing_but_the_time(cluster: SparkCluster, folder: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    with started(folder, there, "--spark-master", cluster.master) as run:
        assert run.stderr is not None
        said = []
        for line in run.stderr:
            if READ in line and not any(READ in each for each in said):  # lines about progress say it, too
                cluster.kill(0)
            said.append(line)
    assert any(READ in line for line in said), said
    assert run.returncode == 3, said  # one job cannot be read
    with started(folder, here) as alone:
        alone.communicate(timeout=300)
    assert alone.returncode == 3
    pages = [json.loads(each.read_text()) for each in (there, here)]
    assert [page.pop("made") for page in pages]
    assert pages[0] == pages[1]
