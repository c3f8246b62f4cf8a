"""The process that holds librdkafka: what it may call, and that its end or its silence costs a question and nothing else."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.collectors.kafka_library import WORKER, Library
from tests.kafka_servers import refusing, serving, silent

SOURCE = Path(__file__).parent.parent / "cli" / "collectors" / "kafka_worker.py"

# Every method of a client of confluent-kafka that may be called: none of them writes, joins a group, commits or creates.
LOOKS = {
    "list_consumer_group_offsets", "describe_consumer_groups", "list_offsets", "describe_configs", "list_topics",
    "poll", "consume", "assign", "unassign",
    "incremental_unassign",
}  # fmt: skip
# what it does to other things, each a method of Python's own
ELSE = {
    "Lock", "Thread", "_exit", "acquire", "append", "args", "b64encode", "code", "decode", "disable", "done", "dumps", "encode",
    "error", "flush", "get", "headers", "items", "join", "key", "loads", "max", "monotonic", "offset", "pack", "partition", "read",
    "result", "search", "setdefault", "signal", "sleep", "start", "str", "suppress", "take", "time", "timestamp", "topic", "unpack",
    "for_timestamp", "uuid4", "value", "values", "write",
}  # fmt: skip


def calls() -> Iterator[str]:
    for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr


def test_no_call_could_change_a_cluster() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(calls()) >= LOOKS, "a call that is not made any more need not be allowed"
    assert set(calls()) - LOOKS - ELSE - own == set()
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and "confluent" in (node.module or "")
        for alias in node.names
    }
    assert imported.isdisjoint({"Producer", "SerializingProducer", "DeserializingConsumer"})


def test_what_could_write_is_switched_off() -> None:
    code = f"import json, {WORKER} as w; print(json.dumps([w.FIXED, w.READING, w.ENDLESS]))"
    fixed, reading, endless = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert (fixed["allow.auto.create.topics"], fixed["enable.metrics.push"], endless) == (False, False, 3600.0)
    assert (reading["enable.auto.commit"], reading["enable.auto.offset.store"], reading["auto.offset.reset"]) == (False, False, "error")


def asked(library: Library, bootstrap: str, seconds: float, **settings: str) -> tuple[str | None, float]:
    """Why a question about a topic had no answer, and how long that took."""

    async def ask() -> str | None:
        library.connects_as({"bootstrap.servers": bootstrap, **settings}, None)
        return await library.ask("configs", seconds, lambda _: None, topics=["orders"], keys=["cleanup.policy"], broker=1)

    started = time.monotonic()
    why = asyncio.run(ask())
    return why, time.monotonic() - started


@pytest.fixture
def library() -> Iterator[Library]:
    library = Library()
    yield library
    library.close()


def test_a_silent_cluster_costs_what_was_granted(library: Library) -> None:
    with serving(silent) as hung, refusing() as gone:
        why, took = asked(library, f"{hung},{gone}", 1.5)
    assert why in (None, "the Kafka library did not finish in 1.5 s")
    assert took < 3.0


@pytest.mark.parametrize("how", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
def test_a_process_that_dies_is_replaced_once_and_then_said(library: Library, how: signal.Signals) -> None:
    with serving(silent) as hung:

        async def ask() -> tuple[str | None, str | None]:
            library.connects_as({"bootstrap.servers": hung}, None)
            question: dict[str, Any] = {"topics": ["orders"], "keys": [], "broker": 1}
            waiting = asyncio.ensure_future(library.ask("configs", 20.0, lambda _: None, **question))
            killed: list[int] = []
            while len(killed) < 2:
                await asyncio.sleep(0.1)
                process = library._process
                if process is not None and process.pid not in killed:
                    killed.append(process.pid)
                    os.kill(process.pid, how)
            why = await waiting
            again = await library.ask("configs", 1.0, lambda _: None, **question)
            assert library._process is not None
            assert library._process.pid not in killed
            return why, again

        started = time.monotonic()
        why, again = asyncio.run(ask())
    assert why == f"the process of the Kafka library was ended by {how.name} before it answered"
    assert again in (None, "the Kafka library did not finish in 1.0 s")
    assert time.monotonic() - started < 10


def test_a_process_that_hangs_costs_what_was_granted(library: Library) -> None:
    library.start()
    assert library._process is not None
    os.kill(library._process.pid, signal.SIGSTOP)
    with serving(silent) as hung:
        why, took = asked(library, hung, 1.0)
    assert why == "the Kafka library did not finish in 1.0 s"
    assert took < 2.0


def test_properties_that_it_refuses_are_said_in_its_words(library: Library) -> None:
    why, _ = asked(library, "127.0.0.1:9", 10.0, **{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SOMETHING"})
    assert why is not None
    assert "refuses the client properties" in why
    assert "SOMETHING" in why
    again, took = asked(library, "127.0.0.1:9", 10.0)
    assert (again, took < 0.5) == (why, True)


@pytest.mark.parametrize(("mechanism", "instead"), [("GSSAPI", "libsasl2"), ("AWS_MSK_IAM", "aws-msk-iam-sasl-signer")])
def test_a_mechanism_that_the_wheel_lacks_is_named_with_what_would_make_it_work(library: Library, mechanism: str, instead: str) -> None:
    why, _ = asked(library, "127.0.0.1:9", 20.0, **{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism})
    if why is None or "did not finish" in why:
        pytest.skip(f"this librdkafka speaks {mechanism}")
    assert f"sasl.mechanism={mechanism}" in why
    assert instead in why


def test_secrets_are_not_in_its_arguments_and_not_in_its_surroundings(library: Library) -> None:
    with serving(silent) as hung:
        asked(
            library,
            hung,
            0.5,
            **{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "hunter2"},
        )
        assert library._process is not None
        if not Path("/proc/self/environ").exists():
            pytest.skip("no /proc here")
        place = Path(f"/proc/{library._process.pid}")
        assert b"hunter2" not in (place / "cmdline").read_bytes() + (place / "environ").read_bytes()


def test_it_ends_with_its_parent() -> None:
    """A parent that is killed closes the pipe: the process reads its end and goes."""
    process = subprocess.Popen([sys.executable, "-m", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=SOURCE.parents[2])
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()
