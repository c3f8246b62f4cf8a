"""What a rule of a user's own is, and how it is written: TOML, a table ``[[rule]]`` each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzers.components.toml_files import parsed
from analyzers.logs.signatures import by_id
from analyzers.logs.signatures.signature import NEVER_CAPTURED, OWN, Signature, Where
from analyzers.own_rules.patterns import Refused, understood
from analyzers.report.codes import is_code, is_own
from analyzers.report.finding import CAUSES, Severity
from analyzers.report.identity import LASTING
from analyzers.tables import LOG_EVENTS
from analyzers.tables.processes import ANY

MOST_RULES = 200
"""Of a run: each is looked for in every line."""
MOST_AT_LEAST = 100
MOST_MINUTES = 24 * 60
MOST_WORDS = 25
"""Of a headline."""
_MOST_TEXT, _MOST_STEPS, _MOST_EXAMPLE = 400, 3, 64 << 10
KEEP = (MOST_AT_LEAST, MOST_AT_LEAST)
"""First and last events that are kept: as many as any rule counts, and few beside those of diag's own signatures."""
_KEYS = (
    "code", "title", "pattern", "signature", "where", "clears", "subject", "at_least", "within_minutes", "logs_of", "severity", "cause",
    "headline", "why", "steps", "example", "counter_example",
)  # fmt: skip
_NEEDED = ("code", "headline", "steps", "example", "counter_example")
_OF_EACH = ("job", "since", "until", "times")
"""Fields that a headline and steps may name, captured or not."""
_TAKEN = frozenset(
    {"since", "until", "times", "cause", "reason", "severity", "confidence", "evidence", "others", "headline", "shown_at", "at_least"}
)
"""What facts of each finding are called."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_FIELD = re.compile(r"\{(\w+)\}")
_PART = re.compile(r"\[\[|\]\]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
_MARKUP = re.compile(r"</?[A-Za-z!][^>]*>")
_WHERE: Mapping[str, Where] = {"line": "line", "message": "message", "event": "event"}
_HEADER = re.compile(r"\s*\[\[\s*(?:rule|\"rule\"|'rule')\s*\]\]")
_NO_SUBJECT = f"no field that a subject may have: what the pattern captures as {', '.join(LASTING)}"
_FORM = "Each rule is a table [[rule]] with code, pattern = '…' (or signature = \"…\"), headline, steps, example, counter_example."


@dataclass(frozen=True)
class Fault:
    """What is wrong with a file of rules, a clause, and what to write instead; `line` of the file, where that is known."""

    place: str
    line: int | None
    says: str
    hint: str = _FORM

    def __str__(self) -> str:
        return f"{self.place}{f':{self.line}' if self.line else ''}: {self.says}"


@dataclass(frozen=True)
class OwnRule:
    """One rule. `fires` is what is looked for, `clears` what takes it back; `fields` are named groups of `fires`, and columns of its events
    that have such names. `subject`: those of them that make findings of their own. `place`: file and line, for people."""

    code: str
    title: str
    fires: Signature
    clears: Signature | None
    fields: tuple[str, ...]
    subject: tuple[str, ...]
    at_least: int
    within_minutes: int | None
    logs_of: tuple[str, ...]
    severity: Severity
    cause: str | None
    headline: str
    why: str | None
    steps: tuple[str, ...]
    example: str
    counter_example: str
    place: str

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """Those that only this rule knows, not diag's."""
        return tuple(each for each in (self.fires, self.clears) if each is not None and each.id.startswith(OWN))


@dataclass(frozen=True)
class OwnRules:
    """The rules of a run, by code."""

    rules: tuple[OwnRule, ...] = ()

    @property
    def codes(self) -> list[str]:
        return [rule.code for rule in self.rules]

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """What scans look for beside what diag knows, each once."""
        return tuple({signature.id: signature for rule in self.rules for signature in rule.signatures}.values())


@dataclass(frozen=True)
class _Table:
    """A table ``[[rule]]`` on its way to a rule; `lines`: where its keys stand. Its methods raise `_Wrong`."""

    said: Mapping[str, Any]
    place: str
    lines: Mapping[str, int]

    def wrong(self, key: str, says: str, hint: str = _FORM) -> _Wrong:
        called = self.said.get("code") if isinstance(self.said.get("code"), str) else None
        return _Wrong(Fault(self.place, self.lines.get(key, self.lines.get("")), f"{f'{called}: ' if called else ''}{says}", hint))

    def text(self, key: str, *, most: int = _MOST_TEXT, lines: bool = False) -> str | None:
        """A text; without `lines` it has one. None where it is left out."""
        value = self.said.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, f"{key} is no text")
        return self.checked(key, value if lines else value.strip(), most=most, lines=lines)

    def checked(self, key: str, value: str, *, most: int = _MOST_TEXT, lines: bool = False) -> str:
        if len(value) > most:
            raise self.wrong(key, f"{key} has {len(value):,} characters, and {most:,} are allowed", "Make it shorter.")
        if not lines and "\n" in value:
            raise self.wrong(key, f"{key} has several lines", "Write it in one.")
        if not lines and (found := _CONTROL.search(value)):
            raise self.wrong(key, f"{key} has a control character (U+{ord(found[0]):04X})", "Leave it out.")
        return value

    def number(self, key: str, most: int) -> int | None:
        value = self.said.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise self.wrong(key, f"{key} is no number from 1 to {most:,}", f"Write {key} = 3.")
        return value

    def texts(self, key: str, allowed: Collection[str] | None = None, what: str = "") -> tuple[str, ...]:
        """A list of texts, of `allowed` ones where there are such."""
        value = self.said.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            raise self.wrong(key, f"{key} is no list of texts", f'Write {key} = ["…"].')
        if allowed is not None and (strange := [each for each in value if each not in allowed]):
            raise self.wrong(key, f"{key}: {strange[0]!r} is {what}", f"There are: {', '.join(allowed) or 'none'}.")
        return tuple(dict.fromkeys(value))

    def template(self, key: str, value: str, fields: Collection[str]) -> str:
        """`value`, whose ``{field}``s are there."""
        for name in _FIELD.findall(value):
            if name not in fields:
                named = ", ".join(f"{{{each}}}" for each in fields)
                raise self.wrong(key, f"{key} names {{{name}}}, which the pattern does not capture", f"There are: {named}.")
        if re.search(r"[{}]", _FIELD.sub("", value)):
            raise self.wrong(key, f"{key} has a brace that encloses no field", "Write {name} for what (?P<name>…) captures.")
        depth = 0
        for mark in _PART.findall(value):
            depth += 1 if mark == "[[" else -1
            if depth not in (0, 1):
                break
        if depth:
            raise self.wrong(key, f"{key} has [[ and ]] that are no pairs", "A part in [[…]] is left out where a field of it is not known.")
        if value.count("`") % 2:
            raise self.wrong(key, f"{key} has a back-tick without its pair", "A command stands between two: `kubectl get pods`.")
        return value


class _Wrong(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def read(text: str, place: str) -> tuple[list[OwnRule], list[Fault]]:
    """The rules that `text`, the content of the file `place`, states, and what is wrong with others, at most one fault of each."""
    try:
        said = parsed(text)
    except (ValueError, RecursionError) as error:
        at = re.search(r"at line (\d+)", str(error))
        return [], [Fault(place, int(at[1]) if at else None, f"is no TOML: {error or 'it is nested too deeply'}")]
    if strange := sorted(set(said) - {"rule"}):
        return [], [Fault(place, None, f"{strange[0]!r} is not known there")]
    tables = said.get("rule")
    if not isinstance(tables, list) or not tables:
        return [], [Fault(place, None, "holds no rule")]
    if len(tables) > MOST_RULES:
        return [], [Fault(place, None, f"holds {len(tables):,} rules, and {MOST_RULES} are allowed", "Keep those that are still needed.")]
    found: list[OwnRule] = []
    faults: list[Fault] = []
    places = _places(text, len(tables))
    for number, table in enumerate(tables):
        try:
            found.append(_rule(table, place, places[number]))
        except _Wrong as wrong:
            faults.append(wrong.fault)
    return found, faults


def together(rules: Sequence[OwnRule]) -> tuple[OwnRules, list[Fault]]:
    """All `rules` of a run, and what they may not be together."""
    by_code: dict[str, OwnRule] = {}
    faults = []
    for rule in rules:
        if rule.code in by_code:
            place, _, line = rule.place.rpartition(":")
            faults.append(
                Fault(place, int(line), f"{rule.code} is taken by {by_code[rule.code].place}", "Give each rule a code of its own.")
            )
        by_code.setdefault(rule.code, rule)
    if len(by_code) > MOST_RULES:
        faults.append(Fault("--rules", None, f"{len(by_code):,} rules, and {MOST_RULES} are allowed", "Name fewer files."))
    return OwnRules(tuple(by_code[code] for code in sorted(by_code))), faults


def _places(text: str, count: int) -> list[dict[str, int]]:
    """Of each table the lines of its keys; key ``""``: where it begins. Nothing where that cannot be found in the text."""
    found: list[dict[str, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if _HEADER.match(line):
            found.append({"": number})
        elif found and (key := re.match(r"\s*\"?(\w+)\"?\s*=", line)):
            found[-1].setdefault(key[1], number)
    return found if len(found) == count else [{} for _ in range(count)]


def _rule(said: Any, place: str, lines: Mapping[str, int]) -> OwnRule:
    if not isinstance(said, Mapping):
        raise _Wrong(Fault(place, None, "a rule is no table"))
    table = _Table(said, place, lines)
    if strange := sorted(set(said) - set(_KEYS)):
        raise table.wrong(strange[0], f"{strange[0]!r} is not known there", f"Known are: {', '.join(_KEYS)}.")
    if missing := [key for key in _NEEDED if not said.get(key)]:
        raise table.wrong("", f"a rule has no {missing[0]}")
    code = table.text("code") or ""
    if not is_code(code):
        raise table.wrong("code", f"{code!r} is no code", "Write three to eight capitals and two to four digits: ACME101.")
    if not is_own(code):
        raise table.wrong("code", f"{code} has the letters of diag's own rules", "Take other ones, of your company, say: ACME101.")
    fires, clears = _looked_for(table)
    captured = tuple(dict.fromkeys(_fields(fires)))
    fields = (*captured, *(each for each in _OF_EACH if each not in captured))
    severity = _chosen(table, "severity", [each.value for each in Severity if each is not Severity.UNDECIDED]) or Severity.WARNING.value
    cause = _chosen(table, "cause", CAUSES)
    if severity == Severity.CRITICAL and cause is None:
        raise table.wrong("severity", "what is critical needs a cause", f"There are: {', '.join(CAUSES)}.")
    at_least, minutes = table.number("at_least", MOST_AT_LEAST) or 1, table.number("within_minutes", MOST_MINUTES)
    if at_least > sum(fires.keep):
        says = f"at_least is {at_least}, and of {fires.id} {sum(fires.keep)} lines are kept"
        raise table.wrong("at_least", says, "Ask for fewer, or write a pattern.")
    if minutes is not None and at_least == 1:
        raise table.wrong("within_minutes", "within_minutes counts, and at_least is 1", "Write at_least = 3, or leave it out.")
    headline = table.template("headline", table.text("headline") or "", fields)
    if len(headline.split()) > MOST_WORDS:
        raise table.wrong("headline", f"headline has {len(headline.split())} words, and {MOST_WORDS} are allowed", "Make it shorter.")
    title = table.text("title", most=120) or _FIELD.sub(lambda name: name[1].upper(), _PART.sub("", headline)).rstrip(".")
    for key, text in (("headline", headline), ("title", title)):
        if markup := _MARKUP.search(text):
            raise table.wrong(key, f"{key} has markup ({markup[0][:40]})", "Write plain words.")
    steps = table.texts("steps")
    if len(steps) > _MOST_STEPS:
        raise table.wrong("steps", f"there are {len(steps)} steps, and {_MOST_STEPS} are allowed", "Say first what helps most.")
    return OwnRule(
        code=code,
        title=title,
        fires=fires,
        clears=clears,
        fields=captured,
        subject=table.texts(
            "subject", [each for each in LASTING if each in captured], f"no field that a subject may have ({', '.join(LASTING)})"
        ),
        at_least=at_least,
        within_minutes=minutes,
        logs_of=table.texts("logs_of", ANY, "no process that writes logs"),
        severity=Severity(severity),
        cause=cause,
        headline=headline,
        why=table.text("why", most=4_000, lines=True),
        steps=tuple(table.template("steps", table.checked("steps", each.strip()), fields) for each in steps),
        example=table.text("example", most=_MOST_EXAMPLE, lines=True) or "",
        counter_example=table.text("counter_example", most=_MOST_EXAMPLE, lines=True) or "",
        place=f"{place}:{lines.get('', 1)}",
    )


def _looked_for(table: _Table) -> tuple[Signature, Signature | None]:
    """What the rule fires at, and what clears it."""
    pattern, named = table.text("pattern", most=1 << 20), table.text("signature")
    if (pattern is None) == (named is None):
        raise table.wrong("pattern", "a rule has a pattern or a signature, and not both")
    cleared = table.text("clears", most=1 << 20)
    clears = None if cleared is None else _signature(table, "clears", cleared)
    if named is None:
        return _signature(table, "pattern", pattern or ""), clears
    if named not in by_id:
        raise table.wrong("signature", f"diag has no signature {named}", "`noticed` of a report (-o json) names those of its lines.")
    if table.said.get("where") is not None and clears is None:
        raise table.wrong("where", "where is said of a pattern, and there is none")
    return by_id[named], clears


def _signature(table: _Table, key: str, pattern: str) -> Signature:
    where = _chosen(table, "where", list(_WHERE)) or "line"
    try:
        found = understood(pattern)
    except Refused as refused:
        raise table.wrong(key, f"{key} {refused}", refused.hint) from None
    if taken := [name for name in found.groups if name in NEVER_CAPTURED | _TAKEN or not _NAME.fullmatch(name)]:
        raise table.wrong(key, f"{key}: no group may be called {taken[0]}", "Give it another name, in small letters.")
    digest = hashlib.sha256(f"{where}\n{pattern}".encode("utf-8", "backslashreplace")).hexdigest()[:12]
    try:
        return Signature(
            f"{OWN}{digest}", found.literals, "", "a line that a rule of your own looks for", pattern, _WHERE[where], keep=KEEP
        )
    except ValueError as error:
        raise table.wrong(key, f"{key}: {str(error).partition(': ')[2]}") from None


def _chosen(table: _Table, key: str, allowed: Sequence[str]) -> str | None:
    value = table.text(key)
    if value is not None and value not in allowed:
        raise table.wrong(key, f"{key} {value!r} is not known", f"There are: {', '.join(allowed)}.")
    return value


def _fields(signature: Signature) -> Iterator[str]:
    """What events of `signature` are known by: columns, and details."""
    for name in re.findall(r"\(\?P<(\w+)>", signature.pattern or ""):
        yield from {"tp": ("topic", "partition"), "subtask1": ("subtask",)}.get(name, (name,))


COLUMNS = frozenset(LOG_EVENTS.names) - {"detail"}
"""The fields that are columns of log events; all others are details."""
