"""What executors do to be counted by a `fleet_meter.Meter`."""

from __future__ import annotations

import os


def tick(file: str) -> None:
    """One job more is done. Runs on executors."""
    if file:
        try:
            at = os.open(file, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return  # the run has ended
        try:
            os.write(at, b".")
        finally:
            os.close(at)
