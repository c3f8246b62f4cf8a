"""Where in the user's own code a failure was raised: the frame as its trace prints it, with file and line, of any language.

Java, Scala and Kotlin ``com.shop.Parse.map(Parse.java:61)``, Python ``File "/app/load.py", line 47, in main``, .NET ``in
/src/Worker.cs:line 94``, Node ``at run (/app/producer.js:33:7)``, Go ``/app/cmd/main.go:88 +0x1d5``, PHP ``#0 /app/consume.php(33)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from analyzers.components import is_user
from analyzers.logs.layouts.exceptions import might_hold, parse

_PYTHON = re.compile(r'File "(?P<file>[^"\n]+)", line \d+(?:, in (?P<in>\S+))?')
_DOTNET = re.compile(r" in (?P<shown>(?:[A-Za-z]:\\|/)?[^\n:]{1,300}\.(?:cs|fs|vb):line \d+)")
_NODE = re.compile(r"\bat (?:async )?(?:[^\n(]{1,200} \()?(?P<shown>(?:file://)?(?:/|[A-Za-z]:\\)[^\n():]{1,300}\.[cm]?[jt]sx?:\d+:\d+)\)?")
_GO = re.compile(r"^\s*(?P<shown>/[^\s:]{1,300}\.go:\d+)(?: \+0x[0-9a-f]+)?[ \t]*$", re.MULTILINE)
_PHP = re.compile(r"(?:^|\n) *#\d+ (?P<shown>/[^\n():]{1,300}\.php\(\d+\))")
_RUBY = re.compile(r"(?:^|\n)\s*(?:from )?(?P<shown>/[^\s:]{1,300}\.rb:\d+):in ")
_OTHERS = (_DOTNET, _NODE, _GO, _PHP, _RUBY)
_OF_OTHERS = re.compile(
    r"node_modules|/node:|\(node:|/usr/local/go/|/go/pkg/mod/|/vendor/|/gems/|/usr/lib/|/_/src/|/libexec/|/runtime/|@v\d+\.\d+"
    r"|/(?:Confluent|Microsoft|System|MassTransit|Npgsql)\.[\w.]+/"
)
"""Libraries and runtimes, by where they lie."""
_CAUSES = re.compile(r"(?m)^(?=[ \t]*(?:Caused by|Wrapped by): )")


def user_line(text: str) -> str | None:
    """The first line of the user's own code in the deepest exception that has one; `text` is an event with its trace."""
    if might_hold(text):
        message, _, rest = text.partition("\n")
        frame = parse(message, rest).user_frame
        if frame is not None:
            return _printed(frame, text)
        own = [m[0] for m in _PYTHON.finditer(text) if is_user(m["file"], "python")]
        if own:
            return own[-1]
    found = next((m["shown"] for m in _in_order(text) if not _OF_OTHERS.search(m[0])), None)
    return found.strip() if found else None


def place_of(line: str) -> str:
    """``Parse.java:61`` of ``com.shop.Parse.map(Parse.java:61)``: short enough for a headline."""
    if m := _PYTHON.search(line):
        return f"{m['file'].rpartition('/')[2]}:{m[0].partition(', line ')[2].partition(',')[0]}"
    inner = re.search(r"\(([^()\s]+:\d+)\)$", line)
    return inner[1] if inner else re.split(r"[/\\]", line)[-1]


def _in_order(text: str) -> Iterator[re.Match[str]]:
    return chain.from_iterable(pattern.finditer(text) for pattern in _OTHERS)


def _printed(frame: str, text: str) -> str | None:
    """How the trace prints `frame`: in the section of the deepest exception, where it stands in several."""
    if ":" in frame:  # Python's: `file:function`, of which the innermost is printed last
        file, _, function = frame.rpartition(":")
        same = [m[0] for m in _PYTHON.finditer(text) if m["file"] == file and (m["in"] or "<module>") == function]
        return same[-1] if same else None
    if m := next((m for m in _DOTNET.finditer(text) if not _OF_OTHERS.search(m[0])), None):
        return m["shown"]
    printed = re.compile(re.escape(frame) + r"\((?P<place>[\w$.-]+\.\w+:\d+)\)")
    sections = _CAUSES.split(text)
    for section in sections if "Wrapped by: " in text else reversed(sections):
        if m := printed.search(section):
            return m[0]
    return None
