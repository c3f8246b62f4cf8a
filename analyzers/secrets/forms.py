"""Secrets that are known by their own form: keys and tokens of vendors, JSON web tokens, PEM blocks, values of an authorization header.

The prefixes are those that gitleaks and detect-secrets list, and that the vendors document.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import pairwise

_PREFIXES = (  # prefix, characters behind it, how many at least
    ("AKIA", "A-Z0-9", 16), ("ASIA", "A-Z0-9", 16), ("ABIA", "A-Z0-9", 16), ("ACCA", "A-Z0-9", 16),  # AWS access key ids
    ("IQoJb3JpZ2lu", r"\w+/=%-", 8), ("FwoGZXIvYXdz", r"\w+/=%-", 8), ("FQoGZXIvYXdz", r"\w+/=%-", 8),  # AWS session tokens
    ("AIza", r"\w-", 35), ("ya29.", r"\w.-", 20), ("GOCSPX-", r"\w-", 20), ("1//0", r"\w-", 30),  # Google
    ("ghp_", r"\w", 30), ("gho_", r"\w", 30), ("ghu_", r"\w", 30), ("ghs_", r"\w", 30), ("ghr_", r"\w", 30), ("github_pat_", r"\w", 50),
    ("glpat-", r"\w-", 20), ("glptt-", r"\w-", 20), ("gldt-", r"\w-", 20), ("glrt-", r"\w-", 20), ("glcbt-", r"\w-", 20),
    ("xoxb-", r"\w-", 10), ("xoxp-", r"\w-", 10), ("xoxa-", r"\w-", 10), ("xoxr-", r"\w-", 10), ("xoxs-", r"\w-", 10),
    ("xoxe-", r"\w-", 10), ("xapp-", r"\w-", 10),
    ("sk_live_", r"\w", 10), ("rk_live_", r"\w", 10), ("sk_test_", r"\w", 10), ("whsec_", r"\w", 20),
    ("SG.", r"\w.-", 40), ("npm_", r"\w", 36), ("pypi-AgE", r"\w-", 40), ("rubygems_", r"\w", 40), ("dckr_pat_", r"\w-", 20),
    ("dapi", "a-h0-9-", 32), ("dkea", "a-h0-9", 32), ("hvs.", r"\w-", 20), ("hvb.", r"\w-", 20), ("hvr.", r"\w-", 20),
    ("dop_v1_", "a-f0-9", 40), ("doo_v1_", "a-f0-9", 40), ("dp.pt.", r"\w", 30), ("dp.st.", r"[\w.-]", 30),
    ("glsa_", r"\w", 30), ("glc_", r"\w+/=", 30), ("sk-ant-", r"\w-", 20), ("sk-proj-", r"\w-", 20), ("sk-svcacct-", r"\w-", 20),
    ("hf_", "A-Za-z0-9", 28), ("AGE-SECRET-KEY-1", "A-Z0-9", 30), ("ATATT3", r"\w=-", 40), ("ATBB", r"\w", 28), ("AVNS_", r"\w-", 12),
    ("aivenv1", r"\w+/=", 30), ("NRAK-", "A-Z0-9", 20), ("NRJS-", "a-f0-9", 19), ("PMAK-", "a-f0-9-", 40), ("shpat_", "a-fA-F0-9", 30),
    ("shpss_", "a-fA-F0-9", 30), ("shpca_", "a-fA-F0-9", 30), ("LTAI", "A-Za-z0-9", 16), ("dt0c01.", r"[\w.-]", 40), ("pul-", "a-f0-9", 40),
    ("tskey-", r"\w-", 20), ("sntrys_", r"\w+/=-", 40), ("lin_api_", r"\w", 30), ("secret_", "A-Za-z0-9", 43), ("ops_eyJ", r"\w+/=", 60),
    ("EAACEdEose0cBA", r"\w", 10), ("sq0csp-", r"\w-", 30), ("sq0atp-", r"\w-", 20), ("key-", "a-z0-9", 32), ("xkeysib-", "a-f0-9-", 40),
    ("AKCp", "A-Za-z0-9", 60), ("cmVmd", "A-Za-z0-9", 55), ("SK", "a-f0-9", 32), ("CCIPAT_", r"\w-", 30), ("figd_", r"\w-", 30),
    ("CFPAT-", r"\w-", 40), ("atlasv1.", r"\w-", 40),
    ("dor_v1_", "a-f0-9", 40), ("dckr_oat_", r"\w-", 20), ("dose", "a-f0-9", 32), ("dsapi", "a-f0-9", 32), ("ABSK", r"\w+/=", 60),
    ("CLOJARS_", "a-z0-9", 60), ("EZAK", "A-Za-z0-9", 50), ("EZTK", "A-Za-z0-9", 50), ("FLWSECK", r"\w-", 12), ("HRKU-", r"\w-", 30),
    ("NRII-", r"\w-", 30), ("AQVN", r"\w-", 35), ("fo1_", r"\w-", 40), ("fm1r_", r"\w+/=-", 60), ("fm2_", r"\w+/=-", 60),
    ("fio-u-", r"\w=-", 60), ("duffel_live_", r"\w=-", 40), ("gloas-", r"\w-", 60), ("glagent-", r"\w-", 40), ("glsoat-", r"\w-", 20),
    ("glimt-", r"\w-", 25), ("GR1348941", r"\w-", 20), ("api_org_", "A-Za-z0-9", 30), ("bkua_", "a-f0-9", 40), ("CCIPRJ_", r"\w-", 30),
    ("p8e-", "A-Za-z0-9", 32), ("pnu_", "A-Za-z0-9", 36), ("ntn_", "A-Za-z0-9", 40), ("sha256~", r"\w-", 43), ("pplx-", "A-Za-z0-9", 40),
    ("phc_", "A-Za-z0-9", 40), ("phx_", "A-Za-z0-9", 40), ("rdme_", "a-z0-9", 60), ("tk-us-", r"\w-", 40), ("sntryu_", "a-f0-9", 60),
    ("sgp_", r"\w", 40), ("shppa_", "a-fA-F0-9", 30), ("shippo_live_", "a-f0-9", 40), ("gsk_", "A-Za-z0-9", 40), ("r8_", "A-Za-z0-9", 36),
    ("xai-", "A-Za-z0-9", 60), ("nvapi-", r"\w-", 50), ("lsv2_", r"\w", 40), ("pcsk_", r"\w", 40), ("pscale_pw_", r"\w.=-", 30),
    ("pscale_oauth_", r"\w.=-", 30), ("sm_pat_", "A-Za-z0-9", 16), ("sm_aat_", "A-Za-z0-9", 16), ("dnkey-", r"\w=-", 50),
    ("YCAJE", r"\w-", 16), ("sk-", "A-Za-z0-9", 40), ("sk-or-", r"\w-", 40),
    ("bedrock-api-key-", r"\w", 20), ("pscale_tkn_", r"\w.=-", 30), ("sbp_", "a-f0-9", 40), ("tfp_", r"\w", 40),
    ("PuTTY-User-Key-File", ".", 9999),
)  # fmt: skip
SIGNS = tuple(sorted({prefix.lower() for prefix, _, _ in _PREFIXES if prefix not in ("SK", "PuTTY-User-Key-File")}))
_TOKEN = re.compile(r"(?<!\w)(?:" + "|".join(rf"{re.escape(p)}[{c.strip('[]')}]{{{n},}}" for p, c, n in _PREFIXES[:-1]) + r")(?![\w])")
_RANDOM = re.compile(r"(?<![\w$./+=:-])(?:\d{8,10}:AA)?(?:[A-Za-z]\w{0,3}\.)?[\w-]{24,}(?:\.[\w-]{6,})*(?![\w/+=$-])")
"""A word that is long enough for what a machine has drawn: a bot's token, one with a version in front, one in parts."""
_LEAST_DRAWN, _CHANGES = 32, 0.45
"""Characters of one that was drawn without any sign of its own, and how often their kind must change: of letters and digits that were drawn
it does so 6 times in 10, in the name of a class once a word."""
_HEX = re.compile(r"(?<![A-Za-z0-9])(?:[0-9a-f]{2,}|[0-9A-F]{2,})(?![A-Za-z0-9])")
"""A part of a UUID, an id."""
_CALLED_ID = re.compile(r"(?:[a-z]I|[ _-]i|\bi)d(?:s|entifier)?[\"']?\s?[:=]\s?[\"']?\Z")
_OF_PARTS = re.compile(r"\d{8,10}:AA[\w-]{30,}|s\.[A-Za-z0-9]{24,}|[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,40}")
"""Telegram's, the older ones of Vault, Discord's."""
_WEB_TOKEN = re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}")
_AZURE = re.compile(
    r"(?<![\w+/])(?:[A-Za-z0-9+/]{86}==|[A-Za-z0-9+/]{43}=(?![\w=])(?<=[A-Za-z0-9+/]{43}=)|[\w~.]{3}\dQ~[\w~.-]{31,36})(?![\w+/=])"
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,20000}-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\s|\\{1,4}[nr]){0,8}[A-Za-z0-9+/=]{16,200})*)"
)
"""A block, over lines or with the line breaks written out; of one that was cut off the lines that are there."""
_DIGEST = re.compile(r"\bDigest\s{1,4}(?=username=)(?P<secret>\w+=(?:\"[^\"\n]*\"|[^\s\",]+)(?:,\s?\w+=(?:\"[^\"\n]*\"|[^\s\",]+))*)", re.I)
_HASHED = re.compile(
    r"\$2[abxy]\$\d\d\$[A-Za-z0-9./]{53}|\$[156y]\$[A-Za-z0-9./=,$-]{20,}|(?<=\{SSHA\})[A-Za-z0-9+/=]{28,}|(?<=\{SSHA512\})[A-Za-z0-9+/=]{28,}"
    r"|\bhmac\s?[=:]\s?\[?(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
    re.I,
)
"""Digests of passwords and of delegation tokens: what knows them can try passwords, or logs in."""
HASHES = ("$2", "$1$", "$5$", "$6$", "$y$", "{ss", "hmac")
SCHEMES = ("bearer", "basic", "negotiate", "key", "auth", "login")
_SCHEMES = re.compile(
    r"\b(?P<scheme>Bearer|Basic|Negotiate|ApiKey|AUTH(?:ENTICATE)? PLAIN|vault login)\s{1,4}(?P<secret>[A-Za-z0-9+/._~=-]{12,})", re.I
)


def by_form(text: str, signs: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of the secrets in `text`, which has these `signs`, that no name is needed for."""
    if "-----BEGIN" in text:
        for match in _PEM.finditer(text):
            yield match.span()
    if "SK" in text or not signs.isdisjoint(SIGNS):
        for match in _TOKEN.finditer(text):
            yield match.span()
    if "eyJ" in text:
        for match in _WEB_TOKEN.finditer(text):
            yield match.span()
    if "==" in text or "Q~" in text:
        for match in _AZURE.finditer(text):
            yield match.span()
    for match in _drawn(text):
        yield match.span()
    for match in _DIGEST.finditer(text) if "digest" in signs else ():
        yield match.span("secret")
    for match in _HASHED.finditer(text) if not signs.isdisjoint(HASHES) else ():
        yield match.span("secret") if match["secret"] else match.span()
    for match in _SCHEMES.finditer(text) if not signs.isdisjoint(SCHEMES) else ():
        if _authorizes(match["scheme"].lower(), match["secret"]) or _ends_there(text, match):
            yield match.span("secret")


def has_drawn(text: str) -> bool:
    """Whether `text` holds a word that a machine has drawn."""
    return next(_drawn(text), None) is not None


def _drawn(text: str) -> Iterator[re.Match[str]]:
    for match in _RANDOM.finditer(text):
        if is_drawn(match[0]) and not _CALLED_ID.search(text, max(0, match.start() - 20), match.start()):
            yield match


def is_drawn(word: str) -> bool:
    """Whether letters of both kinds and digits follow each other in `word` as neither people write nor programs name anything."""
    of_parts = _OF_PARTS.fullmatch(word) is not None
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in _HEX.sub("", word) if c.isalnum()]
    if len(set(kinds)) < 3 or (len(kinds) < _LEAST_DRAWN and not of_parts):
        return False
    return sum(one != other for one, other in pairwise(kinds)) >= (_CHANGES / (2 if of_parts else 1)) * len(kinds)


def _ends_there(text: str, match: re.Match[str]) -> bool:
    """Whether a header ends with a value of letters only: prose goes on, and speaks of bearer tokens."""
    follows = text[match.end() : match.end() + 2]
    return (
        match["scheme"].lower() == "bearer" and match["secret"].isalpha() and match["secret"].lower() not in _OF_PROSE
        and not follows.lstrip(" \t")[:1].isalpha() and follows[:1] not in ("(", ".")
    )  # fmt: skip


_OF_PROSE = frozenset(("authentication", "authorization", "credentials", "authenticator"))


_NULS_OF_PLAIN = 2
"""Before the user and before the password, RFC 4616."""


def _authorizes(scheme: str, value: str) -> bool:
    """Whether `value` is one: in prose words follow, too."""
    if scheme not in ("basic", "auth plain", "authenticate plain"):
        return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    try:
        said = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        return b":" in said or said.count(b"\0") == _NULS_OF_PLAIN
    except (binascii.Error, ValueError):
        return False
