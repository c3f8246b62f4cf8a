"""Stacks of Python: `py-spy dump`, and what faulthandler prints.

Sources: py-spy's ``print_trace``, ``Python/traceback.c`` (_Py_DumpTracebackThreads).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from analyzers.components import component_of
from analyzers.logs.matching.expressions import expression
from analyzers.states.stacks import MOST_STACKS, Doing, Frame, Stack, called, consumes, kind_of, state_of, user_at, waits_of
from analyzers.states.state import State, Text

SIGNS = (b' (idle): "', b' (active): "', b'+gil): "', b" (idle)\n", b" (active)\n", b"(most recent call first):")

_PROCESS = expression(r"^Process (?P<pid>\d+): (?P<command>[^\n]*)$")
_ABOUT = expression(r"^(?:Python v\d|Process \d+: )")
_HEAD = expression(r"^Thread (?:(?P<id>[^\s(]+) )?\((?P<state>(?:idle|active)(?:\+gil)?)\)(?:: \"(?P<name>[^\"\n]*)\")?$")
_FAULT_HEAD = expression(r"^(?:Current thread|Thread) (?P<id>0x[0-9a-f]+)(?: \[(?P<name>[^\]\n]*)\])? \(most recent call first\):$")
_FRAME = expression(r"^\s+(?P<name>[\w<>.]+(?:::[\w<>:~]+)*) +\((?P<path>[^()\n]+?)(?::(?P<line>\d+))?\)$")
_FAULT_FRAME = expression(r"^\s+File \"(?P<path>[^\"\n]+)\", line (?P<line>\d+) in (?P<name>\S+)$")
_VARIABLES = expression(r"^\s+(?:Arguments|Locals):$|^\s{8,}[\w.]+: ")
_INSTALLED = expression(r"(?:site|dist)-packages/(?P<inside>[\w./-]+)$")
_OF_PYTHON = expression(r"/lib(?:64)?/python\d[\d.]*/(?P<inside>[\w./-]+)$")
_NO_FILE = expression(r"^<(?:frozen|string|stdin|__array)")
_NATIVE = expression(r"\.(?:so|dylib|c|cpp|pyx)\b")
_ROOT = expression(r"^(?:<module>|_run_module_as_main|_run_code)$")

_TABLE = waits_of("python")
_EVENT_LOOP = expression(r"^asyncio\.(?:base_events\._run_once|events\._run$)|^uvloop\.|^asyncio\.events\._run$")
_REQUEST = expression(r"^(?:socketserver\.|http\.server\.|werkzeug\.|gunicorn\.|uvicorn\.|waitress\.|flask\.|django\.core\.handlers)")
_CONSUMER = expression(r"^(?:faust\.|celery\.worker|kafka\.consumer|aiokafka\.consumer|confluent_kafka\.)")


def read(text: Text) -> Iterator[State]:
    """All dumps of a text."""
    if "Thread " not in text.whole and "thread 0x" not in text.whole:
        return
    parsed = list(_parsed(text.lines))
    own = _own_roots([stack for stacks, *_ in parsed for stack in stacks])
    for stacks, first, last, process in parsed:
        yield from state_of([_stack(stack, own) for stack in stacks], "python", _doing, first, last, process)


class _Parsed:
    def __init__(self, name: str, ident: str, line: int, state: str | None) -> None:
        self.name, self.id, self.line, self.state = name, ident, line, state
        self.frames: list[tuple[str, str, str | None]] = []


def _parsed(lines: Sequence[str]) -> Iterator[tuple[list[_Parsed], int, int, str | None]]:
    stacks: list[_Parsed] = []
    seen: set[str] = set()
    process: str | None = None
    begin = last = 0
    stack: _Parsed | None = None
    for number, line in enumerate(lines):
        line = line.rstrip()
        m = _HEAD.match(line) or _FAULT_HEAD.match(line)
        if m is not None or _ABOUT.match(line):
            ident = "" if m is None else m["id"] or (m["name"] if m["name"] == "MainThread" else f"line {number + 1}")
            again = m is not None and ident in seen
            if stacks and (again or m is None or number > last + 40):
                yield stacks, begin, last, process
                stacks, seen = [], set()
            if m is None:
                begin = number if not stacks and last != number else begin
                about = _PROCESS.match(line)
                process = about["pid"] if about else process
                last = number + 1
                stack = None
                continue
            if not stacks:
                begin = begin if last >= number - 1 and last > begin else number
            state = m["state"] if "state" in m.re.groupindex else None
            stack = _Parsed(m["name"] or f"Thread {ident}", ident, number, state)
            if len(stacks) < MOST_STACKS:
                stacks.append(stack)
            seen.add(ident)
            last = number + 1
        elif stack is not None and (f := _FAULT_FRAME.match(line) or _FRAME.match(line)):
            stack.frames.append((f["name"], f["path"], f["line"]))
            last = number + 1
        elif stack is not None and (not line or _VARIABLES.match(line)):
            continue
        else:
            stack = None
    if stacks:
        yield stacks, begin, last, process


def _module(path: str) -> tuple[str, bool]:
    """The module that a file is, and whether its place shows that it was installed."""
    if m := _INSTALLED.search(path) or _OF_PYTHON.search(path):
        return _dotted(m["inside"]), True
    return _dotted(path), False


def _dotted(path: str) -> str:
    return re.sub(r"\.(?:py|pyx|pyc)$", "", path).removesuffix("/__init__").lstrip("./").replace("/", ".")


def _is_library(module: str, path: str) -> bool:
    top = module.partition(".")[0]
    if _NO_FILE.match(path) or _NATIVE.search(path):
        return True
    # the name of a module of Python's own may stand in the middle of an absolute path, and says nothing there
    return (not path.startswith(("/", "<")) and top in sys.stdlib_module_names) or component_of(module, "python") is not None


def _own_roots(stacks: Sequence[_Parsed]) -> frozenset[str]:
    """The packages of the program itself: where its main module lies. Paths of py-spy are short and do not show what was installed."""
    roots = set()
    for stack in stacks:
        for name, path, _ in stack.frames[::-1]:
            module, installed = _module(path)
            if installed or _is_library(module, path):
                continue
            if name == "<module>" or not any(_ROOT.match(each) for each, *_ in stack.frames):
                roots.add(_root(module, path))
            break
    return frozenset(roots)


def _root(module: str, path: str) -> str:
    if path.startswith("/"):
        return "/" + "/".join(path.split("/")[1:2])
    return module.partition(".")[0] if "." in module else ""


def _stack(parsed: _Parsed, own: frozenset[str]) -> Stack:
    stack = Stack(parsed.name, parsed.id, parsed.line, parsed.state)
    for name, path, line in parsed.frames:
        module, installed = _module(path)
        library = installed or _is_library(module, path)
        mine = not library and (not own or _root(module, path) in own or "" in own)
        runtime = library and (module.partition(".")[0] in sys.stdlib_module_names or path.startswith("<"))
        shown = f"{name}({'/'.join(path.split('/')[-2:])}{f':{line}' if line else ''})"
        stack.add(Frame(f"{module}.{name}", shown, mine, runtime))
    return stack


def _doing(stack: Stack) -> Doing:
    frames = stack.frames
    loop = "request" if any(_REQUEST.search(frame.name) for frame in frames) else None
    at = user_at(frames)
    if loop is None and at is not None and any(_EVENT_LOOP.search(frame.name) for frame in frames[at:]):
        loop = "event-loop"
    elif loop is None and (any(_CONSUMER.search(frame.name) for frame in frames[at or 0 :]) or consumes(frames)):
        loop = "consumer"
    if at is None:
        return Doing("idle", loop)
    found = kind_of(called(frames), _TABLE)
    if found is not None:
        return Doing(found, loop)
    if (stack.state or "").startswith("active"):
        return Doing("running", loop)
    return Doing("native" if stack.state else "running", loop)
