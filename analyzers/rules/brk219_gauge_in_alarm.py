"""BRK219: Saved metrics of a broker show a gauge in alarm in every sample."""

from typing import Any

from analyzers.vocabulary import WARNING, DataFrame, F, agreed, first_of, found, has, rule

_IS = "{name} is {value}[[ on {owner}]] in {times}: {says}"


@rule(
    "BRK219", title="A gauge of a broker stays in alarm", cause="broker-unreachable", stage="access", severity=WARNING,
    needs=has(kind=("alarm",)),
    says={
        "partitions": _IS,
        "cleaner": f"{_IS}, as it failed on them; they grow until the broker is restarted",
        "threads": _IS,
        "quota": "A quota of the brokers delays the requests of {owner}: {name} is {value} ms in {times}",
    },
    missing={"partitions": "whether it is over since: a sample of now", "": ""},
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --under-replicated-partitions",
)  # fmt: skip
def gauge_in_alarm(
    metric_troubles: DataFrame,
    *,
    lasting: int = 2,  # samples: replicas fall behind for a moment whenever a broker is restarted
) -> DataFrame:
    """Per gauge and broker. Only partitions without a leader in several samples stop a job for sure. Source: Kafka's JMX metrics."""
    counts, several = F.col("counts"), F.col("moments") >= lasting
    rows = metric_troubles.where(F.col("kind") == "alarm").withColumns(
        {
            "reason": first_of(
                ("cleaner", counts == "uncleanable-partitions"),
                ("threads", counts.rlike("idle$")),
                ("quota", counts == "quota-delay"),
                otherwise="partitions",
            ),
            "severity": first_of(("critical", several & (counts == "offline-partitions")), otherwise="warning"),
        }
    )
    lasts = several | counts.isin("uncleanable-partitions", "offline-log-directories", "offline-partitions", "quota-delay")
    facts: dict[str, Any] = {
        name: F.max(name) for name in ("severity", "name", "says", "owner", "before_shown", "last_shown", "moments", "last")
    }
    facts["broker"] = agreed(F.regexp_extract("owner", r"^(\d{1,6})$", 1).try_cast("int"))
    made = found(rows.where(lasts), "owner", "counts", "reason", table="metric_troubles", **facts)
    span = F.concat(F.lit(" from "), "before_shown", F.lit(" to "), "last_shown")
    once = F.concat(F.lit("the one sample given"), F.coalesce(F.concat(F.lit(", of "), "last_shown"), F.lit("")))
    all_ = F.concat(F.lit("all "), F.col("moments").cast("string"), F.lit(" samples"), F.coalesce(span, F.lit("")))
    return made.withColumns(
        {
            "value": F.regexp_replace(F.format_number("last", 2), r"\.00$", ""),
            "times": F.when(F.col("moments") > 1, all_).otherwise(once),
            "where_shown": F.coalesce(F.concat(F.lit("on "), "owner"), F.lit("in the cluster")),
            "confidence": first_of((0.9, F.col("moments") >= lasting), otherwise=0.6),
        }
    )
