"""The site that `make site` writes: whole, closed in itself, with a page for each rule."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyzers import runbooks
from analyzers.report.finding import CAUSES
from analyzers.report.schema import report_schema
from analyzers.rules.catalogue import load_rules
from analyzers.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTATION = {
    "https://keepachangelog.com/en/1.1.0/",
    "https://semver.org/",
    "https://modelcontextprotocol.io",
    "https://www.contributor-covenant.org/version/2/1/code_of_conduct/",
}


class Page(HTMLParser):
    """What a page leads to and loads, its anchors, headings' and other words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: list[str] = []
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.words = ""
        self._in_main = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self._in_main = self._in_main or tag == "main"
        self.links += [given["href"]] if "href" in given else []
        self.loads += [given[name] for name in ("src", "srcset", "data", "poster", "background", "action") if name in given]
        self.anchors += [given["id"]] if "id" in given else []
        self.handlers += [name for name in given if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self._in_main:
            self.words += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    (made / "BRK000.html").write_text("of a rule that is gone")
    done = subprocess.run([sys.executable, str(ROOT / ".ci" / "site.py"), str(made)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Page]:
    return {path.name: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.html"))}


def _broken(pages: dict[str, Page], folder: Path) -> Iterator[tuple[str, str]]:
    for name, page in pages.items():
        for link in page.links:
            if "://" in link:
                continue
            file, _, anchor = link.partition("#")
            led_to = pages.get(file or name)
            there = anchor in led_to.anchors if led_to is not None and anchor else not anchor and (folder / (file or name)).is_file()
            if not there:
                yield name, link
        yield from ((name, load) for load in page.loads if not (folder / load).is_file())


def test_every_link_has_its_target_and_anchor(pages: dict[str, Page], folder: Path) -> None:
    assert list(_broken(pages, folder)) == []
    assert [name for name, page in pages.items() if len(page.anchors) != len(set(page.anchors))] == []


def test_a_broken_link_would_be_seen(folder: Path) -> None:
    pages = {"a.html": Page('<main id="x"><a href="b.html">b</a><a href="#y">y</a><img src="c.png"><a href="#x">x</a></main>')}
    assert list(_broken(pages, folder)) == [("a.html", "b.html"), ("a.html", "#y"), ("a.html", "c.png")]


def test_every_rule_has_its_page_and_is_listed(pages: dict[str, Page]) -> None:
    rules = load_rules()
    for rule in rules:
        page = pages[f"{rule.code}.html"]
        assert rule.title in " ".join(page.words.split())
        headings = {"what-you-see", "confirm", "fix", "not-this-when"}
        assert headings <= set(page.anchors), rule.code
        assert f"{rule.code}.html" in pages["rules.html"].links
        assert not rule.cause or f"{rule.code}.html" in pages["causes.html"].links
    assert set(CAUSES) <= set(pages["causes.html"].anchors)
    assert {name for name in pages if re.match(r"[A-Z]{3}\d", name)} == {f"{code}.html" for code in runbooks.codes()}


def test_forms_of_evidence_and_the_contract_are_there(pages: dict[str, Page], folder: Path) -> None:
    assert set(TABLES) <= set(pages["evidence.html"].anchors)
    assert "jstack" in pages["evidence.html"].words
    assert json.loads((folder / "schema.json").read_text(encoding="utf-8")) == report_schema()
    assert all(key in pages["schema.html"].words for key in report_schema()["properties"])
    assert {"schema.json", "schema-fleet.json", "schema-watch.json"} <= set(pages["output.html"].links)
    assert "could not look" in pages["output.html"].words


def test_no_page_is_empty_or_unreachable(pages: dict[str, Page]) -> None:
    assert {name: len(page.words) for name, page in pages.items() if len(page.words.split()) < 50} == {}
    seen, ahead = set(), ["index.html"]
    while ahead:
        name = ahead.pop()
        if name in pages and name not in seen:
            seen.add(name)
            ahead += [link.partition("#")[0] for link in pages[name].links]
    assert set(pages) == seen


def test_pages_load_and_run_nothing_and_lead_to_documentation_only(pages: dict[str, Page], folder: Path) -> None:
    outside = {link for page in pages.values() for link in page.links if re.match(r"\w+:", link)}
    assert outside == DOCUMENTATION
    assert [load for page in pages.values() for load in page.loads if ":" in load or load.startswith("/")] == []
    assert {tag for page in pages.values() for tag in page.tags} & {"script", "link", "iframe", "object", "embed", "form", "base"} == set()
    assert [name for name, page in pages.items() if page.handlers] == []
    styles = {style for path in folder.glob("*.html") for style in re.findall(r"<style>(.*?)</style>", path.read_text(), re.DOTALL)}
    assert len(styles) == 1
    assert not re.search(r"url\(|@import", styles.pop())


def test_alternative_steps_keep_their_number(folder: Path) -> None:
    """A page of Markdown counts on by itself: to start a broker again *or* take it off the list would read as two steps."""
    html = (folder / "BRK101.html").read_text(encoding="utf-8")
    fix = html[html.index('<h2 id="fix">') : html.index("<h3", html.index('<h2 id="fix">'))]
    written = re.findall(r"^(?:\[\[)?(\d)\. ", runbooks.page("BRK101").split("## Fix\n")[1].split("### ")[0], re.MULTILINE)
    assert written.count("1") > 1, "alternatives"
    assert re.findall(r'<li value="(\d)">', fix) == written


def test_words_between_angle_brackets_stay_words(pages: dict[str, Page]) -> None:
    """Pages of rules have placeholders such as <the job's list>; none may become an element."""
    assert "<the job's list>" in pages["BRK101.html"].words
