"""Findings of two looks, met by identity: new, worse, still there, gone, or unknown, because one side did not judge them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analyzers.comparison.sides import Side
from analyzers.report.baseline import CHANGES, COUNTS_AS_NEW
from analyzers.report.finding import Severity
from analyzers.report.identity import lasting

_NUMBERS = frozenset({"partition", "broker", "connector_task"})
"""What lasts of a subject and is no name: it is the same where names are tokens."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Key:
    """What lasts of a finding: rule, reason, job and scope; and the things that its subject names, by what they are."""

    head: tuple[str, str, str, str]
    named: tuple[tuple[str, frozenset[str]], ...]

    def overlaps(self, other: Key) -> bool:
        """Whether both may be one fault: nothing that both name is another thing, and some of it is the same."""
        pairs = self._pairs(other)
        some = bool(pairs) or not (self.named and other.named)
        return self.head == other.head and some and all(mine & theirs for mine, theirs in pairs)

    def shared(self, other: Key) -> int:
        """How many things both name."""
        return sum(len(mine & theirs) for mine, theirs in self._pairs(other))

    def has_more_than(self, other: Key) -> bool:
        """Whether it names things that the other does not."""
        return any(mine - theirs for mine, theirs in self._pairs(other))

    def _pairs(self, other: Key) -> list[tuple[frozenset[str], frozenset[str]]]:
        theirs = dict(other.named)
        return [(values, theirs[name]) for name, values in self.named if name in theirs]


@dataclass(frozen=True)
class FindingChange:
    """What became of the findings of one identity. `says` and `place` are of the newest look that has it; `counts`: how many each has."""

    change: str
    id: str | None
    code: str
    severity: str
    job: str | None
    subject: dict[str, Any]
    says: str
    was: str | None = None
    """What differs from the earlier look, a clause."""
    because: str | None = None
    """Of what is unknown why, a clause."""
    only_in: str | None = None
    """Of what is unknown the side that has it: ``A`` or ``B``."""
    counts: tuple[int, int] = (0, 0)
    file: str | None = None
    line: int | None = None
    text: str | None = None
    """The first line that shows it."""
    members: tuple[int, ...] = field(default=(), repr=False)
    """Places of its findings in the later document."""
    earlier: tuple[int, ...] = field(default=(), repr=False)
    """Places of its findings in the earlier document."""

    @property
    def counts_as_new(self) -> bool:
        """Whether a run that asks for what is new or worse is to fail by it: what the earlier look did not judge is, too."""
        return self.change in COUNTS_AS_NEW and self.only_in != "A"


def compared_findings(before: Side, after: Side, *, names: bool, any_job: bool = False) -> list[FindingChange]:
    """A row per identity, the gravest first. Without `names` what is named differently in both (tokens) is left out of the identity.

    `any_job`: the job may have another name now. What meets nothing may still be the same fault of more or fewer things, as of brokers 5
    and 6 after broker 5: neither new nor gone.
    """
    one_job = max(len(before.shown_jobs), len(after.shown_jobs)) <= 1
    apart = names and bool(before.scopes and after.scopes) and max(len(before.scopes), len(after.scopes)) > 1
    old, new = (_by_key(side, names=names, jobs=names and not one_job, scopes=apart) for side in (before, after))
    changes = [_both(old.pop(key), new.pop(key), names=names) for key in [*new] if key in old]
    for key in [*new]:
        overlaps = [other for other in old if key.overlaps(other)]
        if overlaps:
            nearest = max(overlaps, key=key.shared)
            changes.append(_both(old.pop(nearest), new.pop(key), names=names, more=key.has_more_than(nearest), other=nearest))
    changes += [_only_after(rows, before) for rows in new.values()]
    changes += [_only_before(rows, before, after, names=names and not any_job) for rows in old.values()]
    return sorted(changes, key=_order)


def _order(each: FindingChange) -> tuple[object, ...]:
    return (CHANGES.index(each.change), each.only_in or "", -Severity(each.severity).rank, each.code, each.job or "", str(each.subject))


def _by_key(side: Side, *, names: bool, jobs: bool, scopes: bool) -> dict[Key, list[tuple[int, Document]]]:
    groups: dict[Key, list[tuple[int, Document]]] = defaultdict(list)
    for number, each in enumerate(side.document["findings"]):
        if each["severity"] == Severity.UNDECIDED.value:
            continue
        head = (each["code"], each.get("reason") or "", _job(each, side) if jobs else "", (each.get("scope") or "") if scopes else "")
        kept = [key for key in lasting(each["subject"]) if names or key in _NUMBERS]
        groups[Key(head, tuple((key, _values(key, each["subject"][key])) for key in kept))].append((number, each))
    return groups


def _values(key: str, value: Any) -> frozenset[str]:
    """The things that a value of a subject names, each as it lasts."""
    return frozenset(lasting({key: each})[key] for each in (value if isinstance(value, list) else [value]) if each is not None)


def _job(each: Document, side: Side) -> str:
    return side.job_names.get(each.get("job") or "", "")


def _worst(rows: Sequence[tuple[int, Document]]) -> Document:
    """Of those that are not over, where there are any, the gravest."""
    return max((each for _, each in rows), key=lambda each: (not _is_over(each), Severity(each["severity"]).rank))


def _is_over(each: Document) -> bool:
    return bool(each.get("passed"))


def _only_after(rows: Sequence[tuple[int, Document]], before: Side) -> FindingChange:
    code = rows[0][1]["code"]
    why = before.unjudged(code)
    members = tuple(number for number, _ in rows)
    if why is None:
        return _change("new", rows, counts=(0, len(rows)), members=members)
    return _change("unknown", rows, because=f"{before.called} did not judge it: {why}", only_in="B", counts=(0, len(rows)), members=members)


def _only_before(rows: Sequence[tuple[int, Document]], before: Side, after: Side, *, names: bool) -> FindingChange:
    counts, places = (len(rows), 0), tuple(number for number, _ in rows)
    why = _unseen(rows, before, after, names=names)
    if why is None:
        return _change("gone", rows, counts=counts, earlier=places)
    return _change("unknown", rows, because=why, only_in="A", counts=counts, earlier=places)


def _unseen(rows: Sequence[tuple[int, Document]], before: Side, after: Side, *, names: bool) -> str | None:
    """Why `after` does not show whether findings of `before` are gone, a clause; None where it does: it judged the rule, read all, and
    has logs of the same job and of the processes that showed it."""
    code = rows[0][1]["code"]
    if (why := after.unjudged(code)) is not None:
        return f"{after.called} did not judge it: {why}"
    if open_ := [each for each in after.document["findings"] if each["code"] == code and each["severity"] == Severity.UNDECIDED.value]:
        return f"undecided in {after.called}: {open_[0]['says']}"
    if after.incomplete is not None:
        return f"in {after.called} {after.incomplete}"
    if after.scopes and names and (lacks := {each.get("scope") or "" for _, each in rows} - after.scopes - {""}):
        return f"{after.called} has nothing of {', '.join(sorted(lacks))}"
    if not all(after.shows(each.get("job") if names else None, before) for _, each in rows):
        return f"{after.called} shows nothing of its job"
    if not names and any(each.get("job") for _, each in rows) and not after.shown_jobs:
        return f"{after.called} shows nothing of a job"
    evidence = [place for _, each in rows for place in each.get("evidence") or () if isinstance(place, dict)]
    if after.log_roles and (roles := before.roles_of(evidence) - after.log_roles.keys()):
        return f"{after.called} has no log of a {' or '.join(sorted(roles))}"
    return None


def _both(
    old: Sequence[tuple[int, Document]],
    new: Sequence[tuple[int, Document]],
    *,
    names: bool,
    more: bool = False,
    other: Key | None = None,
) -> FindingChange:
    """What both have; `other`: of findings of fewer or more things the earlier one's, `more` where there are more now."""
    was, now = _worst(old), _worst(new)
    worse = more or Severity(now["severity"]).rank > Severity(was["severity"]).rank or (_is_over(was) and not _is_over(now))
    about = _about(other) if other is not None else _named_differently(old, new) if names else None
    clauses = [
        *([f"it was {was['severity']}, now {now['severity']}"] if was["severity"] != now["severity"] else []),
        *(["it was over"] if _is_over(was) and not _is_over(now) else []),
        *(["it is over now"] if _is_over(now) and not _is_over(was) else []),
        *([f"it was about {about}"] if about else []),
    ]
    places = {"members": tuple(number for number, _ in new), "earlier": tuple(number for number, _ in old)}
    return _change("worse" if worse else "still", new, was="; ".join(clauses) or None, counts=(len(old), len(new)), **places)


def _about(key: Key) -> str:
    return ", ".join(f"{name} {', '.join(sorted(values))}" for name, values in key.named)


def _named_differently(old: Sequence[tuple[int, Document]], new: Sequence[tuple[int, Document]]) -> str | None:
    """What the earlier findings were about, where none of the later is about that: names that differ in a number only."""
    about = [{_names(each) for _, each in rows} for rows in (old, new)]
    return ", ".join(sorted(about[0])) if about[0] and about[1] and not about[0] & about[1] else None


def _names(each: Document) -> str:
    return " ".join(f"{key} {each['subject'][key]}" for key in lasting(each["subject"]) if key not in _NUMBERS)


def _change(change: str, rows: Sequence[tuple[int, Document]], **more: Any) -> FindingChange:
    said = _worst(rows)
    place: Document = next(iter(_shown(said.get("evidence") or ())), {})
    text = str(place.get("text") or "").partition("\n")[0]
    return FindingChange(
        change, said.get("id"), said["code"], said["severity"], said.get("job"), dict(said["subject"]),
        said.get("headline") or said["says"], file=place.get("file"), line=place.get("line"), text=text or None, **more,
    )  # fmt: skip


def _shown(evidence: Iterable[Any]) -> Iterable[Document]:
    return (each for each in evidence if isinstance(each, dict) and each.get("file"))
