# ruff: noqa: E501 -- log lines are what they are
"""What is peeled quickly says the same as what is peeled envelope by envelope, whatever lines stand beside each other."""

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
from analyzers.logs.wrappings.json_templates import Seconds
from analyzers.logs.wrappings.quick_peeling import Quick
from analyzers.logs.wrappings.records import is_header
from analyzers.logs.wrappings.unwrapping import Unwrapper
from analyzers.logs.wrappings.wrappings import Wrapping
from tests.examples import examples

TIMES = (
    "2024-11-19T09:53:20.123456789Z", "2024-11-19T09:53:20.123456789Z", "2024-11-19T09:53:21.1234Z", "2024-11-19T09:53:20.123+02:00",
    "2024-11-19T09:53:20.123", "2024-11-19 09:53:20,123", "2024-11-19T09:53:60.999Z", "2024-02-30T09:53:20.123Z", "2024-11-19T09:53:20Z",
    "2024-11-19T09:53:20.12Z", "2024-11-19_09:53:20.123", "1732010001499", "1732010001.5", "no time", "",
)  # fmt: skip
MESSAGES = (
    "Checkpoint 12 of job expired", "Checkpoint 13 of job expired", "\tat a.b.C.d(C.java:1)", "2024-11-19 09:53:20,123 INFO  a.B [] - x", "", " ",
    "[2024-11-19 09:53:20,123] WARN said", "24/11/19 09:53:20 INFO X: y", 'say "so" \\ and\tmore', "two\nlines", "ends\n", "ends\r\n", "a\rb",
    "Caused by: x.Y: z", "  {\"message\": \"inner\", \"level\": \"INFO\"}", "{\"message\": \"inner\", \"level\": \"WARN\", \"ts\": \"2024-11-19T09:53:22.000Z\"}",
    "{no json", "[pod/a/b] inner", "\u00a0wide blank", "naïve café", "... 6 more", "Suppressed: x", "\x1b[31mred\x1b[0m",
)  # fmt: skip
STACKS = ("java.lang.E: x\n\tat a.b.C.d(C.java:1)\n\tat e.f.G.h(G.java:2)", "\tat a.b.C.d(C.java:1)\n", "no trace", "SomeException", "")
times, messages = st.sampled_from(TIMES), st.sampled_from(MESSAGES)
texts = st.sampled_from(("a.b.C", "main", "two words", "", "ünlaut", 'q"uote', "f" * 32))
levels = st.sampled_from(("INFO", "WARN", "error", "", "30", "odd", 30, 4, 4.0, True, None))


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    """A record of one of many layouts."""
    layout = draw(st.integers(0, 5))
    stamp: Any = draw(times)
    value: dict[str, Any]
    if layout == 0:
        value = {
            "@timestamp": stamp,
            "ecs.version": "1.2.0",
            "log.level": draw(levels),
            "message": draw(messages),
            "log.logger": draw(texts),
        }
    elif layout == 1:
        value = {"@timestamp": stamp, "log": {"level": draw(levels), "logger": draw(texts)}, "message": draw(messages), "@version": 1}
    elif layout == 2:
        value = {
            "ts": draw(st.sampled_from((1732010001.499, 1732010001499, 5, -1, stamp))),
            "lvl": draw(levels),
            "msg": draw(messages),
            "name": draw(texts),
        }
    elif layout == 3:
        value = {"log": draw(messages), "stream": draw(st.sampled_from(("stdout", "stderr", "x"))), "time": stamp}
    elif layout == 4:
        value = {
            "time": stamp,
            "message": draw(messages),
            "kubernetes": {"pod_name": draw(texts), "container_name": draw(texts)},
            "level": draw(levels),
        }
    else:
        value = {
            "instant": {"epochSecond": 1732010001, "nanoOfSecond": 5},
            "level": draw(levels),
            "message": draw(messages),
            "tags": [1, "a"],
        }
    if draw(st.booleans()):
        value |= {"process.thread.name": draw(texts), "flink-job-id": draw(texts)}
    if draw(st.integers(0, 3)) == 0:
        value |= {"error.type": draw(texts), "error.message": draw(messages), "error.stack_trace": draw(st.sampled_from(STACKS))}
    if draw(st.integers(0, 5)) == 0:
        value |= draw(
            st.sampled_from(({"exception": 5}, {"msg": "other"}, {"thrown": {"name": "x"}}, {"labels": {"message": "m"}}, {"note": None}))
        )
    return value


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line in none, one or more of the wrappings."""
    if draw(st.booleans()):
        compact = draw(st.booleans())
        text = json.dumps(draw(objects()), ensure_ascii=draw(st.booleans()), separators=(",", ":") if compact else None).encode()
        if draw(st.integers(0, 9)) == 0:
            text = draw(
                st.sampled_from(
                    (text[:-1], b" " + text, text + b" ", text + b"x", text.replace(b"a", b"\xff"), text.replace(b":", b": \t"))
                )
            )
        if draw(st.integers(0, 4)) == 0:
            text = json.dumps(
                {"log": text.decode("utf-8", "replace") + "\n", "stream": "stdout", "time": draw(times)}, separators=(",", ":")
            ).encode()
    else:
        text = draw(messages).replace("\n", " ").encode()
    kind = draw(st.integers(0, 7))
    if kind in (1, 3, 4, 7):
        tag = draw(st.sampled_from(("stdout F ", "stdout F ", "stderr F ", "stdout P ", "stdout F", "stdout F:tag ", "stdout X ")))
        text = f"{draw(times)} {tag}".encode() + text
    if kind in (2, 3, 7):
        text = draw(st.sampled_from((b"[pod/jm-0/main] ", b"[pod/tm-1/main] ", b"[pod/jm-0/main]", b"[pod/jm-0] "))) + text
    return bytes(text + draw(st.sampled_from((b"",) * 8 + (b"\r", b"\r\r"))))


class Slow(Unwrapper):
    """Peels every line envelope by envelope."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._quick = None


NAMES = ((), ("cri",), ("cri", "json"), ("json",), ("kubectl-prefix",), ("kubectl-prefix", "cri", "json"))
ZONES = (Zone(), Zone("option", 7_200_000), Zone("option", 0, "Europe/Berlin"))


def _assert_the_same(text: list[bytes], names: tuple[str, ...], zone: Zone) -> None:
    """With and without the short cuts."""
    found = []
    for kind in (Unwrapper, Slow):
        unwrapper = kind(Origin("a.log", 0, zone=zone), Wrapping(names), Catalogue(()))
        unwrapper.lines((line, number) for number, line in enumerate([*text, *text], 1))  # once more, when templates are known
        streams = unwrapper._streams.all()
        found.append(
            [
                (s.name, s.part, b"\n".join(s.texts).replace(b"\r", b""), s.numbers, s.orders, s.times, s.partial, s.partial_at)
                for s in streams
            ]
        )
    assert found[0] == found[1]


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(lines(), max_size=30), st.sampled_from(NAMES), st.sampled_from(ZONES))
def test_streams_are_the_same_as_envelope_by_envelope(text: list[bytes], names: tuple[str, ...], zone: Zone) -> None:
    _assert_the_same(text, names, zone)


SAID = (
    "2026-11-01 09:53:20,123 INFO a.B [] - nothing", "[2026-11-01 09:53:20,123] WARN needle", "26/11/01 09:53:20 INFO X: y", "\tat a.b.C.d(C.java:1)",
    "    at a.b.C.d(C.java:1)", "Caused by: x.Y: z", "", " ", "[", "{", "\\", "\\t", '"', 'say "so" and "more"', '"so"', "\tand {\"a\": \"needle\"}", "a\tb", "\t", "\t{\"message\": \"m\", \"level\": \"INFO\"}",
    " {\"message\": \"m\", \"level\": \"INFO\"}", "{\"message\": \"m\", \"level\": \"INFO\", \"ts\": \"2026-11-01T09:53:20.123Z\"}", "{no json", "[pod/a/b] inner", "[pool-1] x", "[main] x",
    "2026-11-01T09:53:20.123456789Z stdout F within", "2026-11-01T09:53:20.123Z INFO a.B - needle", "C:\\temp\\new", "a\\\\b", "naïve café", "\u00a0wide", "\x1b[31mred\x1b[0m", "x\u0007y", "\\u003c", "\n", "two\nlines", "a\rb",
    "}", "x\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-01T09:53:20.123Z\"}",
)  # fmt: skip
MOMENTS = (
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
def lines_of_one_kind(draw: st.DrawFn, wrap: Callable[[str, str, str, str], str]) -> bytes:
    """Most of them alike, so that many such follow each other."""
    kind = max(draw(st.integers(-30, 6)), 0)
    time = draw(st.sampled_from(MOMENTS if kind == 1 else MOMENTS[:3]))
    channel = draw(st.sampled_from(("stderr", "stdout", "other"))) if kind == 2 else "stdout"
    tag = draw(st.sampled_from(("P", "F:x", "X"))) if kind == 3 else "F"
    text = draw(st.sampled_from(SAID)) if kind >= 4 else draw(st.sampled_from(SAID[:4]))
    line = wrap(time, channel, tag, text).encode()
    broken = (
        line[:-3],
        line + b" ",
        line + b"\r",
        b"no wrapping",
        b"",
        b"\xff" + line,
        line[:10] + b"\xff" + line[10:],
        line.replace(b"a", b'"', 1),
    )
    return draw(st.sampled_from(broken)) if kind == 6 else line


WRAPPED = (
    (cri, ("cri",)), (docker, ("json",)), (pod, ("kubectl-prefix",)), (pod_of_runtime, ("kubectl-prefix", "cri")),
)  # fmt: skip


@pytest.mark.parametrize(("wrap", "names"), WRAPPED, ids=[wrap.__name__ for wrap, _ in WRAPPED])
def test_a_file_of_one_wrapping_says_what_it_says_envelope_by_envelope(
    wrap: Callable[[str, str, str, str], str], names: tuple[str, ...]
) -> None:
    @settings(max_examples=examples(80), deadline=None)
    @given(text=st.lists(lines_of_one_kind(wrap), min_size=20, max_size=80))
    def holds(text: list[bytes]) -> None:
        _assert_the_same(text, names, Zone())

    holds()


@pytest.mark.parametrize(
    "line",
    [
        b"2024-11-19T09:53:20.123456789Z stdout F said",
        b"[pod/jm-0/main] said",
        b'{"log":"said\\n","stream":"stderr","time":"2024-11-19T09:53:20.1234567Z"}',
        b'{"log":"\\u003cinit\\u003e\\tsaid \\"so\\"\\n","stream":"stderr","time":"2024-11-19T09:53:20.1234567Z"}',
        b'{"@timestamp":"2024-11-19T09:53:20.123Z","log.level":"INFO","message":"said \\"so\\"","log.logger":"a.B"}',
        b'{"@timestamp":"2024-11-19T09:53:20.123Z","log":{"level":"INFO","logger":"a.B"},"message":"said"}',
        b'{"ts": 1732010001499, "level": 30, "msg": "said"}',
        b'2024-11-19T09:53:20.123456789Z stdout F {"@timestamp":"2024-11-19T09:53:20.123Z","log.level":"INFO","message":"said"}',
    ],
)
def test_what_is_met_every_day_is_quick(line: bytes) -> None:
    quick = Quick(Zone())
    quick.peel(line)
    found = quick.peel(line)
    assert found is not None
    assert b"said" in found[2]


def test_a_second_is_found_once_for_all_its_fractions() -> None:
    seconds = Seconds()
    assert seconds.ms(b"2024-11-19T09:53:20.123456789Z") == 1732010000123
    assert seconds.ms(b"2024-11-19T09:53:20.9Z") is None
    assert seconds.ms(b"2024-11-19T09:53:20.999Z") == 1732010000999
    assert seconds.ms(b"2024-11-19T11:53:20,999+02:00") == 1732010000999
    assert seconds.ms(b"2024-11-19T09:53:20.999") is None  # no zone
    assert seconds.ms(b"2024-11-19T09:53:20.9991234567Z") is None  # no time
    assert Seconds(Zone("option", 3_600_000)).ms(b"2024-11-19 09:53:20,999") == 1732006400999


@given(st.text(alphabet="0129[-/.T :x", max_size=22))
def test_a_header_is_one_by_its_columns(line: str) -> None:
    import numpy as np

    from analyzers.logs.scan.lines import dated_lines

    for text in (line, "2024-11-19 09:53:20,1" + line, "[24/11/19 09:53:2" + line):
        assert is_header(text) == (bool(dated_lines(text.encode(), np.zeros(1, np.int64))[0]) if text else False)
