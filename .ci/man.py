"""Write the man page from the tree of commands: `make man`, or `python .ci/man.py [FILE]`; build/diag.1 if none is named.

Commands, arguments, options and their variables are those that `--help` shows; exit codes are the README's table. The date is
SOURCE_DATE_EPOCH, without one that of the last commit, so that the same tree makes the same page.
"""

import datetime
import os
import re
import sys
from pathlib import Path

from build import ROOT, last_commit

sys.path.insert(0, str(ROOT))  # this tree, not the one that the environment has installed

ABOUT = "why a streaming job stalls or keeps restarting, and what to change"
VARIABLES = {
    "DIAG_NO_ARCHIVE": "With 1 no class-data archive of the JVM is used or made: each start takes longer.",
    "DIAG_DEBUG": "With any value a defect of diag is shown with its traceback.",
    "JAVA_HOME": "The Java (17 or newer) to be used.",
    "NO_COLOR": "With any value nothing is colored.",
    "TMPDIR": "Where Spark and diag keep temporary files.",
    "XDG_CACHE_HOME": "Below it is kept what was found in large logs, and the class-data archive of the JVM.",
}
"""Variables that are no option's."""


def text(words):
    """`words` as roff shows them: no escape, no request, no character that an encoding could change."""
    escaped = (
        words.replace("\\", "\\e")
        .replace("-", "\\-")
        .replace("'", "\\(aq")
        .replace("`", "\\(ga")
        .replace("^", "\\(ha")
        .replace("~", "\\(ti")
    )
    escaped = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in escaped)
    return f"\\&{escaped}" if escaped.startswith(".") else escaped


def paragraphs(help_text):
    """The paragraphs of a docstring: what stands below a line of \\b keeps its lines, an indented one its form."""
    for part in re.split(r"\n\s*\n", help_text.strip()):
        if part.startswith("\b"):
            lines = part.split("\n")[1:]
            kept = [text(line.removeprefix("  ")) for line in lines if line.startswith(" ")]
            yield from [".PP", *(text(line) for line in lines if not line.startswith(" ")), ".RS 4", ".nf", *kept, ".fi", ".RE"]
        else:
            yield from (".PP", text(" ".join(part.split())))


def entry(name, meaning):
    return [".TP", f"\\fB{text(name)}\\fR", text(" ".join(meaning.split())) or "\\&"]


def described(command, context):
    """Arguments and options of a command as entries."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from entry(*record)


def commands(group, context, path=()):
    """Each command below `group`: its words, itself, its context."""
    import typer

    for name, command in sorted(group.commands.items()):
        inner = typer.Context(command, info_name=name, parent=context)
        yield (*path, name), command, inner
        if hasattr(command, "commands"):
            yield from commands(command, inner, (*path, name))


def page():
    import typer

    from cli.main import app
    from cli.version import version

    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="diag", **root.context_settings)
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or last_commit()), datetime.timezone.utc).date()
    rest = root.help.partition("\n")[2]
    lines = [f'.TH DIAG 1 "{date}" "diag {version()}" "User Commands"', ".SH NAME", f"diag \\- {ABOUT}"]
    lines += [".SH SYNOPSIS", r"\fBdiag\fR \fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]", ".SH DESCRIPTION", *paragraphs(rest)]
    lines += [".SH OPTIONS", *described(root, context), ".SH COMMANDS"]
    variables = {name: [meaning] for name, meaning in VARIABLES.items()}
    for path, command, inner in commands(root, context):
        usage = " ".join(command.collect_usage_pieces(inner))
        lines += [
            f".SS diag {text(' '.join(path))}",
            text(f"diag {' '.join(path)} {usage}"),
            *paragraphs(command.help),
            *described(command, inner),
        ]
        for parameter in command.params:
            if parameter.envvar:
                variables.setdefault(parameter.envvar, []).append(f"As {max(parameter.opts, key=len)}.")
    codes = re.findall(r"^\| (\d[\d, ]*) \| (.*) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    lines += [".SH EXIT STATUS", *(line for code, meaning in codes for line in entry(code, meaning.replace("`", "")))]
    lines += [".SH ENVIRONMENT"]
    for name, meanings in sorted(variables.items()):
        lines += entry(name, " ".join(dict.fromkeys(meanings)))
    lines += [".SH FILES", *entry(".diagignore", "In the working directory: findings that are known and shall not be shown again (TOML).")]
    lines += [
        ".SH SEE ALSO",
        text("diag explain CODE has a page on each rule, diag rules lists them, diag COMMAND --help is this page's part."),
    ]
    return "\n".join(lines) + "\n"


def main():
    file = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "diag.1").resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(), encoding="ascii")
    print(f"{file}")


if __name__ == "__main__":
    main()
