"""Values behind the name of a secret: ``name=value`` in each of the spellings that logs, settings and command lines have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from analyzers.secrets import values
from analyzers.secrets.names import SIGN, SIGNS_OF_NAMES, Name, judged


class Span(NamedTuple):
    """Where a secret stands; `sure`: it is one wherever else the text repeats it."""

    begin: int
    end: int
    sure: bool


_LONGEST_NAME = 120
_OF_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$")
_NAME_GOES_ON = re.compile(rf"[\w.$-]{{0,{_LONGEST_NAME}}}")
_BEFORE = re.compile(r"(\w{1,30})[ _-]?$")

_PATH = re.compile(r"(?:^|[\s\"'(=])/(?:[\w.-]{1,100}/){0,20}\Z")
_COLOUR = r"(?:\x1b\[[\d;]{0,12}m)*"
_CLOSE = r"(?:\[\d{0,4}\])?(?:\\*[\"'`]|&quot;|\\u0022|%22)?[\]}]?" + _COLOUR
_SEPARATOR = re.compile(
    _CLOSE
    + r"[ \t]*(?P<sign>:=|==?>|==?|->|::(?=[ \t])|:|\\=|%3[DA]|&\#(?:61|58);|\\{1,4}(?:u003|x3)[da])[ \t]*"
    + _COLOUR
    + r"(?P<continued>\\\r?\n[ \t]*)?",
    re.I,
)
_PAIR = re.compile(  # what stands between a name and its value where each is a thing of its own
    r"(?:\s{0,200}</(?:\w+:)?name>\s{0,200}(?:(?:<(?:final|source|description)>[^<]{0,400}</\w+>|<!--[^>]{0,400}-->)\s{0,200}){0,4}<value[^<>]{0,80}>"
    r"|[\"']\s{1,200}value\s?=\s?(?=[\"'])"
    r"|\\*[\"']?\s?,?\s{0,200}(?:-\s)?\\*[\"']?val(?:ue)?\\*[\"']?\s?[:=]\s?(?=\S)"
    r"|(?<=.)[\"'][^<>\"']{0,80}>)",
)
_ELEMENT = re.compile(r"(?=[\s/>&])(?:[^<>&\"']|\"[^\"<>]{0,200}\"|'[^'<>]{0,200}'){0,20}?(?:/(?=>))?(?:>|&gt;)")
_CALL = re.compile(r"\\*[\"'],\s?(?=\\*[\"'])")
_TUPLE = re.compile(r",(?=\S)")
_KEYWORD = re.compile(r"[ \t]{1,4}(?=[\"'])")
"""``:pass "x"`` of EDN, and of Ruby."""
_COMMAND = re.compile(r"(?:^|[\r\n>\"']|[>:] )(?:USER \S{1,64} )?\Z")
"""What stands before a command of a protocol: ``AUTH x`` of Redis, ``PASS x`` of FTP and POP."""
_REQUEST = re.compile(r"api_?key\s?[=:]\s?\d{1,3}(?=,? (?:and )?api_?version)", re.I)
"""The number that Kafka's protocol has for a kind of request."""
_TABLE = re.compile(r"[ \t]{1,40}\|[ \t]{1,40}")
_ARGUMENT = re.compile(r"(?:[ \t]{1,40}|[\"']?,[ \t]?)(?![-,])")
_LOADED = re.compile(r", (?=\S)")
_SAID = re.compile(r"[ \t](?:is:? |was:? |= |to:? |(?:for|of) [\w.@-]{1,64}(?:: ?| is | to ))?[(\[]?(?=[\"'\w])")
_BARS = re.compile(r"\|(?P<value>[^|\s]{4,200})(?=\|)")
_ALONE = re.compile(r"[ \t]{1,40}(?P<value>\S{1,400})[ \t]*(?=\r?\n|$)")
_USER_AND = re.compile(r"[\w.-]{1,64}:[^\s:/@]{4,}")
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*(?=\r?\n)")
_NEXT_LINE = re.compile(
    r"[ \t]*\r?\n(?P<indent>[ \t]+)(?P<item>- )?(?P<value>[\"'][^\n]{0,400}|(?!at |Caused|- |#)[^\s:=]{1,400})(?=[ \t]*(?:\r?\n|$))"
)
_VALUE_FIRST = (
    re.compile(r"\bvalue\s?=\s?([\"'])(?P<value>[^\"'<>\n]{1,400})\1\s{1,40}(?:name|key)\s?=\s?[\"'](?P<name>[\w.-]{1,120})[\"']"),
    re.compile(r"\bvalue(\\*[\"'])\s?:\s?\1(?P<value>[^\"'\\\n]{1,400})\1\s?,\s{0,40}\1(?:name|key)\1\s?:\s?\1(?P<name>[\w.-]{1,120})\1"),
    re.compile(r"<value>(?P<value>[^<>]{1,400})</value>\s{0,40}<name>\s?(?P<name>[\w.-]{1,120})\s?</name>"),
)
_LOGIN_USERS = re.compile(r"\buser_[\w.-]{1,64}\s?=\s?\\*\"(?P<value>[^\"\\\n]{1,200})\\*\"")
"""``user_alice="…"`` in the options of `PlainLoginModule`: a broker's list of passwords."""
_LOGIN_USERS_ALONE = re.compile(rf"(?:{_LOGIN_USERS.pattern.replace('?P<value>', '')}\s{{0,40}})+;")
"""The same without the name of the module, which may stand on another line: a semicolon ends it."""
_SCRAM = re.compile(r"\bSCRAM-SHA-\d{3}\s?=\s?\[(?P<value>[^\[\]\n]{1,600})\]")
"""What is kept of a password in place of it, as `kafka-configs` prints it: enough to guess it, or to pose as the broker."""
_TWO = re.compile(r"[\[(]\s?(?P<quote>[\"'])[^\"'\n]{1,200}(?P=quote),\s?(?P=quote)(?P<value>[^\"'\n]{1,200})(?P=quote)\s?[\])]")
"""A user and a password, behind a name such as ``auth``."""


def assigned(text: str, signs: frozenset[str]) -> Iterator[Span]:
    """The secrets that stand behind a name in `text`, which has these `signs`, in order."""
    if "value" in text:
        for form in _VALUE_FIRST:
            for match in form.finditer(text):
                if judged(match["name"]) is Name.SURE and not values.is_everybodys(match["value"]):
                    yield Span(*match.span("value"), True)
    if "user_" in text:
        for begin, end in [(0, len(text))] if "LoginModule" in text else [match.span() for match in _LOGIN_USERS_ALONE.finditer(text)]:
            for match in _LOGIN_USERS.finditer(text, begin, end):
                yield Span(*match.span("value"), True)
    if "SCRAM-SHA-" in text:
        for match in _SCRAM.finditer(text):
            yield Span(*match.span("value"), False)
    names = signs.intersection(SIGNS_OF_NAMES)
    if not names:
        return
    find = _Finder(text, names).find if text.isascii() else partial(SIGN.search, text)
    at, line_end = 0, -1
    while hit := find(at):
        if line_end < hit.start():
            line_end = text.find("\n", hit.start())
            line_end = len(text) if line_end < 0 else line_end
        begin, end = _name(text, hit.start(), hit.end(), at)
        found = _value(text, begin, end, max(line_end, end))
        at = end
        for span in found:
            yield span
            at = max(at, span.end)
        line_end = line_end if line_end >= at else -1


class _Finder:
    """Finds what `SIGN` does in an ASCII `text` by looking at those of its lines only that have one of `signs`: no name goes over lines."""

    def __init__(self, text: str, signs: Iterable[str]) -> None:
        self._text, self._small = text, text.lower()
        self._next, self._line_end = dict.fromkeys(signs, -1), -1

    def find(self, at: int) -> re.Match[str] | None:
        while (place := self._sign(at)) >= 0:
            if self._line_end < place:
                self._line_end = self._text.find("\n", place)
                self._line_end = len(self._text) if self._line_end < 0 else self._line_end
            if hit := SIGN.search(self._text, max(at, self._text.rfind("\n", at, place) + 1), self._line_end):
                return hit
            at = self._line_end
        return None

    def _sign(self, at: int) -> int:
        """Where the next one begins, -1 when there is none."""
        for sign in [sign for sign, place in self._next.items() if place < at]:
            self._next[sign] = place = self._small.find(sign, at)
            if place < 0:
                del self._next[sign]
        return min(self._next.values(), default=-1)


def _name(text: str, begin: int, end: int, least: int) -> tuple[int, int]:
    least = max(least, begin - _LONGEST_NAME)
    while begin > least and text[begin - 1] in _OF_NAME:
        begin -= 1
    going_on = _NAME_GOES_ON.match(text, end)
    end = going_on.end() if going_on else end
    while text[end - 1] in "-.":
        end -= 1
    return begin, end


def _value(text: str, begin: int, end: int, line_end: int) -> list[Span]:
    """The value behind the name between `begin` and `end`; a list as long as the list that it is."""
    before = _BEFORE.search(text, max(0, begin - 32), begin)
    kind = judged(text[begin:end], before[1] if before else "")
    if (
        kind is None or _REQUEST.match(text, begin) or (text.startswith("=/", end) and text[begin:end] in ("PWD", "OLDPWD"))
    ):  # working directories
        return []
    ahead = text[begin - 1 : begin]
    if ahead in "<:" and ahead and (element := _tag(text, begin, end)) is not None:
        return _checked(text, kind, *element)
    if ahead == ";" and text[begin - 4 : begin] == "&lt;" and text.startswith("&gt;", end):
        stop = text.find("&lt;", end)
        return _checked(text, kind, end + 4, line_end if stop < 0 else stop)
    if separator := _SEPARATOR.match(text, end):
        return _behind(text, kind, begin, separator, line_end)
    if kind is Name.SURE and (match := _BARS.match(text, end)):
        return _checked(text, Name.MAYBE, *match.span("value"))
    if pair := _PAIR.match(text, end):
        line_end = text.find("\n", pair.end())
        line_end = len(text) if line_end < 0 else line_end
        return _checked(text, kind, *_extent(text, kind, pair.end(), line_end, xml=pair[0].endswith(">")))
    if text[begin:end] in ("AUTH", "PASS") and _COMMAND.search(text, max(0, begin - 72), begin) and (match := _ALONE.match(text, end)):
        return _checked(text, Name.LIKELY, *match.span("value"))
    if kind is Name.MAYBE and text[begin] != "-" and not (begin == 0 or text[begin - 1] == "\n"):
        return []
    window = text[max(0, begin - 40) : begin]
    for form, wanted in (
        (_CALL, ahead in ("'", '"') and window.rstrip("\\\"'").endswith("(")),
        (_TUPLE, ahead == "("),
        (_KEYWORD, ahead == ":"),
        (_TABLE, window.rstrip(" \t\"'").endswith("|")),
        (_ARGUMENT, text[begin] == "-"),
        (_LOADED, window.endswith("property: ")),
    ):
        if wanted and (match := form.match(text, end)):
            value = _extent(text, kind, match.end(), line_end)
            return _checked(text, Name.SURE if text[begin] == "-" else kind, *value)
    return _said(text, kind, begin, end, line_end)


def _tag(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """The content of the element whose name stands between `begin` and `end`, None when it is no element."""
    opening = text.rfind("<", max(0, begin - 40), begin)
    if opening < 0 or re.fullmatch(r"<(?:[\w-]+:)?", text[opening:begin]) is None:
        return None
    head = _ELEMENT.match(text, end)
    if head is None or head[0].endswith("/>"):
        return None
    if inner := values.enclosed(text, head.end(), head.end()):
        return inner[0], inner[1]
    close = text.find("<", head.end())
    return head.end(), len(text) if close < 0 else close


def _behind(text: str, kind: Name, begin: int, separator: re.Match[str], line_end: int) -> list[Span]:
    """The value behind a sign such as ``=``."""
    at, sign = separator.end(), separator["sign"]
    if separator["continued"]:
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
    elif sign == ":" and (block := _block(text, begin, values.without_tag(text, at))) is not None:
        likely = Name.LIKELY if kind is Name.MAYBE else kind  # lines below a name are its value, and no more of a sentence
        return [span for one in block for span in _checked(text, likely, *one)]
    ahead = text[begin - 1 : begin]
    if ahead == "/" and separator[0].startswith(":") and _PATH.search(text, max(0, begin - 200), begin):  # something is said of it
        return []
    if kind is Name.MAYBE and "auth" in text[begin : separator.start()].lower() and (match := _TWO.match(text, at)):
        return _checked(text, Name.LIKELY, *match.span("value"))
    query = ahead != "" and ahead in "?&#"
    if kind is Name.MAYBE and (query or (sign != ":" and text[begin : separator.start()].lower() == "sig")):
        kind = Name.LIKELY
    if kind is Name.MAYBE and _USER_AND.match(text, at) and (sign == "=" or "basic" in text[begin : separator.start()].lower()):
        kind = Name.LIKELY
    if kind is Name.MAYBE and sign == "=" and text[begin : separator.start()].lower().endswith(("token", "credential", "credentials")):
        kind = Name.LIKELY
        if found := values.enclosed(text, at, line_end):
            return _checked(text, kind, found[0], found[1])
    if kind is Name.MAYBE and sign == ":" and separator[0] == ":" and text[at : at + 1] not in ("'", '"'):
        return []  # com.google.auth:google-auth-library: coordinates, places
    within = ahead != "" and ahead in "\"'" and not re.match(r"\\*[\"']", separator[0])
    if within and kind in (Name.SURE, Name.JAAS, Name.HEADER):  # -H "Name: value", "-Dname=value": up to the quote before the name
        stop = text.find(ahead, at, line_end)
        if stop >= 0 and not values.quoted(text, at, line_end):
            return _checked(text, kind, at, stop)
    _, broken, line = text[max(0, begin - 100) : begin].rpartition("\n")
    starts_line = bool(broken or begin <= 100) and not line.strip(" \t<>*")
    return _checked(text, kind, *_extent(text, kind, at, line_end, query=query, starts_line=starts_line))


def _extent(
    text: str, kind: Name, at: int, line_end: int, *, query: bool = False, starts_line: bool = False, xml: bool = False
) -> tuple[int, int]:
    """Where the value at `at` begins and ends."""
    at = values.without_tag(text, at)
    if xml:
        if inner := values.enclosed(text, at, at):
            return inner[0], inner[1]
        close = text.find("<", at)
        return at, len(text) if close < 0 else close
    if found := values.quoted(text, at, line_end):
        return found[0], found[1]
    if kind in (Name.SURE, Name.HEADER) and (found := values.enclosed(text, at, line_end)):
        return found[0], found[1]
    if kind is Name.HEADER:
        return at, values.header(text, at, whole_line=starts_line)
    if kind is Name.JAAS:
        return at, _jaas_end(text, at, line_end)
    if starts_line and kind is Name.SURE:
        return at, values.rest_of_line(text, at, line_end)
    return at, values.bare(text, at, query=query)


def _jaas_end(text: str, at: int, line_end: int) -> int:
    """The semicolon that ends the options of a login module, outside of quotes; else the end of the line."""
    while at < line_end:
        if found := values.quoted(text, at, line_end):
            at = found[2]
        elif text[at] == ";" or text.startswith("\\n", at):
            return at
        else:
            at += 1
    return line_end


def _block(text: str, begin: int, at: int) -> list[tuple[int, int]] | None:
    """The lines below a YAML name: a block, a value on the next line, the items of a list; None when the value stands beside it."""
    name_line = text.rfind("\n", max(0, begin - 200), begin) + 1
    indent = len(text[name_line:begin]) - len(text[name_line:begin].lstrip(" \t"))
    if block := _BLOCK.match(text, at):
        return [(start, end) for start, end, deep in _lines_below(text, block.end()) if deep > indent]
    found = []
    while match := _NEXT_LINE.match(text, at):
        if len(match["indent"]) <= indent and not match["item"]:
            break
        found.append(match.span("value"))
        at = match.end()
        if not match["item"]:
            break
    return found or (None if text[at : at + 1].strip() else [])


def _lines_below(text: str, at: int) -> Iterator[tuple[int, int, int]]:
    """Begin, end and indentation of the lines behind the line break at `at`, up to the first one that is not indented."""
    while (at := text.find("\n", at)) >= 0:
        at += 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        deep = len(line) - len(line.lstrip(" \t"))
        if not deep:
            return
        yield at + deep, end, deep
        at = end


def _said(text: str, kind: Name, begin: int, end: int, line_end: int) -> list[Span]:
    """A value with a blank or a word before it: ``secret key wJalr…``, ``password is hunter2``, ``PASSWORD 'x'``."""
    name = text[begin:end]
    alone = begin == 0 or text[begin - 1] == "\n"
    if alone and kind is Name.SURE and text.startswith("\t", end) and (match := _ALONE.match(text, end)):
        return _checked(text, kind, *match.span("value"))
    alone = alone or ("." in name and text.startswith(("  ", "\t"), end))  # a line of spark-defaults.conf, printed behind something
    if alone and ("." in name or name.lower() in ("requirepass", "masterauth", "bindpw")) and (match := _ALONE.match(text, end)):
        return _checked(text, kind, *match.span("value"))
    if kind is not Name.SURE or (match := _SAID.match(text, end)) is None:
        return []
    if found := values.quoted(text, match.end(), line_end):
        return _checked(text, kind, found[0], found[1]) if not name.islower() or not name.startswith("secret") else []
    stop = values.bare(text, match.end())
    return _checked(text, Name.MAYBE, match.end(), stop)


def _checked(text: str, kind: Name, begin: int, end: int) -> list[Span]:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    value = text[begin:end]
    if not value or values.is_everybodys(value):
        return []
    if kind is Name.LIKELY and (values.is_number(value) or len(value) < 4):
        return []
    if kind is Name.MAYBE and not values.looks_secret(value):
        return []
    return [Span(begin, end, kind in (Name.SURE, Name.LIKELY))]
