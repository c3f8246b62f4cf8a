"""Secrets in texts, found by the name before them, their address or their own form, and cut out; content of records, shortened."""

from analyzers.secrets.content import shortened
from analyzers.secrets.scrub import HIDDEN, scrub, scrub_values, under_secret_name

__all__ = ["HIDDEN", "scrub", "scrub_values", "shortened", "under_secret_name"]
