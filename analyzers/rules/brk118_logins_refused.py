"""BRK118: a broker refuses somebody's logins, on and on (a symptom: its log knows an address, not a job)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER
from analyzers.vocabulary.aggregates import goes_on
from analyzers.vocabulary.brokers import broker_in_text
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

_REFUSED = ("login-refused", "login-not-begun")


@rule(
    "BRK118",
    title="A broker refuses logins",
    stage="access",
    severity=Severity.WARNING,
    logs_of=BROKER,
    signatures=_REFUSED,
    says={
        "": "[[Broker {broker}]][[{some_broker}]] refuses the client at {peer} again and again, at least {times} times[[ since {since} "
        "UTC]], up to the end of its log: {because}",
        "between-brokers": "[[Broker {broker}]][[{some_broker}]] is refused by {peer}, another node of its cluster, again and again, at "
        "least {times} times[[ since {since} UTC]], up to the end of its log: {because}",
    },
    missing="whose client it is: the logs of the process at {peer} have it",
    needs=has(signature=_REFUSED, at_least="enough"),
)
def logins_refused(
    log_events: DataFrame,
    *,
    enough: int = 10,  # somebody who types a wrong password has given up by then
    lasting: int = 60,  # seconds; a scanner is done sooner
    fresh: int = 600,  # seconds before the end of the log; a client backs off a second (reconnect.backoff.max.ms), a restarted job minutes
) -> DataFrame:
    """Per broker log and peer; nodes of one cluster that refuse each other are more than a symptom. Source: Kafka's Selector."""
    because, by = F.col("detail")["because"], F.col("detail")["by"]
    between = by != "SocketServer"
    reason = (
        F.when(between, F.lit("between-brokers"))
        .when(F.rlike(because, F.lit("(?i)ssl|handshake failed|certificate|PKIX")), F.lit("tls"))
        .when(F.contains(because, F.lit("Unexpected Kafka request")), F.lit("plain"))
        .when(F.contains(F.lower(because), F.lit("invalid receive")), F.lit("tls-to-plain"))
        .otherwise(F.lit("credentials"))
    )
    rows = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker")
    per_peer = (
        rows.withColumns({"peer": F.col("detail")["peer"], "between": between, "reason": reason})
        .groupBy("scope", "file", "peer", "between", "reason")  # several clients of a host are refused each for its own reason
        .agg(
            F.count("*").alias("times"),
            F.max_by(F.substring(because, 1, 160), "at").alias("because"),
            F.max(broker_in_text()).alias("broker"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            F.max("as_of").alias("end"),
            exemplars(),
        )
    )
    lasts = goes_on("times", enough=enough, lasting=lasting, fresh=fresh)
    return (
        per_peer.where(lasts)
        .withColumns(
            {
                "job": F.lit(None).cast("string"),
                "cause": F.when(F.col("between"), F.lit("broker-unreachable")),
                "severity": F.when(F.col("between"), F.lit("critical")).otherwise(F.lit("warning")),
                "some_broker": F.when(F.col("broker").isNull(), F.lit("A broker")),
            }
        )
        .drop("file", "between", "end")
    )
