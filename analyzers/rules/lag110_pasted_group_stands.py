"""LAG110: Tables of a consumer group, pasted at several moments, show what it does not read, that it only rebalances, or is too slow."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, rule

_OVER = "in {moments} moment(s)[[ over {minutes} min]]"

_BEHIND = (
    f"Group {{group}} falls behind {_OVER}: {{read_records}} records read of {{written_records}} written[[ ({{read_rate}} a second of "
    "{written_rate})]], lag {first_lag} at first, {last_lag} at last"
)


@rule(
    "LAG110", title="Pasted tables show a group that stands, or falls behind", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "stands": f"{{named}} of group {{group}} stands at {{committed}} {_OVER} while its log grew by {{grew_records}} and {{moved}} "
        "other partition(s) of the group moved; lag {lag_records}[[ (owner {client} on {host})]]",
        "transaction": f"{{named}} of group {{group}} stands at {{committed}} {_OVER}: there begins a transaction of producer {{producer}}"
        "[[, {transactional_id}]] that is still open on the leader[[ ({ended})]][[; that producer last wrote at {written_at} UTC]]; a "
        "reader of committed records reads no further than this last stable offset, lag {lag_records}",
        "uneven": "{named} of group {group} lag(s) far behind: lag {last_lag}, while its other partitions are read nearly to their ends[["
        " (owner {client} on {host})]]",
        "behind": f"{_BEHIND}, on {{named}}",
        "throttled": f"{_BEHIND}; a quota of the brokers delays the answers to its client by up to {{throttled_ms}} ms each",
        "group-stands": f"All partitions of group {{group}} that have something to read stand still {_OVER} although it has {{members}} "
        "member(s): {named}, lag {lag_records}",
        "rebalancing": f"Group {{group}} is rebalancing {_OVER}[[: nothing is committed, the lag of {{named}} is {{lag_records}}]]"
        "[[; {members} member(s)]]",
    },
    inferred={
        "stands": "Whoever commits for the others is at work and skips this partition: its record fails each time, the call that handles "
        "it does not return, or its reader was paused and never resumed.",
        "transaction": "",
        "group-stands": "",
        "uneven": "Its reader skips them (paused and not resumed, a call that does not return, a record that fails), or they get far more "
        "than the others.",
        "behind": "",
        "throttled": "That the quota is why it falls behind.",
        "rebalancing": "A member does not rejoin in time: the others wait for it.",
    },
    missing="[[{unseen}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --samples 3 --every 60s",
)  # fmt: skip
def pasted_group_stands(
    group_moments: DataFrame,
    *,
    sure: int = 60,  # seconds: a rebalance of healthy members takes a few
    stands_for: int = 600,  # seconds: some consumers commit every few minutes only
    delayed: int = 1000,  # ms by which a quota delays an answer: a full fetch takes less
) -> DataFrame:
    """Per group. Partitions that stand beside others need no clock; a group that stands, or rebalances, needs the times of the paste."""
    slowed = (F.col("reason") == "behind") & (F.coalesce("throttled_ms", F.lit(0.0)) >= delayed)
    reason = first_of(("throttled", slowed), otherwise=F.col("reason"))
    seconds = F.coalesce("seconds", F.lit(0.0))
    severity = first_of(
        ("critical", reason.isin("stands", "throttled")),
        (
            "critical",
            (reason == "transaction") & ((F.col("moments") > 1) | F.col("hanging") | F.coalesce("transaction_ended", F.lit(False))),
        ),
        ("critical", (reason == "group-stands") & (seconds >= stands_for)),
        ("critical", (reason == "rebalancing") & (seconds >= sure)),
        otherwise="warning",
    )
    shows = reason.isin("stands", "transaction", "group-stands", "rebalancing", "behind", "throttled", "uneven")
    shows &= (F.col("moments") > 1) | reason.isin("transaction", "uneven")  # one moment is one instant
    written = F.col("read_records") + F.col("last_lag") - F.col("first_lag")
    rows = group_moments.where(shows).withColumns(
        {
            "severity": severity,
            "reason": reason,
            "named": F.nullif(F.array_join(F.slice(F.coalesce("partitions", F.array()), 1, 8), ", "), F.lit("")),
            "partition": F.when(F.size("partitions") == 1, F.regexp_extract(F.element_at("partitions", 1), r"-(\d+)$", 1).cast("int")),
            "minutes": F.when(seconds >= 60, F.round(seconds / 60, 1)),
            "written_records": written,
            "read_rate": F.when(seconds > 0, F.round(F.col("read_records") / seconds, 0).cast("long")),
            "written_rate": F.when(seconds > 0, F.round(written / seconds, 0).cast("long")),
            "throttled_ms": F.round("throttled_ms", 0).cast("long"),
            "ended": F.when(F.col("transaction_ended"), F.lit("its coordinator holds it for ended: it hangs")),
            "since": F.when(reason == "transaction", F.col("written_at")).otherwise(F.col("captured_at")),
            "unseen": F.when(
                F.col("seconds").isNull() & (reason != "transaction"),
                F.lit("how much time lies between the moments: the paste does not show it"),
            ),
        }
    )
    shown = F.concat_ws(
        ", ", F.concat(F.lit("group "), "group", F.lit(": "), "reason"), "named", F.concat(F.lit("state "), "state"),
        F.concat(F.lit("committed "), "committed"), F.concat(F.lit("lag "), "lag_records"),
    )  # fmt: skip
    names = (
        "severity", "reason", "named", "topic", "partition", "committed", "lag_records", "grew_records", "moved", "moments", "minutes",
        "members", "client", "host", "unseen", "producer", "transactional_id", "coordinator_epoch", "ended", "written_at", "first_lag",
        "last_lag", "read_records", "written_records", "read_rate", "written_rate", "throttled_ms", "since",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names}  # there is one row of each
    made = found(rows, "group", at="captured_at", table="group_moments", shown=shown, file=F.col("file"), **facts)
    # wanted: several moments, and the times between them
    return made.withColumn("confidence", (F.lit(1) + (F.col("moments") > 1).cast("int") + F.col("unseen").isNull().cast("int")) / 3)
