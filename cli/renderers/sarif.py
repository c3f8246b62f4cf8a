"""SARIF 2.1.0: what a run found, for tools that show results of analyses beside one another (code scanning, IDEs).

A finding is a result, its evidence are locations; what was not checked, not read, or crashed is a notification of the invocation. With a
baseline ``baselineState`` is new, updated (worse), unchanged or absent (gone).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from analyzers.report.finding import SUBJECT_KEYS, Severity
from cli.renderers.json_rows import inert, plain_values
from cli.renderers.results import Place, Result, Results
from cli.renderers.wording import clipped, iso, printable, subject_words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note", Severity.UNDECIDED: "none"}
_STATES = {"new": "new", "unknown": "new", "worse": "updated", "still": "unchanged", "gone": "absent"}
_TROUBLES = {"failed": "error", "partial": "warning", "defect": "error"}
_MOST_PLACES = 10
_MOST_TEXT = 400
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def render(found: Results) -> str:
    """The document; the same results give the same bytes."""
    whole = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(found)]}
    return inert(json.dumps(plain_values(whole), ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def _run(found: Results) -> dict[str, Any]:
    shown = [each for each in found.results if each.change != "unknown" or not each.missed]
    codes = sorted({each.code for each in shown})
    driver = {"name": "diag", "version": found.version, "rules": [_rule(code, found.title(code)) for code in codes]}
    if _SEMANTIC.fullmatch(found.version):
        driver["semanticVersion"] = found.version
    successful = not any(each.state != "partial" for each in found.troubles)
    invocation = {"executionSuccessful": successful, "toolExecutionNotifications": list(_notifications(found))}
    if found.as_of is not None:
        invocation["endTimeUtc"] = iso(found.as_of)
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"diag/{found.command}/"},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, codes, compared=found.is_compared) for each in shown],
    }


def _rule(code: str, words: str) -> dict[str, Any]:
    return {"id": code, **({"shortDescription": {"text": words}, "help": {"text": f"diag explain {code}"}} if words else {})}


def _result(each: Result, codes: Sequence[str], *, compared: bool) -> dict[str, Any]:
    steps = [f"Fix{f' {number}' * (len(each.fix) > 1)}: {step}" for number, step in enumerate(each.fix, 1)]
    made: dict[str, Any] = {
        "ruleId": each.code,
        "ruleIndex": codes.index(each.code),
        "level": _LEVELS[each.severity],
        "kind": "fail" if _LEVELS[each.severity] != "none" else "open",
        "message": {"text": "\n".join([each.says, *steps])},
        "locations": [_location(each.places[0], each)] if each.places else [_nowhere(each)],
    }
    if len(each.places) > 1:
        made["relatedLocations"] = [_location(place, None) for place in each.places[1:_MOST_PLACES]]
    if each.id is not None:
        made["partialFingerprints"] = {"diagFinding/v1": each.id}
    if compared:
        made["baselineState"] = _STATES[each.change or "new"]
    because = {"because": each.because} if each.because else {}
    change = {"change": each.change} if each.change else {}
    made["properties"] = {
        **(each.more or {}),
        **({"job": each.job} if each.job else {}),
        **change,
        **because,
        "subject": _subject(each.subject),
    }
    return made


def _subject(subject: Mapping[str, Any]) -> dict[str, Any]:
    return {key: subject[key] for key in SUBJECT_KEYS if subject.get(key) is not None}


def _location(place: Place, of: Result | None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if place.file:
        physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.file)}}
        if place.line is not None and place.line > 0:
            physical["region"] = {"startLine": place.line, "snippet": {"text": clipped(place.text.partition("\n")[0], _MOST_TEXT)}}
        made["physicalLocation"] = physical
    if of is not None and (logical := _logical(of)):
        made["logicalLocations"] = logical
    if not made or not place.file:
        made["message"] = {"text": clipped(place.text.partition("\n")[0], _MOST_TEXT) or "no line"}
    return made


def _nowhere(each: Result) -> dict[str, Any]:
    return {"logicalLocations": _logical(each) or [{"name": each.code, "kind": "resource"}]}


def _logical(each: Result) -> list[dict[str, Any]]:
    """The job and the place in it, as an engineer says them."""
    words = [*([printable(each.job)] if each.job else []), *subject_words(each.subject)]
    return [{"fullyQualifiedName": " / ".join(words), "kind": "resource"}] if words else []


def _uri(file: str) -> str:
    """A URI reference: of a path, of an object in a store, of a file within an archive (behind ``!``)."""
    scheme = _SCHEME.match(file)
    path = quote(_bytes(file[scheme.end() :] if scheme else file), safe="/!:" if scheme else "/!")
    return f"{scheme[0] if scheme else 'file://' * file.startswith('/')}{path}"


def _bytes(file: str) -> bytes:
    """The name as its file system has it; of one that none has, as is."""
    try:
        return file.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return file.encode("utf-8", "surrogatepass")


def _notifications(found: Results) -> Iterator[dict[str, Any]]:
    for trouble in found.troubles:
        about = {"associatedRule": {"id": trouble.about}} if trouble.state == "defect" else {}
        yield _notification(trouble.state, _TROUBLES[trouble.state], f"{trouble.about}: {trouble.why}") | about
    reasons: dict[str, list[str]] = {}
    for code, because in found.unchecked:
        reasons.setdefault(because, []).append(code)
    for because, codes in reasons.items():
        yield _notification("not-checked", "note", f"{because}: {', '.join(codes)}")
    for each in found.results:
        if each.missed and each.change == "unknown":
            yield _notification("baseline", "note", f"{each.says} [{each.code}]: {each.because}")
    for note in found.notes:
        yield _notification("note", "note", note)


def _notification(kind: str, level: str, text: str) -> dict[str, Any]:
    return {"descriptor": {"id": kind}, "level": level, "message": {"text": printable(text)}}
