"""Build the sdist and the wheel into dist/, byte for byte the same for the same tree: `python .ci/build.py [FOLDER]`.

Needs setuptools, as pyproject.toml has it. Times are SOURCE_DATE_EPOCH, without one that of the last commit. setuptools gives a wheel
these times itself; an sdist is packed again with them, without owners and in the order of names.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("cli", "analyzers", "pyproject.toml", "README.md", "LICENSE")
BACKEND = "import sys; from setuptools import build_meta as made; to = sys.argv[1]; made.build_sdist(to); made.build_wheel(to)"


def last_commit():
    asked = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def packed_again(sdist, epoch):
    """`sdist` with the same files, and of what differs from build to build nothing."""
    with tarfile.open(sdist) as old:
        held = sorted(((each, old.extractfile(each)) for each in old.getmembers()), key=lambda pair: pair[0].name)
        new = sdist.with_suffix(".new")
        with (
            open(new, "wb") as raw,
            gzip.GzipFile("", "wb", mtime=epoch, fileobj=raw) as squeezed,
            tarfile.open(fileobj=squeezed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for member, content in held:
                plain = tarfile.TarInfo(member.name)
                plain.type, plain.size, plain.mtime = member.type, member.size, epoch
                plain.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
                tar.addfile(plain, content)
    new.replace(sdist)


def main():
    os.umask(0o022)  # modes of what setuptools writes itself
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    target.mkdir(parents=True, exist_ok=True)
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or last_commit()
    with tempfile.TemporaryDirectory() as folder:  # setuptools leaves build/ and *.egg-info, which a second build would take in
        copy = Path(folder)
        for name in SOURCES:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        for path in (copy, *copy.rglob("*")):  # nothing of the umask or of the checkout
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
        done = subprocess.run(
            [sys.executable, "-c", BACKEND, str(target)], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        sys.exit(f"build: setuptools could not build it:\n{done.stderr.strip()[-2000:]}")
    for sdist in target.glob("streamdiag-*.tar.gz"):
        packed_again(sdist, int(epoch))
    print(*sorted(path.name for path in target.glob("streamdiag-*")), sep="\n")


if __name__ == "__main__":
    main()
