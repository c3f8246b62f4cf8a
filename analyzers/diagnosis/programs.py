"""Which engine and which client of Kafka the process of a finding runs, and which of the advice holds for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from analyzers.components.programs import Program, of_role, of_table, program_of, running, signs_in, together, version_in
from analyzers.components.terms import unknown_to
from analyzers.diagnosis.findings import to_read
from analyzers.logs.layouts.roles import SERVERS
from analyzers.logs.scan.selection import mask
from analyzers.report.advice import fitting, in_one, steps_of
from analyzers.report.codes import is_own
from analyzers.report.finding import Finding
from analyzers.tables import TABLES, Row
from analyzers.tables.by_column import column

_MOST_ROWS, _MOST_KINDS = 1_000, 50
"""Of one log: a process shows what it runs in its first lines."""
_MOST_LETTERS, _SHAPE = 800, 120
_BANNERS = ("flink", "spark")
"""Engines whose version is read from the banner of a log."""


class Programs:
    """The programs of the processes of a run; only scopes in which something was found are looked at."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], findings: Sequence[Finding]) -> None:
        self._tables = tables
        self._wanted = {finding.scope for finding in findings}
        self._events: dict[str, dict[str, dict[tuple[object, ...], Row]]] = defaultdict(lambda: defaultdict(dict))
        self._files: dict[tuple[str, str], Row] = {}
        self._frames: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self._known: dict[tuple[str, str], Program] = {}
        self._whole: dict[str, Program] = {}
        self._collect()

    def of(self, finding: Finding) -> Program:
        """What the process runs in whose lines `finding` showed; where they show nothing, what all of its scope agree on."""
        shown = self.shown_by(finding)
        return running(finding.engines, shown) if finding.engines else shown

    def shown_by(self, finding: Finding) -> Program:
        """`of`, without what the rule itself says of the engine."""
        files = dict.fromkeys(each.file for each in finding.evidence if each.file is not None)
        logs = [self.of_file(finding.scope, file) for file in files if not self._of_server(finding.scope, file)]
        tables = [program_of({name: 1}) for each in finding.evidence if (name := of_table(each.table))]
        if own := together([*logs, *tables]):
            return own
        quoted = [each.text for each in finding.evidence if each.file is None or not self._of_server(finding.scope, each.file)]
        return program_of(Counter(name for text in quoted for name in signs_in(text[:_MOST_LETTERS]))) or self._of_scope(finding.scope)

    def of_file(self, scope: str, file: str) -> Program:
        """What the process runs that wrote a log."""
        if (scope, file) not in self._known:
            self._known[scope, file] = self._read(scope, file)
        return self._known[scope, file]

    def fitted(self, finding: Finding) -> Finding:
        """`finding` with the advice of its page that holds for its program, and with nothing else to do or to ask that it does not know."""
        if not finding.advice or is_own(finding.code):  # steps of a user's own say what he wants them to say
            return finding
        program = self.of(finding)
        lines = fitting(finding.advice, program)
        command = finding.detail.get("next_command")
        foreign = {text for text in (finding.no_help, command) if text and program and unknown_to(program, text)}
        return replace(
            finding,
            steps=steps_of(lines),
            fix=in_one(lines),
            no_help=None if finding.no_help in foreign else finding.no_help,
            detail={**finding.detail, "next_command": to_read(finding.evidence)} if command in foreign else finding.detail,
        )

    def _collect(self) -> None:
        events = self._tables.get("log_events", ())
        looked: Counter[tuple[str, str]] = Counter()
        for number, (scope, file) in enumerate(zip(column(events, "scope"), column(events, "file"), strict=True)):
            own = self._events[scope][file or ""] if scope in self._wanted else {}
            if scope in self._wanted and looked[scope, file] < _MOST_ROWS and len(own) < _MOST_KINDS:
                looked[scope, file] += 1
                row = events[number]
                shape = None if row["logger"] else mask((row["text"] or "")[:_SHAPE])
                own.setdefault((row["logger"], row["signature"], shape), row)
        for row in self._tables.get("stack_samples", ()):
            if row["scope"] in self._wanted and row["language"] is not None:
                self._frames[row["scope"], row["file"] or ""].update(dict.fromkeys(row["frames"] or ()))
        for row in self._tables.get("log_files", ()):
            if row["scope"] in self._wanted:
                self._files[row["scope"], row["file"]] = row

    def _of_server(self, scope: str, file: str) -> bool:
        row = self._files.get((scope, file))
        return row is not None and row["role"] in SERVERS

    @cached_property
    def _asked(self) -> Mapping[str, set[str]]:
        """The engines whose own tables have rows of a scope."""
        found: dict[str, set[str]] = defaultdict(set)
        for name in TABLES:
            if engine := of_table(name):
                for scope in set(column(self._tables.get(name, ()), "scope")):
                    found[scope].add(engine)
        return found

    def _of_scope(self, scope: str) -> Program:
        if scope not in self._whole:
            logs = [self.of_file(scope, file) for file in self._events[scope] if not self._of_server(scope, file)]
            self._whole[scope] = together([*logs, *(program_of({engine: 1}) for engine in self._asked.get(scope, ()))])
        return self._whole[scope]

    def _read(self, scope: str, file: str) -> Program:
        shown: Counter[str] = Counter()
        versions: dict[str, str] = {}
        stated = self._files.get((scope, file))
        texts = [_text(row) for row in self._events[scope][file].values()]
        texts += [each for each in (stated["clients"] or ()) if each] if stated is not None else []
        texts += list(self._frames.get((scope, file), ()))[:_MOST_ROWS]
        for text in texts:
            for name in signs_in(text):
                shown[name] += 1
                if name not in versions and (version := version_in(name, text)) is not None:
                    versions[name] = version
        if stated is not None:
            shown.update(filter(None, [of_role(stated["role"])]))
            versions |= {name: stated["version"] for name in _BANNERS if stated["version"]}
        return program_of(shown, versions)


def _text(row: Row) -> str:
    """A line with all names that say whose it is."""
    parts = (row["logger"], row["client"], *(row["chain"] or ()), *(row["frames"] or ()), (row["text"] or "")[:_MOST_LETTERS])
    return "\n".join(part for part in parts if part)
