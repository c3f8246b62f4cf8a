"""What `diag watch` knows, as OpenMetrics for node-exporter's textfile collector: gauges only, which older Prometheus formats have, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analyzers.report.finding import Severity
from analyzers.watching.state import State

Samples = Iterable[tuple[Mapping[str, str], float]]
_SEVERITIES = [each.value for each in Severity if each is not Severity.UNDECIDED]
_MOST_LABEL = 200


@dataclass(frozen=True)
class LastLook:
    """When the last look was (seconds since 1970), how long it took, whether it read all that was named, and how old the newest line of
    the logs was then (seconds; None: not known)."""

    at: float
    seconds: float
    complete: bool
    newest_age: float | None = None


def render(state: State, look: LastLook, names: Mapping[str, str]) -> str:
    """The whole text, which ends in ``# EOF``. `names`: what receivers are called, by their key in the state."""
    there = [item for item in state.items if item.is_open]
    by_severity = Counter(item.document["severity"] for item in there)
    receivers = [(names.get(key, key), each) for key, each in sorted(state.receivers.items())]
    families: list[tuple[str, str, Samples]] = [
        ("diag_watch_open_findings", "Findings that are open.", [({"severity": each}, by_severity[each]) for each in _SEVERITIES]),
        (
            "diag_watch_finding_open",
            "1 for each finding that is open.",
            [({**item.labels, "severity": item.document["severity"]}, 1) for item in sorted(there, key=lambda item: item.key)],
        ),
        ("diag_watch_last_look_timestamp_seconds", "When the last look was.", [({}, round(look.at, 3))]),
        ("diag_watch_last_look_duration_seconds", "How long the last look took.", [({}, round(look.seconds, 3))]),
        ("diag_watch_last_look_complete", "1 where the last look read all that was named.", [({}, int(look.complete))]),
        (
            "diag_watch_newest_line_age_seconds",
            "How old the newest line of the logs was at the last look.",
            [] if look.newest_age is None else [({}, round(look.newest_age, 3))],
        ),
        ("diag_watch_looks", "Looks so far.", [({}, state.looks)]),
        ("diag_watch_waiting_messages", "Messages not delivered yet.", [({"receiver": n}, len(each.waiting)) for n, each in receivers]),
        (
            "diag_watch_dropped_messages",
            "Messages dropped since the last delivery.",
            [({"receiver": name}, each.dropped) for name, each in receivers],
        ),
    ]
    return "".join(line for family in families for line in _family(*family)) + "# EOF\n"


def _family(name: str, what: str, samples: Samples) -> Iterable[str]:
    yield f"# TYPE {name} gauge\n"
    yield f"# HELP {name} {what}\n"
    for labels, value in samples:
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{{{shown}}} {value:.15g}\n" if shown else f"{name} {value:.15g}\n"


def _escaped(text: str) -> str:
    """A value of a label: what a log or a job is called may hold anything."""
    cut = text[:_MOST_LABEL].encode("utf-8", "replace").decode("utf-8")
    return "".join(_ESCAPES.get(each, each) for each in cut)


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": " ", "\0": " "}
