"""Remarks: lines of trouble below an error that no signature knows. A warning, or a line of any level that speaks of a loss or a refusal.

They are no failures of a job. They are kept because the cause of one often stands in such a line of another process.
"""

from __future__ import annotations

from analyzers.logs.matching.expressions import expression

_LEVELS = (b"WARN", b"[warn", b"=warn", b'"warn', b"WRN", b" W! ", b".go:")
_STEMS = (
    "abort", "alive", "already connected", "block", "cannot", "conflict", "corrupt", "delet", "denied", "discard", "does not", "drop",
    "evict", "exceed", "exhaust", "expir", "fail", "full", "ignor", "incompatib", "invalid", "kill", "leak", "lost", "missing",
    "no longer", "not found", "no space", "out of", "panic", "paus", "reject", "refus", "revok", "shutdown", "skip", "slow", "stale",
    "starting without", "stuck", "taken over", "takenover", "terminat", "throttl", "timed out", "timeout", "too ", "unable", "unack",
    "unavailable", "unexpected", "unknown", "unreach", "unsupport", "violat", "waiting for", "without", "wrong",
)  # fmt: skip
_AS_WRITTEN = (
    b"FAIL",
    b"DENIED",
    b"pdating Config",
    b"with new configuration",
    b"Changing ",
    b"Processing override",
    b"atermark=-92233720368547",
    b"DELETE.OBJECT",
)
REMARK_WORDS = (*_LEVELS, *_AS_WRITTEN, *(form.encode() for stem in _STEMS for form in (stem, stem.capitalize())))
"""What a line holds that may be a remark; the kernel looks for these words as they are written."""

_TELLING = expression(
    r"""(?ix)\b(?:
        abort(?:ed|ing) | already\ connected
        | no\ \S+\ (?:is\ )?alive | blocked | cannot | conflicts? | corrupt(?:ed)? | delet(?:ed|ing) | denied
        | discard(?:ed|ing|s)? | does\ not | dropp?(?:ed|ing|s) | evict(?:ed|ing) | exceed(?:ed|s|ing)? | exhausted | expired?
        | fail(?:ed|s|ure|ing)?
        | idle\ in\ transaction
        | (?:is|are|queue|buffer|disk)\ full | ignor(?:ed|ing|es) | incompatib\w+ | invalid(?:at\w+)? | kill(?:ed|ing) | leak(?:ed|s|age)?
        | lost | missing | no\ longer | not\ found | no\ space | out\ of | panic\w* | paus(?:es?|ed|ing) | reject(?:ed|ing|s)?
        | refus(?:ed|es|ing) | revok(?:ed|ing) | shut(?:ting)?\ ?down | skipp?(?:ed|ing|s) | slow | stale | starting\ without | stuck
        | taken\ ?over | terminat(?:ed|ing)
        | throttl\w+(?!\W{1,3}0\b) | timed?\ ?out | too\ (?:many|large|big|long|old|small|slow|late|few|frequent)\w* | unable | un-?ack\w*
        | unavailable | unexpected | unknown | unreachable | unsupported | updating\ config
        | with\ new\ configuration | violat\w+ | waiting\ for | without | wrong
        | cmd=(?:delete|rename) | (?:rest\.)?delete\.?objects? | changing\ \w+\ quota | processing\ override | watermark=-92233720368547\d+
        )\b | \b(?:9[5-9]|100)%\ """
)
_SETTING = expression(r"^\s*(?:Loading configuration property: |[\w.\-\[\]\"' ]{1,80}(?:=|: )\s*\S*\s*$)|\bvalues:\s*$")
"""A line of a configuration, which names what would be done."""
_LOSS = expression(
    r"""(?ix)\b(?:dropp?(?:ed|ing) | discard(?:ed|ing) | skipp(?:ed|ing) | lost | reject(?:ed|ing) | data\ loss
        | ignor(?:ed|ing)(?!\ message:\ [A-Z]\w+\()  # an answer between processes that comes too late (NettyRpcEnv)
        | invalidated | not\ (?:be\ )?(?:written|delivered|processed|committed) | no\ \w+\ (?:is\ )?alive | zombie)\b"""
)
_BLOCKED = expression(r"""(?i)(?:blocked|stalled|fenced)\w*"? ?[:=] ?"?true\b""")
_LOOKED_AT = 400


def is_remark(level: str | None, message: str) -> bool:
    """Whether an event that no signature knows, and that is no error, is kept as a remark."""
    return level == "WARN" or is_telling(message)


def is_telling(message: str) -> bool:
    """Whether a line speaks of trouble in its own words."""
    head = message[:_LOOKED_AT]
    return _TELLING.search(head) is not None and _SETTING.search(head) is None


def tells_of_loss(message: str) -> bool:
    """Whether a line reports that something was dropped, refused or not done."""
    return _LOSS.search(message[:_LOOKED_AT]) is not None


def is_blocked(line: str) -> bool:
    """Whether a line of an answer of a program states that something is blocked."""
    return _BLOCKED.search(line[:_LOOKED_AT]) is not None


_REPORTED = expression(
    r"""(?ix)\b(?:
        (?:is|are|was|were|goes|went|go|stays?|remains?)\ (?:still\ |all\ |always\ )?
          (?:missing|lost|gone|wrong|empty|null|stale|twice|not\ (?:in|there)\b)
        | missing\ (?:in|from|since|ids?|rows?|records?|data)
        | (?:rows?|records?|events?|orders?|messages?|data|files?|results?|numbers?|totals?|values?)\b.{0,60}
          \b(?:missing|lost|twice|duplicated?|doubled|wrong|too\ (?:few|low|small|high|many)|null|empty)
        | (?:rows?|records?|events?|orders?|messages?|files?|results?|users?|devices?|customers?)\b.{0,60}
          \b(?:(?:have|has|had|got|get|with)\ no|are\ not\ (?:in|there)|(?:do|does|did)\ not\ (?:arrive|react|appear|show|get|reach|come))\b
        | (?:dashboards?|reports?|charts?|tables?|views?|pages?|figures?|feeds?|index)\b.{0,40}
          \b(?:stands?\ (?:still|at)|stood|frozen|freezes|stuck|blank)
        | only\ (?:partly|half|part\ of)\ (?:in|of|the)\b | \d\ are\ not\b
        | (?:shows?|have|has|sees?|gets?)\ (?:a\ |an\ )?(?:strange|wrong|null|empty|old|stale|other)
        | (?:no|any)\ (?:rows?|files?|records?|data|objects?|events?|messages?|output|entries)
          \ (?:newer|later|since|after|for|from|arriv\w+|in)\b
        | nothing\ (?:of|from|in|new|newer|since|arriv\w+)\b.{0,60}\b(?:in|since|after|there)\b
        | (?:empty|unchanged|stuck|frozen|stalled)\ (?:since|for)\b | lag\b.{0,40}\bstuck\b
        | not\ in\ the\ (?:bucket|table|topic|index|lake|database|warehouse) | far\ too\ (?:few|small|low|many|high)
        )\b"""
)
_NOT_REPORTED = expression(
    r"""(?ix)\b(?:nothing|none|no\ (?:rows?|records?|data|events?|orders?|messages?|one))\ (?:is\ |are\ |was\ |were\ )?
          (?:missing|lost|wrong|twice)
        | \b(?:not|never|n't)\ (?:missing|lost|wrong)
        | \b(?:planned|expected|as\ usual|on\ purpose|by\ design|back\ to\ normal|resolved|tests?|tested)\b | \?\W*$"""
)
_PROSE = expression(r"[A-Za-z]{2,}")
_NO_PROSE = expression(r"\s*(?:[\[{<|$\"+]|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|//|--\s|SELECT\b|[\w.-]+\s*[=:]\s*\S+\s*$)")
_CODE = expression(
    r"""(?x)^(?!\s*(?i:select|insert|update|delete|alter|create|drop|grant|revoke|truncate|set|show|\#|//|--)\b)
        (?: \s*[.}@]\w* | .*(?:;|\{|\()\s*$ | .*\w\(.{0,200}\)\s*[,;:)]*$ | \s*(?:for|if|while)\b.*:\s*$
          | \s*(?:def|import|package|return)\s )"""
)
_PLACEHOLDER = "__debezium_unavailable_value"
"""What stands in a row for a large value that PostgreSQL did not send, as it had not changed."""
_LEAST_PROSE = 6


def is_code(line: str) -> bool:
    """Whether a line of a note is one of a program's source, which states no fact; statements of SQL do."""
    return _CODE.search(line[:_LOOKED_AT]) is not None


def is_reported(line: str) -> bool:
    """Whether a line of a note, in prose, reports data that is missing, doubled or wrong, or a row of an answer holds a placeholder."""
    head = line[:_LOOKED_AT]
    if _PLACEHOLDER in head:
        return True
    if _NO_PROSE.match(head) or is_code(head) or len(_PROSE.findall(head)) < _LEAST_PROSE:
        return False
    return _REPORTED.search(head) is not None and _NOT_REPORTED.search(head) is None
