"""What a JVM does before it waits: rules judge the sample line of every signature, so that what real plans need is loaded and compiled."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.diagnosis.diagnose import judge
from analyzers.logs import signatures as house
from analyzers.readers.log_scan import Tables, plan, scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def warm(session: SparkSession) -> None:
    """Judge what `samples` hold; what comes of it is thrown away."""
    judge(samples(), lambda: session, command="triage", version="")


def samples() -> Tables:
    """The evidence in a log for each room of signatures, which holds their samples."""
    with tempfile.TemporaryDirectory(prefix="diag-held-samples-") as directory:
        for room in house._MODULES:
            lines = "".join(f"{signature.sample}\n" for signature in room.SIGNATURES)
            (Path(directory) / f"{room.__name__.rpartition('.')[2]}.log").write_text(lines)
        return scan(plan([directory]), None)
