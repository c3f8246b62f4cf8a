"""What is kept of large logs from run to run: it never shows in what is found, and never costs more than to read them again."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.bundle.confined import confine
from analyzers.logs.scan import bound
from analyzers.logs.scan.kernel import Scanner
from analyzers.logs.scan.selection import Counts
from analyzers.logs.signatures.signature import Signature
from analyzers.readers import log_plan, log_scan
from analyzers.readers.log_scan import LogOptions, plan, read_splits, scan
from analyzers.readers.scan_cache import store, units
from analyzers.readers.scan_cache.codec import encoded, entry_of
from analyzers.readers.scan_cache.store import Store, extent, is_own, opened, prune
from cli.commands.doctor import _emptied, _scan_cache
from cli.options.cache import scan_cache
from cli.shell.exits import CannotLook
from tests.bundles import cases
from tests.examples import examples

SPLIT, PIECE = 64 << 10, 8 << 10
RECORDED = [case for pattern in ("incidents/ill/*", "incidents/healthy/*") for case in cases(pattern) if (case.path / "raw").is_dir()][::9]
"""Every ninth recording: each engine, packed and wrapped logs among them."""


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any log is large, and what has just been written is believed to be settled."""
    monkeypatch.setattr(log_plan, "LEAST_BYTES", 1)
    monkeypatch.setattr(log_plan, "LEAST_IN_ALL_BYTES", 1)
    monkeypatch.setattr(units, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(units, "_SETTLED_SECONDS", -1.0)


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lines that the kernel was given, by scanner."""
    lines: list[int] = []

    class Counting(Scanner):
        def finish(self, newlines: int | None = None) -> Any:
            part = super().finish(newlines)
            lines.append(part.lines)
            return part

    monkeypatch.setattr(log_scan, "Scanner", Counting)
    return lines


def found(folder: Path, cache: Path | None, split: int = SPLIT) -> str:
    """All tables and notes of a scan, as text."""
    made = plan([str(folder)], LogOptions(cache=None if cache is None else str(cache), split_bytes=split, window=4 << 10))
    tables = scan(made)
    return json.dumps([{name: list(map(dict, rows)) for name, rows in tables.items()}, made.notes], default=str, sort_keys=True)


def same(folder: Path, cache: Path) -> None:
    assert found(folder, cache) == found(folder, None)


def a_log(path: Path, lines: int, seed: int = 1, begin: int = 0) -> bytes:
    random, out = Random(seed), []
    for number in range(begin, begin + lines):
        job = f"{random.randrange(3):032x}"
        at = f"2026-11-{1 + number // 86_400:02d} {number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d},000"
        says = random.choice((
            f"INFO  o.a.f.runtime.checkpoint.CheckpointCoordinator [] - Checkpoint {number} of job {job} expired before completing.",
            f"INFO  o.a.f.runtime.executiongraph.ExecutionGraph [] - Job orders ({job}) switched from state RUNNING to FAILING.",
            f"WARN  o.a.k.clients.NetworkClient [] - Connection to node -1 (10.0.0.{random.randrange(3)}:9092) could not be established.",
            f"ERROR org.example.C{random.randrange(5)} [] - cannot\njava.io.IOException: broken\n\tat org.example.A.b(A.java:{number})",
            f"INFO  org.example.Quiet [] - {'x' * random.randrange(80)}",
        ))  # fmt: skip
        out.append(f"{at} {says}\n")
    text = "".join(out).encode()
    path.write_bytes(text)
    return text


# ---- the same rows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.path.name)
def test_a_recording_that_grows_is_found_as_without_a_cache(case: Any, tmp_path: Path) -> None:
    whole = {file.relative_to(case.path / "raw"): file.read_bytes() for file in (case.path / "raw").rglob("*") if file.is_file()}
    random = Random(case.path.name)
    for share in (0.3 + 0.4 * random.random(), 1.0, 1.0):
        for name, text in whole.items():
            target = tmp_path / "raw" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text[: int(len(text) * share)])
        same(tmp_path / "raw", tmp_path / "cache")


def grown(path: Path, random: Random, at: int) -> None:
    with path.open("ab") as file:
        file.write(a_log(path.with_suffix(".more"), random.randrange(1, 60), random.random(), at)[: random.choice((None, -1, -20))])
    path.with_suffix(".more").unlink()


def truncated(path: Path, random: Random, at: int) -> None:
    os.truncate(path, random.randrange(path.stat().st_size + 1))


def rotated(path: Path, random: Random, at: int) -> None:
    path.rename(path.with_name(f"job.log.{at}"))
    a_log(path, random.randrange(1, 80), random.random(), at)


def replaced(path: Path, random: Random, at: int) -> None:
    """By one of the same size and time, in place."""
    status, text = path.stat(), path.read_bytes()
    begin = random.randrange(len(text) + 1)
    some = text[begin : begin + random.choice((500, 20_000))]
    text = text[:begin] + some.replace(b"INFO ", b"ERROR").replace(b"-1 (10.", b"-1 (11.") + text[begin + len(some) :]
    with path.open("r+b") as file:
        file.write(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def copied_and_truncated(path: Path, random: Random, at: int) -> None:
    shutil.copy2(path, path.with_name(f"job.log.{at}"))
    os.truncate(path, 0)
    grown(path, random, at)


def oldest_deleted(path: Path, random: Random, at: int) -> None:
    for old in sorted(path.parent.glob("job.log.*"))[:1]:
        old.unlink()


STEPS = (grown, truncated, rotated, replaced, copied_and_truncated, oldest_deleted)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=6), seed=st.integers(0, 10**6), sated=st.booleans())
def test_no_change_of_a_log_shows_in_what_is_found(
    steps: list[Callable[[Path, Random, int], None]], seed: int, sated: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("grows")
    (folder / "raw").mkdir()
    random, log = Random(seed), folder / "raw" / "job.log"
    with pytest.MonkeyPatch.context() as patch:
        if sated:  # parts leave out what is known not to be kept
            patch.setattr(bound, "MOST_ROWS", 40)
            patch.setattr(bound, "MOST_TOLD_ROWS", 40)
            patch.setattr(bound, "GENERIC_ROWS", 20)
            patch.setattr(bound, "AT_LEAST", (2, 1))
        a_log(log, random.randrange(1500), random.random())
        same(folder / "raw", folder / "cache")
        for at, step in enumerate(steps, 1):
            step(log, random, at * 2000)
            same(folder / "raw", folder / "cache")


def test_parts_that_leave_out_more_than_they_may_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fed: list[int]) -> None:
    for name in ("MOST_ROWS", "MOST_TOLD_ROWS", "GENERIC_ROWS"):
        monkeypatch.setattr(bound, name, 40)
    monkeypatch.setattr(bound, "AT_LEAST", (2, 1))
    (tmp_path / "raw").mkdir()
    for number in range(6):
        a_log(tmp_path / "raw" / f"job-{number}.log", 1500, number, 2000 * number)
    found(tmp_path / "raw", tmp_path / "cache")
    fed.clear()
    found(tmp_path / "raw", tmp_path / "cache")
    assert not fed
    for number in (0, 1, 4, 5):
        (tmp_path / "raw" / f"job-{number}.log").unlink()
    assert found(tmp_path / "raw", tmp_path / "cache") == found(tmp_path / "raw", None)
    held = [Store(str(tmp_path / "cache"), "").get(name.name) for name in (tmp_path / "cache").iterdir() if "seen" not in name.name]
    assert any(content and entry_of(content).sated for content in held)


def test_what_a_packed_archive_holds_is_kept_too(tmp_path: Path, fed: list[int]) -> None:
    (tmp_path / "logs").mkdir()
    for number in range(3):
        a_log(tmp_path / "logs" / f"taskmanager-{number}.log", 300, number)
    (tmp_path / "raw").mkdir()
    shutil.make_archive(str(tmp_path / "raw" / "logs"), "gztar", tmp_path / "logs")
    same(tmp_path / "raw", tmp_path / "cache")
    fed.clear()
    warm = found(tmp_path / "raw", tmp_path / "cache")
    assert not fed
    assert warm == found(tmp_path / "raw", None)


# ---- what is read ------------------------------------------------------------------------------------------------


def test_the_second_time_nothing_is_read_and_of_a_grown_log_its_end(tmp_path: Path, fed: list[int]) -> None:
    (tmp_path / "raw").mkdir()
    log = tmp_path / "raw" / "job.log"
    a_log(log, 3000)
    found(tmp_path / "raw", tmp_path / "cache")
    assert sum(fed) > 3000
    fed.clear()
    found(tmp_path / "raw", tmp_path / "cache")
    assert not fed
    with log.open("ab") as file:
        file.write(a_log(tmp_path / "more", 50, 7, 3000))
    found(tmp_path / "raw", tmp_path / "cache")
    assert 50 < sum(fed) < 400


def test_a_log_that_was_renamed_or_copied_is_not_read_again(tmp_path: Path, fed: list[int]) -> None:
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 3000)
    found(tmp_path / "raw", tmp_path / "cache")
    (tmp_path / "raw" / "job.log").rename(tmp_path / "raw" / "job.log.1")
    fed.clear()
    warm = found(tmp_path / "raw", tmp_path / "cache")
    assert not fed
    shutil.copytree(tmp_path / "raw", tmp_path / "other")
    found(tmp_path / "other", tmp_path / "cache")
    assert sum(fed) < 400  # pieces of its end are those of the first one
    assert warm == found(tmp_path / "raw", None)


def test_a_log_that_changes_now_is_digested_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "_SETTLED_SECONDS", 2.0)
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 1000)
    same(tmp_path / "raw", tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("seen-*"))


def test_other_code_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fed: list[int]) -> None:
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    found(tmp_path / "raw", tmp_path / "cache")
    fed.clear()
    monkeypatch.setattr(store, "version", lambda: "another")
    found(tmp_path / "raw", tmp_path / "cache")
    assert sum(fed) > 500


def test_little_is_read_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    for name in ("LEAST_BYTES", "LEAST_IN_ALL_BYTES"):
        monkeypatch.setattr(log_plan, name, 1 << 20)
        found(tmp_path / "raw", tmp_path / "cache")
        assert not (tmp_path / "cache").exists()
        monkeypatch.setattr(log_plan, name, 1)


def test_a_run_with_signatures_of_its_own_uses_no_cache(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    scan(plan([str(tmp_path / "raw")], LogOptions(cache=str(tmp_path / "cache"))), signatures=())
    own = Signature("own-ledger", ("vault lease",), "vault lease refused", "")
    scan(plan([str(tmp_path / "raw")], LogOptions(cache=str(tmp_path / "cache"), own=(own,))))
    assert extent(str(tmp_path / "cache")).entries == 0


# ---- what is kept ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case.path.name)
def test_what_comes_back_is_what_was_kept(case: Any) -> None:
    made = plan([str(case.path / "raw")], LogOptions(split_bytes=SPLIT))
    for task in made.tasks:
        for split in task:
            parts = list(read_splits([split]))
            content = encoded([split], parts, {("a", None): (1, 2)})
            assert content is not None
            entry = entry_of(content)
            assert entry.sated == {("a", None): (1, 2)}
            back = entry.parts([split])
            assert [part.counts.counts for part in back] == [part.counts.counts for part in parts]
            none = Counts()
            assert [replace(part, counts=none) for part in back] == [replace(part, counts=none) for part in parts]


def test_damaged_entries_are_read_anew(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 2000)
    expected, random = found(tmp_path / "raw", tmp_path / "cache"), Random(3)
    for damage in ("flip", "cut", "empty", "other", "form"):
        entries = sorted((tmp_path / "cache").iterdir())
        assert len(entries) > 5
        for path in entries:
            held = bytearray(path.read_bytes())
            if damage == "flip":
                held[random.randrange(len(held))] ^= 1 << random.randrange(8)
            elif damage == "form":  # whole, and of no form that is known
                Store(str(tmp_path / "cache"), "").put(path.name, random.choice((b"", b"[]", b"\0" * 40, bytes(held[32:60]))))
                continue
            path.write_bytes({"cut": held[: len(held) // 2], "empty": b"", "other": b"x" * 100}.get(damage, held))
        assert found(tmp_path / "raw", tmp_path / "cache") == expected


def test_it_is_this_users_alone(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    found(tmp_path / "raw", tmp_path / "cache")
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "cache").iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o750, 0o704, 0o720])
def test_a_directory_that_others_see_is_refused(mode: int, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    assert opened(str(tmp_path / "cache")) is None


def test_so_is_a_link_and_one_that_others_could_replace(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    assert opened(str(tmp_path / "cache")) is None
    (tmp_path / "open" / "cache").mkdir(parents=True)
    (tmp_path / "open" / "cache").chmod(0o700)
    assert is_own(str(tmp_path / "open" / "cache"))
    (tmp_path / "open").chmod(0o777)
    assert opened(str(tmp_path / "open" / "cache")) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_so_is_another_users(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    os.chown(tmp_path / "cache", 12345, 12345)
    assert opened(str(tmp_path / "cache")) is None


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_takes_nothing_costs_nothing(fault: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(fault, os.strerror(fault))

    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    monkeypatch.setattr("analyzers.readers.scan_cache.store.os.replace", refused)
    same(tmp_path / "raw", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    monkeypatch.setattr("analyzers.readers.scan_cache.store.os.mkdir", refused)
    same(tmp_path / "raw", tmp_path / "another")


def test_a_disk_that_is_nearly_full_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LEAST_FREE_BYTES", 1 << 62)
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    same(tmp_path / "raw", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_oldest_used_go_first(tmp_path: Path) -> None:
    kept = opened(str(tmp_path / "cache"))
    assert kept is not None
    for number in range(10):
        kept.put(str(number), b"x" * 968)  # 1,000 with the digest
        os.utime(tmp_path / "cache" / str(number), (1000 + number,) * 2)
    assert kept.get("0") == b"x" * 968
    (tmp_path / "cache" / ".new-killed").write_bytes(b"")
    os.utime(tmp_path / "cache" / ".new-killed", (5, 5))
    prune(str(tmp_path / "cache"), 3000)
    assert sorted(kept.names()) == ["0", "8", "9"]


# ---- how it is asked for -----------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.platform", "linux")
    yield tmp_path / "home" / "diag" / "scans"
    confine(None)


def test_it_is_off_where_only_some_paths_may_be_opened(home: Path, tmp_path: Path) -> None:
    assert scan_cache(off=False) == str(home)
    assert scan_cache(off=True) is None
    confine([str(tmp_path)])
    assert scan_cache(off=False) is None


def test_the_doctor_shows_and_empties_it(home: Path, tmp_path: Path) -> None:
    assert _scan_cache().says == f"nothing yet; a triage of large logs makes it, in {home}"
    assert _emptied() == "no logs were kept\n"
    (tmp_path / "raw").mkdir()
    a_log(tmp_path / "raw" / "job.log", 500)
    found(tmp_path / "raw", home)
    held = extent(str(home))
    assert held.entries > 2
    assert _scan_cache().says.startswith(f"{held.entries} entries of 0.")
    assert _emptied().startswith(f"deleted {held.entries} entries")
    assert extent(str(home)).entries == 0
    home.chmod(0o755)
    assert _scan_cache().state == "warning"
    with pytest.raises(CannotLook):
        _emptied()
