"""A rule, begun or checked: `make rule CODE=CKP199 TITLE="…"` writes its files, `make rule CODE=CKP199` runs what can be wrong with it."""

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGES = {"BRK": "access", "CKP": "checkpoint", "RST": "failure", "SPL": "failure", "LAG": "lag", "CFG": "risk", "SPK": "failure"}
# whose log shows it, the name of such a log, and what a finding of it is about
LOGS = {"BRK": ("BROKER", "server.log", "file"), "SPK": ("SPARK_DRIVER", "driver.log", "job")}
GRID = (
    "test_rule_fires",
    "test_rule_is_quiet",
    "test_healthy_bundle_is_healthy",
    "test_no_rule_crashes",
    "test_nothing_is_expected_in_vain",
    "test_every_reason_has_a_bundle_that_gives_it",
    "test_headlines_and_steps_are_short",
    "test_every_finding_keeps_the_contract",
    "test_no_rule_is_passed_over_where_it_finds_something",
)
OF_JOBS = ("FLINK", "jobmanager.log", "job")

RULE = '''"""{code}: TODO in one sentence with subject and verb, what the rule finds."""

from analyzers.vocabulary import {imports}, count, event, found, has, rule

SHOWN_BY = ("TODO-signature-id",)  # analyzers/logs/signatures/ has them all


@rule("{code}", title="{title}", stage="{stage}", severity=WARNING, logs_of={logs_of}, signatures=SHOWN_BY,
      needs=has("enough", signature=SHOWN_BY),
      says="TODO: {{times}} time(s)[[, since {{since}} UTC]]")  # fmt: skip
def {name}(log_events: DataFrame, *, enough: int = 3) -> DataFrame:  # TODO why so many
    """Per {by}, TODO. Source: TODO the class of the product that prints it."""
    shown = event(*SHOWN_BY)
    return found(log_events, "{by}", of=shown, times=count(shown)).where("times >= " + str(enough))
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
    plain = re.sub(r"'s\b|\b(?:a|an|the)\b", "", title.lower())
    words = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40].rstrip("_")
    logs_of, log, by = LOGS.get(code[:3], OF_JOBS)
    files = {
        f"analyzers/rules/{code.lower()}_{words}.py": RULE.format(
            code=code,
            title=title,
            stage=STAGES.get(code[:3], "failure"),
            name=words,
            logs_of=logs_of,
            by=by,
            imports=", ".join((*sorted((logs_of, "WARNING")), "DataFrame")),
        ),
        f"analyzers/runbooks/{code}.md": PAGE.format(code=code, title=title),
        f"fixtures/{code}/fires/raw/{log}": "TODO: lines that show it, whole, as they were printed\n",
        f"fixtures/{code}/fires/expect.json": f'{{"code": "{code}", "why": "TODO: what these lines show, in one sentence"}}\n',
        f"fixtures/{code}/quiet/raw/{log}": "TODO: lines that look alike and are well\n",
        f"fixtures/{code}/quiet/expect.json": '{"why": "TODO: why all is well here, in one sentence", "healthy": true}\n',
    }
    for name, text in files.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"  {name}")
    print(f"Fill in what is marked TODO (a bundle per reason, a new signature in analyzers/logs/signatures/), then: make rule CODE={code}")


def check(code, module):
    bundles = (path for path in sorted((ROOT / "fixtures" / code).rglob("*")) if path.is_file())
    mine = (module, ROOT / "analyzers/runbooks" / f"{code}.md", *bundles)
    left = [path for path in mine if path.exists() and b"TODO" in path.read_bytes()]
    if left:
        sys.exit("still TODO in:\n  " + "\n  ".join(os.path.relpath(name, ROOT) for name in left))
    python, rules = [sys.executable, "-m"], "tests/test_rules.py::"
    quiet = [*python, "pytest", "-q", "--no-header", "-p", "no:warnings", "-p", "no:cacheprovider"]
    judged = [f"{rules}{name}" for name in GRID]
    beside_each_other = (
        [[*quiet, *judged, f"{rules}test_rule_is_whole[{code}]", "tests/test_texts.py"]],
        [
            [*python, "ruff", "check", str(module)],
            [*python, "ruff", "format", "--check", str(module)],
            [*quiet, "tests/test_signatures.py", "tests/test_import_rules.py"],
        ],
    )
    with ThreadPoolExecutor() as pool:
        done = [result for results in pool.map(lambda parts: [run(part, code) for part in parts], beside_each_other) for result in results]
    failed = []
    for result in done:
        print(result.stdout, end="")
        if result.returncode:
            failed.append(f"  DIAG_RULE={code} {shlex.join(result.args)}")
    if failed:
        sys.exit(f"\n{code} is not done; what failed, to run alone:\n" + "\n".join(failed))
    print(f"{code} holds. Last: make test ARGS=tests/test_rules.py judges all rules on all bundles (a minute).")


def run(part, code):
    surroundings = {**os.environ, "DIAG_RULE": code}
    return subprocess.run(part, cwd=ROOT, env=surroundings, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


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
