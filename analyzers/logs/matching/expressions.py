"""Expressions that are compiled when they are first used: most of those for the many forms of logs no single run needs."""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split")


class _Later(Generic[AnyStr]):
    """Stands for the compiled pattern; from its first use on it has the methods of that as its own, so that a call costs no more."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and pickling ask for
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in _METHODS:
            self.__dict__[method] = getattr(compiled, method)
        return getattr(compiled, name)


def expression(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """``re.compile(pattern, flags)``, later. A wrong pattern raises at its first use."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
