"""BRK105: the group coordinator's broker is dead: commits stand still, mostly while the job reads on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.brokers import does_not_resolve
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.offset_commits import OF_FLINK, answered, refusal, silent, unfound
from analyzers.vocabulary.rule import rule

TROUBLE = (
    "coordinator-unavailable", "coordinator-disconnected", "commit-failed", "commit-failed-legacy", "commit-retriable",
    "partition-commit-failed", "request-timed-out",
)  # fmt: skip
UNCONNECTED = ("node-connect-error", "connection-failed")
LOST = ("coordinator-unavailable", "coordinator-disconnected")


def _stays_lost(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Enough trouble of one job, a lost coordinator in it, and not all of it over, with a coordinator found, in a moment."""
    moment = min(thresholds[name] for name in ("lasting", "lasting_dark", "calm", "apart"))
    per_job: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for row in rows:
        if row["at"] is not None and row["signature"] != "node-setup-timeout":
            per_job[row["scope"], row["job"]].append(row)
    for mine in per_job.values():
        trouble = [row for row in mine if row["signature"] in TROUBLE]
        if len(trouble) < thresholds["enough"] or not any(row["signature"] in LOST for row in trouble):
            continue
        found = max((row["at"] for row in mine if row["signature"] == "coordinator-found"), default=None)
        began, ended = min(row["at"] for row in trouble), max(row["at"] for row in trouble)
        longest = max((row["duration_ms"] or 0 for row in trouble), default=0)
        over = found is not None and found > ended and max((found - began).total_seconds(), longest / 1000) < moment
        if not over:
            return True
    return False


@rule(
    "BRK105",
    title="The group coordinator is lost and offsets cannot be committed",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=(*TROUBLE, "coordinator-found", "node-setup-timeout", *UNCONNECTED),
    says={
        "": "The coordinator of group {group}[[, broker {broker}]][[ at {address}]], has been unusable for {minutes} minute(s)[[, since "
        "{since} UTC]]: {commits} commit(s) failed, "
        "committed offsets stand still{read_on}",
        "coordinator-flaps": "The coordinator of group {group}[[, broker {broker}]][[ at {address}]], is found and lost again within two "
        "seconds, at least {flaps} times[[ since {since} UTC]]: the client is told who coordinates, and cannot stay connected there",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
    needs=_stays_lost,
)
def coordinator_dead(
    log_events: DataFrame,
    *,
    lasting: int = 120,  # seconds; a coordinator that moves or restarts is back within a minute or two
    lasting_dark: int = 45,  # seconds; where connections are not even refused the host is gone, and no restart looks like that for long
    enough: int = 3,  # two failed commits are a rolling restart
    calm: int = 120,  # seconds without trouble behind "Discovered group coordinator": it works again (a dead one is lost again at once)
    flapping: int = 10,  # times; while a group moves to another broker a client asks a few times
    apart: int = 900,  # seconds; failures farther apart are two incidents (one commit per checkpoint, rarely more than 10 minutes)
    unread: int = 30,  # seconds of failed connections for reading: partitions of a broker that died have other leaders by then
) -> DataFrame:
    """Groups whose one coordinator stayed in trouble; a coordinator that came back soon or moved to another broker is healthy."""
    reading = _unread(log_events.where(F.col("signature").isin(*UNCONNECTED)))
    rows = _episodes(log_events.where(~F.col("signature").isin(*UNCONNECTED)), calm=calm, apart=apart)
    commit = F.col("trouble") & F.col("signature").isin("commit-failed", "commit-failed-legacy", "partition-commit-failed")
    found = F.col("signature") == "coordinator-found"
    episodes = rows.groupBy("scope", "job", "episode").agg(
        F.count_if(commit).alias("commits"),
        F.count_if(F.col("signature").isin(*LOST)).alias("losses"),
        F.min(F.when(F.col("trouble"), F.col("at"))).alias("since"),
        F.min(F.when(silent() | (F.col("signature").isin(*LOST) & ~answered()), F.col("at"))).alias("lost_at"),
        F.max(F.when(F.col("trouble"), F.col("at"))).alias("until"),
        F.max(F.when(found, F.col("at"))).alias("found_at"),
        F.max(F.when(F.col("signature") == "coordinator-disconnected", F.col("duration_ms"))).alias("longest_ms"),
        distinct(F.when(F.col("signature").startswith("coordinator-"), F.col("broker")), "brokers"),
        agreed("address"),
        agreed("group", "group_named"),
        F.count_if(F.col("signature") == "node-setup-timeout").alias("dark"),
        F.count_if(silent()).alias("silent"),
        F.count_if(answered()).alias("answered"),
        F.count_if("deaf").alias("deaf"),
        F.count_if("flap").alias("all_flaps"),
        F.max("client_flaps").alias("flaps"),  # of one client: many of them lose a coordinator that moves, each a few times
        seconds(F.min(F.when(F.col("deaf"), F.col("at"))), F.max(F.when(F.col("deaf"), F.col("at")))).alias("deaf_for"),
        F.max("as_of").alias("end"),
        F.max(_found_unseen()).alias("unseen"),
        exemplars(where=F.col("trouble")),
    )
    back = F.when(F.col("found_at") > F.col("until"), F.col("found_at")).when(F.col("unseen"), F.col("until")).otherwise(F.col("end"))
    out = F.greatest(seconds("since", back), F.coalesce(F.col("longest_ms") / 1000, F.lit(0)))
    mostly = F.col("silent") + F.col("dark") > F.col("answered")  # one that answers lives, whatever it answers (LAG401, LAG404)
    at_last = (F.col("deaf") >= enough) & (F.col("deaf_for") >= lasting)  # one that answered first and has not for long is gone
    flaps = (F.col("flaps") >= flapping) & (F.col("all_flaps") >= 0.8 * F.col("losses"))
    one = F.size(F.coalesce("brokers", F.array())) <= 1
    dead = episodes.where(
        (F.col("losses") >= 1)
        & (at_last | mostly)
        & (F.col("commits") + F.col("losses") >= enough)
        & one
        & (out >= F.when((F.col("dark") > 0) | flaps, lasting_dark).otherwise(lasting))
    )
    worst = (
        dead.withColumn("minutes", F.greatest(F.round(out / 60), F.lit(1)).cast("long"))
        # answers before it was lost (it loads, it is not the right one) are those of a start or a move
        .withColumn("since", F.greatest("since", "lost_at"))
        .withColumn("reason", F.when(flaps & (F.col("commits") == 0), F.lit("coordinator-flaps")).otherwise(F.lit("coordinator")))
        .groupBy("scope", "job")
        .agg(
            *(
                F.max_by(name, "since").alias(name)
                for name in ("until", "minutes", "commits", "flaps", "reason", "evidence", "brokers", "address", "group_named")
            ),
            F.max("since").alias("since"),
        )
    )
    other = reading.withColumnsRenamed({"scope": "_scope", "job": "_job", "broker": "_broker"})
    same = (F.col("scope") == F.col("_scope")) & F.col("job").eqNullSafe(F.col("_job")) & (F.col("broker") == F.col("_broker"))
    both = worst.withColumn("broker", F.col("brokers")[0]).join(other, same, "left").drop("_scope", "_job", "_broker")
    not_read = F.coalesce((seconds("unread_since", "unread_until") >= unread) & (seconds("unread_until", "until") <= unread), F.lit(False))
    number = F.coalesce(F.col("broker").cast("string"), F.lit("that coordinates the group"))
    return both.withColumns(
        {
            "read_on": F.when(
                not_read,
                F.concat(
                    F.lit(". Connections for reading it fail as well, to "),
                    F.date_format("unread_until", "HH:mm:ss"),
                    F.lit(" UTC: what that broker leads is not read, and the lag of it is real"),
                ),
            ).otherwise(F.lit(" although the job reads on; the lag that monitors show is not real")),
            "mend": F.when(
                not_read & F.col("nameless").isNotNull(),
                F.concat(
                    F.lit("Correct advertised.listeners of broker "),
                    number,
                    F.lit(": "),
                    "nameless",
                    F.lit(" does not resolve here"),
                ),
            ).otherwise(F.concat(F.lit("Bring broker "), number, F.lit(" back"))),
            # a broker that is not read either ails of more than what commits show: whoever says what comes first
            "confidence": F.when(not_read, F.lit(0.5)).otherwise(F.lit(1.0)),
            "group": F.coalesce("group_named", F.lit("of the job")),
        }
    ).drop("brokers", "group_named", "unread_since", "unread_until", "nameless")


def _unread(log_events: DataFrame) -> DataFrame:
    """Failed connections of consumers to a broker as a leader, not as their coordinator (whose node ids are above 2147480000)."""
    node = F.regexp_extract("text", r"(?:\(id: |\bnode )(\d+)\b", 1)
    for_reading = (F.length(node).between(1, 9)) & (F.col("detail")["client_kind"] == "Consumer")
    return (
        log_events.where(for_reading & F.col("at").isNotNull())
        .groupBy("scope", "job", "broker")
        .agg(
            F.min("at").alias("unread_since"),
            F.max("at").alias("unread_until"),
            F.max(F.when(does_not_resolve(), F.col("address"))).alias("nameless"),
        )
    )


def _found_unseen() -> Column:
    """Whether it was found behind this row, in lines that are no rows: when, nobody knows."""
    return F.coalesce(F.col("left_out")["coordinator-found"].isNotNull(), F.lit(False))


def _episodes(log_events: DataFrame, *, calm: int, apart: int) -> DataFrame:
    """Rows of coordinator trouble and of found coordinators, numbered by episode per job; `deaf`: lost since the last answer."""
    untold = F.col("signature").isin(*OF_FLINK) & (refusal() == "refused") & F.col("root_exception").isNull()
    others = F.coalesce(~((refusal() == "coordinator") | untold), F.lit(False))
    trouble = ~others & ~F.col("signature").isin("coordinator-found", "node-setup-timeout")
    before = Window.partitionBy("scope", "job").orderBy("at", "file", "line")
    rows = log_events.where(F.col("at").isNotNull()).withColumn("trouble", trouble)
    gap = seconds(F.lag("at").over(before), "at")
    works_again = (F.lag("signature").over(before) == "coordinator-found") & (gap > calm)
    unseen = F.lag(_found_unseen()).over(before)
    fresh = F.coalesce(works_again | (gap > apart) | unseen, F.lit(False))
    numbered = rows.withColumn("fresh", fresh.cast("int")).withColumn("episode", F.sum("fresh").over(before))
    last_answer = F.max(F.when(answered(), F.col("at"))).over(Window.partitionBy("scope", "job", "episode"))
    since_answer = F.coalesce(F.col("at") > last_answer, F.lit(True))
    told = F.coalesce(F.col("detail")["because"].startswith("error response"), F.lit(False))
    of_client = Window.partitionBy("scope", "job", "episode", "file", "client")
    earlier = of_client.orderBy("at", "line")
    at_once = seconds(F.lag("at").over(earlier), "at") <= 2
    just_found = (F.lag("signature").over(earlier) == "coordinator-found") & at_once & F.col("signature").isin(*LOST) & ~told
    flapped = numbered.withColumn("flap", F.coalesce(just_found, F.lit(False)))
    numbered = flapped.withColumn("client_flaps", F.count_if("flap").over(of_client))
    return numbered.withColumn("deaf", since_answer & F.coalesce(silent() | unfound(), F.lit(False)))
