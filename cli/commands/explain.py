"""``diag explain CODE``: the page of a rule."""

from __future__ import annotations

import io
from typing import Annotated

import typer

from cli.options.shared import codes_beginning_with, known_code
from cli.shell.environment import Environment
from cli.shell.exits import UsageError

Codes = Annotated[
    list[str],
    typer.Argument(
        metavar="CODE...",
        help="Codes of rules, as findings or `diag rules` name them; or a family: BRK, CKP1.",
        autocompletion=codes_beginning_with,
    ),
]
_MOST_NEAR = 8
_FAMILY = (3, 4)  # characters: BRK, CKP1


def register(app: typer.Typer) -> None:
    app.command("explain", short_help="Print the page of a rule.")(explain)


def explain(context: typer.Context, codes: Codes) -> None:
    """Print the pages of rules: what you see, why, how to confirm, how to fix, when it is something else.

    \b
    Examples:
      diag explain CKP101
      diag explain CKP101 RST201
      diag explain ckp101 > CKP101.md

    Reads the pages that come with diag: no network, no JVM. Needs no permissions.
    """
    environment: Environment = context.obj or Environment.real()
    environment.write("\n".join([_family(code, environment) or _shown(page(code), environment) for code in codes]))


def _family(beginning: str, environment: Environment) -> str | None:
    """The list of the rules whose codes begin so; None where that is no family."""
    from analyzers.rules.catalogue import load_rules
    from cli.commands.rules import listed

    wanted = beginning.strip().upper()
    if len(wanted) not in _FAMILY:
        return None
    facts = [(r.code, r.severity.value, r.stage, r.cause or "-", r.title) for r in load_rules() if r.code.startswith(wanted)]
    return listed(facts, environment) if facts else None


def page(code: str) -> str:
    """The page of `code`, Markdown. Raises `UsageError` when there is none, and for a cause."""
    from analyzers import runbooks
    from analyzers.report.finding import CAUSES  # here: --help of all commands would wait for it

    known = runbooks.codes()
    if not known:
        raise UsageError(f"no rule has the code {code}", "This diag was built without pages: install it again.")
    if code.strip().lower() in CAUSES:
        from analyzers.rules.catalogue import load_rules

        of_it = ", ".join(rule.code for rule in load_rules() if rule.cause == code.strip().lower())
        raise UsageError(f"{code} is a cause; pages are those of the rules that find it", f"Name one of them: {of_it}")
    if code.strip().upper() not in known and (near := _near(code.strip().lower())):
        raise UsageError(f"no rule has the code {code}", "\n        ".join(["Rules that it may mean:", *near]))
    return runbooks.shown(known_code(code, known))


def _near(word: str) -> list[str]:
    """Code and title of rules whose code begins with `word`, or whose cause or title has it."""
    from analyzers.rules.catalogue import load_rules

    rules = load_rules()
    found = [r for r in rules if r.code.lower().startswith(word)] or [r for r in rules if word in f"{r.cause} {r.title}".lower()]
    more = [f"and {len(found) - _MOST_NEAR} more: see `diag rules`"] if len(found) > _MOST_NEAR else []
    return [*(f"{rule.code}  {rule.title}" for rule in found[:_MOST_NEAR]), *more]


def _shown(markdown: str, environment: Environment) -> str:
    if not environment.stdout_is_tty:
        return markdown
    from rich.console import Console
    from rich.markdown import Markdown

    text = io.StringIO()
    colour = environment.colour
    Console(file=text, width=min(environment.width, 100), force_terminal=colour, color_system="standard" if colour else None).print(
        Markdown(markdown, hyperlinks=False)
    )
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())
