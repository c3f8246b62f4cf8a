# ruff: noqa: E501 -- log lines are what they are
"""Lines that are cut many at once come out as if each had been peeled by itself, whatever stands between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.logs.layouts.timestamps import Zone
from analyzers.logs.scan.captures import Catalogue
from analyzers.logs.scan.origin import Origin
from analyzers.logs.signatures.signature import Signature
from analyzers.logs.wrappings import streams, unwrapping
from analyzers.logs.wrappings.unwrapping import Unwrapper
from analyzers.logs.wrappings.wrappings import Wrapping

TEXTS = (
    "2026-11-01 09:53:20,123 INFO a.B [] - nothing", "[2026-11-01 09:53:20,123] WARN needle", "26/11/01 09:53:20 INFO X: y", "\tat a.b.C.d(C.java:1)",
    "    at a.b.C.d(C.java:1)", "Caused by: x.Y: z", "", " ", "[", "{", "\\", "\\t", '"', 'say "so" and "more"', '"so"', "\tand {\"a\": \"needle\"}", "a\tb", "\t", "\t{\"message\": \"m\", \"level\": \"INFO\"}",
    " {\"message\": \"m\", \"level\": \"INFO\"}", "{\"message\": \"m\", \"level\": \"INFO\", \"ts\": \"2026-11-01T09:53:20.123Z\"}", "{no json", "[pod/a/b] inner", "[pool-1] x", "[main] x",
    "2026-11-01T09:53:20.123456789Z stdout F within", "2026-11-01T09:53:20.123Z INFO a.B - needle", "C:\\temp\\new", "a\\\\b", "naïve café", "\u00a0wide", "\x1b[31mred\x1b[0m", "x\u0007y", "\\u003c", "\n", "two\nlines", "a\rb",
    "}", "x\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-01T09:53:20.123Z\"}",
)  # fmt: skip
TIMES = (
    "2026-11-01T09:53:20.123456789Z", "2026-11-01T09:53:59.999999999Z", "2026-11-01T09:54:00.000000000Z", "2026-11-01T09:53:60.999999999Z", "2026-02-30T09:53:20.123456789Z",
    "2026-11-01T09:53:20.12345678Z", "2026-11-01T09:53:20.123Z", "2026-11-01T09:53:20.12Z", "2026-11-01T09:53:20Z", "2026-11-01T10:53:20.123456789+01:00", "2026-11-01 09:53:20.123456789Z",
    "2026-11-01T09:53:20,123456789Z", "2026-11-01T09:53:20.12x456789Z", "",
)  # fmt: skip


def cri(time: str, channel: str, tag: str, text: str) -> str:
    return f"{time} {channel} {tag} {text}"


def docker(time: str, channel: str, tag: str, text: str) -> str:
    end = "" if tag == "P" else "\n"
    return json.dumps({"log": text + end, "stream": channel, "time": time}, separators=(",", ":"), ensure_ascii=tag != "F:x")


def pod(time: str, channel: str, tag: str, text: str) -> str:
    return f"[pod/{channel}/main] {text}" if tag != "F:x" else text


def pod_of_runtime(time: str, channel: str, tag: str, text: str) -> str:
    return pod(time, channel, "F", cri(time, "stdout", tag, text))


@st.composite
def lines(draw: st.DrawFn, wrap: Callable[[str, str, str, str], str]) -> bytes:
    """Most of them alike, so that many such follow each other."""
    kind = max(draw(st.integers(-30, 6)), 0)
    time = draw(st.sampled_from(TIMES if kind == 1 else TIMES[:3]))
    channel = draw(st.sampled_from(("stderr", "stdout", "other"))) if kind == 2 else "stdout"
    tag = draw(st.sampled_from(("P", "F:x", "X"))) if kind == 3 else "F"
    text = draw(st.sampled_from(TEXTS)) if kind >= 4 else draw(st.sampled_from(TEXTS[:4]))
    line = wrap(time, channel, tag, text).encode()
    return (
        draw(
            st.sampled_from(
                (
                    line[:-3],
                    line + b" ",
                    line + b"\r",
                    b"no wrapping",
                    b"",
                    b"\xff" + line,
                    line[:10] + b"\xff" + line[10:],
                    line.replace(b"a", b'"', 1),
                )
            )
        )
        if kind == 6
        else line
    )


def _streams(text: bytes, wrapping: Wrapping, *, singly: bool) -> list[Any]:
    unwrapper = Unwrapper(Origin("a.log", 0, zone=Zone()), wrapping, Catalogue(()))
    unwrapper._singly = singly
    middle = text.find(b"\n", len(text) // 3) + 1
    unwrapper.runs(piece for piece in (text[:middle], text[middle:]) if piece)
    return [
        (one.name, one.part, b"\n".join(one.texts).replace(b"\r", b""), one.numbers, one.orders, one.times, one.partial, one.partial_at)
        for one in unwrapper._streams.all()
    ]


WRAPPED = (
    (cri, Wrapping(("cri",))), (docker, Wrapping(("json",))), (pod, Wrapping(("kubectl-prefix",))), (pod_of_runtime, Wrapping(("kubectl-prefix", "cri"))),
)  # fmt: skip


@pytest.mark.parametrize(("wrap", "wrapping"), WRAPPED, ids=[wrap.__name__ for wrap, _ in WRAPPED])
def test_streams_are_the_same_as_line_by_line(wrap: Callable[[str, str, str, str], str], wrapping: Wrapping) -> None:
    @settings(max_examples=150, deadline=None)
    @given(text=st.lists(lines(wrap), min_size=20, max_size=80), ended=st.booleans())
    def holds(text: list[bytes], ended: bool) -> None:
        whole = b"\n".join(text * 2) + b"\n" * ended
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(unwrapping, "_MUCH", 0)
            patch.setattr(unwrapping, "_BATCH", 2)
            patch.setattr(unwrapping, "_WORTHWHILE", 10**9)
            assert _streams(whole, wrapping, singly=False) == _streams(whole, wrapping, singly=True)

    holds()


@pytest.mark.parametrize(("wrap", "wrapping"), WRAPPED[:3], ids=[wrap.__name__ for wrap, _ in WRAPPED[:3]])
def test_most_lines_are_not_peeled(wrap: Callable[[str, str, str, str], str], wrapping: Wrapping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unwrapping, "_MUCH", 0)
    text = [
        wrap(time, channel, "F", say)
        for time in (TIMES[0], TIMES[5 if wrap is docker else 1])
        for channel in ("stdout", "stderr")
        for say in TEXTS[:4] * 20
    ]
    whole = "\n".join([*text, wrap(TIMES[0], "stdout", "P", TEXTS[0]), *text, ""]).encode()
    peeled: list[bytes] = []
    unwrapper = Unwrapper(Origin("a.log", 0, zone=Zone()), wrapping, Catalogue(()))
    together = unwrapper._peel_together
    monkeypatch.setattr(unwrapper, "_peel_together", lambda raw, numbers: peeled.extend(raw) or together(raw, numbers))
    unwrapper.runs([whole])
    assert sum(len(one.numbers) for one in unwrapper._streams.all()) == len(text) * 2 + (wrap is pod)
    assert len(peeled) == 64 + (0 if wrap is pod else 2)  # the first ones; a piece of a line, and what continues it


def test_a_stream_is_known_by_the_same_lines_however_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wrote a stream is told by what was there when lines were handed on for the first time."""
    monkeypatch.setattr(unwrapping, "_MUCH", 0)
    monkeypatch.setattr(streams, "_BUFFERED", 9000)
    monkeypatch.setattr(streams, "_ROLE_SAMPLE", 700)
    said = ["2026-11-01 09:53:20,123 INFO  org.apache.flink.runtime.jobmaster.JobMaster [] - one of many lines"]
    said += ["2026-11-01 09:53:20,123 INFO  org.apache.flink.runtime.taskexecutor.TaskExecutor [] - another one"]
    text = "".join(pod("", f"p{at // 7 % 9}", "F", said[at // 100 % 2]) + "\n" for at in range(600)).encode()
    handed: dict[bool, list[tuple[str, bytes]]] = {True: [], False: []}
    for singly, seen in handed.items():
        feed = streams.Scanner.feed_text

        def noted(self: Any, text: bytes, *places: Any, seen: list[tuple[str, bytes]] = seen, feed: Any = feed) -> None:
            seen.append((self.origin.file, text))
            feed(self, text, *places)

        with monkeypatch.context() as patch:
            patch.setattr(streams.Scanner, "feed_text", noted)
            unwrapper = Unwrapper(
                Origin("a.log", 0), Wrapping(("kubectl-prefix",)), Catalogue([Signature(id="s", literals=("many",), sample="", says="")])
            )
            unwrapper._singly = singly
            unwrapper.runs([text])
            assert {part.role for part in unwrapper.finish()} == {"jobmanager"}
    assert len(handed[True]) > 9
    assert handed[True] == handed[False]


def test_a_line_that_is_too_long_is_cut_where_it_always_is() -> None:
    lines = [cri(TIMES[0], "stdout", "F", f"2026-11-01 09:53:20,123 INFO a.B [] - {'x' * size}") for size in (9, 2 << 20, 9, 9, 9, 9, 9, 9)]
    text = "".join(line + "\n" for line in lines * 9).encode()
    found = []
    for singly in (False, True):
        unwrapper = Unwrapper(Origin("a.log", 0), Wrapping(("cri",)), Catalogue(()))
        unwrapper._singly = singly
        unwrapper.runs([text])
        found.append([vars(part) | {"counts": part.counts.counts} for part in unwrapper.finish()])
    assert found[0] == found[1]
    assert found[0][0]["events"] == 72
