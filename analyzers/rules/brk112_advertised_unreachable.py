"""BRK112: a bootstrap server answers, an address that the brokers advertise does not."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, count, first_of, found, newest_snapshot, none, oldest, rule


@rule("BRK112", title="An advertised broker address cannot be reached", cause="broker-unreachable", stage="access", severity=CRITICAL,
    says={
        "advertised-listeners": "{answering} answers, but none of the {known} broker addresses that the cluster advertises can be "
        "reached[[ from {seen_from}]]: {named}. A client gets no further than its first request",
        "": "{answering} answers, but {dead} of the {known} brokers that the cluster advertises cannot be reached[[ from {seen_from}]]: "
        "{named}. Their partitions can be neither read nor written from here",
    },
    inferred="[[Seen from {seen_from}: the job's own hosts may resolve and reach other addresses. Probe from a TaskManager before you "
    "change a listener.]]",
    next_command="timeout 5 bash -c '</dev/tcp/{probe}' && echo accepts || echo dead   # from a TaskManager: does it see the same?",
)  # fmt: skip
def advertised_unreachable(bootstrap_servers: DataFrame, brokers: DataFrame) -> DataFrame:
    """Per scope, advertised brokers that failed the probe while a bootstrap server answers; those that are on the list are BRK111's."""
    servers, advertised = newest_snapshot(bootstrap_servers), newest_snapshot(brokers)
    answering = servers.where(F.col("state") == "alive").groupBy("scope").agg(oldest("entry", by="position").alias("answering"))
    failed = F.col("state").isNotNull() & (F.col("state") != "alive")
    listed = servers.where(failed)
    by_id = listed.where(F.col("broker").isNotNull()).select("scope", "broker", F.lit(True).alias("_by_id")).distinct()
    by_name = listed.select("scope", F.col("entry").alias("address"), F.lit(True).alias("_by_name")).distinct()
    total = advertised.groupBy("scope").agg(
        count().alias("known"),
        F.bool_and(F.coalesce(failed, F.lit(False))).alias("_none"),
        F.avg(F.col("state").isNotNull().cast("double")).alias("confidence"),
    )
    rows = (
        advertised.where(failed)
        .join(answering, "scope")
        .join(total, "scope")
        .join(by_id, ["scope", "broker"], "left")
        .join(by_name, ["scope", "address"], "left")
        .where(F.col("_none") | (F.col("_by_id").isNull() & F.col("_by_name").isNull()))
    )
    unresolvable = F.bool_and(F.col("state") == "dns")
    reason = first_of(("advertised-listeners", F.bool_or("_none")), ("unresolvable", unresolvable), otherwise="broker-dead")
    return found(
        rows, at="as_of", table="brokers", since=none("timestamp"), reason=reason, dead=count(),
        shown=F.format_string("broker %s at %s is %s (%s)", "broker", "address", "state", F.coalesce("why", F.lit("-"))),
        named=F.sort_array(F.collect_set(F.format_string("broker %s at %s (%s)", "broker", "address", "state"))),
        known=F.any_value("known"), answering=F.any_value("answering"), confidence=F.any_value("confidence"),
        broker=agreed("broker"), address=agreed("address"), seen_from=agreed("seen_from"),
        probe=F.regexp_replace(oldest("address", by="broker"), r":(\d+)$", "/$1"),
    )  # fmt: skip
