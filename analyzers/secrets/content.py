"""Content of records that exceptions quote, shortened to what it is like: a record is somebody's data, whichever code logs it."""

from __future__ import annotations

import re

_FORMS = tuple((word, re.compile(begin), re.compile(end)) for word, begin, end in (
    ("Unrecognized token", r"Unrecognized token '", r"'"),
    ("[Source: (", r"\[Source: \((?:String|byte\[\]|char\[\])\)\"", r"\"(?=; line: |\[truncated|\])"),
    ("ConsumerRecord(", r"ConsumerRecord\(topic[^\n]{0,1000}?, key = ", r", value = "),
    ("ConsumerRecord(", r"ConsumerRecord\(topic[^\n]{0,2000}?, value = ", r"\)(?=[\s.,;]|$)"),
    ("ProducerRecord(", r"ProducerRecord\(topic[^\n]{0,1000}?, key=", r", value="),
    ("ProducerRecord(", r"ProducerRecord\(topic[^\n]{0,2000}?, value=", r", timestamp="),
    ("For input string", r"For input string: \"", r"\""),
    ("could not be parsed", r"Text '(?=[^\n]{0,400}could not be parsed)", r"' could not be parsed"),
    ("deserialize", r"[Dd]eserialize (?:JSON|CSV row|(?:Debezium|Canal|Maxwell|Ogg)[\w ]{0,40}) '", r"'(?=\.?\s|\.?$)"),
    ("Corrupt ", r"Corrupt \w{1,20} (?:JSON|Avro) message '", r"'(?=\.?\s|\.?$)"),
    ("detected in record parsing", r"detected in record parsing: \[", r"\](?=[.,]?\s|[.,]?$)"),
    ("Failing row contains", r"Failing row contains \(", r"\)(?=\.?\s|\.?$)"),
    ("=(", r"\bKey \([\w, \"]{1,200}\)=\(", r"\)"),
    ("Duplicate entry", r"Duplicate entry '", r"' for key"),
    ("value: '", r"Incorrect [\w ]{1,40} value: '", r"' for column"),
    ("field's value", r"Preview of field's value: '", r"'(?=[\s,;)\]]|$)"),
))  # fmt: skip
"""A word of the text, what stands before the content, what stands behind it on the same line: a quoted exception may be cut off."""
_REFERENCE = re.compile(r"null|\[B@[0-9a-f]+|<[^<>]* characters>|")
"""Names no content: nothing, an array by its address, a shape."""


def shortened(text: str) -> str:
    """`text` with the content of records in it as ``<JSON object, 212 characters>``; the very same object where it holds none."""
    for word, begin, end in _FORMS:
        if word in text:
            text = _without_content(text, begin, end)
    return text


def shape(content: str) -> str:
    """What `content` is like."""
    start = content.lstrip()[:1]
    number = re.fullmatch(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?", content.strip())
    kind = {"{": "JSON object", "[": "JSON array", "<": "XML"}.get(start) or ("number" if number else "text")
    return f"<{kind}, {len(content)} characters>"


def _without_content(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> str:
    pieces, done, at = [], 0, 0
    while match := begin.search(text, at):
        line_end = text.find("\n", match.end())
        line_end = len(text) if line_end < 0 else line_end
        behind = end.search(text, match.end(), line_end)
        at = behind.start() if behind else line_end
        content = text[match.end() : at]
        if not _REFERENCE.fullmatch(content):
            pieces += [text[done : match.end()], shape(content)]
            done = at
    return "".join([*pieces, text[done:]]) if pieces else text
