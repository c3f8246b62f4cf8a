"""A JobManager whose answers make no sense costs what they would have told, and never a crash."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.derived import derive
from analyzers.tables import TABLES
from analyzers.tables.arrow import arrow
from cli.collectors.flink_recording import Recording, open_recording
from cli.collectors.flink_rest import _Picture
from cli.collectors.flink_transport import Answer
from cli.renderers.acknowledgements import acknowledgements
from cli.shell.exits import CannotLook
from tests.examples import examples
from tests.rest_replay import OLD, POISON, RECORDINGS, STUCK

NONSENSE = [None, "", "NaN", "x", -1, 0, 1 << 70, 1.5, float("nan"), True, [], {}, [None], [[]], {"id": []}, ["a", {}]]


@dataclass(frozen=True)
class Garbling:
    """A recording in which some values of each answer are something else."""

    recording: Recording
    random: Random

    @property
    def name(self) -> str:
        return "garbled"

    def ask(self, paths: Sequence[str]) -> dict[str, Answer]:
        return {path: replace(answer, body=self._garbled(answer.body)) for path, answer in self.recording.ask(paths).items()}

    def _garbled(self, body: Any) -> Any:
        places = list(_places(body))
        if not places or self.random.random() < 0.5:
            return body
        body = copy.deepcopy(body)
        for place in self.random.choices(places, k=2):
            inside = body
            for key in place[:-1]:
                inside = inside[key] if isinstance(inside, (dict, list)) and _has(inside, key) else None
            if isinstance(inside, (dict, list)) and _has(inside, place[-1]):
                inside[place[-1]] = self.random.choice(NONSENSE)
        return body


def _has(inside: dict[Any, Any] | list[Any], key: Any) -> bool:
    return key in inside if isinstance(inside, dict) else isinstance(key, int) and key < len(inside)


def _places(body: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = body.items() if isinstance(body, dict) else enumerate(body[:3]) if isinstance(body, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from _places(value, (*above, key))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from([STUCK, POISON, OLD]), seed=st.integers(0, 1 << 32))
def test_no_answer_whatever_it_says_is_a_crash(name: str, seed: int) -> None:
    recording = open_recording(RECORDINGS / name)
    picture = _Picture(Garbling(recording, Random(seed)), now=recording.captured_at, settle_seconds=0.0)
    try:
        found = picture.taken()
    except CannotLook:
        return
    whole = derive(found.tables)
    for table, rows_found in whole.items():
        arrow(TABLES[table], rows_found)  # every value is of its column's type
    acknowledgements(whole)
