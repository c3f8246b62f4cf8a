"""Goroutines: what SIGQUIT, a crash with GOTRACEBACK=all and /debug/pprof/goroutine print (debug=2 whole, debug=1 counted).

Sources: ``runtime/traceback.go`` (goroutineheader), ``runtime/runtime2.go`` (waitReasonStrings), ``runtime/pprof/pprof.go``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from analyzers.components import component_of
from analyzers.logs.matching.expressions import expression
from analyzers.states.stacks import MOST_STACKS, Doing, Frame, Stack, called, consumes, kind_of, state_of, undrained, waits_of
from analyzers.states.state import State, Text

SIGNS = (
    b"goroutine profile: total ", b" [chan receive", b" [chan send", b" [select]:", b" [select, ", b" [select (no", b" [semacquire",
    b" [IO wait", b" [sync.", b" [sleep]:", b" [sleep, ",
)  # fmt: skip

_HEAD = expression(
    r"^goroutine (?P<id>\d+)(?: gp=\S+ m=\S+(?: mp=\S+)?)? \[(?P<state>[^\],\n]+(?:\([^)\n]*\))?)(?:, (?P<minutes>\d+) minutes?)?"
    r"(?:, locked to thread)?(?:, synctest[^\]]*)?(?:, labels:[^\n]*)?\]:$"
)
_CALL = expression(r"^(?P<name>(?=[\w.\-][\w.\-/~!@%]*\.)[^\s()]+(?:\(\*?[\w\[\].,/ *·]+\)[^\s()]*)?)\([^\n]*\)$")
_PLACE = expression(r"^(?:\s+|(?=/))(?P<path>\S[^\n]*?):(?P<line>\d+)(?: \+0x[0-9a-f]+)?(?: fp=\S+ sp=\S+ pc=\S+)?$")
_MADE = expression(r"^created by (?P<name>[^\n]+?)(?: in goroutine \d+)?$")
_CRASH = expression(r"^(?:panic: |fatal error: |\[signal SIG)|\[recovered\]|^\d[^\n]*http: panic serving")
_COUNTED = expression(r"^(?P<count>\d+) @(?: 0x[0-9a-f]+)+$")
_COUNTED_FRAME = expression(r"^#\s+0x[0-9a-f]+\s+(?P<name>\S+)\+0x[0-9a-f]+\s+(?P<path>\S+):(?P<line>\d+)$")
_LIBRARY_PLACE = expression(r"/pkg/mod/|/vendor/|/usr/local/go/src/|/usr/lib/go|@v\d+\.|/libexec/src/|^_cgo_gotypes")
_STDLIB = expression(r"^(?!main\.)[a-z]\w*(?:/[a-z]\w*)*$")

_TABLE = waits_of("go")

_UNDRAINED = undrained()
_CONSUMER = expression(
    r"sarama\.\(\*consumerGroupSession\)\.consume|\.ConsumeClaim$|\(\*Handler\)\.Consume\b|watermill|kgo\.\(\*Client\)\.Poll"
)
_REQUEST = expression(
    r"^net/http\.\(\*conn\)\.serve|^google\.golang\.org/grpc\.\(\*Server\)\.(?:handleStream|processUnary)|fasthttp\.\(\*Server\)\.serveConn"
)


def read(text: Text) -> Iterator[State]:
    """All dumps of a text; the goroutines that a panic prints are a failure in a log, and none."""
    if "goroutine " in text.whole:
        yield from _whole(text.lines)
    if "goroutine profile: total " in text.whole and " @ 0x" in text.whole:
        yield from _counted(text.lines)


def _whole(lines: Sequence[str]) -> Iterator[State]:
    stacks: list[Stack] = []
    seen: set[str] = set()
    name: str | None = None
    begin = last = 0
    made = crash = False
    stack: Stack | None = None

    def done() -> Iterator[State]:
        if not crash and any(each.state not in (None, "running", "runnable", "syscall") for each in stacks):
            yield from state_of(stacks, "go", _doing, begin, last)

    for number, line in enumerate(lines):
        if m := _HEAD.match(line.rstrip()):
            if m["id"] in seen or (stacks and number > last + 3):
                yield from done()
                stacks, seen = [], set()
            if not stacks:
                before = [each for each in lines[max(0, number - 8) : number] if each.strip()][-5:]
                crash = any(_CRASH.search(each) for each in before)
                begin = number - 1 if number and lines[number - 1].startswith("goroutine profile: total ") else number
            waited = float(m["minutes"]) * 60 if m["minutes"] else None
            stack = Stack(f"goroutine {m['id']}", m["id"], number, m["state"], waited=waited)
            if len(stacks) < MOST_STACKS:
                stacks.append(stack)
            seen.add(m["id"])
            name, made, last = None, False, number + 1
        elif stack is None:
            continue
        elif not line.strip():
            name = None
        elif m := _MADE.match(line):
            made, last = True, number + 1
        elif m := _PLACE.match(line):
            if name is not None and not made:
                stack.add(_frame(name, m["path"], m["line"]))
            name, last = None, number + 1
        elif (m := _CALL.match(line)) and not made:
            name, last = m["name"], number + 1
        elif line.startswith("..."):
            last = number + 1
        else:
            stack = None
    yield from done()


def _counted(lines: Sequence[str]) -> Iterator[State]:
    stacks: list[Stack] = []
    begin = last = 0
    inside = False
    for number, line in enumerate(lines):
        if line.startswith("goroutine profile: total "):
            yield from state_of(stacks, "go", _doing, begin, last)
            stacks, begin, last, inside = [], number, number + 1, True
        elif not inside:
            continue
        elif m := _COUNTED.match(line):
            count = int(m["count"][:9])
            stacks.append(Stack(f"{count} goroutine{'s' * (count != 1)}", line.partition("@")[2].strip()[:200], number, alike=count))
            last = number + 1
        elif (m := _COUNTED_FRAME.match(line)) and stacks:
            stacks[-1].add(_frame(m["name"], m["path"], m["line"]))
            last = number + 1
        elif line.startswith("# labels:") or not line.strip():
            continue
        else:
            inside = False
    yield from state_of(stacks, "go", _doing, begin, last)


def _frame(name: str, path: str, line: str) -> Frame:
    name = name.rpartition("/vendor/")[2]
    package = name.partition("(")[0].rpartition("/")[2].partition(".")[0]
    whole = name[: len(name) - len(name.rpartition("/")[2])] + package
    component = component_of(name, "go")
    runtime = component is not None and component.role == "runtime"
    library = component is not None or _LIBRARY_PLACE.search(path) is not None
    # the standard library's packages have no host name; a module of the user's may have none, too, and then lies elsewhere
    runtime = runtime or (library and _STDLIB.match(whole) is not None and "/pkg/mod/" not in path)
    return Frame(name, f"{name.rpartition('/')[2]}({posixpath.basename(path)}:{line})", not library, runtime)


def _doing(stack: Stack) -> Doing:
    frames, state = stack.frames, stack.state or ""
    loop = "request" if any(_REQUEST.search(frame.name) for frame in frames) else None
    if loop is None and (any(_CONSUMER.search(frame.name) for frame in frames) or consumes(frames)):
        loop = "consumer"
    for client, channel, sign in _UNDRAINED:
        hands_over = not state or state.startswith(("chan send", "select"))  # counted goroutines are printed without a state
        if hands_over and any(sign.search(frame.name) for frame in frames[:3]):
            return Doing("undrained", loop, client, channel)
    if state.startswith("chan send"):
        return Doing("send", loop)
    if state in ("running", "runnable"):
        return Doing("running", loop)
    if state.startswith("sleep"):
        return Doing("sleep", loop)
    found = kind_of(called(frames), _TABLE)
    if state.startswith("sync.") and "Mutex" in state:
        return Doing("lock", loop)
    if state.startswith("chan receive") and found not in ("future", "permit", "socket"):
        return Doing("idle", loop)
    own = any(frame.own for frame in frames)
    if found in ("socket", "connect", "resolve") and not own:
        return Doing("idle", loop)  # a client's own reader: that nothing comes is its life
    return Doing(found or "idle", loop)
