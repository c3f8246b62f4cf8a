"""`diag watch` look by look: what opens, heals, is said once an hour, and is owed to receivers. No clock, no file, no network."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.comparison.sides import Side
from analyzers.report.finding import Finding, NotChecked, Severity
from analyzers.report.report import Report, Source, Verdict
from analyzers.watching import outbox
from analyzers.watching.sight import sight
from analyzers.watching.sightings import not_read
from analyzers.watching.state import MOST_ITEMS, MOST_WAITING, Message, NotAState, Receiver, State, restored, saved
from analyzers.watching.steps import QUIET_SECONDS, Policy, Step, step
from cli.renderers.alerts import remark
from cli.renderers.json import document
from tests.report_samples import JOB, finding, report

STATE = {"scope": "", "job": JOB, "name": "orders-totals", "state": "RUNNING", "loops": False, "kind": "flink", "failures": 0}
STATE |= {"last_checkpoint": None, "last_checkpoint_at": None, "first_failure_at": None, "last_failure_at": None}
CODES = ("BRK101", "CKP104", "RST101")
BROKER = finding(subject={"broker": 5}, severity=Severity.CRITICAL)
LOOP = finding("RST101", Severity.WARNING, subject={}, says="It restarts")
MINUTE = 60.0


def look(*findings: Finding, **values: Any) -> Side:
    judged = [code for code in CODES if code not in {each.code for each in findings}]
    made: Report = report(
        **{
            "findings": list(findings), "verdicts": [], "clean": judged, "job_state": [STATE], "job_names": {JOB: "orders-totals"},
            "log_roles": {"jobmanager": 1}, "not_checked": [], "defects": [], "sources": [], **values,
        }
    )  # fmt: skip
    return Side("look", document(made))


ILL, WELL = look(BROKER), look()
UNREAD_SOURCES = [Source("kafka-9", "kafka", "failed", "refused")]
UNREAD = look(sources=UNREAD_SOURCES)


class Played:
    """Looks a minute apart; after each the state goes through its document, as with ``--once``."""

    def __init__(self, policy: Policy = Policy()) -> None:  # noqa: B008  # frozen
        self.state, self.now, self.policy = State(drawn="d"), 1000.0, policy
        self.messages: list[tuple[float, Message]] = []
        self.looks = 0

    def at(self, look: int) -> str:
        """The time of a look of a minute apart each."""
        return f"2026-11-21T{9 + (30 + look) // 60:02d}:{(30 + look) % 60:02d}:00.000Z"

    def __call__(self, *looks: Side, apart: float = MINUTE) -> list[str]:
        return [f"{message.change} {message.finding['code']}" for each in looks for message in self.one(each, apart).messages]

    def one(self, each: Side, apart: float = MINUTE) -> Step:
        self.now += apart
        self.looks += 1
        done = step(self.state, each, now=self.now, at=self.at(self.looks), policy=self.policy)
        self.messages += [(self.now, message) for message in done.messages]
        self.state = restored(json.loads(json.dumps(saved(self.state, self.now))), self.now, 0.0)
        return done


def test_it_opens_with_the_second_look_and_heals_with_the_third_that_does_not_show_it() -> None:
    played = Played()
    assert played(ILL) == []
    assert played(ILL) == ["opened BRK101"]
    assert played(*[ILL] * 60) == []
    assert played(WELL, WELL) == []
    assert played(WELL) == ["healed BRK101"]
    assert played(*[WELL] * 60) == []
    assert played.state.items == []


def test_one_look_is_no_change_in_either_direction() -> None:
    played = Played()
    assert played(ILL, WELL, ILL, WELL, WELL) == []
    assert played(ILL, ILL) == ["opened BRK101"]
    assert played(*[ILL] * 60, WELL, WELL, ILL, WELL, WELL, ILL) == []


def test_how_many_looks_it_takes_can_be_chosen() -> None:
    played = Played(Policy(opens_after=1, heals_after=1, quiet_seconds=0))
    assert played(ILL, WELL, ILL) == ["opened BRK101", "healed BRK101", "opened BRK101"]


@pytest.mark.parametrize(
    ("unseen", "because"),
    [
        (UNREAD, "BRK101 (orders-totals) stays open, unseen in this look: kafka-9: refused"),
        (look(clean=["RST101"], not_checked=[NotChecked("BRK101", "no log was given")]), "did not judge it: no log was given"),
    ],
    ids=["unread", "not judged"],
)
def test_what_a_look_could_not_see_neither_heals_nor_opens(unseen: Side, because: str) -> None:
    played = Played()
    played(ILL, ILL)
    first = played.one(unseen)
    assert len(first.remarks) == 1
    assert because in first.remarks[0]
    assert played.one(unseen).remarks == []
    assert played(*[unseen] * 90) == []
    assert played(WELL, WELL) == []
    assert played(WELL) == ["healed BRK101"]


def test_a_look_that_saw_nothing_between_two_that_did_keeps_the_count() -> None:
    assert Played()(ILL, UNREAD, ILL) == ["opened BRK101"]


def test_of_one_finding_there_is_one_message_an_hour() -> None:
    played = Played()
    assert played(ILL, ILL) == ["opened BRK101"]
    assert played(*[WELL] * 59) == []
    assert played(WELL) == ["healed BRK101"]
    assert played(ILL, ILL, ILL) == []  # back within the hour of "healed"
    assert played(ILL, apart=QUIET_SECONDS) == ["opened BRK101"]


def test_what_healed_within_the_hour_is_said_at_its_end_with_the_true_times() -> None:
    played = Played()
    played(ILL, ILL, WELL, WELL, WELL)
    opened, closed = played.at(2), played.at(5)
    assert played(*[WELL] * 60) == ["healed BRK101"]
    healed = played.messages[-1][1]
    assert (healed.opened_at, healed.closed_at, healed.at) == (opened, closed, played.at(62))
    assert "it healed at 09:35Z, 3 min after it opened; sent 57 min later (--repeat-after)" in remark(healed)


def test_a_relapse_within_the_hour_is_said_at_its_end() -> None:
    played = Played()
    played(ILL, ILL)
    assert played(WELL, WELL, WELL, WELL, ILL, ILL, *[ILL] * 53) == []
    assert played(ILL) == ["reopened BRK101"]
    again = played.messages[-1][1]
    assert (again.closed_at, again.reopened_at, again.lapses) == (played.at(5), played.at(8), 1)
    assert remark(again) == "it came back once since the last message; gone at 09:35Z, back at 09:38Z"
    assert played(*[ILL] * 200) == []
    assert played(WELL, WELL, WELL) == ["healed BRK101"]


def test_a_relapse_that_healed_as_well_is_one_message_that_it_healed() -> None:
    played = Played()
    played(ILL, ILL, WELL, WELL, WELL, ILL, ILL, WELL, WELL, WELL)
    assert played(*[WELL] * 90) == ["healed BRK101"]
    healed = played.messages[-1][1]
    assert (healed.opened_at, healed.closed_at) == (played.at(2), played.at(10))
    assert "it came back once since the last message" in remark(healed)


def test_what_is_back_within_the_hour_of_healed_is_said_with_the_time_it_opened() -> None:
    played = Played(Policy(quiet_seconds=600.0))
    played(ILL, ILL, *[ILL] * 10, WELL, WELL, WELL)
    assert played(ILL, ILL, *[ILL] * 10) == ["opened BRK101"]
    assert remark(played.messages[-1][1]) == "open since 09:47Z, sent late (--repeat-after)"


def test_it_gets_worse_when_it_is_graver_or_of_more_things_in_two_looks() -> None:
    for graver in (look(finding(subject={"broker": 5})), look(finding(subject={"broker": [5, 6]}, severity=Severity.WARNING))):
        played = Played()
        before = look(finding(subject={"broker": 5}, severity=Severity.WARNING))
        assert played(before, before) == ["opened BRK101"]
        assert played(*[before] * 60, graver, before, graver) == []
        assert played(graver) == ["worse BRK101"]
        assert played(*[graver] * 90) == []


def test_what_was_said_is_what_it_is_worse_than() -> None:
    played = Played()
    low = look(finding(subject={"broker": 5}, severity=Severity.WARNING))
    assert played(ILL, ILL, *[low] * 70, *[ILL] * 70) == ["opened BRK101"]


def test_what_is_over_opens_nothing_and_heals() -> None:
    over = look(finding(subject={"broker": 5}, passed=True))
    assert Played()(*[over] * 5) == []
    played = Played()
    played(ILL, ILL)
    assert played(*[ILL] * 60, over, over, over) == ["healed BRK101"]
    assert played.messages[-1][1].was == "it is over"


def test_less_severe_than_what_is_asked_for_opens_nothing_and_heals() -> None:
    slight = look(finding(subject={"broker": 5}, severity=Severity.INFO))
    assert Played()(*[slight] * 5) == []
    assert Played(Policy(least=Severity.INFO))(*[slight] * 5) == ["opened BRK101"]
    assert Played(Policy(least=Severity.CRITICAL))(*[look(LOOP)] * 5) == []
    assert Played()(ILL, ILL, *[ILL] * 60, slight, slight, slight) == ["opened BRK101", "healed BRK101"]


def test_what_a_verdict_explains_is_no_message_of_its_own() -> None:
    root = Verdict(
        cause="broker-unreachable", reason=BROKER.reason, code="BRK101", job=JOB, since=None, trigger=None, subject={}, says="", fix="",
        confidence=1.0, chain=("BRK101", "RST101"), timeline=(),
    )  # fmt: skip
    both = look(BROKER, LOOP, verdicts=[root])
    played = Played()
    assert played(*[both] * 3) == ["opened BRK101"]
    assert played(look(LOOP), look(LOOP)) == ["opened RST101"]


def test_of_two_findings_one_heals_and_the_message_names_what_the_job_still_has() -> None:
    played = Played()
    assert played(*[look(BROKER, LOOP)] * 2) == ["opened BRK101", "opened RST101"]
    assert played(*[look(BROKER, LOOP)] * 60, *[look(LOOP)] * 3) == ["healed BRK101"]
    assert played.messages[-1][1].still == ("RST101",)


def test_ids_attempts_and_times_make_no_new_finding() -> None:
    again = look(finding(subject={"broker": 5, "attempt": 7}, job="0" * 32), job_state=[{**STATE, "job": "0" * 32}])
    assert Played()(ILL, again, ILL, again) == ["opened BRK101"]


def crowd(number: int, start: int = 0) -> list[Finding]:
    return [finding("CKP104", subject={"partition": each}) for each in range(start, start + number)]


def test_there_is_room_for_so_many_and_what_is_left_out_is_said_once() -> None:
    played = Played()
    full = look(*crowd(MOST_ITEMS + 3))
    assert played.one(full).remarks == ["500 findings are remembered, and there is no room for 3 more: these are not reported"]
    assert len(played.state.items) == MOST_ITEMS
    assert played.one(full).remarks == []


def test_what_was_seen_once_and_can_be_seen_no_more_makes_room() -> None:
    played = Played()
    played(look(*crowd(MOST_ITEMS)), UNREAD)
    assert played.one(look(*crowd(2, start=MOST_ITEMS), sources=UNREAD_SOURCES)).remarks == []
    assert len(played.state.items) == MOST_ITEMS
    assert played(look(*crowd(2, start=MOST_ITEMS), sources=UNREAD_SOURCES)) == ["opened CKP104"] * 2


# ---- messages on their way --------------------------------------------------------------------------------------------------------


def messages(number: int) -> list[Message]:
    return [
        Message(f"d-{each}", "opened", "k", "2026-11-21T09:30:00Z", document(report(findings=[BROKER]))["findings"][0], {})
        for each in range(number)
    ]


def test_where_there_is_no_room_the_oldest_are_dropped_and_counted() -> None:
    state = State()
    outbox.put(state, ["hook"], messages(MOST_WAITING + 5))
    to = state.receivers["hook"]
    assert (len(to.waiting), to.dropped) == (MOST_WAITING, 5)
    assert to.waiting[0].id == "d-5"
    outbox.delivered(to, outbox.due(to, 0.0), to.dropped)
    assert (len(to.waiting), to.dropped) == (MOST_WAITING - outbox.AT_ONCE, 0)
    assert outbox.leave(state, []) == MOST_WAITING - outbox.AT_ONCE


def test_pauses_double_up_to_ten_minutes_and_are_partly_drawn() -> None:
    to = Receiver(messages(1))
    seconds = [outbox.failed(to, 0.0, lambda: 1.0) for _ in range(12)]
    assert seconds == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600]
    assert outbox.pause(3, lambda: 0.0) == 10
    assert outbox.due(to, 599.0) == []
    assert outbox.due(to, 600.0) == to.waiting
    assert outbox.failed(to, 0.0, lambda: 0.0, at_least=900) == 900


@pytest.mark.parametrize(
    ("away", "left"), [(0.0, 3600 - 60), (-1e9, 3600 - 60), (600.0, 3600 - 660), (1e9, 0.0)], ids=["at once", "set back", "later", "ahead"]
)
def test_a_restart_knows_how_much_of_the_hour_is_over_whatever_the_clock_does(away: float, left: float) -> None:
    played = Played()
    played(ILL, ILL)
    back = restored(saved(played.state, played.now + 60), 5.0, away)
    (item,) = back.items
    assert item.quiet_since is not None
    assert max(QUIET_SECONDS - (5.0 - item.quiet_since), 0.0) == pytest.approx(left)


def _damaged() -> list[Any]:
    played = Played()
    played(ILL, ILL)
    outbox.put(played.state, ["hook"], messages(2))
    good = saved(played.state, played.now)

    def without(key: str) -> dict[str, Any]:
        return {name: value for name, value in good.items() if name != key}

    item = good["items"][0]
    return [
        None, [], "", {}, {**good, "format": 2}, {**good, "command": "triage"}, *(without(key) for key in ("items", "receivers", "number")),
        {**good, "items": [{}]}, {**good, "items": [None]}, {**good, "items": [{**item, "seen": -1}]},
        {**good, "items": [{**item, "document": {**item["document"], "severity": "bad"}}]},
        {**good, "items": [{**item, "labels": {"a": 1}}]},
        {**good, "items": [{**item, "quiet_since": "nan"}]}, {**good, "receivers": {"hook": {}}}, {**good, "number": True},
        {**good, "receivers": {"hook": {"waiting": [{"id": 1}], "failures": 0, "not_before": None, "dropped": 0}}},
    ]  # fmt: skip


@pytest.mark.parametrize("said", _damaged())
def test_a_document_that_is_no_state_is_refused(said: Any) -> None:
    with pytest.raises(NotAState):
        restored(said, 0.0, 0.0)


# ---- anything that may happen -----------------------------------------------------------------------------------------------------

KINDS = {
    "none": WELL,
    "broker": ILL,
    "more": look(finding(subject={"broker": [5, 6]})),
    "low": look(finding(subject={"broker": 5}, severity=Severity.WARNING)),
    "loop": look(LOOP),
    "both": look(BROKER, LOOP),
    "over": look(finding(subject={"broker": 5}, passed=True)),
    "unread": UNREAD,
}


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.floats(1, 2000), st.booleans(), st.floats(-5000, 5000)), max_size=60),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_never_two_an_hour_never_healed_unopened_and_each_is_delivered_or_counted(
    events: list[tuple[str, float, bool, float]], opens: int, heals: int
) -> None:
    policy, now = Policy(opens_after=opens, heals_after=heals), 0.0
    state = State(drawn="d")
    last: dict[str, float] = {}
    made: list[Message] = []
    got: list[Message] = []
    dropped = 0
    said: dict[str, bool] = defaultdict(bool)
    for kind, apart, answers, jump in events:
        now += apart
        done = step(state, KINDS[kind], now=now, at="2026-11-21T09:30:00.000Z", policy=policy)
        many = [replace(each, id=f"{each.id}-{number}") for each in done.messages for number in range(60)]  # an outbox that is soon full
        outbox.put(state, ["hook"], many)
        for message in done.messages:
            assert now - last.get(message.key, -1e9) >= QUIET_SECONDS
            last[message.key] = now
            assert said[message.key] is (message.change != "opened")
            said[message.key] = message.change != "healed"
            assert kind != "unread"
        made += many
        to = state.receivers["hook"]
        if answers:
            while batch := outbox.due(to, now):
                dropped += to.dropped
                got += batch
                outbox.delivered(to, batch, to.dropped)
        elif outbox.due(to, now):
            outbox.failed(to, now, lambda: 0.5)
        # killed and started again, with a clock that may have been set
        state = restored(json.loads(json.dumps(saved(state, now))), now, min(jump, 0.0))
    waiting = [] if "hook" not in state.receivers else state.receivers["hook"].waiting
    dropped += 0 if "hook" not in state.receivers else state.receivers["hook"].dropped
    assert len(made) == len(got) + len(waiting) + dropped
    ids = [message.id for message in [*got, *waiting]]
    assert ids == [message.id for message in made if message.id in set(ids)], "in order, each once"


# ---- the watch's own sight --------------------------------------------------------------------------------------------------------


class Seeing:
    """Looks a minute apart, of which only the sight of the watch is of interest; between any two the state goes through its document."""

    def __init__(self) -> None:
        self.state, self.now, self.lines = State(drawn="d"), 1000.0, datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)
        self.messages: list[Message] = []
        self.count = 100

    def __call__(self, *kinds: str, blind: str | None = None) -> list[str]:
        """``grows``: with new lines; ``behind``: new ones, older than the newest; ``still``: without; ``none``: no log was read."""
        before = len(self.messages)
        for kind in kinds:
            self.now += MINUTE
            self.lines += timedelta(minutes=kind == "grows")
            self.count += kind in ("grows", "behind")
            newest = None if kind == "none" else self.lines
            self.messages += sight(
                self.state, blind, newest, self.count, now=self.now, at=f"{self.lines:%Y-%m-%dT%H:%M:%S}.000Z", policy=Policy()
            )
            self.state = restored(json.loads(json.dumps(saved(self.state, self.now))), self.now, 0.0)
        return [each.change for each in self.messages[before:]]


def test_logs_that_grew_and_are_silent_for_a_quarter_of_an_hour_are_one_message() -> None:
    seeing = Seeing()
    assert seeing(*["grows"] * 4, *["still"] * 14) == []
    assert seeing("still") == ["stale"]
    says = seeing.messages[0].finding["says"]
    assert says == "No new line for 15 min in the logs that are watched; the newest line is of 2026-11-21 09:34:00 UTC."
    assert seeing(*["still"] * 300) == []
    assert seeing(*["grows"] * 3) == ["healed"]
    assert seeing.messages[0].key == seeing.messages[1].key
    assert seeing(*["grows"] * 60) == []
    assert seeing.state.sight == []


def test_a_log_whose_clock_is_behind_another_ones_is_no_silence() -> None:
    assert Seeing()(*["grows"] * 4, *["behind"] * 100) == []


def test_a_recording_and_a_log_that_is_seldom_written_are_not_stale() -> None:
    assert Seeing()(*["still"] * 300) == []
    assert Seeing()("grows", "grows", *["still"] * 300) == [], "read once more, it may have been copied"
    assert Seeing()(*["grows", *["still"] * 59] * 20) == [], "a line an hour"


def test_looks_that_do_not_see_all_are_one_message_after_as_many_as_open_a_finding() -> None:
    seeing = Seeing()
    assert seeing("none", blind="logs: no such directory") == []
    assert seeing("none", blind="logs: no such directory") == ["blind"]
    assert "logs: no such directory" in seeing.messages[0].finding["says"]
    assert seeing(*["none"] * 90, blind="logs: no such directory") == []
    assert seeing("grows", "grows") == []
    assert seeing("grows") == ["healed"]


def test_one_look_that_does_not_see_all_is_no_message() -> None:
    seeing = Seeing()
    for _ in range(5):
        assert seeing("none", blind="refused") + seeing("grows") == []


def test_what_a_source_that_was_not_read_is_called() -> None:
    why = "the bootstrap server cannot be asked: kafka:9092 refused (Connection refused). `diag broker-health` shows each of them."
    side = look(sources=[Source("groups of kafka:9092", "kafka", "failed", why), Source("topics", "kafka", "failed", why)])
    assert not_read(side) == "kafka:9092 refused the connection (and 1 more)"
    assert not_read(UNREAD) == "kafka-9: refused"
    assert not_read(WELL) is None
