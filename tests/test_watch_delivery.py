"""`diag watch` and its receivers: webhooks that hang, refuse or drop, commands, metrics, bundles, and the state file on the way."""

from __future__ import annotations

import http.server
import json
import os
import re
import socket
import stat
import sys
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzers.report.finding import Finding, Severity
from analyzers.report.report import Source
from analyzers.tables.evidence import Evidence
from analyzers.watching import outbox
from analyzers.watching.state import MOST_WAITING, Message, State
from analyzers.watching.steps import Policy
from cli.collectors.collector import Collector
from cli.options.shared import RunOptions, code_filters
from cli.renderers import alerts, openmetrics
from cli.runs import watch_bundles
from cli.runs.live_sources import NOTHING_LIVE
from cli.runs.watch import Look, Watch, Watched
from cli.runs.watch_output import parsed, recipients
from cli.runs.watch_receivers import Command, Delivery, Receiver, Screen, Undelivered, Webhook, webhooks
from cli.runs.watch_sources import PatientSources
from cli.runs.watch_state import StateFile
from cli.shell.exits import CannotLook, UsageError
from tests.command_line import diag, environment
from tests.report_samples import finding, report
from tests.test_watch_steps import BROKER, ILL, LOOP, UNREAD, WELL, Side, look, messages

SECRET = "T0AB/B0CD/xyzzyTOKEN"
_WALL = 1_795_867_387.0


class Clock:
    """A clock that only `sleep` moves; `wall` may be set to anything."""

    def __init__(self) -> None:
        self.now, self.wall_now, self.slept = 50.0, _WALL, [0.0]

    def __call__(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.wall_now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += max(seconds, 0.001)
        self.wall_now += seconds


class Taker:
    """A receiver that writes down what it gets; `refuses` so many deliveries."""

    name, beats, apart = "the taker", False, False

    def stop(self) -> None: ...

    def __init__(self, key: str = "taker", refuses: int = 0) -> None:
        self.key, self.refuses = key, refuses
        self.got: list[str] = []
        self.dropped: list[int] = []

    def deliver(self, delivery: Delivery) -> None:
        if self.refuses:
            self.refuses -= 1
            raise Undelivered("it answered 500")
        self.got += [f"{each.change} {each.finding['code']} {each.id}" for each in delivery.messages]
        self.dropped.append(delivery.dropped)

    @property
    def changes(self) -> list[str]:
        return [each.rpartition(" ")[0] for each in self.got]


def seen(side: Side) -> Look:
    return Look(report(verdicts=[], not_checked=[], defects=[]), side, Evidence({}))


def watch_of(
    sides: list[Side | BaseException], to: list[Receiver], state: Path | None = None, clock: Clock | None = None, **more: Any
) -> tuple[Watch, Clock, Any]:
    clock = clock or Clock()
    left = iter(sides)

    def looking() -> Look:
        each = next(left)
        if isinstance(each, BaseException):
            raise each
        return seen(each)

    streams = environment()
    watched = Watched(["logs"], NOTHING_LIVE, more.pop("options", RunOptions()), 60.0, Policy(), **more)
    file = StateFile(state, clock, clock.wall)
    made = Watch(
        watched, to, file, streams, "0.1.0", lambda: pytest.fail("no engine is needed"), clock, clock.wall, clock.sleep, lambda: 1.0
    )
    made.look = looking
    made.sleep = lambda seconds: (made._couriers.settle(), clock.sleep(seconds))[1]  # the clock moves when all have been delivered to
    return made, clock, streams


def said(streams: Any) -> str:
    return str(streams.stderr.getvalue())


# ---- restarts ---------------------------------------------------------------------------------------------------------------------


def test_a_restart_neither_repeats_nor_loses_a_message(tmp_path: Path) -> None:
    state, taker, clock = tmp_path / "s.json", Taker(), Clock()
    for side in [ILL, ILL, ILL, WELL, WELL, *[WELL] * 60]:
        watch, _, _ = watch_of([side], [taker], state, clock)
        watch.once()
        clock.sleep(60)
    assert taker.changes == ["opened BRK101", "healed BRK101"]
    assert len(set(taker.got)) == 2
    assert stat.S_IMODE(state.stat().st_mode) == 0o600


def test_what_was_not_delivered_is_delivered_by_the_next_one(tmp_path: Path) -> None:
    state, taker, clock = tmp_path / "s.json", Taker(refuses=2), Clock()
    for _ in range(4):
        watch, _, streams = watch_of([ILL], [taker], state, clock)
        watch.once()
        clock.sleep(60)
    assert taker.changes == ["opened BRK101"]
    assert "the taker answers again" in said(streams)


class Killed(BaseException):
    """Stands for SIGKILL: nothing of diag runs after it."""


def test_killed_before_during_and_after_a_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, clock = tmp_path / "s.json", Clock()
    taker = Taker()
    watch_of([ILL], [taker], state, clock)[0].once()
    clock.sleep(60)
    watch, _, _ = watch_of([ILL], [taker], state, clock)
    monkeypatch.setattr(taker, "deliver", lambda delivery: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        watch.once()
    monkeypatch.undo()
    clock.sleep(60)
    watch_of([ILL], [taker], state, clock)[0].once()
    assert taker.changes == ["opened BRK101"]
    clock.sleep(60)
    watch_of([ILL], [taker], state, clock)[0].once()
    assert taker.changes == ["opened BRK101"]


def test_killed_in_between_it_repeats_the_message_with_the_same_id(tmp_path: Path) -> None:
    """What a receiver has, and the state file does not know of yet: at least once, and to be recognized."""
    state, clock, taker = tmp_path / "s.json", Clock(), Taker()
    watch_of([ILL], [taker], state, clock)[0].once()
    clock.sleep(60)
    watch, _, _ = watch_of([ILL], [taker], state, clock)
    saves = iter([watch.file.save])

    def save(state: State) -> None:
        next(saves, lambda state: (_ for _ in ()).throw(Killed))(state)

    watch.file.save = save  # type: ignore[method-assign]
    with pytest.raises(Killed):
        watch.once()
    clock.sleep(60)
    watch_of([ILL], [taker], state, clock)[0].once()
    assert len(taker.got) == 2
    assert len(set(taker.got)) == 1


@pytest.mark.parametrize("jump", [-86_400 * 400, 86_400 * 3])
def test_a_clock_that_is_set_changes_no_interval(tmp_path: Path, jump: float) -> None:
    taker, clock = Taker(), Clock()
    watch, _, _ = watch_of([ILL, ILL, *[WELL] * 30], [taker], tmp_path / "s.json", clock)
    steps = iter(range(100))

    def sleep(seconds: float) -> None:
        clock.now += seconds
        clock.wall_now += jump if next(steps) == 3 else seconds

    watch.sleep = sleep
    watch.run(most_looks=32)
    assert taker.changes == ["opened BRK101"], "half an hour is no hour, whatever the clock on the wall shows"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is damaged"),
        (b"\xff\xfe{", "it is damaged"),
        (b"[" * 100_000, "it is damaged"),
        (b'{"format": 1, "tool": "diag", "command": "watch"}', "it is damaged"),
        (b'{"format": 9, "tool": "diag", "command": "watch", "saved_at": 1}', "it has format 9, and this diag reads format 1"),
        (b'{"tool": "other", "saved_at": 1}', "it is no state file of diag watch"),
    ],
)
def test_a_state_file_that_cannot_be_used_is_moved_aside(tmp_path: Path, content: bytes, why: str) -> None:
    state, taker = tmp_path / "s.json", Taker()
    state.write_bytes(content)
    watch, _, streams = watch_of([ILL, ILL], [taker], state)
    watch.run(most_looks=2)
    assert why in said(streams)
    assert [each.read_bytes() for each in tmp_path.glob("s.json.aside-*")] == [content]
    assert taker.changes == ["opened BRK101"]
    assert json.loads(state.read_text())["format"] == 1


def test_one_state_file_is_for_one_watch(tmp_path: Path) -> None:
    first, _, _ = watch_of([], [], tmp_path / "s.json")
    with pytest.raises(CannotLook, match="another diag watch uses"):
        watch_of([], [], tmp_path / "s.json")
    first.file.close()
    watch_of([], [], tmp_path / "s.json")


def test_the_directory_of_the_state_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    state = tmp_path / "state" / "diag" / "orders.json"
    watch_of([ILL], [Taker()], state)[0].once()
    assert stat.S_IMODE(state.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["file/s.json", "file/more/s.json", "."])
def test_a_state_file_that_cannot_be_had_is_a_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(CannotLook, match="--state"):
        StateFile(tmp_path / place, Clock(), Clock().wall)


def test_a_disk_that_is_full_costs_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taker = Taker()
    watch, _, streams = watch_of([ILL, ILL, ILL], [taker], tmp_path / "s.json")
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    watch.run(most_looks=3)
    assert taker.changes == ["opened BRK101"]
    assert said(streams).count("No space left on device. Free some space or name another file") == 1


def test_receivers_that_are_named_no_more_are_counted(tmp_path: Path) -> None:
    clock = Clock()
    watch, _, _ = watch_of([ILL, ILL], [Taker("old", refuses=9)], tmp_path / "s.json", clock)
    watch.run(most_looks=2)
    watch, _, streams = watch_of([ILL], [Taker("new")], tmp_path / "s.json", clock)
    watch.once()
    assert "1 message for receivers that are named no more were dropped" in said(streams)


def test_what_the_options_leave_out_now_is_forgotten(tmp_path: Path) -> None:
    clock, taker = Clock(), Taker()
    watch_of([ILL, ILL], [taker], tmp_path / "s.json", clock)[0].run(most_looks=2)
    options = RunOptions(ignore=code_filters(["BRK101"], ["BRK101"]))
    watch, _, streams = watch_of([WELL], [taker], tmp_path / "s.json", clock, options=options)
    watch.once()
    assert "left out by the options, and so forgotten: BRK101" in said(streams)
    assert watch.state.items == []


# ---- looks that fail --------------------------------------------------------------------------------------------------------------


def test_a_look_that_fails_changes_nothing_and_is_said_once() -> None:
    taker = Taker()
    fails = CannotLook("there is no log in logs.", "Name the directory.")
    watch, clock, streams = watch_of([ILL, ILL, fails, fails, fails, fails, WELL, WELL, ILL], [taker])
    watch.run(most_looks=9)
    assert taker.changes == ["opened BRK101", "blind WATCH"]
    assert said(streams).count("could not look: there is no log in logs. Name the directory.") == 1
    assert said(streams).count("looks see all again") == 1
    assert max(clock.slept) == 480, "the fourth failure in a row waits eight times as long"


def test_the_newest_line_grows_old_while_looks_fail(tmp_path: Path) -> None:
    fails, path = CannotLook("there is no log in logs."), tmp_path / "diag.prom"
    newest = datetime.fromtimestamp(_WALL, timezone.utc)
    side = replace(WELL, evidence={"log_files": [{"file": "jm.log", "role": "jobmanager", "lines": 7, "last_at": newest}]})
    watch, _, _ = watch_of([side, fails], [Taker()], metrics=path)
    watch.run(most_looks=2)
    assert "diag_watch_newest_line_age_seconds 60\n" in path.read_text()


def test_a_defect_ends_the_first_look_and_no_later_one() -> None:
    watch, _, _ = watch_of([ValueError("oops")], [Taker()])
    with pytest.raises(ValueError, match="oops"):
        watch.run(most_looks=1)
    taker = Taker()
    watch, _, streams = watch_of([ILL, ValueError("oops"), ILL], [taker])
    watch.run(most_looks=3)
    assert taker.changes == ["opened BRK101"]
    assert "this is a defect in diag: ValueError: oops" in said(streams)


def test_exit_codes_of_one_look(tmp_path: Path) -> None:
    def once(side: Side | Exception, name: str, **more: Any) -> int:
        return watch_of([side], [Taker()], tmp_path / name, **more)[0].once()

    assert once(ILL, "a") == 0, "seen once, it is not open yet"
    assert once(ILL, "a") == 1
    assert once(ILL, "a", options=RunOptions(fail_on="never")) == 0
    assert once(CannotLook("no log."), "b") == 3
    assert [once(look(LOOP), "c"), once(look(LOOP), "c")] == [0, 0], "a warning is below --fail-on"


def test_a_source_that_does_not_answer_is_left_alone_for_longer_each_time() -> None:
    clock = Clock()
    asked: list[float] = []
    failing = True

    def ask() -> Evidence:
        asked.append(clock.now - 50.0)
        if failing:
            raise CannotLook("jobmanager:8081 refused the connection.")
        return Evidence({"sources": []})

    patient = PatientSources(60.0, clock, lambda: 1.0)

    def look_at_it() -> None:
        patient.around(Collector("jm", "flink-rest", ask)).ask()
        clock.now += 60

    for _ in range(27):
        with pytest.raises(CannotLook, match="refused the connection"):
            look_at_it()
        clock.now += 60
    assert asked == [0, 60, 180, 420, 900, 1500]
    assert patient.next_try() == 480
    with pytest.raises(CannotLook, match="refused the connection"):
        look_at_it()
    failing = False
    clock.now += 600
    for _ in range(3):
        look_at_it()
    assert len(asked) == 9, "in each look again"
    assert patient.next_try() is None


def test_a_source_that_is_away_is_one_line_when_it_begins_and_one_when_it_is_back() -> None:
    why = "the bootstrap server cannot be asked: kafka:9092 refused (Connection refused). `diag broker-health` with the same options."

    def away(*names: str) -> Side:
        return look(sources=[Source(name, "kafka", "failed", why) for name in names])

    groups, both = away("groups of kafka:9092"), away("groups of kafka:9092", "topics")
    taker = Taker()
    watch, _, streams = watch_of([WELL, both, groups, both, groups, groups, both, WELL, WELL, both], [taker])
    watch.run(most_looks=10)
    lines = [line for line in said(streams).splitlines() if "look incomplete" in line or "see all" in line]
    assert lines == [
        "diag: look incomplete: kafka:9092 refused the connection (and 1 more)",
        "diag: looks see all again",
        "diag: look incomplete: kafka:9092 refused the connection (and 1 more)",
    ]
    assert taker.changes == ["blind WATCH"]


# ---- receivers that take their time -----------------------------------------------------------------------------------------------


class Slow(Taker):
    """Takes nothing before it is `over`."""

    name, apart = "the slow one", True

    def __init__(self) -> None:
        super().__init__("slow")
        self.began, self.over = threading.Event(), threading.Event()

    def deliver(self, delivery: Delivery) -> None:
        self.began.set()
        assert self.over.wait(30)
        super().deliver(delivery)


def test_a_slow_receiver_holds_up_no_look_no_metrics_and_no_other_receiver(tmp_path: Path) -> None:
    state, metrics, slow, taker = tmp_path / "s.json", tmp_path / "diag.prom", Slow(), Taker()
    both = look(BROKER, LOOP)
    sides = iter([ILL, ILL, both, both, both])
    watch, clock, _ = watch_of([], [slow, taker], state, metrics=metrics)
    looks = 0

    def looking() -> Look:
        nonlocal looks
        looks += 1
        if looks == 5:
            assert slow.began.wait(30)
            assert slow.got == []
            assert taker.changes == ["opened BRK101", "opened RST101"]
            assert "diag_watch_looks 4" in metrics.read_text()
            waiting = json.loads(state.read_text())["receivers"]["slow"]["waiting"]
            assert [each["finding"]["code"] for each in waiting] == ["BRK101", "RST101"], (
                "not delivered, and so not lost where it is killed"
            )
            slow.over.set()
        return seen(next(sides))

    watch.look, watch.sleep = looking, clock.sleep
    watch.run(most_looks=5)
    assert slow.got == taker.got, "in the same order"
    assert json.loads(state.read_text())["receivers"]["slow"]["waiting"] == []


def test_a_delivery_that_comes_back_after_the_end_writes_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.runs.watch_couriers._END_SECONDS", 0.0)
    state, slow = tmp_path / "s.json", Slow()
    watch, clock, _ = watch_of([ILL, ILL, KeyboardInterrupt()], [slow], state)
    watch.sleep = clock.sleep
    with pytest.raises(KeyboardInterrupt):
        watch.run()
    before = state.read_bytes()
    late = [thread for thread in threading.enumerate() if thread.name == "diag-deliver"]
    slow.over.set()
    for thread in late:
        thread.join()
    assert len(slow.got) == len(late) == 1
    assert state.read_bytes() == before
    again, _, _ = watch_of([ILL], [slow], state, clock)
    again.once()
    assert slow.got[0] == slow.got[1], "at least once, and to be recognized"


def test_a_watch_that_is_stopped_within_a_look_has_not_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delivery that comes back meanwhile writes no state in which a change is said to be sent, and its message is not there."""
    state, slow, taker = tmp_path / "s.json", Slow(), Taker()
    both = look(BROKER, LOOP)
    watch, clock, _ = watch_of([ILL, ILL, both, both], [slow], state)
    watch.sleep = clock.sleep

    def stopped(done: Any, look: Any, at: float) -> None:
        if any(each.finding["code"] == "RST101" for each in done.messages):
            assert slow.began.wait(30)
            slow.over.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(watch, "_save_bundle", stopped)
    with pytest.raises(KeyboardInterrupt):
        watch.run()
    assert len(slow.got) == 1
    watch_of([both], [slow, taker], state, clock)[0].once()
    assert "opened RST101" in taker.changes


def test_what_is_dropped_while_it_is_on_its_way_is_counted_once() -> None:
    state = State()
    outbox.put(state, ["hook"], messages(MOST_WAITING))
    to = state.receivers["hook"]
    sent = outbox.due(to, 0.0)
    outbox.put(state, ["hook"], [replace(each, id=f"n{each.id}") for each in messages(30)])
    outbox.delivered(to, sent, 0)
    assert (len(to.waiting), to.dropped) == (MOST_WAITING, 10), "of the 30 that had no room 20 have been delivered"


# ---- webhooks ---------------------------------------------------------------------------------------------------------------------


class Hook:
    """A server for one test: `answers` is what it does with each request, the last one for all that follow."""

    def __init__(self, *answers: int | str) -> None:
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        outer, left = self, list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = left.pop(0) if len(left) > 1 else left[0]
                outer.paths.append(self.path)
                outer.headers.append(dict(self.headers))
                outer.bodies.append(json.loads(body))
                if answer == "hangs":
                    outer.over.wait(20)
                elif answer == "drips":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                    while not outer.over.wait(0.1):
                        self.wfile.write(b"X-More: 1\r\n")
                elif answer == "closes":
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                elif answer == "nonsense":
                    self.wfile.write(b"\x00\xff not http\r\n\r\n")
                    self.close_connection = True
                else:
                    self.send_response(int(answer))
                    self.send_header("Retry-After", "77")
                    self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, *values: object) -> None: ...

        self.over = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *values: None  # type: ignore[method-assign]  # a client that hangs up
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/services/{SECRET}"

    def __enter__(self) -> Hook:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *values: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def message(of: Finding = BROKER, **values: Any) -> Message:
    (told,) = look(of).document["findings"]
    labels = {"code": of.code, "finding": f"{of.code}-1", "job": "orders-totals"}
    fields = {"id": "d-1", "change": "opened", "key": f"{of.code}-1", "at": "2026-11-21T09:40:00.000Z", "job": "orders-totals"}
    return Message(**{**fields, "finding": told, "labels": labels, "opened_at": "2026-11-21T09:40:00.000Z", **values})


def delivery(*messages: Message, **values: Any) -> Delivery:
    return Delivery(**{"messages": messages, "dropped": 0, "items": [], "at": "2026-11-21T09:40:01.000Z", "version": "0.1.0", **values})


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("hangs", r"it gave no answer within 2 s"),
        ("drips", r"it gave no (?:whole )?answer within 2 s"),
        ("closes", r"it cannot be reached"),
        ("nonsense", r"it cannot be reached"),
        (500, r"it answered 500"),
        (404, r"it answered 404"),
        (302, r"it answered 302"),
    ],
)
def test_a_webhook_that_fails_says_so_without_its_secrets(does: int | str, why: str) -> None:
    with Hook(does) as hook:
        to = Webhook(hook.url, "json", 60.0, seconds=2.0)
        with pytest.raises(Undelivered) as failed:
            to.deliver(delivery(message()))
    assert re.match(why, failed.value.why)
    assert "xyzzy" not in f"{failed.value.why} {to.name} {to.key} {failed.value!r}"
    assert len(hook.paths) == 1, "no library tries again, or follows elsewhere"
    assert failed.value.pause == (77 if isinstance(does, int) else 0)


def test_a_webhook_that_still_hangs_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    over, asked = threading.Event(), []
    to = Webhook("http://127.0.0.1:1/", "json", 60.0, seconds=0.01)
    monkeypatch.setattr(to, "_post", lambda body: (asked.append(body), over.wait(20))[0])
    for why in ("it gave no whole answer", "the request before still hangs", "the request before still hangs"):
        with pytest.raises(Undelivered, match=why):
            to.deliver(delivery(message()))
    assert len(asked) == 1
    over.set()


def test_where_there_is_no_server_it_is_a_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://u:xyzzypw@127.0.0.1:{free.getsockname()[1]}/{SECRET}"
    with pytest.raises(Undelivered, match=r"it cannot be reached: Connection refused") as failed:
        Webhook(url, "json", 60.0).deliver(delivery(message()))
    assert "xyzzy" not in str(failed.value)


def test_a_webhook_that_comes_back_gets_each_message_once(tmp_path: Path) -> None:
    with Hook(500, "closes", 503, 200) as hook:
        watch, _, streams = watch_of([ILL] * 7, [Webhook(hook.url, "json", 60.0)], tmp_path / "s.json")
        watch.run(most_looks=7)
        ids = [each["id"] for body in hook.bodies[3:] for each in body["messages"]]
    assert len(hook.bodies) == 4
    assert len(ids) == 1
    assert {each["id"] for body in hook.bodies for each in body["messages"]} == set(ids)
    written = said(streams) + (tmp_path / "s.json").read_text()
    assert "xyzzy" not in written
    assert "1 message waiting" in said(streams)


@pytest.mark.parametrize(
    "url", ["", "hooks", "ftp://host/x", "http://", "http://ho st/", "http://h:99999/", "http://[::1/x", f"//h/{SECRET}"]
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        Webhook(url, "json", 60.0)
    assert not url or url not in str(refused.value)


def test_the_address_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"https://user:pw@hooks.example/{SECRET}\n")
    (to,) = webhooks([f"@{tmp_path}/url"], "slack", 60.0)
    assert to.name == "the webhook at https://hooks.example (slack)"
    with pytest.raises(UsageError, match="cannot be read"):
        webhooks([f"@{tmp_path}/none"], "slack", 60.0)


# ---- what they get ----------------------------------------------------------------------------------------------------------------


def test_the_json_document() -> None:
    with Hook(200) as hook:
        Webhook(hook.url, "json", 60.0).deliver(delivery(message(), dropped=3))
    (body,) = hook.bodies
    assert hook.headers[0]["Content-Type"] == "application/json"
    assert {key: body[key] for key in ("format", "tool", "command", "dropped")} == {
        "format": 1,
        "tool": "diag",
        "command": "watch",
        "dropped": 3,
    }
    schema = alerts.watch_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(body, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**body, "messages": [{**body["messages"][0], "change": "better"}]}, schema)
    assert json.loads(diag("schema", "--watch")[1]) == schema
    assert diag("schema", "--watch", "--diff")[0] == 2
    (one,) = body["messages"]
    assert set(one) == {
        "id", "change", "at", "finding", "code", "severity", "was_severity", "was", "job", "cause", "reason", "subject", "since",
        "opened_at", "headline", "says", "steps", "evidence", "bundle", "still", "closed_at", "reopened_at", "lapses",
    }  # fmt: skip
    assert (one["change"], one["code"], one["severity"], one["job"]) == ("opened", "BRK101", "critical", "orders-totals")


def test_blocks_of_slack_are_bounded_and_mention_no_one() -> None:
    loud = message(replace(BROKER, says=f"<!channel> & <http://evil|x> {'y' * 5000}", headline=None, steps=("Do <this>",)))
    body = alerts.slack([loud] * 40, 2)
    assert len(body["blocks"]) <= 50
    texts = [block["text"]["text"] for block in body["blocks"] if "text" in block]
    assert all(len(text) <= (150 if block["type"] == "header" else 3000) for block, text in zip(body["blocks"], texts, strict=False))
    assert len(body["text"]) <= 3000
    whole = json.dumps(body)
    assert "<!channel>" not in whole
    assert "<http" not in whole
    assert "&lt;!channel&gt; &amp;" in whole
    assert "2 earlier messages were dropped" in whole


def test_alerts_begin_end_go_on_and_change_their_severity(tmp_path: Path) -> None:
    low, high = look(finding(subject={"broker": 5}, severity=Severity.WARNING)), look(finding(subject={"broker": 5}))
    with Hook(200) as hook:
        to = Webhook(hook.url.replace(f"/services/{SECRET}", ""), "alertmanager", 60.0)
        watch, _, _ = watch_of([WELL, low, low, low, *[low] * 58, high, high, *[WELL] * 61], [to], tmp_path / "s.json")
        watch.run(most_looks=125)
    assert set(hook.paths) == {"/api/v2/alerts"}
    opened, again = hook.bodies[0], hook.bodies[1]
    assert [each["labels"]["severity"] for each in opened] == ["warning"]
    assert opened[0]["labels"] == again[0]["labels"]
    assert opened[0]["startsAt"] == again[0]["startsAt"]
    assert moment(again[0]["endsAt"]) - moment(opened[0]["endsAt"]) == timedelta(seconds=60)
    worse = next(body for body in hook.bodies if len(body) == 2)
    assert [(each["labels"]["severity"], moment(each["endsAt"]) > moment(worse[1]["startsAt"])) for each in worse] == [
        ("warning", True),
        ("critical", True),
    ]
    ended, begun = worse
    assert moment(begun["endsAt"]) - moment(ended["endsAt"]) >= timedelta(seconds=299)
    (healed,) = hook.bodies[-2]
    assert healed["labels"] == begun["labels"]
    assert healed["annotations"]["remark"].startswith("not seen any more")
    assert healed["endsAt"] == hook.bodies[-1][0]["endsAt"] == hook.bodies[70][0]["endsAt"]
    for each in (each for body in hook.bodies for each in body):
        assert set(each) == {"labels", "annotations", "startsAt", "endsAt"}
        assert all(re.fullmatch(r"[a-zA-Z_]\w*", name) and value for name, value in each["labels"].items())
        assert moment(each["startsAt"]) <= moment(each["endsAt"])


def test_an_alert_ends_with_the_look_that_closes_the_finding_and_not_with_the_message(tmp_path: Path) -> None:
    with Hook(200) as hook:
        to = Webhook(hook.url.replace(f"/services/{SECRET}", ""), "alertmanager", 60.0)
        watch, clock, _ = watch_of([ILL, ILL, WELL, WELL, WELL, WELL, ILL, ILL, ILL], [to], tmp_path / "s.json")
        begun = clock.wall_now
        watch.run(most_looks=9)
    ends = [moment(alert["endsAt"]).timestamp() - begun for (alert,) in hook.bodies]
    assert ends == [360, 420, 480, 240, 240, 240, 720, 780], "looks 2 to 4 fire, 5 to 7 are over since look 5, 8 and 9 fire again"
    assert [moment(alert["startsAt"]).timestamp() - begun for (alert,) in hook.bodies] == [60] * 6 + [420] * 2
    assert len({json.dumps(alert["labels"], sort_keys=True) for (alert,) in hook.bodies}) == 1


def test_an_alert_is_as_severe_as_the_finding_is_now_and_not_as_it_was_said_to_be(tmp_path: Path) -> None:
    low, high = look(finding(subject={"broker": 5}, severity=Severity.WARNING)), look(finding(subject={"broker": 5}))
    with Hook(200) as hook:
        to = Webhook(hook.url.replace(f"/services/{SECRET}", ""), "alertmanager", 60.0)
        watch, clock, _ = watch_of([low, low, high, high, high, WELL, WELL, WELL], [to], tmp_path / "s.json")
        begun = clock.wall_now
        watch.run(most_looks=8)
    states = [{each["labels"]["severity"]: moment(each["endsAt"]).timestamp() - begun for each in body} for body in hook.bodies]
    assert states[:2] == [{"warning": 360}, {"warning": 420}]
    assert states[2:4] == [{"critical": 480, "warning": 180}, {"critical": 540, "warning": 180}], "two looks, as for any change"
    assert states[-1] == {"critical": 420, "warning": 180}


def moment(text: str) -> datetime:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def test_a_line_for_people_one_for_pipes_and_one_of_json() -> None:
    healed = message(change="healed", at="2026-11-21T10:40:00.000Z", still=("RST101",))
    shown = alerts.line(healed)
    assert shown.startswith("2026-11-21 10:40:00Z healed   critical BRK101  orders-totals · broker 5: ")
    assert "not seen any more; the job still has RST101; 60 min after it opened" in shown
    assert alerts.plain(healed).count("\t") == 8
    hostile = message(replace(BROKER, says="a\x1b[31mb\tc\nd", headline=None))
    assert alerts.plain(hostile).count("\t") == 8
    assert "\x1b" not in alerts.line(hostile) + alerts.plain(hostile)
    streams = environment()
    Screen(streams, "json").deliver(delivery(message(), healed))
    assert len(json.loads(streams.stdout.getvalue())["messages"]) == 2  # type: ignore[attr-defined]  # StringIO


# ---- commands ---------------------------------------------------------------------------------------------------------------------


def test_a_command_gets_the_json_and_no_shell_reads_it(tmp_path: Path) -> None:
    write = f"{sys.executable} -c 'import sys; open(sys.argv[1], \"w\").write(sys.stdin.read())'"
    Command(f"{write} '{tmp_path}/$(date) > got'").deliver(delivery(message()))
    (got,) = tmp_path.iterdir()
    assert got.name == "$(date) > got"
    assert json.loads(got.read_text())["messages"][0]["code"] == "BRK101"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (f"{sys.executable} -c 'raise SystemExit(7)'", "it ended with 7"),
        ("sleep 60", r"it did not end within 0\.3 s and was ended"),
        ("sh -c 'sleep 60 & sleep 60'", r"it did not end within 0\.3 s and was ended"),
    ],
)
def test_a_command_that_fails(words: str, why: str) -> None:
    with pytest.raises(Undelivered, match=why):
        Command(words, seconds=0.3).deliver(delivery(message()))


def test_a_command_that_is_gone_by_now(tmp_path: Path) -> None:
    script = tmp_path / "page-me"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    to = Command(str(script))
    script.unlink()
    with pytest.raises(Undelivered, match="it cannot be started: No such file or directory"):
        to.deliver(delivery(message()))


def test_a_command_that_reads_nothing_has_all_the_same_been_called() -> None:
    big = message(replace(BROKER, says="x" * 900_000))
    Command("true").deliver(delivery(big))


# ---- bundles and metrics ----------------------------------------------------------------------------------------------------------


def test_bundles_are_kept_in_so_many_files_and_only_ours_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.tar.gz").write_text("not of diag")
    monkeypatch.setattr(watch_bundles, "MOST_BUNDLES", 3)
    begin = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)
    found = Evidence({"sources": []})
    for number in range(5):
        path, remarks = watch_bundles.save_opening(tmp_path, found, ["BRK101"], begin + timedelta(minutes=number), RunOptions(), "0.1.0")
    assert path.name == "watch-20261121T093400Z-BRK101.tar.gz"
    assert len(remarks) == 1
    assert len(list(tmp_path.glob("watch-*"))) == 3
    assert (tmp_path / "mine.tar.gz").exists()
    monkeypatch.setattr(watch_bundles, "MOST_BYTES", 1)
    path, _ = watch_bundles.save_opening(tmp_path, found, ["BRK101"], begin + timedelta(hours=1), RunOptions(), "0.1.0")
    assert [*tmp_path.glob("watch-*")] == [path], "the newest stays, however large it is"


def test_a_bundle_is_saved_when_a_finding_opens_and_named_in_its_message(tmp_path: Path) -> None:
    taker = Taker()
    got: list[Message] = []
    taker.deliver = lambda delivery: got.extend(delivery.messages)  # type: ignore[method-assign]
    watch, _, _ = watch_of([ILL, ILL, ILL], [taker], save_dir=tmp_path)
    watch.run(most_looks=3)
    (bundle,) = tmp_path.iterdir()
    assert [each.bundle for each in got] == [str(bundle)]


def test_a_bundle_that_cannot_be_saved_costs_no_message(tmp_path: Path) -> None:
    taker = Taker()
    (tmp_path / "file").write_text("no directory")
    watch, _, streams = watch_of([ILL, ILL], [taker], save_dir=tmp_path / "file")
    watch.run(most_looks=2)
    assert taker.changes == ["opened BRK101"]
    assert "no bundle was saved" in said(streams)


_SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (-?\d+(?:\.\d+)?)')


def test_metrics_keep_the_rules_of_the_format_whatever_a_job_is_called(tmp_path: Path) -> None:
    path = tmp_path / "diag.prom"
    begun = datetime.fromtimestamp(_WALL, timezone.utc) - timedelta(minutes=46)
    sides = [
        replace(side, evidence={"log_files": [{"file": "jm.log", "role": "jobmanager", "last_at": begun}]}) for side in (ILL, ILL, UNREAD)
    ]
    watch, _, streams = watch_of(list(sides), [Taker()], tmp_path / "s.json", metrics=path)
    watch.run(most_looks=3)
    watch.state.items[0].labels["job"] = 'a"b\\c\nd\r\ud800{}'
    text = openmetrics.render(watch.state, watch.last or pytest.fail("no look"), {})
    for whole in (text, path.read_text()):
        *lines, end, empty = whole.split("\n")
        assert (end, empty) == ("# EOF", "")
        families = [line.split(" ")[2] for line in lines if line.startswith("# TYPE ")]
        assert len(set(families)) == len(families)
        name = ""
        for line in lines:
            if line.startswith("# "):
                kind, name = line.split(" ")[1:3]
                assert kind in ("TYPE", "HELP")
            else:
                found = _SAMPLE.fullmatch(line)
                assert found is not None, line
                assert found[1] == name
    assert 'job="a\\"b\\\\c\\nd ?{}"' in text
    assert 'diag_watch_open_findings{severity="critical"} 1' in path.read_text()
    assert "diag_watch_last_look_complete 0" in path.read_text()
    assert "diag_watch_newest_line_age_seconds 2880\n" in path.read_text()
    assert "nothing open; newest line is 46 min old" in said(streams)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


# ---- the command line -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing was named to watch"),
        (["-"], "diag watch reads no standard input"),
        (["--once", "."], "--once needs --state FILE"),
        ([".", "--every", "0s"], "--every"),
        ([".", "--every", "3d"], "--every"),
        ([".", "-o", "html"], "-o html is no output of diag watch"),
        ([".", "-o", "openmetrics"], "no file is named"),
        ([".", "-o", "json", "-o", "plain"], "two formats would be mixed"),
        ([".", "--webhook", "x", "--webhook-format", "xml"], "--webhook-format: 'xml' is unknown"),
        ([".", "--webhook", f"ftp://h/{SECRET}"], "--webhook is no http or https address"),
        ([".", "--exec", "'"], "--exec: "),
        ([".", "--exec", " "], "--exec names no command"),
        ([".", "--exec", "/no/such/command x"], "--exec: /no/such/command is no command that can be started"),
        ([".", "--repeat-after", "soon"], "--repeat-after soon is no usable time"),
        ([".", "--exec", "true", "--exec", "true"], "one receiver is named twice"),
        (["/no/such/place"], "no such file or directory: /no/such/place"),
        ([".", "--least", "never"], "'never' is not one of 'info', 'warning', 'critical'"),
    ],
)
def test_wrong_usage(arguments: list[str], says: str) -> None:
    code, _, told = diag("watch", *arguments)
    assert code == 2
    assert says in told
    assert "xyzzy" not in told


def test_outputs() -> None:
    assert parsed(["json", "openmetrics=x.prom"]).metrics == Path("x.prom")
    with pytest.raises(CannotLook, match="there is no directory"):
        parsed(["openmetrics=/no/such/x.prom"])
    assert next(each.key for each in recipients(parsed([]), [], "json", ["true"], 60.0, environment())) == "stdout"


def test_slack_marks_what_is_critical_names_the_job_and_says_since_when_and_what_is_past() -> None:
    critical, warning = message(), message(replace(LOOP, severity=Severity.WARNING))
    healed = message(change="healed", closed_at="2026-11-21T09:50:00.000Z", at="2026-11-21T10:40:00.000Z")
    body = alerts.slack([critical, warning, healed], 0)
    headers = [block["text"]["text"] for block in body["blocks"] if block["type"] == "header"]
    assert headers == ["🔴 opened: BRK101 orders-totals", "🟡 opened: RST101 orders-totals", "🟢 healed: BRK101 orders-totals"]
    first, _, last = [block["text"]["text"] for block in body["blocks"] if block["type"] == "section"]
    assert re.search(r"\* \(critical, since 20\d\d-\d\d-\d\d \d\d:\d\dZ\)", first)
    assert last.startswith("*was: The Kafka client")
    assert "it healed at 09:50Z, 10 min after it opened; sent 50 min later" in last
    assert body["text"].startswith("🔴 opened: orders-totals: BRK101 The Kafka client")


def test_a_line_takes_two_lines_of_a_terminal_at_most() -> None:
    subject = {"task": "validate -> enrich-profile", "subtask": 0, "parallelism": 2, "user_frame": "shop.Validate.map", "attempt": 3}
    said = (
        "User code in validate -> enrich-profile (1/2) fails on the same record after each restart, in shop.Validate.map (Validate.java)."
    )
    long = message(replace(BROKER, subject=subject, headline=said), bundle="incidents/watch-20261128T153147Z-RST203.tar.gz")
    first, second, _ = alerts.line(long).split("\n")
    assert len(first) <= 160
    assert "orders-totals: User code in validate -> enrich-profile (1/2) fails on the same record" in first
    assert second == "  evidence in incidents/watch-20261128T153147Z-RST203.tar.gz"
    short = alerts.line(message(change="healed"))
    assert "orders-totals · broker 5: was: The Kafka client" in short
