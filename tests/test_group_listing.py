"""What stands below a group's lag on request: members, quotas, and the offsets at a time."""

from __future__ import annotations

from datetime import datetime, timezone

from analyzers.tables import CLIENT_QUOTAS, COMMITTED_OFFSETS, MEMBERS, OFFSETS_AT
from cli.renderers.group_listing import members_of, offsets_at, quotas_of

AT = datetime(2026, 11, 23, 9, 30, tzinfo=timezone.utc)
GROUP = {"assignor": "uniform", "epoch": 7, "assignment_epoch": 6}


def test_members_with_their_partitions_in_ranges_and_the_epoch_that_they_are_behind() -> None:
    members = [
        MEMBERS.row(
            {
                "group": "g",
                "client": "a-1",
                "host": "10.0.0.1",
                "epoch": 6,
                "assigned": ["o-rders-0", "o-rders-1", "o-rders-2", "o-rders-7"],
            }
        ),
        MEMBERS.row({"group": "g", "client": "a-2", "host": "10.0.0.2", "instance": "pod-2", "assigned": []}),
        MEMBERS.row({"group": "other", "client": "x", "host": "10.0.0.3", "assigned": []}),
    ]
    assert members_of("g", GROUP, {"members": members}) == [
        "  members (assignor uniform, epoch 7, assignment of epoch 6):",
        "    a-1 on 10.0.0.1, epoch 6: o-rders 0-2,7",
        "    a-2 on 10.0.0.2, instance pod-2: no partition",
    ]


def test_many_members_are_counted() -> None:
    members = [MEMBERS.row({"group": "g", "client": f"c{n}", "host": "h", "assigned": []}) for n in range(53)]
    lines = members_of("g", {}, {"members": members})
    assert (len(lines), lines[-1]) == (52, "    … 3 members more; -o json has all")


def test_quotas_with_the_doubt_about_the_user() -> None:
    rows = [
        CLIENT_QUOTAS.row({"client_id": "a-1", "key": "consumer_byte_rate", "value": 1048576.0, "groups": ["g"]}),
        CLIENT_QUOTAS.row({"user": "<default>", "key": "request_percentage", "value": 50.0, "groups": ["g", "h"]}),
    ]
    assert quotas_of("g", {"client_quotas": rows}) == [
        "    quota: consumer_byte_rate 1,048,576 bytes/s per broker for client id a-1",
        "    quota: request_percentage 50 % per broker for user <default>, if a member is that user",
    ]
    assert len(quotas_of("h", {"client_quotas": rows})) == 1


def test_offsets_at_a_time_beside_the_commits() -> None:
    place = {"topic": "orders", "at": AT}
    rows = [
        OFFSETS_AT.row({**place, "partition": 0, "offset": 50, "record_at": AT}),
        OFFSETS_AT.row({**place, "partition": 1, "offset": 90}),
        OFFSETS_AT.row({**place, "partition": 2, "error": "the partition has no leader"}),
    ]
    committed = [COMMITTED_OFFSETS.row({"group": "g", "topic": "orders", "partition": n, "committed": 40 + n * 50}) for n in (0, 1)]
    assert offsets_at({"offsets_at": rows, "committed_offsets": committed}) == [
        "",
        "Offsets at 2026-11-23 09:30:00 UTC, by the records' time stamps:",
        "  orders-0: 50 (record of 2026-11-23 09:30:00); g is 10 before it",
        "  orders-1: 90 (the log end, every record is older); g is there",
        "  orders-2: unknown: the partition has no leader",
    ]
    assert offsets_at({}) == []
