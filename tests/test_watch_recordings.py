"""`diag watch` over recordings that grow, on a fake clock: a job that is well is never a message, one that falls ill is exactly its own.

Where a rule finds more or less than before, `data/watch_messages.json` changes with it, and says from which look on people hear of it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.comparison.sides import Side
from analyzers.watching.state import State, restored, saved
from analyzers.watching.steps import Policy, step
from cli.engine.spark import Engine
from cli.options.shared import RunOptions
from cli.runs.live_sources import NOTHING_LIVE
from cli.runs.watch import Watch, Watched
from cli.runs.watch_receivers import Screen
from cli.runs.watch_state import StateFile
from tests.bundles import FIXTURES, Case
from tests.command_line import environment
from tests.growing import HEALTHY, ILL, looks
from tests.test_watch_delivery import Clock

SAID = json.loads((Path(__file__).parent / "data" / "watch_messages.json").read_text())
"""Of each ill recording the messages, each with the number of its look: eight at growing parts of it, three more at the whole."""
QUICK = {
    "healthy-rolling-broker-restart", "healthy-spark-query", "lab-healthy-broker-killed", "lab-healthy-debezium-database-restarted",
    "lab-healthy-poison-record-set-aside", "lab-deaf-map", "lab-debezium-database-down", "lab-poison-sink", "lab-too-few-slots",
}  # fmt: skip
"""Recordings that each run of the tests replays, of every system one."""
_MINUTE = 60.0


def recordings(names: list[str]) -> list[object]:
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in names]


def said(sides: list[Side], policy: Policy | None = None) -> list[str]:
    """The messages of looks a minute apart, each with the number of its look; between any two the state goes through its file."""
    state, found, policy = State(drawn="d"), [], policy or Policy()
    for number, side in enumerate(sides, 1):
        now = number * _MINUTE
        done = step(state, side, now=now, at="2026-11-21T09:30:00.000Z", policy=policy)
        found += [f"{number} {message.change} {message.finding['code']}" for message in done.messages]
        state = restored(json.loads(json.dumps(saved(state, now))), now, 0.0)
    return found


@pytest.mark.parametrize("name", recordings(HEALTHY))
def test_a_job_that_is_well_is_never_a_message(name: str, engine: Engine, tmp_path: Path) -> None:
    assert said(list(looks(Case(FIXTURES / "incidents" / "healthy" / name), engine, tmp_path))) == []


@pytest.mark.parametrize("name", recordings(ILL))
def test_a_job_that_falls_ill_is_exactly_these_messages_in_order(name: str, engine: Engine, tmp_path: Path) -> None:
    assert said(list(looks(Case(FIXTURES / "incidents" / "ill" / name), engine, tmp_path))) == SAID[name]


def test_every_ill_recording_is_a_message() -> None:
    assert sorted(SAID) == ILL
    assert [name for name, messages in SAID.items() if not messages] == []


@pytest.mark.long
def test_a_job_that_falls_ill_and_gets_well_is_two_messages(engine: Engine, tmp_path: Path) -> None:
    """Its database is away for some seconds: looked at often enough, it is seen; a look that opens at once would see it in any case."""
    sides = list(looks(Case(FIXTURES / "incidents" / "healthy" / "lab-healthy-debezium-database-restarted"), engine, tmp_path, parts=60))
    assert said(sides) == ["54 opened RST501"]
    well = sides[-1]
    assert said([*sides, *[well] * 60]) == ["54 opened RST501", "114 healed RST501"], "an hour after the first"
    assert said(sides, replace(Policy(), quiet_seconds=0.0)) == ["54 opened RST501", "59 healed RST501"]
    assert said(sides[3::7], Policy(opens_after=1)) == ["8 opened RST501"], "why two looks open it"


class Lent:
    """The engine of the tests, which a watch is not to stop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> Lent:
        return self

    def __exit__(self, *values: object) -> None: ...


def test_a_directory_that_grows_is_watched_without_its_secrets(engine: Engine, tmp_path: Path) -> None:
    raw, logs, state = FIXTURES / "incidents" / "ill" / "lab-poison-sink" / "raw", tmp_path / "logs", tmp_path / "s.json"
    wholes = {file.relative_to(raw): file.read_bytes() for file in raw.rglob("*") if file.is_file()}
    secret = b"cannot be null, password=xyzzySECRET"
    wholes = {name: content.replace(b"cannot be null", secret) for name, content in wholes.items()}
    assert any(secret in content for content in wholes.values())

    def grow(share: float) -> None:
        for name, content in wholes.items():
            (logs / name).parent.mkdir(parents=True, exist_ok=True)
            (logs / name).write_bytes(content[: int(len(content) * share)])

    shares, clock, streams = iter([0.5, 0.75, 1.0]), Clock(), environment()

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        grow(next(shares))

    watched = Watched([str(logs)], NOTHING_LIVE, RunOptions(), 60.0, save_dir=tmp_path / "saved", metrics=tmp_path / "diag.prom")
    (tmp_path / "saved").mkdir()
    grow(0.2)
    file = StateFile(state, clock, clock.wall)
    lent: Any = Lent(engine)
    watch = Watch(watched, [Screen(streams, "terminal")], file, streams, "test", lambda: lent, clock, clock.wall, sleep)
    watch.run(most_looks=4)
    shown = streams.stdout.getvalue()  # type: ignore[attr-defined]  # StringIO
    assert shown.count(" opened ") == 1
    assert "critical RST204  orders-enrichment" in shown
    assert "  fix  " in shown, "its card"
    (bundle,) = (tmp_path / "saved").iterdir()
    assert str(bundle) in " ".join(shown.split())
    assert "diag_watch_looks 4" in (tmp_path / "diag.prom").read_text()
    written = shown + streams.stderr.getvalue() + state.read_text()  # type: ignore[attr-defined]  # StringIO
    assert "cannot be null" in written
    assert "xyzzySECRET" not in written
