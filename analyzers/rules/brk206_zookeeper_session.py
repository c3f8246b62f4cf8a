"""BRK206: a broker loses its session in ZooKeeper."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.brokers import broker_in_text
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.zookeeper import OF_BROKERS, slow_disk

_LOST = ("zookeeper-session-expired", "zookeeper-session-timed-out", "zookeeper-connection-broken", "zookeeper-awaited")


@rule(
    "BRK206",
    title="A broker loses its session in ZooKeeper",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=BROKER,
    signatures=(*_LOST, "zookeeper-session-established", "zookeeper-sync-slow", "broker-address", "broker-started", "broker-shutting-down"),
    says={
        "zookeeper-away": "[[Broker {broker}]][[{some_broker}]] has no connection to ZooKeeper[[ since {since} UTC]], up to the end of "
        "its log. Until it is back no partition gets another leader and no replica set is changed: what needs either stands still",
        "": "[[Broker {broker}]][[{some_broker}]] lost its session in ZooKeeper {times} time(s)[[, first at {since} UTC]][[ and last at "
        "{last} UTC]]: each time it is out of the cluster until it has registered again, and its partitions change leaders[[. {disk}]]",
    },
    inferred="[[{stood_still}]]",
    missing="[[{asked}]]",
    needs=has(signature=_LOST),
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)
def zookeeper_session(
    log_events: DataFrame,
    log_files: DataFrame | None,
    *,
    enough: int = 3,  # sessions; one is lost in a longer pause, and comes back
    apart: int = 30,  # seconds; one loss is told by several lines
    lasting: int = 60,  # seconds without ZooKeeper; a rolling restart of its servers takes a client from one to the next
    fresh: int = 120,  # seconds before the end of the log
    calm: int = 1800,  # seconds of log without another loss: it has passed
    fragment: int = 60,  # lines: so short an excerpt ends with what it wants to show
    slack: int = 3,  # seconds that a client may be late to notice
) -> DataFrame:
    """Per broker log: sessions that expired, and a connection that did not come back. Source: ClientCnxn, ZooKeeperClient."""
    here = ["scope", "file"]
    of_kafka = F.max(F.col("signature").isin(*OF_BROKERS) | F.contains("text", F.lit("[ZooKeeperClient"))).over(Window.partitionBy(*here))
    by_text = F.col("role").isNull() & of_kafka  # tools and other programs are clients of ZooKeeper, too
    own = log_events.withColumn("_own", (F.col("role") == "kafka-broker") | by_text).where("_own")
    expired, established = F.col("signature") == "zookeeper-session-expired", F.col("signature") == "zookeeper-session-established"
    back = own.groupBy(*here).agg(
        F.max(F.when(established, F.col("line"))).alias("_back"),
        F.max(F.when(established, F.col("detail")["timeout_ms"].cast("long"))).alias("granted_ms"),
        F.max(F.col("level") == "INFO").alias("_tells"),  # who logs warnings alone does not say that the connection is back
        F.max(F.when(F.col("signature") == "broker-shutting-down", F.col("line"))).alias("_stops"),
        F.max(F.coalesce(F.col("broker"), F.col("detail")["registered"].cast("long"))).alias("registered"),
    )
    rows = own.join(back, here, "left").where(F.col("_stops").isNull() | (F.col("line") < F.col("_stops")))
    lost = F.col("signature").isin(*_LOST)
    gone = lost & (F.col("_back").isNull() | (F.col("line") > F.col("_back")))
    heard = F.when(F.col("signature") == "zookeeper-session-timed-out", F.col("duration_ms"))
    server = F.coalesce(F.col("detail")["server"], F.col("address"))
    per_log = (
        rows.where(lost)
        .groupBy(*here, "granted_ms", "registered", "_back", "_tells")
        .agg(
            F.countDistinct(F.when(expired, F.coalesce(F.floor(F.unix_seconds("at") / apart), F.col("line")))).alias("times"),
            F.min(F.when(expired, F.col("at"))).alias("expired_first"),
            F.max(F.when(expired, F.col("at"))).alias("expired_last"),
            F.min(F.when(gone, F.col("at"))).alias("gone_since"),
            F.max(F.when(gone, F.col("at"))).alias("gone_until"),
            F.count_if(gone & expired).alias("gone_expired"),
            F.max(heard).alias("silence_ms"),
            distinct(F.when(gone & (server != "null"), F.regexp_replace(server, r"^/", "")), "servers"),
            agreed(broker_in_text(), "named"),
            F.max("as_of").alias("end"),
            exemplars(where=expired | (F.col("signature") == "zookeeper-session-timed-out") | gone),
        )
    )
    lines = (
        per_log.select(*here).withColumn("lines", F.lit(None).cast("long"))
        if log_files is None
        else log_files.groupBy(*here).agg(F.max("lines").alias("lines"))
    )
    away = F.col("_tells") & (seconds("gone_since", "gone_until") >= lasting) & (seconds("gone_until", "end") <= fresh)
    cut_off = (F.col("gone_expired") > 0) & (F.col("lines") <= fragment)
    told = per_log.join(lines, here, "left").withColumn("away", F.coalesce(away | cut_off, F.lit(False)))
    found = told.where(F.col("away") | (F.col("times") >= 1))
    ill = F.col("away") | ((F.col("times") >= enough) & F.coalesce(seconds("expired_last", "end") <= calm, F.lit(True)))
    limit = F.col("granted_ms") * 2 / 3
    late = F.col("silence_ms") > limit + slack * 1000
    stood_still = F.concat(
        F.lit("The broker itself stood still: it noticed only after "),
        F.round(F.col("silence_ms") / 1000).cast("long"),
        F.lit(" s what its client notices after "),
        F.round(limit / 1000).cast("long"),
        F.lit(" s (two thirds of the session time-out): long GC, or a host without CPU."),
    )
    losses = log_events.where(expired).select("scope", "at")
    return (
        found.join(slow_disk(log_events, losses, within=60), "scope", "left")
        .withColumns(
            {
                "job": F.lit(None).cast("string"),
                "broker": F.coalesce("named", "registered"),
                "reason": F.when(F.col("away"), F.lit("zookeeper-away")).otherwise(F.lit("zookeeper-session")),
                "severity": F.when(ill, F.lit("critical")).otherwise(F.lit("warning")),
                "since": F.when(F.col("away"), F.col("gone_since")).otherwise(F.col("expired_first")),
                "until": F.when(F.col("away"), F.col("gone_until")).otherwise(F.col("expired_last")),
                "stood_still": F.when(late, stood_still),
                "servers": F.array_join("servers", ", "),
                "confidence": F.when(F.col("away"), 0.75).otherwise(1.0),  # this end is seen, not why the other is silent
            }
        )
        .withColumns(
            {
                "some_broker": F.when(F.col("broker").isNull(), F.lit("A broker")),
                "last": F.when(F.col("until") > F.col("since"), F.col("until")),
                "asked": F.when(F.col("away"), F.lit("why it does not answer: ZooKeeper's own log")).when(
                    F.col("disk").isNull() & ~F.coalesce(late, F.lit(False)),
                    F.lit("who stood still: ZooKeeper's own log and the broker's GC log around these times have it"),
                ),
            }
        )
        .select(
            "scope", "job", "broker", "some_broker", "reason", "severity", "confidence", "since", "until", "last", "times", "servers",
            "stood_still", "disk", "asked", "evidence",
        )
    )  # fmt: skip
