"""Does the state belong to this program: state of operators that it no longer has, and operators that would start empty?

Source: Flink's ``Checkpoints.loadAndValidateCheckpoint``. State is matched by operator id alone, which is the hash of the uid, or of the
graph around an operator without one (StreamGraphHasherV2). State without an operator refuses the restore unless non-restored state is
allowed; an operator without state starts empty, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN, answer, counted, some
from analyzers.derived.planned.restore.case import Answer, Restore, about, named
from analyzers.tables import Row

_SHOW_ALL = (
    "Give --against a checkpoint of the program to be started, or as --job-graph its plan made with chaining off "
    "(POST /jars/JARID/plan; diag explain PRE902 shows how)."
)
_TELL = "Say which program: --against a checkpoint of it, --flink-rest where it runs, or --job-graph with its plan (POST /jars/JARID/plan)."
_NAMED_UIDS = 5
"""First version of ``_metadata`` with names and uids."""


def left_over(case: Restore) -> Iterator[Answer]:
    """State of operators that the program does not have."""
    if not case.whole:
        return
    if not case.program:
        says = f"whether the program still has the {counted(len(case.with_state), 'operator')} with state is not known"
        yield answer("operators", UNKNOWN, says, _TELL, **about(case.with_state))
        return
    left = [row for row in case.with_state if row["operator"] not in case.planned]
    if not left:
        says = f"the program has each of the {counted(len(case.with_state), 'operator')} with state, by id{_no_uids(case)}"
        yield answer("operators", GOES, says, number=len(case.with_state))
        return
    bytes_left = f"{sum(row['size_bytes'] or 0 for row in left):,} bytes of state"
    certain = _absent_for_sure(case, left)
    if certain and case.plan["allow_non_restored"]:
        says = f"{bytes_left} of {some([named(row) for row in left])} are left behind: the program has no such operator"
        yield answer(
            "operators", GOES, says, "Make sure that this state may be lost: it is in no checkpoint of the new job.", **about(left)
        )
    elif certain and case.shows_all:
        has = "has no operator with that id" if len(left) == 1 else "has no operators with these ids"
        says = f"{bytes_left} belong to {some([named(row) for row in left])}, and the program {has}: Flink refuses to restore it"
        yield answer("operators", BREAKS, says, _repair(case, left), **about(left))
    elif certain:
        lost = len(left) - (case.chained or 0)
        says = (
            f"of {counted(len(left), 'operator')} with state ({some([named(row) for row in left])}) at least {lost} have none in the "
            f"program: it chains only {case.chained} whose ids the plan does not show. Flink refuses to restore it"
        )
        yield answer("operators", BREAKS, says, _repair(case, left), **about(left))
    else:
        says = f"whether the program has {some([named(row) for row in left])} is not known: {_why_unknown(case)}"
        yield answer("operators", UNKNOWN, says, _SHOW_ALL, **about(left))


def _no_uids(case: Restore) -> str:
    bare = [row for row in case.with_state if not row["uid"]]
    if (case.file or {}).get("version", 0) < _NAMED_UIDS or not bare:
        return ""
    return f" ({counted(len(bare), 'of them has', 'of them have')} no uid: any change of the graph around it changes its id)"


def _absent_for_sure(case: Restore, left: Sequence[Row]) -> bool:
    """Whether some of `left` have no operator, wherever chained operators may be.

    A plan that was made with chaining off shows all ids, but those of operators without a uid are then not the ones they really get.
    """
    if case.shows_all:
        from_plan = all(row["source"] == "plan" for row in case.program)
        return not (from_plan and len(case.program) > 1) or all(row["uid"] for row in left)
    return case.chained is not None and len(left) > case.chained


def _why_unknown(case: Restore) -> str:
    if case.shows_all:
        return "the plan has no chains, and where it was made with chaining off, operators without a uid have other ids in it"
    if case.chained is None:
        return "a plan shows the id of the first operator of each vertex only, and not how many are chained behind it"
    hidden = counted(case.chained, "operator is", "operators are")
    return f"a plan shows the id of the first operator of each vertex only, and {hidden} chained behind these"


def _new(case: Restore) -> list[Row]:
    known = {row["operator"] for row in case.operators}
    return [row for key, row in case.planned.items() if key not in known]


def _repair(case: Restore, left: Sequence[Row]) -> str:
    """What to change: the uid where an operator of the same name has another one now, else the program or the restore."""
    new = {row["name"]: row for row in _new(case) if row["name"]}
    renamed = [row for row in left if row["name"] in new]
    if renamed:
        first = renamed[0]
        is_now = new[first["name"]]
        uid = f'uid("{first["uid"]}")' if first["uid"] else f'setUidHash("{first["operator"]}")'
        now = f"its uid is {is_now['uid']} now" if is_now["uid"] else f"its id is {is_now['operator']} now"
        return f"Give {first['name']} its old id back: {uid} ({now})."
    ids = ", ".join(f'uid("{row["uid"]}")' if row["uid"] else f'setUidHash("{row["operator"]}")' for row in left[:3])
    return f"Give the operators their old ids: {ids}. Only if that state may be lost: restore with --allowNonRestoredState."


def start_empty(case: Restore) -> Iterator[Answer]:
    """Operators of the program that the checkpoint does not know; Flink starts them without state, and says nothing."""
    if not case.whole or not case.program:
        return
    new = _new(case)
    if new:
        are = "is not in it and starts" if len(new) == 1 else "are not in it and start"
        says = f"{counted(len(new), 'operator')} of the program {are} empty: {some([named(row) for row in new])}"
        yield answer("new-operators", GOES, says, "Make sure that these are new: one that had state before has lost its uid.", **about(new))
    elif case.shows_all:
        yield answer("new-operators", GOES, "no operator of the program starts empty: it knows all of them")
