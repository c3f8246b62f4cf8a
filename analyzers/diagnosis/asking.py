"""What the words of a failure ask for, where its class does not say it: headline, steps and a probable cause, all of it inferred."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analyzers.causal.asks import Asks, asks_of, facts_of
from analyzers.causal.words import Said
from analyzers.components.programs import Program, of_role, program_of
from analyzers.derived.failures.log_messages import first_line
from analyzers.diagnosis.standing_out import StandsOut
from analyzers.diagnosis.templates import fill
from analyzers.inference import Inference, infer
from analyzers.report.advice import held_steps
from analyzers.report.effects import EFFECTS, OF_CAUSE
from analyzers.report.finding import Finding
from analyzers.report.report import Because, Verdict

MOST_STEPS = 3
_MOST_OF_MECHANISM = 2
_REFUSALS = frozenset({"access", "conflict", "data", "expired", "fenced", "missing", "program", "refused", "setting"})
"""Kinds of failure in which the called service answered, and will answer so again."""
_ANSWERS = _REFUSALS | {"exhausted", "full", "gone", "memory"}
"""Kinds in which it answered, and may answer otherwise once there is room."""
_WEAK = frozenset({"stopped", "unavailable", "unanswered", "data", "program"})
"""Kinds that are read from words too common to explain another line."""
_EXPLAIN = frozenset({"access", "damaged", "expired", "fenced", "full", "gone", "memory"})
"""Kinds that explain another failure without a mechanism."""
_CALLS = frozenset({"call-unanswered", "call-refused", "record-fails"})


def inferred_as(verdict: Verdict, inferred: Inference, said: Said, main: Finding, program: Program) -> Verdict:
    """`verdict` with the headline and steps of what its words tell of, where its class is only that no rule knows the failure."""
    asks = asks_of(said.words, inferred.kind)
    if asks is None or main.cause != "other" or main.reason not in (None, "unknown") or inferred.role == "user":
        return verdict
    task, subtask, parallelism = (verdict.subject.get(key) for key in ("task", "subtask", "parallelism"))
    place = f", in {task}" if isinstance(task, str) else ""
    if place and isinstance(subtask, int) and isinstance(parallelism, int):
        place += f" ({subtask + 1}/{parallelism})"
    headline = f"Inferred: {inferred.called} {_clause(asks, said.words)}{place}."
    own = tuple(step for step in verdict.steps if step not in main.steps)
    steps = _steps(asks, program, said.words, called=inferred.called)
    return replace(verdict, headline=headline, says=f"{headline} {verdict.says}", steps=(*own, *steps)[:MOST_STEPS], certainty="inferred")


def refused_as(verdict: Verdict, inferred: Inference, effect: str, said: Said, program: Program) -> Verdict:
    """`verdict` as of a service that answered and said no, where its class takes it for one that does not answer."""
    asks = asks_of(said.words, inferred.kind)
    specific = asks is not None and asks.specific and not asks.symptom and not asks.is_named_in(_page_of(verdict))
    if effect == "record-fails" and inferred.role == "kafka":  # the record is at fault, and Kafka only gave it
        return verdict
    if asks is None or not ((effect == "call-unanswered" and inferred.kind in _ANSWERS) or (effect in _CALLS and specific)):
        return verdict
    lasting = inferred.kind in _REFUSALS
    task = verdict.subject.get("task")
    place = f", asked by {task}" if isinstance(task, str) else ""
    service = inferred.system or "The service that is called"
    waiting = "; it will not recover by waiting" if lasting else ""
    headline = f"{service[0].upper()}{service[1:]} {_clause(asks, said.words)}{place}{waiting}."
    return replace(
        verdict,
        headline=headline,
        says=f"{headline} {verdict.says}",
        steps=_steps(asks, program, said.words, called=inferred.called),
        no_help="Waiting, or a restart: the same call is refused again" if lasting else verdict.no_help,
        missing=None,
        certainty="inferred",
    )


def _page_of(verdict: Verdict) -> str:
    """What the page of a verdict says, without the words of the failure that stand in it."""
    return " ".join((_QUOTED.sub(" ", verdict.headline or verdict.says), *verdict.steps))


_CLAUSE = 32
"""Letters in a row: a clause, more than a name that both have."""
_QUOTED = re.compile(r"\([^()]*\)|: \w+(?:Exception|Error)\b.*")


def by_mechanism(verdict: Verdict, said: Said, program: Program) -> Verdict:
    """`verdict` with what its own words show of a mechanism that its page says nothing of: the page's steps would mend another fault."""
    asks = asks_of(f"{said.thrown}: {said.words}")
    if asks is None or not asks.specific or asks.symptom or asks.effect or said.thrown is None:
        return verdict
    page = " ".join((verdict.headline or verdict.says, *verdict.steps, verdict.no_help or "", verdict.danger or ""))
    if asks.is_named_in(page.replace(said.words, " ")) or _clause(asks, said.words) in page:
        return verdict
    headline = f"{(verdict.headline or verdict.says).rstrip('.')}: it {_clause(asks, said.words)}."
    steps = _steps(asks, program, said.words)
    return replace(verdict, headline=headline, steps=steps[:MOST_STEPS], no_help=None, danger=None, missing=None, certainty="inferred")


def because_of_beside(verdict: Verdict, said: Said | None, program: Program, *, vague: bool, file: str | None = None) -> Verdict:
    """`verdict` with the first line beside it that shows a mechanism which its own words, `said`, do not: inferred, quoted first.

    `vague`: the verdict itself does not know why, so that a line that only names a kind of failure will do. `file`: where `said` stands.
    """
    own = asks_of(f"{said.thrown}: {said.words}") if said is not None else None
    if own is not None and own.specific and not (own.symptom or own.deeper or vague):
        return verdict
    stated = asks_of(verdict.headline or verdict.says)
    for quote in verdict.beside:
        if _repeats(verdict.says, quote.words):
            continue
        words = f"{quote.thrown}: {quote.words}" if quote.thrown else quote.words
        found = infer(words)
        asks = asks_of(words, found.kind if found is not None else None)
        if asks is None or asks is stated or not _explains(asks, own, found, vague=vague, elsewhere=quote.file != file):
            continue
        steps = _steps(asks, program, words, file=quote.file)
        kept = verdict.steps if not verdict.missing else ()
        because = f"{facts_of(words, file=quote.file)['host']} {_clause(asks, words)}"
        return replace(
            verdict,
            headline=f"{(verdict.headline or verdict.says).rstrip('.')}; probably because {because}.",
            words=(quote, *verdict.words),
            because=(Because(_effect_of(found), because, None, quote.file, quote.line),),
            beside=tuple(each for each in verdict.beside if each is not quote),
            certainty="inferred",
            steps=tuple(dict.fromkeys((*steps[:_MOST_OF_MECHANISM], *kept)))[:MOST_STEPS],
            missing=None,
        )
    return verdict


def lead(lines: Sequence[StandsOut]) -> tuple[StandsOut, str, tuple[str, ...]] | None:
    """Of the lines that stand out where no rule explains anything, the one that shows a mechanism, what that is, and what it asks for.

    A cause comes before a symptom, then what says more.
    """
    found = []
    for each in lines:
        words = first_line(each.row)
        if each.row["level"] != "WARN" and (root := each.row.get("root_message")) and root not in words:
            words = f"{str(each.row['root_exception']).rpartition('.')[2]}: {root}"  # what was thrown says why
        inferred = infer(each.row["text"] or "")
        asks = asks_of(words, inferred.kind if inferred is not None else None)
        if asks is not None and (asks.specific or (each.loss and inferred is not None and inferred.kind not in _WEAK)):
            found.append(((asks.specific and not asks.symptom, asks.specific, each.loss, each.score), each, asks, words))
    if not found:
        return None
    _, best, asks, words = max(found, key=lambda one: one[0])
    who = str(facts_of(words, file=best.row["file"])["host"])
    engine = of_role(best.row["role"])
    steps = _steps(asks, program_of({engine: 1} if engine else {}), words, file=best.row["file"])
    return best, f"{who[0].upper()}{who[1:]} {_clause(asks, words)}.", steps


def _repeats(says: str, words: str) -> bool:
    """Whether a verdict says the words of a line already, but for what stands around them there."""
    return any(words[at : at + _CLAUSE] in says for at in range(len(words) - _CLAUSE + 1))


def _effect_of(found: Inference | None) -> str:
    """What a line that explains a failure reports."""
    if found is None:
        return "call-refused"
    return found.effect if found.effect in EFFECTS else OF_CAUSE.get(found.cause or "", "call-refused")


def _explains(asks: Asks, own: Asks | None, found: Inference | None, *, vague: bool, elsewhere: bool) -> bool:
    """Whether a line may be the cause of a failure whose own words ask for `own`."""
    if asks.effect or (own is not None and own.deeper and not (asks.specific and not asks.symptom and elsewhere and own is not asks)):
        return False
    if asks.specific:
        if not asks.symptom:
            return True  # a symptom explains a failure that is as little known, never one that has no words of its own
        return own is not None and (not own.specific or (own.symptom and elsewhere and own is not asks))
    return vague and found is not None and found.kind in _EXPLAIN


def _clause(asks: Asks, words: str) -> str:
    return fill(asks.clause, None, facts_of(words)) or ""


def _steps(asks: Asks, program: Program, words: str, *, file: str | None = None, called: str | None = None) -> tuple[str, ...]:
    return filled(asks.steps, program, facts_of(words, file=file, called=called))


def filled(steps: Sequence[str], program: Program, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of `steps` that hold for the program, with `facts`; one that asks for what is not known is said without it, or left out."""
    return tuple(filter(None, (fill(step, None, facts) for step in held_steps(steps, program))))
