"""Does the max parallelism fit that the state was written with?

Source: ``Checkpoints.loadAndValidateCheckpoint`` (a max parallelism that the program sets must be that of the state, also of operators
without state), ``StateAssignmentOperation.checkParallelismPreconditions`` (no more subtasks than the state's max parallelism; one that
the program does not set is taken from the state), ``KeyGroupRangeAssignment.computeDefaultMaxParallelism``.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN, answer, counted
from analyzers.derived.planned.restore.case import Answer, Restore, about, named
from analyzers.tables import Row

_LOWEST, _HIGHEST = 1 << 7, 1 << 15


def default_max(parallelism: int) -> int:
    """What Flink derives where none is set: half as many again, as a power of two, from 128 to 32,768."""
    wanted = parallelism + parallelism // 2
    return min(max(1 << max(0, wanted - 1).bit_length(), _LOWEST), _HIGHEST)


def max_parallelism(case: Restore) -> Iterator[Answer]:
    """One answer for both of Flink's checks: the worst."""
    if not case.whole or not case.operators:
        return
    recorded = sorted({row["max_parallelism"] for row in case.operators})
    written = f"it was written with max parallelism {', '.join(map(str, recorded))}"
    pairs = [(row, case.planned[row["operator"]]) for row in case.operators if row["operator"] in case.planned]
    wide = [(row, its) for row, its in pairs if its["parallelism"] is not None and its["parallelism"] > row["max_parallelism"]]
    if wide:
        row, its = wide[0]
        says = (
            f"{named(row)} would have {its['parallelism']} subtasks, and its state was written with max parallelism "
            f"{row['max_parallelism']}{_and_more(len(wide))}: Flink refuses to restore it"
        )
        todo = (
            f"Start it with a parallelism of at most {min(row['max_parallelism'] for row, _ in wide)}. More needs state written anew with "
            "a higher max parallelism (State Processor API)."
        )
        yield answer("max-parallelism", BREAKS, says, todo, **about([row for row, _ in wide]))
        return
    sets = _set_to(case)
    other = [
        (row, sets.get(row["operator"], sets.get(""))) for row in case.operators if case.program == [] or row["operator"] in case.planned
    ]
    other = [(row, value) for row, value in other if value is not None and value != row["max_parallelism"]]
    if other:
        row, value = other[0]
        says = (
            f"the program sets max parallelism {value} for {named(row)}, and its state was written with {row['max_parallelism']}"
            f"{_and_more(len(other))}: Flink refuses to restore it"
        )
        todo = f"Set it to {row['max_parallelism']} again (pipeline.max-parallelism, setMaxParallelism), or take the setting out."
        yield answer("max-parallelism", BREAKS, says, todo, **about([row for row, _ in other]))
        return
    widest = max((its["parallelism"] or 0 for its in case.program), default=0)
    fits = bool(case.program) and all(its["parallelism"] is not None for its in case.program) and widest <= recorded[0]
    if fits and (all(row["operator"] in sets or "" in sets for row, _ in pairs) or _same_as_recorded(pairs)):
        yield answer(
            "max-parallelism",
            GOES,
            f"{written}; the program sets no other value, and an operator has at most {counted(widest, 'subtask')}",
        )
    elif case.plan["max_parallelism"] is not None and not case.program:
        says = f"{written}, as the program sets it; whether one has more subtasks than that is not known"
        yield answer("max-parallelism", UNKNOWN, says, "Add --job-graph, --flink-rest or --against: they show the parallelism.")
    else:
        others = sorted({its["max_parallelism"] for row, its in pairs if its["max_parallelism"] not in (None, row["max_parallelism"])})
        says = f"{written}; whether the program sets another one is not known"
        if others:
            runs = ", ".join(map(str, others))
            says = f"{written}, and the program runs with {runs}; whether it sets that, or took it from its own state, is not known"
        elif fits:
            says = f"{written}, and {counted(widest, 'subtask')} fit; whether the program sets another max parallelism is not known"
        todo = (
            f"Look for pipeline.max-parallelism and setMaxParallelism in the program, and give what it sets: --max-parallelism "
            f"{recorded[0]}. A program that sets none takes it from the state."
        )
        yield answer("max-parallelism", UNKNOWN, says, todo)


def _and_more(number: int) -> str:
    return f" (and so {counted(number - 1, 'other operator')})" if number > 1 else ""


def _same_as_recorded(pairs: list[tuple[Row, Row]]) -> bool:
    return bool(pairs) and all(its["max_parallelism"] == row["max_parallelism"] for row, its in pairs)


def _set_to(case: Restore) -> dict[str, int]:
    """The max parallelism that the program is known to set, by operator id; "" for all of them.

    A running job that was not restored itself has what was set for a vertex, or the default for its parallelism.
    """
    stated = case.plan["max_parallelism"]
    if stated is not None:
        return {"": stated}
    found: dict[str, int] = {}
    for key, row in case.planned.items():
        if row["source"] != "rest":
            continue
        if (row["configured_max"] or 0) > 0:
            found[""] = row["configured_max"]
        own = row["max_parallelism"]
        if own and row["job_restored"] is False and row["parallelism"] and own != default_max(row["parallelism"]):
            found[key] = own
    return found
