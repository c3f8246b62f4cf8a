"""A rule, begun or checked: `make rule CODE=CKP199 TITLE="…"` writes its files, `make rule CODE=CKP199` runs what can be wrong with it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGES = {"BRK": "access", "CKP": "checkpoint", "RST": "failure", "SPL": "failure", "LAG": "lag", "CFG": "risk", "SPK": "failure"}

RULE = '''"""{code}: TODO in one sentence with subject and verb, what the rule finds."""

from analyzers.vocabulary import FLINK, WARNING, DataFrame, count, event, found, has, rule

SHOWN_BY = ("TODO-signature-id",)  # analyzers/logs/signatures/ has them all


@rule("{code}", title="{title}", stage="{stage}", severity=WARNING, logs_of=FLINK, signatures=SHOWN_BY,
      needs=has("enough", signature=SHOWN_BY),
      says="TODO: {{times}} time(s)[[, since {{since}} UTC]]")  # fmt: skip
def {name}(log_events: DataFrame, *, enough: int = 3) -> DataFrame:  # TODO why so many
    """Per job, TODO. Source: TODO the class of the product that prints it."""
    shown = event(*SHOWN_BY)
    return found(log_events, "job", of=shown, times=count(shown)).where("times >= " + str(enough))
'''
PAGE = """# {code}: {title}

## Headline
TODO: what is broken and where, in at most 25 words; {{fields}} are columns of the rule.

## What you see
    TODO: the log lines, as they are printed

## Why
TODO

## Confirm
TODO: the command that shows whether it is this.

## Fix
1. TODO: a step that can be typed.

TODO: what else one must know. A `### reason` below has the text of that reason.

## Tried
Not verified: no incident of the lab has been healed by this advice.

## Not this when
- TODO: what looks alike and is well.
"""


def begin(code, title):
    words = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:40].rstrip("_")
    files = {
        f"analyzers/rules/{code.lower()}_{words}.py": RULE.format(
            code=code, title=title, stage=STAGES.get(code[:3], "failure"), name=words
        ),
        f"analyzers/runbooks/{code}.md": PAGE.format(code=code, title=title),
        f"fixtures/{code}/fires/raw/jobmanager.log": "TODO: lines that show it, whole, as they were printed\n",
        f"fixtures/{code}/fires/expect.json": f'{{"code": "{code}", "why": "TODO: what these lines show, in one sentence"}}\n',
        f"fixtures/{code}/quiet/raw/jobmanager.log": "TODO: lines that look alike and are well\n",
        f"fixtures/{code}/quiet/expect.json": '{"why": "TODO: why all is well here, in one sentence", "healthy": true}\n',
    }
    for name, text in files.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"  {name}")
    print(f"Fill in what is marked TODO, then: make rule CODE={code}")


def check(code, module):
    mine = [str(path) for path in (module, ROOT / "analyzers/runbooks" / f"{code}.md", *sorted((ROOT / "fixtures" / code).rglob("*.json")))]
    left = [name for name in mine if "TODO" in Path(name).read_text(encoding="utf-8")]
    if left:
        sys.exit("still TODO in:\n  " + "\n  ".join(os.path.relpath(name, ROOT) for name in left))
    signatures = re.findall(r'"([a-z][a-z0-9]*(?:-[a-z0-9]+)+)"', module.read_text(encoding="utf-8"))
    grid = "tests/test_rules.py::"
    tests = [grid + name for name in ("test_rule_fires", "test_rule_is_quiet", "test_healthy_bundle_is_healthy", "test_no_rule_crashes")]
    tests += [
        grid + "test_nothing_is_expected_in_vain",
        f"{grid}test_rule_is_whole[{code}]",
        "tests/test_texts.py",
        "tests/test_import_rules.py",
    ]
    python = [sys.executable, "-m"]
    run = [
        [*python, "ruff", "check", str(module)],
        [*python, "ruff", "format", "--check", str(module)],
        [*python, "pytest", "-q", "--no-header", "-p", "no:warnings", *tests],
    ]
    if signatures:
        run.append(
            [
                *python,
                "pytest",
                "-q",
                "--no-header",
                "-p",
                "no:warnings",
                "tests/test_signatures.py",
                "-k",
                " or ".join(sorted(set(signatures))),
            ]
        )
    failed = [
        part for part in run if subprocess.run(part, cwd=ROOT, env={**os.environ, "DIAG_RULE": code}, check=False).returncode not in (0, 5)
    ]
    sys.exit(1 if failed else 0)


def main():
    code, title = (os.environ.get("CODE") or "").upper(), os.environ.get("TITLE") or ""
    if not re.fullmatch(r"[A-Z]{3}\d{3}", code):
        sys.exit('usage: make rule CODE=CKP199 TITLE="what it finds"; CONTRIBUTING.md has the families of codes')
    modules = sorted((ROOT / "analyzers/rules").glob(f"{code.lower()}_*.py"))
    if title and modules:
        sys.exit(f"{code} is taken: {modules[0].relative_to(ROOT)}")
    if not title and not modules:
        sys.exit(f'there is no rule {code} yet; begin it with make rule CODE={code} TITLE="what it finds"')
    if title:
        begin(code, title)
    else:
        check(code, modules[0])


main()
