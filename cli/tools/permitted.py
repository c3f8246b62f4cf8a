"""What the start of the server allows: the places that may be opened, and the addresses that may be connected to."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzers.bundle.confined import confine, is_outside
from cli.collectors.flink_transport import parse_address
from cli.collectors.kafka_reach import allow_only, is_allowed
from cli.collectors.kafka_wire import Entry, address_of, client_and_entries, parse_entries
from cli.renderers.wording import clipped
from cli.shell.exits import UsageError

_SHOWN = 200
_NO_PATH = "Only what lies below a --allow-path of `diag mcp` may be opened ({}); whoever runs the server can add one."
_NO_ADDRESS = "Only a --allow-address of `diag mcp` may be connected to ({}); whoever runs the server can add one."
_MOST_NAMED = 300
"""Characters of the paths, and of the addresses, that are allowed, in a sentence."""


def allow(paths: Sequence[str | Path], addresses: Sequence[str]) -> None:
    """From now on this process opens nothing but what lies below `paths`, and connects to none but `addresses` (``host:port``).

    Raises `UsageError` for a path that does not exist, or an address without a port.
    """
    for path in paths:
        if "://" in str(path):
            raise UsageError(f"--allow-path {path} is no path of this machine", "Object stores are not read by this server.")
        if not os.path.exists(path):
            raise UsageError(f"--allow-path {path}: no such file or directory", "Name a directory with logs, checkpoints or bundles.")
    confine(map(str, paths))
    allow_only((entry.host, entry.port) for entry in (parse_entries(addresses) if addresses else ()))


@dataclass(frozen=True)
class Permitted:
    """Arguments of a call, held against what `allow` named. `command_config` is the file with the client's properties, from the start;
    `roots` and `addresses` are what `allow` was called with."""

    command_config: Path | None = None
    roots: Sequence[str] = ()
    addresses: Sequence[str] = ()

    @property
    def opened(self) -> str:
        """What may be opened, in words."""
        return _named([os.path.abspath(root) for root in self.roots], "no file")

    @property
    def connected(self) -> str:
        """What may be connected to, in words."""
        return _named(self.addresses, "no address")

    def paths(self, texts: Iterable[str]) -> list[str]:
        """`texts`, each of an existing file or directory that may be opened. Raises `UsageError`."""
        return [self.path(text) for text in texts]

    def path(self, text: str) -> str:
        """One of them. What lies outside is not looked at: whether it exists is not said either."""
        shown = clipped(text, _SHOWN)
        if "://" in text:
            raise UsageError(f"{shown} is no path of this machine", "Object stores are not read by this server.")
        if not os.path.isabs(text):
            raise UsageError(f"{shown} is not an absolute path", "Write it from the root: /var/log/flink.")
        if is_outside(text, aside=False):
            raise UsageError(f"{shown} lies outside of what may be opened", _NO_PATH.format(self.opened))
        if not os.path.lexists(text):
            hint = "Name a file or directory; patterns are not expanded." if glob.has_magic(text) else "Name a file or directory."
            raise UsageError(f"no such file or directory: {shown}", hint)
        return text

    def flink(self, text: str | None) -> str | None:
        """The address of a JobManager that may be asked. Raises `UsageError`."""
        if text is not None:
            address = parse_address(text)
            self._address(address.host, address.port)
        return text

    def kafka(self, servers: Sequence[str]) -> list[str]:
        """Bootstrap servers that may be asked; none: those of the client's properties. Raises `UsageError`."""
        if not servers and self.command_config is None:
            raise UsageError("no Kafka cluster is named", "Give bootstrap_servers.")
        _, entries = client_and_entries(servers, self.command_config)
        for entry in entries:
            self._address(entry.host, entry.port)
        return list(servers)

    def _address(self, host: str, port: int) -> None:
        if not is_allowed(host, port):
            shown = Entry(clipped(address_of(host, port), _SHOWN), host, port).text
            raise UsageError(f"{shown} is none of the addresses that may be asked", _NO_ADDRESS.format(self.connected))


def _named(names: Sequence[str], none: str) -> str:
    return clipped(", ".join(names), _MOST_NAMED) or none
