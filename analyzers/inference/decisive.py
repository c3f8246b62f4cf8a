"""The decisive message of a chain: the deepest one that says something, whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from analyzers.inference.chains import of_chain, read
from analyzers.inference.kinds import kind_of
from analyzers.inference.link import Link

_NOTHING = re.compile(
    r"(?:null|none|undefined|nil|\(no message\)|<exception str\(\) failed>|error|exception|unknown(?: error)?|failed|failure|\.+|-+)?[.:!]?",
    re.IGNORECASE,
)
_CLASS_ONLY = re.compile(r"(?:[A-Za-z_$][\w$]*\.)+[A-Z][\w$]*(?:@[0-9a-f]+)?:?")
_WRAPS = re.compile(
    r"(?:an? )?(?:\w+ )?(?:exception|error)s? (?:while|when|during|in|occurred|was thrown|happened|executing|handling|processing|received from sdk harness|caught|raised)\b"
    r"|(?:the )?(?:job|pipeline|query|task|program|application|batch|stage|bulk request|operation|call|invocation)(?: \S+)? (?:execution )?(?:has )?(?:failed|aborted)\.?$"
    r"|could not forward element to next operator|caught exception|uncaught exception|unhandled exception|exiting \w+ due to|tolerance exceeded in error handler"
    r"|recovery is suppressed by|the main method caused an error|global failure triggered by|failing the (?:job|task)|failed to execute (?:job|the job)"
    r"|an? (?:internal |unexpected |unknown )?(?:error|exception) (?:has )?occurred|an async function call terminated|async(?:hronous)? (?:operation|checkpoint) failed"
    r"|writing records to jdbc failed|complete bulk has failed|single action .{1,40} of bulk request failed|unable to open jdbc writer|failed to (?:obtain|get) connection\.?$"
    r"|failed to (?:send data to kafka|commit producer transaction|list subscribed topic partitions due to|deserialize consumer record due to)|one or more fetchers have encountered"
    r"|splitfetcher thread .{1,40} received unexpected|exception while creating streamoperatorstatecontext|could not (?:restore|materialize|perform|complete|finalize) .{0,120}(?:checkpoint|snapshot|backend|restore options|operator)"
    r"|error in (?:processing|executing)|exception in (?:thread|process)|completed exceptionally|execution exception|stream .{0,60}terminated with exception|writing job aborted"
    r"|futures timed out after|timed out waiting for .{0,30}future|see (?:the )?(?:inner|nested|cause|log|previous)|max(?:imum)? retries|number of retries|(?:retries|attempts) exhausted$",
    re.IGNORECASE,
)  # fmt: skip
_SHORTENED = re.compile(r"\((?:as|same as|see) above\)\W*$")
"""Whoever pasted it left out what stands above."""
_PRINTED = re.compile(
    r"\b(?:exception|error|cause|throwable|failure)=(?P<kind>(?:\w+\.)+[A-Z]\w*(?:Exception|Error|Failure)): (?P<message>\S.*)", re.DOTALL
)
"""An exception among the fields of an object that a message prints."""
_PRECISE = re.compile(r":\d{2,5}\b|//|['\"\[]\S+['\"\]]|\b\w+[.-]\w+[.-]\w+\b|\d{3,}")
_LONGEST_OUTER = 700


def boiler_plate(kind: str, message: str | None) -> bool:
    """Whether an exception only wraps another one, or says nothing in words."""
    said = " ".join((message or "").split())
    if _NOTHING.fullmatch(said) or _CLASS_ONLY.fullmatch(said):
        return True
    if (said.endswith("!") and len(said.split()) == 1) or _SHORTENED.search(said):
        return True
    if _WRAPS.match(said):
        return len(said) < 400 and not re.search(r": (?=[A-Z][a-z]+ [a-z]+ [a-z]+)", said)
    return False


def decisive(chain: Sequence[tuple[str, str | None]]) -> tuple[str, str] | None:
    """Class and whole message of the exception that says what is wrong; `chain`: class and message, outermost first."""
    at = decisive_link(of_chain(list(chain)).chain)
    return (at.kind, at.message) if at is not None else None


def decisive_in(text: str) -> tuple[str, str] | None:
    """The same for an event with its trace, of any language."""
    at = decisive_link(read(text).chain)
    return (at.kind, at.message) if at is not None else None


_MOST_AROUND = 160


def decisive_link(chain: Sequence[Link]) -> Link | None:
    """The deepest exception that is not boiler-plate; one around it that says the same with more, where there is one."""
    telling = [link for link in reversed(chain) if not boiler_plate(link.kind, link.message)]
    if not telling:
        return _bare(chain)
    live = [link for link in telling if (kind := kind_of(link)) is None or kind.name != "stopped"] or telling
    chosen = live[0]
    for outer in live[1:]:
        if len(outer.message) > _LONGEST_OUTER:
            continue
        same = chosen.message.strip().rstrip(".") in outer.message and len(outer.message) > len(chosen.message)
        if same and (chosen.kind or "\0") in outer.message and len(outer.message) - len(chosen.message) > _MOST_AROUND:
            continue  # a long message that quotes it whole
        vaguer = not _PRECISE.search(chosen.message) and len(chosen.message.split()) <= 6 and _PRECISE.search(outer.message)
        if (same and _PRECISE.search(outer.message) and not outer.message.startswith(chosen.kind or "\0")) or (
            vaguer and _same_kind(chosen, outer)
        ):
            chosen = outer
    printed = _PRINTED.search(chosen.message)
    return replace(chosen, kind=printed["kind"], message=printed["message"]) if printed is not None else chosen


def _same_kind(one: Link, other: Link) -> bool:
    a, b = kind_of(one), kind_of(other)
    return a is not None and b is not None and a.name == b.name


def _bare(chain: Sequence[Link]) -> Link | None:
    """Where no exception says anything in words, the deepest whose name or words say a kind, then the deepest."""
    return next((link for link in reversed(chain) if kind_of(link) is not None), chain[-1] if chain else None)
