"""What a failure is about, by all of its lines: what their columns, their texts and their process agree on.

A rule's subject holds what its own columns say. Which topic, transactional id, file or table it is often stands in the words of the lines
themselves, and of which group or client it is in another line of the same process.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from analyzers.tables import Row

_COLUMNS = ("task", "subtask", "parallelism", "topic", "partition", "offset", "group", "client", "host", "broker", "address", "checkpoint")
_OF_PROCESS = ("group", "client", "topic")
_RANDOM = re.compile(r"spark-(?:kafka-source|executor)-|console-consumer-\d")
"""Groups that a client makes up for one run."""
_WITHIN = {"subtask": "task", "parallelism": "subtask", "partition": "topic", "offset": "partition"}
"""Keys that say nothing without the other."""
_TOPIC = r"(?P<topic>[A-Za-z][\w.-]*)"
_NO_NAME = (
    r"(?!(?:[Aa]nd|are|as|at|authorization|by|config\w*|could|coordinator|did|does|failed|for|from|had|has|id|in|is|level|list|may|member\w*"
    r"|metadata|might|must|names?|not|of|offsets?|on|or|partitions?|protocol|rebalanc\w*|session|should|subscription|that|the|to|was|were"
    r"|which|will|with|would)\b)"
)
_TEXTS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:[Tt]opic-?)?[Pp]artition[ =:\[(]+{_TOPIC}-(?P<partition>\d+)\b(?:[^\n]{{0,30}}?\boffset[ =:]+(?P<offset>\d+))?",
        rf"\b{_TOPIC}(?:-| ?\[+)(?P<partition>\d+)\]* ?@(?P<offset>\d+)\b",
        rf"\b[Tt]opic(?:[ =:]+|[=: ]*[\['\"]){_NO_NAME}{_TOPIC}(?![\w.-]|:/)",
        rf"\b[Tt]opics?\b[^\n\[]{{0,40}}\[{_TOPIC}\]",
        r"\bbroker(?:\.?[Ii]d)?=(?P<broker>\d+)\b",
        rf"\b[Gg]roup(?:[Ii]d)?(?:[ =:]+|[=: ]*[\['\"]){_NO_NAME}(?P<group>[A-Za-z]\w*[._-][\w.-]+)",
        r"\b(?:[Tt]ransactional(?:\.id|Id| id|ID)[ =:'\"]+|Committing transaction )(?P<transactional_id>[\w.:/-]*\w)",
        r"\bstream-thread \[(?P<thread>[^\]\n]+)\]",
        r"\b[Ll]abel[ =:'\"\[]+(?P<label>[A-Za-z][\w-]*\d[\w-]*)",
        r"\bchk-(?P<checkpoint>\d+)\b|\b[Cc]heckpoint (?P<checkpoint_>\d+)\b",
        r"\b(?:[Tt]able|relation|collection)(?:[ =:]*[\"'`](?P<table>[\w.]+)[\"'`]|[ =:]+(?P<table_>[A-Za-z]\w*(?:\.\w+){1,2})\b)",
        r"\breplication slot [\"'](?P<slot>[\w.-]+)[\"']",
        r"(?P<path>\b(?:s3[an]?|hdfs|gs|abfss?|oss|wasbs?)://[^\s'\",)\]>]+)",
    )
)
_LONGEST, _LONGEST_OF_PROCESS = 6_000, 400
_MOST_ROWS, _MOST_OF_PROCESS = 50, 100


def named_in(rows: Sequence[Row], of_process: Iterable[Row]) -> dict[str, Any]:
    """By key the one value that all `rows` that have any agree on; `of_process`: events of the same logs, for what a process is called."""
    found: dict[str, set[Any]] = defaultdict(set)
    for row in rows[:_MOST_ROWS]:
        for key, value in _said(row).items():
            found[key].add(value)
    agreed = {key: next(iter(values)) for key, values in found.items() if len(values) == 1}
    agreed |= {key: value for key, value in _of_process(of_process).items() if key not in found}
    return {key: value for key, value in agreed.items() if _stands(key, agreed)}


def _said(row: Row, longest: int = _LONGEST) -> Mapping[str, Any]:
    return _in_text((row["text"] or "")[:longest]) | {key: value for key in _COLUMNS if (value := row.get(key)) is not None}


@lru_cache(maxsize=1024)
def _in_text(text: str) -> dict[str, Any]:
    """What the typed patterns find; not to be changed."""
    said: dict[str, Any] = {}
    for pattern in _TEXTS:
        if (m := pattern.search(text)) is not None:
            for key, value in m.groupdict().items():
                if value not in (None, "null", "None"):
                    said.setdefault(key.rstrip("_"), int(value) if value.isdigit() else value.rstrip("."))
    return said


def _of_process(events: Iterable[Row]) -> dict[str, Any]:
    found: dict[str, set[Any]] = {key: set() for key in _OF_PROCESS}
    for number, event in enumerate(events):
        said = _said(event, _LONGEST_OF_PROCESS) if number < _MOST_OF_PROCESS else event
        for key, values in found.items():
            if len(values) < 2 and (value := said.get(key)) is not None:
                values.add(value)
    return {key: name for key, values in found.items() if len(values) == 1 and not _RANDOM.match(name := next(iter(values)))}


def _stands(key: str, agreed: Mapping[str, Any]) -> bool:
    """Whether what a value lies in is known as well."""
    return key not in _WITHIN or (_WITHIN[key] in agreed and _stands(_WITHIN[key], agreed))
