"""The lives of a job on its JobManager, from lines as rows of ``log_events``."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from analyzers.derived.failures.job_lives import job_lives_of, series, started
from analyzers.tables import LOG_EVENTS, SPLIT_CLAIMS, Row

OLD, NEW = "a" * 32, "b" * 32
START = datetime(2026, 11, 21, 9, 0, tzinfo=timezone.utc)


def line(second: int, signature: str, job: str | None = None, *, file: str = "jobmanager.log", **more: Any) -> Row:
    at = START + timedelta(seconds=second)
    return LOG_EVENTS.row({"scope": "", "at": at, "seq": second, "file": file, "line": second, "signature": signature, "job": job} | more)


def banner(second: int, *, file: str = "jobmanager.log") -> Row:
    return line(second, "flink-banner", detail={"component": "StandaloneSessionClusterEntrypoint"}, file=file)


def begun(second: int, job: str, **more: Any) -> Row:
    return line(second, "job-initializing", job, detail={"job_name": "orders"}, **more)


def completed(second: int, job: str, checkpoint: int) -> Row:
    return line(second, "checkpoint-completed", job, checkpoint=checkpoint)


def test_a_life_ends_where_the_next_of_the_same_name_begins() -> None:
    lines = [banner(0), begun(1, OLD), completed(5, OLD, 7), banner(60), begun(61, NEW), line(62, "no-checkpoint-restored")]
    first, second = job_lives_of(lines, [])
    assert (first["job"], first["last_completed"], first["nothing_found"], first["before_job"]) == (OLD, 7, False, None)
    assert (second["job"], second["before_job"], second["before_completed"], second["nothing_found"]) == (NEW, OLD, 7, True)
    assert (second["jobmanager_starts"], second["replaces"], second["before_over"]) == (1, True, False)
    assert (second["begins"], second["ends"], second["began_at"]) == (61, 62, START + timedelta(seconds=61))


def test_one_job_id_can_have_two_lives() -> None:
    lives = job_lives_of([begun(1, OLD), completed(5, OLD, 7), banner(60), begun(61, OLD), line(62, "job-restored", OLD)], [])
    assert [(life["begins"], life["restored"]) for life in lives] == [(1, False), (61, True)]


def test_created_begins_a_life_only_where_the_jobmaster_s_start_is_missing() -> None:
    created = {"from_state": "CREATED", "to_state": "RUNNING", "detail": {"job_name": "orders"}}
    assert len(job_lives_of([begun(1, OLD), line(2, "job-state", OLD, **created)], [])) == 1
    (life,) = job_lives_of([line(2, "job-state", OLD, **created)], [])
    assert (life["begins"], life["running_at"]) == (2, START + timedelta(seconds=2))


def test_lines_before_the_log_begins_are_a_life_without_a_beginning() -> None:
    running = line(3, "job-state", OLD, from_state="RESTARTING", to_state="RUNNING", detail={"job_name": "orders"})
    (life,) = job_lives_of([running], [])
    assert (life["begins"], life["began_at"], life["running_at"]) == (None, None, START + timedelta(seconds=3))


def test_a_cancelled_life_is_over() -> None:
    (life,) = job_lives_of([begun(1, OLD), line(9, "job-state", OLD, from_state="CANCELLING", to_state="CANCELED")], [])
    assert (life["over"], life["ended_at"]) == (True, START + timedelta(seconds=9))


def test_a_process_that_writes_on_was_not_replaced() -> None:
    other = {"file": "jobmanager-1.log"}
    late = [begun(1, OLD), completed(5, OLD, 7), completed(500, OLD, 99), banner(60, **other), begun(61, NEW, **other)]
    assert [life["replaces"] for life in job_lives_of(late, [])] == [None, False]
    ended = [begun(1, OLD), completed(5, OLD, 7), banner(60, **other), begun(61, NEW, **other)]
    assert [life["replaces"] for life in job_lives_of(ended, [])] == [None, True]
    much_later = [begun(1, OLD), completed(5, OLD, 7), banner(9000), begun(9001, NEW)]
    assert [life["replaces"] for life in job_lives_of(much_later, [])] == [None, False]


def test_a_jobmanager_that_recovers_none_forgets_the_job() -> None:
    def recovered(second: int, jobs: str) -> Row:
        return line(second, "jobs-recovered", detail={"recovered": jobs})

    before = [banner(0), recovered(1, "0"), begun(2, OLD), completed(5, OLD, 7), banner(60)]
    (life,) = job_lives_of([*before, recovered(61, "0")], [])
    assert (life["forgotten"], life["forgotten_from"]) == (61, START + timedelta(seconds=60))
    (life,) = job_lives_of([*before, recovered(61, "1")], [])
    assert life["forgotten"] is None
    lives = job_lives_of([*before, recovered(61, "0"), begun(70, NEW)], [])
    assert [each["forgotten"] for each in lives] == [None, None]


def test_where_a_life_begins_to_read_is_compared_with_the_one_before() -> None:
    def claim(second: int, job: str, partition: int, offset: int) -> Row:
        at = START + timedelta(seconds=second)
        return SPLIT_CLAIMS.row({"scope": "", "job": job, "at": at, "topic": "orders", "partition": partition, "offset": offset})

    claims = [claim(2, OLD, 0, 100), claim(2, OLD, 1, 100), claim(2, OLD, 2, 5), claim(62, NEW, 0, 140), claim(62, NEW, 1, 90)]
    _, life = job_lives_of([begun(1, OLD), completed(5, OLD, 7), banner(60), begun(61, NEW)], claims)
    assert (life["skipped_offsets"], life["skipped_partitions"]) == (40, 1)
    assert (life["repeated_offsets"], life["repeated_partitions"]) == (10, 1)


def test_lives_of_other_scopes_and_names_are_apart() -> None:
    other = begun(61, NEW) | {"scope": "elsewhere"}
    named = line(70, "job-initializing", "c" * 32, detail={"job_name": "payments"})
    assert [life["before_job"] for life in job_lives_of([begun(1, OLD), other, named], [])] == [None, None, None]


def test_logs_of_one_jobmanager_have_one_name() -> None:
    assert series(None, "logs/jobmanager.log.1.gz") == series(None, "logs/jobmanager.log")
    assert series("flink-jobmanager-6d5f7c9b8-x2bkq", "a.log") == series("flink-jobmanager-7c9b86d5f-q4zkl", "b.log")
    assert series(None, "cluster-1/flink.log") != series(None, "cluster-2/flink.log")
    assert series(None, "x/jobmanager-1/flink.log") == series(None, "x/jobmanager-2/flink.log")


def test_only_a_jobmanager_s_banner_starts_one() -> None:
    assert started(banner(0))
    assert not started(line(0, "flink-banner", detail={"component": "TaskManager"}))
