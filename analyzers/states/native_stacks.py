"""Stacks of C, C++ and Rust: what gdb's `thread apply all bt`, pstack and eu-stack print.

Source: gdb's ``print_frame`` and ``thr_try_catch_cmd``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from analyzers.components import component_of
from analyzers.logs.matching.expressions import expression
from analyzers.states.stacks import MOST_STACKS, Doing, Frame, Stack, called, consumes, kind_of, state_of, waits_of
from analyzers.states.state import State, Text

SIGNS = (b" (LWP ", b"(Thread 0x")

_HEAD = expression(
    r"^Thread (?P<number>\d+) \((?:Thread (?P<id>0x[0-9a-f]+) )?\(?LWP (?P<lwp>\d+)\)?(?: \"(?P<name>[^\"\n]*)\")?(?: \([^)\n]*\))?\)?:$"
)
_FRAME = expression(
    r"^#(?P<number>\d+)\s+(?:0x[0-9a-f]+ in )?(?P<name>[^\n]+?) \((?P<given>[^\n]*?)\)"
    r"(?: at (?P<path>[^\n]+?):(?P<line>\d+)| from (?P<library>\S+))?$"
)
_ARGUMENTS = expression(r"<[^<>]*>|\([^()]*\)")
_LIBRARY = expression(
    r"^(?:_{0,2}(?:GI_)?_*(?:libc|pthread|lll|futex|poll|ppoll|epoll|select|recv|read|send|write|clock|nanosleep|clone|start_thread)\w*"
    r"|_*(?:syscall|wait4|connect|sem|cond)\w*|rd_kafka_\w+|rd_\w+|cnd_\w+|mtx_\w+|thrd_\w+|std::|boost::|__gnu|core::|alloc::|tokio::"
    r"|SSL_|BIO_|ssl3_|curl_|Curl_|PQ|pq\w+|mysql_|redis|uv_|event_|grpc|absl::|\?\?|main_loop|_start)"
)
_BUILT = expression(r"/rustc/|/\.cargo/registry/|/usr/(?:include|src|lib)|/build/glibc|sysdeps/|\bnptl/|rdkafka\w*\.c$|tinycthread\w*\.c$")

_TABLE = waits_of("native")
_REQUEST = expression(r"grpc::|HttpServer|httplib::Server|actix_web|hyper::server")


def read(text: Text) -> Iterator[State]:
    """All dumps of a text."""
    if "LWP " not in text.whole:
        return
    stacks: list[Stack] = []
    seen: set[str] = set()
    begin = last = 0
    stack: Stack | None = None
    for number, line in _whole(text.lines):
        if m := _HEAD.match(line):
            if m["lwp"] in seen:
                yield from state_of(stacks, "native", _doing, begin, last)
                stacks, seen = [], set()
            begin = number if not stacks else begin
            stack = Stack(m["name"] or f"Thread {m['number']}", m["lwp"], number)
            if len(stacks) < MOST_STACKS:
                stacks.append(stack)
            seen.add(m["lwp"])
            last = number + 1
        elif stack is not None and (m := _FRAME.match(line)):
            stack.add(_frame(m["name"], m["path"], m["line"], m["library"]))
            last = number + 1
        elif stack is not None and (not line or line.startswith((" ", "\t", "Backtrace stopped", "(More stack"))):
            continue
        else:
            stack = None
    yield from state_of(stacks, "native", _doing, begin, last)


def _whole(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines with their numbers; a frame that gdb has broken is one, with the number of its last line."""
    before = ""
    for number, each in enumerate(lines):
        line = f"{before} {each.strip()}" if before and each.startswith("    ") else each.rstrip()
        follows = lines[number + 1] if number + 1 < len(lines) else ""
        goes_on = follows.startswith("    ") and (line.count("(") > line.count(")") or follows.lstrip().startswith(("at ", "from ")))
        before = line if line.startswith("#") and goes_on and len(line) < _LONGEST else ""
        if not before:
            yield number, line


_LONGEST = 4_000


def _frame(name: str, path: str | None, line: str | None, library: str | None) -> Frame:
    name = _ARGUMENTS.sub("", name).strip()
    found = component_of(name, "rust") if "::" in name else None
    theirs = library is not None or path is None or found is not None or bool(_LIBRARY.match(name) or _BUILT.search(path))
    shown = f"{name}({posixpath.basename(path)}:{line})" if path else name
    return Frame(name, shown, not theirs, bool(_LIBRARY.match(name)) and not name.startswith(("rd_kafka_", "curl_", "PQ", "mysql_")))


def _doing(stack: Stack) -> Doing:
    frames = stack.frames
    loop = "request" if any(_REQUEST.search(frame.name) for frame in frames) else "consumer" if consumes(frames) else None
    if not any(frame.own for frame in frames):
        return Doing("idle", loop)
    return Doing(kind_of(called(frames), _TABLE) or "running", loop)
