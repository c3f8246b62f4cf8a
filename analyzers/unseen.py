"""What the evidence that was read cannot show, so that an all-clear over it has to say so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from analyzers.derived.attempts import PLANNED
from analyzers.derived.failure_signs import ANSWERED, FAILED_TO_CONNECT, OF_WORKERS, QUERY_OVER, TRIES_AGAIN, WORKERS
from analyzers.derived.progress import by_minute
from analyzers.derived.split_audit_legs import masked_by_beam
from analyzers.durations import span
from analyzers.log_roles import FLINK
from analyzers.logs.bound import AT_LEAST
from analyzers.logs.selection import ERROR_LOGGED
from analyzers.logs.timestamps import LEADING_STAMP
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_PLANNED = ("batch-planned", "batch-written")
_STARTS = frozenset({"job-restored", "savepoint-restored", "job-initializing", "query-started", "query-resumed"})
_CONTAINER = re.compile(r"\bcontainer_\w+")
_NEAR_SECONDS = 60
_ERRORS = 3
_SAID = 2
_STEPS = 2
_QUOTED = 160
_PENDING_TIMES = 3  # as long as the longest that completed: under load one takes twice as long
_SILENT_LEAST = timedelta(minutes=30)
_ENDED_LEAST = timedelta(minutes=10)  # between the end of a driver's log and that of the others: logs are not saved all at once
_USUAL = 50  # of its newest batches; between the first and the last that were kept of a long log lies a gap
_PENDING_LEAST = timedelta(minutes=1)
_PENDING_FIRST = timedelta(minutes=5)  # where none completed that would tell what is usual; Flink waits for ten by default
_NO_LONGER_PENDING = frozenset(
    {
        "checkpoint-expired",
        "checkpoint-failed",
        "checkpoint-declined",
        "checkpoint-discarded",
        "checkpoint-coordinated",
        "job-state",
        "job-suspended",
        "job-terminal",
        "task-failed",
    }
)
"""What ends a checkpoint, or the run that it was of."""


def unseen(tables: Tables) -> list[str]:
    """Clauses that follow "nothing wrong found": what stays hidden, and what would show it."""
    logged = {row["job"] for row in tables.get("jobs_seen", ())}
    masked = [name for name in masked_by_beam(tables) if name not in logged]
    said = []
    if masked:
        named = ", ".join(masked[:3]) + (f" and {len(masked) - 3} more" if len(masked) > 3 else "")
        said.append(
            f"whether a split has two readers in one subtask: checkpoints of Beam hide it (job {named}), the logs of the restore tell"
        )
    return (
        said
        + _open_batches(tables)
        + _silent_queries(tables)
        + _ended_drivers(tables)
        + _open_checkpoints(tables)
        + _open_connections(tables)
        + _silent_clients(tables)
        + _unresolved_entries(tables)
        + _open_topics(tables)
        + _open_elections(tables)
        + _open_registrations(tables)
        + _nobodys_containers(tables)
        + _out_of_memory(tables)
        + _cancelled(tables)
        + _only_consequences(tables)
    )


def starts_before(since: datetime | None, tables: Tables) -> list[str]:
    """The clause for a window that begins after the jobs did: `tables` are those of all that was read."""
    before = [e for e in tables.get("log_events", ()) if since and e["at"] and e["at"] < since]
    starts = [e["at"] for e in before if e["signature"] in _STARTS]
    if not starts:
        return []
    told = "what is told when a job starts or restores (its splits, its clients' settings)"
    said = [f"{told}: that was at {max(starts):%H:%M:%S} UTC, before --since"]
    if not any(_of_batches(e) and e["at"] and since and e["at"] >= since for e in tables.get("log_events", ())):
        said += _open_batches({"log_events": before, "batches": tables.get("batches", ())})
    return said


def untold_errors(tables: Tables) -> list[str]:
    """How many errors no signature knows, how many no rule took for a fault, and the newest of each: nothing else in an all-clear would
    speak of them."""
    count = sum(row["events"] for row in tables.get("log_counts", ()) if row["signature"] == ERROR_LOGGED)
    events = tables.get("log_events", ())
    unknown = [e for e in events if e["signature"] == ERROR_LOGGED]
    known = {(e["scope"], e["file"], e["line"]): e for e in events if e["signature"] != ERROR_LOGGED and _is_error(e)}
    said = []
    if count and unknown:
        said.append(f"{'one error is' if count == 1 else f'{count:,} errors are'} of no kind that diag knows, {_newest(unknown)}")
    if known:
        which = "one error is" if len(known) == 1 else f"{len(known):,} errors are"
        said.append(f"{which} of a kind that diag knows, and too little to say that something is wrong, {_newest(list(known.values()))}")
    return said


def _is_error(event: Row) -> bool:
    return event["level"] in ("ERROR", "FATAL") or (event["level"] is None and bool(event["chain"]))


def _newest(events: Sequence[Row]) -> str:
    """The last of `events`: when, where, and the line that says what: of a trace without a header the exception."""
    last = max(events, key=lambda e: (e["at"] is not None, e["at"] and e["at"].timestamp(), e["seq"] or 0))
    when = f" at {last['at']:%Y-%m-%d %H:%M:%S} UTC" if last["at"] else ""
    first = LEADING_STAMP.sub("", last["text"].splitlines()[0])
    if not last["logger"] and last["chain"] and last["root_exception"] and last["root_exception"] not in first:
        first = ": ".join(each for each in (last["root_exception"], last["root_message"]) if each)
    words = " ".join(first.split())
    said = words if len(words) <= _QUOTED else words[: _QUOTED - 1] + "…"
    return f"the last{when} ({last['file']}:{last['line']}): {said}"


def _of_batches(event: Row) -> bool:
    """Whether a line tells of a query's batches or of its end."""
    return event["signature"] in ("query-started", "query-progress", *_PLANNED) or event["signature"] in QUERY_OVER


def _silent_queries(tables: Tables) -> list[str]:
    """The queries that told no progress for unusually long while another one of their driver did, and of which no open batch is known."""
    ends = {(r["scope"], r["file"]): r["last_at"] for r in tables.get("log_files", ()) if r["last_at"]}
    told: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["job"] and event["at"] and _of_batches(event) and event["signature"] not in _PLANNED:
            told[event["scope"], event["job"]].append(event)
    newest = {key: max(events, key=lambda e: e["at"]) for key, events in told.items()}
    written = [e for e in tables.get("log_events", ()) if e["signature"] == "batch-written" and e["job"] and e["at"]]
    at_work = {(e["scope"], e["job"]) for e in written if (last := newest.get((e["scope"], e["job"]))) and e["at"] > last["at"]}
    names = {r["job"]: r.get("name") for r in tables.get("jobs_seen", ())}
    said = []
    for (scope, job), last in sorted(newest.items()):
        end = ends.get((scope, last["file"]))
        beside = [e for (_, other), e in newest.items() if other != job and e["scope"] == scope and e["file"] == last["file"]]
        if end is None or (scope, job) in at_work or last["signature"] in QUERY_OVER or not any(e["at"] > last["at"] for e in beside):
            continue
        times = sorted(e["at"] for e in told[scope, job] if e["signature"] == "query-progress")[-_USUAL:]
        usual = max((later - earlier for earlier, later in pairwise(times)), default=timedelta(0))
        silent = end - last["at"]
        if silent >= max(_SILENT_LEAST, _PENDING_TIMES * usual):
            said.append(
                f"whether query {names.get(job) or job} works: it has told no progress since {last['at']:%Y-%m-%d %H:%M:%S} UTC, "
                f"for {span(silent)}, while another query of its driver did. It has no new data, or its batch hangs: the newest file in "
                "offsets/ and in commits/ of its checkpoint tells, or a thread dump of the driver"
            )
    return _few(said, "queries")


def _ended_drivers(tables: Tables) -> list[str]:
    """Drivers of queries whose log stops long before others, in the middle of their work: SIGKILL leaves no line (SPK111 tells it where
    another driver went on)."""
    ends = {(r["scope"], r["file"]): r["last_at"] for r in tables.get("log_files", ()) if r["last_at"]}
    newest: dict[str, datetime] = {}
    for (scope, _), end in ends.items():
        newest[scope] = max(end, newest.get(scope, end))
    told: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["job"] and event["at"] and _of_batches(event):
            told[event["scope"], event["job"]].append(event)
    stopped = {(e["scope"], e["file"]) for e in tables.get("log_events", ()) if e["signature"] in ("spark-stopping", *QUERY_OVER)}
    names = {r["job"]: r.get("name") for r in tables.get("jobs_seen", ())}
    said = []
    for (scope, job), events in sorted(told.items()):
        last = max(events, key=lambda e: e["at"])
        times = sorted(e["at"] for e in events if e["signature"] == "query-progress")[-_USUAL:]
        end = ends.get((scope, last["file"]))
        if end is None or len(times) < 2 or (scope, last["file"]) in stopped:
            continue
        usual = max(later - earlier for earlier, later in pairwise(times))
        if end - last["at"] <= max(_ENDED_LEAST, _PENDING_TIMES * usual) <= newest[scope] - end:
            said.append(
                f"whether the driver of query {names.get(job) or job} lives: its log ends at {end:%Y-%m-%d %H:%M:%S} UTC in the middle of "
                f"its work, {span(newest[scope] - end)} before the newest of these logs; how its process or container ended tells"
            )
    return _few(said, "drivers")


def _open_batches(tables: Tables) -> list[str]:
    """Per scope of one query: the batch in which its log ends. One that hangs writes no line, as one that works may write none."""
    by_scope: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if _of_batches(event):
            by_scope[event["scope"]].append(event)
    judged_by_files = {row["scope"] for row in tables.get("batches", ())}  # SPK107 looks into commits/ itself
    said = []
    for scope, events in sorted(by_scope.items()):
        if scope in judged_by_files:
            continue
        if len({e["job"] for e in events if e["job"]}) > 1:
            said += _open_beside_others(scope, events, tables)
            continue
        events.sort(key=lambda e: (e["seq"] if e["seq"] is not None else 0, e["file"], e["line"]))
        planned: Row | None = None
        for event in events:
            if event["signature"] in _PLANNED:
                planned = event
            elif event["signature"] != "query-progress" or (planned is not None and event["checkpoint"] == planned["checkpoint"]):
                planned = None
        if planned is not None and planned["checkpoint"] is not None:
            when = f", planned at {planned['at']:%H:%M:%S} UTC" if planned["at"] else ""
            batch = planned["checkpoint"]
            said.append(
                f"whether batch {batch} ends: what was looked at stops within it{when}, and a batch that hangs writes no line; "
                f"commits/{batch} in the query's checkpoint tells, or a thread dump of the driver"
            )
    return said


def _open_beside_others(scope: str, events: Sequence[Row], tables: Tables) -> list[str]:
    """Of the queries of one driver those whose newest batch has been open for clearly longer than those before: of the others
    some is always in the middle of one."""
    ends = {r["file"]: r["last_at"] for r in tables.get("log_files", ()) if r["scope"] == scope and r["last_at"]}
    names = {r["job"]: r.get("name") for r in tables.get("jobs_seen", ())}
    by_job: dict[str, list[Row]] = defaultdict(list)
    for event in events:
        if event["job"] and event["at"] and event["signature"] != "query-started":
            by_job[event["job"]].append(event)
    said = []
    for job, rows in sorted(by_job.items()):
        rows.sort(key=lambda e: (e["at"], e["line"]))
        done = [e for e in rows if e["signature"] == "query-progress"]
        planned = next((e for e in reversed(rows) if e["signature"] in _PLANNED), None)
        over = rows[-1]["signature"] in QUERY_OVER
        if planned is None or over or not done or done[-1]["checkpoint"] >= planned["checkpoint"] or planned["file"] not in ends:
            continue
        usual = max((later["at"] - earlier["at"] for earlier, later in pairwise(done[-_USUAL:])), default=timedelta(0))
        since_then = ends[planned["file"]] - planned["at"]
        if since_then >= max(_PENDING_LEAST, _PENDING_TIMES * usual):
            batch = planned["checkpoint"]
            said.append(
                f"whether batch {batch} of query {names.get(job) or job} ends: it was planned at {planned['at']:%H:%M:%S} UTC and had not "
                f"ended {span(since_then)} later, while its driver's log goes on; a batch that hangs writes no line; commits/{batch} in "
                "the query's checkpoint tells, or a thread dump of the driver"
            )
    return said


def _open_checkpoints(tables: Tables) -> list[str]:
    """The checkpoint in which the logs of a job end, if it had been pending for clearly longer than those that completed took."""
    asked = {row["scope"] for row in tables.get("checkpoints", ())}  # the JobManager itself told how they end
    events: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        known = event["signature"] in _NO_LONGER_PENDING or event["signature"] in ("checkpoint-triggered", "checkpoint-completed")
        if known and event["job"] and event["scope"] not in asked:
            events[event["scope"], event["job"]].append(event)
    ends = _ends_of_flink_logs(tables)
    counted = by_minute(tables.get("log_counts", ()))
    said = []
    for (scope, job), rows in sorted(events.items()):
        pending = _pending(rows)
        if pending is None or pending["at"] is None or scope not in ends:
            continue
        since_then = ends[scope] - pending["at"]
        completed = [r["duration_ms"] for r in rows if r["signature"] == "checkpoint-completed" and r["duration_ms"] is not None]
        longest = timedelta(milliseconds=max(completed, default=0))
        if since_then < (max(longest * _PENDING_TIMES, _PENDING_LEAST) if completed else _PENDING_FIRST):
            continue
        newest = completed if sum(number for _, number in counted.get((scope, job), ())) <= len(completed) else completed[-AT_LEAST[1] :]
        most = timedelta(seconds=-(-max(newest, default=0) // 1000))
        before = f"; the {len(newest)} before it took at most {span(most)}" if len(newest) > 1 else ""
        said.append(
            f"whether checkpoint {pending['checkpoint']} completes: it was triggered at {pending['at']:%H:%M:%S} UTC and was pending when "
            f"the logs end {span(since_then)} later{before}; a subtask that holds the barrier writes no line until the checkpoint expires, "
            f"diag triage --flink-rest http://JOBMANAGER:8081 --job {job} tells"
        )
    return _few(said, "jobs")


def _pending(events: Sequence[Row]) -> Row | None:
    """The first checkpoint of these rows of a job that was triggered after all that ended, and did not."""
    pending: dict[int | None, Row] = {}
    for event in sorted(events, key=lambda e: (e["seq"] if e["seq"] is not None else 0, e["file"], e["line"])):
        if event["signature"] == "checkpoint-triggered":
            pending.setdefault(event["checkpoint"], event)
        elif event["signature"] == "checkpoint-completed" or event["checkpoint"] is None:
            pending.clear()  # an older one that still waits is given up then
        else:
            pending.pop(event["checkpoint"], None)
    return next(iter(pending.values()), None)


def _ends_of_flink_logs(tables: Tables) -> dict[str, datetime]:
    """Per scope, when the newest line of a log of Flink was written: a broker's log may go on for days."""
    ends: dict[str, datetime] = {}
    for row in tables.get("log_files", ()):
        if row["role"] in FLINK and row["last_at"]:
            ends[row["scope"]] = max(row["last_at"], ends.get(row["scope"], row["last_at"]))
    return ends


def _open_connections(tables: Tables) -> list[str]:
    """Kafka clients that had no answer by the end of the log, although not for long enough to say that they get none."""
    failed: dict[tuple[str, str], list[Row]] = defaultdict(list)
    answered = set()
    for event in tables.get("log_events", ()):
        if event["client"] is None or event["role"] == "kafka-broker":
            continue
        client = (event["scope"], event["client"])
        if event["signature"] in ANSWERED:
            answered.add(client)
        elif event["signature"] in FAILED_TO_CONNECT:
            failed[client].append(event)
    said = []
    for client, events in sorted(failed.items()):
        if client in answered or not _at_the_end(events):
            continue
        where = ", ".join(sorted({e["address"] for e in events if e["address"]}))
        said.append(
            f"whether Kafka client {client[1]} gets an answer{f' from {where}' if where else ''}: it had none by the end of its log, "
            "which is too short to tell a start from an outage"
        )
    return _few(said, "Kafka clients")


def _silent_clients(tables: Tables) -> list[str]:
    """Clients (librdkafka) that print broken connections and no answer: whose brokers were all down at the end, or hang up."""
    down: dict[tuple[str, str], list[Row]] = defaultdict(list)
    broken: dict[tuple[str, str], int] = defaultdict(int)
    for event in tables.get("log_events", ()):
        if event["signature"] not in TRIES_AGAIN:
            continue
        if event["signature"] == "rdkafka-brokers-down" and event["client"]:
            down[event["scope"], event["client"]].append(event)
        elif event["signature"] == "rdkafka-handshake-broken" and event["address"]:
            broken[event["scope"], event["address"]] += 1
    said = [
        f"whether Kafka client {client} gets an answer: at the end of its log it has a connection to none of its {known} broker(s)"
        for (_, client), events in sorted(down.items())
        if _at_the_end(events) and (known := (events[-1]["detail"] or {}).get("known"))
    ]
    said += [
        f"whether Kafka clients get through to {address}: {times} TLS hand-shakes were broken off there, by a listener without TLS or by a "
        "broker or balancer that goes away, and librdkafka prints none that succeed"
        for (_, address), times in sorted(broken.items())
        if times > 1
    ]
    return _few(said, "Kafka connections")


def _unresolved_entries(tables: Tables) -> list[str]:
    """Entries of bootstrap.servers that were left out as their names do not resolve, where nothing tells that others answered."""
    events = tables.get("log_events", ())
    answered = {e["scope"] for e in events if e["signature"] in ANSWERED}
    names = {e["address"] for e in events if e["signature"] == "bootstrap-unresolvable" and e["address"] and e["scope"] not in answered}
    if not names:
        return []
    return [
        f"whether a Kafka client reaches its cluster: {', '.join(sorted(names))} does not resolve and was left out of its bootstrap.servers"
    ]


_REFUSED = {"metadata-error": ("read", "metadata errors"), "produce-error": ("written", "refused writes")}
"""What a client cannot do with a topic, and how it says so, per signature."""


def _open_topics(tables: Tables) -> list[str]:
    """Topics of which clients heard nothing but errors up to the end of their log."""
    failed: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _REFUSED and event["topic"] and event["role"] != "kafka-broker" and (event["detail"] or {}).get("error"):
            failed[event["scope"], event["topic"], event["signature"]].append(event)
    said = []
    for (_, topic, signature), events in sorted(failed.items()):
        if len(events) >= _ERRORS and _at_the_end(events):
            errors = ", ".join(sorted({e["detail"]["error"] for e in events}))
            done, what = _REFUSED[signature]
            said.append(f"whether topic {topic} can be {done}: {what} ({errors}) go on to the end of the log")
    return _few(said, "topics")


def _open_elections(tables: Tables) -> list[str]:
    """Nodes of a metadata quorum that looked for a leader when their log ended."""
    looking: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["to_state"] in ("Leader", "Follower") and event["signature"] == "quorum-state":
            looking.pop((event["scope"], event["file"]), None)
        elif event["signature"] in ("quorum-state", "election-failed"):
            looking[event["scope"], event["file"]].append(event)
    if any((len(events) >= _STEPS or _lost(events)) and _at_the_end(events) for events in looking.values()):
        return ["whether the controllers elect a leader: none was known by the end of the log"]
    return []


def _lost(events: Sequence[Row]) -> bool:
    """Whether a node has lost an election already: one that starts first has not yet."""
    return any(event["signature"] == "election-failed" for event in events)


def _out_of_memory(tables: Tables) -> list[str]:
    """Threads that ran out of memory where neither their process is known nor a task or job is seen to fail of it."""
    said = []
    for fault in tables.get("faults", ()):
        if fault["fault"] == "out-of-memory" and not fault["fatal"]:
            when = f" at {fault['at']:%Y-%m-%d %H:%M:%S} UTC" if fault["at"] else ""
            where = f"{fault['file']}:{fault['line']}"
            what = fault["root_message"] or "OutOfMemoryError"
            said.append(
                f"whether a job suffers from the memory that ran out{when} ({where}: {what}): no task, job or worker is seen to fail of it"
            )
    return _few(said, "threads")


def _cancelled(tables: Tables) -> list[str]:
    """Tasks that were cancelled in lines that show neither a failure nor an order to stop: an excerpt from the middle of a restart."""
    events = tables.get("log_events", ())
    told = {e["scope"] for e in events if e["signature"] in ("job-state", "job-terminal", "task-failed") or e["signature"] in PLANNED}
    first: dict[str, Row] = {}
    for event in events:
        if event["signature"] == "task-transition" and event["to_state"] in ("CANCELING", "CANCELED") and event["scope"] not in told:
            first.setdefault(event["scope"], event)
    when = [f" at {e['at']:%H:%M:%S} UTC" if e["at"] else "" for _, e in sorted(first.items())]
    return _few([f"why tasks were cancelled{at}: the lines show neither a failure nor an order to stop" for at in when], "scopes")


def _only_consequences(tables: Tables) -> list[str]:
    """Tasks of which these lines show nothing but failures that follow from others: what failed first is not among them."""
    faults = [f for f in tables.get("faults", ()) if f["fatal"] and f["task"] is not None]
    told = {f["scope"] for f in faults if not f["consequence"]}
    ordered = {a["scope"] for a in tables.get("attempts", ()) if a["planned_because"]}
    first: dict[str, Row] = {}
    for fault in faults:
        if fault["scope"] not in told | ordered and fault["fault"] not in OF_WORKERS:
            first.setdefault(fault["scope"], fault)
    said = []
    for _, fault in sorted(first.items()):
        when = f" at {fault['at']:%H:%M:%S} UTC" if fault["at"] else ""
        what = (fault["root_exception"] or "").rsplit(".", 1)[-1]
        said.append(
            f"why {fault['task']} failed{when}: {f'{what} is' if what else 'these lines show'} only what follows from another failure or "
            "an order; the JobManager's log just before has the first"
        )
    return _few(said, "scopes")


def _open_registrations(tables: Tables) -> list[str]:
    """TaskManagers that had not reached the JobManager by the end of their log."""
    tried: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] == "resourcemanager-unresolved":
            tried[event["scope"], event["file"]].append(event)
        elif event["signature"] == "resourcemanager-registered":
            tried.pop((event["scope"], event["file"]), None)
    said = []
    for (_, file), events in sorted(tried.items()):
        if _at_the_end(events):
            name = file.rsplit("/", 1)[-1]
            where = next((f" at {e['address']}" for e in events if e["address"]), "")
            said.append(f"whether the TaskManager of {name} reaches the JobManager{where}: its log ends before it did")
    return _few(said, "TaskManagers")


def _nobodys_containers(tables: Tables) -> list[str]:
    """Containers that were killed, in logs in which nothing tells that they were a streaming job's."""
    events = tables.get("log_events", ())
    ours = {event["scope"] for event in events if event["signature"] not in WORKERS}
    named = {e["resource"] or _CONTAINER.search(e["text"] or "") for e in events if e["signature"] in WORKERS and e["scope"] not in ours}
    names = sorted({each if isinstance(each, str) else each[0] for each in named if each})
    return _few(
        [f"whose container {name} was, which these lines say was killed: nothing beside it is a streaming job's" for name in names],
        "containers",
    )


def _at_the_end(events: Sequence[Row]) -> bool:
    """Whether the last of `events` stands near the end of what was read."""
    last = max((e["at"] for e in events if e["at"]), default=None)
    end = max((e["as_of"] for e in events if e["as_of"]), default=None)
    return last is None or end is None or (end - last).total_seconds() <= _NEAR_SECONDS


def _few(said: list[str], of: str) -> list[str]:
    return said[:_SAID] + ([f"and the same of {len(said) - _SAID} more {of}"] if len(said) > _SAID else [])
