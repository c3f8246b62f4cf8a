"""Advice fits the engine and the client: what a page may say is derived from `terms.toml`, what is said from what the process printed."""

from __future__ import annotations

import re
from functools import cache

import pytest

from analyzers import runbooks
from analyzers.causal.asks import all_steps
from analyzers.causal.repairs import MEMORY, REPAIRS
from analyzers.components.programs import UNKNOWN, Program, of_table, own_names, program_names, program_of, running, signs_in, together
from analyzers.components.terms import in_words_of, may_name, owners_in, term_owners, unknown_to
from analyzers.diagnosis.account import _GIVES_UP, _advised, _without_general
from analyzers.diagnosis.circumstances import Circumstances
from analyzers.report.advice import Line, fitting, held_steps, in_one, line_of, steps_of
from analyzers.report.finding import Finding, Severity
from analyzers.report.report import Verdict
from analyzers.tables import TABLES

_FIELD = re.compile(r"\{\w+\}")
ALONE = ("flink", "spark", "connect", "streams", "broker", *sorted(name for name in program_names() if own_names(name) == {name}))
PROGRAMS = {name: Program(own_names(name)) for name in (*ALONE, "java", "spring")} | {"unknown": UNKNOWN}
COMMON = Circumstances(3, restores=True, checkpoint=7).steps("enrich")


@cache
def pages() -> list[tuple[str, str, tuple[str, ...], tuple[Line, ...]]]:
    """Code, reason, engines that the page names for it, and its lines."""
    found = []
    for code in runbooks.codes():
        engines = runbooks.engines_by_reason(code)
        for reason, lines in runbooks.advice_by_reason(runbooks.sections(runbooks.page(code))["Fix"]).items():
            found.append((code, reason, engines.get(reason, engines.get("", ())), lines))
    return found


def undeclared(line: Line, engines: tuple[str, ...] = ()) -> list[str]:
    """Terms of a line that not every program knows for which it is said to hold."""
    holds = frozenset(each.name for each in line.holds)
    known = [holds] if holds else [frozenset({engine}) for engine in engines]
    return [term for term, owners in owners_in(_FIELD.sub("", line.text)) if not any(may_name(owners, each) for each in known)]


def test_a_step_that_names_what_some_programs_know_says_for_whom_it_holds() -> None:
    elsewhere = [*(step for repair in REPAIRS.values() for step in repair.steps), *all_steps(), *COMMON]
    wrong = {
        f"{code} {reason} {line.number}": found
        for code, reason, engines, lines in pages()
        for line in lines
        if (found := undeclared(line, engines))
    }
    assert wrong == {}
    assert {step: undeclared(line_of(step)) for step in elsewhere if undeclared(line_of(step))} == {}
    assert [setting for engine, setting in MEMORY.values() if not may_name(next(owners_in(setting))[1], frozenset({engine}))] == []


@pytest.mark.parametrize(
    "step",
    [
        "Raise max.poll.records.",
        "*kafkajs:* Raise max.poll.interval.ms.",
        "*flink, connect:* Take a savepoint.",
        "Set spark.executor.memory.",
    ],
)
def test_a_step_that_does_not_is_found(step: str) -> None:
    assert undeclared(line_of(step))


def test_lines_and_terms_name_programs_that_there_are() -> None:
    named = {(code, each.name) for code, _, engines, lines in pages() for line in lines for each in line.holds}
    named |= {(code, engine) for code, _, engines, _ in pages() for engine in engines}
    assert {name for _, name in named} <= program_names()
    assert term_owners() <= program_names()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_told_something_and_nothing_foreign(name: str) -> None:
    """Of each page and reason; where the rule finds it in one engine only, that engine."""
    foreign, silent = [], []
    for code, reason, engines, lines in pages():
        program = running(engines) if engines else PROGRAMS[name]
        plain = [Line(line.number, _FIELD.sub("", line.text.replace("[[", "").replace("]]", "")), line.holds) for line in lines]
        held = fitting(plain, program)
        foreign += [(code, reason, line.text, terms) for line in held if (terms := unknown_to(program, line.text))]
        silent += [] if steps_of(held) else [(code, reason)]
        assert len(steps_of(held)) <= 3
    assert (foreign, silent) == ([], [])


def test_who_is_too_slow_is_told_in_the_words_of_its_client() -> None:
    lines = runbooks.advice_by_reason(runbooks.sections(runbooks.page("LAG402"))["Fix"])[""]
    told = {name: " ".join(steps_of(fitting(lines, program))) for name, program in PROGRAMS.items()}
    wanted = {
        "java": "max.poll.records", "spring": "max.poll.records", "connect": "consumer.override.max.poll.interval.ms",
        "librdkafka": "max.poll.interval.ms", "kafkajs": "sessionTimeout", "sarama": "Consumer.Group.Rebalance.Timeout",
        "franz-go": "BlockRebalanceOnPoll", "aiokafka": "max_poll_interval_ms", "kafka-python": "max_poll_records",
        "kafka-go": "SessionTimeout", "ruby-kafka": "session_timeout",
    }  # fmt: skip
    assert {name: words for name, words in wanted.items() if words not in told[name]} == {}
    assert "max.poll" not in told["kafkajs"] + told["sarama"] + told["franz-go"] + told["unknown"]


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["INFO org.apache.flink.runtime.taskmanager.Task [] - x", "[Consumer clientId=a, groupId=g] y"], "flink java jvm"),
        (["26/02/01 20:00:27 INFO JobScheduler: Total delay: 27.000 s"], "spark java jvm"),
        (["[orders-sink|task-0] WorkerSinkTask{id=orders-sink-0} x", "io.debezium.pipeline.ErrorHandler"], "connect debezium java jvm"),
        (["stream-thread [app-1-StreamThread-1] Processed 0 total records"], "streams java jvm"),
        (["o.s.k.l.KafkaMessageListenerContainer  : Fatal", "[Consumer clientId=c, groupId=g] Offset commit failed"], "spring java jvm"),
        (["%4|1768950900.201|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval"], "librdkafka"),
        (["cimpl.KafkaException: KafkaError{code=_MAX_POLL_EXCEEDED,val=-147}"], "librdkafka"),
        (['{"level":"ERROR","logger":"kafkajs","message":"[Connection] Response Heartbeat(key: 12, version: 3)"}'], "kafkajs"),
        (["[sarama] consumer/broker/2 abandoned subscription", "kafka server: Rebalance in progress"], "sarama"),
        (["heartbeat errored; group: billing-import, err: REBALANCE_IN_PROGRESS"], "franz-go"),
        (["[33] Unsupported SASL Mechanism: the broker does not support it"], "kafka-go"),
        (["ERROR aiokafka.consumer.group_coordinator Heartbeat failed: local member_id was not recognized"], "aiokafka"),
        (['File "/site-packages/kafka/coordinator/consumer.py", line 5', "WARNING kafka.coordinator Heartbeat"], "kafka-python"),
        (["Error sending heartbeat: Kafka::UnknownMemberId"], "ruby-kafka"),
        (["json.decoder.JSONDecodeError: Expecting ',' delimiter"], ""),
    ],
)  # fmt: skip
def test_what_a_process_prints_shows_what_it_runs(texts: list[str], names: str) -> None:
    shown: dict[str, int] = {}
    for text in texts:
        for name in signs_in(text):
            shown[name] = shown.get(name, 0) + 1
    assert program_of(shown).names == set(names.split())


def test_processes_are_one_program_as_far_as_they_agree() -> None:
    flink, connect = Program(own_names("flink"), {"flink": "1.18.1"}), Program(own_names("connect"))
    assert together([flink, UNKNOWN]) == flink
    assert together([flink, connect]).names == {"java", "jvm"}
    assert together([flink, Program(frozenset({"kafkajs"}))]).names == {"flink", "jvm"}
    assert {of_table(name) for name in TABLES} == {None, "flink", "spark", "connect", "librdkafka"}


def test_a_version_decides_only_where_it_is_known() -> None:
    lines = [
        line_of("1. *flink >= 1.18:* Raise pekko."),
        line_of("1. *flink < 1.18:* Raise akka."),
        line_of("1. *flink:* Raise akka or pekko."),
        line_of("1. Raise it."),
    ]
    program = {version: Program(own_names("flink"), {"flink": version} if version else {}) for version in ("1.18.1", "1.17.2", "2.0", None)}
    told = {version: steps_of(fitting(lines, each)) for version, each in program.items()}
    assert told == {"1.18.1": ("Raise pekko.",), "1.17.2": ("Raise akka.",), "2.0": ("Raise pekko.",), None: ("Raise akka or pekko.",)}
    assert steps_of(fitting(lines, UNKNOWN)) == ("Raise it.",)


def test_lines_of_one_number_are_alternatives_and_what_else_to_know_follows() -> None:
    lines = [line_of("1. A."), line_of("1. *connect:* B."), line_of("2. C: max.request.size."), line_of("*flink:* D."), line_of("E.")]
    assert in_one(fitting(lines, PROGRAMS["connect"])) == "1. B. 2. C: producer.override.max.request.size. E."
    assert in_one(fitting(lines, PROGRAMS["flink"])) == "1. A. 2. C: max.request.size. D. E."
    assert held_steps(("First.", "*spark:* Second."), PROGRAMS["kafkajs"]) == ("First.",)
    assert in_words_of(PROGRAMS["kafkajs"], "Set max.poll.interval.ms.") is None
    said = {name: in_words_of(PROGRAMS[name], "Correct bootstrap.servers.") for name in ("unknown", "kafkajs", "aiokafka")}
    assert list(said.values()) == ["Correct bootstrap.servers.", "Correct bootstrap servers.", "Correct bootstrap_servers."]


def verdict(*steps: str) -> Verdict:
    return Verdict("offset-reset", None, "LAG307", "job", None, None, {}, "", "", 1.0, (), (), steps=steps)


def test_what_gives_up_state_comes_after_what_looks_for_it() -> None:
    first, second = _advised(verdict("See what is still there."), ["Please perform a new snapshot."]).steps
    assert (first, second) == ("See what is still there.", "“Please perform a new snapshot.” (the product's own words)")
    assert _advised(verdict("See what is there."), ["Increase the timeout of the lock."]).steps[0].startswith("“Increase")
    assert not _GIVES_UP.search("Restore from the latest savepoint")


def test_the_restored_state_is_not_blamed_for_what_lies_outside_of_it() -> None:
    (step,) = held_steps(COMMON, PROGRAMS["flink"])
    assert step.index("another checkpoint") < step.index("without that operator's state")
    assert Circumstances(3, restores=True).steps("enrich", in_state=False) == []
    assert held_steps(COMMON, PROGRAMS["spark"]) == ()


def test_a_general_step_gives_way_to_what_is_known_of_this_case() -> None:
    general = line_of("1. *general:* Repair what the exception names.")
    finding = Finding(
        "RST001", "other", None, "failure", Severity.CRITICAL, 1.0, "job", {}, None, None, "", None, "", (), "RST001.md",
        steps=(general.text,), advice=(general,),
    )  # fmt: skip
    assert _without_general(verdict(general.text), finding).steps == (general.text,)
    assert _without_general(verdict("Take host-1 out of service.", general.text), finding).steps == ("Take host-1 out of service.",)
