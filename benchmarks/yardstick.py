"""The signatures that the kernel and ripgrep look for, and their expressions in a form that ripgrep takes.

The rule of choice: the first 150 of the catalogue in the order of their ids, which mixes Flink, Kafka, Spark and Beam.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzers.logs.signatures import SIGNATURES
from analyzers.logs.signatures.signature import Signature

COUNT = 150
LOOKS_AROUND = re.compile(r"\(\?(?:[=!]|<[=!]|P=)")  # what neither Rust's engine nor RE2 has


def chosen(count: int | None = COUNT) -> tuple[Signature, ...]:
    """The first `count` signatures by id; None = the whole catalogue, in its own order."""
    return SIGNATURES if count is None else tuple(sorted(SIGNATURES, key=lambda signature: signature.id)[:count])


@dataclass(frozen=True)
class Expressions:
    """One line for ripgrep per signature. `replaced` of them are literals in place of expressions that say nothing there: Rust's engine has
    no look-around, and an expression all of whose parts are optional fits every line."""

    lines: tuple[str, ...]
    replaced: int


def expressions(signatures: Sequence[Signature], rg: str) -> Expressions:
    """What `rg -f` is given: the expression of each signature without anchors, as a message begins and ends in mid-line.

    A signature without an expression, or with one that `rg` refuses or that fits an empty line, gives its literals.
    """
    literals = ["|".join(re.escape(literal).replace(r"\ ", " ") for literal in signature.literals) for signature in signatures]
    lines = [
        other if signature.pattern is None or LOOKS_AROUND.search(signature.pattern) or re.search(signature.pattern, "")
        else plain(signature.pattern)
        for signature, other in zip(signatures, literals, strict=True)
    ]  # fmt: skip
    if not _takes(rg, lines):  # an older ripgrep refuses some more: one by one
        lines = [line if _takes(rg, [line]) else other for line, other in zip(lines, literals, strict=True)]
    replaced = sum(
        signature.pattern is not None and plain(signature.pattern) != line for signature, line in zip(signatures, lines, strict=True)
    )
    return Expressions(tuple(lines), replaced)


def plain(pattern: str) -> str:
    """Without anchors, and without the names of groups: ripgrep makes one expression of all, in which a name may stand once."""
    pattern = re.sub(r"\(\?P<\w+>", "(?:", pattern.removeprefix("^"))
    return pattern[:-1] if pattern.endswith("$") and not pattern.endswith(r"\$") else pattern


def _takes(rg: str, expressions: Sequence[str]) -> bool:
    given = "".join(line + "\n" for line in expressions)
    return subprocess.run([rg, "-f", "-", os.devnull], input=given, text=True, capture_output=True, check=False).returncode != 2


def ripgrep(named: str | None = None) -> str:
    """The path of `named`, or of the `rg` beside this Python, or of the one on the PATH. Raises ``SystemExit`` if there is none."""
    beside = Path(sys.executable).with_name("rg")
    found = named or (str(beside) if beside.exists() else shutil.which("rg"))
    if not found:
        raise SystemExit("ripgrep was not found: install it (`apt install ripgrep`, `brew install ripgrep`) or name it with --rg")
    return found


def version(rg: str) -> str:
    return subprocess.run([rg, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0].split(" (")[0]


def line_by_line(signature: Signature) -> bool:
    """Whether a program that looks at single lines finds the same events: neither level nor logger nor other lines have a say."""
    if signature.levels or signature.logger or signature.where == "event":
        return False
    return signature.pattern is None or not LOOKS_AROUND.search(signature.pattern)
