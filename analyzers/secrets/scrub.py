"""Cuts the secrets out of a text and leaves the rest as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from analyzers.secrets.addresses import in_addresses
from analyzers.secrets.assignments import assigned
from analyzers.secrets.forms import SIGNS, by_form, has_drawn
from analyzers.secrets.names import FOREIGN, SIGN, Name, judged
from analyzers.secrets.values import is_everybodys, is_number

HIDDEN = "***"
_SIGNS = (
    "pass", "pwd", "pw", "wachtwoord", "secret", "token", "key", "auth", "credential", "cookie", "jaas", "sig", "sess", "user.info",
    "user_info", "user-info", "userinfo", "identified", "bearer", "basic", "negotiate", "://", "@", "eyj", "q~", "==", "-----begin", "curl",
    "mysql", "mariadb", "redis-cli", "policy", "slack", "login", "mongo", "cqlsh", "ldap", "sqlcmd", "bcp", "isql", "%40", "webhook",
    "telegram", "hmac", "$2", "$1$", "$5$", "$6$", "$y$", "otp", "saml", "user_", "scram-sha-", "{ss", "licen", *FOREIGN, *SIGNS,
)  # fmt: skip
"""A text without any of these has no secret that could be found: nearly all are done with at that."""
_MORE = ("digest", "jsessionid", "phpsessid")
"""Beside one of them these tell which forms a secret can have."""
_ALL = frozenset((*_SIGNS, *_MORE))
_FRAMES = re.compile(
    r"(?:^[ \t]+at [\w.$<>/-]{1,300}\((?:[\w$.-]{1,100}\.(?:java|scala|kt|groovy|py)(?::\d{1,6})?|Native Method|Unknown Source)\)"
    r"(?: ~?\[[\w.:?-]{0,200}\])?\r?(?:\n|\Z))+",
    re.M,
)
"""Lines of a stack: most of what a long text is made of, and only names of classes and files."""
_LEAST_TO_REPEAT = 6
"""Characters of a secret that is cut out elsewhere in its text, too; a shorter one may be a word."""
_KEPT_TEXTS = 4096
_LONGEST_KEPT = 2000


def scrub(text: str) -> str:
    """`text` without its secrets, the very same object where there are none; what is hidden already stays as it is."""
    done = _scrubbed(text) if len(text) <= _LONGEST_KEPT else _scrub(text)
    return text if done == text else done


def scrub_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with their texts scrubbed, and without what is a secret by what it is called."""
    changed: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, str):
            changed[key] = HIDDEN if under_secret_name(values, key, value) else scrub(value)
        elif isinstance(value, Mapping):
            changed[key] = scrub_values(value)
        elif isinstance(value, (list, tuple)):
            changed[key] = type(value)(scrub(each) if isinstance(each, str) else each for each in value)
        else:
            changed[key] = value
    return changed


def under_secret_name(values: Mapping[Any, Any], key: Any, value: str) -> bool:
    """Whether `value` is a secret because of its `key` in `values`; where that is ``value``, because of what ``key`` or ``name`` says."""
    name = values.get("key", values.get("name")) if key == "value" else key
    kind = _judged(name) if isinstance(name, str) else None
    if kind is None or kind is Name.MAYBE or is_everybodys(value):
        return False
    return kind is not Name.LIKELY or not is_number(value)


@lru_cache(_KEPT_TEXTS)
def _judged(name: str) -> Name | None:
    return judged(name) if SIGN.search(name) else None


def _scrub(text: str) -> str:
    """As `_searched`; where nothing has to go, the lines of a stack need not be looked through."""
    if signs_in(text).isdisjoint(_SIGNS) and not has_drawn(text):
        return text
    short = _FRAMES.sub("\n", text) if "\tat " in text or " at " in text else text
    return _searched(text) if len(short) >= len(text) or _searched(short) is not short else text


def _searched(text: str) -> str:
    signs = signs_in(text)
    if signs.isdisjoint(_SIGNS) and not has_drawn(text):
        return text
    spans = [*by_form(text, signs), *in_addresses(text, signs)]
    named = list(assigned(text, signs))
    if not spans and not named:
        return text
    repeated = {text[span.begin : span.end] for span in named if span.sure and span.end - span.begin >= _LEAST_TO_REPEAT}
    changed = _without(text, [*spans, *((span.begin, span.end) for span in named)])
    for secret in sorted(repeated, key=len, reverse=True)[:50]:
        changed = changed.replace(secret, HIDDEN)
    return changed


def signs_in(text: str) -> frozenset[str]:
    """The signs that `text` holds; all of them where some of its letters may equal others, as the long s does."""
    hits = _finder().find_matches_as_indexes(text.lower().encode("utf-8", "replace").decode(), overlapping=True)  # no lone surrogates
    if hits and not text.isascii():
        return _ALL
    return frozenset([(*_SIGNS, *_MORE)[number] for number, _, _ in hits])


@lru_cache(1)
def _finder() -> Any:
    from ahocorasick_rs import AhoCorasick

    return AhoCorasick([*_SIGNS, *_MORE])


_scrubbed = lru_cache(_KEPT_TEXTS)(_scrub)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for begin, end in sorted(spans):
        if end <= done:
            continue
        if begin > done or not pieces:
            pieces += [text[done:begin], HIDDEN]
        done = end
    return "".join([*pieces, text[done:]])
