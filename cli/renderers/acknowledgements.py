"""Who acknowledged which checkpoint, as the JobManager tells: the series, and a matrix of subtasks and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzers.tables import Row
from cli.renderers.wording import clipped, clock

_NAME = 34
_MOST_SUBTASKS = 12
_MOST_COLUMNS = 5
_ROLES = {"culprit": "<- holds the barrier", "frontier": "<- the barrier stopped here", "victim": "back-pressured, waits"}
PHASES = (("start_delay_ms", "start delay"), ("alignment_ms", "alignment"), ("sync_ms", "sync"), ("async_ms", "async"))

Facts = Mapping[str, Sequence[Row]]


def acknowledgements(facts: Facts) -> list[str]:
    """Lines for each job of a JobManager; empty where none was asked. 80 columns hold them."""
    lines: list[str] = []
    for job in facts.get("jobs", ()):
        own = {name: [row for row in rows if row["job"] == job["job"]] for name, rows in facts.items()}
        if own.get("vertices"):
            lines += [
                "",
                f"Job {job['job']} as the JobManager tells:",
                f"  {job['name']}, {job['state']}",
                *_series(own),
                *matrix(own),
                *_slowest(own.get("checkpoint_acks", ())),
            ]
    return lines


def _series(own: Facts) -> Iterator[str]:
    rows = sorted(own.get("checkpoints", ()), key=lambda row: row["checkpoint"])
    if not rows:
        yield "  no checkpoint is remembered"
        return
    yield f"  {'id':>6} {'status':<12} {'triggered':<9} {'took':>9} {'acknowledged':>13} {'state':>9}"
    for row in rows:
        lasted = row["duration_ms"]
        if row["status"] == "IN_PROGRESS" and row["captured_at"] and row["triggered_at"]:
            lasted = int((row["captured_at"] - row["triggered_at"]).total_seconds() * 1000)
        status = "savepoint" if row["savepoint"] else str(row["status"]).lower().replace("_", " ")
        done = f"{row['acknowledged']}/{row['subtasks']}" if row["subtasks"] is not None else "-"
        times = f"{clock(row['triggered_at']):<9} {took(lasted):>9}"
        yield f"  {row['checkpoint']:>6} {status:<12} {times} {done:>13} {_size(row['state_bytes']):>9}"
        if row["failure"]:
            yield f"         {clipped(row['failure'], 70)}"
    for told in own.get("checkpoint_series", ()):
        if told["idle_seconds"] is None or told["interval_ms"] is None:
            continue
        since = "since the last that completed" if told["last_completed"] is not None else "since the start, none completed"
        yield f"  {told['idle_seconds']} s {since}; one is due every {told['interval_ms'] / 1000:g} s"
        if told["replay_records"] is not None:
            yield f"  a restart now reads at least {told['replay_records']:,} records again"


def matrix(own: Facts) -> Iterator[str]:
    """A line per vertex where all its subtasks are alike, else per subtask that lacks an acknowledgement."""
    acks = own.get("checkpoint_acks", ())
    ids = sorted({row["checkpoint"] for row in acks})[-_MOST_COLUMNS:]
    if not ids:
        return
    yield ""
    yield f"  {'acknowledged after':<{_NAME + 8}}" + "".join(f"{number:>9}" for number in ids)
    by_place = {(row["vertex"], row["subtask"], row["checkpoint"]): row for row in acks}
    roles = {(row["vertex"], row["subtask"]): row for row in own.get("barrier_frontier", ())}
    for vertex in own["vertices"]:
        parallelism = vertex["parallelism"] or 0
        told = [s for s in range(parallelism) if any((vertex["vertex"], s, n) in by_place for n in ids)]
        odd = [s for s in told if (vertex["vertex"], s) in roles] or _unlike(by_place, vertex["vertex"], told, ids)
        for subtask in odd[:_MOST_SUBTASKS]:
            role = roles.get((vertex["vertex"], subtask))
            yield _line(vertex["task"], f"({subtask + 1}/{parallelism})", _cells(by_place, vertex["vertex"], [subtask], ids))
            yield from _role(role) if role is not None else ()
        rest = [s for s in told if s not in odd[:_MOST_SUBTASKS]]
        if rest:
            number = f"(all {parallelism})" if len(rest) == parallelism else f"({len(rest)} more)"
            yield _line(vertex["task"], number, _cells(by_place, vertex["vertex"], rest, ids))
    yield "  × = not acknowledged; n/m × = n of m did; else the slowest subtask's time"


def _unlike(by_place: Mapping[tuple[str, int, int], Row], vertex: str, told: Sequence[int], ids: Sequence[int]) -> list[int]:
    """Subtasks that lack an acknowledgement which others of their vertex gave."""
    lacking = {n: [s for s in told if (row := by_place.get((vertex, s, n))) is not None and row["status"] != "completed"] for n in ids}
    return sorted({s for missing in lacking.values() if len(missing) < len(told) for s in missing})


def _cells(by_place: Mapping[tuple[str, int, int], Row], vertex: str, subtasks: Sequence[int], ids: Sequence[int]) -> list[str]:
    cells = []
    for number in ids:
        own = [row for s in subtasks if (row := by_place.get((vertex, s, number))) is not None]
        done = [row for row in own if row["status"] == "completed"]
        if not own:
            cells.append("?")
        elif len(done) == len(own):
            cells.append(took(max((row["duration_ms"] or 0 for row in done), default=0)))
        else:
            cells.append(f"{len(done)}/{len(own)} ×" if done else "×")
    return cells


def _line(task: str, number: str, cells: Sequence[str]) -> str:
    return f"  {clipped(task, _NAME - 1):<{_NAME}}{number:<8}" + "".join(f"{cell:>9}" for cell in cells)


def _role(role: Row) -> Iterator[str]:
    """What is known of one that lacks acknowledgements."""
    words = [_ROLES[role["role"]], role["reason"] if role["role"] == "culprit" else None]
    shares = [f"{name} {role[column]:.0%}" for name, column in (("busy", "busy"), ("waits", "backpressured")) if role[column] is not None]
    yield "    " + ", ".join([*(word for word in words if word), *shares, *([role["resource"]] if role["resource"] else [])])
    if role["user_frame"]:
        yield f"      at {role['user_frame']}"


def _slowest(acks: Sequence[Row]) -> Iterator[str]:
    """The phases of the slowest subtask of the newest checkpoint that all acknowledged."""
    whole = {n for n in {row["checkpoint"] for row in acks} if all(r["status"] == "completed" for r in acks if r["checkpoint"] == n)}
    if not whole:
        return
    slowest = max((row for row in acks if row["checkpoint"] == max(whole)), key=lambda row: row["duration_ms"] or 0)
    phases = ", ".join(f"{name} {took(slowest[column])}" for column, name in PHASES if slowest[column] is not None)
    if phases:
        yield f"  slowest of {max(whole)}: subtask {slowest['subtask']} (from 0) of {clipped(slowest['task'], 40)}"
        yield f"    {phases}"


def took(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "-"
    if milliseconds < 10_000:
        return f"{milliseconds} ms"
    return f"{milliseconds / 1000:.0f} s" if milliseconds < 600_000 else f"{milliseconds / 60_000:.0f} min"


def _size(size_bytes: int | None) -> str:
    number = float(size_bytes or 0)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
