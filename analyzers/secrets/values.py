"""Where a value begins and ends, and whether it is one; no character of a text is read again for each one before it."""

from __future__ import annotations

import re

_KEY_FOLLOWS = r"\s?[\"']?[\w.-]{1,80}[\"']?\s?(?:[=:]|->)"
_BARE = re.compile(
    r"(?:[^\s,;&)}\]\"'`<>\\]"
    rf"|[,;](?!\s|[\"'\\]|$|{_KEY_FOLLOWS})"
    rf"|&(?!{_KEY_FOLLOWS}|quot;|lt;|gt;|amp;|\#)"
    r"|[)}\]](?!\s|[)}\],;.:\"'\\|/]|$)"
    r"|[\"'`](?![\s,;:)}\]>&|]|$)"
    r"|<(?![/!])|>(?!\s|$)"
    r"|\\(?![nrt\"'\\]))+"
)
"""A value without quotes; what may end it is part of it where something else follows than an end or the next name."""
_IN_QUERY = re.compile(r"[^\s&\"'<>`\\]+")
_NEXT_NAME = re.compile(r"(?<=[ \t])[\"']?[\w.-]{1,80}[\"']?[ \t]?(?:=|:(?!//))")
_HEADER = re.compile(r"(?:[^\n\"'\]}\\,;]|[,;](?!\s?[A-Z][\w-]{1,60}:\s?))+")
_LINE = re.compile(r"[^\n]*")
_QUOTE = re.compile(r"(?:[urbf]{1,2}(?=[\"']))?(\\*)([\"'`])|(&quot;|\\u0022|%22)")
_PLAIN_END = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\[^\n])*{quote}") for quote in "\"'`"}
_TAG = re.compile(r"(?:(?:!!?|&)[A-Za-z][\w:/.-]{0,60}[ \t]+){1,2}")
_CDATA = "<![CDATA["

_EVERYBODYS = re.compile(
    r"(?:null|none|nil|undefined|true|false|yes|no|on|off|empty|unset|default|required|optional|missing|incorrect|wrong|invalid|expired|failed|denied|hidden"
    r"|redacted|masked|\[?<?\(?(?:hidden|redacted|masked|secret|password|token|sensitive)\)?>?\]?|\*+(?:\(redacted\))?|\*{3}.{0,2}|[xX]+|\.+|-+|_+"
    r"|(?:JOIN|SYNC|LEAVE|LIST|DESCRIBE|DELETE|CONSUMER|SHARE)_GROUPS?|(?:CONSUMER|SHARE)_GROUP_\w+|OFFSET_(?:COMMIT|FETCH|DELETE)|LIST_OFFSETS"
    r"|PRODUCE|FETCH|METADATA|API_VERSIONS|INIT_PRODUCER_ID|FIND_COORDINATOR|HEARTBEAT|SASL_(?:HANDSHAKE|AUTHENTICATE)|ADD_(?:PARTITIONS|OFFSETS)_TO_TXN"
    r"|END_TXN|TXN_OFFSET_COMMIT|WRITE_TXN_MARKERS|(?:CREATE|DELETE)_TOPICS|DESCRIBE_CONFIGS|LEADER_AND_ISR|UPDATE_METADATA|STOP_REPLICA"
    r"|\$\{.*\}?|\$\(.*|\$\w+|\{\{.*|%\(?\w+\)?s?%?|<[\w .-]+>|\[\]|\{\}|\[|\{|\()",
    re.I | re.S,
)
"""Stands where a secret would and is none: hidden already, a placeholder, a word for its state, what Kafka calls an API key (a request)."""
_CLASS = re.compile(r"(?:[a-z_][\w$]*\.){2,}[A-Z][\w$.]*:?|\w*(?:Exception|Error):?")
_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d+)?[a-zA-Z%]{0,3}")
_ID = re.compile(r"(?:application|appattempt|container|attempt|job|task)_[\w-]+|\d+(?:\.\d+)+|/.*")
_LOOKS = re.compile(r"(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w+/=.~%:\-]{8,}")


def quoted(text: str, at: int, line_end: int) -> tuple[int, int, int] | None:
    """Begin, end and what follows the closing quote of the quoted value at `at`, None when there is no quote.

    Quotes may be escaped: the closing one has as many backslashes. A value that was cut off reaches to the end of its line.
    """
    opening = _QUOTE.match(text, at)
    if opening is None:
        return None
    begin = end = opening.end()
    slashes, quote, entity = opening.groups()
    mark = entity or slashes + quote
    if entity or slashes:
        while (end := text.find(mark, end, line_end)) >= 0:
            if entity or text[end - 1] != "\\":
                return begin, end, end + len(mark)
            end += len(mark)
        return begin, line_end, line_end
    while closing := _PLAIN_END[quote].match(text, end, line_end):
        end = closing.end()
        if quote != "'" or text[end : end + 1] != "'":  # SQL writes '' for a quote
            return begin, end - 1, end
        end += 1
    return begin, line_end, line_end


def bare(text: str, at: int, *, query: bool = False) -> int:
    """The end of the value without quotes at `at`."""
    match = (_IN_QUERY if query else _BARE).match(text, at)
    return match.end() if match else at


def rest_of_line(text: str, at: int, line_end: int) -> int:
    """The end of the line, or of what stands before the next name with a value."""
    match = _NEXT_NAME.search(text, at + 1, line_end)
    return at + len(text[at : match.start() if match else line_end].rstrip())


def header(text: str, at: int, *, whole_line: bool) -> int:
    """The end of a header's value."""
    match = (_LINE if whole_line else _HEADER).match(text, at)
    return match.end() if match else at


def enclosed(text: str, at: int, line_end: int) -> tuple[int, int, int] | None:
    """As `quoted`, for a value in brackets, braces or CDATA."""
    if text.startswith(_CDATA, at):
        end = text.find("]]>", at)
        return (at + len(_CDATA), len(text), len(text)) if end < 0 else (at + len(_CDATA), end, end + 3)
    closing = {"[": "]", "{": "}"}.get(text[at : at + 1])
    end = text.find(closing, at, line_end) if closing else -1
    while closing == "}" and end >= 0 and text.startswith("}}", end) and text[end + 2 : end + 3].isalnum():  # as ODBC writes one
        end = text.find(closing, end + 2, line_end)
    return None if end < 0 else (at + 1, end, end + 1)


def without_tag(text: str, at: int) -> int:
    """Behind a YAML tag such as ``!vault`` or ``!!str``, and an anchor."""
    match = _TAG.match(text, at)
    return match.end() if match else at


def is_everybodys(value: str) -> bool:
    """Whether `value` is no secret even behind a name that is one of a secret."""
    return not value.strip() or _EVERYBODYS.fullmatch(value.strip()) is not None or _CLASS.fullmatch(value.strip()) is not None


def is_class(value: str) -> bool:
    """Whether `value` has the form of the name of a class."""
    return _CLASS.fullmatch(value) is not None


def is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def looks_secret(value: str) -> bool:
    """Whether `value` has letters and digits as a token has, and is no id, version or path."""
    return _LOOKS.fullmatch(value) is not None and _ID.fullmatch(value) is None
