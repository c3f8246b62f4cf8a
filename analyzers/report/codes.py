"""Codes of rules: whose a rule is, its letters say."""

from __future__ import annotations

import re

FAMILIES = frozenset({"BRK", "CFG", "CKP", "DIA", "LAG", "PRE", "RST", "SPK", "SPL"})
"""The letters of diag's own codes. They are for ever, so that no code of a user's is taken later: a new family needs a new list here."""
_CODE = re.compile(r"([A-Z]{3,8})\d{2,4}")


def is_code(code: str) -> bool:
    """Whether a rule may be called so."""
    return _CODE.fullmatch(code) is not None


def is_own(code: str) -> bool:
    """Whether `code` is that of a rule of a user's own."""
    found = _CODE.fullmatch(code)
    return found is not None and found[1] not in FAMILIES
