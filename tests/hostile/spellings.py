"""The spellings of secrets that this project holds itself to, and what counts as one that survived."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("secret_spellings.txt")
_MARK = re.compile("⟦(.*?)⟧", re.S)
_CHUNK = 5
"""Characters in a row of a secret that are too many: half a password is a secret, too."""


@dataclass(frozen=True)
class Spelling:
    """One text with its secrets; `kind` is the heading that it stands under."""

    kind: str
    text: str
    secrets: tuple[str, ...]

    def survivors(self, scrubbed: str) -> list[str]:
        """The secrets of which a part that stands nowhere else in the text is still in `scrubbed`."""
        return [secret for secret in self.secrets if self._survives(secret, scrubbed)]

    def _survives(self, secret: str, scrubbed: str) -> bool:
        size = min(_CHUNK, len(secret))
        chunks = {secret[at : at + size] for at in range(len(secret) - size + 1)}
        around = self.text
        for other in self.secrets:
            around = around.replace(other, "\0")
        return any(chunk in scrubbed and chunk not in around for chunk in chunks)


def spellings(path: Path = PATH) -> list[Spelling]:
    """All of those of a file, those of the section ``limits`` last."""
    found, kind = [], ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            kind = line.removeprefix("== ")
        elif "⟦" in line and not line.startswith("# "):
            text = line.replace("⏎", "\n").replace("⇥", "\t").replace("·", "")
            found.append(Spelling(kind, _MARK.sub(r"\1", text), tuple(_MARK.findall(text))))
    return found


def survived(scrub: Callable[[str], str]) -> list[tuple[Spelling, list[str]]]:
    """The spellings out of which `scrub` leaves secrets."""
    return [(one, left) for one in spellings() if (left := one.survivors(scrub(one.text)))]
