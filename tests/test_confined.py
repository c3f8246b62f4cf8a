"""What a process opens that is confined to some paths: links, .., what a checkpoint states and what a bundle holds lead nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzers.bundle.confined import OUTSIDE, confine, is_outside, refuse_outside
from analyzers.bundle.errors import BundleError
from analyzers.bundle.held import HeldDirectory
from analyzers.bundle.read import read_bundle
from analyzers.readers.file_trees import LocalTree, open_tree
from analyzers.readers.object_stores import RemoteTree
from analyzers.readers.opening import open_file
from analyzers.readers.sources import discover
from cli.collectors.flink_rest import collect_recorded
from cli.runs.gathering import recordings_below
from cli.shell.exits import CannotLook


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A directory to which this process is confined; beside it lies `secret.log`, to which a link in it leads."""
    (tmp_path / "inside" / "below").mkdir(parents=True)
    (tmp_path / "inside-not").mkdir()
    (tmp_path / "secret.log").write_text("2026-11-21 09:30:00,000 ERROR org.example.Secret - do not read me\n")
    (tmp_path / "inside" / "job.log").write_text("2026-11-21 09:30:00,000 INFO org.example.Job - hello\n")
    (tmp_path / "inside" / "linked.log").symlink_to(tmp_path / "secret.log")
    (tmp_path / "inside" / "folder").symlink_to(tmp_path / "inside-not")
    confine([str(tmp_path / "inside")])
    return tmp_path / "inside"


def test_links_and_dots_are_resolved_first(inside: Path) -> None:
    assert not is_outside(inside)
    assert not is_outside(inside / "below" / ".." / "job.log")
    for outside in ("linked.log", "folder", "folder/x", "../secret.log", "below/../../secret.log", "../inside-not", "a\0b"):
        assert is_outside(f"{inside}/{outside}"), outside
    with pytest.raises(PermissionError, match="--allow-path"):
        refuse_outside(inside / "linked.log")


def test_what_diag_put_aside_itself_is_inside(inside: Path) -> None:
    held = HeldDirectory("test")
    assert not is_outside(held.path / "raw" / "job.log")
    assert is_outside(f"{held.path}-of-another")
    assert is_outside(held.path, aside=False)


def test_logs_behind_links_are_named_and_not_read(inside: Path) -> None:
    found = discover([str(inside)])
    assert [candidate.path for candidate in found.candidates] == [str(inside / "job.log")]
    assert {(Path(name).name, why) for name, why, _ in found.troubles} == {("linked.log", OUTSIDE), ("folder", OUTSIDE)}
    assert discover([str(inside.parent / "secret.log")]).candidates == []
    with pytest.raises(PermissionError):
        open_file(str(inside / "linked.log"))


def test_a_tree_lists_and_reads_nothing_outside(inside: Path) -> None:
    tree = open_tree(str(inside))
    assert [entry.name for entry in tree.entries(str(inside))] == ["below", "job.log"]
    stated = LocalTree(str(inside)).own(f"file:{inside.parent / 'secret.log'}")
    assert stated is not None
    for ask in (tree.entry, tree.read, tree.entries, open_tree):
        with pytest.raises(PermissionError):
            ask(stated)


def test_no_object_store_is_asked(inside: Path) -> None:
    with pytest.raises(OSError, match="--allow-path"):
        RemoteTree("memory://bucket/checkpoints")


def test_a_bundle_whose_table_is_a_link_is_refused(inside: Path, tmp_path: Path) -> None:
    bundle = inside / "bundle"
    bundle.mkdir()
    (tmp_path / "manifest.json").write_text('{"bundle_format": 1}')
    (bundle / "manifest.json").symlink_to(tmp_path / "manifest.json")
    with pytest.raises(BundleError, match="--allow-path"):
        read_bundle(bundle)


def test_answers_of_a_jobmanager_above_are_not_taken(inside: Path, tmp_path: Path) -> None:
    for moment in (inside, tmp_path / "inside-not"):
        (moment / "jobs_overview.json").write_text('{"jobs": []}')
    assert [one.name for one in recordings_below([str(inside)])] == [str(inside)]
    (inside / "jobs_overview.json").unlink()
    (inside / "jobs_overview.json").symlink_to(tmp_path / "inside-not" / "jobs_overview.json")
    with pytest.raises((CannotLook, OSError)):
        collect_recorded(inside)


def test_without_a_list_all_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("2026-11-21 09:30:00,000 INFO org.example.Job - hello\n")
    os.symlink(tmp_path / "job.log", tmp_path / "linked.log")
    assert len(discover([str(tmp_path)]).candidates) == 1  # one file by two names
    assert not is_outside("/etc/hosts")
