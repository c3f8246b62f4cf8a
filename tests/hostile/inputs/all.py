"""Hostile inputs: each case makes its files in a directory of its own and says what is run on them and what may come of it.

`python -m tests.hostile.attack` runs them all and prints what came; `test_inputs.py` runs those that need no JVM.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.hostile.inputs import answers, bombs, bundles, checkpoints, files, host, options, trees
from tests.hostile.inputs.case import CASES, Attack

__all__ = ["CASES"]
_FILES = (answers, bombs, bundles, checkpoints, files, host, options, trees)  # each adds its cases


def judged_too(names: Iterable[str]) -> None:
    """The same with a JVM: what was left out must reach the report that judges."""
    for name in names:

        def make(here: Path, name: str = name) -> Attack:
            attack = CASES[name](here)
            attack.facts_only = attack.quick = False
            return attack

        CASES[f"{name}_judged"] = make


judged_too(
    [
        "bz2_bomb",
        "zstd_frames_bomb",
        "tar_of_many_members",
        "metadata_that_expands_beside_an_ill_job",
        "deep_json_in_log_lines",
        "tree_1500_deep",
        "tree_3000_deep",
        "names_that_are_no_utf8",
        "saved_names_that_are_no_utf8",
        "archive_names_that_are_no_utf8",
        "surrogates_in_json_lines",
        "rest_answers_beside_logs_that_are_deep",
        "rest_answer_that_expands",
        "metadata_that_expands",
        "bundle_tree_1500_deep",
        "one_endless_line",
        "checkpoint_names_that_are_no_utf8",
    ]
)
