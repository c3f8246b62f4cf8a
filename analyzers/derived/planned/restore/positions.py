"""Are the positions of its sources still in Kafka, and would a restore read splits twice?

Flink asks neither. A KafkaSource that is out of range goes by auto.offset.reset, which its starting offsets decide, and skips or reads
again, with a line of INFO and no more (recorded with 2.3: "Fetch position … is out of range … resetting offset"). Beam's FlinkRunner 2.52
to 2.62 starts its enumerator anew on a restore and deals splits that the readers have in their state (SPL101).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzers.derived.checkpoints.split_audit import split_audit
from analyzers.derived.planned.answers import BREAKS, GOES, MOST_KEPT, UNKNOWN, answer, counted, some
from analyzers.derived.planned.restore.case import Answer, Restore, version_of
from analyzers.tables import Row

_BEAM = ("beam", "beam-kafka")
_DOUBLE, _FIXED = (2, 52), (2, 63)
_ASK = "Ask the brokers: --bootstrap-server, or --command-config."


def _splits(case: Restore, role: str = "reader") -> list[Row]:
    return [row for row in case.rows("splits") if row["path"] == case.path and row["role"] == role]


def _unread(case: Restore) -> str | None:
    """Why not all positions of the checkpoint could be read."""
    rows = [row for row in case.rows("sources") if row["name"] == case.path and row["state"] != "ok"]
    return next((row["why"] for row in rows if row["why"] and "positions" in row["why"]), None)


def offsets(case: Restore) -> Iterator[Answer]:
    """Offsets in the readers' state against the ends of the logs."""
    unread = _unread(case)
    if unread is not None:
        yield answer("offsets", UNKNOWN, unread, "Ask where its state files can be read.")
    held = [row for row in _splits(case) if row["topic"] is not None and row["offset"] is not None]
    if not held:
        return
    own: dict[str, Any] = {"partitions": [str(row["identity"]) for row in held][:MOST_KEPT], "number": len(held)}
    if "log_offsets" not in case.tables:
        says = f"whether Kafka still has the {counted(len(held), 'position')} of its sources is not known: {case.no_broker}"
        yield answer("offsets", UNKNOWN, says, _ASK, topics=_topics(held), **own)
        return
    audited = [row for row in split_audit(case.tables) if row["scope"] == case.scope and row["path"] == case.path]
    problems = {row["identity"]: row for row in audited if row["seen_by"] == "broker" and row["problem"] != "not-discovered"}
    ends = {(row["topic"], row["partition"]) for row in case.rows("log_offsets") if None not in (row["log_start"], row["high_watermark"])}
    yield from _out_of_range(held, problems)
    silent = [row for row in held if row["identity"] not in problems and (row["topic"], row["partition"]) not in ends]
    if silent:
        says = (
            f"where the logs of {counted(len(silent), 'partition')} begin and end is not known: {some([row['identity'] for row in silent])}"
        )
        yield answer(
            "offsets",
            UNKNOWN,
            says,
            "Look at the brokers that lead them, and whether this user may DESCRIBE the topics.",
            **_places(silent),
        )
    elif not problems:
        yield answer(
            "offsets", GOES, f"Kafka has every one of the {counted(len(held), 'position')} of its sources", topics=_topics(held), **own
        )
    added = [row for row in audited if row["problem"] == "not-discovered"]
    if added:
        says = (
            f"{counted(len(added), 'partition')} of its topics are not in it ({some([row['identity'] for row in added])}): the source "
            "reads them from their beginning where it discovers partitions"
        )
        yield answer("new-partitions", GOES, says, None, **_places(added))


_MARKER = 1
"""Offsets that the end of a transaction takes: as many may be all that retention has deleted."""
_LOST = {
    "below-log-start": "below the log start: retention has deleted what is between",
    "beyond-log-end": "beyond the log end: the topic was recreated or truncated, or these are other brokers",
    "topic-gone": "of a topic that the brokers do not have: it was deleted, or these are other brokers",
}


def _out_of_range(held: list[Row], problems: dict[str, Row]) -> Iterator[Answer]:
    for problem, why in _LOST.items():
        found = [row for row in problems.values() if row["problem"] == problem]
        if not found:
            continue
        first = found[0]
        edge = (
            ""
            if first["log_edge"] is None
            else f", and the log {'starts' if problem == 'below-log-start' else 'ends'} at {first['log_edge']}"
        )
        says = f"{len(found)} of its {counted(len(held), 'position')} lie {why} ({first['identity']} is at {first['offsets'][0]}{edge}). "
        if problem == "below-log-start" and all(row["log_edge"] - int(row["offsets"][0]) <= _MARKER for row in found):
            says += "Perhaps only the marker of a transaction was there"
            yield answer(
                "offsets",
                UNKNOWN,
                says,
                "Look at what the topic held there: transactional writers end each transaction so.",
                **_places(found),
            )
            continue
        if problem == "below-log-start":
            gap = sum(row["log_edge"] - int(row["offsets"][0]) for row in found)
            says += f"{gap:,} offsets are skipped, or read from the newest on, and Flink does not fail"
            todo = (
                "Restore from a later checkpoint whose positions Kafka still has. Without one these records are lost to the job: raise "
                "retention.ms before the next stop."
            )
        elif problem == "beyond-log-end":
            says += "Records are read again or skipped, as auto.offset.reset decides, and Flink does not fail"
            todo = (
                "Make sure that these are the job's brokers. If the topic is new, start its source under a new uid, so that it begins anew."
            )
        else:
            says += "The source cannot read them"
            todo = "Create the topic again and start its source under a new uid, or take it out of the program."
        yield answer("offsets", BREAKS, says, todo, **_places(found))


def _topics(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["topic"]) for row in rows))[:MOST_KEPT]


def _places(rows: list[Row]) -> dict[str, Any]:
    return {"topics": _topics(rows), "partitions": [str(row["identity"]) for row in rows][:MOST_KEPT], "number": len(rows)}


def double_reading(case: Restore) -> Iterator[Answer]:
    """Splits that two readers hold already, and splits that Beam would deal a second time."""
    if case.file is None or case.file["state"] != "complete":
        return
    twice = [row for row in split_audit(case.tables) if row["path"] == case.path and row["problem"] == "held-twice"]
    if twice:
        first = twice[0]
        says = (
            f"{counted(len(twice), 'split')} are in the state of two readers already ({first['identity']} of subtasks "
            f"{' and '.join(first['subtasks'])}): each record of them is read twice after a restore, too"
        )
        todo = "Restore from an older checkpoint that holds each split once, or start the source under a new uid."
        yield answer("double-reading", BREAKS, says, todo, **_identities(twice))
    beam = [row for row in _splits(case) if row["connector"] in _BEAM]
    if not beam or twice:
        return
    stated = case.plan["beam_version"]
    version = version_of(stated)
    if version is None:
        says = f"its readers hold {counted(len(beam), 'split')} of Beam, and Beam 2.52 to 2.62 deals them a second time on a restore"
        yield answer(
            "double-reading",
            UNKNOWN,
            says,
            "Say with which version of Beam the program is built: --beam-version 2.63.0.",
            **_identities(beam),
        )
    elif _DOUBLE <= version < _FIXED:
        says = (
            f"Beam {stated} starts its enumerator anew on a restore and deals the {counted(len(beam), 'split')} again that its readers "
            "have in their state: every record is read twice from then on"
        )
        todo = (
            "Start without the checkpoint, from committed offsets, with Beam 2.63 or later: it cannot read checkpoints of an older Beam "
            "(InvalidClassException), and does not do that with its own."
        )
        yield answer("double-reading", BREAKS, says, todo, **_identities(beam))
    elif version < _DOUBLE:
        says = f"its readers hold {counted(len(beam), 'split')} of Beam, and how Beam {stated} restores them was never looked at"
        yield answer("double-reading", UNKNOWN, says, "Try it on a copy, and count.", **_identities(beam))
    else:
        says = f"Beam {stated} does not deal the {counted(len(beam), 'split')} again that are in its readers' state"
        yield answer("double-reading", GOES, says, None, **_identities(beam))
        says = f"whether Beam {stated} wrote it is not known: its splits are Java objects, which 2.70 cannot read of 2.62"
        yield answer(
            "beam-version", UNKNOWN, says, "Restore with the version of Beam that wrote it. Start from committed offsets with another one."
        )


def _identities(rows: list[Row]) -> dict[str, Any]:
    return {"partitions": [str(row["identity"]) for row in rows][:MOST_KEPT], "number": len(rows)}
