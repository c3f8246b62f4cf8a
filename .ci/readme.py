"""Put the output of `make demo` between the README's markers, and a picture of its HTML page beside: `python .ci/readme.py`.

Standard library only; the picture needs a chromium on the PATH and stays as it is without one.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- demo:begin -->", "<!-- demo:end -->"
COMMAND = ["triage", "-q", "fixtures/incidents/ill/broker-shrink-restart-loop/raw", "-o", "terminal"]


PICTURE = ROOT / ".ci" / "page.png"


def picture():
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("there is no chromium: the picture stays as it is", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        run = [str(ROOT / ".venv" / "bin" / "diag"), *COMMAND[:-2], "-o", f"html={page}"]
        subprocess.run(run, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile"]
        shot = [f"--screenshot={PICTURE}", "--window-size=1000,760", page.as_uri()]
        subprocess.run([browser, *quiet, *shot], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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
picture()
