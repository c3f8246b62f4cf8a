"""What the lab found on real servers: the forecast must agree with its counted starts, the runbook pages with what healed."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.forecast.clients import CONNECTORS
from analyzers.forecast.odds import Client, Entries, p_fail_client
from analyzers.runbooks import sections
from fixtures.lab import healing, index
from fixtures.lab.incidents import REMEDIES, Outcome, all_incidents
from fixtures.lab.start_odds import RESULT as STARTS
from fixtures.lab.start_odds import missing

PAGES = Path(__file__).parent.parent / "analyzers" / "runbooks"
ODDS: list[dict[str, Any]] = json.loads(STARTS.read_text())
HEALED: list[dict[str, Any]] = json.loads(healing.RESULTS.read_text())
SIGMAS = 3.0  # of some twenty rows one lies beyond two, none beyond three


def seconds(row: dict[str, Any], name: str) -> float | None:
    return row["settings"][name] / 1000 if name in row["settings"] else None


@pytest.mark.parametrize(
    "row", ODDS, ids=lambda r: "-".join(map(str, [r["client_version"], r["kind"], r["api"], *r["settings"].values(), r["tcp_syn_retries"]]))
)
def test_counted_starts_lie_within_the_statistical_error_of_the_forecast(row: dict[str, Any]) -> None:
    client = Client(
        row["client_version"],
        connector=CONNECTORS["kafka-source" if row["api"] == "admin" else "plain"],
        api_timeout=seconds(row, "default.api.timeout.ms"),
        request_timeout=seconds(row, "request.timeout.ms"),
        tcp_syn_retries=row["tcp_syn_retries"],
    )
    expected = p_fail_client(Entries.of(row["entries"], {row["kind"]: row["dead"]}), client)
    assert expected is not None
    sigma = math.sqrt(expected * (1 - expected) / row["clients"])
    assert abs(row["failures"] / row["clients"] - expected) <= SIGMAS * sigma + 1e-12, (
        f"{row['failures']} of {row['clients']}, {expected:.3f}"
    )


def test_old_and_new_clients_were_counted_at_each_death() -> None:
    assert missing(ODDS) == {}
    assert all(row["clients"] >= 40 and sum(row["exceptions"].values()) == row["failures"] for row in ODDS)


def test_every_remedy_is_of_a_known_incident_and_page() -> None:
    assert {remedy.incident for remedy in REMEDIES} <= set(all_incidents())
    assert all((PAGES / f"{remedy.page}.md").is_file() for remedy in REMEDIES)
    names = [(remedy.incident, remedy.fix) for remedy in REMEDIES]
    assert len(names) == len(set(names))


def test_the_table_is_made_from_the_results() -> None:
    assert healing.TABLE.read_text() == healing.table(HEALED)


def test_results_are_those_of_remedies_that_the_lab_still_has() -> None:
    known = {(remedy.incident, remedy.fix): remedy for remedy in REMEDIES}
    for row in HEALED:
        remedy = known[row["incident"], row["fix"]]
        assert (row["page"], row["healed"]) == (remedy.page, remedy.expected), row["fix"]


@pytest.mark.parametrize("row", HEALED, ids=[f"{row['page']}-{row['incident']}-{number}" for number, row in enumerate(HEALED)])
def test_the_page_says_what_the_lab_saw(row: dict[str, Any]) -> None:
    """Under Tried, with the incident and the number of the table."""
    tried = sections((PAGES / f"{row['page']}.md").read_text())["Tried"]
    assert healing.quote(row) in tried.splitlines(), f"{row['page']}.md lacks it; python -m fixtures.lab.healing writes it"


def test_a_page_claims_nothing_that_the_lab_did_not_see() -> None:
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text()
        own = {healing.quote(row) for row in healing.rows_of(path.stem, HEALED)}
        assert {line for line in page.splitlines() if "in the lab (" in line} <= own, path.name
        assert (healing.NOT_VERIFIED in page) is not ("Seen to heal in the lab" in page), path.name


PAGE = "# X101: title\n\n## Fix\nDo this.\n\n## Tried\n\n## Not this when\n- It is something else.\n"
ROW = {"incident": "slow-sink", "flink": "2.3.0", "page": "X101", "fix": "a quicker sink", "healed": True, "number": "4 checkpoints"}


def test_quotes_are_written_into_their_section_and_replaced() -> None:
    assert healing.quoted(PAGE, []) == PAGE.replace("## Tried\n", f"## Tried\n{healing.NOT_VERIFIED}\n")
    failed = ROW | {"fix": "patience", "healed": False, "number": "0 checkpoints"}
    quoted = healing.quoted(healing.quoted(PAGE, []), [ROW | {"number": "3 checkpoints"}, failed])
    quoted = healing.quoted(quoted, [ROW, failed])
    assert quoted == PAGE.replace("## Tried\n", f"## Tried\n{healing.quote(ROW)}\n{healing.quote(failed)}\n")


def test_a_newer_run_takes_the_place_of_the_older(tmp_path: Path) -> None:
    results = tmp_path / "healing.json"
    row = ROW | {"healed": False, "number": "0 checkpoints"}
    healing.note(row, results)
    healing.note(row | {"fix": "nothing"}, results)
    healing.note(row | {"healed": True, "number": "4 checkpoints"}, results)
    kept = [(r["fix"], r["healed"], r["number"]) for r in json.loads(results.read_text())]
    assert kept == [("nothing", False, "0 checkpoints"), ("a quicker sink", True, "4 checkpoints")]
    assert "| a quicker sink | yes | 4 checkpoints |" in (tmp_path / "HEALING.md").read_text()


class Patient:
    """Stands for a scene: the job restarts once, then completes a checkpoint at each look, and its lag falls."""

    def __init__(self, lags: list[int | None], restarts: list[int], completed: list[int]) -> None:
        self.lags, self.restarted, self.done = lags, restarts, completed
        self.flink, self.job = self, "job"

    def lag(self) -> int | None:
        return self.lags.pop(0) if len(self.lags) > 1 else self.lags[0]

    def restarts(self, job: str) -> int:
        return self.restarted.pop(0) if len(self.restarted) > 1 else self.restarted[0]

    def completed_checkpoints(self, job: str) -> int:
        return self.done.pop(0) if len(self.done) > 1 else self.done[0]

    def state(self, job: str) -> str:
        return "RUNNING"


@pytest.mark.parametrize(
    ("lags", "restarts", "completed", "healed"),
    [
        ([9000, 8000, 100], [1], [5, 9, 9], True),
        ([9000], [1], [5, 9, 9], False),  # checkpoints complete, but nothing is read
        ([9000, None], [1], [5, 9, 9], False),  # Kafka cannot say
        ([9000, 100], [1], [5, 6], False),  # too few checkpoints
        ([9000, 100], [1, 2, 2, 3, 3, 4, 4, 5, 5], [5, 6, 7, 8, 9, 10], False),  # a checkpoint or two between restarts is no recovery
    ],
)
def test_well_is_said_of_a_job_only_when_it_is(
    lags: list[int | None], restarts: list[int], completed: list[int], healed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(seconds)), sleep=lambda pause: None)
    monkeypatch.setattr("fixtures.lab.healing.time", clock)
    patient: Any = Patient(lags, restarts, completed)
    outcome: Outcome = healing.outlook(patient, patience_seconds=4)
    assert outcome.healed is healed, outcome.number


def test_the_index_names_every_bundle_with_what_it_shows() -> None:
    text = index.INDEX.read_text(encoding="utf-8")
    missing = [path.name for path in index.bundles() if f"| `{path.relative_to(index.FIXTURES).as_posix()}` |" not in text]
    assert not missing, "python -m fixtures.lab.index writes it"
    assert text.count("\n| `") == len(index.bundles()), "it names bundles that are gone"
