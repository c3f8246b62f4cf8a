"""What the logs hold beside the findings: every WARN, ERROR and fault, counted by kind, with what it means and what would decide."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from analyzers.derived.failures.log_messages import message
from analyzers.derived.failures.progress import COMPLETED
from analyzers.diagnosis.asked_failures import asked_failures
from analyzers.diagnosis.asking import lead
from analyzers.diagnosis.explanations import Explanations, Key, rules_by_code
from analyzers.diagnosis.findings import to_read
from analyzers.diagnosis.looked_at import counts_of, states_shown
from analyzers.diagnosis.next_commands import Places
from analyzers.diagnosis.related_rules import related_rule
from analyzers.diagnosis.standing_out import StandsOut, standing_out
from analyzers.diagnosis.templates import fill
from analyzers.diagnosis.work_since import Work
from analyzers.logs.scan.remarks import is_reported
from analyzers.logs.scan.selection import ERROR_LOGGED, EXCEPTION_LOGGED, REMARK, mask, with_values
from analyzers.logs.signatures import ANYBODYS, by_id
from analyzers.logs.signatures.meanings import GOES_ON, MEANINGS, NORMAL
from analyzers.logs.signatures.signature import OWN
from analyzers.report.durations import counted
from analyzers.report.finding import SUBJECT_KEYS, Evidence, Finding
from analyzers.report.noticed import REPORTED, WENT_ON, Noticed
from analyzers.report.report import Verdict
from analyzers.tables import STANDING_VALUES, Row
from analyzers.tables.by_column import column

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule

Tables = Mapping[str, Sequence[Row]]

_LEVELS = ("WARN", "ERROR", "FATAL")
_UNKNOWN = {
    ERROR_LOGGED: "An error that diag does not know.",
    EXCEPTION_LOGGED: "An exception, logged as a warning, that diag does not know.",
}
_MOST_EVIDENCE = 5
_MOST_VALUES = 5  # of one key of a subject: of more none is named
_MOST_UNKNOWN = 50  # shapes of one scope
_SAID, _TOLD = 200, 320
_BEFORE_ROOT = 110
_NOT_NAMED = frozenset({"execution", "attempt"})
_OF_ONE_VALUE = ("offset", "checkpoint", "client")
"""Keys that are named only where all events have one value: of several the list says little."""
_WITHIN = (("partition", "topic"), ("offset", "partition"), ("subtask", "task"), ("parallelism", "subtask"))
"""Keys that say nothing where there is not one value of the other."""
_REASONS = ("error", "because", "cause", "reason", "problem", "what", "message")
"""Captures of signatures that say why."""
_EPOCH = datetime.fromtimestamp(0, timezone.utc)


def noticed(
    tables: Tables, findings: Sequence[Finding], verdicts: Sequence[Verdict], places: Places, judged: Sequence[Rule] = ()
) -> list[Noticed]:
    """A row per scope, job and kind of event: errors that nothing explains first, then by time. `judged`: the rules of the run."""
    own = {signature: rule for rule in judged for signature in rule.scanned}
    groups: dict[Key, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if (kind := _kind(event)) is not None:
            signature, shape = kind
            groups[event["scope"], event["job"], signature, shape].append(event)
    asked: dict[int, str] = {}
    for table, event in asked_failures(tables):
        groups[event["scope"], event["job"], event["signature"], ""].append(event)
        asked[id(event)] = table
    numbers = _numbers(groups, tables)
    work, causes = Work(tables), Explanations(tables, findings, verdicts)
    survived = {_place(event) for event in tables.get("log_events", ()) if event["signature"] in GOES_ON}
    rows = [_row(key, groups[key], number, work, causes, places, asked, own) for key, number in numbers.items()]
    rows = [replace(row, normal=row.normal or _survived(groups[key], survived)) for key, row in zip(numbers, rows, strict=True)]
    rows += _standing(tables, verdicts)
    return sorted(_standing_out(tables, rows, verdicts), key=order)


def _standing(tables: Tables, verdicts: Sequence[Verdict]) -> list[Noticed]:
    """Numbers that stand still, of scopes without a verdict."""
    judged = {verdict.scope for verdict in verdicts}
    return [
        Noticed(
            STANDING_VALUES.name, None, _stands(row), _STANDS_ALONE if row["siblings"] else _STANDS,
            row["lines"], row["at"], row["last_at"], {},
            (Evidence(STANDING_VALUES.name, row["file"], row["line"], row["at"], row["text"]),), None, row["scope"], row["job"],
            telling=True, stands=f"{row['name']} {row['value']}", loss=bool(row["siblings"]),
        )
        for row in tables.get(STANDING_VALUES.name, ())
        if row["scope"] not in judged
    ]  # fmt: skip


def _stands(row: Row) -> str:
    record = "" if row["siblings"] else f" ({row['text']})"  # which line it is the names of its numbers say
    others = f" while {row['siblings']} others of that line move" if row["siblings"] else ""
    return f"{row['name']} {row['value']} stands{others}; before: {', '.join(row['moved'])}{record}"[:_TOLD]


def _standing_out(tables: Tables, rows: Sequence[Noticed], verdicts: Sequence[Verdict]) -> list[Noticed]:
    """`rows`, with those marked that say most of a scope that has no verdict, and the remarks that do."""
    marked, added = {id(row): row for row in rows}, []
    places = {(row.scope, one.file, one.line): row for row in rows for one in row.evidence}
    judged = {verdict.scope for verdict in verdicts}
    for scope, own in standing_out(tables, judged).items():
        best = lead(own)
        for each in own:
            known = places.get((scope, each.row["file"], each.row["line"]))
            more: dict[str, Any] = {}
            if best is not None and each is best[0]:
                more = {"inferred": best[1], "steps": best[2]}
            if known is not None:
                says = _said(each.row) if known.signature not in _UNKNOWN else known.says
                marked[id(known)] = replace(marked[id(known)], telling=True, says=says, loss=each.loss, **more)
            elif each.row.get("signature") is None:
                added.append(replace(_remark(each), **more))
    return [*marked.values(), *added]


def _said(row: Row) -> str:
    """What a line says, with the values that a logger prints below it."""
    first, *below = (row["text"] or "").split("\n")
    values = [line.strip() for line in below if line.startswith("    with ")]
    root, before = row.get("root_message"), (row.get("detail") or {}).get("before")
    said = [message({**row, "text": first}), *values, *([root] if root else []), *([f"(before each: {before})"] if before else [])]
    return " ".join(said)[:_TOLD]


def _remark(each: StandsOut) -> Noticed:
    row = each.row
    evidence = (Evidence("log_remarks", row["file"], row["line"], row["at"], row["text"]),)
    note = row["level"] is None and row["at"] is None and is_reported(row["text"] or "")
    means = REPORTED if note else _LOSS if each.loss else _REMARK
    return Noticed(
        REMARK, None, _said(row), means, each.times or 1, row["at"], each.last, {}, evidence, row["level"], row["scope"], row["job"],
        loss=each.loss, telling=True,
    )  # fmt: skip


_STANDS = "It moved from line to line before; the lines go on to the end of the log."
_STANDS_ALONE = "Nothing more comes of this one: read the error that names it, or restart what reads it."
_REMARK = "No rule knows this line."
_LOSS = "Something was dropped, refused or not done; no rule says what that means here."


def _survived(events: Sequence[Row], survived: set[tuple[str, str, int]]) -> bool:
    """Whether the line above each of these exceptions says that its task goes on."""
    return bool(events) and all(_place(event) in survived for event in events)


def _place(event: Row) -> tuple[str, str, int]:
    return event["scope"], event["file"], event["line"]


def order(row: Noticed) -> tuple[object, ...]:
    """What is open first; of the kinds of one line the one that says most."""
    weight = (not row.is_open, not row.is_error, row.explained_by is not None, row.normal)
    return (*weight, row.first or _EPOCH, row.signature in ANYBODYS, row.signature, row.says)


def _kind(event: Row) -> tuple[str, str] | None:
    """Signature and shape of what is noticed, None for a step of a life cycle."""
    signature = event["signature"]
    if signature in _UNKNOWN:
        return signature, f"{event['logger'] or ''} {event['root_exception'] or ''} {mask(message(event))}"
    return (signature, "") if signature in MEANINGS or event["level"] in _LEVELS else None


def _numbers(groups: Mapping[Key, Sequence[Row]], tables: Tables) -> dict[Key, int]:
    """How many events each group has: those of which rows were kept, and what was only counted where it can be of no other group."""
    counts = tables.get("log_counts", ())
    totals: Counter[tuple[str, str]] = Counter()
    for scope, signature, events in zip(*(column(counts, name) for name in ("scope", "signature", "events")), strict=True):
        totals[scope, signature] += events
    alike: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in groups:
        alike[key[0], key[2]].append(key)
    numbers: dict[Key, int] = {}
    for (scope, signature), keys in alike.items():
        kept = {key: len(groups[key]) for key in keys}
        whole = signature in MEANINGS or signature in _UNKNOWN  # else its events at INFO are counted, too
        beyond = totals[scope, signature] - sum(kept.values()) if whole else 0
        largest = max(keys, key=lambda key: kept[key])
        many = [key for key in keys if kept[key] * 2 >= kept[largest]]
        if beyond > 0 and len(many) == 1:
            kept[largest] += beyond
        elif beyond > 0:
            numbers[scope, None, signature, ""] = beyond
        shown = sorted(keys, key=lambda key: -kept[key])[: _MOST_UNKNOWN if signature in _UNKNOWN else None]
        numbers |= {key: kept[key] for key in shown}
        if left := sum(kept[key] for key in keys) - sum(kept[key] for key in shown):
            numbers[scope, None, signature, ""] = numbers.get((scope, None, signature, ""), 0) + left
    return numbers


def _row(
    key: Key,
    events: Sequence[Row],
    number: int,
    work: Work,
    causes: Explanations,
    places: Places,
    asked: Mapping[int, str],
    own: Mapping[str, Rule],
) -> Noticed:
    scope, job, signature, _ = key
    at = [event["at"] for event in events if event["at"]]
    first, last = min(at, default=None), max(at, default=None)
    fault = causes.fault_of(events)
    code = own[signature].code if signature in own else related_rule(signature, fault.id if fault else None)
    subject = _subject(events)
    level = max((event["level"] for event in events if event["level"] in _LEVELS), key=_LEVELS.index, default=None)
    newest = max(events, key=lambda event: (event["at"] or _EPOCH, event["seq"] or 0), default=None)
    row = Noticed(
        signature,
        code,
        _says(signature, events, number, newest),
        _means(signature, own),
        number,
        first,
        last,
        subject,
        tuple(Evidence(asked.get(id(e), "log_events"), e["file"], e["line"], e["at"], e["text"] or "") for e in _shown(events)),
        level or (events[0]["level"] if events else None),
        scope,
        job,
        signature in NORMAL,
        causes.explained_by(key, events, code, fault),
        work.completed_since(scope, job, last),
        work.over_before(scope, job, first),
    )
    return replace(row, next_command=places.completed(_command(row) or (to_read(row.evidence) if row.is_error else None), row))


def _means(signature: str, own: Mapping[str, Rule]) -> str:
    if signature.startswith(OWN):
        return own[signature].title if signature in own else "A rule of your own looks for it, which this run was not given (--rules)."
    return MEANINGS.get(signature) or _UNKNOWN.get(signature) or by_id[signature].says


def _shown(events: Sequence[Row]) -> list[Row]:
    """The first ones and the last."""
    if len(events) <= _MOST_EVIDENCE:
        return list(events)
    return [*events[: _MOST_EVIDENCE - 1], events[-1]]


def _says(signature: str, events: Sequence[Row], number: int, newest: Row | None) -> str:
    if newest is None:
        return "further ones, of which only the number is known"
    if signature.startswith(OWN):
        return message(newest)[:_SAID] or "an empty message"
    if signature in _UNKNOWN:
        # which partition, which id: the number is the fact, unless there are too many to name, or some were only counted
        said = message(newest) if number == 1 else mask(message(newest))
        if 1 < number == len(events):
            said = with_values([message(event) for event in events])
        root = newest["root_message"] or ""
        before = next((each["detail"]["before"] for each in events if (each["detail"] or {}).get("before")), None)
        if root and root not in said:  # what was thrown says why
            said = f"{said[:_BEFORE_ROOT]}: {str(newest['root_exception']).rpartition('.')[2]}: {root}"[:_TOLD]
            return f"{said} (before each: {before})" if before else said
        if before:
            return f"{said[:_SAID]} (before each: {before})"
        return said[:_SAID] or (newest["root_exception"] or "an empty message")
    detail = newest["detail"] or {}
    why = next((str(detail[name]) for name in _REASONS if detail.get(name) not in (None, "", "null")), None)
    if why is None and newest["root_exception"]:
        kind = newest["root_exception"].rpartition(".")[2]
        why = ": ".join(each for each in (kind, newest["root_message"]) if each not in (None, "", "null"))
    words = signature.replace("-", " ")
    return words if why is None else f"{words}: {' '.join(why.split())}"[:_SAID].rstrip(" .")


def _subject(events: Sequence[Row]) -> dict[str, object]:
    """What the events agree on, or the few values that they have."""
    found: dict[str, list[object]] = {}
    for name in SUBJECT_KEYS:
        if name not in _NOT_NAMED:
            source = "root_exception" if name == "exception" else name
            values = dict.fromkeys([event.get(source) for event in events])
            values.pop(None, None)
            found[name] = list(values)
    found["broker"] = [
        broker for broker in found["broker"] if isinstance(broker, int) and broker >= 0
    ]  # of others only the address is known
    for part, whole in _WITHIN:
        if len(found[whole]) != 1:
            found[part] = []
    for name in _OF_ONE_VALUE:
        if len(found[name]) > 1:
            found[name] = []
    return {
        name: values[0] if len(values) == 1 else sorted(values, key=lambda value: (isinstance(value, str), value))
        for name, values in found.items()
        if 0 < len(values) <= _MOST_VALUES
    }


def _command(row: Noticed) -> str | None:
    """The command of the rule that such lines are about, where the lines name all that it needs."""
    rule = rules_by_code().get(row.code or "")
    if rule is None or rule.next_command is None:
        return None
    facts = {**row.subject, "job": row.job}
    command = fill(rule.next_command, None, facts, command=True)
    return None if command is None or "(unknown)" in command or not command.startswith("diag ") else command


NO_WORK = " and nothing that shows a job at work"
FRAGMENT = 30
"""Lines: fewer show no job at work, unless checkpoints or batches are completed in them."""


def _works(tables: Tables) -> bool:
    """Whether states of other tools show a job at work."""
    moves = any(row["reason"] in ("moves", "stands") for row in tables.get("group_moments", ()))
    return moves or any(row["works"] for row in tables.get("sources", ()))


def fragment(tables: Tables, elsewhere: bool) -> str | None:
    """What there was to read, where that is too little for any verdict; `elsewhere`: something else than logs was looked at."""
    files = [row for row in tables.get("log_files", ()) if row["lines"]]
    states = [row for row in tables.get("sources", ()) if row["kind"] == "states"]
    lines = sum(row["lines"] for row in files)
    if elsewhere or not (files or states) or lines >= FRAGMENT or _works(tables):
        return None
    done = sum(event["signature"] in COMPLETED for event in tables.get("log_events", ()))
    if done >= WENT_ON:
        return None
    shown = sorted(states_shown(counts_of(tables)), key=lambda each: each.partition(" ")[2])
    if files:
        shown.append(f"{counted(lines, 'line')}, {counted(len(files), 'process', 'processes')}")
    return ", ".join(shown) + (NO_WORK if states else "")
