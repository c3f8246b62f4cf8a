"""LAG309: a change data capture source waits for a replication slot that PostgreSQL has invalidated."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, DataFrame, F, detail, event, found, greatest, newest, of_newest, rule
from analyzers.vocabulary.quick_looks import captured

WAITS, VALID, HAD = "replication-slot-invalid", "replication-slot-valid", "source-offset-found"


def _one_waits_on(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a source that had a position was last seen waiting, after so many tries."""
    had = {(row["scope"], row["job"], row["file"]) for row in rows if row["signature"] == HAD}
    tries = (row for row in rows if row["signature"] == WAITS and (row["scope"], row["job"], row["file"]) in had)
    return any(int(captured(row, "tries") or 0) >= thresholds["enough"] for row in tries)


@rule(
    "LAG309", title="A source waits for a replication slot that was invalidated", cause="offset-reset", stage="access", severity=CRITICAL,
    signatures=(WAITS, VALID, HAD), needs=_one_waits_on,
    says="[[Connector {source}: ]]the source has waited for its replication slot {slot} of database {database}[[ since {since} UTC]], up "
    "to the end of its log ({tries} of {limit} tries). It has a position there[[ ({position})]]: PostgreSQL invalidated the slot, and "
    "nothing is read",
    inferred="A slot that is not valid and is not being made was invalidated: the source had a position in it before. That a concurrent "
    "transaction blocks it, as the line supposes, is true of new slots only.",
    next_command="SELECT slot_name, wal_status, invalidation_reason, restart_lsn FROM pg_replication_slots;   -- in database {database}",
)  # fmt: skip
def slot_invalidated(
    log_events: DataFrame,
    *,
    enough: int = 10,  # tries, one every 2 seconds: a standby or a fail-over may take so long to show a slot
) -> DataFrame:
    """Per source of a log. Source: Debezium's PostgresConnection.queryForSlot: a slot without restart_lsn is not valid."""
    names = {name: detail(name) for name in ("slot", "database", "limit", "position")}
    rows = log_events.withColumns({**names, "tries": detail("tries").cast("long")})
    waiting, had = rows.where(event(WAITS)), rows.where(event(HAD))
    said = of_newest("slot", "database", "limit", by="line")
    waits = found(waiting, "job", "file", tries=greatest("tries"), _last=F.max("line"), **said)
    had = had.groupBy("scope", "job", "file").agg(newest("position", "line").alias("position"))
    # another connection of the worker says so, too, and names no connector
    valid = rows.where(event(VALID)).groupBy("scope", "file").agg(F.max("line").alias("_valid"))
    lasting = waits.join(valid, ["scope", "file"], "left").join(had, ["scope", "job", "file"])
    lsn = F.nullif(F.regexp_extract("position", r"\blsn=(\d+)", 1), F.lit(""))
    ill = lasting.where((F.col("tries") >= enough) & (F.coalesce("_valid", F.lit(-1)) < F.col("_last")))
    return ill.withColumns(
        {
            "reason": F.lit("position-expired"),
            "source": F.col("job"),
            "position": F.concat(F.lit("lsn "), lsn),
            "confidence": F.lit(0.9),  # wanted: wal_status, which the database has
        }
    )
