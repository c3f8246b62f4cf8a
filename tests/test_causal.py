"""What explains what: links between effects, joined by entities and time, whatever order the evidence comes in."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.causal.explain import explained, in_time, join
from analyzers.causal.links import LINKS, Link
from analyzers.causal.observation import Entity, Observation
from analyzers.causal.repairs import REPAIRS
from analyzers.causal.stack import waits_in
from analyzers.causal.troubles import effect_of_words
from analyzers.causal.words import said_by
from analyzers.report.effects import EFFECTS, OF_CAUSE
from analyzers.report.finding import CAUSES
from analyzers.tables import LOG_EVENTS

T0 = datetime(2026, 3, 1, 4, 0, tzinfo=timezone.utc)


def seen(effect: str, *where: Entity, minute: float | None = 0, lasted: float = 0, words: str = "") -> Observation:
    first = None if minute is None else T0 + timedelta(minutes=minute)
    last = None if minute is None else T0 + timedelta(minutes=minute + lasted)
    return Observation(effect, frozenset(where), first, last, words=words)


def test_the_vocabulary_is_closed() -> None:
    named = {name for link in LINKS for name in (link.cause, link.effect)} | set(REPAIRS) | set(OF_CAUSE.values())
    assert named <= set(EFFECTS)
    assert set(OF_CAUSE) == set(CAUSES)
    assert {link.cause for link in LINKS if link.proof == "proves"} <= set(REPAIRS), "what is proven has steps of its own"


def test_memory_that_is_exhausted_in_the_same_worker_explains_its_loss() -> None:
    lost = seen("worker-gone", ("worker", "tm-3"), minute=2)
    own, other = (seen("memory-exhausted", ("worker", name), minute=1) for name in ("tm-3", "tm-4"))
    found = explained(lost, [other, own])
    assert found is not None
    assert found.by is own


def test_another_workers_memory_explains_nothing() -> None:
    lost = seen("worker-gone", ("worker", "tm-3"), minute=2)
    assert explained(lost, [seen("memory-exhausted", ("worker", "tm-4"), minute=1)]) is None


def test_what_began_after_the_effect_was_over_or_ended_long_before_it_explains_nothing() -> None:
    lost = seen("worker-gone", ("worker", "tm-3"), minute=60)
    for minute in (10, 75):
        assert explained(lost, [seen("memory-exhausted", ("worker", "tm-3"), minute=minute)]) is None
    assert explained(lost, [seen("memory-exhausted", ("worker", "tm-3"), minute=55)]) is not None


def test_a_scope_joins_more_weakly_than_an_entity() -> None:
    link = Link("memory-exhausted", "worker-gone", "worker")
    named, unnamed = seen("worker-gone", ("worker", "tm-3")), seen("worker-gone")
    own = seen("memory-exhausted", ("worker", "tm-3"))
    assert join(link, own, named) > join(link, own, unnamed) > 0
    assert join(Link("memory-exhausted", "worker-gone", "worker", alone=False), own, unnamed) == 0


def test_undated_lines_are_not_out_of_time() -> None:
    assert in_time(seen("memory-exhausted", minute=None), seen("worker-gone"), timedelta(minutes=1))


_EFFECTS = st.sampled_from(sorted({link.cause for link in LINKS}))
_WORKERS = st.sampled_from([("worker", "a"), ("worker", "b"), ("host", "h"), ("group", "g")])
_TROUBLES = st.lists(
    st.builds(
        lambda effect, where, minute: seen(effect, where, minute=minute, words=f"{effect} {minute}"), _EFFECTS, _WORKERS, st.integers(0, 90)
    ),
    max_size=8,
    unique=True,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # cores are shared
@given(_TROUBLES, st.randoms(), st.integers(0, 90))
def test_the_order_of_the_evidence_does_not_matter(troubles: list[Observation], random: object, minute: int) -> None:
    lost = seen("worker-gone", ("worker", "a"), minute=minute)
    shuffled = list(troubles)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    one, other = explained(lost, troubles), explained(lost, shuffled)
    assert (one and (one.belief, one.by.first)) == (other and (other.belief, other.by.first))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_TROUBLES, st.integers(0, 90))
def test_a_healthy_neighbour_changes_nothing(troubles: list[Observation], minute: int) -> None:
    lost = seen("worker-gone", ("worker", "a"), minute=minute)
    before = explained(lost, troubles)
    after = explained(lost, [*troubles, seen("progress-held", ("worker", "a"), minute=minute)])
    assert (before and before.by) == (after and after.by)


def event(text: str, **columns: object) -> dict[str, object]:
    return LOG_EVENTS.row({"scope": "", "text": text, "line": 10, "file": "taskmanager.log", **columns})


STUCK = """Task 'lookup (2/4)#0' did not react to cancelling signal - interrupting; it is stuck for 30 seconds in method:
 java.base/sun.nio.ch.Net.poll(Native Method)
 org.mariadb.jdbc.client.socket.impl.PacketReader.readPacket(PacketReader.java:90)
 org.mariadb.jdbc.client.impl.StandardClient.execute(StandardClient.java:480)
 org.mariadb.jdbc.ClientPreparedStatement.executeQuery(ClientPreparedStatement.java:12)
 com.shop.CustomerLookup.map(CustomerLookup.java:77)
 org.apache.flink.streaming.api.operators.StreamMap.processElement(StreamMap.java:38)
"""


def test_a_thread_waits_in_the_call_with_which_its_owner_went_into_the_client() -> None:
    waiting = waits_in(STUCK)
    assert waiting is not None
    assert waiting.call == "org.mariadb.jdbc.ClientPreparedStatement.executeQuery(ClientPreparedStatement.java:12)"
    assert waiting.own == "com.shop.CustomerLookup.map(CustomerLookup.java:77)"
    assert said_by(event(STUCK, signature="task-stuck-cancelling")).words.startswith("blocked in a call of MariaDB, org.mariadb.jdbc")


def test_a_sentence_with_a_word_in_brackets_is_no_stack() -> None:
    assert waits_in("retry of com.shop.Client.send(request) failed") is None


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        (
            ["java.lang.RuntimeException: cannot open sink", "com.acme.LabelException: label a_1 was used already"],
            "label a_1 was used already",
        ),
        (["java.io.IOException: Call to nn-2:8020 failed", "java.net.ConnectException: Connection refused"], "Connection refused"),
        (["java.io.IOException: cannot write part 7", "java.lang.NullPointerException"], "cannot write part 7"),
    ],
)
def test_the_deepest_message_that_says_something_is_quoted(chain: list[str], words: str) -> None:
    assert said_by(event("", chain=chain)).words == words


def test_the_lines_below_a_message_belong_to_it() -> None:
    text = (
        "2026-03-01 04:00:00,000 ERROR x [] - Producer failure\n"
        'org.postgresql.util.PSQLException: ERROR: slot "s" is gone\n  Detail: It exceeded the maximum reserved size.\n'
        "\tat org.postgresql.core.v3.QueryExecutorImpl.receiveErrorResponse(QueryExecutorImpl.java:27)\n"
    )
    said = said_by(event(text, chain=['org.postgresql.util.PSQLException: ERROR: slot "s" is gone']))
    assert (said.words, said.line) == ('ERROR: slot "s" is gone Detail: It exceeded the maximum reserved size.', 11)


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", "memory-exhausted"),
        ("java.io.IOException: No space left on device", "disk-full"),
        ("java.net.UnknownHostException: db-2.internal", "name-unresolved"),
        ("dial tcp: lookup kafka-3 on 10.0.0.2:53: no such host", "name-unresolved"),
        ("ModuleNotFoundError: No module named 'orjson'", "program-fails"),
        ("Executing <Task pending name='render'> took 67.123 seconds", "work-slow"),
        ("request took 12 ms", None),
        ("Connection to node 3 was lost", None),
    ],
)
def test_words_state_an_effect(text: str, effect: str | None) -> None:
    assert effect_of_words(text) == effect
