"""Run diag on the oldest and on the newest Python of this machine: `python3 .ci/smoke.py [PYTHON…]`. Standard library only.

`--help` of every command, an argument of every command that takes one, and the exit codes. Each Python gets a virtual environment of its
own below .venvs/, from the same locks as .venv.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST, LAST = (3, 10), (3, 13)
"""The versions that the locks were made for."""
INCIDENTS = ROOT / "fixtures" / "incidents"
ILL, WELL = INCIDENTS / "ill" / "broker-shrink-restart-loop" / "raw", INCIDENTS / "healthy" / "healthy-savepoint-upgrade" / "raw"
LISTED = "import typer; from cli.main import app; print(*sorted(typer.main.get_command(app).commands))"
NOWHERE = "127.0.0.1:9"

# what is typed, the exit code, what is then printed
RUNS = [
    (["triage", ILL], 1, "bootstrap.servers"),
    (["triage", WELL, "-o", "plain"], 0, ""),
    (["triage", ILL, "--no-such-option"], 2, ""),
    (["triage", ILL, "--only", "XXX999"], 2, "XXX999"),
    (["fleet", ILL, "--jobs-by", "glob"], 1, "BRK101"),
    (["watch", ILL, "--once", "--state", "watch.json"], 0, "nothing open"),
    (["mcp", "--skill"], 0, "What never to conclude"),
    (["diff", ILL, ILL / "kafka", "-o", "plain"], 0, "unknown"),
    (["checkpoint-inspect", ILL, "--facts-only"], 3, ""),
    (["explain", "BRK101"], 0, "BRK101"),
    (["rules", "-o", "plain", "BRK101"], 0, "BRK101"),
    (["rules", "check", ROOT / "tests" / "data" / "own_rules.toml"], 0, "Vault refuses"),
    (["explain", "ACME101", "--rules", ROOT / "tests" / "data" / "own_rules.toml"], 0, "a longer TTL"),
    (["schema"], 0, "$schema"),
    (["demo"], 0, "broker-shrink"),
    (["demo", "broker-shrink", "-q"], 1, "BRK101"),
    (["doctor", "--no-spark"], 0, "java"),
    (["broker-health", "-b", NOWHERE, "--timeout", "3s", "--facts-only", "-o", "json"], 1, NOWHERE),
    (["lag-report", "-b", NOWHERE, "--group", "g", "--timeout", "3s", "--facts-only"], 3, "refused"),
    (["collect", "-b", NOWHERE, "--timeout", "3s", "--save", "saved"], 3, "refused"),
    (["collect", "--connect-rest", f"http://{NOWHERE}", "--timeout", "3s", "--save", "saved"], 3, "refuses the connection"),
    (["collect", "--kube", "shop", "--save", "saved"], 0, "kubectl get pods -o json -n shop"),
    (["preflight", "broker-removal", "--brokers", "1", "-b", NOWHERE, "--timeout", "3s"], 1, "refused"),
    (["preflight", "restore", ILL, "--facts-only"], 3, "no checkpoint"),
    (["preflight", "upgrade", "--to", "2.3", "--logs", ILL], 1, "FlinkKafkaConsumer"),
    (["preflight", "upgrade", "--to", "9.9", "--logs", ILL], 2, "2.3"),
]


def version_of(python):
    try:
        asked = [python, "-c", "import sys, venv; print(*sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def found():
    """A Python of each version that the locks were made for."""
    names = ["python3", *(f"python3.{minor}" for minor in range(FIRST[1], LAST[1] + 1))]
    roots = [Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"]
    others = [str(python) for root in roots for python in sorted(root.glob("*/bin/python3"))]
    known = {}
    for python in [sys.executable, *filter(None, map(shutil.which, names)), *others]:
        version = version_of(python)
        if version is not None and FIRST <= version <= LAST:
            known.setdefault(version, python)
    return known


def made(version, python):
    """The virtual environment of `python`, made again after a change of the locks."""
    name = f".venvs/{version[0]}.{version[1]}"
    stamp, sources = ROOT / name / ".ready-run", [ROOT / "requirements/run.txt", ROOT / "pyproject.toml"]
    if not stamp.exists() or any(source.stat().st_mtime > stamp.stat().st_mtime for source in sources):
        subprocess.run([python, str(ROOT / ".ci" / "setup.py"), "run", name], cwd=ROOT, check=True)
    return ROOT / name / "bin"


def smoke(bin_folder, folder):
    """What went wrong, a line each."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}
    listed = subprocess.run([str(bin_folder / "python"), "-c", LISTED], capture_output=True, text=True, check=True, cwd=folder)
    helps = [([command, "--help"], 0, "--help") for command in listed.stdout.split()]
    if missing := set(listed.stdout.split()) - {command[0] for command, _, _ in RUNS}:
        yield f"no argument is tried of {', '.join(sorted(missing))}: add it to RUNS of {Path(__file__).name}"
    for arguments, code, words in [*helps, *RUNS]:
        command = [str(bin_folder / "diag"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300, check=False)
        typed = "diag " + " ".join(map(str, arguments)).replace(str(ROOT) + "/", "")
        if done.returncode != code or "Traceback" in done.stderr:
            yield f"{typed}: exit code {done.returncode}, expected {code}: {done.stderr.strip()[-400:]}"
        elif words not in done.stdout + done.stderr:
            yield f"{typed}: {words!r} is not said"


def main():
    known = {version_of(python): python for python in sys.argv[1:]} if sys.argv[1:] else found()
    if None in known or not known:
        sys.exit(f"smoke: there is no usable Python {FIRST[0]}.{FIRST[1]} to {LAST[0]}.{LAST[1]} among {sys.argv[1:]}")
    if len(known) == 1:
        print(f"smoke: this machine has one Python only, {sys.version.split()[0]}: no older and no newer one was tried", file=sys.stderr)
    wrong = 0
    for version in sorted({min(known), max(known)}):
        with tempfile.TemporaryDirectory() as folder:
            faults = list(smoke(made(version, known[version]), Path(folder)))
        wrong += len(faults)
        name = f"Python {version[0]}.{version[1]}"
        print(
            *(f"smoke: {name}: {fault}" for fault in faults), f"smoke: {name}: {'failed' if faults else 'well'}", sep="\n", file=sys.stderr
        )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
