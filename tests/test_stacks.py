"""Stacks of Go, Python, .NET and gdb: what is read of them, and what is left to the log."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from analyzers.derived.flow.rings import rings
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.states.recognise import states_of
from analyzers.tables import STACK_SAMPLES

FIXTURES = Path(__file__).parent.parent / "fixtures"
BUNDLES = sorted(path for path in (FIXTURES / "LAG509").glob("*/raw/*.*") if path.suffix != ".log")
RULE = FIXTURES / "LAG509"


def rows(text: str) -> list[dict[str, object]]:
    return [row for state in states_of(text.encode()).states for row in state.rows.get("stack_samples", ())]


def raw(name: str) -> str:
    return next(path for path in (RULE / name / "raw").iterdir() if path.suffix != ".log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "thread", "waits", "user_line", "loop"),
    [
        ("fires-go-consumer-sends", "goroutine 34", "send", "ingest.(*Consumer).ConsumeClaim(consumer.go:52)", "consumer"),
        ("fires-go-permit", "goroutine 33", "permit", "main.(*relay).consumeLoop(consume.go:71)", "consumer"),
        ("fires-go-mutex", "goroutine 71", "lock", "main.(*cache).Put(cache.go:40)", None),
        ("fires-python-call", "MainThread", "socket", "ask(scoring/risk.py:31)", None),
        ("fires-python-native", "MainThread", "native", "save(scoring/store.py:44)", None),
        ("fires-python-event-loop", "MainThread", "socket", "push(notify/send.py:27)", "event-loop"),
        ("fires-dotnet-result", "thread 0x1f", "future", "RiskClient.Ask(RiskClient.cs:41)", "consumer"),
        ("fires-native-call", "consume-loop", "socket", "scoring::RiskClient::ask(risk_client.cpp:41)", "consumer"),
    ],
)
def test_what_a_stack_waits_for(name: str, thread: str, waits: str, user_line: str, loop: str | None) -> None:
    found = next(row for row in rows(raw(name)) if row["thread"] == thread)
    assert (found["waits"], found["user_line"], found["loop"]) == (waits, user_line, loop)


def test_counted_goroutines_have_their_number() -> None:
    found = {row["thread"]: row["alike"] for row in rows(raw("quiet-go-counted"))}
    assert found["12 goroutines"] == 12


def closed(text: str) -> list[tuple[str, int, int | None]]:
    """Reason, threads in it and threads behind it of each ring."""
    dump = {(str(row["thread"]), row["thread_id"]): {**STACK_SAMPLES.row(row), "moment": 1} for row in rows(text)}
    return [(each["reason"], len(each["threads"]), each["behind"]) for each in rings({1: dump})]


def test_a_queue_of_the_log_closes_a_ring() -> None:
    text = raw("fires-log-ring")
    assert closed(text) == [("log-ring", 2, 1)]
    at_work = text.replace(
        "at com.tidewise.audit.AuditStore.append(AuditStore.java:58)\n\t- waiting to lock <0x00000000e1a2b3c8>", "at x.y.Z.go(Z.java:1)", 1
    )
    assert closed(at_work.replace("BLOCKED (on object monitor)", "RUNNABLE", 1)) == [], "who empties the queue is slow, not caught"
    worker = text.index('"AsyncAppender-Worker')
    one = text[worker : text.index('"gauge-consumer-1"')]
    assert closed(text + one.replace("AUDIT_ASYNC", "OTHER").replace("tid=0x00007f21d0451a20", "tid=0x00007f21d0451a99")) == [], (
        "whose queue?"
    )


def test_a_panic_is_no_dump() -> None:
    log = raw("fires-go-mutex").replace("goroutine profile: total 2\n", "panic: send on closed channel\n\n")
    assert rows(log) == []


def test_a_pool_of_http_that_answers_requests_is_no_wait() -> None:
    assert {row["loop"] for row in rows(raw("quiet-go-streams")) if row["waits"] == "socket"} == {"request"}


def test_faulthandler_is_read() -> None:
    text = (
        "Timeout (0:05:00)!\nThread 0x00007f2a3c7fe700 [flush] (most recent call first):\n"
        '  File "/usr/lib/python3.11/socket.py", line 706 in readinto\n'
        '  File "/usr/lib/python3.11/http/client.py", line 286 in _read_status\n'
        '  File "/app/venv/lib/python3.11/site-packages/requests/api.py", line 115 in post\n'
        '  File "/app/scorer/risk.py", line 31 in ask\n'
        '  File "/app/scorer/loop.py", line 80 in <module>\n\n'
        "Thread 0x00007f2a40aa1740 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 331 in wait\n'
        '  File "/app/scorer/timer.py", line 20 in run\n'
    )
    found = {str(row["thread"]): (row["waits"], row["user_line"]) for row in rows(text)}
    assert found["flush"] == ("socket", "ask(scorer/risk.py:31)")


def test_frames_that_gdb_breaks_are_one() -> None:
    text = (
        "Thread 4 (Thread 0x42b13940 (LWP 20891)):\n"
        "#0  0x000000356100a530 in __lll_lock_wait () from /lib64/libpthread.so.0\n"
        "#1  0x00002b79842b4f62 in store::put (this=0x1c627a0,\n    key=0x1c64ed1)\n    at /src/store.cpp:108\n"
        "#2  0x00002b79842b2174 in kafka_loop (arg=0x0) at /src/loop.cpp:20\n"
    )
    assert [(row["waits"], row["user_line"], row["loop"]) for row in rows(text)] == [("lock", "store::put(store.cpp:108)", "consumer")]


def test_threads_without_an_id_and_frames_in_columns() -> None:
    text = (
        'Thread (idle): "MainThread"\n    wait            (subprocess.py:1264)\n    convert         (media/convert.py:40)\n'
        '    <module>        (media/main.py:12)\nThread (idle): "pool"\n    _worker         (concurrent/futures/thread.py:81)\n'
        'Thread (idle): "pool"\n    _worker         (concurrent/futures/thread.py:81)\n'
    )
    found = states_of(text.encode()).states
    assert [len(state.rows["stack_samples"]) for state in found] == [1]
    assert found[0].rows["stack_samples"][0]["waits"] == "process"


def test_a_vendored_client_is_no_code_of_the_user() -> None:
    text = (
        "goroutine 21 [chan send, 4 minutes]:\n"
        "github.com/acme/log/vendor/github.com/Shopify/sarama.(*asyncProducer).returnSuccesses(0xc4200c4280)\n"
        "/root/src/github.com/acme/log/vendor/github.com/Shopify/sarama/async_producer.go:318 +0xf3\n"
    )
    assert [(row["waits"], row["user_frame"], row["system"]) for row in rows(text)] == [("undrained", None, "Kafka")]


def test_stacks_of_another_form_are_said_to_be_unread(tmp_path: Path) -> None:
    head = "  Thread #<Thread:0x00007f81 run> status=sleep priority=0\n"
    frames = "".join(f"      /app/lib/worker.rb:{n}:in `work'\n" for n in range(10, 15))
    (tmp_path / "sigdump-12.txt").write_text("Sigdump\n" + (head + frames) * 2, encoding="utf-8")
    sources = scan(plan([str(tmp_path)], LogOptions()))["sources"]
    assert [(row["kind"], row["state"]) for row in sources if row["kind"] == "states"] == [("states", "failed")]


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.parent.parent.name)
def test_damaged_bytes_raise_nothing(path: Path) -> None:
    chance = random.Random(7)
    data = path.read_bytes()
    for _ in range(40):
        broken = bytearray(data[chance.randrange(len(data) // 2) :][: chance.randrange(20, len(data))])
        for _ in range(chance.randrange(12)):
            if broken:
                broken[chance.randrange(len(broken))] = chance.choice(b'{}[]",:()\n\t 0-\xff')
        states_of(bytes(broken))
