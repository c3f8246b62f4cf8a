"""What Flink's answers are made of: one of another shape holds no evidence, and that is no sign of a healthy job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LISTS = {
    r"/jobs/overview": "jobs",
    r"/taskmanagers": "taskmanagers",
    r"/jobs/[^/]+": "vertices",
    r"/jobs/[^/]+/checkpoints": "history",
    r"/jobs/[^/]+/vertices/[^/]+": "subtasks",
    r"/jobs/[^/]+/checkpoints/details/[^/]+/subtasks/[^/]+": "subtasks",
}
"""By path, where a list of objects has to stand."""
_EXCEPTIONS = r"/jobs/[^/]+/exceptions"
_TOLD_BY = ("exceptionHistory", "root-exception", "all-exceptions")
"""The first since Flink 1.13, the others until 2.0."""


def misshapen(path: str, body: Any) -> str | None:
    """Why an answer cannot be one of Flink; None where it can."""
    path = path.partition("?")[0]
    wanted = next((key for pattern, key in _LISTS.items() if re.fullmatch(pattern, path)), None)
    of_exceptions = re.fullmatch(_EXCEPTIONS, path) is not None
    if wanted is None and not of_exceptions:
        return None
    if not isinstance(body, Mapping) or (of_exceptions and not any(key in body for key in _TOLD_BY)):
        return "what answers there is not Flink"
    if wanted is not None:
        listed = body.get(wanted)
        if not isinstance(listed, list) or not all(isinstance(item, Mapping) for item in listed):
            return f"its {wanted!r} is no list of objects, as Flink has it"
    if of_exceptions and not isinstance(body.get(_TOLD_BY[0], {}), Mapping):
        return f"its {_TOLD_BY[0]!r} is no object, as Flink has it"
    return None
