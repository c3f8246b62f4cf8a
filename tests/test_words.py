"""The field's words in docstrings, messages and pages: CONTRIBUTING has the table. The counts may only fall."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from analyzers.logs.signatures import SIGNATURES
from analyzers.logs.signatures.meanings import MEANINGS
from analyzers.rules.catalogue import load_rules

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


_BRITISH = re.compile(r"\b(?:time-outs?|deserialis\w+|serialis\w+|recognis\w+|behaviours?|initialis\w+)\b", re.IGNORECASE)
"""Words that the documentation of Kafka, Flink and Spark spells otherwise: timeout, deserialize, recognize, behavior."""


def test_users_read_the_words_as_the_documentation_spells_them() -> None:
    """On pages (without reasons, quoted lines, code and the names of incidents), and in what rules and signatures say."""
    british = {}
    for path in sorted((ROOT / "analyzers" / "runbooks").glob("*.md")):
        prose = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(("### ", "    ", "- Seen "))]
        british[path.name] = _BRITISH.findall(re.sub(r"`[^`]*`|\*[\w-]+\*", "", "\n".join(prose)))
    for rule in load_rules():
        texts = (rule.says, rule.inferred, rule.missing, rule.next_command, rule.title)
        spoken = [each for text in texts for each in (text.values() if isinstance(text, Mapping) else [text or ""])]
        british[f"rule {rule.code}"] = _BRITISH.findall("\n".join(spoken))
    british["signatures"] = [word for each in SIGNATURES for word in _BRITISH.findall(f"{each.says} {MEANINGS.get(each.id, '')}")]
    assert {where: words for where, words in british.items() if words} == {}


if __name__ == "__main__":
    print(sum(words_in_code().values()), words_in_code())
    print(sum(words_on_pages().values()), words_on_pages())
