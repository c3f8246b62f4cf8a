"""The parent's side of the process that holds librdkafka: started when first needed, killed at the end, waited for no longer than granted.

A process that ends (a crash, a signal) or is silent costs the questions that it was asked; the next question starts another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from analyzers.bundle import own_process
from cli.collectors.kafka_frames import frames, send_frame

WORKER = "cli.collectors.kafka_worker"  # never imported here: librdkafka must not be in this process

Row = dict[str, Any]

LACKS: Mapping[str, str] = {
    "GSSAPI": "its wheel has no Kerberos; build it where libsasl2 is (pip install --no-binary confluent-kafka confluent-kafka), or give a "
    "listener with SCRAM, OAUTHBEARER or client certificates",
    "AWS_MSK_IAM": "it does not speak it; the same listener takes OAUTHBEARER with a token of aws-msk-iam-sasl-signer, which "
    "sasl.oauthbearer.token.endpoint.url=file:///PATH may name",
}
"""Mechanism → why librdkafka cannot use it, and what would make it work."""


class Library:
    """One process of librdkafka for one cluster; questions may be asked at the same time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._settings: Row = {}
        self._introduced = False
        self._open: dict[int, tuple[subprocess.Popen[bytes], asyncio.Queue[Row | None]]] = {}
        self._last = 0
        self._refused: str | None = None

    def start(self) -> None:
        """Begin to load the library: a third of a second that the way to the cluster takes, too."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                own_process.command(WORKER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=own_process.environment(),
            )  # fmt: skip
            self._introduced = False

    def connects_as(self, settings: Mapping[str, str], token: str | None, extensions: Mapping[str, str] | None = None) -> None:
        """librdkafka's `settings`, with ``bootstrap.servers``, and a bearer `token` for OAUTHBEARER; before the first question."""
        self._settings = {"settings": dict(settings), "token": token, "extensions": dict(extensions or {})}

    def starts_anew(self, bootstrap: str) -> None:
        """Take another process, which begins at `bootstrap`, between two questions: brokers or coordinators are not where they were.

        librdkafka keeps the coordinator that it knew. While that one is down a request waits for *another* broker to come or go
        (confluentinc/librdkafka#3847), which may be never, and a broker that is back is tried again only after up to ten seconds.
        """
        if self._settings and self._refused is None:
            self.close()
            self._settings["settings"]["bootstrap.servers"] = bootstrap
            self.start()

    async def ask(self, ask: str, seconds: float, row: Callable[[Row], None], **question: Any) -> str | None:
        """Hand each answer to `row` as it comes, for at most `seconds`. None when the question was worked off, else what was in the way.

        Worked off does not mean that everything was answered: what a broker was silent about has no row. A process that crashed before
        the first row is replaced once a question; that list_offsets of confluent-kafka 2.16 crashes in one of fifty processes was seen.
        """
        if self._refused is not None:
            return self._refused
        begun, seen, replaced = time.monotonic(), 0, False

        def counted(answer: Row) -> None:
            nonlocal seen
            seen += 1
            row(answer)

        while True:
            left = seconds - (time.monotonic() - begun)
            self._last += 1
            number = self._last
            asked = {"number": number, "ask": ask, "seconds": left, **question}
            try:
                why, crashed = await asyncio.wait_for(self._answered(asked, counted), left + 0.2)
            except (asyncio.TimeoutError, TimeoutError):
                return f"the Kafka library did not finish in {seconds:.1f} s"
            finally:
                self._open.pop(number, None)
            if not crashed or seen or replaced or seconds - (time.monotonic() - begun) < seconds / 4:
                return why
            replaced = True

    async def _answered(self, question: Row, row: Callable[[Row], None]) -> tuple[str | None, bool]:
        """What was in the way, and whether that is a crash."""
        process, answers = self.introduce(), asyncio.Queue[Row | None]()
        self._open[question["number"]] = process, answers
        with contextlib.suppress(OSError):  # it ended: its answers end, too
            _send(process, question)
        while (answer := await answers.get()) is not None:
            if answer.get("end"):
                return (None if answer["failed"] is None else f"the Kafka library refuses: {answer['failed']}"), False
            row(answer)
        if self._refused is not None:
            return self._refused, False
        return f"the process of the Kafka library {_ending(process.wait())} before it answered", True

    def introduce(self) -> subprocess.Popen[bytes]:
        """The process, running, with how to connect: it begins to before the first question."""
        self.start()
        assert self._process is not None
        if not self._introduced:
            self._introduced = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._listen, args=(self._process, loop), name="Kafka library", daemon=True).start()
            with contextlib.suppress(OSError):
                _send(self._process, self._settings)
        return self._process

    def _listen(self, process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop) -> None:
        """Hand over each frame until the process ends; in a thread of its own."""
        assert process.stdout is not None
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
            with contextlib.suppress(OSError, ValueError):
                for answer in frames(process.stdout):
                    loop.call_soon_threadsafe(self._deliver, process, answer)
            loop.call_soon_threadsafe(self._deliver, process, None)

    def _deliver(self, process: subprocess.Popen[bytes], answer: Row | None) -> None:
        if answer is not None and "refused" in answer:
            mechanism = self._settings["settings"].get("sasl.mechanism")
            lacks = LACKS.get(mechanism or "")
            named = f"cannot use sasl.mechanism={mechanism}: {lacks}" if lacks else f"refuses the client properties: {answer['refused']}"
            self._refused = f"the Kafka library {named}"
            answer = None
        for number, (asked, answers) in self._open.items():
            if asked is process and (answer is None or answer["number"] == number):
                answers.put_nowait(answer)

    def close(self) -> None:
        """End the process; nothing is waited for but its end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close() if pipe is not None else None


def _send(process: subprocess.Popen[bytes], content: Row) -> None:
    assert process.stdin is not None
    send_frame(process.stdin, content)


def _ending(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
