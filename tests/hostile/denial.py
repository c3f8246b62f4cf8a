"""Which of `denied_spellings.txt` leave a redacted bundle, and which a report: ``python -m tests.hostile.denial``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from analyzers.bundle.redact import Redactor
from analyzers.tables import TABLES
from tests.hostile.spellings import Spelling, spellings

PATH = Path(__file__).with_name("denied_spellings.txt")


def redacted(text: str) -> str:
    """`text` as the text of a log event in a redacted bundle that holds nothing else."""
    row = TABLES["log_events"].row({"scope": "", "signature": "x", "text": text})
    redactor = Redactor(b"0123456789abcdef")
    redactor.learn({"log_events": [row]})
    return str(redactor.tables({"log_events": [row]})["log_events"][0]["text"])


def survivors() -> list[tuple[Spelling, str, list[str]]]:
    """The spellings that leave, with what they became and what is left of them."""
    found = ((one, redacted(one.text)) for one in spellings(PATH))
    return [(one, text, left) for one, text in found if (left := one.survivors(text))]


if __name__ == "__main__":
    left = survivors()
    for one, text, secrets in left:
        print(f"{one.kind}: {text!r} {secrets}")
    total, bad = Counter(one.kind.partition(":")[0] for one in spellings(PATH)), Counter(one.kind.partition(":")[0] for one, _, _ in left)
    print(", ".join(f"{bad[kind]} of {total[kind]} {kind}" for kind in total))
