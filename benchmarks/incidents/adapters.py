"""What answers the cases. An adapter gives an `Answer` per case, or a sentence why it cannot be asked about it."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.incidents.cases import Case
from benchmarks.incidents.marks import Answer

Outcome = Answer | str
"""An answer, or why there is none."""


class Adapter(Protocol):
    """What is compared. `about` is a sentence for the table's legend."""

    name: str
    about: str

    def absent(self) -> str | None:
        """Why it cannot run here at all; None if it can."""

    def answers(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        """One outcome a case. It may read `case.evidence` and `case.rest`, and no label."""

    def command(self, case: Case) -> list[str] | None:
        """What one would type for one case, to measure its seconds and memory; None where there is no such thing."""


@dataclass
class Constant:
    """The same answer to everything: what any mark is worth above nothing."""

    name: str
    about: str
    answer: Answer

    def absent(self) -> str | None:
        return None

    def answers(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        return ((case, self.answer) for case in cases)

    def command(self, case: Case) -> list[str] | None:
        return None


_FOLKLORE = (
    "Restart the job from its last checkpoint.",
    "Raise the checkpoint timeout, the restart attempts and max.poll.interval.ms.",
    "If it happens again, increase memory and parallelism.",
)
WELL = Constant("all is well", "the same all-clear each time", Answer("The job is healthy: nothing to do.", 0, False))
RESTART = Constant(
    "restart it",
    "the same folklore each time",
    Answer(f"Kafka or a service behind the job was slow or could not be reached. {' '.join(_FOLKLORE)}", 1, True, _FOLKLORE),
)


class Grep:
    """The last ``Caused by`` of all files, and the last line of each of a few keywords."""

    name = "grep"
    about = "the last `Caused by` line, and the last line of each of ten keywords; every line printed is a cause named"
    KEYWORDS = (
        "OutOfMemoryError|Java heap space|OOMKilled",
        "No space left on device",
        "Checkpoint expired|checkpoint.*declined",
        "TimeoutException|timed out",
        "Connection refused",
        "Deserializ|SerializationException|NumberFormatException|JsonParse",
        "AuthorizationException|AccessDenied|Not authorized|permission denied",
        "OffsetOutOfRange|out of range",
        "CommitFailed|commit failed",
        "FATAL|Traceback|panic:",
    )

    def __init__(self) -> None:
        self._caused_by = re.compile(r"Caused by")
        self._keywords = [re.compile(each) for each in self.KEYWORDS]

    def absent(self) -> str | None:
        return None

    def answers(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        for case in cases:
            begun = time.monotonic()
            lines = [line for text in case.texts().values() for line in text.splitlines()]
            last = [next((line for line in reversed(lines) if each.search(line)), None) for each in (self._caused_by, *self._keywords)]
            shown = list(dict.fromkeys(line.strip() for line in last if line))
            yield case, Answer("\n".join(shown), len(shown), bool(shown), seconds=time.monotonic() - begun)

    def command(self, case: Case) -> list[str] | None:
        place = shlex.quote(str(case.evidence))
        each = (f"grep -rhaE {shlex.quote(keyword)} {place} | tail -1" for keyword in ("Caused by", *self.KEYWORDS))
        return ["sh", "-c", "; ".join(each)]


class Transcripts:
    """An LLM agent, by what it answered elsewhere: a directory with one ``CASE.json`` a case (``/`` of its name as ``_``).

    ``{"answer": text, "causes": [text, …], "alarm": true|false, "advice": [text, …], "seconds": number}``: `answer` is what it would show
    to its user, `causes` the root causes that it names in it, `advice` the steps that it asks for. Nothing is asked over a network here.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.name = f"agent {directory.name}"
        self.about = "an LLM agent, by its transcripts"

    def absent(self) -> str | None:
        return None if any(self._directory.glob("*.json")) else f"{self._directory} holds no transcripts (CASE.json)."

    def answers(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        for case in cases:
            yield case, self._read(self._directory / f"{case.name.replace('/', '_')}.json")

    @staticmethod
    def _read(path: Path) -> Outcome:
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
            answer, causes, alarm, advice = (found[key] for key in ("answer", "causes", "alarm", "advice"))
        except FileNotFoundError:
            return "it has no transcript"
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"{path.name} is no transcript: {type(error).__name__} {error}"
        kinds = (isinstance(answer, str), isinstance(alarm, bool), *(isinstance(each, list) for each in (causes, advice)))
        if not all(kinds) or not all(isinstance(each, str) for each in (*causes, *advice)):
            return f"{path.name} is no transcript: answer and steps are texts, causes and advice lists of texts, alarm is true or false"
        seconds = found.get("seconds")
        return Answer(answer, len(causes), alarm, tuple(advice), seconds if isinstance(seconds, (int, float)) else None)

    def command(self, case: Case) -> list[str] | None:
        return None
