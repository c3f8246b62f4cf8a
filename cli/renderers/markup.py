"""The one door to a page: text becomes markup here and nowhere else, and is escaped on its way.

A renderer builds elements with `element`. What it hands over as a string is text, however it looks; only `Markup`, which this module alone
makes, is taken as it is. So a string that is not escaped yet is escaped, and an element is closed as it was opened.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Sequence
from html import escape

from cli.renderers.facts import style
from cli.renderers.html_style import dressed
from cli.renderers.wording import printable, visible

_CLASSES = {"bold red": "broken", "yellow": "risk"}
_EMPTY = frozenset({"br", "meta", "link", "input"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_LEADS = frozenset({"href", "src", "action", "srcset"})
"""Attributes that a browser follows or loads: they lead to a place on the same page only."""


class Markup:
    """A piece of a page, whose elements are ours. Made by `element`, `text`, `block` and `joined`."""

    __slots__ = ("_html",)

    def __init__(self, parts: Iterable[Part] = ()) -> None:
        self._html = "".join(map(_html, parts))

    def __len__(self) -> int:
        """The bytes that it takes of the page."""
        return len(self._html.encode("utf-8", "replace"))

    def __str__(self) -> str:
        return self._html


Part = Markup | str
"""What an element holds: markup as it is, or a string, which is text."""


def _html(part: Part) -> str:
    return part._html if isinstance(part, Markup) else escape(visible(part))


def _taken(html: str) -> Markup:
    """`html` as it is; never called with words of others."""
    made = Markup()
    made._html = html
    return made


def joined(parts: Iterable[Part], between: str = "") -> Markup:
    """`parts` one behind the other, with the text `between`."""
    return _taken(_html(between).join(map(_html, parts)))


def lines(parts: Iterable[Part]) -> Markup:
    """`parts` one below the other, in the source of the page only."""
    return _taken("\n".join(map(_html, parts)))


def text(words: str) -> Markup:
    """`words` on one line."""
    return _taken(escape(printable(words)))


def block(words: str, most: int) -> Markup:
    """`words` with its lines and their indentation, at most `most` characters."""
    return _taken(escape(_block(words, most)))


def _block(words: str, most: int) -> str:
    cut = words[:most] + ("\n…" if len(words) > most else "")
    return "\n".join(visible(line).rstrip() for line in cut.expandtabs(4).splitlines())


def element(name: str, *parts: Part | None, **attributes: str | float | bool | None) -> Markup:
    """``<name attribute="…">parts</name>``. Of an attribute's name ``_`` is ``-``, at its end nothing; True is a bare name, None nothing.

    Raises ValueError for a link that leads off the page.
    """
    inner = "".join(_html(part) for part in parts if part is not None)
    begin = f"<{_named(name)}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return _taken(begin if name in _EMPTY else f"{begin}{inner}</{name}>")


def _named(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an element or attribute")
    return name


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = _named(key.rstrip("_").replace("_", "-"))
    if name.startswith("on") or name == "style":
        raise ValueError(f"{name} would run on the page")
    if name in _LEADS and not str(value).startswith("#"):
        raise ValueError(f"{name} would lead off the page")
    return f" {name}" if value is True else f' {name}="{escape(_block(str(value), len(str(value))))}"'


def page(title: str, parts: Iterable[Part], more: str | None = None) -> str:
    """The whole page: nothing is loaded, and the policy stands before anything that the evidence says. `more`: as of `dressed`."""
    styles, script, policy = dressed(more)
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="viewport" content="width=device-width">'
        f'<link rel="icon" href="data:,">{element("title", text(title))}<style>{styles}</style>'
    )
    body = f"{lines(parts)}\n<script>{script}</script>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}</body></html>\n'


def packed(markup: Markup) -> str:
    """`markup` as a word that the script of a page unpacks; it takes a third of the bytes, and costs a browser nothing until then."""
    return base64.b64encode(zlib.compress(str(markup).encode("utf-8", "replace"), 9)).decode()


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table that becomes a card per row where the screen is narrow: each cell knows its column."""
    names = [printable(column) for column in columns]
    body = (element("tr", *(_cell(*cell) for cell in zip(columns, names, row, strict=True))) for row in rows)
    head = element("thead", element("tr", *(element("th", name) for name in names)))
    return element("div", element("table", head, element("tbody", *body)), class_="wide")


def _cell(column: str, name: str, cell: str) -> Markup:
    return element("td", text(cell), data_label=name, class_=_CLASSES.get(style(column, cell)))
