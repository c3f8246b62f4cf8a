"""What was found out about a text is found out once: storms repeat the same lines a hundred thousand times, but for their time stamps."""

from __future__ import annotations

from typing import Any

UNSEEN = object()
LIMIT_BYTES = 8 << 20
_OVERHEAD = 600  # of an entry beside its text


class Memo:
    """Texts and what they say, in bounded memory: forgets all when it is full, which costs less than to know what is oldest."""

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit, self._bytes = limit, 0
        self._known: dict[bytes, Any] = {}

    def of(self, text: bytes) -> Any:
        """What `text` says; UNSEEN if that is not known."""
        return self._known.get(text, UNSEEN)

    def remember(self, text: bytes, what: Any) -> None:
        """From now on `text` says `what`."""
        self._bytes += len(text) + _OVERHEAD
        if self._bytes > self._limit:
            self._known.clear()
            self._bytes = len(text) + _OVERHEAD
        self._known[text] = what
