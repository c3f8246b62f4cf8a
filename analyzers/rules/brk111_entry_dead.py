"""BRK111: an entry of the bootstrap list is dead, as probed from here."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job

DROP = "Take {address} out of the job's bootstrap.servers"
NONE_LIVES = "put the addresses of living brokers into the job's bootstrap.servers (no entry answers: none is to be kept)"


@rule(
    "BRK111",
    title="An entry of the bootstrap list is dead",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    says="{dead} of {entries} bootstrap servers {are} dead, {address}: {how}[[ (seen from {seen_from})]]. {others}[[. {harm}]]"
    "[[. Next start: {odds}]]",
    inferred="[[Other hosts may see it otherwise than {seen_from}: ask from a TaskManager, too.]]",
    next_command="{look}",
)
def entry_dead(
    bootstrap_servers: DataFrame,
    client_configs: DataFrame | None,
    forecast: DataFrame | None,
    forecast_fixes: DataFrame | None,
    *,
    harmless: float = 0.01,  # below one start in a hundred nobody notices; the next one succeeds
) -> DataFrame:
    """Per scope and kind of death, the entries none of whose addresses lives."""
    probed = newest_look(bootstrap_servers)
    first = F.struct("position", "ip")
    entries = probed.groupBy("scope", "entry").agg(
        F.bool_or(F.coalesce(F.col("state") == "alive", F.lit(False))).alias("alive"),
        F.bool_and(F.col("state").isNotNull()).alias("judged"),
        F.min_by("state", F.when(F.col("state").isNotNull(), first)).alias("state"),
        F.min_by("why", F.when(F.col("state").isNotNull(), first)).alias("why"),
        F.min("position").alias("position"),
        F.max("broker").alias("broker"),
        F.max("seen_from").alias("seen_from"),
        F.max("as_of").alias("as_of"),
    )
    total = entries.groupBy("scope").agg(
        F.count("*").alias("entries"), F.count_if("alive").alias("living"), F.avg(F.col("judged").cast("double")).alias("confidence")
    )
    text = F.concat_ws(" ", "entry", F.lit("is"), "state", F.concat(F.lit("("), F.col("why"), F.lit(")")))
    dead = entries.where(~F.col("alive") & F.col("judged"))
    found = (
        dead.groupBy("scope", "state")
        .agg(
            F.count("*").alias("dead"),
            F.transform(F.array_sort(F.collect_list(F.struct("position", "entry"))), lambda each: each["entry"]).alias("address"),
            agreed("broker"),
            agreed("seen_from"),
            F.min_by("why", "position").alias("why"),
            F.max("as_of").alias("until"),
            evidence("bootstrap_servers", text),
        )
        .join(total, "scope")
    )
    found = _with_lines(_with_odds(found, forecast), forecast_fixes).join(_configured(found, client_configs), "scope", "left")
    refused_login = F.col("state").isin("tls", "auth") & ~F.coalesce("configured", F.lit(False))
    fatal = ~refused_login & (
        (F.col("living") == 0)
        | F.col("state").isin("tls", "auth")
        | (F.col("state").isin("black-hole", "hung") & (F.coalesce("least", F.lit(0.0)) >= harmless))
    )
    return no_job(
        found.withColumns(
            {
                "reason": F.when(refused_login, "not-configured").when(F.col("state") == "auth", "access-denied").otherwise(F.col("state")),
                "severity": F.when(fatal, "critical").otherwise("warning"),
                "how": _how(),
                "look": _look(),
                "are": F.when(F.col("dead") == 1, "is").otherwise("are"),
                "others": F.when(F.col("living") == 0, "No entry answers: no client can start").otherwise(
                    F.concat(F.col("living"), F.when(F.col("living") == 1, " of them answers").otherwise(" of them answer"))
                ),
                **_taken_out(),
                "harm": F.when(
                    (F.col("living") > 0) & F.col("state").isin("refused", "dns"),
                    "A client skips such an entry at no cost while another one lives",
                ),
            }
        )
    ).drop("state", "living", "configured", "least")


def _taken_out() -> dict[str, Column]:
    """What to do with the entries, per kind of death: where none lives there is none to keep, and a list without them is empty."""
    named = F.array_join("address", ", ")
    instead, none_lives = F.lit(NONE_LIVES), F.col("living") == 0
    back = F.concat(F.lit("Take "), named, F.lit(" out of the job's bootstrap.servers if the broker was removed for good, else bring it "))
    return {
        "taken_out": F.when(none_lives, instead).otherwise(
            F.lit("take the entry out of the job's bootstrap.servers, keep two living ones at least")
        ),
        "taken_out_or_back": F.when(none_lives, F.concat(F.lit("Bring back "), named, F.lit(", or "), instead)).otherwise(
            F.concat(back, F.lit("back; keep two living entries at least"))
        ),
        "taken_out_if_hung": F.when(none_lives, instead).otherwise(F.lit("take it out of the job's bootstrap.servers")),
    }


def _look() -> Column:
    """The next command, per kind of death: that a port accepts connections is no news where something answered there."""
    first = F.regexp_replace(F.col("address")[0], r"^.*://", "")
    host = F.regexp_replace(first, r":\d+$", "")
    dialled = F.concat(F.lit("timeout 5 bash -c '</dev/tcp/"), F.regexp_replace(first, r":(\d+)$", "/$1"))
    looks = {
        "dns": F.concat(F.lit("getent hosts "), host, F.lit(" || echo unknown   # on a TaskManager's host: does it resolve there?")),
        "tls": F.concat(F.lit("openssl s_client -connect "), first, F.lit(" </dev/null   # which certificate it shows")),
        "auth": F.concat(F.lit("diag broker-health --bootstrap-server "), first, F.lit(" --command-config client.properties")),
        "not-kafka": F.lit("grep advertised.listeners server.properties   # on each broker: the addresses that clients are to use"),
    }
    said = F.concat(dialled, F.lit("' && echo accepts || echo dead   # from a TaskManager: does it see the same?"))
    for state, look in looks.items():
        said = F.when(F.col("state") == state, look).otherwise(said)
    return said


def _how() -> Column:
    words = {
        "refused": "the host refuses the connection, nothing listens there",
        "black-hole": "no answer to the connection attempt (host gone, or packets dropped)",
        "hung": "accepts the connection and never answers",
        "dns": "the name does not resolve",
        "tls": "the TLS handshake fails",
        "auth": "the login is refused",
        "not-kafka": "what listens there is no Kafka broker",
    }
    said = F.lit(None).cast("string")
    for state, text in words.items():
        said = F.when(F.col("state") == state, text).otherwise(said)
    return F.concat_ws("; ", F.coalesce(said, "state"), F.when(F.col("state").isin("tls", "auth", "not-kafka", "dns"), F.col("why")))


def _with_odds(found: DataFrame, forecast: DataFrame | None) -> DataFrame:
    """`odds` in words, and `least`: the smallest probability that a start fails, over the client versions that come into question."""
    if forecast is None:
        return found.withColumns({"odds": F.lit(None).cast("string"), "least": F.lit(None).cast("double")})
    said = F.when(F.col("assumed"), F.concat(F.lit("if it is "), "says")).otherwise(F.col("says"))
    odds = (
        newest_look(forecast)
        .withColumn("state", F.explode(F.split("kind", r"\+")))  # black holes and hung entries together are one forecast
        .where(F.col("state").isin("black-hole", "hung"))
        .groupBy("scope", "state")
        .agg(distinct(said, "_odds"), F.min(F.coalesce("p_fail_start", F.lit(0.0))).alias("least"))
        .withColumn("odds", F.concat_ws(" / ", "_odds"))
        .drop("_odds")
    )
    return found.join(odds, ["scope", "state"], "left")


def _with_lines(found: DataFrame, forecast_fixes: DataFrame | None) -> DataFrame:
    """`write`: the line that drops the dead entries, in the words of the job's connector; null where the next start does not fail."""
    if forecast_fixes is None:
        return found.withColumn("write", F.lit(None).cast("string"))
    first = newest_look(forecast_fixes).where((F.col("scenario") == "now") & (F.col("rank") == 1) & (F.size("lines") > 0))
    lines = first.groupBy("scope").agg(F.array_join(F.any_value("lines"), " or ").alias("write"))
    return found.join(lines, "scope", "left")


def _configured(found: DataFrame, client_configs: DataFrame | None) -> DataFrame:
    if client_configs is None:
        return found.select("scope").distinct().withColumn("configured", F.lit(False))
    return newest_look(client_configs).groupBy("scope").agg(F.bool_or(F.coalesce("configured", F.lit(False))).alias("configured"))
