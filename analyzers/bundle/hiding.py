"""Evidence as a redacted bundle of it would give it back, for a report whose names are tokens.

Nothing is hidden in a report that was made already: its sentences, commands and pictures are made of rows, and so each name has one
token in all of them. What is judged is what the bundle would hold, and the report is the one of the bundle.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.bundle.encoding import encodable
from analyzers.bundle.errors import BundleError
from analyzers.bundle.keys import key_id, redaction_key, words_to_keep
from analyzers.tables import TABLES, Row
from analyzers.tables.evidence import Evidence

if TYPE_CHECKING:
    from analyzers.bundle.redact import Redactor


def stored_tables(tables: Mapping[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
    """Those of `tables` that a bundle holds: what is derived of them is derived again."""
    return {name: encodable(rows) for name, rows in tables.items() if not TABLES[name].derived}


@dataclass(frozen=True)
class Hiding:
    """The key of the tokens, and the words that stay. The same key gives the same tokens on each host."""

    key: bytes = field(repr=False)
    keep: frozenset[str] = frozenset()

    @staticmethod
    def of(used: Mapping[str, Any], key_file: Path | None, keep_file: Path | None, named: frozenset[str] = frozenset()) -> Hiding:
        """With the key of `key_file`, else with that of the bundle that was saved beside (``redaction`` of its manifest), else with one
        that is not kept. `keep_file` has words that stay, `named` are others.

        Raises `BundleNotFound` and `BundleError`.
        """
        keep = named if keep_file is None else words_to_keep(keep_file) | named
        if key_file is not None:
            return Hiding(redaction_key({}, key_file), keep)
        try:
            return Hiding(redaction_key(used, None) if used else secrets.token_bytes(32), keep)
        except BundleError:  # it could not be kept when the bundle was written
            return Hiding(secrets.token_bytes(32), keep)

    def redactor(self, tables: Mapping[str, Sequence[Row]]) -> Redactor:
        """One that knows the names that `tables` state."""
        from analyzers.bundle.redact import Redactor  # its many expressions are for who hides, and take their time

        redactor = Redactor(self.key, self.keep)
        redactor.learn(tables)
        return redactor

    def evidence(self, found: Evidence) -> Evidence:
        """`found` with a token for each name and each word that is not known to be harmless; its rows are other ones."""
        stored = stored_tables(found.tables)
        redactor = self.redactor(stored)
        return Evidence(
            dict(redactor.tables(stored)),
            [*map(redactor.lines, found.notes)],
            {name: redactor.lines(why) for name, why in found.absent.items()},
            found.stop,
            found.redaction or {"key": key_id(self.key)},
        )

    def texts(self, texts: Iterable[str]) -> list[str]:
        """`texts` that stand beside no tables."""
        return [*map(self.redactor({}).lines, texts)]

    def scope(self, scope: str) -> str:
        """A token for each directory that a job is called after: other jobs have others."""
        return self.redactor({}).scope(scope)

    def job(self, name: str) -> set[str]:
        """What a job that is called `name`, or has it for an id, may be called in reports: some are called as a group or a client is."""
        redactor = self.redactor({"jobs_seen": [{"job": name}]})
        return {redactor.lines(name), *redactor.tokens_of_job(name)}
