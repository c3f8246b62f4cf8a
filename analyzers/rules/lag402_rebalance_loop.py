"""LAG402: A consumer loses its partitions before it can commit (a rebalance loop), or a member of the group blocks the job's commits."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row

from analyzers.vocabulary import (  # isort: skip
    BROKER, CLIENTS, CRITICAL, Column, DataFrame, F, IfGiven, Window, beside, detail, event, first_of, found, number_of,
)  # fmt: skip
from analyzers.vocabulary import rule
from analyzers.vocabulary.aggregates import agreed, count, counted, distinct, greatest, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.offset_commits import OF_FLINK, refusal, why_refused
from analyzers.vocabulary.quick_looks import captured

LEFT = "(?i)LeaveGroup|removing member"
IN_ORDER = "(?i)client reason: the consumer (?:is being closed|unsubscribed)|pro-actively leaving"
EXPIRED = "(?i)heartbeat expiration|session (?:timeout|expired)|poll timeout"
MEMBER = r"(?i)(?:member |for \()([^\s)]+?)(?:-[0-9a-f]{8}-[0-9a-f-]{27})?(?:[\s)]|$)"
"""What a broker says of the departure of a member; brokers and clients before 3.2 do not say why it left."""
ON_BROKER = ("group-rebalance-on-broker", "group-member-failed")
SPARKS_OWN = "^spark-kafka-(source|relation)-|-driver-[0-9]+$"
"""Groups of a query's driver, which looks up offsets at each trigger and never commits: one that leaves its group between two triggers
loses nothing (KafkaOffsetReaderConsumer; executors assign partitions and are no members)."""
TAKEN_UP = r"TaskMigratedException|\.streams\.processor\.internals\.TaskExecutor\.commit"
"""What a thread of Kafka Streams makes of a refused commit, or the frame of that commit: it closes its tasks, and joins again by itself."""
UNKNOWN_MEMBER = (
    "member is not known in the current generation|Unknown Member ID|Illegal Generation|UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION"
    "|coordinator is not aware of this member"
)
"""Answers of a broker to a client in Go or Node: binding-server-error."""
FINAL = "Caught fenced|Fatal error: |has been fenced by another|FencedInstanceId|FENCED_INSTANCE_ID|has registered with a different member"
"""Of a static member whose place was taken: the client raises it (Java, Python) or tries for ever (Go, Node)."""
LOST = ("commit-after-rebalance", "poll-timeout-expired", "group-member-expelled", "group-session-expired", "binding-server-error")


def _some_signs(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a commit was refused to a member, one was fenced, a poll came too late, or members went more than a few times."""
    at_once = ("commit-after-rebalance", "poll-timeout-expired", "group-session-expired", "binding-server-error", "instance-fenced")
    signs = any(row["signature"] in at_once or why_refused(row) == "members" for row in rows)
    return signs or sum(map(_may_have_left, rows)) > thresholds["enough"]


def _may_have_left(row: Row) -> bool:
    because = captured(row, "because") or ""
    left = re.search(LEFT, because) and not re.search(IN_ORDER, because)
    gone = row["signature"] in ("group-member-expelled", "group-member-failed")
    return gone or bool(left or re.search(EXPIRED, because))


@rule(
    "LAG402", title="The group rebalances again and again and commits are refused", cause="offset-commit", stage="commit",
    severity=CRITICAL, logs_of=(*CLIENTS, *BROKER), faults=("commit-failed", "member-fenced"),
    signatures=(
        *LOST, *OF_FLINK, *ON_BROKER, "python-coordinator-lost", "partition-commit-failed", "offsets-commit-failed", "group-rebalancing",
        "group-joining", "instance-fenced",
    ),
    needs=_some_signs,
    says={
        "members": "Another consumer[[ ({strangers})]] is a member of the job's group[[ {group}]], and the broker refuses commits of a job "
        "that assigns its partitions itself while the group has members: {signs}[[ since {since} UTC]]. The job reads on; committed "
        "offsets and the lag that monitors show are not its own",
        "fenced-member": "Another consumer with the same group.instance.id[[ ({instance})]] took the place of this one[[ ({client})]]"
        "[[ in group {group}]][[ at {since} UTC]] (FENCED_INSTANCE_ID): this client reads nothing more",
        "stays-away": "A consumer[[ ({client})]][[ of group {group}]] did not poll in time, left its group[[ at {gone} UTC]], and has not "
        "come back in the {away} min until the log ends, though the process logs on[[; the last line of its work was “{last_line}”]]",
        "": "The group[[ {group}]] takes partitions away from its consumers before they have committed: {signs}[[ ({answer})]][[ since "
        "{since} UTC]]; the same records are read again after each",
    },
    inferred={
        "rebalance": "[[Flink and Beam assign partitions themselves and never join a group: the member that rebalances in the log of job "
        "{flink_job} is another consumer with the same group id.]]",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
)  # fmt: skip
def rebalance_loop(
    log_events: DataFrame,
    faults: IfGiven,
    log_files: IfGiven,
    members: IfGiven,
    thread_waits: IfGiven,
    *,
    enough: int = 3,  # one refused commit happens at every deployment of a plain consumer
    within: int = 3600,  # seconds: max.poll.interval.ms is 5 min; what comes once a day is a deployment
    expulsions: int = 10,  # in `within`: an expelled member joins anew, and stays where the group settles
    fresh: int = 600,  # seconds before the end of the log: a group that has settled since is no loop
    turns: int = 120,  # seconds: a static member that is restarted takes its place once, two that hold one id take it in turns
    fragment: int = 60,  # lines: in so short an excerpt one refusal is all there will be
) -> DataFrame:
    """Per job and group: commits refused after a rebalance, polls that came too late, members that were expelled."""
    refused = event("commit-after-rebalance") | F.coalesce(refusal() == "members", F.lit(False))
    taken_up = F.coalesce((F.coalesce("level", F.lit("")) != "ERROR") & F.col("text").rlike(TAKEN_UP), F.lit(False))
    often = F.sum(taken_up.cast("int")).over(Window.partitionBy("scope", "file")) >= enough
    own = log_events.where(~F.coalesce(F.col("group").rlike(SPARKS_OWN), F.lit(False)))
    of_members = own.withColumn("_alone", taken_up & ~often).where(~F.col("_alone")).drop("_alone")
    events = (
        of_members.where(~event("binding-server-error") | F.col("text").rlike(UNKNOWN_MEMBER))
        .dropDuplicates(["scope", "file", "line", "signature"])
        .withColumn("_refused", refused)
    )
    events = events.withColumn(
        "_together", _together(F.col("_refused") | event("poll-timeout-expired", "group-session-expired", "binding-server-error"), within)
    )
    events = events.withColumn("_again", _moments(event("group-member-expelled"), within))
    events = events.withColumn("_left", _left())
    gone = F.col("_left") | event("group-member-expelled", "group-member-failed")
    events = events.withColumn("_moments", _moments(gone, within))
    final = event("instance-fenced") & F.col("text").rlike(FINAL) & F.coalesce("level", F.lit("ERROR")).isin("ERROR", "FATAL")
    events = events.withColumn("_fenced_out", final & (~_joined_later() | _in_turns(final, turns)))
    of_fencing = F.col("_fenced_out")
    sign = F.col("_refused") | event(*LOST, *ON_BROKER) | of_fencing
    per_job = found(
        events,
        "job",
        refused=number_of(F.when(F.col("_refused"), F.struct("file", "line"))),
        late=count(event("poll-timeout-expired")),
        expired=count(event("group-session-expired", "binding-server-error")),
        _fenced=count(of_fencing),
        joins=count(event("group-rebalancing", "group-rebalance-on-broker")),
        leaves=count(F.col("_left")),
        expelled=count(event("group-member-expelled", "group-member-failed")),
        group=agreed("group"),
        client=agreed("client"),
        answer=agreed(F.when(F.col("_refused"), F.coalesce(detail("error"), detail("answer")))),
        instance=agreed(detail("instance")),
        topic=agreed(F.when(F.col("_refused"), F.col("topic"))),
        partition=agreed(F.when(F.col("_refused"), F.col("partition"))),
        since=F.coalesce(F.min(F.when(sign, F.col("at"))), F.min("at")),
        evidence=exemplars(where=sign),
        _of_flink=F.coalesce(F.bool_or(event(*OF_FLINK) & (refusal() == "members")), F.lit(False)),
        _together=F.max("_together"),
        _again=F.max("_again"),
        _expelled_at=greatest("at", event("group-member-expelled")),
        _end=F.max("as_of"),
        _moments=F.max("_moments"),
        _away=F.max(detail("away_seconds").cast("long")),
        last_line=agreed(detail("last_line")),
        _late_at=greatest("at", detail("away_seconds").isNotNull()),
    )
    stranger = F.concat_ws(" ", F.lit("client"), "client", F.lit("at"), "host")
    strangers = members.groupBy("scope", "group").agg(distinct(stranger, "strangers"))
    known = per_job.join(strangers, ["scope", "group"], "left")
    known = known.join(log_files.groupBy("scope").agg(F.sum("lines").alias("_lines")), "scope", "left")
    known = beside(known, faults.groupBy("scope", "job").agg(F.max("fatal").alias("_fatal")), "job")
    stands = thread_waits.where(F.col("left_at").isNotNull()).groupBy("scope").agg(F.lit(True).alias("_stands"))
    known = known.join(stands, "scope", "left")
    of_flink, fatal, signs = (
        F.col("_of_flink"),
        F.coalesce("_fatal", F.lit(False)),
        F.col("refused") + F.col("late") + F.when(F.col("expired") >= enough, F.col("expired")).otherwise(0),
    )
    fenced = F.col("_fenced") > 0
    away = F.coalesce(F.col("_away") > 0, F.lit(False)) & ~fenced & (signs < enough)
    loop = fenced | away | (signs >= enough) | (F.col("_moments") > enough) | ((signs >= 1) & ((F.col("_lines") <= fragment) | fatal))
    # a Flink job commits once in a checkpoint interval, which may be long
    sparse = (signs >= enough) & (F.col("_together") < enough) & ~of_flink & ~fatal
    # what members themselves report tells one client that does not settle from many that leave once
    unsettled = (F.col("_again") >= expulsions) & F.coalesce(seconds("_expelled_at", "_end") <= fresh, F.lit(True))
    shown = (
        _times("refused", "refused commit"), _times("late", "poll", " later than max.poll.interval.ms"),
        _times("expired", "expired session"),
        F.when(~of_flink, _times("expelled", "expelled member")), _times("leaves", "departure"), _times("joins", "rebalance"),
    )  # fmt: skip
    return known.where(loop).withColumns(
        {
            "reason": first_of(("fenced-member", fenced), ("stays-away", away), ("members", of_flink), otherwise="rebalance"),
            # brokers alone cannot tell a loop from a deployment that replaces its consumers one by one, nor can a few signs in days
            # of a thread that a dump shows LAG509 says more
            "severity": first_of(
                ("warning", away & F.coalesce("_stands", F.lit(False))),
                ("warning", ~fenced & ~away & ((signs == 0) | sparse) & ~unsettled),
                otherwise="critical",
            ),
            "signs": F.concat_ws(", ", *shown),
            "away": F.round(F.col("_away") / 60).cast("long"),
            "gone": F.date_format(F.coalesce("_late_at", "since"), "HH:mm:ss"),
            "since": F.when(away, F.coalesce("_late_at", "since")).otherwise(F.col("since")),
            "group_named": F.coalesce("group", F.lit("GROUP")),
            "flink_job": F.when(F.col("job").rlike("^[0-9a-f]{32}$"), F.col("job")),
            "fault_ids": F.array(F.when(fenced, "member-fenced").otherwise("commit-failed")),
        }
    )


def _in_turns(fenced: Column, apart: int) -> Column:
    """Whether one instance id was fenced at moments so far apart: two processes hold it, and each start of one ends the other."""
    of_instance = Window.partitionBy("scope", detail("instance"))
    at = F.when(fenced & detail("instance").isNotNull(), F.col("at"))
    return F.coalesce(seconds(F.min(at).over(of_instance), F.max(at).over(of_instance)) >= apart, F.lit(False))


def _joined_later() -> Column:
    """Whether the client became a member again after the event: it was fenced by its own successor, or tried until the other one left."""
    joined = event("group-joining") & F.col("text").contains("Successfully joined")
    return F.coalesce(F.max(F.when(joined, F.col("line"))).over(Window.partitionBy("scope", "file")) > F.col("line"), F.lit(False))


def _together(sign: Column, within: int) -> Column:
    """How many of `sign` came in the `within` seconds before each event; where events have no times, all of them."""
    recent = Window.partitionBy("scope", "job").orderBy(F.unix_seconds("at")).rangeBetween(-within, 0)
    return F.count_if(sign).over(recent)


def _left() -> Column:
    """Whether a member ran out of time, or left without a reason as another of the same client did: no deployment, no scale-in."""
    because = F.coalesce(detail("because"), F.lit(""))
    unexplained = event("group-rebalance-on-broker") & because.rlike(LEFT) & ~because.rlike(IN_ORDER)
    same = Window.partitionBy("scope", "job", "group", F.regexp_extract(because, MEMBER, 1))
    expired = event("group-rebalance-on-broker") & because.rlike(EXPIRED)
    return expired | (unexplained & (F.count_if(unexplained).over(same) > 1))


def _moments(sign: Column, within: int) -> Column:
    """At how many moments `sign` came in the `within` seconds before: members of one process, and two lines about one, go together."""
    recent = Window.partitionBy("scope", "job").orderBy(F.unix_seconds("at")).rangeBetween(-within, 0)
    moment = F.coalesce(F.floor(F.unix_seconds("at") / 10), F.col("line").cast("long"))
    return F.size(F.collect_set(F.when(sign, moment)).over(recent))


def _times(number: str, what: str, how: str = "") -> Column:
    return F.when(F.col(number) > 0, F.concat(counted(number, what), F.lit(how)))
