"""LAG110: Tables of a consumer group, pasted at several moments, show partitions that are not read on, or a group that only rebalances."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, rule

_OVER = "in {moments} moment(s)[[ over {minutes} min]]"


@rule(
    "LAG110", title="Pasted tables show partitions that stand still", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "stands": f"{{named}} of group {{group}} stands at {{committed}} {_OVER} while its log grew by {{grew_records}} and {{moved}} "
        "other partition(s) of the group moved; lag {lag_records}[[ (owner {client} on {host})]]",
        "group-stands": f"All partitions of group {{group}} that have something to read stand still {_OVER} although it has {{members}} "
        "member(s): {named}, lag {lag_records}",
        "rebalancing": f"Group {{group}} is rebalancing {_OVER}[[: nothing is committed, the lag of {{named}} is {{lag_records}}]]"
        "[[; {members} member(s)]]",
    },
    inferred={
        "stands": "Whoever commits for the others is at work and skips this partition: its record fails each time, the call that handles "
        "it does not return, or its reader was paused and never resumed.",
        "group-stands": "",
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
) -> DataFrame:
    """Per group. Partitions that stand beside others need no clock; a group that stands, or rebalances, needs the times of the paste."""
    reason, seconds = F.col("reason"), F.coalesce("seconds", F.lit(0.0))
    severity = first_of(
        ("critical", reason == "stands"),
        ("critical", (reason == "group-stands") & (seconds >= stands_for)),
        ("critical", (reason == "rebalancing") & (seconds >= sure)),
        otherwise="warning",
    )
    shows = reason.isin("stands", "group-stands", "rebalancing") & (F.col("moments") > 1)  # one moment is one instant
    rows = group_moments.where(shows).withColumns(
        {
            "severity": severity,
            "named": F.nullif(F.array_join(F.slice(F.coalesce("partitions", F.array()), 1, 8), ", "), F.lit("")),
            "partition": F.when(F.size("partitions") == 1, F.regexp_extract(F.element_at("partitions", 1), r"-(\d+)$", 1).cast("int")),
            "minutes": F.when(seconds >= 60, F.round(seconds / 60, 1)),
            "unseen": F.when(F.col("seconds").isNull(), F.lit("how much time lies between the moments: the paste does not show it")),
        }
    )
    shown = F.concat_ws(
        ", ", F.concat(F.lit("group "), "group", F.lit(": "), "reason"), "named", F.concat(F.lit("state "), "state"),
        F.concat(F.lit("committed "), "committed"), F.concat(F.lit("lag "), "lag_records"),
    )  # fmt: skip
    names = (
        "severity", "reason", "named", "topic", "partition", "committed", "lag_records", "grew_records", "moved", "moments", "minutes",
        "members", "client", "host", "unseen",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names}  # there is one row of each
    made = found(rows, "group", at="captured_at", table="group_moments", shown=shown, file=F.col("file"), **facts)
    # wanted: several moments, and the times between them
    return made.withColumn("confidence", (F.lit(1) + (F.col("moments") > 1).cast("int") + F.col("unseen").isNull().cast("int")) / 3)
