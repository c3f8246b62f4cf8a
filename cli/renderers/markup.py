"""Text and tables as HTML: nothing of the evidence is markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from cli.renderers.facts import style
from cli.renderers.wording import printable, visible

_CLASSES = {"bold red": "broken", "yellow": "risk"}


def text(words: str) -> str:
    """`words` on one line, as text and inside of quoted attributes."""
    return escape(printable(words))


def block(words: str, most: int) -> str:
    """`words` with its lines and their indentation, at most `most` characters."""
    cut = words[:most] + ("\n…" if len(words) > most else "")
    return escape("\n".join(visible(line).rstrip() for line in cut.expandtabs(4).splitlines()))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table that becomes a card per row where the screen is narrow: each cell knows its column."""
    names = [text(column) for column in columns]
    yield '<div class="wide"><table><thead><tr>' + "".join(f"<th>{name}</th>" for name in names) + "</tr></thead><tbody>"
    for row in rows:
        cells = zip(columns, names, row, strict=True)
        yield (
            "<tr>" + "".join(f'<td data-label="{name}"{_marked(column, cell)}>{text(cell)}</td>' for column, name, cell in cells) + "</tr>"
        )
    yield "</tbody></table></div>"


def _marked(column: str, cell: str) -> str:
    kind = _CLASSES.get(style(column, cell))
    return f' class="{kind}"' if kind else ""
