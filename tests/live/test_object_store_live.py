"""Jobs whose logs lie on a server that speaks S3, and that tells every third request to slow down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.object_store import ObjectStore
from tests.bundles import FIXTURES, Case
from tests.hostile.crowd import copied
from tests.live.conftest import unavailable
from tests.rest_replay import RECORDINGS, STUCK

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    try:
        with ObjectStore(refused=3) as running:
            yield running
    except LabUnavailable as reason:
        unavailable(reason)


def diag(store: ObjectStore, *arguments: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-m", "cli", *arguments]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=os.environ | store.variables)


def _but_when(page: Path) -> dict[str, Any]:
    """What a fleet's JSON holds, but for when it was made."""
    return {key: value for key, value in json.loads(page.read_text()).items() if key != "made"}


def test_a_fleet_is_what_it_is_on_disk(store: ObjectStore, tmp_path: Path) -> None:
    home = tmp_path / "jobs"
    copied(Case(FIXTURES / "incidents/ill/lab-broker-shrink-hung"), home)
    (home / "well").mkdir()
    (home / "well" / "jobmanager.log").write_text("2026-11-02 09:00:00,000 INFO  org.apache.flink.Some [] - nothing to see\n")
    shutil.copytree(RECORDINGS / STUCK, home / "answers" / "flink")
    for name in ("bundle", "packed.tar.gz"):
        run = diag(store, "collect", str(home / "well"), "--save", str(home / name), "--no-redact")
        assert run.returncode == 0, run.stderr
    there, here = tmp_path / "there.json", tmp_path / "here.json"
    uri = store.put(home, "fleet")
    for place, target in ((uri, there), (str(home), here)):
        run = diag(store, "fleet", place, "-o", f"json={target}")
        assert run.returncode == 1, run.stderr
    assert _but_when(there) == _but_when(here)
    outcomes = {job["scope"]: job["outcome"] for job in json.loads(there.read_text())["jobs"]}
    assert (outcomes["answers"], outcomes["bundle"], outcomes["packed.tar.gz"]) == ("ill", outcomes["well"], outcomes["well"])


def test_a_bundle_is_judged_where_it_lies(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    shutil.copytree(FIXTURES / "BRK207" / "fires" / "raw", tmp_path / "logs", dirs_exist_ok=True)
    for name in ("incident", "incident.tar.gz"):
        run = diag(store, "collect", str(tmp_path / "logs"), "--save", str(tmp_path / "stored" / name))
        assert run.returncode == 0, run.stderr
    uri = store.put(tmp_path / "stored", "bundles")
    said = [diag(store, "triage", "--bundle", f"{uri}/{name}", "-o", "csv", "-q") for name in ("incident", "incident.tar.gz")]
    assert [run.returncode for run in said] == [1, 1], said[0].stderr
    assert "BRK207" in said[0].stdout
    run = diag(store, "triage", "--bundle", f"{uri}/nothing.tar.gz")
    assert (run.returncode, "there is no bundle s3://evidence/bundles/nothing.tar.gz" in run.stderr) == (2, True), run.stderr


def test_what_cannot_be_had_is_one_sentence(store: ObjectStore) -> None:
    run = diag(store, "triage", "s3://evidence/nothing-here")
    assert run.returncode == 3
    assert "no such file or directory: s3://evidence/nothing-here" in run.stderr
    run = diag(store, "fleet", "s3://no-such-bucket/logs")
    assert run.returncode == 2, run.stderr
    assert "Traceback" not in run.stderr
