"""BRK105: the group coordinator's broker is unreachable: commits stand still, mostly while the job reads on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.tables import Row

from analyzers.vocabulary import (  # isort: skip
    CLIENTS, CRITICAL, DataFrame, F, Window, agreed, beside, count, detail, distinct, event, first_of, found, greatest, least, rule,
    seconds,
)  # fmt: skip
from analyzers.vocabulary.brokers import does_not_resolve
from analyzers.vocabulary.episodes import episodes
from analyzers.vocabulary.offset_commits import answered, has_answered, is_of_coordinator, is_silent, of_another, silent, unfound
from analyzers.vocabulary.quick_looks import grouped, lasted, persisted

TROUBLE = (
    "coordinator-unavailable", "coordinator-disconnected", "commit-failed", "commit-failed-legacy", "commit-retriable",
    "partition-commit-failed", "request-timed-out",
)  # fmt: skip
LOST = ("coordinator-unavailable", "coordinator-disconnected")
COMMITS = ("commit-failed", "commit-failed-legacy", "partition-commit-failed")
UNCONNECTED = ("node-connect-error", "connection-failed")


def _one_was_lost(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether an episode of a job's has enough trouble, and was not over soon."""
    for own in grouped((row for row in rows if row["at"] is not None and row["signature"] not in UNCONNECTED), "job").values():
        if sum(row["signature"] in (*LOST, *COMMITS) for row in own) >= thresholds["enough"]:
            apart = (thresholds["apart"], thresholds["calm"])
            if any(
                _is_long(episode, thresholds)
                for episode in _episodes(sorted(own, key=lambda row: (row["at"], row["file"], row["line"])), *apart)
            ):
                return True
    return False


def _episodes(rows: Sequence[Row], apart: float, calm: float) -> Iterator[list[Row]]:
    own: list[Row] = []
    for row in rows:
        if own and (_is_found_unseen(own[-1]) or lasted((own[-1], row)) > (calm if own[-1]["signature"] == "coordinator-found" else apart)):
            yield own
            own = []
        own.append(row)
    yield own


def _is_found_unseen(row: Row) -> bool:
    """Whether the coordinator was found after this row, in a line that is counted only."""
    return "coordinator-found" in (row["left_out"] or {})


def _is_long(episode: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    lost = [row["at"] for row in episode if row["signature"] in LOST]
    commits = sum(row["signature"] in COMMITS and is_of_coordinator(row) for row in episode)
    brokers = {row["broker"] for row in episode if row["signature"] in (*LOST, "coordinator-found")} - {None}
    if not lost or len(lost) + commits < thresholds["enough"] or len(brokers) > 1:
        return False
    answers = [row["at"] for row in episode if has_answered(row)]
    dark = sum(row["signature"] == "node-setup-timeout" for row in episode)
    since = [row for row in episode if not answers or row["at"] > max(answers)]
    if dark + sum(map(is_silent, episode)) <= len(answers) and not persisted(
        since, enough=thresholds["enough"], lasting=thresholds["lasting"]
    ):
        return False
    trouble = [row["at"] for row in episode if row["signature"] in TROUBLE and is_of_coordinator(row)]
    found_at = max((row["at"] for row in episode if row["signature"] == "coordinator-found"), default=min(lost))
    is_back = found_at > max(lost) and (max(trouble) - found_at).total_seconds() <= thresholds["in_flight"]
    end = max(trouble) if any(map(_is_found_unseen, episode)) else max(row["as_of"] or row["at"] for row in episode)
    back = found_at if is_back else end
    out: float = max((back - min(trouble)).total_seconds(), *((row["duration_ms"] or 0) / 1000 for row in episode))
    enough: int = thresholds["lasting_dark"] if dark or len(lost) >= thresholds["flapping"] else thresholds["lasting"]
    return out >= enough


@rule("BRK105", title="The group coordinator is lost and offsets cannot be committed", cause="broker-unreachable", stage="access",
    severity=CRITICAL, logs_of=CLIENTS, signatures=(*TROUBLE, "coordinator-found", "node-setup-timeout", *UNCONNECTED),
    needs=_one_was_lost,
    says={
        "coordinator": "The coordinator[[ of group {group}]][[ (broker {broker})]][[ at {address}]] has been unusable for {minutes} "
        "minute(s)[[, since {since} UTC]]: {commits} commit(s) failed, committed offsets stand still[[ although the job {reads_on}]][[. "
        "Connections for reading from it fail as well, up to {unread_until} UTC: the partitions that it leads are not read, and their lag "
        "is real]]",
        "coordinator-flaps": "The coordinator[[ of group {group}]][[ (broker {broker})]][[ at {address}]] is found and lost again within "
        "two seconds, at least {flaps} times[[ since {since} UTC]]: the client learns which broker coordinates, and cannot stay connected "
        "to it",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def coordinator_dead(
    log_events: DataFrame,
    *,
    lasting: int = 120,  # seconds; a coordinator that moves or restarts is back within a minute or two
    lasting_dark: int = 45,  # seconds; where connections are not even refused the host is gone, and no restart is like that for long
    enough: int = 3,  # two failed commits are a rolling restart
    calm: int = 120,  # seconds without trouble behind "Discovered group coordinator": it works again (a dead one is lost at once)
    in_flight: int = 5,  # seconds in which callbacks of commits that were lost with the coordinator still come
    flapping: int = 10,  # times; while a group moves to another broker a client asks a few times
    apart: int = 900,  # seconds; failures farther apart are two incidents (one commit per checkpoint, rarely more than 10 minutes)
    unread: int = 30,  # seconds of failed connections for reading: partitions of a broker that died have other leaders by then
) -> DataFrame:
    """Groups whose one coordinator stayed in trouble; a coordinator that came back soon or moved to another broker is healthy."""
    trouble, deaf = F.col("_trouble"), F.col("_deaf")
    each = found(
        _weighed(log_events.where(~event(*UNCONNECTED) & F.col("at").isNotNull()), calm=calm, apart=apart), "job", "episode", of=trouble,
        # one commit that fails is logged by the coordinator, by the consumer and by the connector
        commits=F.greatest(*(count(trouble & event(name)) for name in COMMITS)),
        _failed=count(trouble & event(*COMMITS)), losses=count(event(*LOST)), dark=count(event("node-setup-timeout")),
        _silent=count(silent()), _answered=count(answered()), _deaf=count(deaf), _deaf_for=seconds(least("at", deaf), greatest("at", deaf)),
        # of one client: many of them lose a coordinator that moves, each a few times
        flaps=F.max("_client_flaps"), _flaps=count(F.col("_flap")), _lost_at=least("at", silent() | (event(*LOST) & ~answered())),
        _last_loss=greatest("at", event(*LOST)), _found_at=greatest("at", event("coordinator-found")),
        _unseen=F.max("_unseen"), _end=F.max("as_of"),
        _longest=greatest("duration_ms", event("coordinator-disconnected")) / 1000, address=agreed("address"), group=agreed("group"),
        _brokers=distinct(F.when(event(*LOST, "coordinator-found"), F.col("broker")), "_brokers"),
    )  # fmt: skip
    # commits that were under way when it was lost fail a moment after it was found again
    last_loss = F.coalesce("_last_loss", F.col("until"))
    found_again = (F.col("_found_at") > last_loss) & (seconds("_found_at", "until") <= in_flight)
    back = first_of((F.col("_found_at"), found_again), (F.col("until"), F.col("_unseen")), otherwise=F.col("_end"))
    out = F.greatest(seconds("since", back), F.coalesce("_longest", F.lit(0)))
    mostly = F.col("_silent") + F.col("dark") > F.col("_answered")  # one that answers is up, whatever it answers (LAG401, LAG404)
    at_last = (F.col("_deaf") >= enough) & (F.col("_deaf_for") >= lasting)  # one that answered first and has not for long is gone
    flaps = (F.col("flaps") >= flapping) & (F.col("_flaps") >= 0.8 * F.col("losses"))
    long = out >= F.when((F.col("dark") > 0) | flaps, lasting_dark).otherwise(lasting)
    often = (F.col("losses") >= 1) & (F.col("_failed") + F.col("losses") >= enough)
    one = F.size(F.coalesce("_brokers", F.array())) <= 1
    worded = each.where(long & often & one & (at_last | mostly)).withColumns(
        {
            "minutes": F.greatest(F.round(out / 60), F.lit(1)).cast("long"),
            # answers before it was lost (it loads, it is not the right one) are those of a start or a move
            "since": F.greatest("since", "_lost_at"),
            "reason": F.when(flaps & (F.col("commits") == 0), "coordinator-flaps").otherwise("coordinator"),
            "broker": F.col("_brokers")[0],
        }
    )
    newest = worded.groupBy("scope", "job").agg(F.max_by(F.struct("*"), "since").alias("_newest")).select("_newest.*")
    both = beside(newest, _reading_failed(log_events), "job", "broker")
    not_read = F.coalesce((seconds("_unread_since", "_unread") >= unread) & (seconds("_unread", "until") <= unread), F.lit(False))
    nameless = F.when(not_read & F.col("broker").isNotNull(), F.col("_nameless"))
    return both.withColumns(
        {
            "unread_until": F.when(not_read, F.col("_unread")),
            "reads_on": F.when(~not_read, "reads on; the lag that monitors show is not real"),
            "nameless": nameless,
            "coordinator": F.when(nameless.isNull(), F.coalesce(F.concat(F.lit("broker "), "broker"), F.lit("the group's coordinator"))),
            # a broker that is not read from either has more wrong than commits show: a finding about the broker comes first
            "confidence": F.when(not_read, 0.5).otherwise(1.0),
        }
    )


def _reading_failed(log_events: DataFrame) -> DataFrame:
    """Failed connections of consumers to a broker as a leader, not as their coordinator (node ids above 2147480000)."""
    node = F.regexp_extract("text", r"(?:\(id: |\bnode )(\d+)\b", 1)
    for_reading = event(*UNCONNECTED) & F.length(node).between(1, 9) & (detail("client_kind") == "Consumer") & F.col("broker").isNotNull()
    nameless = greatest("address", does_not_resolve()).alias("_nameless")
    per_broker = log_events.where(for_reading & F.col("at").isNotNull()).groupBy("scope", "job", "broker")
    return per_broker.agg(F.min("at").alias("_unread_since"), F.max("at").alias("_unread"), nameless)


def _weighed(log_events: DataFrame, *, calm: int, apart: int) -> DataFrame:
    """Rows by episode: _trouble, _deaf (lost since the last answer), _flap (lost within two seconds), _client_flaps, _unseen."""
    trouble = ~of_another() & ~event("coordinator-found", "node-setup-timeout")
    unseen = F.coalesce(F.col("left_out")["coordinator-found"].isNotNull(), F.lit(False))  # found after this row, in a line not sampled
    pause = first_of((-1, unseen), (calm, event("coordinator-found")), otherwise=apart)
    rows = episodes(log_events.withColumns({"_trouble": trouble, "_unseen": unseen}), "job", gap=pause)
    client = Window.partitionBy("scope", "job", "episode", "file", "client")
    before = client.orderBy("at", "line")
    last_answer = F.max(F.when(answered(), F.col("at"))).over(Window.partitionBy("scope", "job", "episode"))
    at_once = (F.lag("signature").over(before) == "coordinator-found") & (seconds(F.lag("at").over(before), "at") <= 2)
    error = F.coalesce(detail("because").startswith("error response"), F.lit(False))
    flap = F.coalesce(at_once & event(*LOST) & ~error, F.lit(False))
    deaf = F.coalesce(F.col("at") > last_answer, F.lit(True)) & F.coalesce(silent() | unfound(), F.lit(False))
    return rows.withColumns({"_flap": flap, "_deaf": deaf}).withColumn("_client_flaps", F.count_if("_flap").over(client))
