"""The barrier grid as HTML: vertex × subtask, and who has not acknowledged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzers.tables import Row
from cli.renderers.acknowledgements import PHASES, took
from cli.renderers.markup import Markup, Part, element, joined, text
from cli.renderers.wording import printable

_MOST_CELLS = 400  # of a vertex
_FEW = 16  # subtasks of a vertex: then several checkpoints stand side by side
_CHECKPOINTS = 3
_SIGNS = {"acknowledged": "✓", "culprit": "✗", "frontier": "✗", "victim": "·", "lacking": "·", "unknown": "?"}
_SAYS = {
    "acknowledged": "acknowledged", "culprit": "holds the barrier", "frontier": "the barrier stopped here",
    "victim": "back-pressured, waits", "lacking": "has not acknowledged", "unknown": "not known",
}  # fmt: skip


def grid(own: Mapping[str, Sequence[Row]]) -> Iterator[Markup]:
    """The newest checkpoints of one job, a column each, of its own rows; nothing where no acknowledgement is known."""
    acks = {(row["vertex"], row["subtask"], row["checkpoint"]): row for row in own.get("checkpoint_acks", ())}
    roles = {(row["vertex"], row["subtask"], row["checkpoint"]): row for row in own.get("barrier_frontier", ())}
    known = sorted({number for _, _, number in acks})
    stuck = max((number for _, _, number in roles), default=known[-1] if known else 0)
    widest = max((vertex["parallelism"] or 0 for vertex in own.get("vertices", ())), default=0)
    ids = [n for n in known if n <= stuck][-(_CHECKPOINTS if widest <= _FEW else 1) :]
    if not ids:
        return
    head = element("tr", element("th", "vertex"), *(element("th", f"checkpoint {number}") for number in ids))
    rows = []
    for vertex in sorted(own.get("vertices", ()), key=lambda row: row["position"] or 0):
        cells = (element("td", *_cells(vertex, number, acks, roles), data_label=f"checkpoint {number}") for number in ids)
        rows.append(element("tr", element("th", text(vertex["task"]), f" ×{vertex['parallelism']}"), *cells))
    seen = dict.fromkeys(_kind(acks.get(key), roles.get(key)) for key in acks if key[2] in ids)
    legend = (element("i", element("span", _SIGNS[kind], class_=f"cell {kind}"), _SAYS[kind]) for kind in _SAYS if kind in seen)
    yield element(
        "section",
        element("h3", "Acknowledgements"),
        element("div", element("table", element("thead", head), element("tbody", *rows), class_="grid"), class_="wide"),
        element("p", joined(legend, " "), class_="legend"),
    )


def _cells(vertex: Row, number: int, acks: Mapping[tuple[str, int, int], Row], roles: Mapping[tuple[str, int, int], Row]) -> Iterator[Part]:
    parallelism = vertex["parallelism"] or 0
    keys = [(vertex["vertex"], subtask, number) for subtask in range(parallelism)]
    if parallelism > _MOST_CELLS:  # those that acknowledged are counted
        keys.sort(key=lambda key: (_kind(acks.get(key), roles.get(key)) == "acknowledged", key))
    for key in keys[:_MOST_CELLS]:
        ack, role = acks.get(key), roles.get(key)
        kind = _kind(ack, role)
        words = [f"{vertex['task']} ({key[1] + 1}/{parallelism}): {_SAYS[kind]}"]
        if role is not None:
            words += [word for word in (role["reason"], role["user_frame"] and f"at {role['user_frame']}", role["resource"]) if word]
        elif ack is not None and ack["duration_ms"] is not None:
            phases = [f"{name} {took(ack[column])}" for column, name in PHASES if ack[column] is not None]
            words.append(f"after {took(ack['duration_ms'])}" + (f" ({', '.join(phases)})" if phases else ""))
        yield element("span", _SIGNS[kind], class_=f"cell {kind}", title=printable(", ".join(words)))
    if parallelism > _MOST_CELLS:
        yield f" and {parallelism - _MOST_CELLS:,} more"


def _kind(ack: Row | None, role: Row | None) -> str:
    if role is not None:
        return str(role["role"]) if role["role"] in _SIGNS else "unknown"
    if ack is None or ack["status"] == "unknown":
        return "unknown"
    return "acknowledged" if ack["status"] == "completed" else "lacking"
