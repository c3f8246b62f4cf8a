"""One page per rule, `CODE.md`: what an engineer reads, and the texts of a finding that its rule speaks.

The sections of `SPOKEN` are texts of findings: first the one for any reason, then one ``### reason`` each. They are templates as
the other texts of a rule are (`analyzers/diagnosis/templates.py`): ``{field}`` is a column of the rule, a part in ``[[…]]`` is left out
where one of its fields is null. The lines of a fix that begin with a number are its steps; of several with the same number the first that
is left is meant. A line may begin with for whom it holds (`analyzers/report/advice.py`). A line ``*flink:*`` alone, under the title or a
reason of the fix, states that the rule finds this in Flink only.
"""

from __future__ import annotations

import re
from importlib import resources

from analyzers.report.advice import Line, line_of

SECTIONS = ("Headline", "What you see", "Why", "Confirm", "Fix", "No help", "Danger", "Fix in depth", "Tried", "Not this when")
"""The headings of a page, in this order."""
OPTIONAL = frozenset({"No help", "Danger", "Fix in depth"})
SPOKEN = frozenset({"Headline", "Fix", "No help", "Danger"})
"""Sections whose texts are said in findings."""

_ENGINE = re.compile(r"^\*([a-z, -]+):\*\n", re.MULTILINE)
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
    texts = texts_by_reason(section).items()
    return {reason: " ".join(re.sub(r"\s*\n\[\[", "[[ ", _ENGINE.sub("", text).strip()).split()) for reason, text in texts}


def advice_by_reason(section: str) -> dict[str, tuple[Line, ...]]:
    """The lines of the texts of a section that has one per reason."""
    return {
        reason: tuple(line_of(line.strip()) for line in _ENGINE.sub("", text).split("\n") if line.strip())
        for reason, text in texts_by_reason(section).items()
    }


def engines_by_reason(code: str) -> dict[str, tuple[str, ...]]:
    """The engine (and what stands beside it) that the rule `code` finds this in, by reason, where it is always the same; key ``""``: for
    any other reason."""
    title, _, rest = page(code).partition("\n## ")
    fixes = texts_by_reason(sections(f"## {rest}").get("Fix", ""))
    return {reason: tuple(found[1].split(", ")) for reason, text in (("", title), *fixes.items()) if (found := _ENGINE.search(f"{text}\n"))}


def texts_by_reason(section: str) -> dict[str, str]:
    first, *others = re.split(r"^### ", section, flags=re.MULTILINE)
    texts = {"": first} if first.strip() else {}
    for other in others:
        reason, _, text = other.partition("\n")
        texts[reason.strip()] = text
    return texts
