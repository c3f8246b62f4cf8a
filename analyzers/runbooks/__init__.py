"""One page per rule, `CODE.md`: what an engineer reads, and the texts of a finding that its rule speaks.

Under ``## Fix`` stands what a finding advises: first the advice for any reason, then one ``### reason`` each. These are templates as
the other texts of a rule are (`analyzers/diagnosis/templates.py`): ``{field}`` is a column of the rule, a part in ``[[…]]`` is left out
where one of its fields is null.
"""

from __future__ import annotations

import re
from importlib import resources

SECTIONS = ("What you see", "Why", "Confirm", "Fix", "Fix in depth", "Tried", "Not this when")
"""The headings of a page, in this order; ``Fix in depth`` may be missing."""

_FIELD = re.compile(r"\{(\w+)\}")


def codes() -> tuple[str, ...]:
    """Codes that have a page, sorted."""
    return tuple(sorted(p.name.removesuffix(".md") for p in resources.files(__name__).iterdir() if p.name.endswith(".md")))


def page(code: str) -> str:
    """The page of the rule `code` as it stands in its file, Markdown. Raises ``FileNotFoundError`` where there is none."""
    return resources.files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")


def shown(code: str) -> str:
    """The page of the rule `code` for a reader: a field of a template is its name in capitals, ``{address}`` → ``ADDRESS``."""
    text = page(code)
    return "".join(
        _FIELD.sub(lambda field: field[1].upper(), part.replace("[[", "").replace("]]", "")) if part.startswith("## Fix\n") else part
        for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)
    )


def sections(text: str) -> dict[str, str]:
    """The sections of a page by their headings, in order."""
    return {heading: body.strip("\n") for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)}


def by_reason(section: str) -> dict[str, str]:
    """The texts of a section that has one per reason, each as one line; key ``""``: the one for any other reason."""
    first, *others = re.split(r"^### ", section, flags=re.MULTILINE)
    texts = {"": first} if first.strip() else {}
    for other in others:
        reason, _, text = other.partition("\n")
        texts[reason.strip()] = text
    return {reason: " ".join(text.split()) for reason, text in texts.items()}
