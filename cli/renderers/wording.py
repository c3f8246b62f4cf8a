"""How one thing is said in every format for people: times, subjects, counts, and text that is safe to print."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from analyzers.report.durations import counted
from analyzers.report.finding import Defect, NotChecked, Quote
from analyzers.report.outcome import doubt, probably, went_on
from analyzers.report.report import Report, Source

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def printable(text: str) -> str:
    """`text` on one line and without control characters: a log line must not move the cursor or hide a word (bidirectional marks)."""
    if text.isprintable():  # nearly every text: 10,000 partitions have 100,000 of them
        return " ".join(text.split())
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """`text` without control characters, its spaces as they are."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _instead(c) for c in _ESCAPE_SEQUENCE.sub("", text))


def _instead(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) == "Cf" else "\ufffd" if character > "\x7f" else "?"


def clipped(text: str, most: int) -> str:
    """`text` on one line, at most `most` characters."""
    line = printable(text)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def times_are(report: Report) -> str:
    """Of whose clock the times are; a log's own are named, so that `grep` finds its lines."""
    return "times are UTC" + (f", the logs' own are {' and '.join(report.log_clocks)}" if report.log_clocks else "")


def iso(at: datetime | None) -> str | None:
    """ISO-8601 UTC with ``Z``, to the millisecond; microseconds only where a clock gave them."""
    if at is None:
        return None
    at = at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)
    return at.isoformat(timespec="microseconds" if at.microsecond % 1000 else "milliseconds").replace("+00:00", "Z")


def when(at: datetime | None) -> str:
    """Date and time to the second, UTC is said elsewhere; a question mark when the evidence has no time."""
    return "?" if at is None else at.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def clock(at: datetime | None) -> str:
    """Time of day to the second."""
    return "?" if at is None else at.astimezone(timezone.utc).strftime("%H:%M:%S")


def quoted(quote: Quote) -> str:
    """The words with the class whose message they are, as a trace prints them."""
    thrown = (quote.thrown or "").rpartition(".")[2]
    return printable(quote.words if not thrown or thrown in quote.words else f"{thrown}: {quote.words}")


_ARCHIVE = re.compile(r"\.(?:zip|tgz|tzst|tar(?:\.\w{1,4})?)$", re.IGNORECASE)


def file_name(file: str) -> str:
    """The file in which to count lines: of an archive its member, of an export of streams the export."""
    stored, _, inside = file.partition("!")
    while inside and _ARCHIVE.search(stored):
        stored, _, inside = inside.partition("!")
    return posixpath.basename(stored)


def quote_place(quote: Quote) -> str:
    """``jobmanager.log:487 ×12``."""
    name = file_name(quote.file or "")
    place = f"{name}:{quote.line}" if name and quote.line is not None else name
    return printable(place + (f" ×{quote.count}" if quote.count > 1 else ""))


def subject_words(subject: Mapping[str, Any]) -> list[str]:
    """The subject as an engineer says it, most precise place first; the subtask as Flink's logs show it: ``enrich (2/4)``."""
    left = {key: value for key, value in subject.items() if value is not None and value != []}
    words: list[str] = []
    if "task" in left or "subtask" in left:
        words.append(_task(left))
    if "topic" in left:
        words.append(_topic(left))
    for key, label in (("user_frame", "at"), ("exit_code", "exit code")):
        if key in left:
            words.append(f"{label} {printable(_joined(left.pop(key)))}")
    others = {key: value for key, value in left.items() if key != "parallelism" or len(left) == 1}
    words.extend(f"{key.replace('_', ' ')} {printable(_joined(value))}" for key, value in others.items())
    return words


def _task(left: dict[str, Any]) -> str:
    task, subtask, parallelism = left.pop("task", None), left.pop("subtask", None), left.pop("parallelism", None)
    name = f"task {printable(_joined(task))}" if task is not None else "subtask"
    if subtask is None:
        return name
    if isinstance(subtask, list):
        return f"{name} " + ", ".join(f"({s + 1}/{parallelism})" if isinstance(parallelism, int) else f"#{s}" for s in subtask)
    return f"{name} ({subtask + 1}/{parallelism})" if isinstance(parallelism, int) else f"{name} #{subtask} (counted from 0)"


def _topic(left: dict[str, Any]) -> str:
    topic, partition, offset = left.pop("topic"), left.pop("partition", None), left.pop("offset", None)
    words = f"topic {printable(_joined(topic))}"
    if partition is not None:
        words += f" partition {_joined(partition)}"
    if offset is not None:
        words += f" offset {_joined(offset)}"
    return words


def _joined(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(v) for v in value[:8]) + (f" and {len(value) - 8} more" if len(value) > 8 else "")
    return str(value)


def unchecked_by_reason(not_checked: Iterable[NotChecked]) -> list[tuple[str, list[str]]]:
    """Why, and the codes it concerns; most frequent reason first."""
    reasons: dict[str, list[str]] = {}
    for each in not_checked:
        reasons.setdefault(each.because, []).append(each.code)
    return sorted(((because, sorted(codes)) for because, codes in reasons.items()), key=lambda item: (-len(item[1]), item[0]))


def unchecked_lines(not_checked: Iterable[NotChecked]) -> list[str]:
    """A line for each reason, with the codes it concerns."""
    return [f"{printable(because)}: {_runs(codes)}" for because, codes in unchecked_by_reason(not_checked)]


def _runs(codes: Iterable[str]) -> str:
    """``BRK111–117, LAG101, LAG102``: three or more codes in a row as one range. `codes` are sorted; ``-o plain`` and JSON name each."""
    runs: list[list[str]] = []
    for code in codes:
        last = runs[-1][-1] if runs else ""
        if runs and code[:3] == last[:3] and code[3:].isdigit() and last[3:].isdigit() and int(code[3:]) == int(last[3:]) + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return ", ".join(f"{run[0]}–{run[-1][3:]}" if len(run) > 2 else ", ".join(run) for run in runs)


def troubled_sources(report: Report) -> list[tuple[str, str]]:
    """State and words of each source that could not be read whole. What several lack alike is said once; ``-o plain`` names each.

    A folder of which only things below it are missing is told by those.
    """
    bad = [s for s in report.sources if s.state != "ok"]
    below = {s.name for s in bad for other in bad if other is not s and other.name.startswith(s.name.rstrip("/") + "/")}
    alike: dict[tuple[str, str], list[Source]] = {}
    for source in bad:
        if source.name not in below or "of the things below it" not in (source.why or ""):
            alike.setdefault((source.state, (source.why or source.state).partition(": ")[0]), []).append(source)
    out = []
    for (state, _), sources in alike.items():
        why = printable(sources[-1].why or state)
        more = f"{why.rstrip('.')}; the same of {len(sources) - 1} more" if len(sources) > 1 else why
        out.append((state, f"{printable(sources[-1].name)}: {more}"))
    return out


def looked_at(report: Report) -> str:
    """What there was, from when to when, and who looked."""
    begin, end = report.window
    reach = f"; {when(begin)} – {when(end)} UTC" if begin and end else ""
    return printable(f"{report.looked_at or 'nothing that could be read'}{reach}; {report.tool} {report.version}")


def crashed(defect: Defect) -> str:
    """One line about a rule that broke."""
    return printable(f"{defect.code}: {(defect.error.splitlines() or [''])[0]}")


MOST_UNREAD = 2  # the sources are listed above, too; the last sentence says what the exit code is about


def all_clear(report: Report, findings: str = "above") -> str:
    """One informative paragraph for a report without a verdict; it never says more than what was looked at.

    `findings`: where they stand, above or below.
    """
    failed = [s for s in report.sources if s.state == "failed"]
    partial = [s for s in report.sources if s.state == "partial"]
    judged = len(report.clean) + len({f.code for f in report.findings})
    unchecked = unchecked_by_reason(report.not_checked)
    if not judged and not report.defects and not report.not_checked:
        return (
            f"{report.looked_at}: facts only, nothing was judged." if report.looked_at else "Nothing was read, and so nothing was judged."
        )
    if not judged:
        return f"No verdict: no rule could judge ({_reasons(unchecked) or 'all of them crashed'}){probably(report)}."
    gone = next((s.why for s in failed if s.kind == "spark"), None)
    if gone is not None:  # those that are clean had nothing to look at
        unjudged = sum(each.because == gone for each in report.not_checked)
        return f"No verdict: {counted(unjudged, 'rule')} had something to look at and could not judge it ({printable(gone)})."
    looked = f"{counted(judged, 'rule')}{', ' + report.looked_at if report.looked_at else ''}"
    unread = "".join(f"Could not look at {printable(s.name)}: {printable((s.why or s.state).rstrip('.'))}. " for s in failed[:MOST_UNREAD])
    parts = [f"{unread}{looked}: {_outcome(report, findings)}", *(f"not seen: {hidden.rstrip('.')}" for hidden in report.unseen)]
    parts.extend(note.rstrip(".") for note in report.notes if not notes_of_their_own(report))
    if failed:
        parts.append(f"{counted(len(failed), 'source')} could not be read, so this holds for the rest only")
    if partial:
        parts.append(f"{counted(len(partial), 'source')} could be read only in part, so this holds for what was seen")
    if unchecked:
        told = [(because, codes) for because, codes in unchecked if because not in [s.why for s in failed[:MOST_UNREAD]]]
        parts.append(f"{counted(len(report.not_checked), 'rule')} not checked{f' ({_reasons(told)})' if told else ''}")
    if report.defects:
        parts.append(f"{counted(len(report.defects), 'rule')} crashed, a defect in diag")
    return "; ".join(parts) + "."


def nothing_wrong(report: Report) -> str | None:
    """`all_clear` in short, for a page that has a row for each thing that was not seen; None where there is more to say than that."""
    if not is_clear(report) or went_on(report) or not report.looked_at:
        return None
    begin, end = report.window
    reach = f" ({when(begin)} – {clock(end) if begin.date() == end.date() else when(end)} UTC)" if begin and end else ""
    return (
        f"Nothing {'else ' * bool(report.left_out)}wrong found in {report.looked_at}{reach}. {counted(len(report.clean), 'rule')} judged."
    )


def is_clear(report: Report) -> bool:
    """Whether `all_clear` says that nothing is wrong, or that the job is well now."""
    well = bool(report.clean) and not report.found and not report.defects and all(s.state != "failed" for s in report.sources)
    return well and doubt(report) is None


def notes_of_their_own(report: Report) -> list[str]:
    """The notes that `all_clear` does not say: all of them beside a verdict, beside tables, and where nothing was judged.

    Beside tables there may be one for each consumer group: a list, no part of a sentence.
    """
    said_by_all_clear = not report.verdicts and not report.facts and bool(report.clean or report.found)
    return [] if said_by_all_clear else report.notes


def _outcome(report: Report, where: str) -> str:
    if not report.found:
        why = doubt(report)
        return why[0].lower() + why[1:] if why else went_on(report) or f"nothing {'else ' * bool(report.left_out)}wrong found"
    severities = [f.severity.value for f in report.found]
    each = ", ".join(f"{severities.count(s)} {s}" for s in ("critical", "warning", "info") if s in severities)
    suggested = probably(report)
    why = f"no verdict{suggested}" if suggested else "no verdict, nothing found that explains a stalled or restarting job"
    return f"{why}; {counted(len(severities), 'finding')} {where} ({each})"


def _reasons(unchecked: list[tuple[str, list[str]]]) -> str:
    shown = [printable(because) for because, _ in unchecked[:3]]
    more = len(unchecked) - len(shown)
    return "; ".join(shown) + (f"; {counted(more, 'other reason')}" if more > 0 else "")
