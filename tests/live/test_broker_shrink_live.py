"""The incident that diag was begun for, small and whole: a shrunken cluster, an old client, a restart loop, and what triage says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from fixtures.lab.artifacts import LabUnavailable
from fixtures.lab.incidents import all_incidents
from fixtures.lab.lab import record
from tests.live.conftest import unavailable

# two of three entries gone, a TaskManager's death noticed in 10 s instead of 50, two turns of the loop: 90 s on an idle machine
SMALL = {"entries": "3", "dead": "2", "restarts": "2", "heartbeat": "10000"}


def test_a_shrunken_cluster_and_an_old_client(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    try:
        record(all_incidents()["broker-shrink"], recording, "1.12.2", parameters=SMALL)
    except LabUnavailable as reason:
        unavailable(reason)
        raise
    assert len(json.loads((recording / "label.json").read_text())["culprit"]["dead"]) == 2
    command = [sys.executable, "-m", "cli", "triage", str(recording / "raw"), "-q", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # its own process: it starts a Spark of its own
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["verdicts"][0]["cause"] == "broker-unreachable"
