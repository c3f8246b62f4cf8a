"""``diag explain CODE``: the page of a rule."""

from __future__ import annotations

import io
from typing import Annotated

import typer

from cli.exits import UsageError
from cli.options import known_code
from cli.terminal import Environment

Code = Annotated[str, typer.Argument(metavar="CODE", help="Code of a rule, as a finding or `diag rules` names it.")]


def register(app: typer.Typer) -> None:
    app.command("explain", short_help="Print the page of a rule.")(explain)


def explain(context: typer.Context, code: Code) -> None:
    """Print the page of a rule: what you see, why, how to confirm, how to fix, when it is something else.

    \b
    Examples:
      diag explain CKP101
      diag explain ckp101 > CKP101.md

    Reads the pages that come with diag: no network, no JVM. Needs no permissions.
    """
    environment: Environment = context.obj or Environment.real()
    environment.write(_shown(page(code), environment))


def codes() -> list[str]:
    """Codes that have a page."""
    from importlib import resources

    return sorted(p.name.removesuffix(".md") for p in resources.files("analyzers.runbooks").iterdir() if p.name.endswith(".md"))


def page(code: str) -> str:
    """The page of `code`, Markdown. Raises `UsageError` when there is none, and for a cause."""
    from importlib import resources

    from analyzers.finding import CAUSES  # here: --help of all commands would wait for it

    known = codes()
    if not known:
        raise UsageError(f"no rule has the code {code}", "This diag was built without pages: install it again.")
    if code.strip().lower() in CAUSES:
        from analyzers.rule import load_rules

        of_it = ", ".join(rule.code for rule in load_rules() if rule.cause == code.strip().lower())
        raise UsageError(f"{code} is a cause; pages are those of the rules that find it", f"Name one of them: {of_it}")
    return resources.files("analyzers.runbooks").joinpath(f"{known_code(code, known)}.md").read_text(encoding="utf-8")


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
