"""What was changed before a failure began: deployments, settings, quotas, tickets, in the lines beside it.

The first question of an engineer who is called at night. Nothing is concluded: a change is quoted because it came before, and is near.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

from analyzers.causal.asks import Asks
from analyzers.causal.names import names_of
from analyzers.tables import Row

_STRONG = re.compile(
    r"""(?ix)(?:(?<![\w-])--(?:alter|add-config)\b | \b(?:
        deploy(?:ed|ing) | re-?deployed | roll(?:ed|ing)?\ ?out | rolled\ back | upgrad(?:ed?|ing) | migrat(?:ed|ion) | bump(?:ed)?
        | chg-?\d+ | change\ [a-z]{2,8}-\d+ | [a-z]+ops-\d+ | changing\ \w+\ quota | processing\ override
        | updating\ \w*\ ?config | updating\ (?:topic|broker|client|user|ip)\ \S{1,200}\ with\ new\ configuration
        | superseded->deployed | expand(?:ed)?\ (?:\S+\ )?(?:from\ )?\d+\ (?:->|to) | cut-?over
        | switched\ (?:over\ )?to | kubectl\ (?:apply|set|scale|delete) | helm\ (?:upgrade|install|rollback) | terraform\ apply
        | install(?:ed)?\ \S+\.(?:jar|rpm|deb|whl) | recreated | renamed
        )\b)"""
)
_WEAK = re.compile(
    r"""(?ix)\b(?:
        changed? | created | added | removed | enabled | disabled | rotat(?:ed|ion) | applied | patched | started\ by | raised | lowered
        | new\ (?:version|image|config\w*|table|topic) | (?:was|were|is\ now|has\ been)\ set | set\ to | \d+\ ?->\ ?\d+
        | v?\d+\.\d+\S*\ ?(?:->|to)\ ?v?\d+\.\d+
        )\b"""
)
_NOTHING = re.compile(
    r"""(?ix)\b(?:no|not|nothing|never|without|neither)\b.{0,25}\b(?:chang\w+|deploy\w*|else|touched)\b
        | \b(?:unchanged|last\ deploy|no\ deploy\w*)\b
        | \b(?:propos\w+ | suggest\w* | (?:should|shall|could|can)\ (?:we|i|you) | let's | we\ (?:could|might|want)\ )\b | \?\s*$"""
)
"""That nothing was changed, or what somebody thinks of changing."""
_ROUTINE = re.compile(r"(?:^|\s)Normal\s+(?:Created|Pulled|Pulling|Started|Scheduled|Killing|SuccessfulCreate|ScalingReplicaSet)\b")
_STAMP = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?))?")
_WRITTEN = re.compile(
    r"\b(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +(?P<day>\d{1,2})(?:st|nd|rd|th)?,? +(?:(?P<y1>\d{4}) +)?"
    r"(?:at +)?(?P<time>\d\d:\d\d(?::\d\d)?)(?: +(?:[A-Z]{3,4} +)?(?P<y2>\d{4}))?"
)
"""As helm, `date` and syslog write it, the year perhaps left out."""
_CLOCK = re.compile(r"(?<![\d:.-])(?P<time>[0-2]\d:[0-5]\d)(?::[0-5]\d)?(?![\d:]|-\d)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MINUTES, _LONG = timedelta(minutes=2), timedelta(days=14)
_ENOUGH, _RULES = 1.3, 0.5
_LOOKED_AT = 400
_SHORT = 160
_SENTENCE = re.compile(r"[.;!?] +(?=[A-Z\d])|; +")


def changed(rows: Iterable[Row], names: frozenset[str], first: datetime | None, asks: Asks | None = None) -> Row | None:
    """The line that says most of a change before `first`, of what `names` name, or of a setting that rules the mechanism `asks`; None where
    none does.
    """
    best: tuple[float, int] | None = None
    chosen = None
    for number, row in enumerate(rows):
        score = _score(row, names, first)
        if score and asks is not None and asks.is_ruled_by(row["text"] or ""):
            score += _RULES
        if score >= _ENOUGH and (best is None or (score, -number) > best):
            best, chosen = (score, -number), row
    return chosen


def is_change(line: str) -> bool:
    """Whether a line of a log reports a change of a setting or of a version."""
    return _STRONG.search(line[:_LOOKED_AT]) is not None


def part_of_change(text: str) -> str:
    """Of a line of several sentences those from the one on that reports the change, so that a cut does not take it away."""
    found = _STRONG.search(text[:_LOOKED_AT]) or _WEAK.search(text[:_LOOKED_AT])
    if found is None or len(text) <= _SHORT:
        return text
    before = [sentence.end() for sentence in _SENTENCE.finditer(text, 0, found.start())]
    return text[before[-1] :] if before else text


def _score(row: Row, names: frozenset[str], first: datetime | None) -> float:
    if row.get("chain"):
        return 0.0  # a failure, not a change
    text = (row["text"] or "").partition("\n")[0][:_LOOKED_AT]
    strong = _STRONG.search(text) is not None
    if not (strong or _WEAK.search(text)) or _NOTHING.search(text) or _ROUTINE.search(text):
        return 0.0
    at = row["at"] or time_in(text, first)
    if first is not None and at is not None and not first - _LONG <= at <= first + _MINUTES:
        return 0.0
    score = 1.0 if strong else 0.5
    score += 0.4 * bool(names & names_of(text))
    if at is not None and first is not None:
        near = first - at
        score += 0.6 if near <= timedelta(hours=1) else 0.45 if near <= timedelta(days=1) else 0.3
    return score


def time_in(text: str, near: datetime | None) -> datetime | None:
    """The date that a line states; of a time of day alone that of the day of `near`."""
    stamp = _STAMP.search(text)
    try:
        if stamp is not None:
            return datetime.fromisoformat(f"{stamp['day']}T{stamp['time'] or '00:00'}").replace(tzinfo=timezone.utc)
        written = _WRITTEN.search(text)
        year = written and (written["y1"] or written["y2"] or (f"{near:%Y}" if near is not None else None))
        if written is not None and year:
            month = _MONTHS.index(written["month"]) + 1
            at = datetime.fromisoformat(f"{year}-{month:02}-{int(written['day']):02}T{written['time']}").replace(tzinfo=timezone.utc)
            ahead = near is not None and not (written["y1"] or written["y2"]) and at > near + _LONG
            return at.replace(year=at.year - 1) if ahead else at
        clock = _CLOCK.search(text)
        if clock is not None and near is not None:
            return datetime.fromisoformat(f"{near:%Y-%m-%d}T{clock['time']}").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return None
