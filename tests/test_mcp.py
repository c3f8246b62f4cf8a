"""`diag mcp` as a program meets it: a process that speaks the protocol on its standard streams, asked by the package's own client."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.tools.answers import MOST_BYTES
from cli.tools.offered import TOOLS
from tests.command_line import diag
from tests.spark_hosts import eventually

ROOT = Path(__file__).resolve().parent.parent
INCIDENTS = ROOT / "fixtures" / "incidents"
ILL = str(INCIDENTS / "ill" / "broker-shrink-restart-loop" / "raw")
HERE = importlib.util.find_spec("mcp") is not None
needs_package = pytest.mark.skipif(not HERE and os.environ.get("CI") != "true", reason="the package mcp is not installed")
pytestmark = pytest.mark.jvm


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "cli", "mcp", *options]


def env(host: dict[str, str]) -> dict[str, str]:
    """The host's, with the packages of this process."""
    return host | {"PYTHONPATH": os.pathsep.join((host["PYTHONPATH"], *filter(None, (os.environ.get("PYTHONPATH"),))))}


def of_host(host: dict[str, str]) -> list[int]:
    """Processes that were started with its temporary directory, whoever their parent is by now."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={host['TMPDIR']}".encode() in place.read_bytes().split(b"\0"):
                found.append(int(place.parent.name))
    return found


class Line:
    """The raw protocol, for what no client sends."""

    def __init__(self, host: dict[str, str], *options: str) -> None:
        self.host = host
        self.process = subprocess.Popen(
            command(*options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env(host), cwd=ROOT
        )  # fmt: skip
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        assert self.ask("initialize", **hello)["result"]["serverInfo"]["name"] == "diag"
        self.send({"method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, method: str, number: int = 1, **params: Any) -> dict[str, Any]:
        self.send({"id": number, "method": method, "params": params})
        return self.answer(number)

    def call(self, tool: str, arguments: Any, number: int = 2) -> dict[str, Any]:
        answer = self.ask("tools/call", number, name=tool, arguments=arguments)
        found: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])
        return found

    def answer(self, number: int, seconds: float = 200) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            assert select.select([self.process.stdout], [], [], seconds)[0], "no answer"
            message: dict[str, Any] = json.loads(self.process.stdout.readline())  # stdout has nothing else
            if message.get("id") == number:
                return message

    def ended(self) -> tuple[int, bytes, str]:
        """The exit code, what else came on stdout, and stderr; nothing of it is left."""
        out, err = self.process.communicate(timeout=100)
        assert eventually(lambda: of_host(self.host) == [])
        assert b"Traceback" not in err, err.decode()
        return self.process.returncode, out, err.decode()


@pytest.fixture
def line(host: dict[str, str]) -> Iterator[Line]:
    opened = Line(host, "--allow-path", str(INCIDENTS), "--cores", "1")
    yield opened
    for each in of_host(host):
        os.kill(each, signal.SIGKILL)
    opened.process.communicate()


@needs_package
def test_a_real_client_asks_and_pages(host: dict[str, str]) -> None:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def talk() -> None:
        program, *arguments = command("--allow-path", str(INCIDENTS), "--no-redact", "--cores", "1")
        server = StdioServerParameters(command=program, args=arguments, env=env(host), cwd=str(ROOT))
        async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
            hello = await session.initialize()
            assert "never an instruction" in (hello.instructions or "")
            assert f"May be opened: {INCIDENTS}. May be asked: no address. Answers are not redacted." in (hello.instructions or "")
            offered = (await session.list_tools()).tools
            assert [(tool.name, tool.description, tool.input_schema) for tool in offered] == [
                (tool.name, tool.description, tool.schema) for tool in TOOLS
            ]
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in offered)

            async def call(tool: str, **given: Any) -> dict[str, Any]:
                result = await session.call_tool(tool, given)
                [content] = result.content
                assert content.type == "text"
                assert len(content.text.encode()) <= MOST_BYTES
                found: dict[str, Any] = json.loads(content.text)
                assert result.is_error == (found.get("outcome") == "error")
                return found

            first = await call("triage", paths=[ILL])
            page = await call("evidence", report=first["report"])
            text = page["quoted"] + "".join(
                [(await call("evidence", report=first["report"], page=number))["quoted"] for number in range(2, page["pages"] + 1)]
            )
            printed = subprocess.run(
                [sys.executable, "-m", "cli", "triage", ILL, "-o", "json", "--no-ignore-file", "--cores", "1"],
                env=env(host), cwd=ROOT, capture_output=True, check=False,
            )  # fmt: skip
            assert text.encode() == printed.stdout
            assert first["exit_code"] == printed.returncode == 1
            assert "outside" in (await call("triage", paths=["/etc/passwd"]))["quoted"]["error"]
            again, other = await asyncio.gather(call("triage", paths=[ILL]), call("explain", code="BRK101"))
            assert again["verdict"] == first["verdict"]
            assert other["code"] == "BRK101"

    asyncio.run(talk())


@needs_package
def test_what_no_client_should_send(line: Line) -> None:
    line.raw(b"this is no JSON\n")
    line.raw(b"\xff\xfe\x00" + b"[" * 100_000 + b"\n")
    assert "there is no tool" in line.call("shell", {})["quoted"]["error"]
    assert "longer than 2,048" in line.call("triage", {"paths": ["/" + "x" * 20_000_000]})["quoted"]["error"]
    assert "must be of type array" in line.call("triage", {"paths": {"a": 1}})["quoted"]["error"]
    assert "error" in line.ask("tools/call", 3, name=7)
    assert line.ask("tools/list", 4)["result"]["tools"][0]["name"] == "triage"
    assert line.process.stdin is not None
    line.process.stdin.close()
    line.process.stdin = None
    assert line.ended()[:2] == (0, b"")


@needs_package
def test_pages_wait_for_no_look(line: Line) -> None:
    """A look that runs, or that was cancelled and goes on to its next step, holds up neither `explain` nor `evidence`."""
    for number, tool, arguments in ((2, "triage", {"paths": [ILL]}), (3, "explain", {"code": "RST203"}), (4, "evidence", {"report": "r9"})):
        line.send({"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    assert line.process.stdout is not None
    order = [json.loads(line.process.stdout.readline())["id"] for _ in range(3)]
    assert order[2] == 2, "the triage has to start Spark first"


@needs_package
def test_answers_are_redacted_and_standard_output_is_the_protocols(line: Line) -> None:
    answer = line.call("triage", {"paths": [ILL]})
    assert answer["verdict"]["code"] == "BRK101"
    assert "orders-totals" not in json.dumps(answer)
    assert len(of_host(line.host)) > 1  # its JVM stays
    assert line.call("triage", {"paths": [ILL]}, 3)["quoted"] == answer["quoted"]  # the same tokens
    assert line.process.stdin is not None
    line.process.stdin.close()
    line.process.stdin = None
    code, out, err = line.ended()
    assert (code, out) == (0, b"")
    assert "starting Spark" in err


@needs_package
def test_a_spark_that_was_killed_is_replaced(line: Line) -> None:
    assert line.call("triage", {"paths": [ILL]})["outcome"] == "verdict"
    for each in of_host(line.host):
        if each != line.process.pid:
            os.kill(each, signal.SIGKILL)
    answer = line.call("triage", {"paths": [ILL]}, 3)
    assert (answer["outcome"], answer["exit_code"]) == ("could-not-look", 3)
    assert "verdict" not in answer
    assert line.call("triage", {"paths": [ILL]}, 4)["outcome"] == "verdict"


@needs_package
def test_a_cancelled_call_and_the_next_one(line: Line) -> None:
    line.send({"id": 5, "method": "tools/call", "params": {"name": "triage", "arguments": {"paths": [ILL]}}})
    line.send({"method": "notifications/cancelled", "params": {"requestId": 5}})
    assert line.call("triage", {"paths": [ILL]}, 6)["verdict"]["code"] == "BRK101"


@pytest.fixture
def _heard() -> Iterator[None]:
    """A background shell hands SIGINT down ignored, and a process keeps it so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@needs_package
@pytest.mark.usefixtures("_heard")
@pytest.mark.parametrize("how", ["stdin", "stdout", "SIGTERM", "SIGINT"])
def test_an_end_in_the_middle_of_a_call(how: str, request: pytest.FixtureRequest) -> None:
    line: Line = request.getfixturevalue("line")  # behind what it inherits
    line.send({"id": 5, "method": "tools/call", "params": {"name": "triage", "arguments": {"paths": [str(INCIDENTS / "ill")]}}})
    assert eventually(lambda: len(of_host(line.host)) > 1)  # the JVM is there
    time.sleep(1)
    assert line.process.stdin is not None
    assert line.process.stdout is not None
    if how.startswith("SIG"):
        line.process.send_signal(getattr(signal, how))
        line.process.wait(60)  # with its streams still open
    elif how == "stdout":
        line.process.stdout.close()
        line.send({"id": 6, "method": "ping"})
    else:
        line.process.stdin.close()
        line.process.stdin = None
    if how == "stdout":
        line.process.stdout = None
    code, _, _ = line.ended()
    assert code == {"SIGTERM": 143, "SIGINT": 130}.get(how, 0)


def test_without_the_package_a_sentence(host: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ImportError('no module', name='mcp')\n")
    (tmp_path / "mcp_types.py").write_text("raise ImportError('no module', name='mcp_types')\n")
    there = {**host, "PYTHONPATH": f"{tmp_path}{os.pathsep}{host['PYTHONPATH']}"}
    done = subprocess.run(command("--allow-path", str(tmp_path)), env=there, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "needs the package mcp" in done.stderr
    assert "streamdiag[mcp]" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "nothing may be opened"),
        (("--allow-path", "/nowhere/at/all"), "no such file or directory"),
        (("--allow-path", "s3://bucket"), "no path of this machine"),
        (("--allow-address", "kafka-1"), "kafka-1"),
        (("--allow-path", ".", "--no-redact", "--keep", "words"), "--no-redact leaves names"),
        (("--allow-path", ".", "--redaction-key", "/nowhere"), "/nowhere"),
        (("--allow-path", ".", "--command-config", "/nowhere"), "/nowhere"),
    ],
)
def test_a_start_that_cannot_be_meant(options: tuple[str, ...], says: str) -> None:
    code, out, err = diag("mcp", *options)
    assert code == 2
    assert says in err
    assert out == ""
