"""LAG310: a change data capture source makes its replication slot anew although it has a position: the changes between are lost."""

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, DataFrame, F, Window, detail, event, found, of_newest, rule, some

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
) -> DataFrame:
    """Per source of a log. Source: Debezium's PostgresConnectorTask and PostgresReplicationConnection: a new slot begins at the end."""
    names = {name: detail(name) for name in ("slot", "position", "flushed")}
    # its lines in their order: a position, the slot that is made, the snapshot that is skipped are of one start
    own = Window.partitionBy("scope", F.coalesce("job", F.lit("")), "file").orderBy("line")
    steps = log_events.where(event(HAD, CREATED, SKIPPED)).withColumns(names)
    steps = steps.withColumns(
        {"_before": F.lag("signature").over(own), "_after": F.lead("signature").over(own), "_had": F.lag("position").over(own)}
    )
    anew = steps.where(event(CREATED) & (F.col("_before") == HAD) & (F.col("_after") == SKIPPED)).withColumn("position", F.col("_had"))
    valid = log_events.where(event(VALID)).select("scope", "file", F.col("line").alias("_valid"), detail("flushed").alias("_flushed"))
    begins = F.min_by("_flushed", F.when(F.col("_valid") > F.col("line"), F.col("_valid")))
    joined = anew.drop("flushed").join(valid, ["scope", "file"], "left")
    lost = found(joined, "job", "file", flushed=begins, **of_newest("slot", "position", by="line"))
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
