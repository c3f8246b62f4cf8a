# ruff: noqa: E501 -- stamps are what they are
"""Times that are read together are those that each event has when it is asked by itself, and so is what is said of their zone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.logs.layouts.timestamps import Zone
from analyzers.logs.scan.blocks import Block
from analyzers.logs.scan.captures import Catalogue
from analyzers.logs.scan.event_times import NO_TIME, EventTimes
from analyzers.logs.scan.kernel import Scanner
from analyzers.logs.scan.lines import classify
from analyzers.logs.scan.origin import Origin
from tests.examples import examples

STAMPS = (
    "2026-11-01 09:53:20,123 ", "2026-11-01 09:53:59.999 ", "[2026-11-01 09:53:20,123] ", "2026-11-01T09:53:20.123 ", "26/11/01 09:53:20 ", "[26/11/01 09:53:20] ",
    "2026-11-01T09:53:20.123Z ", "2026-11-01T09:53:20.123Z ", "[2026-11-01T09:53:20.123Z] ", "2026-11-01 09:53:20.123Z ", "2026-11-01T09:53:20.1234Z ",
    "2026-11-01T09:53:20.123+01:00 ", "2026-11-01 09:53:20,123 +0100 ", "2026-11-01T09:53:60.123Z ", "2026-02-30T09:53:20.123Z ", "2026-02-30 09:53:20,123 ",
    "2026-11-01T09:53:20.123456+01:00  ", "2026-11-01T09:53:20.123456789Z ", "2026-11-01 09:53:20.12 UTC ", "[2026-11-01 09:53:20.123456] ", "2026-11-01T09:53:20Z ",
    "2026-11-01 09:53:20:123 ", "2026-11-01T09:53:20-0330: ", "2026-11-01 09:53:20.123 +02:00x ", "2026-11-01 09:53:20.1234567890 ",
    "2026-11-01 09:53:20 ", "0000-01-01T00:00:00.000Z ", "2026-11-01T09:53:20.123Z", "\tat ",
)  # fmt: skip
ENVELOPES = (NO_TIME, NO_TIME, 1793526800500, 1793530400500, 1793525900123, 1793526350124)
ZONES = (Zone(), Zone("inferred", 7_200_000), Zone("option", 3_600_000), Zone("option", 0, "Europe/Berlin"))


@settings(max_examples=examples(400), deadline=None)
@given(
    lines=st.lists(st.tuples(st.sampled_from(STAMPS), st.sampled_from(ENVELOPES)), min_size=1, max_size=12),
    zone=st.sampled_from(ZONES),
    stated=st.booleans(),
)
def test_together_and_one_by_one(lines: list[tuple[str, int]], zone: Zone, stated: bool) -> None:
    text = "".join(f"{stamp}INFO a.B - x\n" for stamp, _ in lines).encode()
    found = classify(text)
    places, times = np.arange(len(lines)), np.array([envelope for _, envelope in lines])
    block = Block(text, found.starts, found.ends, found.kinds, found.headers, places, places, times, places[:0], places[:0])
    scanner = Scanner(Origin("a.log", 0, zone=zone), Catalogue(()))
    scanner.clock.envelope_zone = "stated" if stated else zone.kind
    together = EventTimes(scanner.clock, block, places)
    ats, _, _ = together.plain(places)
    for number, at in enumerate(ats):
        if at is not None:
            assert (at, together.zone) == EventTimes(scanner.clock, block, places).of(number)


def test_what_wrappings_leave_is_read_together() -> None:
    for stamp, envelope, zone in (
        (STAMPS[0], NO_TIME, "assumed-utc"),
        (STAMPS[0], 1793526800500, "inferred"),
        (STAMPS[6], NO_TIME, "stated"),
        ("2026-11-01T10:53:20.123456+01:00 ", NO_TIME, "stated"),
        ("2026-11-01 09:53:20.123456 ", NO_TIME, "assumed-utc"),
        ("[2026-11-01 10:53:20.123456] ", 1793526800500, "inferred"),
    ):
        text = f"{stamp}INFO a.B - x\n".encode()
        found = classify(text)
        place = np.zeros(1, np.int64)
        block = Block(text, found.starts, found.ends, found.kinds, found.headers, place, place, np.array([envelope]), place[:0], place[:0])
        times = EventTimes(Scanner(Origin("a.log", 0), Catalogue(())).clock, block, place)
        assert times.plain(place)[0] == [1793526800123]
        assert times.zone == zone
