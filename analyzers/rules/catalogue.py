"""Finds the rules: a module of this package that is named after a code is a rule; nothing is registered by hand."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule


def rule_codes() -> list[str]:
    """The codes of all rules, told by their file names alone: nothing is imported to refuse a mistyped ``--only``."""
    from analyzers import rules as house

    return sorted(module.name.partition("_")[0].upper() for module in pkgutil.iter_modules(house.__path__) if "_" in module.name)


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """Every rule of `analyzers/rules/`, ordered by code. Raises ``ValueError`` when two share a code or a file name tells another one."""
    import pyspark  # noqa: F401  # whole, before rules import its parts: the thread that starts Spark imports it too, and half of it would be seen

    from analyzers import rules as house
    from analyzers.vocabulary.rule import Rule

    found: dict[str, Rule] = {}
    for module_info in pkgutil.iter_modules(house.__path__):
        module = importlib.import_module(f"{house.__name__}.{module_info.name}")
        for value in vars(module).values():
            if isinstance(value, Rule) and value.judge.__module__ == module.__name__:
                if value.code in found or not module_info.name.startswith(value.code.lower() + "_"):
                    raise ValueError(f"{module_info.name}: {value.code} is taken, or the file is not named after it")
                found[value.code] = value
    return tuple(found[code] for code in sorted(found))
