"""What the matcher found in an event."""

from __future__ import annotations

Hit = tuple[int, int]
"""Number of the literal, and the line of the event that holds it."""
