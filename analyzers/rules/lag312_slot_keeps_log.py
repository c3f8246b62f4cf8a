"""LAG312: a replication slot of PostgreSQL keeps the database's log, as its reader is gone or confirms nothing."""

from typing import Any

from analyzers.vocabulary import ANY, CRITICAL, Column, DataFrame, F, IfGiven, beside, first_of, found, rule

_KEPT = "[[{kept_shown} of WAL]][[ (wal_status {status})]]"
_WHERE = "slot {slot}[[ of database {database}]]"
_STANDS = "[[. Its restart_lsn {restart} stood{over_minutes}, and the log went on by {went_on}]]"


@rule(
    "LAG312", title="A replication slot keeps the database's log", cause="no-progress", stage="lag", severity=CRITICAL, logs_of=ANY,
    says={
        "no-heartbeat": f"The {_WHERE} keeps {_KEPT}: {{connector}} reads it, and confirms nothing newer than {{confirmed}}{_STANDS}. A "
        "source without a heartbeat confirms a position only when a captured table changes; what other tables and databases of the server "
        "write is kept until then",
        "unconfirmed": f"The {_WHERE} keeps {_KEPT}: its reader is connected and confirms nothing newer than {{confirmed}}{_STANDS}",
        "unread": f"No reader is connected to {_WHERE}, which keeps {_KEPT}{_STANDS}",
        "lost": "PostgreSQL has removed the log that {slot} needs (wal_status lost): its "
        "reader cannot go on from its position",
    },
    missing={
        "unconfirmed": "whether its tables are quiet or its reader is stuck: its log, and its settings (heartbeat.interval.ms)",
        "": "",
    },
    next_command="SELECT slot_name, active, wal_status, restart_lsn, pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)) "
    "FROM pg_replication_slots;",
)  # fmt: skip
def slot_keeps_log(
    replication_slots: DataFrame,
    connector_configs: IfGiven,
    *,
    many: int = 10 << 30,  # bytes: a volume for the log is rarely ten times as large
    some: int = 1 << 30,  # bytes: max_wal_size by default, what a server keeps without any slot
    moved: int = 16 << 20,  # bytes: a segment of the log
) -> DataFrame:
    """Per slot, by its newest look; a slot stands where two looks show one restart_lsn and the log's end has moved.

    Source: PostgreSQL's pg_replication_slots and max_slot_wal_keep_size; Debezium's PostgresStreamingChangeEventSource, which flushes a
    position at its own events and heartbeats.
    """
    latest = ("active", "wal_status", "restart_lsn", "confirmed_lsn", "restart_bytes", "end_bytes", "kept_bytes", "database")
    behind = F.greatest("kept_bytes", F.col("end_bytes") - F.col("restart_bytes"), F.col("end_bytes") - F.col("confirmed_bytes"))
    rows = replication_slots.where(F.col("plugin").isNotNull() | F.col("database").isNotNull() | F.col("confirmed_lsn").isNotNull())
    newest = {name: F.max_by(name, F.when(F.col(name).isNotNull(), F.col("moment"))) for name in latest}
    shown = F.concat_ws(
        ", ", "slot", F.when(F.col("active"), "active").otherwise("not active"), F.concat(F.lit("restart_lsn "), "restart_lsn"),
        F.concat(F.lit("confirmed_flush_lsn "), "confirmed_lsn"), F.concat(F.lit("wal_status "), "wal_status"),
    )  # fmt: skip
    looks = found(
        rows.withColumns({"_behind": behind, "at": F.col("as_of"), "text": shown}),
        "slot",
        table="replication_slots",
        **dict[str, Any](newest),
        _kept=F.max_by("_behind", F.when(F.col("_behind").isNotNull(), F.col("moment"))),
        _looks=F.count_distinct("moment"),
        _places=F.count_distinct("restart_lsn"),
        _first_end=F.min("end_bytes"),
        _last_end=F.max("end_bytes"),
    )  # fmt: skip
    of_slot = connector_configs.where(F.col("key") == "slot.name").select("scope", "connector", F.col("value").alias("slot"))
    beats = connector_configs.where(F.col("key").rlike(r"^heartbeat\.") & ~F.col("value").isin("", "0")).select("scope", "connector")
    alive = (
        of_slot.join(beats.distinct().withColumn("_beats", F.lit(True)), ["scope", "connector"], "left")
        .groupBy("scope", "slot")
        .agg(F.min("connector").alias("connector"), F.bool_or(F.coalesce("_beats", F.lit(False))).alias("_beats"))
    )
    rows = beside(looks, alive, "slot")
    went_on = F.col("_last_end") - F.col("_first_end")
    stands = (F.col("_looks") > 1) & (F.col("_places") == 1) & (went_on >= moved)
    status = F.coalesce("wal_status", F.lit(""))
    over = status.isin("extended", "unreserved")
    kept = F.coalesce("_kept", F.lit(0))
    lasting = over | (kept >= many) | (F.coalesce(stands, F.lit(False)) & (kept >= some))
    gone, unread = status == "lost", ~F.coalesce("active", F.lit(True))
    quiet = F.coalesce(~F.col("_beats"), F.lit(False))
    minutes = F.round((F.unix_timestamp("until") - F.unix_timestamp("since")) / 60).cast("long")
    ill = rows.where(gone | (lasting & F.col("active").isNotNull()))
    return ill.withColumns(
        {
            "reason": first_of(("lost", gone), ("unread", unread), ("no-heartbeat", quiet), otherwise="unconfirmed"),
            "severity": first_of(
                ("critical", gone | (status == "unreserved") | (kept >= many)), ("warning", unread), ("critical", over & stands),
                otherwise="warning",
            ),
            "kept_shown": F.when(kept > 0, _size(kept)),
            "status": F.when(over, status),
            "restart": F.when(stands, F.col("restart_lsn")),
            "went_on": F.when(stands, _size(went_on)),
            "over_minutes": first_of((F.concat(F.lit(" for "), minutes.cast("string"), F.lit(" min")), minutes > 0), otherwise=""),
            "confirmed": F.coalesce("confirmed_lsn", "restart_lsn"),
            "confidence": F.lit(0.9),  # wanted: what the reader says
        }
    )  # fmt: skip


def _size(number: Column) -> Column:
    """Bytes as PostgreSQL's pg_size_pretty names them, in whole units."""
    whole = first_of((number / (1 << 30), number >= 10 << 30), otherwise=number / (1 << 20))
    return F.concat(F.round(whole).cast("long").cast("string"), first_of((" GB", number >= 10 << 30), otherwise=" MB"))
