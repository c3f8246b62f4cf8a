"""The page in a browser: at both widths, in both schemes, on paper and without script. The screenshots are in benchmarks/out/html/."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzers.report.finding import Evidence
from analyzers.report.history import Lane, Mark, Span
from analyzers.report.report import Report
from cli.engine.spark import Engine
from cli.options.shared import RunOptions
from cli.renderers import html, markdown
from cli.runs import triage
from tests import chromium
from tests.bundles import FIXTURES
from tests.report_samples import AT, JOB, finding, incident, minutes, report, verdict, well

SHOTS = Path(__file__).parent.parent / "benchmarks" / "out" / "html"
BAD = "<script>window.owned = 1</script><img src=x onerror='window.owned = 1'> \" ' --> \x1b[31m\u202e\x00 " + "no-space" * 40


def hostile() -> Report:
    """A log that would be markup and script, were it not escaped, in every place that a page has for its text."""
    marks = tuple(Mark(minutes(n / 10), "failed", BAD, f"{BAD}.log", n) for n in range(20))
    lanes = [Lane("job", JOB, "", (Span(AT, minutes(5), "tries"),), marks), Lane("brokers", None, "", marks=marks)]
    shown = (Evidence("log_events", f"{BAD}.log", 3, AT, f"{BAD}\n\tat {BAD}"),)
    told = replace(finding(says=BAD, headline=BAD, inferred=BAD, evidence=shown), subject={"task": BAD})
    hurt = verdict(says=BAD, headline=BAD, steps=(BAD, BAD), no_help=BAD, danger=BAD, missing=BAD, next_command=BAD)
    facts = {"groups": [{"group": BAD, "type": "classic"}]}
    return replace(incident(), verdicts=[hurt], findings=[told], facts=facts, history=lanes, job_names={JOB: BAD}, looked_at=BAD)


@pytest.fixture(scope="module")
def pages(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two recorded incidents, a job that is well, and what a log could do to a page."""
    logs = [str(FIXTURES / "incidents/ill/broker-shrink-restart-loop/raw")]
    made = {
        "restart-loop": triage.run(logs, RunOptions(), version="1", engine=engine),
        "barrier": triage.run([], RunOptions(bundle=FIXTURES / "CKP105/fires-stuck-async"), version="1", engine=engine),
        "well": well(),
        "hostile": hostile(),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, one in made.items():
        (folder / f"{name}.html").write_text(html.render(one, host="host-1"), encoding="utf-8")
    (folder / "restart-loop.md").write_text(markdown.render(made["restart-loop"]), encoding="utf-8")
    return {path.stem: path for path in folder.glob("*.html")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["restart-loop", "barrier", "well", "hostile"])
def test_the_page_fits_asks_for_nothing_and_complains_of_nothing(
    browser: chromium.Chromium, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser.open(pages[name], width=width, scheme=scheme)
    SHOTS.mkdir(parents=True, exist_ok=True)
    browser.screenshot(SHOTS / f"{name}-{width}-{scheme}.png")
    assert browser.value("document.documentElement.scrollWidth") == width
    browser.value("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert browser.value("document.documentElement.scrollWidth") == width, "unfolded"
    assert browser.requests == [pages[name].as_uri()]
    assert browser.complaints == []
    dark = browser.value("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    links = "[...document.querySelectorAll('a')].map(each => each.getAttribute('href'))"
    assert browser.value(f"{links}.filter(each => !document.getElementById(each.slice(1)))") == []
    assert browser.value("[typeof window.owned, document.images.length]") == ["undefined", 0]


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize(("name", "lanes"), [("restart-loop", ["job", "checkpoints", "brokers"]), ("barrier", ["job", "checkpoints"])])
def test_every_lane_is_drawn(browser: chromium.Chromium, pages: dict[str, Path], name: str, lanes: list[str], width: int) -> None:
    browser.open(pages[name], width=width)
    drawn: Any = browser.value("""[...document.querySelectorAll('svg.picture g.lane')].map(lane => ({
      name: lane.querySelector('text').textContent,
      places: [...lane.querySelectorAll('rect, use')].map(each => each.getBoundingClientRect()).map(each => (each.left + each.right) / 2),
    }))""")
    assert [lane["name"] for lane in drawn] == lanes
    for lane in drawn:
        assert lane["places"], lane["name"]
        assert min(lane["places"]) >= 0
        assert max(lane["places"]) <= width
    together = browser.value("""[...document.querySelectorAll('svg .tick')].map(each => each.getBoundingClientRect())
      .filter(each => each.width).some((each, n, all) => n && each.left < all[n - 1].right)""")
    assert not together, "times on the axis run into one another"


def test_a_sign_leads_to_its_evidence_and_says_what_it_is(browser: chromium.Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["restart-loop"], width=1280)
    signs = browser.value("""[...document.querySelectorAll('svg a')].map(each => {
      each.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
      return [each.querySelector('title').textContent, document.querySelector(each.getAttribute('href')).checkVisibility()];
    })""")
    assert len(signs) == 20
    assert all(title for title, _ in signs)
    assert all(visible for _, visible in signs), "the fold around it opens"
    failed = next(title for title, _ in signs if "attempt 2 failed" in title)
    assert "TimeoutException" in failed


def test_the_barrier_grid_shows_who_holds_it(browser: chromium.Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["barrier"], width=1280)
    held = browser.value("[...document.querySelectorAll('td .cell.culprit')].map(each => each.title)")
    assert held == ["validate -> enrich-profile (2/4): holds the barrier, stuck-call, at lab.Job$Validate.processElement, tm-1"]
    assert browser.value("document.querySelectorAll('.grid tbody tr').length") == 3


def test_buttons_copy_and_are_not_there_without_script(browser: chromium.Chromium, pages: dict[str, Path]) -> None:
    seen = "[...document.querySelectorAll('button')].filter(each => each.checkVisibility()).length"
    browser.open(pages["restart-loop"], width=1280, script=False)
    assert browser.value(seen) == 0
    browser.open(pages["restart-loop"], width=1280)
    assert browser.value(seen) == 2
    browser.value("navigator.clipboard.writeText = async words => { window.copied = [...(window.copied ?? []), words] }")
    browser.value("document.querySelectorAll('button').forEach(each => each.click())")
    as_markdown, command = browser.value("window.copied")
    assert as_markdown.splitlines()[0] == "### orders-totals RESTARTING"
    assert pages["restart-loop"].with_suffix(".md").read_text().startswith(as_markdown.rstrip())
    assert re.fullmatch(r"diag broker-health --bootstrap-server \S+", command)
    browser.open(pages["restart-loop"], width=1280, medium="print")
    assert browser.value(seen) == 0


def test_the_policy_stops_what_is_not_ours(browser: chromium.Chromium, pages: dict[str, Path], tmp_path: Path) -> None:
    changed = tmp_path / "changed.html"
    more = "<script>window.owned = 1</script><img src='https://127.0.0.1:9/x.png'></body>"
    changed.write_text(pages["well"].read_text(encoding="utf-8").replace("</body>", more), encoding="utf-8")
    browser.open(changed, width=1280)
    assert browser.value("typeof window.owned") == "undefined"
    assert len(browser.complaints) >= 2


def test_a_page_stays_below_two_megabytes() -> None:
    marks = tuple(Mark(minutes(n / 1000), "failed", "x" * 5_000, "a.log", n) for n in range(2_000))
    spans = tuple(Span(minutes(n / 1000), minutes(n / 1000 + 0.0005), "works") for n in range(2_000))
    jobs = [f"job-{n}" for n in range(200)]
    evidence = tuple(Evidence("log_events", "a.log", n, AT + timedelta(seconds=n), "y\n" * 20_000) for n in range(10))
    big = report(
        verdicts=[verdict(job=job) for job in jobs],
        findings=[finding(job=job, evidence=evidence) for job in jobs],
        history=[Lane("job", job, "", spans, marks) for job in jobs],
        facts={"groups": [{"group": "g" * 900, "type": "classic"}] * 10_000},
    )
    page = html.render(big)
    assert len(page.encode()) < 2_000_000
    assert page.count('<section class="card') > 3
    assert page.count('<ul class="evidence">') > 3
    assert "<summary>groups (10,000, the first " in page
    assert 'id="looked-at"' in page
    assert page.count("the page would be too long") == 2
    assert page.count("<section") == page.count("</section>")


def test_an_ill_job_is_told_a_channel_in_40_lines(pages: dict[str, Path]) -> None:
    told = pages["restart-loop"].with_suffix(".md").read_text(encoding="utf-8")
    assert len(told.partition("<details>")[0].splitlines()) <= 40
    assert told.count("<details>") == told.count("</details>") == 1
