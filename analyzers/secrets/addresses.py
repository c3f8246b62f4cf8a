"""Secrets in addresses and commands that have no name before them: ``user:password@host``, ``curl -u user:password``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.secrets.values import looks_secret

_SCHEME = re.compile(r"\b[a-z][a-z0-9+.-]{1,30}://", re.I)
_ADDRESS = re.compile(r"[^\s\"'<>`|\\]+")
_ANOTHER = re.compile(r"[,;][a-z][a-z0-9+.-]{1,30}://", re.I)
_AUTHORITY_END = re.compile(r"[/?#]")
_HOST = re.compile(r"@(?=(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][\w.-]*)(?::\d{1,5})?(?:[/?,;:)\]}]|$))")
FORMS = tuple((tuple(signs.split()), re.compile(form)) for signs, form in (
    ("@", (r"(?i)\b(?:dsn|tns|connect(?:ion)?_?string|sqlplus|sqlldr|expdp|impdp)"
           r"[ =:]{1,3}[\"']?[\w$#.-]{1,80}/(?P<secret>[^\s@/]{1,200})@")),
    ("@", r"(?i)\bjdbc:oracle:\w{1,10}:[^\s/@:]{1,80}/(?P<secret>[^\s@]{1,200})@"),
    ("mysql mariadb", r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|]{0,200}?\s-p(?P<secret>'[^'\n]+'|\"[^\"\n]+\"|[^\s\"']+)"),
    ("@", r"(?<![\w/@:.-])[\w.-]{1,64}:(?P<secret>[^\s@\"'/:]{1,200})@(?:tcp|unix)\("),
    ("pass", r"\bwith password (?P<secret>(?=\S*[A-Za-z])(?=\S*[\d!#$%^&*])[^\s\"'=:(]{6,100})(?= for\b|$)"),
    ("pass", r"\bsshpass\s+-p\s?(?P<secret>'[^'\n]+'|\"[^\"\n]+\"|\S+)"),
    ("redis-cli", r"\bredis-cli\b[^\n|]{0,200}?\s-a\s(?P<secret>\S+)"),
    ("pass", r"\s-pass(?:in|out)\s+pass:(?P<secret>\S+)"),
    ("login", r"\blogin\b[^\n|]{0,200}?\s-p\s+(?P<secret>'[^'\n]+'|\"[^\"\n]+\"|[^\s\"']+)"),
    ("mongo cqlsh", r"\b(?:mongo\w{0,9}|cqlsh)\b[^\n|]{0,200}?\s-p\s+(?P<secret>'[^'\n]+'|\"[^\"\n]+\"|[^\s\"']+)"),
    ("ldap", r"\bldap\w{2,9}\b[^\n|]{0,200}?\s-w\s+(?P<secret>'[^'\n]+'|\"[^\"\n]+\"|[^\s\"']+)"),
    ("sqlcmd bcp isql", r"\b(?:sqlcmd|bcp|isql)\b[^\n|]{0,200}?\s-P\s*(?P<secret>'[^'\n]+'|\"[^\"\n]+\"|[^\s\"']+)"),
    ("identified", r"(?i)\bidentified\s+(?:with\s+\w+\s+)?by\s+(?:password\s+)?'(?P<secret>[^'\n]+)'"),
    ("@", (r"(?<![\w/@:.%-])[A-Za-z_][\w.-]{0,63}:"
           r"(?P<secret>(?!\d{1,5}(?:[-/]|@))[^\s@\"'/:=,;(){}\[\]]{4,200})@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")),
    ("%40", r"(?i)%3A%2F%2F[^\s%/]{0,64}%3A(?P<secret>\S{1,200}?)%40"),
    ("webhook", r"\bdiscord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]+)"),
    ("webhook", r"\b(?:outlook|\w+\.webhook)\.office\.com/webhook\w*/(?P<secret>[^\s\"'<>]+)"),
    ("telegram", r"\bapi\.telegram\.org/(?:file/)?bot(?P<secret>\d+:[\w-]+)"),
    ("slack", r"\bhooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/]+)"),
    ("", r"[?&](?:Policy|code|code_verifier|assertion)=(?P<secret>[^\s&\"'<>]{16,})"),
))  # fmt: skip
"""Signs, one of which every text has that holds the secret (none: it need not have any), and where it stands."""
_OF_CURL = (
    re.compile(r"\s(?:-u ?|--user[ =]|--proxy-user[ =])[\"'][^\s:\"']{1,100}:(?P<secret>[^\"'\n]+)"),
    re.compile(r"\s(?:-u ?|--user[ =]|--proxy-user[ =])(?!\+%)[^\s:\"']{1,100}:(?P<secret>(?!\d+\s)[^\s\"']+)"),
)


def in_addresses(text: str, signs: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of the secrets of `text`, which has these `signs`, in user info and in commands that take them without a name."""
    if "://" in text:
        at = 0
        while scheme := _SCHEME.search(text, at):
            at = scheme.end()
            if found := _of_user(text, at):
                yield found
                at = found[1]
    forms = [form for of, form in FORMS if not of or not signs.isdisjoint(of)]
    for form in (*forms, *_OF_CURL) if "curl" in text else forms:
        for match in form.finditer(text):
            yield match.span("secret")


def _of_user(text: str, at: int) -> tuple[int, int] | None:
    """The password in ``user:password@host`` at `at`; it may hold ``/``, ``?``, ``#`` and ``@``. A user alone is one that looks like it."""
    match = _ADDRESS.match(text, at, at + 2000)
    if match is None or "@" not in match[0]:
        return None
    another = _ANOTHER.search(text, at, match.end())
    address = text[at : another.start() if another else match.end()]
    end = _AUTHORITY_END.search(address)
    authority = address[: end.start()] if end else address
    if "@" in authority:
        user, _, _ = authority.rpartition("@")
    else:
        name, colon, begun = authority.partition(":")
        hosts = list(_HOST.finditer(address))
        if not colon or (not name and not begun) or begun.isdigit() or not begun or not hosts or "]" in name or "[" in name:
            return None
        user = address[: hosts[-1].start()]
    name, colon, secret = user.partition(":")
    if colon and secret:
        return at + len(name) + 1, at + len(user)
    return (at, at + len(user)) if len(user) >= 20 and looks_secret(user) else None
