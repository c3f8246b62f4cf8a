"""What was noticed beside the findings, in words: the same rows, in the same order, in every format for people."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from analyzers.report.durations import counted
from analyzers.report.noticed import Noticed
from analyzers.report.report import Report
from cli.renderers.wording import clock, printable, subject_words

_SEEN_ELSEWHERE = frozenset({"exception", "user_frame", "host"})
"""Keys of a subject that `says` has already, or that lead nowhere."""


def says(noticed: Noticed) -> str:
    """What happened, and to what."""
    about = ", ".join(_about(noticed))
    return printable(noticed.says) + (f" ({about})" if about else "")


def _about(noticed: Noticed) -> list[str]:
    subject = {key: value for key, value in noticed.subject.items() if key not in _SEEN_ELSEWHERE}
    words = []
    topic, partition = subject.get("topic"), subject.get("partition")
    if isinstance(topic, str) and isinstance(partition, int):
        offset = subject.pop("offset", None)
        words.append(printable(f"{topic}-{partition}" + (f" at {offset}" if offset is not None else "")))
        subject = {key: value for key, value in subject.items() if key not in ("topic", "partition")}
    if "group" in subject:
        subject.pop("client", None)  # one is named after the other
    return words + subject_words(subject)


def time(noticed: Noticed) -> str:
    """When it was, from the first to the last."""
    if noticed.first is None:
        return ""
    first, last = clock(noticed.first), clock(noticed.last)
    return first if first == last else f"{first}–{last}"


def place(noticed: Noticed) -> str:
    """``jobmanager.log:487``: the first line; of standard input ``log:1``."""
    one = next((one for one in noticed.evidence if one.file and one.line is not None), None)
    if one is None or one.file is None:
        return ""
    return printable(f"{'log' if one.file == '-' else posixpath.basename(one.file)}:{one.line}")


def whole_place(noticed: Noticed) -> str:
    """File and line of the first one, as they were read."""
    one = next((one for one in noticed.evidence if one.file), None)
    return "" if one is None else f"{one.file}:{one.line}" if one.line is not None else str(one.file)


def counts(noticed: Iterable[Noticed]) -> str:
    """``3 kinds of warnings and errors, 14 lines``."""
    rows = list(noticed)
    return f"{counted(len(rows), 'kind')} of warnings and errors, {counted(sum(each.count for each in rows), 'line')}"


def decides(report: Report, rows: Sequence[Noticed]) -> list[str]:
    """What would decide: more of the logs, and the command for the first of `rows` that has one."""
    if report.fragment:
        more = "more of this log"
    elif any(row.is_open and row.completed_since is None for row in rows):
        more = "the logs of the job's other processes"
    else:
        more = "how the log goes on"
    commands = [row.next_command for row in rows if row.next_command and not row.normal]
    if report.fragment:  # to read what was pasted decides nothing
        commands = [command for command in commands if command.startswith("diag ")]
    return [more, *(printable(command.partition("   #")[0]) for command in commands[:1])]
