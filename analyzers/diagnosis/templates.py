"""The sentences of rules: templates with the facts of a finding filled in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from analyzers.report.commands import CODE, NOTE, within_back_ticks
from analyzers.report.durations import span

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Text


_OPTIONAL_PART = re.compile(r"\[\[(.*?)\]\]", re.S)
_FIELD = re.compile(r"\{(\w+)")
_COUNTED = re.compile(r"(?P<number>\{(?P<count>\w+)\})(?P<what>(?: [\w-]+){1,3})\(s\)(?P<verb> (?:were|are|have|do|stand|lie|wait|end)\b)?")
_OF_ONE = {" were": " was", " are": " is", " have": " has", " do": " does"}


BRIEF_WORDS, BRIEF_LETTERS = 10, 100  # of a value in a headline, which has 25 words in all
_SAFE = re.compile(r"[\w@%+=:,./-]*", re.ASCII)  # what shlex leaves without quotes
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_:,…]*")
_ACTS = re.compile(r"[`$;&|\r\n]")  # what a shell that knows no notes would act upon
TYPED = frozenset({"shown_at"})
"""Fields that hold a part of a command, quoted already."""


def fill(text: Text | None, reason: str | None, facts: Mapping[str, Any], *, command: bool = False, brief: bool = False) -> str | None:
    """The template of `reason`, filled in; a ``[[…]]`` part with a null field is left out.

    What a log or a broker says is quoted for a shell wherever a command stands: in all of a `command`, and between back-ticks. `brief`:
    of a value of many words, such as an exception's message, the first ones.
    """
    if isinstance(text, Mapping):
        text = text.get(reason or "", text.get(""))
    if text is None:
        return None

    shown = {name: _shown(value) for name, value in facts.items()}
    lengths = {name.removesuffix("_seconds") + "_shown": value for name, value in facts.items() if name.endswith("_seconds")}
    if brief:
        shown = {name: _brief(words) for name, words in shown.items()}
    shown |= {name: span(timedelta(seconds=value)) for name, value in lengths.items() if isinstance(value, int | float)}
    if facts.get("subtask") is not None:
        of = facts.get("parallelism")
        shown["subtask_shown"] = f"({facts['subtask'] + 1}/{of})" if of else f"#{facts['subtask']} (from 0)"
    known = {**lengths, **facts, "subtask_shown": shown.get("subtask_shown")}
    text = _OPTIONAL_PART.sub(lambda m: "" if any(known.get(n) in (None, "", []) for n in _FIELD.findall(m.group(1))) else m.group(1), text)
    least = facts.get("at_least") or ()
    text = _COUNTED.sub(lambda m: ("at least " if m["count"] in least else "") + _counted(m, shown.get(m["count"], "")), text)
    parts = [text] if command else CODE.split(text)
    said = _Shown({name: value.replace("`", "'") for name, value in shown.items()})  # what a log says never looks like a command of ours
    filled = "".join(
        _typed(part, facts, shown, code=not command) if command or number % 2 else part.format_map(said)
        for number, part in enumerate(parts)
    )
    return filled.replace("….", "…").strip() or None


def _typed(template: str, facts: Mapping[str, Any], shown: Mapping[str, str], *, code: bool) -> str:
    """A command with its values in quotes where a shell needs them; within quotes of its own they lose what could end these.

    `code`: it stands between back-ticks, so that no value may hold one as it is.
    In the note, what a shell acts upon is quoted, too: zsh reads notes as words.
    """
    typed, note, purpose = template.partition(NOTE)
    out, at = [], 0
    for field in re.finditer(r"\{(\w+)\}", typed):
        before = typed[: field.start()]
        quoted = before.count("'") % 2 or before.count('"') % 2
        value = _value(field[1], facts, shown, within=bool(quoted))
        out.append(typed[at : field.start()] + (within_back_ticks(value) if code else value))
        at = field.end()
    harmless = {name: shlex.quote(value) if _ACTS.search(value) else value for name, value in shown.items()}
    purpose = " ".join(purpose.format_map(_Shown(harmless)).split())
    return "".join([*out, typed[at:]]) + note + (f" {purpose}" if purpose else "")


def _value(name: str, facts: Mapping[str, Any], shown: Mapping[str, str], *, within: bool) -> str:
    value = facts.get(name)
    text = ",".join(map(str, value)) if isinstance(value, list) else shown.get(name, "(unknown)")
    if name in TYPED or _SAFE.fullmatch(text) or _PLACEHOLDER.fullmatch(text):
        return text
    return re.sub(r"[^\w@%+=:,./-]", "_", text, flags=re.ASCII) if within else shlex.quote(text)


class _Shown(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "(unknown)"


def _shown(value: Any) -> str:
    if value is None:
        return "(unknown)"
    if isinstance(value, datetime):
        return utc(value).strftime("%Y-%m-%d %H:%M:%S")  # type: ignore[union-attr]  # never None here
    if isinstance(value, list):
        return ", ".join(_shown(v) for v in value[:8]) + (f" and {len(value) - 8} more" if len(value) > 8 else "")
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _brief(words: str) -> str:
    """At most `BRIEF_WORDS` words, and no more than `BRIEF_LETTERS` letters."""
    few = " ".join(words.split()[:BRIEF_WORDS])
    few = few if len(few) <= BRIEF_LETTERS else few[: BRIEF_LETTERS - 1].rsplit(" ", 1)[0]
    return few if len(few) >= len(" ".join(words.split())) else f"{few.rstrip('.,:;')}…"


def _counted(found: re.Match[str], number: str) -> str:
    """``{failures} failure(s) were`` as it is said of so many; what is no number stays as it is."""
    verb = found["verb"] or ""
    if not number.replace(",", "").isdigit():
        return found[0]
    if number == "1":
        return found["number"] + found["what"] + (_OF_ONE.get(verb, f"{verb}s") if verb else "")
    return f"{found['number']}{found['what']}s{verb}"


def utc(value: datetime | None) -> datetime | None:
    """`value` with its zone, UTC; what has none is UTC."""
    if value is None:
        return None
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
