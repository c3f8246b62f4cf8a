"""Secrets that are known by their own form: keys and tokens of vendors, JSON web tokens, PEM blocks, values of an authorization header.

The prefixes are those that gitleaks and detect-secrets list, and that the vendors document.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

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
    ("EAACEdEose0cBA", r"\w", 10), ("sq0csp-", r"\w-", 30), ("sq0atp-", r"\w-", 20), ("key-", "a-f0-9", 32), ("xkeysib-", "a-f0-9-", 40),
    ("AKCp", "A-Za-z0-9", 60), ("cmVmd", "A-Za-z0-9", 55), ("SK", "a-f0-9", 32), ("CCIPAT_", r"\w-", 30), ("figd_", r"\w-", 30),
    ("CFPAT-", r"\w-", 40), ("atlasv1.", r"\w-", 40),
    ("pscale_tkn_", r"\w.=-", 30), ("sbp_", "a-f0-9", 40), ("tfp_", r"\w", 40), ("PuTTY-User-Key-File", ".", 9999),
)  # fmt: skip
SIGNS = tuple(sorted({prefix.lower() for prefix, _, _ in _PREFIXES if prefix not in ("SK", "PuTTY-User-Key-File")}))
_TOKEN = re.compile(r"(?<!\w)(?:" + "|".join(rf"{re.escape(p)}[{c.strip('[]')}]{{{n},}}" for p, c, n in _PREFIXES[:-1]) + r")(?![\w])")
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
    r"\$2[abxy]\$\d\d\$[A-Za-z0-9./]{53}|(?<=\{SSHA\})[A-Za-z0-9+/=]{28,}|(?<=\{SSHA512\})[A-Za-z0-9+/=]{28,}"
    r"|\bhmac\s?[=:]\s?\[?(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
    re.I,
)
"""Digests of passwords and of delegation tokens: what knows them can try passwords, or logs in."""
HASHES = ("$2", "{ss", "hmac")
SCHEMES = ("bearer", "basic", "negotiate", "key")
_SCHEMES = re.compile(r"\b(?P<scheme>Bearer|Basic|Negotiate|ApiKey)\s{1,4}(?P<secret>[A-Za-z0-9+/._~=-]{12,})", re.I)


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
    for match in _DIGEST.finditer(text) if "digest" in signs else ():
        yield match.span("secret")
    for match in _HASHED.finditer(text) if not signs.isdisjoint(HASHES) else ():
        yield match.span("secret") if match["secret"] else match.span()
    for match in _SCHEMES.finditer(text) if not signs.isdisjoint(SCHEMES) else ():
        if _authorizes(match["scheme"].lower(), match["secret"]):
            yield match.span("secret")


def _authorizes(scheme: str, value: str) -> bool:
    """Whether `value` is one: in prose words follow, too."""
    if scheme != "basic":
        return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
