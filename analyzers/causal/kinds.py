"""What a failure that no rule knows asks for, by its inferred kind: a clause for the headline, and steps; data, to be read aloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Asks:
    """`clause` follows the name of what failed (``MySQL`` ``lacks what is asked for``); `steps` may name it as {called}."""

    clause: str
    steps: tuple[str, ...]


KINDS: Mapping[str, Asks] = {
    "program": Asks(
        "does not fit together: a class, method or module is missing or of another version",
        (
            "Put what the words name on the class path (or into the Python environment) of every process, in one version and one copy.",
            "Start the job again.",
        ),
    ),
    "setting": Asks("cannot use a setting", ("Correct the setting that the words name.", "Start the job again.")),
    "missing": Asks(
        "does not have what is asked for",
        ("Create what the words name, or let the job name the one that is there: table, topic, file, subject.",),
    ),
    "access": Asks("refuses access", ("Give the job's login the permission that the words name, or renew the login, key or certificate.",)),
    "expired": Asks(
        "no longer accepts what was valid for a time",
        (
            "Renew what has expired.",
            "*flink, spark, beam:* Where it comes from restored state (a transaction, a cursor, a lease), start from a newer checkpoint.",
        ),
    ),
    "conflict": Asks(
        "refuses it because it exists already or another writer changes it",
        ("Find who else writes, and stop the second writer.", "Where it is the job's own earlier write, change its label or identifier."),
    ),
    "data": Asks(
        "cannot take a record",
        (
            "Find the record: its position stands in the words or in the lines before, else each restart begins just before it.",
            "Skip it, send it to a dead-letter topic, or widen what takes it (schema, column, limit).",
        ),
    ),
    "damaged": Asks(
        "holds bytes that are not what was written",
        (
            "1. *flink, spark, beam:* Restore what the words name from a replica or a backup, or start from a checkpoint without it.",
            "1. Restore what the words name from a replica or a backup.",
        ),
    ),
    "full": Asks("has no room left", ("Free or enlarge what the words name, then start the job again.",)),
    "exhausted": Asks(
        "has no more of a limited resource to give",
        ("Find who holds it (connections, slots, quota): close what leaks, or ask for less at once.", "Only then raise the limit."),
    ),
    "fenced": Asks(
        "has given the place to another holder", ("Find the second copy that holds the same identifier, and stop it or give it its own.",)
    ),
    "gone": Asks(
        "no longer keeps the wanted position",
        ("Start from a position that is still kept, or with a snapshot.", "Keep the log longer than the longest stop of the job."),
    ),
    "refused": Asks("refuses the call", ("Change what it refuses: the request, the setting or the state that its words name.",)),
    "unavailable": Asks("cannot be reached", ("Bring {called} back, or the way to it.", "Then let the job restart.")),
    "unanswered": Asks(
        "does not answer in time",
        ("See what {called} is busy with at that time, and take load off it.", "Set a timeout and bounded retries."),
    ),
    "memory": Asks("has no memory left", ("Bound what it keeps in memory, or give its process more.",)),
}
