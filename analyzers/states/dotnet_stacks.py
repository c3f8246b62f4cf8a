"""Stacks of .NET: `dotnet-stack report`, and `clrstack -all` of SOS (`dotnet-dump analyze`).

Sources: dotnet/diagnostics, ``dotnet-stack/ReportCommand`` and ``SOS/Strike`` (ClrStackImpl).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzers.components import component_of
from analyzers.logs.matching.expressions import expression
from analyzers.states.stacks import MOST_STACKS, Doing, Frame, Stack, called, consumes, kind_of, state_of, waits_of
from analyzers.states.state import State, Text

SIGNS = (b"[Native Frames]", b"Thread (0x", b"OS Thread Id: 0x")

_HEAD = expression(r"^(?:Thread \((?P<id>0x[0-9A-Fa-f]+)\):|OS Thread Id: (?P<os>0x[0-9A-Fa-f]+)(?: \(\d+\))?)\s*$")
_COUNTED = expression(r"^Found (?P<count>\d+) threads? with (?:the )?(?:same|identical) stack")
_FRAME = expression(r"^\s{1,8}(?:[\w.\- ]+!)(?P<name>[\w.`+<>\[\]|$,\-]+)(?:\([^\n]*\))?\s*$")
_FRAME_SOS = expression(
    r"^[0-9A-Fa-f]{8,16} [0-9A-Fa-f]{8,16} (?:\[(?P<helper>\w+Frame\w*)(?:: [0-9a-fA-F]+)?\](?: (?P<under>[\w.`+<>\[\],]+)\([^\n]*\))?"
    r"|(?P<name>[\w.`+<>$|\-]+(?:\[\[?[^\n\]]*\]\]?[\w.`+<>$|\-]*)*)\([^\n]*\)(?: \[(?P<path>[^\]\n]+?) @ (?P<line>\d+)\])?)\s*$"
)
_SKIPPED = expression(r"^\s*(?:\[Native Frames\]|CPU_TIME|\?!\?|Child SP\s|\[[\w ]+\])\s*")
_ASYNC = expression(r"\+?<(?P<method>\w+)>(?:d__\d+|g__\w+\|[\d_]+)(?:`\d+)?(?:\.MoveNext)?$|[.+]<(?P<local>\w+)>b__[\w]+$")

_TABLE = waits_of("dotnet")
_GENERIC = expression(r"`\d+(?:\[[^\n]*?\]+)?")
_REQUEST = expression(r"^Microsoft\.AspNetCore\.(?!Hosting)|^Grpc\.AspNetCore")
_MAIN = expression(r"\.Program\.(?:<?Main>?\$?|<Main>\$)$|\.<Main>$|(?:^|\.)Program\.(?:<Main>|Main)$")


def read(text: Text) -> Iterator[State]:
    """All dumps of a text."""
    if not any(sign in text.whole for sign in ("[Native Frames]", "Thread (0x", "OS Thread Id: 0x")):
        return
    stacks: list[Stack] = []
    seen: set[str] = set()
    begin = last = 0
    stack: Stack | None = None
    for number, line in enumerate(text.lines):
        if m := _HEAD.match(line):
            ident = (m["id"] or m["os"]).lower()
            if ident in seen or (stacks and number > last + 6):
                yield from _known(stacks, begin, last)
                stacks, seen = [], set()
            begin = number if not stacks else begin
            stack = Stack(f"thread {m['id'] or m['os']}", ident, number)
            if len(stacks) < MOST_STACKS:
                stacks.append(stack)
            seen.add(ident)
            last = number + 1
        elif stack is None:
            continue
        elif m := _FRAME.match(line):
            stack.add(_frame(m["name"], None, None))
            last = number + 1
        elif m := _FRAME_SOS.match(line):
            if name := m["name"] or m["under"]:
                stack.add(_frame(name, m["path"], m["line"]))
            last = number + 1
        elif _SKIPPED.match(line):
            last = number + 1
        elif line.strip():
            stack = None
    yield from _known(stacks, begin, last)


def _known(stacks: Sequence[Stack], begin: int, last: int) -> Iterator[State]:
    """The dump, where one of its threads has a function of .NET itself: other tools print such heads, too."""
    if any(frame.runtime for stack in stacks for frame in stack.frames):
        yield from state_of(stacks, "dotnet", _doing, begin, last)


def _frame(name: str, path: str | None, line: str | None) -> Frame:
    name = _GENERIC.sub("", name)
    if m := _ASYNC.search(name):
        name = f"{name[: m.start()].rstrip('.+')}.{m['method'] or m['local']}"
    component = component_of("System" if name.startswith("dynamicClass.") else name, "dotnet")
    place = f"({path.replace(chr(92), '/').rpartition('/')[2]}:{line})" if path else ""
    runtime = component is not None and component.role == "runtime"
    short = ".".join(name.split(".")[-2:])
    return Frame(name, f"{short}{place}" if place or runtime else name, component is None, runtime)


def _doing(stack: Stack) -> Doing:
    frames = stack.frames
    own = [frame for frame in frames if frame.own]
    loop = "request" if any(_REQUEST.search(frame.name) for frame in frames) else "consumer" if consumes(frames) else None
    if not own:
        return Doing("idle", loop)
    found = kind_of(called(frames), _TABLE)
    if found in ("future", "idle") and _MAIN.search(own[0].name):
        return Doing("idle", loop)  # the program's entry waits for its end
    return Doing(found or "running", loop)
