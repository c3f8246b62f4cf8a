"""Failures of Go, Rust, Node and .NET as their runtimes print them."""

from __future__ import annotations

import re
from itertools import pairwise

from analyzers.inference.link import Failure, Link

_GO_PANIC = re.compile(
    r"^(?:.{0,200}?\s)?(?:panic|fatal error): (?P<said>[^\n]*)(?P<more>(?:\n(?!\s*\n|goroutine )[^\n]*){0,6})", re.MULTILINE
)
_GO_ROUTINE = re.compile(r"^goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[(?P<state>[^\]]+)\]:", re.MULTILINE)
_GO_FRAME = re.compile(r"^(?:created by )?(?P<name>\S[^\n]*?)(?: in goroutine \d+)?\n\t(?P<file>\S+\.(?:go|s):\d+)", re.MULTILINE)
_GO_ARGUMENTS = re.compile(r"\((?!\*)[^()]*(?:\{[^}]*\}[^()]*)*\)$|\(\.\.\.\)$")
_RUST_PANIC = re.compile(
    r"thread '[^'\n]*'(?: \(\d+\))? panicked at (?:'(?P<old>(?:[^'\\\n]|\\.|'(?!, ))*)', (?P<old_at>[^\n]+)|(?P<at>[^\n]+?):\n(?P<said>[^\n]*(?:\n(?!note: |stack backtrace)[^\n]+){0,6}))"
)
_RUST_FRAME = re.compile(r"^\s*\d+: +(?:0x[0-9a-f]+ - )?(?P<name>\S[^\n]*?)(?:\n\s+at (?P<file>[^\n]+))?$", re.MULTILINE)
_RUST_CHAIN = re.compile(r"(?:^|\n)(?P<outer>(?:[^\n]{0,120}? )?(?:Error|error): ?[^\n]+)\n\n?Caused by:\n(?P<causes>(?:[ \t]+[^\n]+\n?)+)")
_RUST_CLASS = re.compile(r"on an `Err` value: (?P<kind>[A-Z]\w*)(?=[ ({:\"]|$)")
_NODE_FRAME = re.compile(
    r"^\s+at (?:async )?(?P<name>[^\n(]+? )?\(?(?P<file>(?:file://)?(?:/|[A-Za-z]:\\|node:)[^\n():]*(?::\d+){1,2}|node:[\w/]+:\d+:\d+)\)?",
    re.MULTILINE,
)
_NODE_CLASS = re.compile(
    r"(?:^|[\s:>(])(?:Uncaught )?(?P<kind>(?:[A-Z]\w*)?(?:Error|Exception|Failure|KafkaJS\w+)|error)(?: \[(?P<code>[A-Z_0-9]+)\])?: (?P<said>[^\n]*)"
)
_NODE_CAUSE = re.compile(r"^\s*\[?cause\]?: (?=[A-Za-z]*(?:Error|Exception))", re.MULTILINE)
_NODE_CODE = re.compile(r"^\s*code(?:Name)?: '?(?P<code>[\w]+)'?", re.MULTILINE)
_DOTNET_FRAME = re.compile(r"^\s+at (?P<name>[\w.`<>+|\[\], ]+?)\([^\n]*?\)(?P<file> in [^\n]+:line \d+)?", re.MULTILINE)
_DOTNET_CLASS = re.compile(
    r"^(?:[^\n]{0,300}?(?<![\w.]))??(?P<kind>(?:[A-Z]\w*\.)+[A-Z]\w*Exception)(?: \((?P<code>(?:0x)?[0-9A-Fa-f]+)[^)]*\))?: (?P<said>[^\n]*)",
    re.MULTILINE,
)


def foreign(text: str) -> Failure | None:
    """The failure, where Go, Rust, Node or .NET printed it."""
    if "panic: " in text or "fatal error: " in text or ("goroutine " in text and _GO_ROUTINE.search(text)):
        found = _go(text)
    elif "panicked at " in text or ("\nCaused by:\n" in text and "rror:" in text):
        found = _rust(text)
    elif "\n ---> " in text or " ---> " in text or "--- End of " in text or ":line " in text or text.startswith("Unhandled exception. "):
        found = _dotnet(text)
    else:
        found = None
    if (found is None and "    at " in text and ".js" in text) or "node:" in text or ".ts:" in text:
        found = _node(text) if _NODE_FRAME.search(text) else found
    return found


def _go(text: str) -> Failure | None:
    panics = list(_GO_PANIC.finditer(text))
    running = next((m for m in _GO_ROUTINE.finditer(text) if m["state"].startswith("running")), None) or _GO_ROUTINE.search(text)
    if not panics and running is None:
        return None
    if panics and running is None and not text.lstrip().startswith(("panic: ", "fatal error: ")):
        return None
    links = []
    for panic in panics:
        more = "" if panic["more"].lstrip().startswith(("goroutine", "main.")) else panic["more"]
        links.append(Link("panic", (panic["said"] + more).strip().removesuffix(" [recovered]")))
    if not links:
        links.append(Link("", text.partition("\n")[0].strip()))
    if running is not None:
        body = text[running.end() :].lstrip("\n").partition("\n\n")[0]
        for frame in _GO_FRAME.finditer(body):
            name = _GO_ARGUMENTS.sub("", frame["name"])
            links[-1].frames.append(name)
            links[-1].printed.append(f"{name} {frame['file']}")
    return Failure("go", links, text)


def _rust(text: str) -> Failure | None:
    if panic := _RUST_PANIC.search(text):
        said = (panic["old"] or panic["said"] or "").strip()
        named = _RUST_CLASS.search(said)
        link = Link(named["kind"] if named else "panic", said)
        at = (panic["old_at"] or panic["at"]).strip()
        for frame in _RUST_FRAME.finditer(text[panic.end() :]):
            link.frames.append(frame["name"])
            link.printed.append(f"{frame['name']} {frame['file'] or ''}".strip())
        if not link.frames:
            link.printed.append(at)
        return Failure("rust", [link], text)
    if chained := _RUST_CHAIN.search(text):
        outer = chained["outer"].partition("rror:")[2].strip()
        causes = [re.sub(r"^\d+: ", "", line.strip()) for line in chained["causes"].splitlines() if line.strip()]
        return Failure("rust", [Link("", outer), *(Link("", cause) for cause in causes)], text)
    return None


def _node(text: str) -> Failure | None:
    cuts = [0, *(m.end() for m in _NODE_CAUSE.finditer(text)), len(text)]
    links = []
    for begin, end in pairwise(cuts):
        part = text[begin:end]
        frames = list(_NODE_FRAME.finditer(part))
        head = part[: frames[0].start()] if frames else part
        named = _NODE_CLASS.search(head)
        if named is None and not frames:
            continue
        said = (named["said"] + head[named.end() :]).strip() if named else head.strip()
        code = (named["code"] if named else None) or max((found["code"] for found in _NODE_CODE.finditer(part)), key=len, default=None)
        link = Link(named["kind"] if named else "", said, code=code)
        for frame in frames:
            name = (frame["name"] or "").strip()
            link.frames.append(name or frame["file"])
            link.printed.append(f"{name} ({frame['file']})")
        links.append(link)
    return Failure("node", links, text) if links else None


def _dotnet(text: str) -> Failure | None:
    classes = list(_DOTNET_CLASS.finditer(text))
    if not classes:
        return None
    links = []
    for number, named in enumerate(classes):
        end = classes[number + 1].start() if number + 1 < len(classes) else len(text)
        body = text[named.end() : end]
        first = _DOTNET_FRAME.search(body)
        rest = body[: first.start()] if first else ""
        said = named["said"].partition(" ---> ")[0] + ("\n" + rest.strip() if rest.strip(" \n->") else "")
        links.append(Link(named["kind"], said.strip(), code=named["code"]))
    # inner exceptions are printed first; the frames behind each end belong to the one around it
    sections = re.split(r"\n\s*--- End of inner exception stack trace ---", text[classes[-1].end() :])
    for link, section in zip(reversed(links), sections, strict=False):
        for frame in _DOTNET_FRAME.finditer(section):
            link.frames.append(frame["name"])
            link.printed.append(f"{frame['name']}{frame['file'] or ''}")
    return Failure("dotnet", links, text)
