"""A live run and its bundle are one: the same report from both, and the same causes when the bundle is redacted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from analyzers.bundle import read_bundle, write_bundle
from analyzers.report.report import Report
from analyzers.report.schema import report_schema
from cli.options.shared import CodeFilter, RunOptions
from cli.renderers import json as as_json
from cli.runs.triage import run

if TYPE_CHECKING:
    from cli.engine.spark import Engine

INCIDENT = Path(__file__).parent.parent / "fixtures" / "incidents" / "ill" / "broker-shrink-restart-loop"


def triage(engine: Engine, bundle: Path, **options: Any) -> Report:
    only = (CodeFilter("BRK101"), CodeFilter("BRK201"))  # two are enough: this is about evidence, not about rules
    return run([], RunOptions(bundle=bundle, only=only, **options), version="1", engine=engine)


@pytest.fixture(scope="module")
def saved(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path, Path]:
    """The report on the raw files, and the two bundles it saved: as it is, and redacted."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "key").write_bytes(b"0123456789abcdef")
    live = triage(engine, INCIDENT, save=folder / "whole", redact=False)
    write_bundle(folder / "redacted.tar.gz", read_bundle(folder / "whole").tables, version="1", key_file=folder / "key")
    return live, folder / "whole", folder / "redacted.tar.gz"


def test_the_same_evidence_gives_the_same_bytes(engine: Engine, saved: tuple[Report, Path, Path]) -> None:
    live, whole, _ = saved
    said = as_json.render(triage(engine, whole))
    assert said == as_json.render(live)
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(said))


def test_redaction_hides_names_and_changes_no_finding(engine: Engine, saved: tuple[Report, Path, Path]) -> None:
    live, _, redacted = saved
    again = triage(engine, redacted)
    assert [(v.cause, v.reason, v.code, v.since, v.chain) for v in again.verdicts] == [
        (v.cause, v.reason, v.code, v.since, v.chain) for v in live.verdicts
    ]
    assert [(f.code, f.since, f.confidence, sorted(f.subject)) for f in again.findings] == [
        (f.code, f.since, f.confidence, sorted(f.subject)) for f in live.findings
    ]
    names = {row[c] for row in read_bundle(saved[1]).tables["log_events"] for c in ("topic", "group", "client") if row[c]}
    names.discard("__consumer_offsets")  # everybody's
    assert names, "the incident names topics and groups"
    columns = {row[c] for row in read_bundle(redacted).tables["log_events"] for c in ("topic", "group", "client")}
    assert not names & columns
