"""The identity of a finding: the same for one fault in two recordings of it, whatever ids, attempts, offsets and times they have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from analyzers.report.finding import Finding
from analyzers.report.report import Verdict

LASTING = (
    "task",
    "operator",
    "topic",
    "partition",
    "broker",
    "group",
    "query",
    "source",
    "connector",
    "connector_task",
    "deployment",
    "application",
)
"""Keys of a subject that name the same thing in each run of a job."""
_ID = re.compile(r"[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\b[0-9a-f]{16,}\b|\d+")


def identity(of: Finding | Verdict, job_names: Mapping[str, str]) -> str:
    """``BRK101-5d1c07a2``: the code, and a digest of reason, job name and what the subject names."""
    subject = lasting(of.subject)
    parts = (of.code, of.reason or "", job_names.get(of.job or "", ""), *(f"{key}={value}" for key, value in subject.items()))
    return f"{of.code}-{hashlib.sha256('|'.join(parts).encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def lasting(subject: Mapping[str, Any]) -> dict[str, str]:
    """What a subject names that is the same thing in each run of a job, in words."""
    return {key: _named(subject[key]) for key in LASTING if subject.get(key) is not None}


def _named(value: Any) -> str:
    """A value in words; of texts without the ids and numbers in them."""
    if isinstance(value, list):
        return ",".join(sorted(map(_named, value)))
    return _ID.sub("#", value) if isinstance(value, str) else str(value)
