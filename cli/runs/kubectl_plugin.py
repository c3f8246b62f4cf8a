"""``kubectl diag``: what is typed as kubectl takes it, as the options of diag that say the same.

kubectl runs the program ``kubectl-diag`` with all that stands behind ``diag``. Source: kubectl's plugins (KEP-579).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from cli.shell.exits import UsageError

COMMANDS = ("triage", "collect")
"""Those that can ask kubectl; all others pass through as they are."""
_KINDS = (
    "pods?|po|deployments?|deploy|statefulsets?|sts|daemonsets?|ds|replicasets?|rs|jobs?|services?|svc|replicationcontrollers?|rc"
    "|flinkdeployments?|flinkdep|sparkapplications?|sparkapp|kafkas?|k|kafkaconnects?|kc|kafkamirrormaker2s?|kmm2"
)
_OBJECT = re.compile(rf"(?:{_KINDS})(?:\.[a-z0-9.-]+)?/[a-z0-9][a-z0-9.-]*", re.IGNORECASE)
_OPTIONS = {"-n": "--kube", "--namespace": "--kube", "--context": "--kube-context", "--kubeconfig": "--kubeconfig"}


def translated(given: Sequence[str]) -> list[str]:
    """The arguments of diag for those of ``kubectl diag``. Sets KUBECONFIG where ``--kubeconfig`` names it. Raises `UsageError`."""
    command = next((word for word in given if not word.startswith("-")), None)
    if command not in COMMANDS:
        return list(given)
    rest: list[str] = []
    asked: dict[str, str] = {}
    words = iter(given)
    for word in words:
        option, equals, value = word.partition("=")
        if re.match(r"-n[^=]", word):  # -nshop
            option, equals, value = "-n", "=", word[2:]
        if option in _OPTIONS:
            value = value if equals else next(words, "")
            if not value:
                raise UsageError(f"{option} names nothing", f"Write {option} NAME.")
            asked[_OPTIONS[option]] = value
        elif _OBJECT.fullmatch(word) and not os.path.lexists(word):
            if "--kube-object" in asked:
                raise UsageError(f"{asked['--kube-object']} and {word}: one object at a time", "Give a namespace for all in it: -n NAME.")
            asked["--kube-object"] = word
        else:
            rest.append(word)
    if "--kubeconfig" in asked:
        os.environ["KUBECONFIG"] = asked.pop("--kubeconfig")
    if not asked.keys() & {"--kube", "--kube-object"}:
        return [*rest, *(word for pair in asked.items() for word in pair)]
    return [*rest, *(word for pair in asked.items() for word in pair), "--yes"]
