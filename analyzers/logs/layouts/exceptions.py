"""The exception chain of an event: outermost to root, frames, the first frame of the user's own code.

Understands Java and Scala traces (printed or flattened onto one line), logback's root-first order (`Wrapped by:`), Python
tracebacks (also inside of a Java message, as PySpark prints them), and classes that travelled as text
(`org.apache.flink.util.SerializedThrowable: <class>: <message>`, `; nested exception is: <class>: <message>`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from analyzers.components import is_user
from analyzers.logs.matching.expressions import expression

MESSAGE_CLIP = 500
_FRAMES_KEPT = 8
_GOES_ON = (":", "{", "[", "(", ",")  # how a line of a message ends that goes on below it
_REMEMBERED = 8 << 10  # of longer continuations what they say is not remembered

_CLASS = r"(?:[A-Za-z_$][\w$]*\.)+[A-Z_][\w$]*"
_PACKAGE = r"(?:[A-Za-z_$][\w$]*\.)"
_THROWN = (
    rf"(?:{_PACKAGE}*[A-Z][\w$]*(?:Exception|Error|Throwable|Failure|Timeout|Interrupt|Fault|Signal)"
    rf"|{_PACKAGE}+(?:Exception|Error|Throwable))(?:\$+\w+)*"
)
_SOLE = expression(rf"(?:Exception in thread \"[^\"]*\" )?({_CLASS}|{_THROWN})(?::(?: (.*))?)?\s*$")
_NAMED = expression(rf"(?:Exception in thread \"[^\"]*\" )?({_THROWN})(?::(?: (.*))?)?\s*$")
_IN_MESSAGE = expression(
    r"(?:^|[\s:(\[=])((?:[a-z_$][\w$]*\.)+(?:[A-Z][\w$]*)?(?:Exception|Error|Throwable|Failure)(?:\$+\w+)*)(?:: (.*)|:?\s*$|[.,;)\]])"
)
_BY = expression(r"(Caused by|Wrapped by|Suppressed): (.*)$")
_FRAME = expression(r"at (?:[\w.@-]*/{1,2})?([\w.$<>/-]+)\((.*)$")
_PY_FRAME = expression(r'File "([^"]+)", line \d+(?:, in (\S+))?')
_PY_END = expression(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:: (.*))?$")
_AS_TEXT = expression(rf"({_THROWN})(?:: (.*))?$")
_NESTED = expression(rf"; nested exception is:? ?({_THROWN})(?:: (.*))?$")
_OF_SPARK = expression(
    rf"(?:\bmost recent failure: Lost task [^\n]{{1,300}}?\): (?={_CLASS}: )"
    rf"|\bterminated with exception: (?!Job aborted due to stage failure)(?={_THROWN}\b))"
    rf"({_CLASS}|{_THROWN})(?:: (.*))?$"
)
"""What Spark's scheduler and its queries say of the failure that ended them, where the trace of that failure is not printed."""
_REMOTE = expression(r"(\bhadoop\.ipc\.RemoteException)\((?=[\w.$]+\): )([\w.$]+)\)")
"""Hadoop prints the class that the server threw in brackets (RemoteException.toString)."""
_FLAT = expression(
    r"(?<=\S)[ \t]+(?=at (?:[\w.@-]+/)?[\w$<>]+(?:\.[\w$<>-]+)+\([^()]*\))|(?<=\S)[ \t]+(?=Caused by: )|(?<=\S)[ \t]+(?=\.\.\. \d+ more)"
)
_FLAT_SIGN = expression(r"(?<=\S)[ \t]+at (?:[\w.@-]+/)?[\w$]+(?:\.[\w$<>-]+)+\([\w$<> ]+(?:\.(?:java|scala|kt|py|groovy)(?::\d+)?)?\)")


@dataclass
class Thrown:
    """One exception of a chain; `message` None = printed without one."""

    kind: str
    message: str | None = None
    frames: list[str] = field(default_factory=list)


@dataclass
class Trace:
    """What `parse` found; `chain` is outermost first. `loose` = frames that belong to no exception (a stack dump)."""

    chain: list[Thrown] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    printed: bool = False  # a class line or frames stood on lines of their own (or flattened), not merely a class named in a message

    @property
    def root(self) -> Thrown | None:
        return self.chain[-1] if self.chain else None

    @property
    def frames(self) -> list[str]:
        """First frames of the outermost and of the root exception."""
        if not self.chain:
            return self.loose[:_FRAMES_KEPT]
        outer, root = self.chain[0], self.chain[-1]
        return outer.frames[:_FRAMES_KEPT] + (root.frames[:_FRAMES_KEPT] if root is not outer else [])

    @property
    def user_frame(self) -> str | None:
        """The first frame, from the root outwards, that belongs to no framework."""
        for frames in [*(t.frames for t in reversed(self.chain)), self.loose]:
            for frame in frames:
                if is_user(frame):
                    return frame
        return None

    def described(self) -> list[str]:
        """The chain as text, outermost first, each `class: message`."""
        return [f"{t.kind}: {t.message[:MESSAGE_CLIP]}" if t.message else t.kind for t in self.chain]


def _flattened(text: str) -> bool:
    """Whether frames stand behind something else on their line; the frames of most traces stand alone, behind a tab."""
    tabs = text.count("\tat ")
    if " at " not in text and tabs == text.count("\n\tat ") + text.startswith("\tat "):
        return False
    return bool(_FLAT_SIGN.search(text))


def unflattened(text: str) -> str:
    """A trace that was put on one line (escaped or joined with spaces), as lines again; any other text as it is."""
    if "\\n" in text and ("\\tat " in text or "\\n\\t" in text or "\\nCaused by: " in text or "\\n    at " in text or "\\n  File " in text):
        text = text.replace("\\\\n", "\n").replace("\\\\t", "\t").replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t")
    if _flattened(text):
        text = "\n".join(_FLAT.sub("\n\t", line) if _FLAT_SIGN.search(line) else line for line in text.split("\n"))
        text = text.replace("\n\tCaused by: ", "\nCaused by: ")
    return text


def might_hold(text: str) -> bool:
    """Cheap test whether parsing is worth it."""
    return (
        "Exception" in text
        or "Error" in text
        or "Throwable" in text
        or "\tat " in text
        or "\n    at " in text
        or "Caused by: " in text
        or "Traceback (most" in text
    )


_PY_START = "Traceback (most recent call last):"


class _Reader:
    """Walks the lines of one event."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.current: Thrown | None = None
        self.skip_indent: int | None = None  # inside of a Suppressed block that is indented by this much
        self.python: list[str] | None = None  # frames of the Python traceback being read
        self.tracebacks: list[Thrown] = []
        self.ended: Thrown | None = None  # the Python traceback that the line before ended: its message may hold another trace
        self.unfinished = False  # the current exception's message goes on below its line
        self.after_message = True

    @property
    def plain(self) -> bool:
        """Whether a frame is just a frame: neither a Python traceback nor something suppressed is being read."""
        return self.python is None and self.skip_indent is None

    def line(self, raw: str) -> None:
        """One line, whatever it is."""
        text = raw.strip()
        if not text:
            return
        indent = len(raw) - len(raw.lstrip())
        if self.python is not None and self._python_line(raw, text, indent):
            return
        if text.startswith("Traceback (most recent call last)"):
            self.python = []
            return
        ended, self.ended = self.ended, None
        if ended is not None and ended.kind.endswith("Py4JJavaError") and (of_java := _NAMED.match(text.removeprefix(": "))):
            self.tracebacks.insert(1, self.begin(of_java))
            return
        if self._suppressed(text, indent):
            return
        if frame := _FRAME.match(text):
            self.frame(frame[1])
        elif by := _BY.match(text):
            self._by(by[1], by[2], indent)
        elif self.unfinished and self.current is not None and not self.current.frames:
            self._go_on(self.current, text)
        elif self.current is None or not self.current.frames or (indent == 0 and _NAMED.match(text) and not self.trace.printed):
            self._class_line(text, indent)

    def _suppressed(self, text: str, indent: int) -> bool:
        if self.skip_indent is None:
            return False
        if self.skip_indent == 0:  # indentation was lost: until the next cause
            if not text.startswith("Caused by: "):
                return True
        elif indent > self.skip_indent or (indent == self.skip_indent and text.startswith(("Caused by: ", "at ", "... "))):
            return True
        self.skip_indent = None
        return False

    def frame(self, name: str) -> None:
        """A frame of the current exception."""
        name = name.rsplit("/", 1)[-1] if "/" in name and "$$Lambda" not in name else name
        self.trace.printed = self.trace.printed or self.current is not None
        (self.current.frames if self.current is not None else self.trace.loose).append(name)

    def _go_on(self, thrown: Thrown, text: str) -> None:
        """A further line of a message that said nothing yet, or broke off in the middle (an answer in JSON, a list)."""
        thrown.message = f"{thrown.message} {text}" if thrown.message else text
        self.unfinished = text.endswith(_GOES_ON) and len(thrown.message) < MESSAGE_CLIP

    def _by(self, how: str, rest: str, indent: int) -> None:
        self.unfinished = False
        if how == "Suppressed":
            self.skip_indent = indent
            return
        match = _SOLE.match(rest) or re.match(r"([\w.$]+)(?:(?:: |(?=\[))(.*))?", rest)  # Elasticsearch prints no colon
        if match is None:
            return
        now = self.begin(match)
        self.trace.printed = True
        if how == "Wrapped by":
            self.trace.chain.insert(0, now)
        else:
            self.trace.chain.append(now)

    def _class_line(self, text: str, indent: int) -> None:
        if self.current is not None and self.trace.chain and not self.current.frames and self.trace.printed:
            return  # a further line of the message
        match = _NAMED.match(text) or (_SOLE.match(text) if indent == 0 else None)
        if match is not None and (indent == 0 or _NAMED.match(text)):
            if _SOLE.match(text) and not _NAMED.match(text) and not _looks_like_class(match[1]):
                return
            self.trace.chain = [self.begin(match)]
            self.trace.printed = True

    def begin(self, match: re.Match[str]) -> Thrown:
        """Begins an exception; the message of PySpark's is a Python traceback."""
        self.current = Thrown(match[1], match[2])
        said = match.string.rstrip()
        self.unfinished = match.end() >= len(said) and said.endswith(_GOES_ON)
        if (match[2] or "").endswith(_PY_START):
            self.python = []
        return self.current

    def _python_line(self, raw: str, text: str, indent: int) -> bool:
        frames = self.python
        assert frames is not None
        if at := _PY_FRAME.match(text):
            frames.append(f"{at[1]}:{at[2] or '<module>'}")
            return True
        if indent:
            return not _FRAME.match(text)
        end = _PY_END.match(text)
        if end is None:
            return True
        self.python = None
        self.trace.printed = True
        # chained exceptions are printed with the most recent one last, but PySpark's PythonException holds the worker's in its message
        within = self.ended is not None and (self.ended.message or "").endswith(":")
        self.ended = Thrown(end[1], end[2], frames[::-1])
        self.tracebacks.insert(1 if within else 0, self.ended)
        return True

    def rest(self, lines: list[str]) -> Trace:
        """All further lines of the event; gives what was found."""
        for raw in lines:
            if raw.startswith("\tat ") and self.plain and (frame := _FRAME.match(raw, 1)):
                self.frame(frame[1])  # what most lines are
            else:
                self.line(raw)
        return self.finish()

    def finish(self) -> Trace:
        if self.tracebacks:
            self.trace.chain.extend(self.tracebacks)
        _resolve(self.trace)
        return self.trace


def _looks_like_class(name: str) -> bool:
    return name.count(".") >= 2


def _resolve(trace: Trace) -> None:
    """Puts the class that travelled as text in the place of its wrapper, and appends a cause that only a message names."""
    for thrown in trace.chain:
        if thrown.kind.endswith(".SerializedThrowable") and thrown.message and (m := _AS_TEXT.match(thrown.message)):
            thrown.kind, thrown.message = m[1], m[2]
    for _ in range(4):
        root = trace.root
        if root is None or not root.message:
            return
        m = _NESTED.search(root.message) or _AS_TEXT.match(root.message) or _OF_SPARK.search(root.message)
        if m is None or "." not in m[1]:
            return
        trace.chain.append(Thrown(m[1], m[2], []))


def parse(message: str, continuation: str) -> Trace:
    """The chain of an event from its message (first line) and its continuation lines (may be empty); shared, so not to be changed."""
    head = unflattened(_remote_named(message))
    lines = head.split("\n")
    first = lines[0]
    named = _IN_MESSAGE.search(first)
    if named is None and (sole := _NAMED.match(first.strip())):
        named = sole
    reader = _Reader()
    if named is not None:
        reader.trace.chain = [reader.begin(named)]
        reader.trace.printed = named.start(1) == 0 or first.startswith("Exception in thread")
    if first.lstrip().startswith(("at ", "Caused by: ", "Traceback (most", "Wrapped by: ")):
        reader.current = None
        reader.trace.chain = []
        reader.line(first)
    elif first.endswith(_PY_START):
        reader.python = []
    elif named is None and len(lines) == 1 and len(continuation) <= _REMEMBERED:
        return _continued(continuation)  # the message has no say in it
    if continuation:
        lines += _continuation_lines(continuation)
    if named is not None and len(lines) > 1 and _NAMED.match(lines[1]):
        reader.current, reader.trace.chain = None, []  # the message merely repeats what follows
    return reader.rest(lines[1:])


@lru_cache(maxsize=512)
def _continued(continuation: str) -> Trace:
    return _Reader().rest(_continuation_lines(continuation))


def _remote_named(text: str) -> str:
    return _REMOTE.sub(r"\1: \2", text) if "RemoteException(" in text else text


def _continuation_lines(continuation: str) -> list[str]:
    continuation = _remote_named(continuation)
    return (unflattened(continuation) if "\\n" in continuation or _flattened(continuation) else continuation).split("\n")
