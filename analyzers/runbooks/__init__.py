"""One page per rule, `CODE.md`: what an engineer reads, and the texts of a finding that its rule speaks.

The sections of `SPOKEN` are texts of findings: first the one for any reason, then one ``### reason`` each. They are templates as
the other texts of a rule are (`analyzers/diagnosis/templates.py`): ``{field}`` is a column of the rule, a part in ``[[…]]`` is left out
where one of its fields is null. The lines of a fix that begin with a number are its steps; of several with the same number in ``[[…]]``
one is meant to be left.
"""

from __future__ import annotations

import re
from importlib import resources

SECTIONS = ("Headline", "What you see", "Why", "Confirm", "Fix", "No help", "Danger", "Fix in depth", "Tried", "Not this when")
"""The headings of a page, in this order."""
OPTIONAL = frozenset({"No help", "Danger", "Fix in depth"})
SPOKEN = frozenset({"Headline", "Fix", "No help", "Danger"})
"""Sections whose texts are said in findings."""

_STEP = re.compile(r"^(\[\[)?\d+\. +(.+)", re.MULTILINE)
_FIELD = re.compile(r"\{(\w+)\}")


def codes() -> tuple[str, ...]:
    """Codes that have a page, sorted."""
    return tuple(sorted(p.name.removesuffix(".md") for p in resources.files(__name__).iterdir() if p.name.endswith(".md")))


def page(code: str) -> str:
    """The page of the rule `code` as it stands in its file, Markdown. Raises ``FileNotFoundError`` where there is none."""
    return resources.files(__name__).joinpath(f"{code}.md").read_text(encoding="utf-8")


def shown(code: str) -> str:
    """The page of the rule `code` for a reader: a field of a template is its name in capitals, ``{address}`` → ``ADDRESS``."""
    parts = re.split(r"^(?=## )", page(code), flags=re.MULTILINE)
    return "".join(_readable(part) if part[3:].partition("\n")[0] in SPOKEN else part for part in parts)


def _readable(template: str) -> str:
    return _FIELD.sub(lambda field: field[1].upper(), template.replace("[[", "").replace("]]", ""))


def sections(text: str) -> dict[str, str]:
    """The sections of a page by their headings, in order."""
    return {heading: body.strip("\n") for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)}


def by_reason(section: str) -> dict[str, str]:
    """The texts of a section that has one per reason, each as one line; key ``""``: the one for any other reason."""
    return {reason: " ".join(re.sub(r"\s*\n\[\[", "[[ ", text.strip()).split()) for reason, text in texts_by_reason(section).items()}


def steps_by_reason(section: str) -> dict[str, tuple[str, ...]]:
    """The numbered lines of the texts of a section that has one per reason, without their numbers."""
    return {reason: tuple("".join(step) for step in _STEP.findall(text)) for reason, text in texts_by_reason(section).items()}


def texts_by_reason(section: str) -> dict[str, str]:
    first, *others = re.split(r"^### ", section, flags=re.MULTILINE)
    texts = {"": first} if first.strip() else {}
    for other in others:
        reason, _, text = other.partition("\n")
        texts[reason.strip()] = text
    return texts
