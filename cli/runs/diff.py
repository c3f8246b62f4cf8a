"""Two looks at one job to what differs between them: reports are read, bundles and logs are judged on one engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from analyzers.comparison.difference import Difference, compare
from analyzers.comparison.sides import NotComparable, Side
from analyzers.report.durations import counted
from cli.options.shared import RunOptions
from cli.runs.left_out import left_out
from cli.runs.looks import chosen, look, saved_report
from cli.shell.exits import CannotLook, ExitCode

if TYPE_CHECKING:
    from cli.engine.spark import Engine


def run(
    places: tuple[str, str],
    options: RunOptions,
    *,
    version: str,
    any_job: bool = False,
    engine: Callable[[], Engine],
    progress: Callable[[str], None] = lambda said: None,
) -> Difference:
    """What differs from the first of `places` to the second. `engine` is started where one of them is to be judged.

    Raises `CannotLook` where one of them cannot be read, or nothing can be said of both together; `UsageError`.
    """
    try:
        sides = [saved_report(place) for place in places]
        if None in sides:
            with engine() as own:
                own.prepare_session()
                sides = [
                    side or look(place, options, own, version=version, progress=progress) for side, place in zip(sides, places, strict=True)
                ]
        before, after = (side for side in sides if side is not None)
        return difference(before, after, options, any_job=any_job)
    except NotComparable as error:
        raise CannotLook(f"{error.message}.", error.hint) from error


def difference(before: Side, after: Side, options: RunOptions, *, any_job: bool = False) -> Difference:
    """What differs, without the findings that the options leave out; how many these are is said. Raises `NotComparable`."""
    (before, left_before), (after, left_after) = (chosen(side, options.keeps) for side in (before, after))
    found = compare(before, after, any_job=any_job)
    said = [
        f"{counted(len(left), 'finding')} of {letter} left out ({', '.join(sorted(set(left)))})"
        for letter, left in (("A", left_before), ("B", left_after))
        if left
    ]
    said += left_out(replace(options, ignore=()))  # what has expired
    return replace(found, remarks=(*found.remarks, *said)) if said else found


def exit_code(found: Difference, fail_on: str) -> int:
    """1 where a finding is new or worse, or A did not judge it, at or above `fail_on`; 3 where nothing differs but B was not read."""
    from analyzers.report.finding import Severity

    if fail_on != "never" and found.worst is not None and found.worst.rank >= Severity(fail_on).rank:
        return ExitCode.FINDINGS
    if found.unread:
        return ExitCode.CANNOT_LOOK
    return ExitCode.CLEAN
