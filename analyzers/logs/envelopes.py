"""Wrappings around log lines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wrapping:
    names: tuple[str, ...]


def sniff_wrapping(head: bytes, tail: bytes, *, whole: bool) -> Wrapping | None:
    return None


def unwrapped_sample(wrapping: Wrapping, head: bytes, *, whole: bool) -> bytes:
    return head
