"""No name of somebody's systems leaves in a redacted bundle, in whatever form a text states it, and what is no name stays.

Of the first 79 forms 58 leaked before they were collected here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzers.bundle.redact import Redactor
from analyzers.tables import TABLES, Row

_MARK = re.compile("⟦(.*?)⟧")
FORMS = [
    line
    for line in Path(__file__).with_name("name_spellings.txt").read_text(encoding="utf-8").splitlines()
    if "⟦" in line and not line.startswith("#")
]


def redacted(*texts: str) -> list[str]:
    rows: list[Row] = [TABLES["log_events"].row({"scope": "", "signature": "x", "text": text}) for text in texts]
    redactor = Redactor(b"0123456789abcdef")
    redactor.learn({"log_events": rows})
    return [row["text"] for row in redactor.tables({"log_events": rows})["log_events"]]


def test_there_are_forms() -> None:
    assert len(FORMS) > 70


@pytest.mark.parametrize("form", FORMS)
def test_a_stated_name_leaves(form: str) -> None:
    (text,) = redacted(_MARK.sub(r"\1", form))
    assert [name for name in _MARK.findall(form) if name in text] == []


def test_a_name_that_one_text_states_leaves_all_others() -> None:
    first, second, third = redacted(
        "java.net.UnknownHostException: kfk-eu-7: Name or service not known",
        "kfk-eu-7 is gone",
        "Not authorized to access group: grp-a, on kfk-eu-7",
    )
    token = first.split(": ")[1]
    assert token.startswith("host-")
    assert second == f"{token} is gone"
    assert third.endswith(f", on {token}")
    assert "grp-a" not in third


def test_a_job_that_is_called_as_its_group_is_shown_as_a_job() -> None:
    """With the digits of the group: people see that they are called alike."""
    job = "0123456789abcdef" * 2
    text = f"Job orders-totals ({job}) switched from state RUNNING to FAILING. groupId=orders-totals, Restarting the job orders-totals"
    row = TABLES["log_events"].row({"scope": "", "signature": "x", "text": text, "detail": {"job_name": "orders-totals"}})
    jobs = [TABLES["jobs"].row({"scope": "", "job": job, "name": name}) for name in ("orders-totals", "billing")]
    redactor = Redactor(b"0123456789abcdef")
    redactor.learn({"log_events": [row], "jobs": jobs})
    made = redactor.tables({"log_events": [row], "jobs": jobs})
    group = redactor.token("group", "orders-totals")
    called = group.replace("group-", "job-")
    assert made["log_events"][0]["text"] == text.replace("groupId=orders-totals", f"groupId={group}").replace("orders-totals", called)
    assert made["log_events"][0]["detail"] == {"job_name": called}
    assert [each["name"] for each in made["jobs"]] == [called, redactor.token("w", "billing")]


@pytest.mark.parametrize(
    "text",
    [
        "java.net.UnknownHostException: null",
        "at com.acme.internal.OrderMapper.map(OrderMapper.java:33)",
        "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator - Revoke previously assigned partitions",
        "Checkpoint 23 of job f83dbb7e04f400ccfd1258d03b96d7ad expired before completing.",
        "topic = __consumer_offsets, partition = 3",
        "User:ANONYMOUS has no access",
        "Foo@1f2e3d4c is closed",
        "org.acme.Foo@1f2e.3d4c",
        "for user defined functions",
        "Permission denied: user=flink, access=WRITE",
        "Source: orders[1] -> Map (2/4)#3 switched from RUNNING to FAILED",
        "offset=12, leaderEpoch=4, partition=3, attempt 4",
        "The group coordinator is not available.",
        "partition 3 is offline",
        "the server has no API group 'apps.v1'",
        "No group coordinator for it is known",
        'The job vertex "Map" not found',
    ],
)
def test_what_is_no_name_stays(text: str) -> None:
    assert re.search(r"\b(?:host|ip|topic|group|client|user|dir|store|account)-[0-9a-f]{8}", redacted(text)[0]) is None
