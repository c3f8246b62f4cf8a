"""Many recordings in one directory: does each get the verdicts there that it gets alone?

    python -m tests.hostile.crowd 50          # or 300

Each recording's raw logs become a subdirectory with job ids of its own. Printed is how many get the same verdicts (code, reason,
subject, job), and what is missing or new for each of the others.
"""

from __future__ import annotations

import re
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.diagnosis.diagnose import judge
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.report import Report, Verdict
from analyzers.tables import Row
from tests.bundles import FIRES, HEALTHY, INCIDENTS, Case

if TYPE_CHECKING:
    from cli.engine.spark import Engine

Said = tuple[str, str | None, str, str | None]  # code, reason, subject, job
_ID = re.compile(rb"(?<![0-9a-zA-Z])[0-9a-f]{32}(?![0-9a-zA-Z])")
_UUID = re.compile(rb"(?<![0-9a-zA-Z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-zA-Z])")


def recordings(count: int) -> list[Case]:
    """`count` bundles with raw logs alone: recorded incidents first, then bundles of rules, spread evenly over all of them."""
    raw = [case for case in dict.fromkeys((*INCIDENTS, *FIRES, *HEALTHY)) if (case.path / "raw").is_dir() and not _has_tables(case)]
    ranked = sorted(raw, key=lambda case: (not case.recorded, zlib.crc32(case.scope.encode())))
    return ranked[:count]


def _has_tables(case: Case) -> bool:
    return any(case.path.glob("*.jsonl"))


def copied(case: Case, home: Path, turn: int = 0) -> Path:
    """The raw logs of `case` below `home`, its ids made its own, and others with each `turn`."""
    salt = f"{case.scope}{turn or ''}".encode()

    def own(match: re.Match[bytes]) -> bytes:
        digest = md5(salt + match[0], usedforsecurity=False).hexdigest().encode()
        return digest if b"-" not in match[0] else b"-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))

    target = home / case.scope.replace("/", "-")
    for path in sorted((case.path / "raw").rglob("*")):
        if path.is_file():
            out = target / path.relative_to(case.path / "raw")
            out.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_bytes()
            packed = text[:2] == b"\x1f\x8b" or path.suffix in (".zst", ".bz2", ".xz", ".zip", ".tar", ".tgz")
            out.write_bytes(text if packed else _UUID.sub(own, _ID.sub(own, text)))
    return target


def alone(homes: Iterable[Path], engine: Engine) -> dict[str, set[Said]]:
    """What each directory gets by itself: judged in one run, as a scope of its own."""
    tables: dict[str, list[Row]] = defaultdict(list)
    for home in homes:
        for name, rows in scan(plan([str(home)], LogOptions(scope=home.name))).items():
            tables[name].extend(rows)
    report = judge(dict(tables), engine.session, command="triage", version="test")
    return {home.name: {_said(verdict) for verdict in report.verdicts if verdict.scope == home.name} for home in homes}


def together(report: Report, homes: Sequence[Path]) -> dict[str, set[Said]]:
    """The verdicts of one run over all of `homes`, by the directory that shows them."""
    out: dict[str, set[Said]] = {home.name: set() for home in homes}
    names = {home.name for home in homes}
    for verdict in report.verdicts:
        own = next((f for f in report.findings if (f.code, f.scope, f.subject) == (verdict.code, verdict.scope, verdict.subject)
                    and verdict.says.endswith(f.says)), None)  # fmt: skip
        places = {part for shown in (own.evidence if own else ()) for part in Path(shown.file or "").parts if part in names}
        for place in places:
            out[place].add(_said(verdict))
    return out


def _said(verdict: Verdict) -> Said:
    return verdict.code, verdict.reason, str(sorted((key, str(value)) for key, value in verdict.subject.items())), verdict.job


def differences(apart: Mapping[str, set[Said]], crowd: Mapping[str, set[Said]]) -> dict[str, tuple[set[Said], set[Said]]]:
    """Per directory whose verdicts are not the same: what is missing, and what is new."""
    return {name: (said - crowd[name], crowd[name] - said) for name, said in apart.items() if said != crowd[name]}


def main() -> None:
    from cli.engine.spark import Engine
    from cli.options.shared import RunOptions
    from cli.runs.triage import run

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder, Engine.start("local[2]") as engine:
        homes = [copied(case, Path(folder)) for case in recordings(count)]
        apart = alone(homes, engine)
        report = run([folder], RunOptions(), version="test", engine=engine)
        crowd = together(report, homes)
    wrong = differences(apart, crowd)
    for name, (missing, new) in sorted(wrong.items()):
        print(
            name,
            *(f"\n    missing {each[:3]}" for each in sorted(missing, key=str)),
            *(f"\n    new     {each[:3]}" for each in sorted(new, key=str)),
        )
    ill = [name for name, said in apart.items() if said]
    ill_wrong = sum(name in wrong for name in ill)
    print(
        f"{len(homes)} recordings, {len(ill)} ill: {len(homes) - len(wrong)} with the same verdicts, {ill_wrong} ill ones differ, "
        f"{len(wrong) - ill_wrong} healthy ones are called ill; findings without job and directory: "
        f"{sum(f.job is None and not f.scope for f in report.found)} of {len(report.found)}"
    )


if __name__ == "__main__":
    main()
