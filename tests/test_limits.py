"""A shared host can say how much of it diag may take."""

from __future__ import annotations

import pytest

from cli.options.shared import heap, master_with
from cli.shell.exits import UsageError


@pytest.mark.parametrize(
    ("master", "cores", "wanted"), [("local[*]", None, "local[*]"), ("local[*]", 1, "local[1]"), ("local", 3, "local[3]")]
)
def test_cores_become_threads_of_the_local_master(master: str, cores: int | None, wanted: str) -> None:
    assert master_with(master, cores) == wanted


def test_a_cluster_is_not_limited_by_the_cores_of_this_host() -> None:
    with pytest.raises(UsageError, match="spark://a:7077"):
        master_with("spark://a:7077", 2)


@pytest.mark.parametrize(("said", "wanted"), [("1g", "1g"), ("2G", "2g"), ("1536m", "1536m"), ("2048 MB", "2g"), ("1GiB", "1g")])
def test_memory_is_read_as_people_write_it(said: str, wanted: str) -> None:
    assert heap(said) == wanted


@pytest.mark.parametrize("said", ["", "much", "1t", "256m", "1.5g", "-1g"])
def test_memory_that_is_none_or_too_little_is_refused_before_spark_starts(said: str) -> None:
    with pytest.raises(UsageError, match="--memory"):
        heap(said)
