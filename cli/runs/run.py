"""The way of the commands that collect for themselves: ask while the JVM boots, save, judge; what was collected is never lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from analyzers.report.report import Report
from analyzers.report.without_secrets import without_secrets
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from analyzers.tables.memory import gc_paused
from cli.options.shared import RunOptions
from cli.runs.evidence import NOT_ASKED, Interrupted, as_it_is, chosen, from_bundle, judged, none_judged, reported, save, scanned, unsaved
from cli.shell.exits import CannotLook, DiagError, UsageError
from cli.shell.output import after, emit, exit_code, show_facts

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule
    from cli.engine.spark import Engine
    from cli.shell.environment import Environment

Tables = Mapping[str, Sequence[Row]]

_OF_LOGS = ("log_events", "log_counts", "log_files", "attempts", "faults", "jobs_seen", "split_claims", "job_lives")
_OF_EXCEPTIONS = {"attempts", "faults", "jobs_seen"}
_ASIDE = {"client_configs", "topic_configs"}
"""Settings that several commands collect: a rule about them is about something else in the first place."""

_NOT_JUDGED = "stopped before the rules had judged: nothing here says that all is well"


def nothing_live() -> Evidence:
    """Stands for a collector where a bundle is read."""
    raise AssertionError("a bundle is read, nothing is collected")


@dataclass(frozen=True)
class Subject:
    """What a command is about: the tables it collects, and what it says of them without any rule.

    `facts` are printed, whether collected or made by `derived`. `remarks` are for people. All are made from tables
    alone: a bundle gives the report of the run that wrote it.
    """

    command: str
    collected: tuple[str, ...]
    facts: tuple[str, ...]
    looked_at: Callable[[Tables], str]
    derived: Callable[[Tables], dict[str, list[Row]]] = lambda tables: {}
    remarks: Callable[[Tables], list[str]] = lambda tables: []
    first_words: Callable[[Tables], list[str]] = lambda tables: []
    apart: tuple[tuple[str, ...], ...] = ()
    """Groups of tables that need not all be there: a rule that needs one of a group of which nothing was found is not about the run."""
    judged_by: tuple[str, ...] = ()
    """Codes of the rules that alone judge the run, where it asks one question of evidence that many rules read; none: all of them."""
    not_judged_by: tuple[str, ...] = ()
    """Codes of rules about another question that the same tables answer: they would be called clean."""


@dataclass
class Run:
    """One run of a command about `subject`: `collect` asks, reads or probes; it is not called where `options` name a bundle."""

    subject: Subject
    collect: Callable[[], Evidence]
    options: RunOptions
    version: str
    logs: Sequence[str] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # what logs are called, where that is not their path
    progress: Callable[[str], None] = lambda said: None
    look_again: Callable[[Evidence], None] = lambda found: None  # the one second look, at what the first one has shown
    plan: Tables = field(default_factory=dict)  # tables that the command line states, beside what is collected or in a bundle
    collected: Callable[[Report], None] = lambda report: None  # gets the facts before any rule has judged

    def report(self, engine: Engine | None = None) -> Report:
        """Collect, save, judge. Starts an engine of its own unless one is given; without Java the facts are reported all the same.

        Raises what `collect` raises, `UsageError` and `CannotLook` for bundles, `Interrupted` when stopped.
        """
        if self.options.facts_only:
            found = self._evidence(None)
            save(self.options, found, self.version, self.progress)
            found = reported(self.options, found)
            facts = self._facts(found)
            self.collected(facts)
            if found.stop is not None:
                raise Interrupted(facts, found.stop)
            return facts
        if engine is not None:
            return self._judged(engine)
        from cli.runs import ahead

        try:
            own = ahead.engine(self.options)
        except DiagError as error:
            return self._without_spark(self._evidence(None), error)
        with own:  # with: a failed job is told before the JVM has gone
            return self._judged(own)

    def emit(self, environment: Environment) -> tuple[Report, int]:
        """The report, written as `options` ask, and its exit code. At a terminal the facts are on the screen while Spark still starts.

        When stopped, what was collected is written before it ends.
        """
        shown: list[bool] = []
        if not self.options.facts_only:
            self.collected = lambda facts: shown.append(self._first(facts, environment))
        try:
            report = self.report()
        except Interrupted as early:
            code = emit(early.report, self.options.outputs, self.options.fail_on, environment, facts_shown=any(shown))
            return early.report, after(early.stop, code, environment)
        return report, emit(report, self.options.outputs, self.options.fail_on, environment, facts_shown=any(shown))

    def _first(self, facts: Report, environment: Environment) -> bool:
        """What is known before Spark is there: the facts on a screen, else in a line or two on the way; whether they are on the screen."""
        if show_facts(facts, self.options.outputs, environment):
            return True
        for words in (facts.looked_at, *self.subject.first_words(facts.facts)):
            self.progress(words)
        return False

    def emit_listing(self, environment: Environment, render: Callable[[Report], str]) -> int:
        """As `emit`, for a command that has its own picture of its facts for a terminal; what rules say stands below it. The exit code."""
        wanted = list(self.options.outputs) or ["terminal" if environment.stdout_is_tty else "plain"]
        if "terminal" not in wanted:
            return self.emit(environment)[1]
        self.collected = lambda facts: environment.write(
            render(without_secrets(facts, content=environment.show_content))
        )  # on the screen while Spark is still starting
        others = [output for output in wanted if output != "terminal"]
        report = self.told(environment, others)
        if not self.options.facts_only:
            environment.write("\n")
            # what was looked at stands above the listing already
            emit(replace(report, facts={}, notes=[]), ["terminal"], self.options.fail_on, environment, facts_shown=True)
        return emit(report, others, self.options.fail_on, environment) if others else exit_code(report, self.options.fail_on)

    def told(self, environment: Environment, outputs: Sequence[str]) -> Report:
        """`report`, for a command that shows its facts itself; what was collected is written to `outputs` when stopped."""
        try:
            return self.report()
        except Interrupted as early:
            environment.complain("".join(early.report.notes[-1:]))
            if outputs:
                emit(early.report, outputs, self.options.fail_on, environment)
            raise early.stop from None

    def _judged(self, engine: Engine) -> Report:
        engine.prepare_session()  # while the answers are on their way
        found = self._evidence(engine)
        stopped: BaseException | None = unsaved(self.options, found, self.version, self.progress)
        found = reported(self.options, found)
        self.collected(self._facts(found))
        try:
            try:
                engine.context()
            except CannotLook as error:
                return self._without_spark(found, error, saved=True)
            report = judged(found, self.options, engine, command=self.subject.command, version=self.version, rules=self._rules(found))
        except Interrupted as early:
            report, stopped = early.report, early.stop
        except BaseException as stop:
            if not isinstance(stop, Exception):  # Ctrl-C, SIGTERM: what was collected is not lost
                raise Interrupted(self._facts(found, _NOT_JUDGED), stop) from stop
            raise
        tables: Tables = {**found.tables, **self.subject.derived(found.tables)}
        report.facts = chosen(tables, self.subject.facts)
        report.notes = [*self.subject.remarks(tables), *report.notes]
        report.looked_at = self._looked_at(found)
        if stopped is not None:
            raise Interrupted(report, stopped)
        return report

    def _evidence(self, engine: Engine | None) -> Evidence:
        try:
            return self._collected(engine)
        except BaseException as stop:
            if isinstance(stop, Exception):
                raise
            # the tables are not in: an empty look at them would read as an empty cluster
            raise Interrupted(replace(self._facts(Evidence({}), NOT_ASKED), facts={}, looked_at=""), stop) from stop

    def _collected(self, engine: Engine | None) -> Evidence:
        if self.options.bundle is not None:
            found = from_bundle(self.options, engine, self.progress)
            return replace(found, tables={**found.tables, **self.plan}) if self.plan else found
        found = self.collect()
        if self.plan:
            found = replace(found, tables={**found.tables, **self.plan})
        if self.logs:
            from analyzers.readers.log_scan import LogOptions

            read = LogOptions(
                self.options.log_timezone, inside=(self.options.since, self.options.until), names=self.names,
                own=self.options.own_signatures,
            )  # fmt: skip
            try:
                logs = scanned(list(self.logs), read, engine, self.progress)
            except CannotLook as error:
                raise UsageError(error.message, error.hint) from error
            sources = [*found.tables.get("sources", ()), *logs.tables["sources"]]
            found = Evidence(
                {**found.tables, **logs.tables, "sources": sources}, [*found.notes, *logs.notes], found.absent, found.stop or logs.stop
            )
        self.look_again(found)
        return found

    def _rules(self, found: Evidence) -> list[Rule]:
        """Those that have to do with what was collected; the many about logs would only be named as not checked where there are none."""
        from analyzers.own_rules import rules_of

        about = {*self.subject.collected, *self.subject.facts, *found.tables} - _ASIDE
        logs = set(_OF_LOGS)
        if "log_events" in found.tables:
            about |= logs
            logs = set()
        elif found.tables.get("exceptions"):  # the JobManager itself told of its failures
            about |= _OF_EXCEPTIONS
            logs -= _OF_EXCEPTIONS
        named = {only.code for only in self.options.only}
        nowhere = {name for group in self.subject.apart if not set(group) & found.tables.keys() for name in group}
        if nowhere >= set(self.subject.collected):
            nowhere = set()  # nothing was found at all: that is to be said

        alone, never = self.subject.judged_by, self.subject.not_judged_by

        def fits(rule: Rule) -> bool:
            if rule.code in never or (alone and rule.code not in alone):
                return False
            return bool(about.intersection(rule.tables)) and not (nowhere | logs).intersection(rule.tables)

        return [rule for rule in rules_of(self.options.own) if fits(rule) or rule.code in named]

    def _facts(self, found: Evidence, *said: str) -> Report:
        """The collected tables without any judgement; `said`: what is to be known about them."""
        with gc_paused():
            tables: Tables = {**found.tables, **self.subject.derived(found.tables)}
        as_of = max((row["as_of"] for name in self.subject.collected for row in tables.get(name, ()) if row["as_of"]), default=None)
        return as_it_is(
            tables,
            self.subject.facts,
            command=self.subject.command,
            version=self.version,
            window=(None, as_of),
            notes=[*self.subject.remarks(tables), *found.notes, *said],
            looked_at=self._looked_at(found),
        )

    def _without_spark(self, found: Evidence, error: DiagError, *, saved: bool = False) -> Report:
        if not saved:
            save(self.options, found, self.version, self.progress)
            found = reported(self.options, found)
            self.collected(self._facts(found))
        self.progress(f"no rule can judge: {error}")
        report = none_judged(self._facts(found), error, [rule.code for rule in self._rules(found)], self.options)
        if found.stop is not None:
            raise Interrupted(report, found.stop)
        return report

    def _looked_at(self, found: Evidence) -> str:
        words = [self.subject.looked_at(found.tables)]
        files = found.tables.get("log_files")
        if files:
            words.append(f"{len(files)} log file{'s' * (len(files) != 1)}")
        return ", ".join(word for word in words if word)
