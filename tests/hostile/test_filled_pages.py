"""Every string of every table and report is markup, and a browser shows the page of plain words: no request, nothing hidden."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from analyzers.bundle import write_bundle
from analyzers.tables import TABLES
from cli.options.shared import RunOptions
from cli.renderers import fleet_page, html, markdown
from cli.renderers.markup import Markup, element
from cli.runs import triage
from tests import chromium
from tests.hostile import filled

ATTACKS = (
    '<meta http-equiv=refresh content="0;url=ADDRESS">',
    '<img src=ADDRESS onerror="window.owned=1">',
    "<!--",
    '"onmouseover="window.owned=1"x="',
    "'onfocus='window.owned=1'autofocus tabindex=1 x='",
    "</script><script>window.owned=1</script>",
    "]]></svg></style></title></details></pre><b>",
    '"><base href=ADDRESS><link rel=stylesheet href=ADDRESS><iframe src=ADDRESS>',
    "&lt;img src=ADDRESS&gt; &#60;script&#62;",
    "<plaintext><textarea><noscript><template>",
)
SHAPE = "[...document.querySelectorAll('*')].map(each => [each.localName, ...each.getAttributeNames()].join(' '))"
OPENED = """(async () => {
  const button = document.querySelector('button.open');
  button?.click();
  while (button && !document.querySelector('tr.card-row .card')) await new Promise(done => setTimeout(done, 20));
  return button !== null;
})()"""
"""Opens the first card of a fleet, where the page is one."""
LAST = "document.querySelector('body > script').previousElementSibling"


class _Heard(ThreadingHTTPServer):
    """A server that nobody should ask."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        heard = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                heard.paths.append(self.path)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *said: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture(scope="module")
def heard() -> Iterator[_Heard]:
    with _Heard() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def of_bundle(x: str, place: Path) -> str:
    """The page of a bundle, as its reader gets it."""
    tables = {name: [filled.row_of(name, x)] for name, table in TABLES.items() if not table.derived}
    write_bundle(place, tables, version="1", redact=False)
    return html.render(triage.run([], RunOptions(bundle=place, facts_only=True), version="1"), host="h")


def pages(x: str, place: Path) -> dict[str, str]:
    ill = filled.report(x, ill=True)
    many = filled.fleet(x)
    return {
        "ill": html.render(ill, host=x),
        "clear": html.render(filled.report(x, ill=False), host=x),
        "fleet": fleet_page.html(many, {(row.scope, row.job or ""): fleet_page.pages_of(row.scope, ill)[x] for row in many.jobs[:1]}, "1"),
        "bundle": of_bundle(x, place),
    }


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_page_of_markup_is_the_page_of_plain_words(browser: chromium.Chromium, heard: _Heard, attack: str, tmp_path: Path) -> None:
    x = attack.replace("ADDRESS", f"http://127.0.0.1:{heard.server_port}/x")
    plain = re.sub(r"[^ /]", "m", x)  # of the same length, with as many words and folders: what is folded depends on them
    shapes: dict[str, list[object]] = {}
    for words in (plain, x):
        for name, page in pages(words, tmp_path / ("x" if words == x else "plain")).items():
            file = tmp_path / f"{name}.html"
            file.write_text(page, encoding="utf-8")
            browser.open(file, width=1280)
            browser.value("document.querySelectorAll('details').forEach(each => { each.open = true })")
            assert browser.value(OPENED) == (name == "fleet")
            times = browser.value(f"document.documentElement.textContent.split({words!r}).length")
            shapes.setdefault(name, []).append((browser.value(SHAPE), times))
            assert times > 10, name
            assert browser.value(f"{LAST}.checkVisibility()"), "the end of the page is to be seen"
            time.sleep(0.1)  # of a page that leads elsewhere
            assert browser.value("location.href") == file.as_uri()
            assert browser.value("typeof window.owned") == "undefined"
            assert browser.requests == [file.as_uri()]
            assert browser.complaints == []
    assert {name: first == second for name, (first, second) in shapes.items()} == dict.fromkeys(shapes, True)
    assert heard.paths == []


LINKS = (
    "[x](http://h/)", "![x](http://h/x.png)", "<http://h/>", "[x]: http://h/", "http://h/x www.h.org", "<img src=http://h/>", "<!-- x", "\\[x](http://h/)",
    "`[x](http://h/)", "` x `` <b> ```", "|[x](http://h/)|", "&#91;x](http://h/)", "***[x]***(http://h/)", "</details><details>", "~~~\n[x](http://h/)",
)  # fmt: skip
OURS = frozenset({"<details>", "</details>", "<br>", "<summary>", "</summary>"})


@pytest.mark.parametrize("x", LINKS)
def test_markdown_has_no_link_no_image_and_no_element_of_others(x: str) -> None:
    for report in (filled.report(x, ill=True), filled.report(x, ill=False)):
        for said in (markdown.render(report), markdown.summary(report)):
            left: list[Token] = MarkdownIt("commonmark").enable("table").parse(said)
            while left:
                token = left.pop()
                left += token.children or []
                assert token.type not in ("link_open", "image"), token
                if token.type == "html_inline":
                    assert token.content in OURS, token
                elif token.type == "html_block":
                    assert _elements(token.content) <= OURS, token
            bare = _without_code(said)
            assert not re.search(r"(?<!\\)://|www\.", bare), "GitHub makes a link of an address that stands bare"


def _elements(text: str) -> set[str]:
    return set(re.findall(r"<[!/a-zA-Z][^>]*>?", re.sub(r"\\.", "", text)))


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,})text\n.*?^\1$|(?<![\\`])(`+)(?!`).*?(?<!`)\2(?!`)", "", text, flags=re.M | re.S)


def test_a_string_is_text_whoever_hands_it_over() -> None:
    assert str(element("p", "<b>", element("b", "&"), None, title='"')) == '<p title="&quot;">&lt;b&gt;<b>&amp;</b></p>'
    assert str(Markup(["<b>", element("br")])) == "&lt;b&gt;<br>"
    for name, attributes in (
        ("a", {"href": "http://h/"}),
        ("img", {"src": "x"}),
        ("p", {"onclick": "x"}),
        ("p", {"style": "x"}),
        ("b onclick", {}),
    ):
        with pytest.raises(ValueError, match=r"would|no name"):
            element(name, **attributes)
