"""What an engineer reads of lag: total first, worst last, 80 columns, and the sentence that says whether it is real."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from analyzers.derived import lag_of
from analyzers.report.report import Report
from analyzers.tables import COMMITTED_OFFSETS, GROUPS, RECORDS, Row
from cli.renderers.lag_listing import bar, render, spark

NOW = datetime(2026, 11, 21, 3, 0, 0, tzinfo=timezone.utc)


def sample(group: str, topic: str, partition: int, committed: int | None, end: int, *, ago: int = 0, **more: str) -> Row:
    at = NOW - timedelta(seconds=ago)
    lag = None if committed is None else end - committed
    where = {"scope": "", "as_of": at, "at": at, "group": group, "topic": topic, "partition": partition}
    ends = {"log_start": 0, "last_stable": end, "high_watermark": end}
    return COMMITTED_OFFSETS.row(where | ends | {"committed": committed, "lag_records": lag} | more)


def group(name: str, members: int = 0) -> Row:
    values = {"scope": "", "as_of": NOW, "group": name, "type": "classic", "state": "Stable", "members": members, "simple": not members}
    return GROUPS.row(values)


def listing(*samples: Row, groups: list[Row], records: list[Row] | None = None) -> list[str]:
    tables = {"committed_offsets": list(samples), "groups": groups, "records": records or []}
    last = [row for row in samples if row["as_of"] == NOW]
    facts = {"committed_offsets": last, "groups": groups, **lag_of(tables)}
    return render(Report("diag", "1", "lag-report", NOW, (None, NOW), facts=facts, looked_at="2 groups")).splitlines()


def test_the_total_is_first_and_the_worst_partition_last() -> None:
    lines = listing(
        sample("small", "clicks", 0, 95, 100),
        sample("orders", "orders", 0, 900, 1000),
        sample("orders", "orders", 1, 1000, 1000),
        sample("orders", "orders", 2, 100, 25_000, member="m", client="worker-3", host="10.0.0.7"),
        groups=[group("small"), group("orders", 1)],
    )
    assert lines[2] == "2 groups: 25,005 records behind on 4 partitions"
    assert lines.index("orders: 25,000 behind on 3 partitions, 1 member (Stable)") > lines.index(
        next(x for x in lines if x.startswith("small"))
    )
    rows = [line for line in lines if line.startswith("  orders-")]
    assert [row.split()[:2] for row in rows] == [["orders-0", "100"], ["orders-2", "24,900"]]
    assert "  1 partition caught up" in lines
    assert lines[-1].strip() == "held by worker-3 on 10.0.0.7"


def test_no_commit_is_a_dash() -> None:
    lines = listing(sample("g", "orders", 0, None, 500), groups=[group("g", 1)])
    (row,) = (line for line in lines if line.startswith("  orders-0"))
    assert row.split() == ["orders-0", "-", "never-committed"]
    assert lines[2] == "1 group: lag unknown on 1 partition"
    lines = listing(sample("g", "orders", 0, None, 500), sample("g", "orders", 1, 499, 500), groups=[group("g", 1)])
    assert lines[2] == "1 group: 1 record behind on 1 partition, unknown on 1 partition"


def test_what_is_beyond_the_end_is_no_lag_of_nothing() -> None:
    lines = listing(sample("g", "orders", 0, 900, 500), groups=[group("g", 1)])
    assert lines[2] == "1 group: lag unknown on 1 partition"


def test_an_empty_partition_without_a_commit_is_not_unknown() -> None:
    lines = listing(sample("g", "orders", 0, 400, 500), sample("g", "orders", 1, None, 0), groups=[group("g", 1)])
    assert lines[2] == "1 group: 100 records behind on 2 partitions"
    assert "  1 partition without a commit and without a record" in lines
    assert not any(line.startswith("  orders-1") for line in lines)


def test_commits_that_this_user_is_not_shown_are_said_beside_the_table() -> None:
    facts = {"groups": [group("g")], **lag_of({"committed_offsets": [sample("g", "orders", 0, 9, 9)], "groups": [group("g")]})}
    hidden = "g: commits of topics that User:me may not DESCRIBE are left out by the brokers, so there may be more of them"
    report = Report("diag", "1", "lag-report", NOW, (None, NOW), facts=facts, notes=["group g: 0 records behind", hidden])
    text = " ".join(render(report).split())
    assert hidden in text
    assert "group g: 0 records behind" not in text


def test_no_time_to_the_end_without_a_backlog_that_shrinks() -> None:
    """A reader that stays as far behind as it is, and one whose few records are younger than the watch: neither works anything off."""
    read = {"scope": "", "as_of": NOW, "group": "g", "why": "committed", "topic": "orders", "partition": 0, "offset": 0}
    cases = (((3020, 3015, 3018, 3015), 60, False), ((3002, 3001, 3003, 3001), 1, False), ((9000, 8000, 7000, 6000), 60, True))
    for ends, age, expected in cases:
        looks = enumerate(ends)
        samples = [sample("g", "orders", 0, 1000 * n, end + 1000 * n, ago=30 - 10 * n, member="m") for n, end in looks]
        at = RECORDS.row(read | {"wanted": 3000, "at": NOW - timedelta(seconds=age)})
        (row,) = (line for line in listing(*samples, groups=[group("g", 1)], records=[at]) if line.startswith("  orders-0"))
        assert ("done in" in row) is expected, row


def test_lag_in_time_and_never() -> None:
    samples = [sample("g", "orders", 0, 100 * n, 1000 + 1000 * n, ago=80 - 20 * n, member="m", client="c", host="h") for n in range(5)]
    read = {"scope": "", "as_of": NOW, "group": "g", "why": "committed", "topic": "orders", "partition": 0, "wanted": 400, "offset": 400}
    lines = listing(*samples, groups=[group("g", 1)], records=[RECORDS.row(read | {"at": NOW - timedelta(minutes=7)})])
    (row,) = (line for line in lines if line.startswith("  orders-0"))
    assert "7 min old" in row
    assert "never done" in row
    assert "▁▃▅▆█" in row
    assert any("50/s written, 5/s read" in line for line in lines)
    assert any("warn: the commit moves and the lag grows" in line for line in lines)


def test_many_partitions_and_long_names_stay_readable() -> None:
    topic = "a-team.with-a-very-long-name.orders-enriched-with-everything-v2"
    samples = [sample("g", topic, n, 0, 1000 + n) for n in range(500)]
    lines = listing(*samples, groups=[group("g")])
    assert len(lines) < 40
    assert "  … 488 partitions less behind" in lines
    rows = [line for line in lines if "…v2-" in line or "-v2-" in line[:60]]
    assert rows
    assert all(len(line) <= 80 for line in lines if topic not in line)
    assert any("v2-499" in line for line in lines)


@pytest.mark.parametrize(("value", "drawn"), [(0, ""), (1, "▏"), (50, "████"), (100, "████████")])
def test_bars(value: int, drawn: str) -> None:
    assert bar(value, 100) == drawn


def test_spark_line_of_a_saw() -> None:
    assert spark([0, 50, 100, 0, 50, 100]) == "▁▅█▁▅█"
    assert spark([7, 7, 7, 7]) == "▁▁▁▁"
