"""BRK107: no bootstrap server of the list can be connected, to the end of the log, while the job is RUNNING."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.derived.failures.failure_signs import ANSWERED, FAILED_TO_CONNECT
from analyzers.tables import Row
from analyzers.vocabulary import (
    BROKER,
    CLIENTS,
    CRITICAL,
    DataFrame,
    F,
    Window,
    agreed,
    detail,
    distinct,
    event,
    found,
    number_of,
    rule,
    seconds,
)
from analyzers.vocabulary.brokers import of_client, tried, tried_address
from analyzers.vocabulary.quick_looks import captured, grouped, persisted


def _one_still_fails(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether clients of a job failed to connect to all servers of the list since their last answer, for long, to the end of the logs."""
    own = [row for row in rows if row["at"] is not None and row["role"] not in BROKER]
    listed: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        listed[row["scope"]].update(filter(None, re.sub(r"\s", "", captured(row, "bootstrap") or "").split(",")))
    shut_out: list[Row] = []
    for (scope, *_), same in grouped(own, "file", "client").items():
        answered = max((row["at"] for row in same if row["signature"] in ANSWERED), default=None)
        failed = [row for row in same if row["signature"] in FAILED_TO_CONNECT and (answered is None or row["at"] > answered)]
        if listed[scope] and listed[scope] <= {tried(row) for row in failed}:
            shut_out += failed
    long = {"lasting": thresholds["lasting"], "fresh": thresholds["still"]}
    return any(persisted(same, **long) for same in grouped(shut_out, "job").values())


@rule("BRK107", title="No bootstrap server can be connected to while the job is RUNNING", cause="broker-unreachable", stage="access",
    severity=CRITICAL, reason="all-entries-dead", logs_of=CLIENTS, signatures=(*FAILED_TO_CONNECT, *ANSWERED, "kafka-client-config"),
    needs=_one_still_fails,
    says="{clients} Kafka client(s)[[ ({client})]] can connect to none of the {entries} bootstrap servers ({address}) since {since} UTC, "
    "to the end of the log ({minutes} min): nothing is read, even where checkpoints complete",
    next_command="diag broker-health --bootstrap-server {first_address}",
)  # fmt: skip
def every_entry_dead(
    log_events: DataFrame,
    *,
    lasting: int = 45,  # seconds; a rolling restart leaves the other brokers, and a single one is back sooner
    still: int = 60,  # seconds before the end of the log in which it must still fail
) -> DataFrame:
    """Clients that failed to connect to every server of the bootstrap list since their last answer, at one time, and up to the end.

    A restart that rolls through all brokers makes a client fail at each of them, too, at one after the other.
    """
    own = log_events.where(of_client())
    server = F.explode(F.split(F.regexp_replace(detail("bootstrap"), r"\s", ""), ","))
    listed = own.select("scope", server.alias("_server")).distinct()
    listed = listed.withColumn("_servers", F.count("*").over(Window.partitionBy("scope")))
    client, one_server = Window.partitionBy("scope", "file", "client"), Window.partitionBy("scope", "file", "client", "_server")
    spans = (
        own.withColumns({"_server": tried_address(), "_answered_at": F.max(F.when(event(*ANSWERED), F.col("at"))).over(client)})
        .where(event(*FAILED_TO_CONNECT) & (F.col("_answered_at").isNull() | (F.col("at") > F.col("_answered_at"))))
        .join(listed, ["scope", "_server"])
        .withColumns({"_first": F.min("at").over(one_server), "_last": F.max("at").over(one_server)})
    )
    at_once = F.max("_first").over(client) <= F.min("_last").over(client)
    shut_out = at_once & (F.size(F.collect_set("_server").over(client)) == F.col("_servers"))
    per_job = found(
        spans.withColumn("_shut_out", shut_out).where("_shut_out"), "job",
        entries=F.max("_servers"), address=distinct("_server", "address"), clients=number_of("file", "client"),
        client=agreed("client"), group=agreed("group"), end=F.max("as_of"),
    )  # fmt: skip
    whole = per_job.where((seconds("since", "until") >= lasting) & (seconds("until", "end") <= still))
    minutes = F.round(F.greatest(seconds("since", "until") / 60, F.lit(1.0))).cast("long")
    return whole.withColumns({"minutes": minutes, "first_address": F.array_join("address", ",")})
