"""Lag for people: the total first, then each group with its worst partition last, and what that lag is made of on a line of its own."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

from analyzers.report.durations import counted, span
from analyzers.report.report import Report
from analyzers.tables import Row
from cli.renderers.checkpoint_listing import printable_line
from cli.renderers.group_listing import members_of, offsets_at, quotas_of
from cli.renderers.wording import printable, when

_WIDTH = 80
_MOST_GROUPS = 12
_MOST_PARTITIONS = 12
_BAR = 8
_TEETH = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_FINDINGS = ("stall", "stop", "rewind", "warn")
_RIGHT = (True, False, True, False, False)  # of the columns behind the name

LEFT_OUT = "are left out by the brokers"
"""In notes on what this user is not shown, without any error."""

Place = tuple[str, str, int]


def render(report: Report, *, members: bool = False) -> str:
    """The group that is furthest behind last, with its `members`; at most 80 columns, but for names that are longer."""
    facts = report.facts
    truth = facts.get("lag_truth", [])
    status = {_place(row): row for row in facts.get("lag_status", ())}
    owners = {_place(row): row for row in facts.get("committed_offsets", ())}
    groups = {row["group"]: row for row in facts.get("groups", ())}
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in truth:
        by_group[row["group"]].append(row)
    moment = f"; as of {when(report.as_of)} UTC" if report.as_of else ""
    lines = [f"Looked at {report.looked_at or 'nothing that could be read'}{moment}"]
    for source in (s for s in report.sources if s.state != "ok"):
        lines += [f"Not whole: {source.name}", *(f"  - {why}" for why in (source.why or source.state).split("; "))]
    # beside a table only what the table cannot show
    notes = [note for note in report.notes if not groups or LEFT_OUT in note]
    if notes:
        lines += ["", *notes]
    if truth:
        lines += ["", _total(truth, status)]
    order = sorted(by_group, key=lambda group: (_behind(by_group[group]), group))
    if len(order) > _MOST_GROUPS:
        lines += ["", f"… {len(order) - _MOST_GROUPS} groups that are less behind; -o json has all"]
    for group in order[-_MOST_GROUPS:]:
        lines += ["", *_group(group, groups.get(group), by_group[group], status, owners)]
        lines += quotas_of(group, facts) + (members_of(group, groups.get(group, {}), facts) if members else [])
    lines += offsets_at(facts)
    lines += [f"group {name}: {row['error']}" for name, row in sorted(groups.items()) if row["error"]]
    return "".join(printable_line(part) + "\n" for line in lines for part in _folded(line))


def _folded(line: str) -> list[str]:
    """A sentence that is wider than the screen, its further lines below its own beginning."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def _place(row: Row) -> Place:
    return row["group"], row["topic"], row["partition"]


def _behind(rows: Sequence[Row]) -> int:
    return sum(row["lag_records"] or 0 for row in rows)


def _left(rows: Sequence[Row], one: str = "", many: str = "") -> str:
    """How many records are behind, and on how many partitions that is unknown: a sum over nothing known is no 0.

    Offsets that hold no record are none; beyond the log end offset there is no lag to count.
    """
    known = [row for row in rows if _holds_nothing(row) or (row["lag_records"] is not None and row["truth"] != "beyond-end")]
    empty = sum(row["lag_records"] or 0 for row in known if row["truth"] == "transaction-markers")
    unknown = f"unknown on {counted(len(rows) - len(known), 'partition')}"
    if not known:
        return f"lag {unknown}"
    words = f"{_behind(known) - empty:,} {one if _behind(known) - empty == 1 else many}behind on {counted(len(known), 'partition')}"
    return words + (f", {unknown}" if len(known) < len(rows) else "")


def _holds_nothing(row: Row) -> bool:
    """Whether there is no record that could be behind, although nothing was ever committed."""
    return bool(row["truth"] == "never-committed" and row["at_most"] == 0)


def _total(truth: Sequence[Row], status: Mapping[Place, Row]) -> str:
    ages = [row["time_lag_seconds"] for row in status.values() if row["time_lag_seconds"] is not None]
    words = f"{counted(len({row['group'] for row in truth}), 'group')}: {_left(truth, 'record ', 'records ')}"
    if ages:
        words += f"; the oldest unread record is {_seconds(max(ages))} old"
    return words


def _group(name: str, group: Row | None, rows: Sequence[Row], status: Mapping[Place, Row], owners: Mapping[Place, Row]) -> Iterator[str]:
    yield f"{printable(name)}: {_left(rows)}{_who(group)}{_rates(rows, status)}"
    shown = sorted(rows, key=lambda row: (row["lag_records"] is not None, row["lag_records"] or 0, row["topic"], -row["partition"]))
    empty = [row for row in shown if _holds_nothing(row)]
    shown = [row for row in shown if not _holds_nothing(row)]
    if empty:
        yield f"  {counted(len(empty), 'partition')} without a commit and without a record"
    busy = [row for row in shown if row["lag_records"] != 0 or row["truth"] != "caught-up"]
    if len(shown) > 1 and len(busy) < len(shown):
        yield f"  {counted(len(shown) - len(busy), 'partition')} caught up"
        shown = busy
    if len(shown) > _MOST_PARTITIONS:
        yield f"  … {counted(len(shown) - _MOST_PARTITIONS, 'partition')} less behind"
        shown = shown[-_MOST_PARTITIONS:]
    highest = max((row["lag_records"] or 0 for row in shown), default=0) or 1
    cells = [_cells(row, status.get(_place(row)), highest) for row in shown]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    room = _WIDTH - 4 - sum(widths[1:]) - 2 * (len(widths) - 1)
    for own in cells:
        place = _clipped(own[0], max(16, room)).ljust(min(widths[0], max(16, room)))
        others = zip(own[1:], widths[1:], _RIGHT, strict=True)
        yield f"  {place}  " + "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in others)
    yield from _explained(shown, status, owners)


def _explained(shown: Sequence[Row], status: Mapping[Place, Row], owners: Mapping[Place, Row]) -> Iterator[str]:
    """The arithmetic of the worst partition of each truth, the worst of all last, with who holds it."""
    worst: dict[str, Row] = {}
    for row in shown:  # ascending: the last of each counts
        worst.pop(row["truth"], None)
        worst[row["truth"]] = row
    for row in worst.values():
        yield f"    {row['topic']}-{row['partition']}: {row['says']}"
    if shown:
        last = shown[-1]
        owner, own = owners.get(_place(last), {}), status.get(_place(last), {})
        if owner.get("host"):
            yield f"    held by {owner['client']} on {owner['host']}"
        if own.get("status") in _FINDINGS:
            yield f"    {own['status']}: {own['because']}"
        if own.get("time_doubt"):
            yield f"    no lag in time: {own['time_doubt']}"


def _cells(row: Row, status: Row | None, highest: int) -> list[str]:
    lag = row["lag_records"]
    own = status or {}
    history = [int(value) for value in own.get("history") or ()]
    age = own.get("time_lag_seconds")
    never = own.get("never") and own["status"] in _FINDINGS  # two looks more may show another rate: said only where a rule says it, too
    # a lag that is younger than the time it was watched for is no backlog, and a steady one is not worked off
    backlog = own.get("trend") == "shrinking" and history[-1] < history[0] and (age is None or age >= (own.get("window_seconds") or 0))
    done = own.get("catch_up_seconds") if backlog else None
    ahead = f"done in {_seconds(done)}" if done is not None else "never done" if never else ""
    return [
        f"{row['topic']}-{row['partition']}",
        "-" if lag is None else f"{lag:,}",
        spark(history) if len(history) >= 4 else bar(lag or 0, highest),
        "" if age is None else f"{_seconds(age)} old",
        ahead,
        row["truth"],
    ]


def _who(group: Row | None) -> str:
    if group is None or group["members"] is None:
        return ""
    if group["members"]:
        return f", {counted(group['members'], 'member')} ({group['state']})"
    return ", no members (assigns partitions itself, or stopped)" if group["simple"] else ", all members have left"


def _rates(rows: Sequence[Row], status: Mapping[Place, Row]) -> str:
    own = [status[_place(row)] for row in rows if _place(row) in status]
    written = [row["produced_per_second"] for row in own if row["produced_per_second"] is not None]
    read = [row["consumed_per_second"] for row in own if row["consumed_per_second"] is not None]
    if not written:
        return ""
    return f"; {sum(written):,.0f}/s written" + (f", {sum(read):,.0f}/s read" if len(read) == len(written) else "")


def bar(value: int, highest: int) -> str:
    """A bar of at most eight characters, in eighths; something for anything above 0."""
    eighths = round(_BAR * 8 * value / highest)
    eighths = max(1, eighths) if value else 0
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def spark(values: Sequence[int]) -> str:
    """The last eight of `values` as a line of blocks, from the lowest to the highest of them."""
    last = values[-_BAR:]
    low, high = min(last), max(last)
    return "".join(_TEETH[round((len(_TEETH) - 1) * (value - low) / (high - low))] if high > low else _TEETH[0] for value in last)


def _clipped(name: str, most: int) -> str:
    """A name with its end, which is the partition."""
    return name if len(name) <= most else name[: most - 9] + "…" + name[-8:]


def _seconds(seconds: float) -> str:
    return span(timedelta(seconds=seconds))
