"""Write the documentation as pages into build/site: `make site`, or `python .ci/site.py [FOLDER]`. They are read from file://, too.

Sources → Markdown → HTML (`site_pages`): the repository's Markdown, the pages of rules as `diag explain` shows them, the catalogue of
rules, the shapes and tables of evidence, and what `diag schema` and `diag COMMAND --help` print.
"""

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path

from site_pages import DOCUMENTS, ROOT, Site

sys.path.insert(0, str(ROOT))  # this tree, not the one that the environment has installed

READING = (
    "Words in capitals stand for what a finding names. Of steps with the same number a finding has the first that fits its case. "
    "A heading in small letters is a reason: what stands there takes the place of the first text of its section."
)


def table(*rows):
    """Rows of texts as a table of Markdown, the first its head."""
    lines = ["| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


def fenced(text):
    return f"~~~~~~\n{text.rstrip()}\n~~~~~~\n"


def section(markdown, heading):
    """What stands below a heading of any level, without it."""
    return re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", markdown, re.MULTILINE | re.DOTALL)[1]


def diag(*words):
    """What `diag` prints for these words."""
    from cli.main import run
    from cli.shell.environment import Environment

    os.environ["COLUMNS"] = "80"
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        code = run(words, Environment(text, sys.stderr))
    if code != 0:
        sys.exit(f"site: diag {' '.join(words)} ended with {code}")
    return text.getvalue()


def rule_page(rule, signatures):
    from cli.commands.explain import page

    title, _, rest = page(rule.code).partition("\n")
    cause = f"[{rule.cause}](causes.html#{rule.cause})" if rule.cause else "– (a symptom or a risk)"
    reads = ", ".join(f"[{name}](evidence.html#{name})" for name in (*rule.tables, *rule.optional))
    facts = table(("severity", "stage", "cause", "reads"), (rule.severity.value, rule.stage, cause, reads))
    lines = [signatures[each].sample.rstrip("\n") for each in sorted(rule.signatures) if each in signatures]
    parts = [title, facts, READING, rest]
    if lines:
        parts.append(f"## Lines that it knows\n\nA sample of each: some speak for it, some against.\n\n{fenced(chr(10).join(lines))}")
    expected = sorted((ROOT / "fixtures" / rule.code).glob("*/expect.json"))
    bundles = [(path.parent.name, json.loads(path.read_text(encoding="utf-8"))["why"]) for path in expected]
    parts.append(f"## Bundles that show it, or only look alike\n\n{table(('bundle', 'what it shows'), *bundles)}")
    return "\n\n".join(parts)


def evidence_page(readme):
    from analyzers.states.recognise import SHAPES
    from analyzers.tables import TABLES

    commands = "".join(line for line in readme.splitlines(keepends=True) if re.match(r"\| (command \||`diag )", line))
    commands = commands.replace("\n", "\n|---|---|---|\n", 1)
    shapes = dict.fromkeys(sys.modules[shape.read.__module__].__doc__.partition("\n\n")[0] for shape in SHAPES)
    listed = "\n".join(f"- {' '.join(each.split())}" for each in shapes)
    head = ("column", "type", "what it says")
    tables = [f"### {of.name}\n\n{of.says}\n\n{table(head, *((c.name, c.type, c.says) for c in of.columns))}" for of in TABLES.values()]
    return (
        f"# What diag reads\n\n{commands}\n## What other tools show\n\nSaved or pasted, under any name: each is known by its content.\n\n"
        f"{listed}\n\n## Tables\n\nAll evidence becomes rows of these; bundles hold them, `facts` of the JSON report has some."
        "\n\n" + "\n".join(tables)
    )


def kind(schema):
    """The type of a property in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "anyOf" in schema:
        return " or ".join(map(kind, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"array of {kind(schema.get('items', {}))}"
    keys = f" `{{{', '.join(schema['properties'])}}}`" if "properties" in schema else ""
    types = schema.get("type", "any")
    return (types if isinstance(types, str) else " or ".join(types)) + keys


def schema_page(title, schema):
    parts = []
    for name, each in {"": schema, **schema.get("$defs", {})}.items():
        always = each.get("required", ())
        rows = [
            (key, kind(of), "always" if key in always else "may be missing", of.get("description", ""))
            for key, of in each.get("properties", {}).items()
        ]
        shown = table(("key", "type", "there", "meaning"), *rows) if rows else f"{kind(each)}\n"
        parts.append(f"## {name}\n\n{shown}" if name else shown)
    return f"# {title}\n\n" + "\n".join(parts)


def main():
    import typer

    from analyzers.logs.signatures import SIGNATURES
    from analyzers.report.finding import CAUSES
    from analyzers.report.fleet_tables import history_tables
    from analyzers.rules.catalogue import load_rules
    from cli.main import app

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    rules, signatures = load_rules(), {each.id: each for each in SIGNATURES}
    site = Site(folder, {rule.code for rule in rules})
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for source, name in DOCUMENTS.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        site.write(name, text if source.endswith(".md") else f"# License\n\n{fenced(text)}", source)
    for rule in rules:
        site.write(rule.code, rule_page(rule, signatures))
    of_family = {family: [rule for rule in rules if rule.code.startswith(family)] for family in sorted({rule.code[:3] for rule in rules})}
    of_cause = {cause: [rule for rule in rules if rule.cause == cause] for cause in CAUSES}
    for name, title, groups in (("rules", f"{len(rules)} rules", of_family), ("causes", "Causes, and the rules that find them", of_cause)):
        head = ("code", "severity", "cause", "what it finds")
        parts = [
            f"## {each}\n\n{table(head, *((r.code, r.severity.value, r.cause or '–', r.title) for r in found))}"
            for each, found in groups.items()
        ]
        site.write(name, f"# {title}\n\n{section(readme, 'What it finds') if name == 'causes' else ''}\n" + "\n".join(parts))
    site.write("evidence", evidence_page(readme))
    links = []
    for flag, of in {"": "triage", "--fleet": "fleet", "--fleet-trend": "fleet --trend", "--diff": "diff", "--watch": "watch"}.items():
        text, name = diag("schema", *[flag][: len(flag)]), f"schema{flag[1:]}"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        site.write(name, schema_page(f"JSON of `diag {of}`", json.loads(text)))
        links.append(f"- [`diag {of}`]({name}.html), as JSON Schema: [{name}.json]({name}.json)")
    site.write("output", f"# Output and exit codes\n\n{section(readme, 'Output and exit codes')}\n## JSON\n\n" + "\n".join(links) + "\n")
    group = typer.main.get_command(app)
    commands = [(name, *sub) for name, each in group.commands.items() for sub in ([], *([of] for of in getattr(each, "commands", ())))]
    parts = [f"## diag {' '.join(words)}\n\n{fenced(diag(*words, '--help'))}" for words in sorted(commands)]
    site.write("commands", f"# Commands\n\n{fenced(diag('--help'))}\n" + "\n".join(parts))
    head = ("column", "type", "what it says")
    history = [
        f"### {name}\n\n{of['says']}: `{of['files']}`\n\n{table(head, *(tuple(column.values()) for column in of['columns']))}"
        for name, of in history_tables()["tables"].items()
    ]
    site.write("fleet", f"# Many jobs at once\n\n{fenced(diag('fleet', '--help'))}\n## What `--save` adds to\n\n" + "\n".join(history))
    print(f"{len(list(folder.glob('*.html')))} pages: {folder / 'index.html'}")


if __name__ == "__main__":
    main()
