"""What there is at the places of a fleet: a bundle, logs with checkpoints and saved answers, a JobManager that is asked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from analyzers.bundle.read import RAW
from analyzers.fleet.places import Place
from analyzers.readers.object_stores import is_remote
from analyzers.readers.opening import TROUBLES, at_most, open_file
from analyzers.readers.remote_files import remote_entries
from analyzers.readers.sources import MANIFEST, MANIFEST_HEAD, is_bundle, of_bundle
from analyzers.tables.evidence import Evidence
from cli.collectors.flink_rest import flink_collector
from cli.collectors.flink_transport import RestLogin
from cli.options.shared import RunOptions
from cli.runs.fleet_tick import tick
from cli.shell.exits import CannotLook, UsageError

ASKED = "flink-rest:"
"""How the path of a place begins that is the address of a JobManager."""
REFUSED = "flink-rest-refused:"
"""How the path of a place begins that nothing is asked of: why follows."""
NO_FILES = (ASKED, REFUSED)
_BESIDE_RAW = re.compile(r"raw|\..*|.*\.(?:json|md)", re.DOTALL)
PACKED = (".tar.gz", ".tgz", ".tar.zst")
"""How the name of an archive ends that may hold a bundle."""


def job_managers(file: Path) -> list[Place]:
    """A place for each address that `file` lists, one in a line; # begins a comment. A line that is no address is a place that cannot be
    read. Raises `UsageError` where the file cannot be, or no line of it is an address."""
    from analyzers.bundle.small_files import small_file

    try:
        text = small_file(file).decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read --flink-rest-file {file}: {why}", "Give a text file with one address in a line.") from error
    found: dict[str, Place] = {}
    refused: list[UsageError] = []
    for number, line in enumerate(text.splitlines(), 1):
        address = line.partition("#")[0].strip()
        if not address:
            continue
        try:
            flink_collector(address)  # what cannot be understood is known before anything is asked
            found[address] = Place(address, (f"{ASKED}{address}",), 0)
        except UsageError as error:
            place = f"{file.name}:{number}"
            hint = (error.hint or "").replace("--flink-rest http", "http")
            refused.append(UsageError(error.message.replace("--flink-rest", f"line {number} of {file}"), hint))
            found[place] = Place(place, (f"{REFUSED}{refused[-1].message}, so it was not asked. {hint}",), 0)
    if refused and len(refused) == len(found):
        raise UsageError(f"--flink-rest-file: no line is an address that can be asked: {refused[0].message}", refused[0].hint)
    return list(found.values())


@dataclass(frozen=True)
class Gathering:
    """Reads one place of a fleet. Runs on executors: they are asked for many JobManagers, one after the other in each task."""

    login: RestLogin = field(default_factory=RestLogin)
    timeout_seconds: float = 10.0
    options: RunOptions = field(default_factory=RunOptions)
    """Times between which things count, and the zone of logs without one."""
    counter: str = ""
    """A file that grows by a byte for each place that was read (`fleet_meter.tick`)."""

    def __call__(self, paths: Sequence[str], logs: bool, names: Mapping[str, str] | None = None) -> Evidence:
        """What lies at `paths`; False: all but the logs. `names`: what some are called, where that is not the path. Raises ``ValueError``
        with a clause where there is nothing to judge."""
        try:
            return self._gathered(paths, logs, names or {})
        except CannotLook as error:
            raise ValueError(error.message) from error
        finally:
            tick(self.counter)

    def _gathered(self, paths: Sequence[str], logs: bool, names: Mapping[str, str]) -> Evidence:
        if paths and paths[0].startswith(REFUSED):
            raise CannotLook(paths[0].removeprefix(REFUSED))
        if paths and paths[0].startswith(ASKED):
            return flink_collector(paths[0].removeprefix(ASKED), login=self.login, timeout_seconds=self.timeout_seconds)()
        return (
            _bundle_at(paths[0], self.options) if len(paths) == 1 and holds_bundle(paths[0]) else _files(paths, self.options, logs, names)
        )


def _files(paths: Sequence[str], options: RunOptions, logs: bool, names: Mapping[str, str]) -> Evidence:
    from cli.runs.gathering import gathered

    try:
        return gathered(paths, options, None, None, [], _nothing, logs=logs, apart=False, names=names)
    except CannotLook as error:
        if len(paths) != 1 or not paths[0].endswith(PACKED):
            raise
        try:
            return _bundle_at(paths[0], options)
        except UsageError:  # it is not one: what was wrong with its logs stands
            raise error from None


def holds_bundle(path: str) -> bool:
    """Whether a directory is one: diag saved it, or it has ``raw/`` and no other logs beside it."""
    try:
        if is_remote(path):
            manifest = next((entry for entry in remote_entries(path) if entry.name == MANIFEST), None)
            if manifest is None:
                return False
            with open_file(manifest.path) as stream:
                return of_bundle(at_most(stream, MANIFEST_HEAD))
        return is_bundle(path) or (os.path.isdir(os.path.join(path, RAW)) and all(map(_BESIDE_RAW.fullmatch, os.listdir(path))))
    except TROUBLES:  # a file, an object; or it is told when its logs are read
        return False


def _bundle_at(path: str, options: RunOptions) -> Evidence:
    from cli.runs.evidence import from_bundle

    return from_bundle(replace(options, bundle=Path(path)), None, _nothing)


def _nothing(said: str) -> None: ...
