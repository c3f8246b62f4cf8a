"""BRK111: a bootstrap server failed the probe from this host."""

from analyzers.vocabulary import (  # isort: skip
    CRITICAL, DataFrame, F, IfGiven, agreed, count, first_of, found, newest_snapshot, no_job, none, oldest, rule,
)  # fmt: skip

HOW = {
    "refused": "the host refuses the connection, nothing listens there",
    "black-hole": "no answer to the connection attempt (host gone, or packets dropped)",
    "hung": "it accepts the connection and never answers",
    "dns": "the name does not resolve[[; {why}]]",
    "tls": "the TLS handshake fails[[; {why}]]",
    "access-denied": "the login is refused[[; {why}]]",
    "not-configured": "TLS or login failed, and the probe did not have the job's security settings[[; {why}]]",
    "not-kafka": "what listens there is not a Kafka broker[[; {why}]]",
    "closed": "it accepts the connection and ends it[[; {why}]]",
}


@rule("BRK111", title="A bootstrap server does not answer", cause="broker-unreachable", stage="access", severity=CRITICAL,
    says={
        reason: "{dead} of {entries} bootstrap servers failed the probe, {address}: "
        "" + how + "[[ (seen from {seen_from})]][[. {living} "
        "other server(s) are reachable]][[. {none_reachable}]][[. {harm}]][[. Next start: {odds}]]"
        for reason, how in HOW.items()
    },
    inferred="[[Other hosts may get another answer than {seen_from}: probe from a TaskManager, too.]]",
    next_command={
        "dns": "getent hosts {host_named} || echo unknown   # on a TaskManager's host: does it resolve there?",
        "tls": "openssl s_client -connect {server} </dev/null   # which certificate it shows",
        "access-denied": "diag broker-health --bootstrap-server {server} --command-config client.properties",
        "not-configured": "diag broker-health --bootstrap-server {server} --command-config client.properties",
        # that a port accepts connections is no news where something answered there
        "not-kafka": "grep advertised.listeners server.properties   # on each broker: the addresses that clients are to use",
        "closed": "ss -Htn state established dst {host_named} | wc -l   # on this host: is it at the broker's max.connections.per.ip?",
        "": "timeout 5 bash -c '</dev/tcp/{dialled}' && echo accepts || echo dead   # from a TaskManager: does it see the same?",
    },
)  # fmt: skip
def entry_dead(
    bootstrap_servers: DataFrame,
    client_configs: IfGiven,
    forecast: IfGiven,
    forecast_fixes: IfGiven,
    *,
    harmless: float = 0.01,  # below one start in a hundred nobody notices; the next one succeeds
) -> DataFrame:
    """Per scope and kind of failure, the bootstrap servers of which no address answered."""
    judged = F.when(F.col("state").isNotNull(), F.struct("position", "ip"))
    servers = newest_snapshot(bootstrap_servers).groupBy("scope", "entry").agg(
        F.bool_or(F.coalesce(F.col("state") == "alive", F.lit(False))).alias("_alive"),
        F.bool_and(F.col("state").isNotNull()).alias("_judged"),
        F.min_by("state", judged).alias("state"), F.min_by("why", judged).alias("why"),
        F.min("position").alias("position"), *(F.max(name).alias(name) for name in ("broker", "seen_from", "as_of")),
    )  # fmt: skip
    total = servers.groupBy("scope").agg(
        count().alias("entries"), count(F.col("_alive")).alias("_living"), F.avg(F.col("_judged").cast("double")).alias("confidence")
    )
    configured = (
        newest_snapshot(client_configs).groupBy("scope").agg(F.bool_or(F.coalesce("configured", F.lit(False))).alias("_configured"))
    )
    no_login = F.col("state").isin("tls", "auth") & ~F.coalesce("_configured", F.lit(False))
    reason = first_of(("not-configured", no_login), ("access-denied", F.col("state") == "auth"), otherwise=F.col("state"))
    dead = servers.where(~F.col("_alive") & F.col("_judged")).join(configured, "scope", "left").withColumn("reason", reason)
    per_reason = found(
        dead, "reason", at="as_of", table="bootstrap_servers", since=none("timestamp"), dead=count(),
        shown=F.concat_ws(" ", "entry", F.lit("is"), "state", F.concat(F.lit("("), F.col("why"), F.lit(")"))),
        address=F.transform(F.sort_array(F.collect_list(F.struct("position", "entry"))), lambda each: each["entry"]),
        broker=agreed("broker"), seen_from=agreed("seen_from"), why=oldest("why", by="position"),
    )  # fmt: skip
    both = per_reason.join(total, "scope").join(_odds(forecast), ["scope", "reason"], "left").join(_lines(forecast_fixes), "scope", "left")
    of, none_left = F.col("reason"), F.col("_living") == 0
    fails = of.isin("black-hole", "hung") & (F.coalesce("_least", F.lit(0.0)) >= harmless)
    guessed = of.isin("not-configured", "closed")  # a broker that lives may close what this host opens, and serve the job
    fatal = ~guessed & (none_left | of.isin("tls", "access-denied") | fails)
    named, first = F.array_join("address", ", "), F.regexp_replace(F.col("address")[0], r"^.*://", "")
    return no_job(both).withColumns(
        {
            "severity": F.when(fatal, "critical").otherwise("warning"),
            "living": F.nullif("_living", F.lit(0)),
            "none_reachable": F.when(none_left & (of != "closed"), "No server is reachable: no client can start"),
            "harm": F.when(
                ~none_left & of.isin("refused", "dns"), "A client skips such a server at no cost while another one is reachable"
            ),
            "removable": F.when(~none_left, named),
            "replaceable": F.when(none_left, named),
            "server": first,
            "host_named": F.regexp_replace(first, r":\d+$", ""),
            "dialled": F.regexp_replace(first, r":(\d+)$", "/$1"),
        }
    )


def _odds(forecast: DataFrame) -> DataFrame:
    """`odds` in words, and `_least`: the smallest probability that a start fails, over the client versions that come into question."""
    each = newest_snapshot(forecast).withColumn("reason", F.explode(F.split("kind", r"\+")))  # black-hole+hung is one forecast
    words = F.when(F.col("assumed"), F.concat(F.lit("if it is "), "says")).otherwise(F.col("says"))
    per_reason = each.where(F.col("reason").isin("black-hole", "hung")).groupBy("scope", "reason")
    least = F.min(F.coalesce("p_fail_start", F.lit(0.0))).alias("_least")
    return per_reason.agg(F.array_join(F.sort_array(F.collect_set(words)), " / ").alias("odds"), least)


def _lines(forecast_fixes: DataFrame) -> DataFrame:
    """`write`: the line that drops the servers, in the words of the job's connector; none where the next start does not fail."""
    first = newest_snapshot(forecast_fixes).where((F.col("scenario") == "now") & (F.col("rank") == 1) & (F.size("lines") > 0))
    return first.groupBy("scope").agg(F.array_join(F.any_value("lines"), " or ").alias("write"))
