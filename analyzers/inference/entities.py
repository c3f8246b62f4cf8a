"""What a message names: hosts, addresses, tables, topics, positions, files, labels, codes; each kind by a typed pattern."""

from __future__ import annotations

import re

from analyzers.inference.kinds import http_status, sql_state

_HOST = r"[A-Za-z0-9](?:[\w-]*\.)*[\w-]*"
_IP = r"\d{1,3}(?:\.\d{1,3}){3}"
_TYPED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("url", r"\b(?P<it>(?:jdbc:)?[a-z][a-z0-9+:-]{1,20}://[^\s\"'<>,;)\]}]+)"),
        ("address", rf"(?<![\w@./-])(?P<it>{_HOST}/{_IP}:\d{{2,5}})\b"),
        ("address", rf"(?<![\w@.:-])/?(?P<it>{_IP}:\d{{2,5}})\b"),
        ("address", r"(?<![\w@./:-])(?P<it>[A-Za-z][\w-]*(?:\.[\w-]+)+:\d{2,5})(?![\w:])"),
        (
            "address",
            r"(?:address=|to |host |server |at |from |node |broker |://|\[|\(|: |refused: )(?P<it>[A-Za-z][\w-]*:\d{2,5})(?![\w:])",
        ),
        ("address", r"\bhost='(?P<it>[\w.-]+)', port=(?P<port>\d+)"),
        ("address", r"\b[Hh]ost[:=] ?(?P<it>[\w.-]+), [Pp]ort[:=] ?(?P<port>\d+)"),
        ("host", r"UnknownHostException: (?P<it>[\w.-]+)"),
        (
            "host",
            r"(?P<it>[\w-]+(?:\.[\w-]+)+): (?:Name or service not known|Temporary failure in name|nodename nor servname|No address associated)",
        ),
        ("host", r"(?:ENOTFOUND|EAI_AGAIN|no such host:?|lookup) (?P<it>[\w-]+(?:\.[\w-]+)*)"),
        ("partition", r"(?:[Pp]artition|TopicPartition|record\(s\) for|tp=|partition:) ?(?P<it>[A-Za-z][\w.-]*-\d+)\b"),
        ("topic", r"\b[Tt]opics?[ =:]{1,2}[\[\"'(]*(?P<it>(?!not\b|is\b|or\b|partition|with\b|does\b|names?\b)[A-Za-z][\w.-]{2,248})"),
        ("offset", r"\boffset[ =:]{1,2}(?P<it>\d+)"),
        (
            "group",
            r"\b(?:access group:|group(?:Id|\.id)?[=:]|consumer group|[Gg]roup) ?[\"'\[]?(?P<it>(?!has\b|is\b|coord|auth|id\b|by\b|was\b|member|of\b|name)[A-Za-z][\w.-]+)",
        ),
        ("transactional_id", r"\btransactional(?:Id|\.id)[=: ]{1,2}[\"']?(?P<it>(?!null\b|which\b)[\w.-]+)"),
        ("transactional_id", r"producer transaction (?P<it>[\w.-]+)"),
        ("label", r"\b[Ll]abel[ =:]{0,2}[\[\"'](?P<it>[\w.-]{3,200})[\]\"']"),
        ("binlog", r"\b(?P<it>[a-z][\w.-]*-bin(?:log)?\.\d{6,}(?:[:/]\d+)?|binlog\.\d{6,})\b"),
        ("binlog", r"\b(?:file|fileName|filename)='?(?P<it>[\w.-]+\.\d{6})'?, ?(?:pos|position)=(?P<port>\d+)"),
        ("column", r"\b[Cc]olumn:? [\"'`]?(?P<it>(?!count|type|name|of|is|does)[A-Za-z_][\w.]*)"),
        ("table", r"\b(?:[Rr]elation|[Tt]able|[Cc]ollection|[Ss]pace|[Kk]eyspace) [\"'`](?P<it>[\w.$-]+)[\"'`]"),
        ("table", r"\b[Tt]able:? (?P<it>[\w$-]+(?:\.[\w$-]+)+)"),
        ("table", r"\btable: '(?P<it>[\w.]+)'"),
        ("table", r"\bindex(?:=| )\[?(?P<it>[a-z][\w.-]+)\]"),
        ("path", r"(?:^|[\s\"'(:=\[])(?P<it>/(?:[\w.@=+%~-]+/)+[\w.@=+%~-]+)"),
        ("sqlstate", r"\b(?i:sql ?state)[\"']? ?[:=(]? ?[\"']?(?P<it>[0-9A-Z]{5})\b"),
        ("code", r"\b(?P<it>(?:ORA|TNS|SQL|DB2|GH|DELTA|SRVE|FLINK|CDC)-\d{3,6})\b"),
    )
)
_FILES = re.compile(r"\.(?:java|scala|py|go|rs|js|ts|cs|kt)$")
_SHARED = re.compile(r"^\d+\.\d+\.\d+:")


def entities_of(text: str) -> dict[str, tuple[str, ...]]:
    """What `text` names, by kind, each in the order in which it stands there; at most four of a kind."""
    found: dict[str, dict[str, None]] = {}
    text = text[:6_000]
    for kind, pattern in _TYPED:
        for match in pattern.finditer(text):
            it = match["it"].rstrip(".,:;'\"")
            if "port" in match.groupdict():
                it = f"{it}:{match['port']}"
            if not _meant(kind, it):
                continue
            mine = found.setdefault(kind, {})
            if len(mine) < 4 and not any(it in other for other in mine):
                mine[it] = None
    if status := http_status(text):
        found["http"] = {status: None}
    if (state := sql_state(text)) and "sqlstate" not in found:
        found["sqlstate"] = {state: None}
    return {kind: tuple(each) for kind, each in found.items()}


def _meant(kind: str, it: str) -> bool:
    if kind == "address":
        host, _, port = it.rpartition(":")
        return not _FILES.search(host) and 0 < int(port) < 65536 and not _SHARED.match(it)
    if kind == "path":
        return not _FILES.search(it)
    return bool(it)
