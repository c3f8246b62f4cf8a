"""What can be wrong with a bundle, each in one sentence for the user."""

from __future__ import annotations


class BundleError(Exception):
    """A bundle cannot be read or written. `message`: what was attempted, on what, what happened; `hint`: what to try."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BundleNotFound(BundleError):
    """The path that was named does not exist, or is not a bundle at all: a mistake in the command."""


class SchemaMismatch(ValueError):
    """Rows that do not fit the declared schema: a defect of ours, never of the evidence."""
