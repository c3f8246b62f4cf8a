"""LAG310: a change data capture source makes its replication slot anew although it has a position: the changes between are lost."""

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, DataFrame, F, detail, event, found, of_newest, rule, some

CREATED, SKIPPED, VALID, HAD = "replication-slot-created", "source-snapshot-skipped", "replication-slot-valid", "source-offset-found"


def _is_sign(row: Row) -> bool:
    """Whether a line makes a slot."""
    return bool(row["signature"] == CREATED)


@rule(
    "LAG310", title="A source made its replication slot anew behind its position", cause="offset-reset", stage="access", severity=CRITICAL,
    signatures=(CREATED, SKIPPED, VALID, HAD), needs=some(_is_sign),
    says="[[Connector {source}: ]]the source had a position[[ ({position})]] and no replication slot: it made {slot} anew at {since} "
    "UTC[[, beginning at LSN {flushed}]], and took no snapshot. The slot holds nothing older: changes between its position and the new "
    "slot are lost, and nothing fails",
    missing="why the slot was gone: a fail-over to a standby that lacks it, or a DROP; the database's log and pg_replication_slots",
    next_command="SELECT slot_name, restart_lsn, confirmed_flush_lsn, failover FROM pg_replication_slots;",
)  # fmt: skip
def slot_made_anew(
    log_events: DataFrame,
    *,
    within: int = 400,  # lines from the position to the slot, and from there to the snapshot that is skipped: one start
) -> DataFrame:
    """Per source of a log. Source: Debezium's PostgresConnectorTask and PostgresReplicationConnection: a new slot begins at the end."""
    names = {name: detail(name) for name in ("slot", "position", "flushed")}
    rows = log_events.withColumns(names)

    def lines(signature: str, name: str, *columns: str) -> DataFrame:
        return rows.where(event(signature)).select("scope", "job", "file", F.col("line").alias(name), *columns)

    key = ["scope", "job", "file"]
    slots = rows.where(event(CREATED)).drop("position", "flushed")
    had = lines(HAD, "_had", "position")
    skipped = lines(SKIPPED, "_skipped")
    valid = lines(VALID, "_valid", "flushed")
    one_start = (F.col("line") > F.col("_had")) & (F.col("line") - F.col("_had") <= within)
    anew = slots.join(had, key).where(one_start).join(skipped, key)
    anew = anew.where((F.col("_skipped") > F.col("line")) & (F.col("_skipped") - F.col("line") <= within))
    behind = F.when((F.col("_valid") > F.col("line")) & (F.col("_valid") - F.col("line") <= within), F.col("flushed"))
    anew = anew.join(valid, key, "left").withColumn("flushed", behind)
    lost = found(anew, "job", "file", flushed=F.max("flushed"), **of_newest("slot", "position", by="line"))
    lsn = F.regexp_extract("position", r"\blsn=(\d+)", 1).try_cast("long")
    shown = F.concat(F.hex(F.shiftright(lsn, 32)), F.lit("/"), F.hex(lsn.bitwiseAND(F.lit(0xFFFFFFFF))))  # as PostgreSQL prints it
    return lost.withColumns(
        {
            "reason": F.lit("slot-made-anew"),
            "source": F.col("job"),
            "position": F.concat(F.lit("LSN "), shown),
            "confidence": F.lit(0.9),  # wanted: what was written between
        }
    )
