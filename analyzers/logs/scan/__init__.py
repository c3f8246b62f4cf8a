"""Bytes of a split to rows: lines, events, and which of them are kept."""
