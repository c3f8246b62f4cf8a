"""``python -m tests.hostile.attack [NAME…]``: runs hostile inputs as users would meet them and prints what came of each.

One row per case: exit code, peak of the resident memory of all its processes, seconds, the last line on stderr; and whether it held.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.inputs.all import CASES
from tests.hostile.inputs.case import ILL_SAYS, ROOT, Attack

MOST_MB = 1500
_KILLED_AT_MB = 4000
"""Where the host of the test would suffer."""
DEFECT = re.compile(
    r"defect in diag|Traceback \(most recent|py4j\.|Py4J|An error occurred while calling|Exception in thread|Exception ignored",
    re.IGNORECASE,
)


@dataclass
class Outcome:
    """What came of an attack; `wrong`: in which way it did not hold."""

    name: str
    codes: list[int | None]
    mb: int
    seconds: float
    last: str
    wrong: list[str]
    stdout: str = ""
    stderr: str = ""

    @property
    def row(self) -> str:
        codes = ",".join(sorted({str(code) for code in self.codes}))
        held = "; ".join(self.wrong) or "held"
        return f"{self.name:50} {codes:>5} {self.mb:>5} MB {self.seconds:>5.1f} s  {held:30}  {self.last[:150]}"


def run(name: str, here: Path, quick: bool | None = None) -> Outcome | None:
    """What comes of the case `name`; None for one that is not as `quick` (None: whatever it is)."""
    attack = CASES[name](here)
    if quick is not None and quick != attack.quick:
        return None
    arguments = [*attack.arguments, *(["--facts-only"] if attack.facts_only else [])]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **{k: v for k, v in attack.environ.items() if v is not None}}
    environ = {k: v for k, v in environ.items() if not (k in attack.environ and attack.environ[k] is None)}
    line = "".join([attack.before, *(f"ulimit {limit}; " for limit in attack.limits), 'exec "$@"'])
    command = [*(["unshare", "-m"] if "mount " in line else []), "bash", "-c", line, "bash", sys.executable, "-m", "cli", *arguments]
    began = time.monotonic()
    runs = [_Running(command, environ, attack, here / f"out{number}") for number in range(attack.times)]
    mb = 0
    for one in runs:
        one.join()
        mb = max(mb, one.mb)
    seconds = time.monotonic() - began
    said = [(one.text("out"), one.text("err")) for one in runs]
    wrong = _wrong(attack, runs, said, mb)
    last = next((line for _, err in said for line in reversed(err.splitlines()) if line.strip()), "")
    return Outcome(name, [one.code for one in runs], mb, seconds, last, wrong, said[0][0], said[0][1])


def _wrong(attack: Attack, runs: Sequence[_Running], said: Sequence[tuple[str, str]], mb: int) -> list[str]:
    judged = attack.codes == {1}
    codes = {0, 3} if attack.facts_only and judged else attack.codes
    wrong = []
    for one, (out, err) in zip(runs, said, strict=True):
        if one.late:
            wrong.append("did not end")
        elif one.code not in codes:
            wrong.append(f"code {one.code}")
        if DEFECT.search(err) or DEFECT.search(out if len(out) < 1 << 20 else out[: 1 << 20]):
            wrong.append("a defect")
        if attack.facts_only and judged and ILL_SAYS not in out:
            wrong.append("the rest is not there")
        if attack.says and not re.search(attack.says, out + err):
            wrong.append("not said")
        if re.search(attack.never, out + err, re.IGNORECASE) and one.code == 0:
            wrong.append("says that all is well")
    if mb > MOST_MB:
        wrong.append("memory")
    return list(dict.fromkeys(wrong))


class _Running:
    def __init__(self, command: list[str | bytes], environ: dict[str, str], attack: Attack, out: Path) -> None:
        self.mb, self.late, self._out = 0, False, out
        self.code: int | None = None
        out.mkdir()
        with open(out / "out", "wb") as stdout, open(out / "err", "wb") as stderr:
            self._process = subprocess.Popen(
                command, env=environ, stdout=stdout, stderr=stderr, cwd=attack.where or ROOT,
                stdin=subprocess.PIPE if attack.stdin else subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        self._threads = [threading.Thread(target=self._watch, args=(attack.seconds,))]
        if attack.stdin:
            self._threads.append(threading.Thread(target=self._feed, args=(attack.stdin(),)))
        for thread in self._threads:
            thread.start()

    def _feed(self, content: bytes) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as stdin:
                stdin.write(content)
        except OSError:
            pass

    def _watch(self, seconds: int) -> None:
        until = time.monotonic() + seconds
        while self._process.poll() is None:
            tree = _tree(self._process.pid)
            self.mb = max(self.mb, sum(map(_resident, tree)) >> 20)
            if time.monotonic() > until or self.mb > _KILLED_AT_MB:
                self.late = time.monotonic() > until
                for pid in tree:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except OSError:
                        continue
            time.sleep(0.03)
        self.code = self._process.returncode

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def text(self, name: str) -> str:
        with open(self._out / name, "rb") as file:
            return file.read(20 << 20).decode("utf-8", "backslashreplace")


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text(errors="replace")
            except OSError:
                continue
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, left = [], [root]
    while left:
        found.append(left.pop())
        left.extend(children.get(found[-1], ()))
    return found


def _resident(pid: int) -> int:
    """Bytes; pages that several processes share are shared out."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss:")), 0)
    except OSError:
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["*"], help="cases, or patterns of them")
    parser.add_argument("--json", type=Path, help="write what came of each to this file")
    parser.add_argument("--quick", action="store_true", help="only what needs no JVM")
    parser.add_argument("--slow", action="store_true", help="only what needs a JVM")
    parser.add_argument("--said", action="store_true", help="print all of stderr, too")
    chosen = parser.parse_args()
    outcomes = []
    for name in CASES:
        if not any(fnmatch.fnmatch(name, pattern) for pattern in chosen.names):
            continue
        here = Path(tempfile.mkdtemp(prefix="hostile-"))
        try:
            outcome = run(name, here, quick=True if chosen.quick else False if chosen.slow else None)
            if outcome is None:
                continue
            outcomes.append(outcome)
        finally:
            subprocess.run(["rm", "-rf", str(here)], check=False)  # shutil does not go as deep as some of these trees
        print(outcomes[-1].row, flush=True)
        if chosen.said:
            print(outcomes[-1].stderr[-3000:], outcomes[-1].stdout[-1500:])
    broken = [one for one in outcomes if one.wrong]
    print(f"{len(outcomes) - len(broken)} of {len(outcomes)} held")
    if chosen.json:
        chosen.json.write_text(json.dumps([{**vars(one), "stdout": "", "stderr": one.stderr[-2000:]} for one in outcomes], indent=1))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
