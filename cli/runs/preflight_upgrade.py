"""Preflight of an upgrade: the settings, jars, lines and state of a job as they are now, and one answer per question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.derived.planned.restore.case import version_of
from analyzers.derived.planned.upgrade.facts import facts, spoken
from analyzers.derived.planned.upgrade.questions import upgrade_answers, upgrade_row
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.runs.gathering import asking, merged
from cli.runs.preflight import answered
from cli.runs.preflight_restore import checkpoint_at
from cli.runs.run import Subject
from cli.shell.exits import UsageError

if TYPE_CHECKING:
    from cli.collectors.flink_transport import RestLogin


def target(text: str) -> str:
    """`text` where it is a release whose options are known. Raises `UsageError`."""
    known = ", ".join(map(spoken, facts().releases))
    found = version_of(text.removeprefix("flink-"))
    if found is None:
        raise UsageError(f"--to {text} is no version of Flink", f"diag knows upgrades of Flink only, to one of {known}.")
    if found not in facts().releases:
        raise UsageError(f"--to {text} is no release that diag knows the options of", f"It knows upgrades to Flink {known}.")
    return text.removeprefix("flink-")


def planned(to: str, from_version: str | None, checkpoint: str | None) -> Mapping[str, Sequence[Row]]:
    """The table ``planned_changes``."""
    return {"planned_changes": [upgrade_row(to, from_version=from_version, path=checkpoint)]}


def collect(
    confs: Sequence[Path], checkpoint: str | None, flink_rest: str | None, login: RestLogin | None, timeout_seconds: float
) -> Callable[[], Evidence]:
    """A function that reads the files and the checkpoint, and asks the JobManager, each where it is named.

    Raises `UsageError` at once for files that hold no settings and addresses that cannot be understood. The function raises `CannotLook`
    and `UsageError` as `checkpoint_at` does; a JobManager that does not answer is a row of ``sources``.
    """
    from cli.collectors.flink_settings import settings_of_file, settings_of_rest

    files = [settings_of_file(path) for path in confs]
    asked = []
    if flink_rest is not None:
        asked.append(Collector(flink_rest, "flink-rest", settings_of_rest(flink_rest, login=login, timeout_seconds=timeout_seconds)))

    def look() -> Evidence:
        with asking(asked) as answers:
            return merged([*files, *([checkpoint_at(checkpoint)] if checkpoint else []), *answers()])

    return look


def _looked_at(tables: Mapping[str, Sequence[Row]]) -> str:
    to = next((row["engine_version"] for row in tables.get("planned_changes", ())), None)
    return f"upgrade to Flink {to}; {answered(upgrade_answers(tables))}"


UPGRADE = Subject(
    command="preflight upgrade",
    collected=("job_config", "process_environments", "checkpoint_files", "operator_states", "splits", "planned_changes"),
    facts=("preflight",),
    looked_at=_looked_at,
    derived=lambda tables: {"preflight": upgrade_answers(tables)},
    judged_by=("PRE103", "PRE903"),
)
