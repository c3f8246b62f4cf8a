"""Put the output of `make demo` between the README's markers: `python .ci/readme.py`. Standard library only."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- demo:begin -->", "<!-- demo:end -->"
COMMAND = ["triage", "-q", "fixtures/incidents/ill/broker-shrink-restart-loop/raw", "-o", "terminal"]


def main():
    done = subprocess.run(
        [str(ROOT / ".venv" / "bin" / "diag"), *COMMAND],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 1:
        sys.exit(f"diag ended with {done.returncode}: {done.stderr}")
    readme = ROOT / "README.md"
    head, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    shown = f"```\n$ diag {' '.join(a for a in COMMAND if a != '-q')}\n{done.stdout.rstrip()}\n```\n"
    readme.write_text(f"{head}{BEGIN}\n{shown}{END}{rest.split(END)[1]}", encoding="utf-8")


main()
