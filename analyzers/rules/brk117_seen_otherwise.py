"""BRK117: an entry answers from here, and the job's own logs say that it does not."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import distinct, seconds
from analyzers.broker_life import tried_address
from analyzers.derived.failure_signs import FAILED_TO_CONNECT
from analyzers.finding import Severity
from analyzers.rule import exemplars, rule
from analyzers.samples import newest_look


@rule(
    "BRK117",
    title="The probe and the job's logs disagree",
    stage="access",
    severity=Severity.WARNING,
    signatures=FAILED_TO_CONNECT,
    says="{address} answers from {seen_from}, yet the job's clients could not connect to it {tries} time(s)[[, last at {until} UTC]]: the "
    "job sees another network than this host does",
    fix="Believe the job. Probe from one of its TaskManagers before anything is changed; then look at what lies between: network policy, "
    "security group, firewall, DNS of the pod, a proxy.",
    inferred="The last failure in the logs is less than {minutes} minutes older than the probe; the broker may have come back in between.",
    next_command="timeout 5 bash -c '</dev/tcp/{probe}' && echo accepts || echo dead   # in a TaskManager: does it see the same?",
)
def seen_otherwise(
    log_events: DataFrame,
    bootstrap_servers: DataFrame,
    *,
    fresh: int = 600,  # seconds before the probe; older failures may have been mended
    enough: int = 2,  # one failed connection happens in every restart of a broker
) -> DataFrame:
    """Per job, entries that live here and that connections of the last minutes of the logs failed to."""
    alive = newest_look(bootstrap_servers).where(F.col("state") == "alive")
    named = alive.select("scope", "seen_from", F.col("as_of").alias("_probed"), F.col("entry").alias("_at"))
    port = F.regexp_extract("entry", r":(\d+)$", 1)
    by_ip = alive.select("scope", "seen_from", F.col("as_of").alias("_probed"), F.concat_ws(":", "ip", port).alias("_at"))
    places = named.unionByName(by_ip).distinct()
    tried = log_events.where(F.coalesce("role", F.lit("")) != "kafka-broker").withColumn("_at", tried_address())
    failed = tried.join(places, ["scope", "_at"])
    late = failed.where((seconds("at", "_probed") <= fresh) & (seconds("at", "_probed") >= -fresh))
    found = late.groupBy("scope", "job").agg(
        F.count("*").alias("tries"),
        distinct("_at", "address"),
        F.min("_at").alias("_first"),
        F.any_value("seen_from").alias("seen_from"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(),
    )
    worded = found.where(F.col("tries") >= enough).withColumns(
        {
            "probe": F.regexp_replace("_first", r":(\d+)$", "/$1"),
            "minutes": F.lit(fresh // 60),
            "confidence": F.lit(0.6),  # two hosts, two clocks
            "reason": F.lit("seen-otherwise"),
        }
    )
    return worded.drop("_first")
