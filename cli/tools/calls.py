"""A call of a tool: the run of the command of the same name on one resident Spark, and the answer made of its report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.bundle.harmless import WORD
from analyzers.report.report import Report
from analyzers.report.without_secrets import without_secrets
from cli.engine.spark import Engine
from cli.options.shared import RunOptions, moment
from cli.runs.evidence import Interrupted, hiding
from cli.shell.exits import CannotLook, DiagError, ExitCode, UsageError
from cli.shell.output import exit_code
from cli.shell.process import in_words
from cli.tools import answers
from cli.tools.offered import checked
from cli.tools.permitted import Permitted
from cli.tools.shelf import Shelf

if TYPE_CHECKING:
    from cli.runs.run import Subject

_TIMEOUT_SECONDS = 10.0
_SAMPLES, _EVERY_SECONDS = 4, 2.0
_OF_CHANGE = {
    "broker-removal": frozenset({"brokers", "topics", "groups", "logs", "bootstrap_servers"}),
    "restore": frozenset(
        {
            "checkpoint", "against", "job_graph", "claim_mode", "allow_non_restored", "max_parallelism", "to_version", "flink_rest", "jobs",
            "bootstrap_servers",
        }
    ),
    "upgrade": frozenset({"to_version", "from_version", "confs", "checkpoint", "flink_rest", "logs"}),
}  # fmt: skip
_OF_ANY_CHANGE = frozenset({"change", "bundle"})


Answered = Callable[[Engine], tuple[Report, int]]
"""A run that waits for its engine: the report, and its exit code."""


class Cancelled(BaseException):
    """The client does not wait for the answer any more. No `Exception`, so that a run ends as one that was interrupted."""


@dataclass
class Calls:
    """Makes calls, one after the other. `options` are those of each run, with the key of its tokens where it is redacted."""

    permitted: Permitted
    options: RunOptions
    version: str
    flink_rest_auth: Path | None = None
    say: Callable[[str], None] = lambda said: None
    shelf: Shelf = field(default_factory=Shelf)
    engine: Engine | None = None
    """The resident one: started by the first call that needs it."""

    def call(self, name: str, arguments: object, is_cancelled: Callable[[], bool] = lambda: False) -> tuple[str, bool]:
        """The answer to a call, and whether it is an error. Raises `Cancelled` where `is_cancelled` said so while it ran."""
        ran, given = False, dict[str, Any]()
        try:
            given = checked(name, arguments)
            if name == "explain":
                return answers.explanation(given["code"], given.get("page", 1), self.options.own), False
            if name == "evidence":
                return answers.evidence(self.shelf.take(given["report"]), given.get("select", ""), given.get("page", 1)), False
            look = _Look(self, given, self._progress(is_cancelled))
            run = {
                "triage": look.triage,
                "lag_report": look.lag_report,
                "broker_health": look.broker_health,
                "checkpoint_inspect": look.checkpoint_inspect,
                "preflight": look.preflight,
            }[name]()
            ran = True
            report, code = self._reported(run)
        except Interrupted as early:
            if isinstance(early.stop, CannotLook):
                return answers.trouble(early.stop.message, early.stop.hint, ExitCode.CANNOT_LOOK), True
            raise early.stop from None
        except Exception as error:
            message, hint, exit_with = in_words(error)
            if ran and isinstance(error, DiagError):
                message, hint = self._hidden(message, hint, given)
            return answers.trouble(message, hint, exit_with), True
        if is_cancelled():
            raise Cancelled
        held = self.shelf.keep(lambda: _rendered(report))
        return answers.answer(report, held, code), False

    def close(self) -> None:
        """End Spark."""
        if self.engine is not None:
            self.engine.stop()
            self.engine = None

    def _reported(self, run: Callable[[Engine], tuple[Report, int]]) -> tuple[Report, int]:
        """What `run` gives on the resident engine. Whose JVM is gone by then, is replaced at the next call."""
        if self.engine is None:
            self.engine = Engine.start(self.options.spark_master, memory=self.options.memory)
        failed = True
        try:
            report, code = run(self.engine)
            failed = any(source.kind == "spark" and source.state == "failed" for source in report.sources)
        finally:
            if failed and self.engine.ended() is not None:
                self.close()
        return without_secrets(report), code

    def _progress(self, is_cancelled: Callable[[], bool]) -> Callable[[str], None]:
        def said(text: str) -> None:
            if is_cancelled():
                raise Cancelled
            self.say(text)

        return said

    def _hidden(self, message: str, hint: str, given: Mapping[str, Any]) -> tuple[str, str]:
        """An error of a run, which may name what no argument named, as the report would have it."""
        hide = hiding(replace(self.options, named=words_of(given)))
        if hide is None:
            return message, hint
        message, hint = hide.texts([message, hint])
        return message, hint


def words_of(given: Mapping[str, Any]) -> frozenset[str]:
    """The names in the arguments of a call, and the parts of its paths and addresses: the caller has them already."""
    texts = [text for value in given.values() for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    parts = [part for text in texts for part in re.split(r"[/\\:\s]+", text)]
    return frozenset(filter(None, [*texts, *parts, *(word for part in parts for word in WORD.findall(part))]))


def _rendered(report: Report) -> str:
    from cli.renderers.json import render

    return render(report)


@dataclass
class _Look:
    """The run of one call, as its command would make it of the same options. Each method raises `UsageError` for what is not permitted."""

    calls: Calls
    given: Mapping[str, Any]
    progress: Callable[[str], None]

    def triage(self) -> Answered:
        from cli.runs import triage
        from cli.runs.live_sources import LiveSources

        given, permitted = self.given, self.calls.permitted
        options = replace(
            self._options(), since=moment(given.get("since")), until=moment(given.get("until")), log_timezone=given.get("log_timezone")
        )
        paths = permitted.paths(given.get("paths", ()))
        servers = permitted.kafka(given["bootstrap_servers"]) if given.get("bootstrap_servers") else []
        live = LiveSources(
            bootstrap_servers=servers,
            command_config=permitted.command_config if servers else None,
            groups=given.get("groups", ()),
            topics=given.get("topics", ()),
            timeout_seconds=_TIMEOUT_SECONDS,
            flink_rest=permitted.flink(given.get("flink_rest")),
            flink_rest_auth=self.calls.flink_rest_auth,
            jobs=given.get("jobs", ()),
        )
        if not (paths or options.bundle or live.named):
            raise UsageError("nothing was named to look at", "Give paths, bundle, bootstrap_servers or flink_rest.")
        if options.bundle and (paths or live.named):
            raise UsageError("a bundle is judged by itself", "Leave out paths, bootstrap_servers and flink_rest, or bundle.")
        collectors = [] if options.bundle else live.collectors()

        def run(engine: Engine) -> tuple[Report, int]:
            report = triage.run(
                paths, options, version=self.calls.version, engine=engine, collectors=collectors, progress=self.progress
            )  # fmt: skip
            return report, exit_code(report)

        return run

    def lag_report(self) -> Answered:
        from cli.runs import lag_report as logic
        from cli.runs.run import nothing_live

        ask = nothing_live
        options = self._options()
        if options.bundle is None:
            groups = logic.collect(
                self.calls.permitted.kafka(self.given.get("bootstrap_servers", ())),
                command_config=self.calls.permitted.command_config,
                groups=self.given.get("groups", ()),
                topics=self.given.get("topics", ()),
                timeout_seconds=_TIMEOUT_SECONDS,
                sampling=logic.Sampling(self.given.get("samples", _SAMPLES), _EVERY_SECONDS),
                progress=self.progress,
            )
            checkpoints = self.calls.permitted.paths(self.given.get("checkpoints", ()))
            ask = logic.with_others(groups, checkpoints, self._flink(), self.progress)
        return self._run(logic.LAG_REPORT, ask, options)

    def broker_health(self) -> Answered:
        from cli.runs import broker_health as logic
        from cli.runs.run import nothing_live

        ask = nothing_live
        options = self._options()
        client = logic.ClientOptions(self.given.get("client_version"), self.given.get("connector"), self.given.get("parallelism"))
        if options.bundle is None:
            nowhere = not self.given.get("bootstrap_servers") and self.calls.permitted.command_config is None
            ask = logic.unprobed(client) if nowhere and self.given.get("logs") else self._brokers(client)

        def code(report: Report) -> int:  # a dead broker is a finding, not a failure to look
            return ExitCode.FINDINGS if logic.fails(report, ignored=False) else exit_code(report)

        return self._run(logic.BROKER_HEALTH, ask, options, code=code)

    def checkpoint_inspect(self) -> Answered:
        from cli.runs import checkpoint_inspect as logic
        from cli.runs.run import nothing_live

        options = self._options()
        paths = self.calls.permitted.paths(self.given.get("paths", ()))
        servers = self.given.get("bootstrap_servers", ())
        ask = nothing_live
        if options.bundle is None:
            flink = self._flink()
            if not paths and not flink:
                raise UsageError("nothing was named to look at", "Give paths, flink_rest or bundle.")
            ask = logic.together(logic.collect(paths) if paths else None, flink)
            if servers and paths:
                from cli.collectors.kafka_topic_ends import topic_ends

                ends = topic_ends(
                    self.calls.permitted.kafka(servers),
                    command_config=self.calls.permitted.command_config,
                    timeout_seconds=_TIMEOUT_SECONDS,
                )
                ask = logic.with_brokers(ask, ends, ", ".join(servers))
        return self._run(logic.CHECKPOINT_INSPECT, ask, options)

    def preflight(self) -> Answered:
        change = self.given["change"]
        wrong = sorted(self.given.keys() - _OF_CHANGE[change] - _OF_ANY_CHANGE)
        if wrong:
            raise UsageError(f"{', '.join(wrong)}: no argument of {change}", "Leave it out.")
        return {"broker-removal": self._removal, "restore": self._restore, "upgrade": self._upgrade}[change]()

    def _removal(self) -> Answered:
        from cli.runs import broker_health
        from cli.runs.preflight import BROKER_REMOVAL, planned
        from cli.runs.run import nothing_live

        if "brokers" not in self.given:
            raise UsageError("no broker is named that would go", "Give brokers, a list of node ids.")
        options = self._options()
        ask = nothing_live if options.bundle else self._brokers(broker_health.ClientOptions())
        plan = planned(sorted(set(self.given["brokers"])), self.given.get("groups", ()))
        return self._run(BROKER_REMOVAL, ask, options, plan=plan)

    def _restore(self) -> Answered:
        from cli.runs import preflight_restore as logic
        from cli.runs.run import nothing_live

        given, permitted = self.given, self.calls.permitted
        options = self._options()
        path = permitted.path(given["checkpoint"]) if "checkpoint" in given else None
        stated = {
            "claim_mode": given.get("claim_mode", "no-claim"),
            "engine_version": logic.release(given.get("to_version"), "to_version"),
            "max_parallelism": given.get("max_parallelism"),
            "allow_non_restored": given.get("allow_non_restored", False),
            "beam_version": None,
        }
        ask = nothing_live
        if options.bundle is None:
            if path is None:
                raise UsageError("no checkpoint is named", "Give checkpoint, or bundle.")
            servers = permitted.kafka(given["bootstrap_servers"]) if given.get("bootstrap_servers") else []
            graph = permitted.path(given["job_graph"]) if "job_graph" in given else None
            ask = logic.collect(
                path,
                logic.asked(
                    against=permitted.path(given["against"]) if "against" in given else None,
                    job_graph=Path(graph) if graph else None,
                    flink_rest=permitted.flink(given.get("flink_rest")),
                    flink_rest_auth=self.calls.flink_rest_auth,
                    jobs=given.get("jobs", ()),
                    rebase=(),
                    bootstrap_servers=servers,
                    command_config=permitted.command_config if servers else None,
                    timeout_seconds=_TIMEOUT_SECONDS,
                ),
            )
        return self._run(logic.RESTORE, ask, options, plan=logic.planned(path, **stated))

    def _upgrade(self) -> Answered:
        from cli.collectors.flink_transport import read_login
        from cli.runs import preflight_upgrade as logic
        from cli.runs.preflight_restore import release
        from cli.runs.run import nothing_live

        given, permitted, options = self.given, self.calls.permitted, self._options()
        if "to_version" not in given:
            raise UsageError("no version is named that is to run the job", "Give to_version, as 2.3.")
        to, stated = logic.target(given["to_version"]), release(given.get("from_version"), "from_version")
        path = permitted.path(given["checkpoint"]) if "checkpoint" in given else None
        ask = nothing_live
        if options.bundle is None:
            confs = [Path(each) for each in permitted.paths(given.get("confs", ()))]
            address = permitted.flink(given.get("flink_rest"))
            if not (confs or path or address or given.get("logs")):
                raise UsageError("nothing of the job is named", "Give confs, logs, checkpoint, flink_rest, or bundle.")
            ask = logic.collect(confs, path, address, read_login(self.calls.flink_rest_auth), _TIMEOUT_SECONDS)
        return self._run(logic.UPGRADE, ask, options, plan=logic.planned(to, stated, path))

    def _options(self) -> RunOptions:
        """Those of this run; a bundle that it names is permitted."""
        bundle = self.given.get("bundle")
        options = replace(self.calls.options, named=words_of(self.given))
        return options if bundle is None else replace(options, bundle=Path(self.calls.permitted.path(bundle)))

    def _brokers(self, client: Any) -> Callable[[], Any]:
        from cli.runs import broker_health

        return broker_health.collect(
            self.calls.permitted.kafka(self.given.get("bootstrap_servers", ())),
            command_config=self.calls.permitted.command_config,
            topics=self.given.get("topics", ()),
            client=client,
            timeout_seconds=_TIMEOUT_SECONDS,
        )

    def _flink(self) -> list[Any]:
        from cli.runs.live_sources import LiveSources

        return LiveSources(
            flink_rest=self.calls.permitted.flink(self.given.get("flink_rest")),
            flink_rest_auth=self.calls.flink_rest_auth,
            jobs=self.given.get("jobs", ()),
            timeout_seconds=_TIMEOUT_SECONDS,
        ).collectors()

    def _run(
        self,
        subject: Subject,
        ask: Callable[[], Any],
        options: RunOptions,
        *,
        plan: Mapping[str, Sequence[Any]] | None = None,
        code: Callable[[Report], int] = exit_code,
    ) -> Answered:
        from cli.runs.run import Run

        logs = self.calls.permitted.paths(self.given.get("logs", ()))
        run = Run(subject, ask, options, self.calls.version, logs=logs, progress=self.progress, plan=plan or {})

        def judged(engine: Engine) -> tuple[Report, int]:
            report = run.report(engine)
            return report, code(report)

        return judged
