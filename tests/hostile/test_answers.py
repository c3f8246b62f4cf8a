"""Answers of a JobManager that are none: the rest is read, and it is said that something is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analyzers.bundle.encoding import validate
from analyzers.tables import TABLES
from cli.collectors.flink_rest import collect_recorded
from tests.rest_replay import POISON, RECORDINGS

LOGIN = b"<!doctype html><form action='/login'>Sign in</form>"
WRONG: tuple[Any, ...] = (None, True, -1, 1.5, 10**400, float("nan"), float("inf"), "x", [None], [1, "x"])


def said(folder: Path, *, whole: bool = True) -> str:
    """Why the look was not whole."""
    tables = collect_recorded(folder).tables
    for name, rows in tables.items():
        validate(TABLES[name], rows)
    assert tables["jobs"]
    assert tables["job_config"]
    (source,) = tables["sources"]
    assert (source["state"] == "ok") is (source["why"] is None)
    return source["why"] or ""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(RECORDINGS / POISON, tmp_path / "rest")
    assert said(tmp_path / "rest") == ""
    return tmp_path / "rest"


@pytest.mark.parametrize(
    ("name", "key"),
    [("job", "vertices"), ("job_checkpoints", "history"), ("taskmanagers", "taskmanagers"), ("job_exceptions", "exceptionHistory")],
)
def test_an_answer_of_another_shape_is_no_healthy_one(name: str, key: str, folder: Path) -> None:
    place = folder / f"{name}.json"
    good = json.loads(place.read_bytes())
    silent = []
    for value in WRONG:
        for body in ({**good, key: value}, value):
            place.write_text(json.dumps(body))
            if "Flink" not in said(folder) and "JSON" not in said(folder):
                silent.append(body)
    for content in (LOGIN, b"", b"[" * 10_000, b"\x1f\x8b\x08\0", json.dumps(good).encode()[:-9], b"\xff\xfe{\0}\0"):
        place.write_bytes(content)
        if not said(folder):
            silent.append(content)
    assert silent == []


def _twice(text: str) -> str:
    return text.rstrip()[:-1] + "," + text.strip()[1:]


@pytest.mark.parametrize("change", [_twice, lambda text: text.replace(": ", ":\n\t").replace(":", " : ")])
def test_what_only_looks_odd_is_read(change: Callable[[str], str], folder: Path) -> None:
    before = collect_recorded(folder).tables
    for place in folder.glob("job*.json"):
        text = place.read_text()
        if text.lstrip().startswith("{") and change is _twice:
            place.write_text(change(text))
    assert collect_recorded(folder).tables == before
