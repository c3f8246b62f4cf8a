"""One of two looks that are compared: the document of its report, and the tables it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from analyzers.bundle.harmless import IS_TOKEN
from analyzers.comparison.saved import Damaged, read_back
from analyzers.report.finding import Severity
from analyzers.tables import Row

FORMAT = 1
"""Of documents that can be compared: `report/schema.py`."""
_DRAWN = re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b|\d{6,}")
"""In the name of a job what each submission draws anew: ids, times. Two jobs may differ in a short number."""
_FEWEST_TOKENS = 3


class NotComparable(Exception):
    """Two looks that nothing can be said of together; `hint` is what to try."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(frozen=True)
class Side:
    """A look at a job. `name` is how it was called by whoever asked; `evidence`: its tables, None of a report that was saved alone;
    `key`: the id of the key whose tokens stand for names in its bundle, None where it is not redacted, or no bundle.
    `called` is what sentences call it."""

    name: str
    document: Mapping[str, Any]
    evidence: Mapping[str, Sequence[Row]] | None = None
    key: str | None = None
    called: str = ""

    @property
    def version(self) -> str:
        """The diag that judged it."""
        return str(self.document.get("version") or "?")

    @cached_property
    def tables(self) -> Mapping[str, Sequence[Row]]:
        """All rows that there are: of a report alone those that it prints."""
        states = {"job_state": self.document.get("job_state") or []}
        return {**self.document["facts"], **states, **(self.evidence or {})}

    @cached_property
    def job_names(self) -> dict[str, str]:
        """What jobs are called, by id; a name without what each submission draws anew."""
        return {job: _DRAWN.sub("#", name) for job, name in self._names.items()}

    @cached_property
    def _names(self) -> dict[str, str]:
        rows = [row for table in ("job_state", "jobs") for row in self.tables.get(table, ())]
        return {row["job"]: row["name"] for row in rows if row.get("job") and row.get("name")}

    @cached_property
    def named(self) -> frozenset[str]:
        """Names of its jobs without what each submission draws anew."""
        return frozenset(self.job_names.values())

    @cached_property
    def shown_jobs(self) -> tuple[str, ...]:
        """Names of its jobs; of one without a name its id."""
        return tuple(sorted({self._names.get(job, job) for job in self._ids}))

    @cached_property
    def _ids(self) -> frozenset[str]:
        return frozenset({row["job"] for row in self.document.get("job_state") or () if row.get("job")} | set(self._names))

    @cached_property
    def _unjudged(self) -> dict[str, str]:
        crashed = {each["code"]: "the rule crashed" for each in self.document.get("defects") or ()}
        return {each["code"]: each["because"] for each in self.document["not_checked"]} | crashed

    @cached_property
    def log_roles(self) -> dict[str, int]:
        """How many logs there were of each kind of process; empty where that is not known."""
        said = self.document.get("log_roles")
        return {role: number for role, number in said.items() if isinstance(number, int)} if isinstance(said, dict) else {}

    def roles_of(self, evidence: Iterable[Mapping[str, Any]]) -> frozenset[str]:
        """The processes in whose logs lines of `evidence` stand; all that there are where that is not known."""
        if self.evidence is None:
            return frozenset(self.log_roles)
        by_file = {row["file"]: row["role"] or "unknown" for row in self.evidence.get("log_files", ())}
        return frozenset(by_file[file] for each in evidence if (file := each.get("file")) in by_file)

    @cached_property
    def scopes(self) -> frozenset[str]:
        """The directories of the clusters that were judged apart; empty where there was one look at all."""
        rows = [*self.document["findings"], *(self.document.get("job_state") or ()), *(self.evidence or {}).get("log_files", ())]
        return frozenset(filter(None, (row.get("scope") for row in rows)))

    def shows(self, job: str | None, of: Side) -> bool:
        """Whether there is anything here of `job`, an id of the look `of`: by its id, its name, or the only job there is has no name."""
        if job is None or job in self._ids:
            return True
        name = of.job_names.get(job)
        return name in self.named if name is not None and self.named else bool(self._ids)

    @property
    def window(self) -> tuple[str | None, str | None]:
        """The first and the newest moment of its evidence, as the report has them; None where they are not known."""
        window = self.document.get("window") or {}
        begins, ends = window.get("from"), self.document.get("as_of") or window.get("to")
        return begins if isinstance(begins, str) else None, ends if isinstance(ends, str) else None

    @cached_property
    def judged(self) -> frozenset[str]:
        """Codes of the rules that said anything here."""
        return frozenset([*self.document["clean"], *(each["code"] for each in self.document["findings"])])

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The tokens that stand for names in its report; empty where that is not redacted. A bundle's manifest says whether it is, a
        report that was saved alone shows it: a pod that is called like a token is one name, not several."""
        if self.key is None and self.evidence is not None:
            return frozenset()
        parts = [self.document[key] for key in ("findings", "sources")] + [self.document.get(key) or () for key in ("job_state", "noticed")]
        found = frozenset(token for text in _texts(parts) for token in IS_TOKEN.findall(text))
        return found if self.key is not None or len(found) >= _FEWEST_TOKENS else frozenset()

    @cached_property
    def undecided(self) -> list[str]:
        """What its evidence ends before it shows, in words with the code."""
        open_ = [each for each in self.document["findings"] if each["severity"] == Severity.UNDECIDED.value]
        return [f"{each.get('headline') or each['says']} [{each['code']}]" for each in open_]

    @property
    def is_judged(self) -> bool:
        """Whether any rule said anything."""
        return bool(self.judged)

    def unjudged(self, code: str) -> str | None:
        """Why nothing is known of the rule `code` here, a clause; None where it judged."""
        if code in self.judged:
            return None
        return self._unjudged.get(code, f"diag {self.version} did not judge {code} there")

    @cached_property
    def unread(self) -> list[tuple[str, str, str]]:
        """State, name and why of each source that could not be read whole."""
        rows = self.document["sources"]
        return [(row["state"], row["name"], row.get("why") or row["state"]) for row in rows if row["state"] != "ok"]

    @cached_property
    def incomplete(self) -> str | None:
        """Why what is absent here may be there all the same, a clause; None where all was read."""
        if self.document.get("fragment"):
            return f"there was too little to read: {self.document['fragment']}"
        if self.unread:
            _, name, why = self.unread[0]
            more = f" and {len(self.unread) - 1} more" if len(self.unread) > 1 else ""
            return f"not all of it was read ({name}: {why.rstrip('.')}{more})"
        return None


def moment(text: str | None) -> datetime | None:
    """A moment of a report; None for what is none."""
    try:
        return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def share_names(before: Side, after: Side) -> bool:
    """Whether what is called alike in both is the same thing: no names are tokens, or those of one key."""
    redacted = [side.key is not None or bool(side.tokens) for side in (before, after)]
    if not any(redacted):
        return True
    return all(redacted) and ((before.key is not None and before.key == after.key) or bool(before.tokens & after.tokens))


def _texts(whole: Any) -> Iterator[str]:
    """All words of a document."""
    left = [whole]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            left.extend(value)
        elif isinstance(value, Mapping):
            left.extend(value.values())


def side_of(name: str, said: Any) -> Side:
    """The look that the saved document `said` is of. Raises `NotComparable` for what is no report, or one of another format."""
    if not isinstance(said, dict) or said.get("tool") != "diag":
        raise NotComparable(f"{name} is no report of diag", "Name what diag printed with -o json, a bundle, or logs.")
    if said.get("command") == "fleet":
        raise NotComparable(f"{name} is a report of diag fleet", "diag fleet --baseline compares these.")
    if said.get("format") != FORMAT:
        raise NotComparable(
            f"{name} was written by diag {said.get('version')} in format {said.get('format')!r}; this diag reads format {FORMAT}",
            "Make it again from its bundle with this diag.",
        )
    try:
        return Side(name, read_back(said))
    except Damaged as error:
        raise NotComparable(
            f"{name} is a damaged report: {error} is not what diag writes there", "Make it again from its bundle."
        ) from error
