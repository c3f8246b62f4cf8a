"""What one look shows of each finding that is remembered, and what it has beside; met as two looks are met by `diag diff`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzers.comparison.findings import FindingChange, compared_findings
from analyzers.comparison.sides import Side
from analyzers.report.finding import Severity
from analyzers.watching.state import Item

_KEPT = (
    "code", "id", "cause", "reason", "stage", "severity", "confidence", "job", "scope", "subject", "since", "says", "headline", "inferred",
    "fix", "steps", "danger", "missing", "page", "passed",
)  # fmt: skip
_MOST_EVIDENCE = 3
_MOST_TEXT = 1_000
_PLACE = ("file", "line", "at", "text")


@dataclass(frozen=True)
class Sighting:
    """What a look shows of `item`, or of a finding that is not remembered (None): ``present``, ``absent``, or ``unseen``, because.

    `document` is the finding where it is present, `worse` whether it is graver, or of more things, than what is remembered."""

    item: Item | None
    state: str
    document: Mapping[str, Any] | None = None
    worse: bool = False
    was: str | None = None
    because: str | None = None


def sightings(items: Sequence[Item], look: Side, least: Severity) -> list[Sighting]:
    """One per item, then one per finding that is not remembered and at least as severe as `least`.

    What is over is absent; so is what is less severe. A consequence of another finding that has a verdict opens nothing.
    """
    changes = compared_findings(_remembered(items, look), look, names=True)
    return [each for change in changes for each in _of(change, items, look, least)]


def _of(change: FindingChange, items: Sequence[Item], look: Side, least: Severity) -> Iterator[Sighting]:
    own = [items[number] for number in change.earlier]
    rows = [look.document["findings"][number] for number in change.members]
    there = [each for each in rows if not each.get("passed") and Severity(each["severity"]).rank >= least.rank]
    gravest = max(there, key=lambda each: Severity(each["severity"]).rank, default=None)
    if not own:
        if gravest is not None and not all(each.get("explained_by") for each in there):
            yield Sighting(None, "present", kept(gravest))
        return
    for item in own:
        if gravest is not None:
            yield Sighting(item, "present", kept(gravest), change.change == "worse", change.was)
        elif change.because is not None:
            yield Sighting(item, "unseen", because=change.because)
        else:
            over = "it is over" if any(each.get("passed") for each in rows) else f"it is {rows[0]['severity']} only" if rows else None
            yield Sighting(item, "absent", because=over)


def _remembered(items: Sequence[Item], look: Side) -> Side:
    """All that is remembered, as if one look had shown it."""
    names = [{"job": item.document["job"], "name": item.job_name} for item in items if item.document.get("job") and item.job_name]
    files = [{"file": file, "role": role, "scope": ""} for item in items for file, role in item.roles.items()]
    document = {
        "findings": [item.document for item in items],
        "clean": sorted(look.judged),  # what is not remembered was not there
        "not_checked": [],
        "sources": [],
        "facts": {},
        "job_state": [*names, *jobs_of(look)],
        "log_roles": {},
    }
    return Side("what is remembered", document, {"log_files": files}, called="the watch")


def jobs_of(look: Side) -> list[dict[str, Any]]:
    """Id and name of each job that has a name."""
    rows = [row for table in ("job_state", "jobs") for row in look.tables.get(table, ())]
    return [{"job": row["job"], "name": row["name"]} for row in rows if row.get("job") and row.get("name")]


def not_read(look: Side) -> str | None:
    """What of the sources of `look` was not read, a clause of one source; None where all was."""
    if not look.unread:
        return None
    _, name, why = look.unread[0]
    first = _NO_NEWS.sub("", _SENTENCE.split(why, maxsplit=1)[0].rstrip("."))
    words = first.replace("refused (Connection refused)", "refused the connection")
    about = "" if name.rpartition(" ")[2] in words else f"{name}: "
    return f"{about}{words}{f' (and {len(look.unread) - 1} more)' if len(look.unread) > 1 else ''}"


_SENTENCE = re.compile(r"\.\s")
_NO_NEWS = re.compile(r"^the bootstrap server cannot be asked: ")


def kept(finding: Mapping[str, Any]) -> dict[str, Any]:
    """What is remembered of a finding of a report's document: bounded, however long its quotes are."""
    found = {key: _short(finding[key]) for key in _KEPT if finding.get(key) is not None}
    found["subject"] = dict(finding["subject"])
    found["job"] = finding.get("job")
    found["evidence"] = [
        {key: _short(place.get(key)) for key in _PLACE}
        for place in list(finding.get("evidence") or ())[:_MOST_EVIDENCE]
        if isinstance(place, Mapping)
    ]
    return found


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _MOST_TEXT else f"{value[:_MOST_TEXT]}…"
    return [_short(each) for each in value] if isinstance(value, list) else value


def roles_in(finding: Mapping[str, Any], look: Side) -> dict[str, str]:
    """The kind of process of each file in the evidence of `finding`."""
    named = {place["file"] for place in finding["evidence"] if place.get("file")}
    return {row["file"]: row["role"] or "unknown" for row in look.tables.get("log_files", ()) if row["file"] in named}
