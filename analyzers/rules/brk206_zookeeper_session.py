"""BRK206: a broker loses its session in ZooKeeper."""

from analyzers.vocabulary import (
    BROKER,
    CRITICAL,
    DataFrame,
    F,
    IfGiven,
    agreed,
    distinct,
    event,
    first_of,
    found,
    has,
    number_of,
    rule,
    seconds,
)
from analyzers.vocabulary.brokers import broker_in_text, broker_named
from analyzers.vocabulary.zookeeper import LOST, lines_of_brokers, slow_disk


@rule("BRK206", title="A broker loses its session in ZooKeeper", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, needs=has(signature=LOST),
    signatures=(*LOST, "zookeeper-session-established", "zookeeper-sync-slow", "broker-address", "broker-started", "broker-shutting-down"),
    says={
        "zookeeper-away": "{who} has had no connection to ZooKeeper[[ since {since} UTC]], up to the end of its log. Until it is back no "
        "partition can change its leader or its replicas",
        "": "{who} lost its session in ZooKeeper {times} time(s)[[, first at {since} UTC]][[, last at {last} UTC]]. Each time it is out of "
        "the cluster until it has registered again, and its partitions change leaders[[. {disk}]]",
    },
    inferred="[[The broker itself paused (long GC, or a host without CPU): it noticed the silence after {silence} s; its client notices it "
    "after {limit} s (two thirds of the session timeout).]]",
    missing={"zookeeper-away": "why it does not answer: ZooKeeper's own log", "": "[[{unsaid}]]"},
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def zookeeper_session(
    log_events: DataFrame,
    log_files: IfGiven,
    *,
    enough: int = 3,  # sessions; one is lost in a longer pause, and comes back
    apart: int = 30,  # seconds; several lines report one loss
    lasting: int = 60,  # seconds without ZooKeeper; a rolling restart of its servers takes a client from one to the next
    fresh: int = 120,  # seconds before the end of the log
    calm: int = 1800,  # seconds of log without another loss: it has passed
    fragment: int = 60,  # lines: so short an excerpt was cut where the fault shows
    slack: int = 3,  # seconds that a client may be late to notice
) -> DataFrame:
    """Per broker log: sessions that expired, and a connection that did not come back. Source: ClientCnxn, ZooKeeperClient."""
    lost, gone = F.col("_lost"), F.col("_gone")
    expired, timed_out = (lost & event(f"zookeeper-session-{how}") for how in ("expired", "timed-out"))
    per_log = found(
        lines_of_brokers(log_events),
        "file",
        of=expired | timed_out | gone,
        broker=F.coalesce(agreed(F.when(lost, broker_in_text())), F.max("_registered")),
        times=number_of(F.when(expired, F.coalesce(F.floor(F.unix_seconds("at") / apart), "line"))),
        servers=distinct(F.when(gone, F.col("_server")), "servers"),
        _first=F.min(F.when(expired, F.col("at"))),
        _last=F.max(F.when(expired, F.col("at"))),
        _gone_since=F.min(F.when(gone, F.col("at"))),
        _gone_until=F.max(F.when(gone, F.col("at"))),
        _cut_off=F.count_if(gone & expired),
        _silence=F.max(F.when(timed_out, F.col("duration_ms"))) / 1000,
        _limit=F.max("_granted_ms") * 2 / 3000,
        _informs=F.max(F.col("level") == "INFO"),  # a log of warnings alone does not show that the connection is back
        _end=F.max("as_of"),
    )
    lines = log_files.groupBy("scope", "file").agg(F.max("lines").alias("_lines"))
    without = F.col("_informs") & (seconds("_gone_since", "_gone_until") >= lasting) & (seconds("_gone_until", "_end") <= fresh)
    ends_there = (F.col("_cut_off") > 0) & (F.col("_lines") <= fragment)
    away, late = F.col("_away"), F.col("_silence") > F.col("_limit") + slack
    goes_on = (F.col("times") >= enough) & F.coalesce(seconds("_last", "_end") <= calm, F.lit(True))
    ill = (
        per_log.join(lines, ["scope", "file"], "left")
        .withColumn("_away", F.coalesce(without | ends_there, F.lit(False)))
        .where(away | (F.col("times") >= 1))
        .join(slow_disk(log_events, log_events.where(event("zookeeper-session-expired")), within=60), "scope", "left")
    )
    since = first_of((F.col("_gone_since"), away), otherwise=F.col("_first"))
    until = first_of((F.col("_gone_until"), away), otherwise=F.col("_last"))
    who_paused = "which of the two paused: ZooKeeper's own log and the broker's GC log around these times"
    return ill.withColumns({
        "who": broker_named(F.col("broker")),
        "reason": first_of(("zookeeper-away", away), otherwise="zookeeper-session"),
        "severity": first_of(("critical", away | goes_on), otherwise="warning"),
        "confidence": first_of((0.75, away), otherwise=1.0),  # the log shows this end, not why the other is silent
        "since": since,
        "until": until,
        "last": F.when(F.col("times") > 1, until),
        "silence": F.when(late, F.round("_silence").cast("long")),
        "limit": F.round("_limit").cast("long"),
        "unsaid": first_of((who_paused, F.col("disk").isNull() & ~F.coalesce(late, F.lit(False)))),
    })  # fmt: skip
