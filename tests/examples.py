"""How many examples hypothesis tries: few before a push, as many as a test names in continuous integration, ten times that in a search."""

from __future__ import annotations

import os

from hypothesis import settings

IN_THE_LOOP = 25
CHOSEN = os.environ.get("DIAG_EXAMPLES") or ("ci" if os.environ.get("CI", "").lower() == "true" else "loop")
"""``loop``, ``ci`` or ``fuzz``."""


def examples(wanted: int) -> int:
    """How many of the `wanted` examples are tried now."""
    return {"loop": min(wanted, IN_THE_LOOP), "ci": wanted, "fuzz": 10 * wanted}[CHOSEN]


def choose() -> None:
    """From now on a test that names no number follows the profile, too."""
    settings.register_profile(f"diag-{CHOSEN}", settings.default, max_examples=examples(settings.default.max_examples))
    settings.load_profile(f"diag-{CHOSEN}")
