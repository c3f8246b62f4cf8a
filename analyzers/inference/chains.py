"""Exceptions of a text, outermost first, each with its whole message and its frames as they were printed; of any language.

Java, Scala and Python are read by `analyzers.logs.layouts.exceptions`, which knows chains; what it leaves out is added here: lines of a
message behind the first one, and the jars behind the frames. Go, Rust, Node and .NET are read by `foreign`.
"""

from __future__ import annotations

import re

from analyzers.inference.foreign import foreign
from analyzers.inference.link import Failure, Link
from analyzers.logs.layouts.exceptions import Thrown, parse, unflattened

HEAD, TAIL = 24_000, 24_000
"""Characters that are read of a text: the outermost exception stands at its beginning, the root of a Java trace at its end."""
_AS_TEXT = re.compile(r"(?P<kind>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable))(?:: (?P<said>.*))?$", re.DOTALL)
_ODD = re.compile(r"(?P<kind>(?:[a-z_]\w*\.){2,}[A-Z][\w$]*): (?P<said>[^\n]*)(?=\n\s*at )")
_MESSAGE_LINES, _MESSAGE_CHARACTERS = 12, 4_000
_ENDS_MESSAGE = re.compile(
    r"\s*at [\w.$<>/@-]+\(|\s*\.\.\. \d+ (?:more|common)|\s*(?:Caused by|Wrapped by|Suppressed): |\s*Traceback \(most|  File \""
    r"|(?:During handling of|The above exception was)|\[CIRCULAR|\d{4}-\d\d-\d\d[T ]\d\d:|==+ |--+$"
)


def read(text: str) -> Failure:
    """The failure that `text` holds: an event with its trace, or a fragment of one."""
    text = bounded(text)
    if (found := foreign(text)) is not None:
        return found
    text = unflattened(text)
    message, _, rest = text.partition("\n")
    trace = parse(message, rest)
    if not trace.chain:
        return Failure("", [_odd(text) or Link("", _first_words(text))] if text.strip() else [], text)
    lines = text.split("\n")
    chain, at = [], 0
    python = "Traceback (most recent" in text
    for number, thrown in enumerate(trace.chain):
        where = _where(lines, thrown, 0 if python or "Wrapped by: " in text else at)
        if where is not None:
            at = where + (number > 0 or not python)
        chain.append(Link(thrown.kind, _whole(lines, where, thrown), list(thrown.frames), printed=_printed(lines, where, thrown)))
    return Failure("python" if python and not re.search(r"\n\s*at ", text) else "java", chain, text)


def of_chain(chain: list[tuple[str, str | None]]) -> Failure:
    """The failure of exceptions that are known already: class and message, outermost first."""
    links = []
    for name, message in chain:
        links.append(Link(name, message or ""))
        while within := _AS_TEXT.match(links[-1].message):  # a class that travelled as text
            links.append(Link(within["kind"], within["said"] or ""))
    return Failure("", links, "")


def bounded(text: str) -> str:
    """Beginning and end of a long text, cut at lines."""
    if len(text) <= HEAD + TAIL:
        return text
    head, tail = text[:HEAD], text[-TAIL:]
    return (head.rpartition("\n")[0] or head) + "\n" + (tail.partition("\n")[2] or tail)


def _odd(text: str) -> Link | None:
    """An exception whose class is not called one: ``SecretManager$InvalidToken: token …``, with its frames."""
    found = _ODD.match(text)
    if found is None:
        return None
    printed = [line.lstrip()[3:] for line in text.split("\n")[1:80] if line.lstrip().startswith("at ")]
    return Link(found["kind"], found["said"], [frame.partition("(")[0].rpartition("/")[2] for frame in printed], printed)


def _first_words(text: str) -> str:
    lines = text.split("\n", _MESSAGE_LINES)[:_MESSAGE_LINES]
    return "\n".join(line for line in lines if line.strip())[:_MESSAGE_CHARACTERS]


def _where(lines: list[str], thrown: Thrown, start: int) -> int | None:
    """The line that `thrown` begins on."""
    message = (thrown.message or "").split("\n")[0][:60]
    for number in range(start, len(lines)):
        line = lines[number]
        if thrown.kind in line and message in line:
            return number
    return _where(lines, thrown, 0) if start else None


def _whole(lines: list[str], where: int | None, thrown: Thrown) -> str:
    """The message of `thrown` with the lines of it that follow."""
    if where is None:
        return thrown.message or ""
    _, _, message = lines[where].partition(thrown.kind)
    said = [(thrown.message or "").split("\n")[0] if thrown.message and thrown.message in message else message.lstrip(": ")]
    if said[0].endswith("Traceback (most recent call last):"):
        return said[0].removesuffix("Traceback (most recent call last):").rstrip(" :\n")
    for line in lines[where + 1 : where + 1 + _MESSAGE_LINES]:
        if _ENDS_MESSAGE.match(line) or thrown.kind in line:
            break
        said.append(line.strip())
    return "\n".join(said).strip()[:_MESSAGE_CHARACTERS]


def _printed(lines: list[str], where: int | None, thrown: Thrown) -> list[str]:
    """The lines of the frames of `thrown`, with what stands in brackets behind them."""
    if where is None or not thrown.frames:
        return []
    found: list[str] = []
    for line in lines[where + 1 :]:
        bare = line.lstrip()
        if bare.startswith(("Caused by: ", "Wrapped by: ")):
            break
        if bare.startswith("at ") and len(found) < 60:
            found.append(bare[3:])
    return found
