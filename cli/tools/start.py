"""The start of the server: what it may open and ask, and how its answers are redacted."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.bundle.held import held_file
from cli.options.shared import DEFAULT_MASTER, RunOptions, heap, master_with
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from analyzers.own_rules.language import OwnRules

_KEY_BYTES = 32


def start(
    environment: Environment,
    *,
    version: str,
    allow_paths: Sequence[str],
    allow_addresses: Sequence[str],
    command_config: Path | None,
    flink_rest_auth: Path | None,
    redacted: bool,
    redaction_key: Path | None,
    keep: Path | None,
    cores: int | None,
    memory: str,
    own: OwnRules | None = None,
) -> int:
    """Serve until the client ends the conversation; the exit code.

    Raises `UsageError` where nothing is allowed, for a path, address or file that cannot be used; `CannotLook` without the package mcp.
    """
    if not allow_paths and not allow_addresses:
        raise UsageError("nothing may be opened, and no address asked", "Add --allow-path DIR, or --allow-address HOST:PORT.")
    if (redaction_key or keep) and not redacted:
        raise UsageError("--no-redact leaves names as they are", "Leave out --redaction-key and --keep, or --no-redact.")
    from cli.tools.permitted import Permitted, allow

    options = RunOptions(
        hide=redacted,
        redaction_key=redaction_key or (_key() if redacted else None),
        keep=keep,
        spark_master=master_with(DEFAULT_MASTER, cores),
        memory=heap(memory),
        own=own,
    )
    if redacted:
        from cli.runs.evidence import hiding

        hiding(options)  # what is wrong with its files is said now
    _read_once(command_config, flink_rest_auth)
    allow(allow_paths, allow_addresses)
    try:
        from cli.tools.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio", "jsonschema"):
            raise
        raise CannotLook(
            "diag mcp needs the package mcp, version 2.3 or newer, which is not installed.",
            "Install diag with its extra: streamdiag[mcp]; or beside it: pip install 'mcp>=2.3'",
        ) from None
    from cli.tools.calls import Calls

    environment.say(
        f"diag {version}: MCP server on standard input and output; may open {', '.join(allow_paths) or 'no file'}; "
        f"may ask {', '.join(allow_addresses) or 'no address'}; answers are {'' if redacted else 'not '}redacted"
    )
    if environment.stdout_is_tty:
        environment.say("a program is to speak to it, as its client; Ctrl-D ends it")
    permitted = Permitted(command_config, tuple(allow_paths), tuple(allow_addresses))
    return serve(Calls(permitted, options, version, flink_rest_auth, environment.say), version)


def skill_page() -> str:
    """What a program should know that asks: which tool when, how to read an answer, what never to conclude. Markdown."""
    return resources.files(__package__).joinpath("SKILL.md").read_text(encoding="utf-8")


def _key() -> Path:
    """A key that ends with this process."""
    descriptor, place = held_file("redaction-key")
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_KEY_BYTES))
    return place


def _read_once(command_config: Path | None, flink_rest_auth: Path | None) -> None:
    """Raises `UsageError` for files of secrets that cannot be understood, before any call needs them."""
    if command_config is not None:
        from cli.collectors.client_properties import read_client_properties

        read_client_properties(command_config)
    if flink_rest_auth is not None:
        from cli.collectors.flink_transport import read_login

        read_login(flink_rest_auth)
