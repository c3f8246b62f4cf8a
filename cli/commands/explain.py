"""``diag explain CODE``: the page of a rule."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options.own_rules import Rules, own_rules
from cli.options.shared import codes_beginning_with, known_code
from cli.shell.environment import Environment
from cli.shell.exits import UsageError

if TYPE_CHECKING:
    from analyzers.own_rules.language import OwnRules

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


def explain(context: typer.Context, codes: Codes, rules: Rules = None) -> None:
    """Print the pages of rules: what you see, why, how to confirm, how to fix, when it is something else.

    \b
    Examples:
      diag explain CKP101
      diag explain CKP101 RST201
      diag explain ckp101 > CKP101.md
      diag explain ACME101 --rules my-rules.toml

    Reads the pages that come with diag, and --rules: no network, no JVM. Needs no permissions but to read the files.
    """
    environment: Environment = context.obj or Environment.real()
    own = own_rules(rules)
    environment.write("\n".join([_family(code, environment, own) or _shown(page(code, own), environment) for code in codes]))


def _family(beginning: str, environment: Environment, own: OwnRules | None) -> str | None:
    """The list of the rules whose codes begin so; None where that is no family."""
    from analyzers.own_rules import rules_of
    from cli.commands.rules import listed

    wanted = beginning.strip().upper()
    if len(wanted) not in _FAMILY:
        return None
    facts = [(r.code, r.severity.value, r.stage, r.cause or "-", r.title) for r in rules_of(own) if r.code.startswith(wanted)]
    return listed(facts, environment) if facts else None


def page(code: str, own: OwnRules | None = None) -> str:
    """The page of `code`, one of diag's or of a user's `own`, Markdown. Raises `UsageError` when there is none, and for a cause."""
    from analyzers import runbooks
    from analyzers.report.finding import CAUSES  # here: --help of all commands would wait for it

    known = runbooks.codes()
    mine = next((rule for rule in own.rules if rule.code == code.strip().upper()), None) if own is not None else None
    if mine is not None:
        from analyzers.own_rules.pages import page_of

        return page_of(mine)
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
