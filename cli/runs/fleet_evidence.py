"""What there is at the places of a fleet: a bundle, logs with checkpoints and saved answers, a JobManager that is asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.fleet.places import Place
from analyzers.readers.object_stores import is_remote
from analyzers.readers.remote_copies import fetched
from analyzers.readers.remote_files import remote_entries
from analyzers.tables.evidence import Evidence
from cli.collectors.flink_rest import flink_collector
from cli.collectors.flink_transport import RestLogin
from cli.options.shared import RunOptions
from cli.shell.exits import CannotLook, UsageError

ASKED = "flink-rest:"
"""How the path of a place begins that is the address of a JobManager."""
_MANIFEST = "manifest.json"
_PACKED = (".tar.gz", ".tgz", ".tar.zst")


def job_managers(file: Path) -> list[Place]:
    """A place for each address that `file` lists, one in a line; # begins a comment. Raises `UsageError`."""
    from analyzers.bundle.small_files import small_file

    try:
        text = small_file(file).decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read --flink-rest-file {file}: {why}", "Give a text file with one address in a line.") from error
    addresses = dict.fromkeys(address for line in text.splitlines() if (address := line.partition("#")[0].strip()))
    for address in addresses:
        flink_collector(address)  # what cannot be understood is said before anything is asked
    return [Place(address, (f"{ASKED}{address}",), 0) for address in addresses]


@dataclass(frozen=True)
class Gathering:
    """Reads one place of a fleet. Runs on executors: they are asked for many JobManagers, one after the other in each task."""

    login: RestLogin = field(default_factory=RestLogin)
    timeout_seconds: float = 10.0

    def __call__(self, paths: Sequence[str], logs: bool) -> Evidence:
        """What lies at `paths`; False: all but the logs. Raises ``ValueError`` with a clause where there is nothing to judge."""
        try:
            if paths and paths[0].startswith(ASKED):
                return flink_collector(paths[0].removeprefix(ASKED), login=self.login, timeout_seconds=self.timeout_seconds)()
            bundle = _bundle(paths[0]) if len(paths) == 1 else None
            return bundle if bundle is not None else _files(paths, logs)
        except CannotLook as error:
            raise ValueError(error.message) from error


def _files(paths: Sequence[str], logs: bool) -> Evidence:
    from cli.runs.gathering import gathered

    try:
        return gathered(paths, RunOptions(), None, None, [], _nothing, logs=logs, apart=False)
    except CannotLook:
        if len(paths) == 1 and paths[0].endswith(_PACKED) and not is_remote(paths[0]):
            return _packed_bundle(paths[0])
        raise


def _bundle(path: str) -> Evidence | None:
    """What a directory holds that is a bundle; None for any other."""
    from cli.runs.evidence import from_bundle

    if not is_remote(path):
        is_one = os.path.isfile(os.path.join(path, _MANIFEST)) or os.path.isdir(os.path.join(path, "raw"))
        return from_bundle(RunOptions(bundle=Path(path)), None, _nothing) if is_one else None
    try:
        if all(entry.name != _MANIFEST for entry in remote_entries(path)):
            return None
    except OSError:  # an object; or it is told when its logs are read
        return None
    copy = fetched(path)
    return from_bundle(RunOptions(bundle=copy.path), None, _nothing)


def _packed_bundle(path: str) -> Evidence:
    """What an archive holds that has tables and no log. Raises `CannotLook`."""
    from cli.runs.evidence import from_bundle

    try:
        return from_bundle(RunOptions(bundle=Path(path)), None, _nothing)
    except UsageError as error:
        raise CannotLook(error.message, error.hint) from error


def _nothing(said: str) -> None: ...
