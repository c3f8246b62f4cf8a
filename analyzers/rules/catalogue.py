"""Finds the rules: a module of this package that is named after a code is a rule; nothing is registered by hand."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from typing import TYPE_CHECKING

from analyzers.report.codes import is_own

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule


FAMILIES = {
    "BRK1": "brokers that cannot be reached", "BRK2": "health of the Kafka cluster, ZooKeeper",
    "CFG1": "settings",
    "CKP1": "a barrier that is not acknowledged", "CKP2": "how a series of checkpoints goes", "CKP3": "checkpoint storage and restore",
    "LAG1": "whether the lag is real, whether the group keeps up", "LAG2": "skew and ownership",
    "LAG3": "offset resets, retention, positions gone", "LAG4": "offset commits", "LAG5": "no progress: watermarks, overload",
    "PRE1": "what a planned change would break",
    "RST0": "a fault that no rule knows", "RST1": "restart loops", "RST2": "poison records", "RST3": "JobManager lost",
    "RST4": "TaskManager, executor or container lost", "RST5": "other services that the job calls",
    "SPK1": "Structured Streaming", "SPL1": "splits read twice", "SPL2": "splits lost or not assigned",
}  # fmt: skip
"""What the rules with the same first four characters are about; the 900s of each are about evidence that ends too early."""
OPEN_ENDS = "where the evidence ends before it shows whether all is well"


def family(code: str) -> str:
    """What the rules like `code` are about."""
    if is_own(code):
        return "rules of your own"
    return OPEN_ENDS if code[3:4] == "9" else FAMILIES[code[:4]]


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
