"""What runs leave behind: the newest to compare with, tables that grow by runs and any engine reads, and how it went over the last runs."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pandas as pd
import pytest

from analyzers.fleet.roots import compared
from analyzers.report.fleet import OUTCOMES
from analyzers.report.fleet_tables import JOBS, ROOTS, RUNS
from cli.commands.schema import schema
from cli.engine.spark import Engine
from cli.renderers.fleet_trend import RootThing, render, trend_schema
from cli.runs.fleet import FleetRun
from cli.runs.fleet_history import baseline, save, trend
from cli.runs.fleet_output import show_trend
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from tests.fleet_samples import DATABASE, fleet

FIRST = datetime(2026, 11, 23, 6, tzinfo=timezone.utc)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three mornings with more jobs each; on the first none is ill of the database."""
    place = tmp_path_factory.mktemp("history") / "runs"
    for day, number in enumerate((8, 50, 100)):
        save(FleetRun(fleet(number)), place, FIRST + timedelta(days=day))
    return place


def test_the_baseline_is_the_newest_run(saved: Path) -> None:
    before = baseline(saved)
    assert before is not None
    assert len(before["jobs"]) == 100
    rows = fleet(105).jobs
    assert compared(rows, before) == ([], [])
    assert [row.scope for row in rows if row.verdicts and row.verdicts[0].change == "new"] == ["search/job-0100"]
    assert json.loads((saved / "fleet.json").read_text()) == before


def test_the_first_run_of_a_directory_has_nothing_to_compare_with(tmp_path: Path) -> None:
    assert baseline(tmp_path / "new", tmp_path / "new") is None
    with pytest.raises(UsageError, match="is not what a run saved"):
        baseline(tmp_path / "new", tmp_path / "other")


def test_pandas_reads_all_runs_of_a_table_at_once(saved: Path) -> None:
    runs = pd.read_parquet(saved / "history" / "runs").sort_values("run")
    assert list(runs.columns) == list(RUNS.names)
    assert runs["jobs"].tolist() == [8, 50, 100]
    assert runs["ill"].tolist() == [2, 10, 20]
    jobs = pd.read_parquet(saved / "history" / "jobs")
    assert list(jobs.columns) == list(JOBS.names)
    assert jobs.groupby("run").size().tolist() == [8, 50, 100]
    roots = pd.read_parquet(saved / "history" / "roots")
    assert list(roots.columns) == list(ROOTS.names)
    assert set(roots["value"]) == {DATABASE}


def test_spark_reads_them_as_tables_of_one_type(saved: Path, engine: Engine) -> None:
    session = engine.session()
    jobs = session.read.parquet(str(saved / "history" / "jobs"))
    assert dict(jobs.dtypes)["since"] == "timestamp"
    ill = jobs.where("cause = 'external-system'").groupBy("run").count().orderBy("run").collect()
    assert [row["count"] for row in ill] == [1, 3, 5]


def test_the_trend_counts_jobs_per_outcome_cause_and_root(saved: Path) -> None:
    runs, counts = trend(saved)
    assert runs == [FIRST + timedelta(days=day) for day in range(3)]
    assert counts["jobs"]["ill"] == [2, 10, 20]
    assert counts["causes"]["external-system"] == [1, 3, 5]
    assert counts["causes"]["poison-record"] == [0, 2, 5]
    assert counts["roots"] == {RootThing("address", DATABASE, "explains"): [0, 3, 5]}
    assert trend(saved, most=1)[1]["causes"]["poison-record"] == [5]


@pytest.mark.parametrize("width", [80, 140])
def test_the_trend_is_aligned(saved: Path, width: int) -> None:
    lines = render(*trend(saved), width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].split() == ["RUN", "(UTC)", "11-23", "06:00", "11-24", "06:00", "11-25", "06:00"]
    assert [line.split()[0] for line in lines[lines.index("JOBS") + 1 :][:3]] == ["ill", "undecided", "well"]
    root = next(line for line in lines if line.startswith("address"))
    assert root.split()[-3:] == ["·", "3", "5"]
    assert [len(line) for line in lines if line and line[-1].isdigit()] == [len(lines[0])] * 9


def test_the_trend_through_a_pipe_has_a_line_per_run(saved: Path) -> None:
    out = io.StringIO()
    assert show_trend(saved, [], Environment(out, io.StringIO())) == 0
    assert "2026-11-24T06:00:00Z\tcauses\texternal-system\t3\n" in out.getvalue()
    assert "2026-11-25T06:00:00Z\troots\taddress ledger.shop.internal:5432\t5\n" in out.getvalue()
    with pytest.raises(UsageError, match="no format html"):
        show_trend(saved, [("html", None)], Environment(out, io.StringIO()))


def test_the_trend_is_json_with_a_schema(saved: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    assert show_trend(saved, [("json", None), ("markdown", tmp_path / "trend.md")], Environment(out, io.StringIO())) == 0
    said = json.loads(out.getvalue())
    jsonschema.validate(said, trend_schema())
    jsonschema.Draft202012Validator.check_schema(trend_schema())
    assert (said["format"], said["runs"][0]) == (1, "2026-11-23T06:00:00.000Z")
    assert said["outcomes"][0] == {"outcome": "ill", "jobs": [2, 10, 20]}
    assert [each["outcome"] for each in said["outcomes"]] == [*OUTCOMES]
    assert {"cause": "poison-record", "jobs": [0, 2, 5]} in said["causes"]
    assert said["roots"] == [{"kind": "address", "value": DATABASE, "link": "explains", "jobs": [0, 3, 5]}]
    lines = (tmp_path / "trend.md").read_text().splitlines()
    assert lines[0] == "| jobs per run (UTC) | 2026-11-23 06:00 | 2026-11-24 06:00 | 2026-11-25 06:00 |"
    assert "| external-system | 1 | 3 | 5 |" in lines


def test_runs_that_do_not_fit_are_counted(saved: Path) -> None:
    runs, counts = trend(saved)
    eight = {kind: {what: [*many, *many, *many][:8] for what, many in own.items()} for kind, own in counts.items()}
    assert render([*runs, *runs, *runs][:8], eight, 80).splitlines()[-1] == "4 earlier of 8 runs do not fit this width"
    assert "do not fit" not in render(runs, counts, 80)


def test_the_columns_of_the_history_are_documented(saved: Path) -> None:
    out = io.StringIO()
    schema(SimpleNamespace(obj=Environment(out, io.StringIO())), of_history=True)  # type: ignore[arg-type]  # all that it asks of a context
    said = json.loads(out.getvalue())
    assert list(said["tables"]) == ["runs", "jobs", "roots"]
    for name, table in said["tables"].items():
        assert [column["name"] for column in table["columns"]] == list(pd.read_parquet(saved / "history" / name).columns)
        assert all(column["says"] and column["type"] for column in table["columns"])
    with pytest.raises(UsageError, match="--fleet-history and --diff are 2 schemas"):
        schema(SimpleNamespace(obj=Environment(out, io.StringIO())), of_history=True, of_diff=True)  # type: ignore[arg-type]


def test_a_file_that_is_none_is_named(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no runs"):
        trend(tmp_path)
    (tmp_path / "history" / "runs").mkdir(parents=True)
    (tmp_path / "history" / "runs" / "1.parquet").write_bytes(b"PAR1 it is not")
    with pytest.raises(UsageError, match=r"1\.parquet is not what a run saved"):
        trend(tmp_path)
