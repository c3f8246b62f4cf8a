"""Are the Kafka transactions still open, or committed, that its sinks are to commit after the restore?

An exactly-once sink flushes a transaction for each checkpoint and commits it when the checkpoint has completed; a restore commits it again
(KafkaCommitter). A transaction that was not committed before, and that the broker has aborted meanwhile (transaction.timeout.ms from its
beginning, at most the brokers' transaction.max.timeout.ms), is lost: no reader of committed records ever sees them, and the sources are
beyond them (LAG403). Its coordinator knows which it is, as long as the transactional id was not used again, and for
transactional.id.expiration.ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from analyzers.derived.planned.answers import BREAKS, GOES, UNKNOWN, answer, counted, some
from analyzers.derived.planned.restore.case import Answer, Restore
from analyzers.tables import Row

_ASK = "Ask the brokers: --bootstrap-server, or --command-config, with a user that may DESCRIBE the transactional ids."
_COMPARE = (
    "Compare its age with the sink's transaction.timeout.ms: what was not committed by then is lost. A job that this savepoint stopped, "
    "and that FINISHED, had committed them."
)
_COMMITTED, _ABORTED = ("CompleteCommit", "PrepareCommit"), ("CompleteAbort", "PrepareAbort", "PrepareEpochFence")
_NEXT = 1
"""Epochs that a coordinator is ahead by after a transaction: it bumps them when it aborts one by timeout, and since KIP-890 at each end."""


def transactions(case: Restore) -> Iterator[Answer]:
    """One answer for all: the worst."""
    rows = [row for row in case.rows("pending_transactions") if row["path"] == case.path]
    if not rows:
        return
    unread = [row for row in rows if row["transactional_id"] is None]
    known = [row for row in rows if row["transactional_id"] is not None]
    now = {row["transactional_id"]: row for row in case.rows("transactional_ids")}
    fate = {row["transactional_id"]: _fate(row, now.get(row["transactional_id"])) for row in known}
    aborted = [name for name, value in fate.items() if value == "aborted"]
    unclear = [name for name, value in fate.items() if value == "unclear"]
    still_open = [name for name, value in fate.items() if value == "open"]
    what = f"of {counted(len(known), 'transaction')} that its sinks commit after the restore"
    if aborted:
        says = f"{what} the brokers have aborted {len(aborted)} ({some(aborted)}): their records are lost, and not written again"
        todo = (
            "Restore from the checkpoint before it, whose transactions were committed, and raise transaction.timeout.ms (and the brokers' "
            "transaction.max.timeout.ms) above the longest stop."
        )
        yield answer("transactions", BREAKS, says, todo, number=len(aborted))
    elif unread:
        says = f"the transactions of {counted(len(unread), 'subtask')} of a sink cannot be read: {unread[0]['unread']}"
        yield answer("transactions", UNKNOWN, says, _COMPARE, number=len(unread))
    elif unclear and not now:
        says = (
            f"whether {counted(len(known), 'transaction')} of its sinks ({some(list(fate))}) were committed, or are open still, is not "
            f"known: {case.no_broker}{_age(case)}"
        )
        yield answer("transactions", UNKNOWN, says, _ASK, number=len(unclear))
    elif unclear:
        why = next((row["error"] for name in unclear if (row := now.get(name)) and row["error"]), None) or (
            "their coordinators do not know them any more, or the ids were used again since"
        )
        says = f"{what} the brokers do not tell how {len(unclear)} ended ({some(unclear)}): {why}{_age(case)}"
        yield answer("transactions", UNKNOWN, says, _COMPARE, number=len(unclear))
    elif still_open:
        first = min((row for name in still_open if (row := now[name])["started_at"] and row["timeout_ms"]), key=_ends, default=None)
        until = f" the first is aborted at {_ends(first):%Y-%m-%d %H:%M:%S} UTC" if first is not None else " the brokers abort them in time"
        says = f"{what} {len(still_open)} are open still ({some(still_open)}), and the restore commits them:{until}"
        yield answer("transactions", GOES, says, "Restore before that.", number=len(known))
    else:
        yield answer("transactions", GOES, f"{what} all were committed before", number=len(known))


def _fate(row: Row, now: Row | None) -> str:
    """committed, aborted, open or unclear."""
    if now is None or now["known"] is not True or now["producer"] != row["producer"] or now["producer_epoch"] is None:
        return "unclear"
    ahead = now["producer_epoch"] - row["producer_epoch"]
    if now["state"] == "Ongoing":
        return "open" if ahead == 0 else "unclear"
    if not 0 <= ahead <= _NEXT:
        return "unclear"
    return "committed" if now["state"] in _COMMITTED else "aborted" if now["state"] in _ABORTED else "unclear"


def _ends(now: Row) -> datetime:
    started: datetime = now["started_at"]
    return started + timedelta(milliseconds=now["timeout_ms"])


def _age(case: Restore) -> str:
    file = case.file or {}
    if not file.get("mtime"):
        return ""
    return f". They were begun before {file['mtime']:%Y-%m-%d %H:%M:%S} UTC, and one is aborted transaction.timeout.ms after its beginning"
