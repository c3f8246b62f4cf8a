"""What pasting does to log text: quote marks, indentation, code fences, HTML entities, hard wraps, broken headers, a first line cut at its
front, a stamp before each line of a trace. Undone for small files only."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.lines import DATED, Lines, classified, classify
from analyzers.logs.wrappings import connect_status, stamped_traces

LIMIT = BUDGET.pasted_bytes

_FENCE = expression(
    rb"\s*(?:```[\w-]*|~~~[\w-]*|\{code(?::[^}]*)?\}|\{noformat\}|</?(?:pre|code)(?: [^>]*)?>(?:</?(?:pre|code)(?: [^>]*)?>)*)\s*$",
    re.IGNORECASE,
)
_TAGS = expression(rb"</?(?:pre|code|p|div|span|html|body|table|thead|tbody|t[rhd])(?: [^<>]*)?>|<br ?/?>", re.IGNORECASE)
_PART_ENDS = expression(rb"<br ?/?>|</t[hd]>\s*<t[hd](?: [^<>]*)?>|</tr>\s*(?=<tr)", re.IGNORECASE)
_ENTITY = expression(rb"&(?:lt|gt|amp|quot|apos|nbsp|#\d{2,5}|#x[0-9a-fA-F]{2,4});")
_OWN_LINE = expression(
    rb"\s*(?:at [\w.$/<>]+\(|Caused by: |\.\.\. \d+ (?:more|common)|Suppressed: |Traceback \(|File \""
    rb"|(?:[a-z_]\w*\.)+[A-Z][\w$]*(?:Exception|Error)(?::|$)"
    rb"|(?:SEVERE|WARNING|INFO|CONFIG|FINE(?:R|ST)?): )"  # second lines of java.util.logging, whose first ones are equally long
)
_SEPARATOR = expression(rb"\W*$|[|+].*[|+]$|\{\"")


_TICK = expression(rb"^[ \t>]*`(?!`)(?=\S)", re.MULTILINE)  # inline code of Markdown: a line, or some, between two backticks
_BLANK, _FENCE_OPENS = np.zeros(256, bool), np.zeros(256, bool)
_BLANK[list(b" \t\n\r\f\v")] = True
_FENCE_OPENS[list(b" \t\n\r\f\v`~{<")] = True


@dataclass(frozen=True)
class Cleaning:
    """What is to be undone, as found in the whole text. `wrap` = column at which lines were broken, 0 = none; `words` = between words."""

    fences: bool = False
    ticks: bool = False
    entities: bool = False
    indent: int = 0
    wrap: int = 0
    words: bool = False
    heads: bool = False  # headers whose message was moved to a line of its own
    stamped: bool = False  # each line of a trace has a header: it was printed line by line
    statuses: bool = False  # answers of Kafka Connect's REST
    year: bytes = b""  # what the first line's date lacks: whoever marked the text began behind it

    @property
    def names(self) -> tuple[str, ...]:
        found = (
            ("fenced", self.fences or self.ticks), ("html", self.entities), ("indented", self.indent > 0),
            ("hard-wrapped", self.wrap > 0 or self.heads), ("stamped-traces", self.stamped), ("cut", bool(self.year)),
            ("connect-status", self.statuses),
        )  # fmt: skip
        return tuple(name for name, is_so in found if is_so)


def is_untouched(text: bytes, found: Lines) -> bool:
    """Whether a glance at a text of headers and traces shows that `examine` would find nothing; `found`: its lines."""
    if (
        _has_ticks(text)
        or _has_entities(text)
        or _CUT.match(text)
        or _headless(text)
        or stamped_traces.may_be_in(text)
        or connect_status.has_status(text)
        or _has_fences(text, found)
    ):
        return False
    # as in `_wrap`
    widths, count = found.ends - found.starts, len(found.starts)
    widest = int(widths.max())
    if count < 4 or not _NARROW <= widest <= _WIDE or count - int(np.count_nonzero(found.kinds)) < count * _BROKEN:
        return True
    headers = widths[found.kinds == DATED]
    return int(np.count_nonzero(widths == widest)) < _FULL and len(headers) > 0 and int(headers.max()) > _LINE


def _has_fences(text: bytes, found: Lines) -> bool:
    """Whether a line may be a fence: of most the first bytes show that they are none."""
    data = np.frombuffer(text, np.uint8)
    firsts, seconds = data[found.starts], data[np.minimum(found.starts + 1, len(data) - 1)]
    perhaps = _FENCE_OPENS[firsts] & (_FENCE_OPENS[seconds] | ~_BLANK[firsts])
    spans = zip(found.starts[perhaps].tolist(), found.ends[perhaps].tolist(), strict=True)
    return any(_FENCE.match(text, start, end) for start, end in spans)


def examine(lines: Sequence[bytes]) -> Cleaning:
    """What pasting has done to `lines` (a whole small text, other wrappings peeled)."""
    text = b"\n".join(lines)
    block = text + b"\n"
    found = classified(block)
    fences = _has_fences(block, found)
    entities = _has_entities(text)
    ticks = _has_ticks(text)
    bare = _unticked(lines) if ticks else lines
    inner = bare if not fences and not entities else [part for line in bare for part in _parts(line, fences, entities)]
    kinds = found.kinds if inner is lines else None
    indent = _indent(inner) if kinds is None or not kinds.any() else 0
    wrap, words = _wrap([line[indent:] for line in inner], None) if indent else _wrap(inner, kinds)
    stamped = stamped_traces.are_in(lines, block, found)
    statuses = connect_status.has_status(b"\n".join(inner) if fences or entities or ticks else text)
    return Cleaning(fences, ticks, entities, indent, wrap, words, _headless(text), stamped, statuses, _lacking_year(text))


_CUT = expression(rb"\[?(\d{2,3})-\d\d-\d\d[ T]\d\d:\d\d:\d\d[,. ]")
_NEXT_DATE = expression(rb"\n\[?(\d{4})-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_NO_MESSAGE = expression(
    rb"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[,.]\d{1,9})? +(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +[\w$]+(?:\.[\w$]+)+\s*$"
)
_MESSAGE_ALONE = expression(rb"\t?(?:\[\] +)?- +\S")
_ALONE_SIGN = expression(rb"\n\t?(?:\[\] )?- ")
_HEADLESS = expression(_NO_MESSAGE.pattern.replace(rb"\s*$", rb"[ \t]*\r?\n") + _MESSAGE_ALONE.pattern, re.MULTILINE)


def _headless(text: bytes) -> bool:
    """Whether a header ends behind its logger and the next line begins with what stands between a logger and its message."""
    return bool(_ALONE_SIGN.search(text)) and bool(_HEADLESS.search(text))


def _lacking_year(text: bytes) -> bytes:
    """The digits that the first line's year lacks, as the next date has them."""
    cut = _CUT.match(text)
    if cut is None:
        return b""
    later = _NEXT_DATE.search(text)
    year = later[1] if later else b"20" + cut[1][-2:]
    return year[: 4 - len(cut[1])] if year.endswith(cut[1]) else b""


def _has_entities(text: bytes) -> bool:
    if not ((b"&" in text and _ENTITY.search(text)) or (b"<" in text and _TAGS.search(text))):
        return False
    return b"<init>" not in text and b"<clinit>" not in text  # angle brackets that were never quoted


def _has_ticks(text: bytes) -> bool:
    at = text.find(b"`")
    while at >= 0:
        if _TICK.match(text, text.rfind(b"\n", 0, at) + 1):
            return True
        at = text.find(b"`", at + 1)
    return False


def _unticked(lines: Sequence[bytes]) -> list[bytes]:
    """`lines` without the backticks before and behind what was marked as inline code."""
    bare, within = [], False
    for line in lines:
        opens = _TICK.match(line)
        if opens:
            line = line[opens.end() :]
        if (opens or within) and line.rstrip().endswith(b"`"):
            line, within = line.rstrip()[:-1], False
        else:
            within = within or opens is not None
        bare.append(line)
    return bare


def _parts(line: bytes, fences: bool, entities: bool) -> list[bytes]:
    """What a line is without fences and tags: none, one, or the cells and lines that HTML has within it."""
    if fences and _FENCE.match(line):
        return []
    if not entities:
        return [line]
    parts = [_plain(part) for part in _PART_ENDS.split(line)]
    if len(parts) == 1:
        return parts
    if np.count_nonzero(classify(b"\n".join(part.lstrip() for part in parts)).kinds) > 1:
        return [_plain(line)]  # several events cannot have one place
    return parts if parts[-1].strip() else parts[:-1]


def _plain(line: bytes) -> bytes:
    """A line without tags and entities."""
    return html.unescape(_TAGS.sub(b"", line).decode("utf-8", "replace")).replace("\xa0", " ").encode()


def _indent(lines: Sequence[bytes]) -> int:
    """Blanks that stand before every header, and before every other line too."""
    solid = [line.replace(b"\t", b"    ") if line.startswith(b"\t") else line for line in lines if line.strip()]
    if not solid:
        return 0
    if (classify(b"\n".join(lines) + b"\n").kinds != 0).any():
        return 0
    indents = [len(line) - len(line.lstrip(b" ")) for line in lines if line.strip()]
    common = min(indents)
    if common:
        return common
    # the first line is often cut flush where the rest is indented
    rest = min(indents[1:], default=0)
    stripped = [line.lstrip(b" ") for line in lines]
    return rest if rest and bool((classify(b"\n".join(stripped) + b"\n").kinds != 0).any()) else 0


_NARROW, _WIDE = 50, 400  # columns of what breaks lines
_LINE = 132  # the same, of what breaks them between words
_FULL = 3  # lines of the same width, at the least, show that it was a border
_BROKEN = 0.1  # of the lines, at the least, are second parts of lines that were too long


def _wrap(lines: Sequence[bytes], kinds: npt.NDArray[np.uint8] | None) -> tuple[int, bool]:
    """The column at which a terminal or mailer broke lines; 0 if none shows. `kinds` of the lines, where they are known."""
    widest = max(map(len, lines), default=0)
    if (column := _prose(lines)) and (kinds is None or not kinds.any()):
        return column, not _anywhere(lines, widest)
    if len(lines) < 4 or not _NARROW <= widest <= _WIDE:
        return 0, False
    if kinds is not None and len(lines) - int(np.count_nonzero(kinds[: len(lines)])) < len(lines) * _BROKEN:
        return 0, False
    kinds = classify(b"\n".join(lines) + b"\n").kinds if kinds is None else kinds
    if not kinds.any() and not any(_OWN_LINE.match(line) for line in lines):
        return 0, False  # nothing here looks like a log: a table, a listing
    full = [n for n, line in enumerate(lines[:-1]) if len(line) == widest]
    broken = [n for n in full if not kinds[n + 1] and lines[n + 1].strip() and not _OWN_LINE.match(lines[n + 1])]
    broken = [n for n in broken if not _SEPARATOR.match(lines[n]) and not _SEPARATOR.match(lines[n + 1])]
    if len(broken) >= _FULL and len(broken) * 10 >= len(full) * 6 and not _between_words(lines, kinds, widest, len(broken)):
        return widest, False
    widest = max((len(line) for line in lines if not _OWN_LINE.match(line)), default=0)  # frames are often left alone
    if not _NARROW <= widest <= _LINE:
        return 0, False
    loose = [n for n in range(len(lines) - 1) if _continues_words(lines[n], lines[n + 1], widest) and not kinds[n + 1]]
    heads = [
        n
        for n in range(len(lines) - 1)
        if not kinds[n + 1] and lines[n + 1].strip() and not _OWN_LINE.match(lines[n + 1]) and not lines[n + 1][:1].isspace()
    ]
    if len(loose) >= 3 and len(loose) * 10 >= len(heads) * 8:
        return widest, True
    return 0, False


def _anywhere(lines: Sequence[bytes], width: int) -> bool:
    """Whether prose was broken within words, too, as a terminal does it: then most lines are exactly as wide as it."""
    full = sum(1 for line in lines[:-1] if len(line) == width)
    return full >= _FULL and full * 10 >= (len(lines) - 1) * 6


def _between_words(lines: Sequence[bytes], kinds: npt.NDArray[np.uint8], width: int, full: int) -> bool:
    """Whether lines are broken between words, and `full` ones have the width by chance: shorter ones go on, too."""
    shorter = (n for n in range(len(lines) - 1) if len(lines[n]) < width and not kinds[n + 1])
    return 2 * sum(1 for n in shorter if _continues_words(lines[n], lines[n + 1], width)) > full


_SHORT = 60  # lines of a message, a ticket, a mail
_PROSE = (50, 132)  # columns at which they are wrapped
_FAILS = expression(
    rb"[a-z]\.[A-Z]\w*(?:Exception|Error)\b|Exception:|^Caused by: |\b(?:Flink|Kafka|Spark|Beam|org\.apache\.(?:flink|kafka|spark|beam))\b",
    re.MULTILINE,
)


def _prose(lines: Sequence[bytes]) -> int:
    """The column at which a few lines without any header were wrapped between words; 0 where only one of them does not obey."""
    if not 2 <= len(lines) <= _SHORT or not _FAILS.search(b"\n".join(lines)):
        return 0
    widest = max((len(line) for line in lines if not line[:1].isspace()), default=0)
    if not _PROSE[0] <= widest <= _PROSE[1] or classify(b"\n".join(lines) + b"\n").kinds.any():
        return 0
    pairs = [(a, b) for a, b in pairwise(lines) if a.strip() and b.strip() and not b[:1].isspace() and (_open(a) or not _OWN_LINE.match(b))]
    return widest if pairs and all(_open(a) or _by_hand(a, b) or _continues_words(a, b, widest) for a, b in pairs) else 0


_OPEN = expression(rb"(?:^|\s)(?:Caused by:|Exception in thread \"[^\"]*\"|at)\s*$")


_LATER_WORD = expression(rb"[a-z\[({]")


def _by_hand(line: bytes, following: bytes) -> bool:
    """Whether a sentence was broken by hand: behind a blank, which stays at the end of the line."""
    return line.endswith(b" ") and bool(_LATER_WORD.match(following)) and not _OWN_LINE.match(following)


_IN_NAME = expression(rb"\b(?:org|com|io|java|net)(?:\.[a-z_]\w*)+\.$")  # some break behind the dots of a class, too


def _open(line: bytes) -> bool:
    """Whether what must follow on the same line was wrapped: the class of an exception, or the rest of its name."""
    return bool(_OPEN.search(line) or _IN_NAME.search(line))


def _continues_words(line: bytes, following: bytes, width: int) -> bool:
    """Whether `following` begins with a word that did not fit on `line`."""
    if (
        not following.strip()
        or following[:1].isspace()
        or _OWN_LINE.match(following)
        or _SEPARATOR.match(following)
        or len(line) < width // 4
    ):
        return False
    # a run of blanks, as log4j pads loggers with, is lost where a line is broken
    return len(line) + 1 + len(following.split(None, 1)[0]) > width or following.startswith((b"[] - ", b"- "))


def undo(lines: Sequence[bytes], cleaning: Cleaning) -> list[tuple[bytes, int]]:
    """The lines as they were before pasting, each with its place in `lines`."""
    result: list[tuple[bytes, int]] = []
    for number, raw in enumerate(_unticked(lines) if cleaning.ticks else lines):
        for line in _parts(raw, cleaning.fences, cleaning.entities):
            own = min(cleaning.indent, len(line) - len(line.lstrip(b" ")))
            result.append((line[own:], number))
    if cleaning.statuses:
        result = connect_status.as_lines(result)
    if cleaning.year and result:
        bracket = b"[" if result[0][0].startswith(b"[") else b""
        result[0] = (bracket + cleaning.year + result[0][0].removeprefix(b"["), result[0][1])
    if cleaning.stamped:
        result = stamped_traces.joined(result)
    if cleaning.heads:
        result = _with_messages(result)
    return _rejoin(result, cleaning) if cleaning.wrap else result


def _with_messages(lines: list[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """Headers with the message that was moved below them."""
    joined: list[tuple[bytes, int]] = []
    for line, number in lines:
        if joined and _MESSAGE_ALONE.match(line) and _NO_MESSAGE.match(joined[-1][0]):
            joined[-1] = (joined[-1][0].rstrip() + b" " + line.lstrip(), joined[-1][1])
        else:
            joined.append((line, number))
    return joined


def _rejoin(lines: list[tuple[bytes, int]], cleaning: Cleaning) -> list[tuple[bytes, int]]:
    kinds = classify(b"\n".join(line for line, _ in lines) + b"\n").kinds
    joined: list[tuple[bytes, int]] = []
    before = b""
    for place, (line, number) in enumerate(lines):
        opened = cleaning.words and _open(before)
        apart = not joined or kinds[place] or not line.strip() or (bool(_OWN_LINE.match(line)) and not opened)
        if not apart and cleaning.words and (opened or _by_hand(before, line) or _continues_words(before, line, cleaning.wrap)):
            joined[-1] = (joined[-1][0].rstrip() + b" " * (not _IN_NAME.search(before)) + line, joined[-1][1])
        elif not apart and len(before) == cleaning.wrap and not cleaning.words:
            joined[-1] = (joined[-1][0] + line, joined[-1][1])
        else:
            joined.append((line, number))
        before = line
    return joined
