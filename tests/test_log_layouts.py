# ruff: noqa: E501 -- log lines are what they are
"""Headers of every layout in the field: level, logger, thread, message and time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from analyzers.logs.layouts.timestamps import Zone, infer_offset, parse, to_datetime, zone_from_option
from analyzers.logs.scan.captures import catalogue
from analyzers.logs.scan.kept import Rows
from analyzers.logs.scan.kernel import Scanner
from analyzers.logs.scan.origin import Origin
from analyzers.logs.signatures.signature import Signature
from analyzers.readers.log_scan import LogOptions, Plan, plan, scan, tables
from analyzers.readers.splits import LogFile

EVERYTHING = (Signature("marker", ("MARKER",), "", "", keep=(1000, 0)),)


def rows(text: str | bytes, **origin: Any) -> list[dict[str, Any]]:
    data = text.encode() if isinstance(text, str) else text
    made = Origin("a", 0, **origin)
    scanner = Scanner(made, catalogue(EVERYTHING))
    scanner.feed(data)
    return tables(Plan(LogOptions(), [LogFile("a", (), made, len(data))]), [scanner.finish()])["log_events"]


def iso(row: dict[str, Any]) -> str | None:
    return row["at"].strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] if row["at"] else None


@pytest.mark.parametrize(
    ("line", "at", "level", "logger", "thread"),
    [
        ("2019-05-17 15:43:08,068 INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator     - MARKER", "2019-05-17T15:43:08.068", "INFO", "org.apache.flink.runtime.checkpoint.CheckpointCoordinator", None),
        ("2024-12-03 02:18:06,996 WARN  org.apache.flink.runtime.checkpoint.CheckpointCoordinator    [] - MARKER", "2024-12-03T02:18:06.996", "WARN", "org.apache.flink.runtime.checkpoint.CheckpointCoordinator", None),
        ("2021-03-01 08:00:00.123 [flink-akka.actor.default-dispatcher-15] INFO  o.a.f.runtime.checkpoint.CheckpointCoordinator  - MARKER", "2021-03-01T08:00:00.123", "INFO", "o.a.f.runtime.checkpoint.CheckpointCoordinator", "flink-akka.actor.default-dispatcher-15"),
        ("2021-03-01 08:00:00.123 [Source: a[1] -> (b, c) (1/2)#0] ERROR o.a.f.Task akka.tcp://x - MARKER", "2021-03-01T08:00:00.123", "ERROR", "o.a.f.Task", "Source: a[1] -> (b, c) (1/2)#0"),
        ("2023-10-07 10:02:52.975 INFO  org.apache.flink.runtime.executiongraph.ExecutionGraph - Source: MARKER", "2023-10-07T10:02:52.975", "INFO", "org.apache.flink.runtime.executiongraph.ExecutionGraph", None),
        ("[2023-10-13 13:42:18] 7673 [main] TRACE o.a.kafka.clients.NetworkClient - [Consumer MARKER", "2023-10-13T13:42:18.000", "TRACE", "o.a.kafka.clients.NetworkClient", "main"),
        ("4890 [Checkpoint Timer] INFO  o.a.f.runtime.CheckpointCoordinator [] - MARKER", None, "INFO", "o.a.f.runtime.CheckpointCoordinator", "Checkpoint Timer"),
        ("23/10/07 10:02:52 ERROR MicroBatchExecution: MARKER", "2023-10-07T10:02:52.000", "ERROR", "MicroBatchExecution", None),
        ("24/10/07 10:02:52.123 stream execution thread for q [id = 1, runId = 2] WARN KafkaOffsetReaderAdmin: MARKER", "2024-10-07T10:02:52.123", "WARN", "KafkaOffsetReaderAdmin", "stream execution thread for q [id = 1, runId = 2]"),
        ("2024-01-02 03:04:05,006 o.a.f.k.o.c.FlinkDeploymentController [INFO ][ns/name] MARKER", "2024-01-02T03:04:05.006", "INFO", "o.a.f.k.o.c.FlinkDeploymentController", None),
        ("[INFO] [2022-07-31 21:18:22][org.apache.flink.runtime.executiongraph.ExecutionGraph]MARKER", "2022-07-31T21:18:22.000", "INFO", "org.apache.flink.runtime.executiongraph.ExecutionGraph", None),
        ("WARN  2022-07-31 21:18:22,123 [main] o.a.k.c.NetworkClient - MARKER", "2022-07-31T21:18:22.123", "WARN", "o.a.k.c.NetworkClient", "main"),
        ("INFO 2022-07-31T21:18:22.123Z shop.example.com MARKER", "2022-07-31T21:18:22.123", "INFO", None, None),
        ("2024-11-14 17:15:50,553 Source: orders, a name as long as SQL makes them -> Calc: and longer than eighty (1/1)#1 WARN  org.apache.flink.runtime.taskmanager.Task     [] - MARKER", "2024-11-14T17:15:50.553", "WARN", "org.apache.flink.runtime.taskmanager.Task", "Source: orders, a name as long as SQL makes them -> Calc: and longer than eighty (1/1)#1"),
        ("2024-02-12 09:22:40.141 [] Committer -> Sink: lake (1/1)#15 WARN  flink apache.flink.runtime.taskmanager.Task 1091 MARKER", "2024-02-12T09:22:40.141", "WARN", "org.apache.flink.runtime.taskmanager.Task", "Committer -> Sink: lake (1/1)#15"),
        ("2024-02-12 09:22:40,141 WARN  [] - MARKER", "2024-02-12T09:22:40.141", "WARN", None, None),
        ("Jul 24, 2024 @ 04:57:32.562\tMARKER\t90\ttask_manager", "2024-07-24T04:57:32.562", None, None, None),
        ("[2026-11-21 09:32:59,991] INFO MARKER of a thing (kafka.server.KafkaServer)", "2026-11-21T09:32:59.991", "INFO", "kafka.server.KafkaServer", None),
        ("[2020-01-01 10:00:00,123] WARN [Worker clientId=a] MARKER (org.apache.kafka.connect.runtime.Worker:123)", "2020-01-01T10:00:00.123", "WARN", "org.apache.kafka.connect.runtime.Worker", None),
        ("2026-09-23 13:29:02.985 ERROR [meter-StreamThread-1] o.a.k.s.p.i.InternalTopicManager : MARKER", "2026-09-23T13:29:02.985", "ERROR", "o.a.k.s.p.i.InternalTopicManager", "meter-StreamThread-1"),
        ("2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop.mapreduce.v2.app.MRAppMaster: MARKER", "2015-10-18T18:01:47.978", "INFO", "org.apache.hadoop.mapreduce.v2.app.MRAppMaster", "main"),
        ("2015-07-29 17:41:44,747 - INFO  [QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181:FastLeaderElection@774] - MARKER", "2015-07-29T17:41:44.747", "INFO", "FastLeaderElection", "QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181"),
        ("2024-12-03 02:18:06,996 INFO  [org.apache.kafka.clients.NetworkClient] (vert.x-kafka-consumer-thread-0) [Consumer clientId=a] MARKER", "2024-12-03T02:18:06.996", "INFO", "org.apache.kafka.clients.NetworkClient", "vert.x-kafka-consumer-thread-0"),
        ("[2024-12-03 02:18:06.996] [main] [INFO] [o.a.k.c.NetworkClient] - MARKER", "2024-12-03T02:18:06.996", "INFO", "o.a.k.c.NetworkClient", "main"),
        ("[02:18:06.996] [INFO] [org.apache.kafka.clients.NetworkClient] - [AdminClient clientId=a] MARKER", None, "INFO", "org.apache.kafka.clients.NetworkClient", None),
        ("2024-12-03 02:18:06.996 +02:00 [ERR] MARKER", "2024-12-03T00:18:06.996", "ERROR", None, None),
        ("[02:18:06 WRN] MARKER", None, "WARN", None, None),
        ("02:18:06.996 [error] MARKER", None, "ERROR", None, None),
        ("2024-12-03T02:18:06.996Z warn: MARKER", "2024-12-03T02:18:06.996", "WARN", None, None),
        ("2024-12-03T02:18:06.996Z error while MARKER", "2024-12-03T02:18:06.996", None, None, None),
        ("03-12-2024 02:18:06.996 [main] ERROR o.a.k.C - MARKER", "2024-12-03T02:18:06.996", "ERROR", "o.a.k.C", "main"),
        ("2024-12-03 02:18:06.996  WARN [svc,a1,b2] 1 --- [ntainer#0-0-C-1] o.s.k.l.C : MARKER", "2024-12-03T02:18:06.996", "WARN", "o.s.k.l.C", "ntainer#0-0-C-1"),
        ("fail: Acme.Worker[0]\n      MARKER", None, "ERROR", "Acme.Worker", None),
        ("2024-12-03T02:18:06.996Z ERROR a.b.C [main] - MARKER", "2024-12-03T02:18:06.996", "ERROR", "a.b.C", "main"),
        ("2024-12-03T02:18:06.996+02:00 ERROR a.b.C - MARKER", "2024-12-03T00:18:06.996", "ERROR", "a.b.C", None),
        ("2024-12-03T02:18:06,996+0100 [main] INFO a.b.C - MARKER", "2024-12-03T01:18:06.996", "INFO", "a.b.C", "main"),
        ("2024-12-03 02:18:06.996  WARN 1 --- [           main] c.a.MyApp                                : MARKER", "2024-12-03T02:18:06.996", "WARN", "c.a.MyApp", "main"),
        ("2024-12-03 02:18:06,996 - my.module - ERROR - MARKER", "2024-12-03T02:18:06.996", "ERROR", "my.module", None),
        ("[2020-01-01T10:00:00,123][WARN ][o.e.n.Node               ] [node] MARKER", "2020-01-01T10:00:00.123", "WARN", "o.e.n.Node", None),
        ("[2026-11-21T09:32:59.991+0000][1.234s][info][gc          ] GC(0) MARKER", "2026-11-21T09:32:59.991", "INFO", "gc", None),
        ("[2026-11-21T09:32:59.991+0000][warning][gc,alloc] MARKER", "2026-11-21T09:32:59.991", "WARN", "gc,alloc", None),
        ("[0.123s][info][gc] MARKER", None, "INFO", "gc", None),
        ("2026-11-21T09:32:59.991+0000: 1.234: [GC (Allocation Failure) MARKER", "2026-11-21T09:32:59.991", None, None, None),
        ("12.345: [Full GC (Ergonomics) MARKER", None, None, None, None),
        ("%3|1700000000.123|FAIL|rdkafka#consumer-1| [thrd:kafka:9092/1]: MARKER", "2023-11-14T22:13:20.123", "ERROR", "FAIL", "rdkafka#consumer-1"),
        ("E1121 09:32:59.991234   12345 controller.go:114] MARKER", "2026-11-21T09:32:59.991", "ERROR", "controller.go:114", "12345"),
        ("21-Nov-2026 09:32:59.991 SEVERE [main] org.apache.catalina.core.StandardService.init MARKER", "2026-11-21T09:32:59.991", "ERROR", "org.apache.catalina.core.StandardService.init", "main"),
        ("[Sun Dec 04 04:47:44 2005] [error] MARKER", "2005-12-04T04:47:44.000", "ERROR", None, None),
        ("1700000000123 [main] ERROR a.b.C - MARKER", "2023-11-14T22:13:20.123", "ERROR", "a.b.C", "main"),
        ("E, [2026-11-20T09:00:00.118000 #17] ERROR -- consumer: MARKER", "2026-11-20T09:00:00.118", "ERROR", "consumer", None),
        ("[20-Nov-2026 09:00:00 UTC] PHP Warning:  MARKER", "2026-11-20T09:00:00.000", "WARN", None, None),
        ("Nov 21, 2026 9:32:59 PM org.apache.x.Y start\nWARNING: MARKER", "2026-11-21T21:32:59.000", "WARN", "org.apache.x.Y", "start"),
        ("2024-12-03 02:18:06 MARKER without any level", "2024-12-03T02:18:06.000", None, None, None),
        ("ERROR org.apache.flink.X [] - MARKER", None, "ERROR", "org.apache.flink.X", None),
        ("WARNING:kafka.coordinator:MARKER", None, "WARN", "kafka.coordinator", None),
        ("INFO  SparkContext: MARKER", None, "INFO", "SparkContext", None),
        ("MARKER and nothing else", None, None, None, None),
    ],
)  # fmt: skip
def test_layout(line: str, at: str | None, level: str | None, logger: str | None, thread: str | None) -> None:
    (row,) = rows(line + "\n", year=2026)
    assert (iso(row), row["level"], row["logger"], row["thread"]) == (at, level, logger, thread)


def test_job_id_of_the_mdc_is_the_job() -> None:
    (row,) = rows("2024-12-03 02:18:06,996 [" + "ab" * 16 + "] INFO o.a.f.X - MARKER\n")
    assert row["job"] == "ab" * 16


# ---- times -------------------------------------------------------------------------------------------------------


def test_leading_blank_of_the_banner_message_is_kept() -> None:
    scanner = Scanner(
        Origin("a", 0),
        catalogue((Signature("banner", (" (Version: ",), "", "", r"^ Starting (?P<what>\S+) \(Version: (?P<version>[^,]+),"),)),
    )
    scanner.feed(
        b"2024-12-03 02:18:06,996 INFO  org.apache.flink.runtime.taskexecutor.TaskManagerRunner      [] -  Starting TaskManager (Version: 1.20.0, Scala: 2.12, Rev:b1, Date:x)\n"
    )
    part = scanner.finish()
    assert part.version == "1.20.0"
    assert Rows().row(part, *part.known[0][2][0])["detail"] == {"what": "TaskManager", "version": "1.20.0"}


def test_daylight_saving_is_deterministic() -> None:
    zone = zone_from_option("Europe/Berlin")
    twice, skipped = parse("2024-10-27 02:30:00"), parse("2024-03-31 02:30:00")
    assert twice is not None
    assert skipped is not None
    assert to_datetime(zone.utc(twice.ms)).isoformat() == "2024-10-27T00:30:00+00:00"  # type: ignore[union-attr]  # the earlier of the two
    assert to_datetime(zone.utc(skipped.ms)).isoformat() == "2024-03-31T01:30:00+00:00"  # type: ignore[union-attr]  # a time that no clock showed
    with pytest.raises(ValueError, match="no time zone"):
        zone_from_option("Mars/Olympus")
    assert zone_from_option("+05:30") == Zone("option", 19_800_000)


def test_the_day_follows_the_clock_over_midnight() -> None:
    text = "2024-02-28 23:59:58,000 INFO a.B - MARKER\n" + "".join(
        f"{clock},000 INFO a.B - MARKER\n"
        for clock in ("23:59:59", "00:00:01", "23:59:59.5"[:8], "00:00:02", "12:00:00", "23:00:00", "01:00:00")
    )
    assert [iso(r) for r in sorted(rows(text), key=lambda r: r["line"])] == [
        "2024-02-28T23:59:58.000", "2024-02-28T23:59:59.000", "2024-02-29T00:00:01.000", "2024-02-28T23:59:59.000", "2024-02-29T00:00:02.000",
        "2024-02-29T12:00:00.000", "2024-02-29T23:00:00.000", "2024-03-01T01:00:00.000",
    ]  # fmt: skip


def test_without_any_date_there_is_an_order_and_no_time(tmp_path: Path) -> None:
    text = "".join(f"{clock},000 INFO a.B - MARKER {clock}\n" for clock in ("23:59:58", "00:00:01", "12:00:00", "00:30:00"))
    (tmp_path / "app.log").write_text(text)
    (tmp_path / "other.log").write_text("15:00:00,000 INFO a.B - another\n")  # they do not end together
    for name in ("app.log", "other.log"):
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))  # 22:13:20 UTC: no last line was written then
    found = scan(plan([str(tmp_path)]), None, EVERYTHING)
    assert [(r["at"], r["seq"], r["zone"]) for r in found["log_events"]] == [
        (None, 0, "unknown"),
        (None, 1, "unknown"),
        (None, 2, "unknown"),
        (None, 3, "unknown"),
    ]
    assert [r["text"][-8:] for r in found["log_events"]] == ["23:59:58", "00:00:01", "12:00:00", "00:30:00"]


def test_a_date_in_the_name_dates_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "app-2024-02-28.log").write_text("23:59:58,000 INFO a.B - MARKER\n00:00:01,000 INFO a.B - MARKER\n")
    found = scan(plan([str(tmp_path / "app-2024-02-28.log")], LogOptions(log_timezone="+01:00")), None, EVERYTHING)
    assert [iso(r) for r in found["log_events"]] == ["2024-02-28T22:59:58.000", "2024-02-28T23:00:01.000"]
    assert found["log_events"][0]["zone"] == "option"


def test_december_lines_of_a_file_written_in_january() -> None:
    newest = parse("2025-01-02 00:00:00")
    assert newest is not None
    lines = "I1231 23:59:59.000001 1 a.go:1] MARKER\nI0101 00:00:01.000001 1 a.go:1] MARKER\n"
    assert [iso(r) for r in rows(lines, year=2025, newest_ms=newest.ms)] == ["2024-12-31T23:59:59.000", "2025-01-01T00:00:01.000"]


def test_a_line_with_an_epoch_betrays_the_zone_of_its_neighbours(tmp_path: Path) -> None:
    job = "ab" * 16
    (tmp_path / "jobmanager.log").write_text(
        f"2024-12-03 11:00:00,100 INFO o.a.f.CheckpointCoordinator - Triggering checkpoint 23 (type=CHECKPOINT) @ 1733203800000 for job {job}.\n2024-12-03 11:00:01,000 WARN x.Y - MARKER\n"
    )
    (tmp_path / "taskmanager.log").write_text("2024-12-03 11:00:02,000 WARN x.Y - MARKER\n")
    planned = plan([str(tmp_path)])
    found = scan(planned, None, EVERYTHING)
    assert [(iso(r), r["zone"]) for r in found["log_events"]] == [
        ("2024-12-03T05:30:01.000", "inferred"),
        ("2024-12-03T05:30:02.000", "inferred"),
    ]
    assert planned.notes == [
        "1 log file names no time zone; taken as UTC+05:30, which a neighbouring log proves (--log-timezone overrides)"
    ]
    assert infer_offset([(10, 10), (3_600_000, 0), (3_600_050, 0)]) is None, "they do not agree"
    assert infer_offset([(10, 10)] + 9 * [(3_600_000, 0)]) == 3_600_000
    assert infer_offset([(1_800_000, 0)]) is None, "no clock on earth is half an hour ahead of UTC"
    assert infer_offset([(400_000, 0)]) is None, "6 minutes are no zone but a late line"


def test_since_and_until_are_moments(tmp_path: Path) -> None:
    from datetime import datetime, timezone

    (tmp_path / "a.log").write_text("".join(f"2024-12-03 11:00:0{n},000 WARN x.Y - MARKER\n" for n in range(5)))
    options = LogOptions(
        since=datetime(2024, 12, 3, 11, 0, 1, tzinfo=timezone.utc), until=datetime(2024, 12, 3, 11, 0, 3, tzinfo=timezone.utc)
    )
    assert [r["line"] for r in scan(plan([str(tmp_path)], options), None, EVERYTHING)["log_events"]] == [2, 3]


# ---- events without headers ---------------------------------------------------------------------------------------


def test_a_fragment_that_begins_within_a_trace_is_one_event() -> None:
    text = "\tat com.acme.A.b(A.java:1)\n\t... 3 more\nCaused by: java.io.IOException: MARKER\n\tat com.acme.C.d(C.java:2)\n"
    (row,) = rows(text)
    assert (row["root_exception"], row["root_message"], row["user_frame"]) == ("java.io.IOException", "MARKER", "com.acme.C.d")


def test_bare_lines_begin_events_and_traces_belong_to_them() -> None:
    text = 'INFO one MARKER\nERROR two MARKER\njava.lang.IllegalStateException: x\n\tat a.b.C.d(C.java:1)\nCaused by: java.io.IOException: y\n\nthree MARKER\n  indented\nTraceback (most recent call last):\n  File "job.py", line 3, in main\nValueError: MARKER\nfour MARKER\n'
    found = rows(text)
    assert [(r["line"], r["level"], r["root_exception"]) for r in found] == [
        (1, "INFO", None),
        (2, "ERROR", "java.io.IOException"),
        (7, None, None),
        (9, None, "ValueError"),
        (12, None, None),
    ]


def test_lines_above_the_first_header_are_counted_as_unparsed(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("Starting up\nmore\n2024-12-03 11:00:00,000 WARN x.Y - MARKER\n")
    (row,) = scan(plan([str(tmp_path / "a.log")]), None, EVERYTHING)["log_files"]
    assert (row["lines"], row["unparsed_lines"], row["events"]) == (3, 2, 3)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("11.03.2024 10:00:00,123 ERROR org.acme.A - MARKER", "2024-03-11T10:00:00.123"),
        ("[11.03.2024 10:00:00] ERROR MARKER (org.acme.A)", "2024-03-11T10:00:00.000"),
        ("1. März 2024 10:00:00,123 ERROR org.acme.A - MARKER", "2024-03-01T10:00:00.123"),
        ("11 mars 2024 10:00:00 ERROR org.acme.A - MARKER", "2024-03-11T10:00:00.000"),
        ("11 févr. 2024 10:00:00,5 ERROR org.acme.A - MARKER", "2024-02-11T10:00:00.500"),
        ("1 août 2024 à 10:00:00 ERROR org.acme.A - MARKER", "2024-08-01T10:00:00.000"),
        ("31 Dez 2024 10:00:00 ERROR org.acme.A - MARKER", "2024-12-31T10:00:00.000"),
    ],
)
def test_german_and_french_dates(line: str, at: str) -> None:
    (row,) = rows(line + "\n\tat a.B.c(B.java:1)\n")
    assert (iso(row), row["level"], row["logger"]) == (at, "ERROR", "org.acme.A")
    assert row["text"].endswith("\tat a.B.c(B.java:1)")


@pytest.mark.parametrize(
    "line", ["11.13.2024 10:00:00 ERROR MARKER", "11 Mond 2024 10:00:00 ERROR MARKER", "10.12.2024 is a version MARKER"]
)
def test_what_only_resembles_such_a_date_begins_no_event(line: str) -> None:
    (row,) = rows("2024-03-01 09:00:00,000 ERROR A - x\n" + line + "\n")
    assert row["line"] == 1


@pytest.mark.parametrize("bar", ["[Stage 0:=>  (3 + 1) / 4]", "\r[Stage 0:>   (0 + 1) / 1]\r[Stage 12:=====>   (7 + 8) / 15]\r        \r"])
def test_a_progress_bar_glued_before_a_header_is_no_part_of_it(bar: str) -> None:
    quiet, (loud, *more) = (
        rows("26/11/21 09:59:00 ERROR A: MARKER\n"),
        rows(f"{bar}26/11/21 10:00:00 WARN B: MARKER\n{bar}26/11/21 10:00:01 ERROR C: x\n"),
    )
    assert len(quiet) == 1
    assert (iso(loud), loud["logger"], loud["line"]) == ("2026-11-21T10:00:00.000", "B", 1)
    assert [(iso(row), row["line"]) for row in more] == [("2026-11-21T10:00:01.000", 2)]


@pytest.mark.parametrize("window", [1, 7, 1 << 20])
def test_lines_may_end_in_a_bare_carriage_return(tmp_path: Path, window: int) -> None:
    lines = [
        "2024-03-01 09:00:00,000 ERROR A - MARKER",
        "java.lang.IllegalStateException: x",
        "\tat a.B.c(B.java:1)",
        "2024-03-01 09:00:01,000 ERROR B - MARKER",
    ]
    found = []
    for name, end in (("cr", "\r"), ("lf", "\n"), ("crlf", "\r\n")):
        path = tmp_path / name / "a.log"
        path.parent.mkdir()
        path.write_bytes((end.join(lines) + end).encode())
        read = scan(plan([str(path)], LogOptions(window=window)), None, EVERYTHING)
        found.append([(row["line"], row["at"], row["logger"], row["text"]) for row in read["log_events"]])
    assert found[0] == found[1] == found[2]
    assert [row[0] for row in found[0]] == [1, 4]


def test_what_pasting_cuts_and_breaks_is_mended(tmp_path: Path) -> None:
    graph = "INFO  org.apache.flink.runtime.executiongraph.ExecutionGraph"
    broken = f"26-01-25 22:57:35,731 {graph}       \n\t[] - Job a MARKER one\n2026-01-25 22:57:36,000 {graph}    \n[] - Job a MARKER two\n"
    (tmp_path / "paste.log").write_text(broken)
    found = scan(plan([str(tmp_path / "paste.log")]), None, EVERYTHING)["log_events"]
    assert [(iso(row), row["line"]) for row in found] == [("2026-01-25T22:57:35.731", 1), ("2026-01-25T22:57:36.000", 3)]


def test_equally_long_first_lines_of_java_util_logging_are_no_hard_wrap(tmp_path: Path) -> None:
    first = "2022-07-21 19:20:34.046 ERROR System.err - Jul 21, 2022 7:20:34 PM com.github.shyiko.mysql.binlog.BinaryLogClient$5 run"
    (tmp_path / "paste.log").write_text(f"{first}\nWARNING: MARKER lost\n\n" * 4)
    found = scan(plan([str(tmp_path / "paste.log")]), None, EVERYTHING)["log_events"]
    assert all("run\nWARNING: MARKER" in row["text"] for row in found)
    assert len(found) == 4


@pytest.mark.parametrize(
    "stamp", ["2024-03-25 01:42:28,390 [INFO] ", "2024-03-25 01:42:28,390 ERROR System.err [] - \t", "2024/3/25 上午1:42:28\t"]
)
def test_a_trace_that_was_printed_line_by_line_is_one_event(stamp: str, tmp_path: Path) -> None:
    trace = [
        "at com.acme.Main.main(Main.java:20)",
        "at java.lang.Thread.run(Thread.java:1)",
        "... 11 more",
        "Caused by: java.io.IOException: gone",
        "at com.acme.In.read(In.java:2)",
    ]
    lines = [
        "2024-03-25 01:42:28,389 [INFO] com.acme.StartException: MARKER",
        *(stamp + line for line in trace),
        "2024-03-25 01:42:29,000 [INFO] MARKER next",
    ]
    (tmp_path / "paste.log").write_text("\n".join(lines) + "\n")
    found = scan(plan([str(tmp_path / "paste.log")]), None, EVERYTHING)["log_events"]
    assert [(row["line"], row["root_exception"], row["user_frame"]) for row in found] == [
        (1, "java.io.IOException", "com.acme.In.read"),
        (7, None, None),
    ]


def test_a_message_that_quotes_a_frame_keeps_its_header(tmp_path: Path) -> None:
    line = "2024-03-25 01:42:28,390 WARN  org.acme.Pool [] - no connection given back at com.acme.Pool.get(Pool.java:3) MARKER"
    (tmp_path / "app.log").write_text(f"{line}\n" * 5)
    assert len(scan(plan([str(tmp_path / "app.log")]), None, EVERYTHING)["log_events"]) == 5
