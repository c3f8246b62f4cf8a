"""Which words of a text say nothing of a user; every other one becomes a token.

Nothing is looked for here: a word stays because it is known. It is one of the vocabulary (`harmless.txt`, made of the signatures, the
tables of components and the recordings), belongs to the code of a known component, or is a number that its neighbours or its form name:
a time, a count with its unit, an offset, a version. What stands behind a key stays only where the key is known, too, and its value is of a
kind that the key is known to have.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from typing import cast

from analyzers.components import component_of
from analyzers.secrets.names import SIGN
from analyzers.secrets.values import is_class, is_everybodys

DATA = resources.files(__package__ or "analyzers.bundle").joinpath("harmless.txt")
KINDS = ("words", "keys of words", "keys of numbers", "before numbers", "after numbers")
OWN = "options of diag"
"""What its own sentences have behind them: `--log-timezone overrides` names no value."""

WORD = re.compile(r"[^\W_](?:[\w.$@-]{0,400}[^\W_])?|_\w*")
CAMEL = re.compile(r"[Ww][0-9a-f]{7}(?![0-9a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
"""The words of a name in camel case, and those that are tokens already."""
_SIGN = r"(?:\\*[\"'`]|&quot;)?\]?[ \t]*(?P<sign>(?<![=!<>])=(?!=)|:=|:(?![:/])|\\u003[dDaA]|\\x3[dDaA]|%3[dDaA])"
KEY = re.compile(rf"(?<![\w.$-])(?P<key>[\w$][\w.$-]{{0,119}}){_SIGN}")
_APART = ("", *" \t\n,;&?{([|<>\"'`")
"""What stands before the name of a key that is no part of the value before it."""
OPTION = re.compile(r"(?<![\w-])--?(?P<key>[A-Za-z][\w.-]{0,80})[ \t]+(?=[^-\s|])")
_ELEMENT = re.compile(r"<(?P<key>[\w:.-]{1,120})(?:\s[^<>]{0,400})?>(?=[^<>]+</)")
_WORD_BEFORE = re.compile(r"(?P<word>[A-Za-z]{2,40})(?:\\*[\"'])?[ =:#(\[]{1,3}-?\Z")
_WORD_AFTER = re.compile(r" ?(?P<word>[A-Za-z]{1,20})(?![\w-])")

_TOKEN = (
    r"(?:host|ip|topic|group|client|user|dir|store|account|job|w)-[0-9a-f]{8}"
    r"(?:-(?:taskmanager|jobmanager|exec|driver))?(?:-\d{1,4})*(?:-\d{5,8})?(?![0-9a-z])"
)
IS_TOKEN = re.compile(_TOKEN)
_TIME = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_LEXEME = re.compile(
    rf"(?P<token>(?<![^\W_]){_TOKEN}|<(?:JSON object|JSON array|XML|number|text), \d{{1,9}} characters>)"
    rf"|(?P<time>(?<![\w:-])(?:(?:\d{{4}}-\d\d-\d\d|\d\d/\d\d/\d\d(?:\d\d)?)[T ]|[A-Z][a-z][a-z] [ \d]\d )?{_TIME}(?![\w:]))"
    r"|(?P<group>(?<![\w:])(?:[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5,}|\+?\(?\d{1,4}(?:[ )-]{1,2}\d{2,8}){2,})(?![\w:]))"
    rf"|(?P<escape>\\[nrt](?=[\w\\\"']))"
    rf"|(?P<number>(?<![\w.-])\d+(?:\.\d+)?(?![\w.-]*[\w]))"
    rf"|(?P<version>(?<![\w.-])v?\d{{1,3}}(?:\.\d{{1,3}}){{1,3}}(?:-SNAPSHOT)?(?![\w-]|\.\w))"
    rf"|{WORD.pattern}"
)
CLASS = re.compile(
    r"(?:[a-z_]\w*[./])+[A-Z_$][\w$<>./]*|(?:[a-z_]\w*[./]){2,}[\w$<>./]+|(?:[A-Z]\w*\.){2,}[A-Z]\w*|\w+(?:\$\w+)+|[A-Z]\w*(?:Exception|Error)"
)
_CODE = re.compile(r"[A-Z][A-Z0-9]*(?:[._][A-Z0-9]+)+")
_COUNTED = re.compile(r"(?P<base>.+?)(?P<number>(?:[-_]\d{1,7}){1,2})")
_OF_SOURCES = r"\.(?:java|scala|kt|groovy|py|pyx|cs|fs|vb|go|[cm]?[jt]sx?|rs|php|rb|cpp|cc|c|h)"
SUFFIX = re.compile(rf"(?<=\w)(?:\.(?:log|out|gz|txt|json|jsonl|jar|xml|ya?ml|properties|sst|\d{{1,3}})|{_OF_SOURCES})\Z")
_SOURCE = re.compile(_OF_SOURCES)
_IDENTITY = re.compile(r"@[0-9a-f]{1,8}\Z")
_DIGITS = re.compile(r"[0-9]+")
_TAKEN = re.compile(r"[Ww][0-9a-f]{7}|W[0-9A-F]{7}")
_HEX = re.compile(r"(?<![0-9a-zA-Z])(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9a-zA-Z])")
_IDS = re.compile(rf"{_HEX.pattern}(?:[_-]{_HEX.pattern})?(?:_\d{{1,6}}){{0,3}}")
"""An id of Flink or a UUID; an execution is of two of them, a subtask and an attempt."""
_OTHER_IDS = re.compile(
    r"savepoint-[0-9a-f]{6}-[0-9a-f]{12}|(?:application|appattempt|attempt|container|job|task)(?:_e\d{1,4})?_\d{10,14}(?:_\d{1,8}){1,3}"
)
_WITH_UNIT = re.compile(r"0x[0-9a-f]{1,8}|\d{1,12}(?:\.\d{1,6})?(?P<unit>[A-Za-z]{1,12})")
_NAME = re.compile(r"[\w.$<>/]+")
_NUMBER = re.compile(r"-?\d[\d.]*(?: ?[A-Za-z%]{1,8})?")
_ADDRESS = re.compile(r"[\"']?\w[\w+.-]{0,20}:/{1,3}\S+")
_EPOCH = re.compile(r"1[5-9]\d{11}")
"""Milliseconds since 1970, from 2017 to 2033."""
_SECRET_QUOTED = re.compile(
    r"(?:pass(?:word|phrase|code|wd)?|secret|phrase|credentials?)[ \t]{1,4}(?:\w{1,20}[ \t]{1,4}){0,2}"
    r"(?P<quote>[\"'`])(?P<value>[^\"'`\n]{1,200})(?P=quote)",
    re.I,
)
"""``secret phrase "correct horse"``: words that everybody knows are a secret, too."""
_SECRET_WORDS = ("pass", "secret", "phrase", "credential")
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_QUOTES = ('\\"', "\\'", '"', "'", "`", "&quot;")
VALUE_END = re.compile(r"[\s,;&)}\]>\"'|]")
_PROSE_END = re.compile(r"[\n;}\]]|,(?=\s)")
_BLANKS = re.compile(r"[ \t]*")
_NOTHING = re.compile(r"[ \t\r>|+\\-]*")
_MOST_LINES, _LONGEST, _INDENT = 40, 1 << 14, 120
"""How far a value is looked for: in lines and in characters; and a key that stands alone in its line for the begin of that."""
_SHORT = 3
"""Digits of a number that stays in any place."""


@cache
def vocabulary() -> dict[str, frozenset[str]]:
    """The words of each section of `harmless.txt`."""
    found: dict[str, frozenset[str]] = {}
    for part in DATA.read_text(encoding="utf-8").split("\n== ")[1:]:
        kind, _, words = part.partition("\n")
        found[kind] = frozenset(words.split("\n"))
    return found


def plain(word: str) -> str:
    """`word` as the vocabulary has it: in small letters, unless its capitals are those of a name in camel case."""
    return word.lower() if word == word.lower() or word == word.upper() or word == word[:1].upper() + word[1:].lower() else word


class Denial:
    """Replaces each word of a text that is not known to be harmless.

    `token` makes the token of a kind and a name, `digest` a keyed one of a word, `of_id` another id.
    """

    def __init__(
        self, token: Callable[[str, str], str], digest: Callable[[str], str], of_id: Callable[[str], str], kept: Iterable[str] = ()
    ) -> None:
        self._token, self._digest, self._of_id = token, digest, of_id
        found = vocabulary()
        self._words, self._word_keys, self._number_keys, before, self._after = (found[kind] for kind in KINDS)
        self._said = found[OWN]
        self._typed = before | self._number_keys
        self._kept = frozenset(kept)
        self._ids: set[str] = set()
        self._judged: dict[str, str] = {}

    def keep_id(self, text: str) -> None:
        """Let the parts of `text` stand everywhere, if it is an id as Flink and Spark make them."""
        if _IDS.fullmatch(text):
            self._ids.update(_HEX.findall(text))

    def known(self, key: str) -> bool:
        """Whether `key` is a setting of an engine: the numbers that it is set to say nothing."""
        return not SIGN.search(key) and all(plain(part) in self._words for part in re.split(r"[._-]", key))

    def without(self, text: str, *, strictly: bool = False, numbers: bool = False) -> str:
        """`text` with tokens for what is not harmless; `strictly`: for every word, `numbers`: for none that is a number."""
        spans = [(0, len(text))] if strictly else list(_merged(self._behind_keys(text)))
        begins = [begin for begin, _ in spans]

        def replaced(match: re.Match[str]) -> str:
            kind, found = match.lastgroup, match[0]
            if kind in ("token", "escape"):
                return found
            if spans and (at := bisect_right(begins, match.start()) - 1) >= 0 and match.start() < spans[at][1]:
                return self._strict(found)
            if kind in ("time", "version"):
                return found
            if kind == "group":
                return self._unknown(found)
            if kind == "number" or found.isdigit():
                return found if numbers or self._names_number(text, match) else self._unknown(found)
            done = self._judged.get(found)
            if done is None:
                done = self._judged[found] = self._word(found)
            return done

        return _LEXEME.sub(replaced, text)

    def _strict(self, found: str) -> str:
        if found in self._kept or len(found) == 1:
            return found
        if is_everybodys(found):  # a class may be anybody's
            return self._word(found) if is_class(found) else found
        return _HEX.sub(self._id, found) if _IDS.fullmatch(found) else self._unknown(found)

    def _id(self, match: re.Match[str]) -> str:
        return match[0] if match[0] in self._ids else self._of_id(match[0])

    def _word(self, word: str) -> str:
        """`word` with tokens for those of its parts that are not known."""
        if self._is_known(word):
            return word
        if _IDS.fullmatch(word):
            return _HEX.sub(self._id, word)
        if (hashed := _IDENTITY.search(word)) and hashed.start():
            return self._word(word[: hashed.start()]) + hashed[0]
        if "@" in word:
            return "@".join(map(self._word, word.split("@")))
        if (counted := _COUNTED.fullmatch(word)) and (self._is_known(counted["base"]) or CLASS.fullmatch(counted["base"])):
            return self._word(counted["base"]) + counted["number"]
        if CLASS.fullmatch(word):
            return word if _NAME.fullmatch(word) and component_of(word) else self._of_class(word)
        if suffix := SUFFIX.search(word):
            base = word[: suffix.start()]
            return (self._of_class(base) if _SOURCE.match(suffix[0]) else self._word(base)) + suffix[0]
        if "." in word and all(len(part) < 2 or self._is_known(part) or _IDS.fullmatch(part) for part in word.split(".")):
            return ".".join(map(self._word, word.split(".")))
        if _CODE.fullmatch(word):
            return re.sub(r"[A-Z0-9]+", lambda part: self._hump(part).upper(), word)
        if word.isalpha() and word[1:] != word[1:].lower():
            named = self._of_class(word)
            return named if named != word else self._unknown(word)
        return self._unknown(word)

    def _unknown(self, word: str) -> str:
        """The token of `word`; of those that differ in their digits only, the tokens do, too: a message without numbers stays the same."""
        letters = _DIGITS.sub("0", word)
        return self._token("w", word) if letters == word else f"{self._token('w', letters)}-{int(self._digest(word)[:6], 16)}"

    def _is_known(self, word: str) -> bool:
        if len(word) == 1 or word in self._kept or plain(word) in self._words or _OTHER_IDS.fullmatch(word):
            return True
        counted = _WITH_UNIT.fullmatch(word)  # 0x3f is an address within a program
        return counted is not None and (counted["unit"] is None or counted["unit"].lower() in self._after)

    def _of_class(self, name: str) -> str:
        """The name of a class: those of its words stay that are known, also as parts of a longer one."""
        return re.sub(r"[^\W_]+", self._of_camel, name)

    def _of_camel(self, match: re.Match[str]) -> str:
        name = match[0]
        if plain(name) in self._words or (name.isdigit() and len(name) <= _SHORT):
            return name
        humps = CAMEL.findall(name)
        readable = len(name) >= 3 * len(humps) and not any(c.isdigit() for c in _TAKEN.sub("", name))
        return CAMEL.sub(self._hump, name) if readable else self._hump(match)

    def _hump(self, match: re.Match[str]) -> str:
        hump = match[0]
        if hump in self._kept or hump.lower() in self._words or _TAKEN.fullmatch(hump):
            return hump
        return ("w" if hump == hump.lower() else "W") + self._token("w", hump).removeprefix("w-")[:7]

    def _names_number(self, text: str, match: re.Match[str]) -> bool:
        """Whether the number says itself what it is, or its neighbours do."""
        number, begin, end = match[0], match.start(), match.end()
        if all(len(part) <= _SHORT for part in number.split(".")) or _EPOCH.fullmatch(number):
            return True
        if text[begin - 1 : begin] == ":" and text[begin - 2 : begin - 1].isalnum() and len(number) <= 5:  # a port, a line of a file
            return True
        before = _WORD_BEFORE.search(text, max(0, begin - 50), begin)
        if before and before["word"].lower() in self._typed and (number.isdigit() or "=" in before[0]):
            return True
        after = _WORD_AFTER.match(text, end)
        return after is not None and after["word"].lower() in self._after

    def _behind_keys(self, text: str) -> Iterator[tuple[int, int]]:
        """Where values stand of which nothing says that they are harmless."""
        matches = list(KEY.finditer(text))
        apart = [match.start() for match in matches if text[max(0, match.start() - 1) : match.start()] in _APART]
        line_end = reached = -1
        for match in matches:
            key, at, sign = match["key"], match.end(), match["sign"]
            if (
                key.isdigit()
                or IS_TOKEN.fullmatch(key)
                or (sign == ":" and (CLASS.fullmatch(key) or self._is_place(key, text[at : at + 1])))
            ):
                continue
            follows = bisect_right(apart, match.start())
            if match.start() < reached and (follows == 0 or apart[follows - 1] != match.start()):
                continue  # its value ends where the one ends that it is a part of
            if line_end < at:
                line_end = text.find("\n", at)
                line_end = len(text) if line_end < 0 else line_end
            stop = min(line_end, apart[follows]) if follows < len(apart) else line_end
            begin, reached = _extent(text, match.start(), at, stop, line_end, sign)
            yield from self._of_key(text, key, begin, reached, prose=sign == ":")
        if "-" in text:
            for match in OPTION.finditer(text):
                end = VALUE_END.search(text, match.end())
                stop = end.start() if end else len(text)
                if f"{match['key']} {text[match.end() : stop]}" not in self._said:
                    yield from self._of_key(text, match["key"], match.end(), stop)
        small = text.lower()
        if any(word in small for word in _SECRET_WORDS):
            for match in _SECRET_QUOTED.finditer(text):
                yield match.span("value")
        if "</" in text:
            for match in _ELEMENT.finditer(text):
                yield from self._of_key(text, match["key"], match.end(), text.find("<", match.end()))

    def _is_place(self, name: str, follows: str) -> bool:
        """Whether what `follows` the colon behind `name` is a port, or a line of a file."""
        return follows.isdigit() and ("." in name or self._is_known(name) or not name.strip("_").isalpha())

    def _of_key(self, text: str, key: str, begin: int, end: int, *, prose: bool = False) -> Iterator[tuple[int, int]]:
        value = text[begin:end].strip().rstrip(",;")
        if not value or is_everybodys(value) or _ADDRESS.fullmatch(value):
            return
        known = self._number_keys if _NUMBER.fullmatch(value) else self._word_keys
        few = value.isdigit() and len(value) <= _SHORT and key.lower() in self._word_keys
        if few or key.lower() in known or (prose and len(value.split()) > 1 and not _quoted(text, begin) and self.is_prose(value)):
            return
        yield begin, end

    def is_prose(self, value: str) -> bool:
        """Whether most of the words of `value` are known: a sentence with a name before it."""
        words = [word for word in WORD.findall(value) if not word.isdigit()]
        return 2 * sum(map(self._is_known, words)) > len(words)


def _quoted(text: str, begin: int) -> bool:
    return text[begin - 1 : begin] in ("'", '"', "`") or text.startswith(_QUOTES, begin)


def _extent(text: str, begin: int, at: int, stop: int, line_end: int, sign: str) -> tuple[int, int]:
    """Begin and end of the value at `at` whose key begins at `begin`; `stop` is where the next key begins, or the line ends."""
    at = cast(re.Match[str], _BLANKS.match(text, at)).end()
    for quote in _QUOTES:
        if text.startswith(quote, at):
            end = text.find(quote, at + len(quote), at + _LONGEST)
            return at + len(quote), end if end >= 0 else line_end
    if closing := _CLOSING.get(text[at : at + 1]):
        end = text.find(closing, at, min(line_end, at + _LONGEST))
        return at, at if end < 0 or KEY.search(text, at, end) else end
    if _NOTHING.fullmatch(text, at, line_end):
        return at, _lines_below(text, begin, line_end)
    _, broken, line = text[max(0, begin - _INDENT) : begin].rpartition("\n")
    alone = bool(broken or begin <= _INDENT) and not line.strip(" \t-#")
    if alone and stop == line_end:
        return at, stop
    ends = (_PROSE_END if sign == ":" or alone else VALUE_END).search(text, at, stop)
    return at, ends.start() if ends else stop


def _lines_below(text: str, begin: int, line_end: int) -> int:
    """The end of the lines that are set further in than the one of the key at `begin`: its value, where none of them has a key."""
    indent = begin - text.rfind("\n", max(0, begin - _INDENT), begin) - 1
    end = line_end
    for _ in range(_MOST_LINES):
        following = text.find("\n", end + 1)
        following = len(text) if following < 0 else following
        line = text[end + 1 : following]
        inner = len(line) - len(line.lstrip(" \t"))
        below = inner > indent or line.startswith((" ", "\t", "- "))
        if not below or not line.strip() or KEY.search(line) or line.lstrip().startswith("at "):
            break
        end = following
    return end


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    reached = -1
    for begin, end in sorted(spans):
        if end > reached:
            yield max(begin, reached), end
            reached = end
