"""A large cluster: what there is too much of is looked into by age, and what was left out is never called well."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from analyzers.diagnosis.coverage import not_looked_at
from analyzers.diagnosis.diagnose import judge
from analyzers.rules.catalogue import load_rules
from analyzers.tables import COMMITTED_OFFSETS, GROUPS, RECORDS, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.kafka_groups import GroupAnswers
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_positions import MOST_COMMITS, Still, _oldest, _unlooked, _want, topics_by_age
from cli.engine.spark import Engine
from cli.runs.lag_report import half_seen
from cli.runs.second_look import _stuck
from tests.lag_evidence import NOW

EARLIER = NOW - timedelta(seconds=6)


def commit(partition: int, committed: int | None, end: int, *, at: Any = NOW, stable: int | None = None, topic: str = "orders") -> Row:
    lag = None if committed is None else max(0, end - committed)
    place = {"scope": "", "as_of": at, "at": at, "group": "billing", "topic": topic, "partition": partition}
    ends = {"log_start": 0, "high_watermark": end, "last_stable": end if stable is None else stable}
    return COMMITTED_OFFSETS.row(place | ends | {"committed": committed, "lag_records": lag})


def record(partition: int, offset: int, age: float, topic: str = "orders") -> Row:
    place = {"scope": "", "as_of": NOW, "group": "billing", "topic": topic, "partition": partition, "why": "committed"}
    return RECORDS.row(place | {"wanted": offset, "offset": offset, "at": NOW - timedelta(seconds=age)})


def two_looks() -> tuple[list[Row], list[Row]]:
    """More partitions than there is a budget for: all move and are far behind, but for the last, which stands at its only record."""
    busy = [(n, 1000 + n, 900_000) for n in range(MOST_COMMITS + 50)]
    before = [commit(n, at - 10, end, at=EARLIER) for n, at, end in busy] + [commit(999, 7, 8, at=EARLIER)]
    return before, [commit(n, at, end) for n, at, end in busy] + [commit(999, 7, 8)]


def test_what_stands_still_is_read_before_what_is_far_behind() -> None:
    before, now = two_looks()
    chosen = _oldest(now, Still([*before, *now]))
    assert (len(chosen), chosen[0]["partition"]) == (MOST_COMMITS, 999)
    said = _unlooked(now, {_want(row): row for row in chosen}, {})
    assert said == [f"the record at the commit was not read on 51 of {len(now)} partitions: --group, --topic narrow them"]


def test_what_small_groups_leave_of_the_budget_goes_to_the_others() -> None:
    rows = [commit(n, 10, 90) for n in range(40)]
    rows += [{**commit(0, 10, 90), "group": f"small-{n}"} for n in range(30)]
    assert len(_oldest(rows, Still(rows))) == len(rows)


def test_a_rule_is_not_clean_over_partitions_that_were_not_looked_into() -> None:
    rows = [commit(0, 10, 90), commit(1, 10, 90), commit(2, 90, 90, stable=40)]
    tables = {"committed_offsets": rows, "records": [record(0, 10, 60)]}
    found = {each.code: each.because for each in not_looked_at(["LAG102", "LAG305", "LAG106"], tables)}
    assert found == {
        "LAG102": "the open transaction was not looked at on 1 of 1 partitions",
        "LAG305": "the record at the commit was not read on 1 of 2 partitions",
    }
    whole = {"committed_offsets": rows[:2], "records": [record(0, 10, 60), record(1, 10, 60)]}
    assert not_looked_at(["LAG102", "LAG305"], whole) == []
    assert not_looked_at(["LAG102", "LAG305"], {"committed_offsets": rows}) == []  # records were not asked for: said elsewhere


def test_the_topic_with_the_oldest_unread_record_is_asked_for_its_retention_first() -> None:
    rows = [commit(0, 5, 9, topic="new"), commit(0, 5, 9, topic="old"), commit(0, 9, 9, topic="read")]
    assert topics_by_age(rows, [record(0, 5, 10, "new"), record(0, 5, 9000, "old")]) == ["old", "new", "read"]


def test_peek_alone_reads_the_record_at_each_commit_that_stands_still() -> None:
    moving = [commit(0, 5, 90, at=EARLIER), commit(0, 6, 95)]
    stuck = [commit(n, 40, 90, at=at) for n in (1, 2) for at in (EARLIER, NOW)]
    read = [commit(3, 90, 90, at=at) for at in (EARLIER, NOW)]
    tables = {"committed_offsets": moving + stuck + read, "records": [record(1, 40, 30), record(2, 40, 300)]}
    assert [(w.partition, w.from_offset, w.exact) for w in _stuck(Evidence(tables))] == [(2, 40, True), (1, 40, True)]


def test_that_half_of_a_group_may_be_hidden_is_said() -> None:
    members = GROUPS.row({"scope": "", "as_of": NOW, "group": "billing", "members": 0})
    answers = GroupAnswers(groups=[members], committed_offsets=[commit(0, 5, 9)])
    restricted, unrestricted = Sight("doctor", frozenset({8})), Sight("admin", frozenset({7, 8, 9}))
    (said,) = half_seen(restricted, answers)
    assert said.startswith("billing: commits of topics that User:doctor may not DESCRIBE are left out")
    assert half_seen(unrestricted, answers) == []
    assert half_seen(restricted, GroupAnswers(groups=[{**members, "members": 2}], committed_offsets=[commit(0, 5, 9)])) == []


def test_every_record_that_was_asked_for_is_shown(engine: Engine) -> None:
    def asked(partition: int, **more: object) -> Row:
        place = {"scope": "", "as_of": NOW, "topic": "orders", "partition": partition, "wanted": 7, "why": "suspect"}
        return RECORDS.row(place | more)

    read = asked(0, offset=7, value_bytes=12, decodes=["utf-8"])
    gone = asked(1, error="OFFSET_OUT_OF_RANGE: the log does not hold this offset (any more)")
    rules = [rule for rule in load_rules() if rule.code == "RST205"]
    report = judge({"records": [read, gone]}, engine.session, command="lag-report", version="test", rules=rules)
    assert [(f.subject["partition"], f.severity.value) for f in report.findings] == [(0, "info"), (1, "info")]
    assert "OFFSET_OUT_OF_RANGE" in report.findings[1].says
