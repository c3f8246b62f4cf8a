"""One job looked at again and again on one engine: what opened, got worse or healed goes to whoever asked for it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.comparison.sides import Side
from analyzers.report.durations import counted, span
from analyzers.report.finding import Severity
from analyzers.report.report import Report
from analyzers.report.without_secrets import without_secrets
from analyzers.watching import outbox
from analyzers.watching.sight import STALE_SECONDS, sight
from analyzers.watching.sightings import not_read
from analyzers.watching.state import Message, Receiver, State
from analyzers.watching.steps import Policy, Step, step
from cli.options.shared import RunOptions
from cli.renderers import openmetrics
from cli.runs import watch_bundles
from cli.runs.evidence import Interrupted, judged
from cli.runs.gathering import gathered
from cli.runs.live_sources import LiveSources
from cli.runs.looks import side_of_run
from cli.runs.watch_couriers import Couriers
from cli.runs.watch_receivers import Delivery, Screen, Undelivered
from cli.runs.watch_receivers import Receiver as Recipient
from cli.runs.watch_sources import PatientSources
from cli.runs.watch_state import StateFile
from cli.shell.exits import CannotLook, DiagError, ExitCode, UsageError
from cli.shell.output import exit_code, write_file
from cli.shell.signals import postponed

if TYPE_CHECKING:
    from analyzers.tables.evidence import Evidence
    from cli.engine.spark import Engine
    from cli.shell.environment import Environment

_LEAST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 600.0
_READABLE = 0o644


@dataclass(frozen=True)
class Watched:
    """What is looked at, how often (seconds), and what counts as a change; `metrics`: the file of OpenMetrics."""

    paths: Sequence[str]
    live: LiveSources
    options: RunOptions
    every: float
    policy: Policy = field(default_factory=Policy)
    save_dir: Path | None = None
    metrics: Path | None = None


@dataclass(frozen=True)
class Look:
    """What one look found."""

    report: Report
    side: Side
    evidence: Evidence


@dataclass
class Watch:
    """A watch that runs. `clock` never jumps; `wall` is seconds since 1970; tests give others, and a `look` of their own."""

    watched: Watched
    recipients: Sequence[Recipient]
    file: StateFile
    environment: Environment
    version: str
    start: Callable[[], Engine]
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] | None = None
    """None: until the time is over, or a delivery is."""
    draw: Callable[[], float] = random.random
    look: Callable[[], Look] | None = None
    state: State = field(default_factory=State)
    failures: int = 0
    last: openmetrics.LastLook | None = None
    _engine: Engine | None = None
    _trouble: dict[str, str] = field(default_factory=dict)
    _torn: bool = False
    _unread: set[str] = field(default_factory=set)
    """Names of the sources that were reported as not read, until all are."""

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        """Of `state` and its file: what a look changes is in the file, with its messages, before any other thread may write it."""
        self._couriers = Couriers(self._lock)
        self._patient = PatientSources(self.watched.every, self.clock, self.draw)
        self._looks_here = 0
        self._held = ExitStack()
        self._held.callback(self._end)

    def _end(self) -> None:
        self._couriers.end()
        for each in self.recipients:
            each.stop()
        self.file.close()

    def once(self) -> int:
        """One look, and one attempt to deliver what is due; the exit code."""
        with self._held:
            self._begin()
            code = self._one()
            self._finish()
            self._deliver()
            self._couriers.settle()
            self._finish()
            return code

    def run(self, most_looks: int | None = None) -> None:
        """Looks until it is stopped (or so often). Raises what stops it, and what the first look cannot do without."""
        with self._held:
            self._begin()
            while True:
                began = self.clock()
                self._one(first=self._looks_here == 0)
                self._finish()
                self._deliver()
                if most_looks is not None and self._looks_here >= most_looks:
                    self._couriers.settle()
                    self._finish()
                    return
                self._wait(began)

    def _begin(self) -> None:
        self.state = self.file.load()
        for words in self.file.remarks:
            self.environment.complain(f"diag: {words}")
        self._drop_left_out()
        dropped = outbox.leave(self.state, [each.key for each in self.recipients])
        if dropped:
            self.environment.complain(f"diag: {counted(dropped, 'message')} for receivers that are named no more were dropped")
        for each in self.recipients:
            self.state.receivers.setdefault(each.key, Receiver())

    def _drop_left_out(self) -> None:
        """What --only or --ignore leave out now is no longer looked for: it can neither heal nor stay open."""
        from cli.runs.looks import chosen

        remembered = Side("", {"findings": [{**item.document, "key": item.key} for item in self.state.items]})
        keeps = {each["key"] for each in chosen(remembered, self.watched.options.keeps)[0].document["findings"]}
        left = [item for item in self.state.items if item.key not in keeps or not self.watched.options.runs(item.document["code"])]
        if left:
            self.state.items = [item for item in self.state.items if item not in left]
            codes = ", ".join(sorted({item.document["code"] for item in left}))
            self.environment.say(f"left out by the options, and so forgotten: {codes}")

    # ---- a look ---------------------------------------------------------------------------------------------------------------

    def _one(self, *, first: bool = True) -> int:
        """One look and what it changes; the exit code that it means. A look that fails changes nothing."""
        began, at = self.clock(), self.wall()
        self._looks_here += 1
        try:
            look = (self.look or self._look)()
        except UsageError:
            if first:
                raise
            return self._unseen("what is watched cannot be read as it is named", at, began)
        except CannotLook as error:
            return self._unseen(_sentences(error), at, began)
        except Exception as error:
            if first:
                raise
            words = (str(error).splitlines() or [""])[0]  # the next look may see something else
            return self._unseen(f"this is a defect in diag: {type(error).__name__}: {words}", at, began)
        self.failures = 0
        code = exit_code(look.report, "never")
        not_all, newest = _not_all(look.side), _newest(look.side)
        lines = sum(row.get("lines") or 0 for row in look.side.tables.get("log_files", ()))
        now, at_ = self.clock(), _iso(at)
        with self._whole():
            done = step(self.state, look.side, now=now, at=at_, policy=self.watched.policy)
            self._save_bundle(done, look, at)
            done.messages += sight(
                self.state, not_all if look.side.unread else None, newest, lines, now=now, at=at_, policy=self.watched.policy
            )
            outbox.put(self.state, [each.key for each in self.recipients], done.messages)
            self._save_state()  # whoever is stopped before this has not looked
        for words in done.remarks:
            self.environment.say(words)
        for screen in self.recipients:
            if isinstance(screen, Screen) and screen.form == "terminal":
                screen.cards.update(self._cards(done.messages, look.report))
        self.last = openmetrics.LastLook(at, self.clock() - began, not_all is None, self._age(at))
        self._say_what_was_not_seen(look.side, not_all)
        self._say_where_it_stands(look, at, first=first)
        fail_on = self.watched.options.fail_on
        worst = max((item.severity.rank for item in self.state.items if item.is_open), default=-1)
        if fail_on != "never" and worst >= Severity(fail_on).rank:
            return ExitCode.FINDINGS
        return code

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What a look changes is all in the state file, or nothing of it: stopped within, no thread writes any more."""
        with self._lock:
            self._torn = True
            yield
            self._torn = False

    def _unseen(self, why: str, at: float, began: float) -> int:
        self.failures += 1
        self.last = openmetrics.LastLook(at, self.clock() - began, False, self._age(at))
        with self._whole():
            clause = why.partition(". ")[0].rstrip(".")
            messages = sight(self.state, clause, None, 0, now=self.clock(), at=_iso(at), policy=self.watched.policy)
            outbox.put(self.state, [each.key for each in self.recipients], messages)
            self._save_state()
        self._say_once("look", f"could not look: {why}")
        return ExitCode.CANNOT_LOOK

    def _say_what_was_not_seen(self, side: Side, not_all: str | None) -> None:
        """One line when it begins, one for each source that is added, and one when all is seen again; how long it lasts is no news."""
        if not_all is None:
            if self._trouble.pop("look", None) is not None:
                self.environment.complain("diag: looks see all again")
            self._unread.clear()
            return
        names = {name for _, name, _ in side.unread}
        if "look" not in self._trouble or names - self._unread:
            self._unread |= names
            again = self._patient.next_try()
            self._say_once("look", f"look incomplete: {not_all}{'' if again is None else f'; next try in {again:.0f} s'}")

    def _age(self, at: float) -> float | None:
        """How old the newest line is that a look has seen, in seconds; a look that sees none makes it no younger."""
        newest = self.state.lines.newest
        return None if newest is None else at - datetime.fromisoformat(newest).timestamp()

    def _say_once(self, of: str, words: str) -> None:
        """A trouble of one kind, until it is over or another."""
        if self._trouble.get(of) != words:
            self._trouble[of] = words
            self.environment.complain(f"diag: {words}")

    def _say_where_it_stands(self, look: Look, at: float, *, first: bool) -> None:
        there = sum(item.is_open for item in self.state.items)
        words = f"{_iso(at)[11:19]}Z look {self.state.looks}: {look.report.looked_at or 'nothing could be read'}; {there or 'nothing'} open"
        if self.last is not None and self.last.newest_age is not None and self.last.newest_age >= STALE_SECONDS:
            words += f"; newest line is {span(timedelta(seconds=self.last.newest_age))} old"
        if first:
            self.environment.say(words)
        elif self.environment.stderr_is_tty:
            self.environment.say(f"{words}\r")
        else:
            self.environment.detail(words)

    def _look(self) -> Look:
        if self._engine is not None and (why := self._engine.ended()) is not None:
            self.environment.complain(f"diag: {why}; it is started again")
            self._held.pop_all()  # of one that has ended nothing is left for a next command
            self._held.callback(self._end)
            self._engine.stop()
            self._engine = None
        if self._engine is None:
            self._engine = self.start()
            self._held.enter_context(self._engine)
            self._engine.prepare_session()
        options = self.watched.options
        quiet = self.state.looks > 0 and self._looks_here > 1
        progress = self.environment.detail if quiet else self.environment.say
        collectors = [self._patient.around(each) for each in self.watched.live.collectors()]
        try:
            with self.watched.live.answered(progress) as answers:
                found = gathered(
                    [*self.watched.paths, *answers.paths], options, self._engine, None, [*collectors, *answers.collectors], progress,
                    names=answers.names,
                )  # fmt: skip
            if found.stop is not None:  # half a look would heal what the other half has
                raise found.stop
            report = judged(found, options, self._engine, command="watch", version=self.version, own=False)
        except Interrupted as early:
            raise early.stop from None
        except DiagError:
            raise
        except Exception as error:
            if (why := self._engine.ended()) is None:
                raise
            raise CannotLook(f"{why}.", "It is started again for the next look.") from error
        return Look(report, replace(side_of_run("this look", report, found), called="this look"), found)

    def _save_bundle(self, done: Step, look: Look, at: float) -> None:
        opened = [message for message in done.messages if message.change == "opened"]
        if self.watched.save_dir is None or not opened:
            return
        codes = [message.finding["code"] for message in opened]
        when = datetime.fromtimestamp(at, timezone.utc)
        try:
            path, said = watch_bundles.save_opening(self.watched.save_dir, look.evidence, codes, when, self.watched.options, self.version)
        except (CannotLook, UsageError) as error:
            done.remarks.append(f"no bundle was saved: {_sentences(error)}")
            return
        done.remarks += said
        keys = {message.key for message in opened}
        for item in self.state.items:
            if item.key in keys:
                item.bundle = str(path)
        done.messages = [replace(each, bundle=str(path)) if each.key in keys else each for each in done.messages]

    def _cards(self, messages: Sequence[Message], report: Report) -> dict[str, str]:
        """The card of each finding that opened and has a verdict."""
        from cli.renderers import terminal

        shown = without_secrets(report)
        width = self.environment.width if self.environment.stdout_is_tty else 80
        found: dict[str, str] = {}
        for message in messages:
            of = message.finding
            own = [each for each in shown.verdicts if (each.code, each.job, each.reason) == (of["code"], of["job"], of.get("reason"))]
            if message.change == "opened" and own:
                alone = replace(shown, verdicts=own[:1], facts={}, notes=[])
                found[message.id] = terminal.page(alone, width=width, colour=self.environment.colour, facts=False)
        return found

    # ---- what follows a look --------------------------------------------------------------------------------------------------

    def _deliver(self, *, beat: bool = True) -> None:
        """All that is due, to each; and, where the receiver wants that, that it is still so. What takes its time has a thread of its own:
        it holds up neither the next look nor another receiver."""
        for to in self.recipients:
            waits = self.state.receivers[to.key]
            beats = to.beats and beat and not waits.waiting and not self._waits(waits)
            if to.apart:
                if beats or outbox.due(waits, self.clock()):
                    self._couriers.send(to.key, partial(self._attempts, to, waits, beats))
            else:
                self._attempts(to, waits, beats)

    def _attempts(self, to: Recipient, waits: Receiver, beats: bool) -> None:
        if beats:
            self._attempt(to, waits, [])
        while True:
            with self._lock:
                messages = outbox.due(waits, self.clock())
                if not messages:
                    self._couriers.leave(to.key)  # what is put there from now on is for the next one
                    return
            if not self._attempt(to, waits, messages):
                return

    def _waits(self, to: Receiver) -> bool:
        return to.not_before is not None and self.clock() < to.not_before

    def _attempt(self, to: Recipient, waits: Receiver, messages: Sequence[Message]) -> bool:
        with self._lock:  # a look may change what is remembered while it is delivered
            known = [replace(item) for item in (*self.state.items, *self.state.sight)]
            delivery = Delivery(messages, waits.dropped, known, _iso(self.wall()), self.version)
        failed: Undelivered | None = None
        try:
            to.deliver(delivery)
        except Undelivered as error:
            failed = error
        except Exception as error:
            if not to.apart:
                raise
            failed = Undelivered(f"this is a defect in diag: {type(error).__name__}")
        with self._lock:
            if to.apart and (self._couriers.ended or self._torn):
                return False  # the state file may be another watch's by now, or would have half a look
            return self._noted(to, waits, messages, delivery.dropped, failed)

    def _noted(self, to: Recipient, waits: Receiver, messages: Sequence[Message], dropped: int, failed: Undelivered | None) -> bool:
        """Whether it was delivered, which the state file knows from now on."""
        if failed is not None:
            if self.environment.stdout_closed and all(isinstance(each, Screen) for each in self.recipients):
                raise BrokenPipeError from failed  # there is no one left to send anything to
            seconds = outbox.failed(waits, self.clock(), self.draw, failed.pause)
            again = f"tried again in {seconds:.0f} s at the earliest"
            self.environment.complain(f"diag: {to.name}: {failed.why}; {counted(len(waits.waiting), 'message')} waiting, {again}")
            self._save_state()
            return False
        if waits.failures:
            self.environment.say(f"{to.name} answers again")
        with nullcontext() if to.apart else postponed():  # delivered, and known to be; signals come to the main thread alone
            if messages or waits.failures:
                if dropped:
                    self.environment.complain(f"diag: {to.name}: {counted(dropped, 'message')} had been dropped, which it knows now")
                outbox.delivered(waits, messages, dropped)
                self._save_state()
        return True

    def _save_state(self) -> None:
        try:
            self.file.save(self.state)
            self._trouble.pop("state", None)
        except CannotLook as error:
            self._say_once("state", _sentences(error))

    def _finish(self) -> None:
        if self.watched.metrics is None or self.last is None:
            return
        names = {each.key: each.name for each in self.recipients}
        with self._lock:
            text = openmetrics.render(self.state, self.last, names)
        new = not self.watched.metrics.exists()
        try:
            write_file(self.watched.metrics, text)
            if new:  # the node-exporter is another user; there are no secrets in it
                self.watched.metrics.chmod(_READABLE)
        except (CannotLook, OSError) as error:
            why = error.message if isinstance(error, CannotLook) else error.strerror
            self._say_once("metrics", f"-o openmetrics: {why}")

    def _wait(self, began: float) -> None:
        """Until the next look; a receiver whose pause is over before that is tried again meanwhile."""
        every = self.watched.every
        if self.failures > 1:
            every = max(every, outbox.pause(self.failures, self.draw, every, max(_LONGEST_PAUSE_SECONDS, every)))
        until = max(began + every, self.clock() + min(_LEAST_PAUSE_SECONDS, every))
        while (now := self.clock()) < until:
            self._couriers.woken.clear()
            pauses = [each.not_before for each in self.state.receivers.values() if each.waiting and each.not_before is not None]
            seconds = max(min([until, *(each for each in pauses if each > now)]) - now, 0.0)
            (self.sleep or self._couriers.woken.wait)(seconds)
            if self.clock() < until:
                self._deliver(beat=False)
                self._finish()


def _iso(at: float) -> str:
    when = datetime.fromtimestamp(at, timezone.utc)
    return f"{when:%Y-%m-%dT%H:%M:%S}.{when.microsecond // 1000:03d}Z"


def _sentences(error: DiagError) -> str:
    """What happened, and what to do: messages of the system end without a full stop."""
    message = error.message if error.message.endswith((".", ":", "?")) or not error.hint else f"{error.message}."
    return f"{message} {error.hint}".rstrip()


def _newest(side: Side) -> datetime | None:
    """The time of the newest line of the logs."""
    times = [row["last_at"] for row in side.tables.get("log_files", ()) if isinstance(row.get("last_at"), datetime)]
    return max((each if each.tzinfo else each.replace(tzinfo=timezone.utc) for each in times), default=None)


def _not_all(side: Side) -> str | None:
    """What a look did not see, a clause; None where it saw all."""
    return not_read(side) or side.incomplete or (None if side.is_judged else "no rule judged")
