"""The field's words in docstrings, messages and pages: CONTRIBUTING has the table. The counts may only fall."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_DIALECT = re.compile(
    r"\b(?:told|tells|untold|nobody|somebody|whatever|given up|without a word|living brokers?|dead entr(?:y|ies))\b", re.IGNORECASE
)
MOST_IN_CODE = 225
MOST_ON_PAGES = 14


def words_in_code() -> dict[str, int]:
    """How often each room says a word of the dialect in a string: docstrings and messages."""
    found: dict[str, int] = {}
    for top in ("analyzers", "cli"):
        for path in sorted((ROOT / top).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            number = sum(len(_DIALECT.findall(text)) for text in texts)
            if number:
                room = "/".join(path.relative_to(ROOT).parts[:2])
                found[room] = found.get(room, 0) + number
    return found


def words_on_pages() -> dict[str, int]:
    pages = {path.name: len(_DIALECT.findall(path.read_text(encoding="utf-8"))) for path in (ROOT / "analyzers" / "runbooks").glob("*.md")}
    return {name: number for name, number in pages.items() if number}


def test_the_dialect_gets_less() -> None:
    code, pages = words_in_code(), words_on_pages()
    assert sum(code.values()) <= MOST_IN_CODE, code
    assert sum(pages.values()) <= MOST_ON_PAGES, pages


if __name__ == "__main__":
    print(sum(words_in_code().values()), words_in_code())
    print(sum(words_on_pages().values()), words_on_pages())
