"""Failures tell of each other what their own lines do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from analyzers.derived import derive
from analyzers.logs.signatures import SIGNATURES
from analyzers.readers.log_scan import plan, scan

CORRUPT = Path(__file__).parent.parent / "fixtures" / "incidents" / "ill" / "lab-corrupt-batch" / "raw"


def test_the_place_of_a_record_is_known_of_all_failures_that_say_the_same() -> None:
    """Of a job that fails all night more failures are kept than lines that name the record."""
    few = [replace(signature, keep=(1, 0)) if signature.id == "record-corrupt" else signature for signature in SIGNATURES]
    found = scan(plan([str(CORRUPT)]), None, few)
    named = [row for row in found["log_events"] if row["signature"] == "record-corrupt"]
    faults = [row for row in derive(found)["faults"] if row["fault"] == "corrupt-batch" and row["fatal"]]
    assert len(named) < len(faults)
    places = {(row["topic"], row["partition"]) for row in faults}
    assert places == {("orders", 1)}
