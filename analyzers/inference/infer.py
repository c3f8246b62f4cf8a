"""What a failure is that no signature knows: which system, what kind, in which phase, and what it means for the job."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from analyzers.components import connector_of
from analyzers.inference.advice import advice_of
from analyzers.inference.chains import bounded, of_chain, read
from analyzers.inference.decisions import decide
from analyzers.inference.decisive import decisive_link
from analyzers.inference.entities import entities_of
from analyzers.inference.kinds import UNANSWERED, Kind, kind_of
from analyzers.inference.link import Failure, Link
from analyzers.inference.parts import Part, part_of
from analyzers.inference.phases import phase_of

OF_OUTERMOST = 8
"""Frames that events hold of the outermost exception, before those of the root (`layouts.exceptions.Trace.frames`)."""


@dataclass(frozen=True)
class Inference:
    """What was inferred of one failure. Nothing of it is stated by the evidence: `clues` is what it was read off."""

    system: str | None
    """What the failed component is called: MySQL, Kafka, another TaskManager; None: the user's own code, or unknown."""
    role: str
    kind: str | None
    phase: str | None
    cause: str | None
    """One of the closed list of causes; None: a consequence of something else."""
    reason: str | None
    effect: str
    decisive: tuple[str, str] | None
    """Class and whole message of the exception that says what is wrong."""
    advice: tuple[str, ...]
    entities: dict[str, tuple[str, ...]] = field(hash=False)
    user_frame: str | None
    connector: tuple[str, str | None] | None
    clues: tuple[str, ...]
    confidence: float
    language: str

    @property
    def called(self) -> str:
        """What a sentence calls it."""
        return self.system or ("the job's own code" if self.role == "user" else "a part of the job")

    @property
    def answered(self) -> bool | None:
        """Whether the called system answered: refused is not down. None where nothing was called, or the kind is not known."""
        if self.kind is None or self.effect not in ("call-unanswered", "call-refused", "record-fails"):
            return None
        return self.kind not in UNANSWERED


def infer(text: str, *, thread: str | None = None, logger: str | None = None) -> Inference | None:
    """What `text`, an event with its trace, says about a failure; None where it states none.

    `thread`: the name of the thread that failed; `logger`: who printed it, which says the component where nothing else does.
    """
    return _infer(bounded(text), thread, logger) if text and text.strip() else None


def infer_chain(
    chain: list[tuple[str, str | None]], frames: list[str] | None = None, *, thread: str | None = None, logger: str | None = None
) -> Inference | None:
    """The same of a chain that is known already: class and message, outermost first; `frames` as events hold them."""
    failure = of_chain(chain)
    if frames and failure.chain:
        failure.chain[-1].frames = list(frames[OF_OUTERMOST:] if len(chain) > 1 and len(frames) > OF_OUTERMOST else frames)
    failure.language = "java"
    return _weighed(failure, thread, logger)


@lru_cache(maxsize=256)
def _infer(text: str, thread: str | None, logger: str | None) -> Inference | None:
    return _weighed(read(text), thread, logger)


def _weighed(failure: Failure, thread: str | None, logger: str | None) -> Inference | None:
    if not failure.chain:
        return None
    deciding, kind = _deciding(failure.chain)
    if kind is None and not deciding.kind:
        return None
    part, user = part_of(failure, deciding, kind.name if kind else None, logger)
    entities = entities_of("\n".join(link.said for link in reversed(failure.chain)))
    if kind is not None and kind.name == "memory" and deciding.kind.startswith("java.lang."):
        part = Part(None, "runtime", f"class {deciding.kind}")  # a JVM says so of itself, no matter what it was calling
    if kind is not None and kind.of_kafka and part.role in ("user", "runtime", "library"):
        part = Part("Kafka", "kafka", kind.of_kafka)
    for link in failure.chain:
        if link.code and re.fullmatch(r"\d[0-9A-Z]{4}", link.code):
            entities.setdefault("sqlstate", (link.code,))
    if "http" in entities and part.role in ("user", "runtime", "library") and kind is not None:
        part = Part("an HTTP service", "service", f"HTTP {entities['http'][0]}")
    phase = phase_of(failure, thread, part.package)
    if phase is not None and phase[0] == "transport" and part.role not in ("peer", "engine", "runtime"):
        phase = None
    role = "user" if part.role in ("runtime", "library") and user else part.role
    decision = decide(
        role, kind.name if kind else None, phase[0] if phase else None, thread, "\n".join(link.message for link in failure.chain)
    )
    said = decisive_link(failure.chain)
    return Inference(
        system=part.called,
        role=role,
        kind=kind.name if kind else None,
        phase=phase[0] if phase else None,
        cause=decision.cause,
        reason=decision.reason,
        effect=decision.effect,
        decisive=(said.kind, said.message) if said is not None else None,
        advice=_advice(failure.chain, said),
        entities=entities,
        user_frame=user,
        connector=_connector(failure),
        clues=tuple(
            clue
            for clue in (f"{kind.name}: {kind.shown_by}" if kind else None, part.shown_by, phase[1] if phase else None)
            if clue is not None
        ),
        confidence=_confidence(kind, part, phase is not None, decision.narrow),
        language=failure.language,
    )


def _deciding(chain: list[Link]) -> tuple[Link, Kind | None]:
    """The deepest exception that says a kind; one that is given for many reasons gives way to a telling one around it."""
    vague: tuple[Link, Kind] | None = None
    for link in reversed(chain):
        kind = kind_of(link)
        if kind is None:
            continue
        if kind.sure >= 2:
            return link, kind
        vague = vague or (link, kind)
    return vague or (chain[-1], None)


def _advice(chain: list[Link], said: Link | None) -> tuple[str, ...]:
    """The advice of the decisive message first, then that of those around it."""
    found: dict[str, None] = {}
    for link in ([said] if said is not None else []) + list(reversed(chain)):
        found.update(dict.fromkeys(advice_of(link.message)))
    return tuple(found)[:4]


def _connector(failure: Failure) -> tuple[str, str | None] | None:
    """The connector whose frame stands nearest to the failure; a client where no connector is named."""
    client: tuple[str, str | None] | None = None
    for link in reversed(failure.chain):
        for line in link.printed:
            found = connector_of(line)
            if found is not None and ("connector" in found[0] or "cdc" in found[0]):
                return found
            client = client or found
    return client


def _confidence(kind: Kind | None, part: Part, phased: bool, narrow: int) -> float:
    """How often inferences with as many clues are right; a test holds it against the labelled failures."""
    if kind is None:
        return 0.3 if part.called else 0.2
    known = part.called is not None or part.role == "user"
    return round(min(0.95, 0.35 + 0.1 * kind.sure + 0.15 * known + 0.05 * phased + 0.05 * min(narrow, 2)), 2)
