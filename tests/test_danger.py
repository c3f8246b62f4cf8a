"""A fix that can lose data says so: what is dangerous to do stands beside a Danger of its reason, or is forbidden."""

from __future__ import annotations

import re

import pytest

from analyzers import runbooks

_RISKS = re.compile(
    r"reset-offsets|\bresets? the offsets|to-latest|\bLATEST\b|=latest|from latest|\bskip\b|failOnDataLoss=false|ignore-parse-errors"
    r"|allowNonRestoredState|new checkpoint directory|without (?:the source's|old|its old) (?:state|positions)|WITHOUT this checkpoint"
    r"|\b[Dd]elet(?:e|es)\b|\b[Tt]runcate\b|\bdrop\b|\brm -|savepoint (?:-d|--dispose)|kafka-storage\.sh format"
    r"|\bunclean\b|\babort\b|same transactional ids|retention\.(?:ms|bytes)|tcp_syn_retries"
)
"""What loses data, or changes more than the job: offsets set, state or records left out, transactions aborted, files deleted, disks filled,
a setting of the whole host."""
_FORBIDDEN = re.compile(r"\b(?:never|not|no|nothing|instead of|cannot|without cleanSource)\b", re.IGNORECASE)
_HARMLESS = re.compile(
    r"unclean\.leader\.election\.enable=false|needs? .{0,40}(?:write, list and delete|DELETE)|write, list and delete access"
    r"|(?:deleted|[Ff]ind out (?:what|why|who)|[Ff]ind the other writer|what deletes|Take away the right|Let only the query delete)"
    r"|Compare the offsets|^Check whether|more than .{0,20}retention"
)
"""Where such a word is what is searched for, taken away or compared, and not what is to be done."""


def unwarned(page: str) -> list[tuple[str, str]]:
    """Of a page: reason and sentence of each dangerous step without a Danger."""
    parts = runbooks.sections(page)
    dangers = runbooks.texts_by_reason(parts.get("Danger", ""))
    return [
        (reason, sentence.strip())
        for reason, text in runbooks.texts_by_reason(parts["Fix"]).items()
        if reason not in dangers and "" not in dangers
        for sentence in re.split(r"(?<=[.;:?])\s|\n", text)
        if _RISKS.search(sentence) and not _FORBIDDEN.search(sentence) and not _HARMLESS.search(sentence)
    ]


def test_what_can_lose_data_is_said_beside_its_danger_or_forbidden() -> None:
    assert {code: found for code in runbooks.codes() if (found := unwarned(runbooks.page(code)))} == {}


@pytest.mark.parametrize(
    "step",
    [
        "Set the offsets: `kafka-consumer-groups.sh --reset-offsets --to-latest --execute`",
        "Delete the directory of the partition",
        "`kafka-transactions.sh abort --topic T`",
        "Truncate the log, or truncate it by age",
        "Start it with --allowNonRestoredState",
        "Let the deserializer skip the record",
        "`kafka-leader-election.sh --election-type unclean`",
        "Start once with failOnDataLoss=false",
        "Set auto.offset.reset=latest",
        "`flink savepoint --dispose PATH`",
        "Begin in a new checkpoint directory",
        "Raise retention.ms",
    ],
)
def test_a_dangerous_step_is_found_unless_its_own_reason_warns(step: str) -> None:
    page = f"## Fix\n1. Look.\n### gone\n1. {step}\n\n"
    assert [reason for reason, _ in unwarned(page)] == ["gone"]
    assert [reason for reason, _ in unwarned(f"{page}## Danger\n### other\nRecords are lost.\n")] == ["gone"]
    assert unwarned(f"{page}## Danger\n### gone\nRecords are lost.\n") == []
    assert unwarned("## Fix\n1. Do not delete files, never abort.\n") == []
