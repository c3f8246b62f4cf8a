"""LAG512: A librdkafka client's own statistics show what keeps it from its work."""

from typing import Any

from analyzers.vocabulary import ANY, CRITICAL, DataFrame, F, first_of, found, rule

_OVER = "in {moments} moment(s) over {span}"
_CONNECTED = "{brokers_shown}[[, {connects} attempt(s) to connect counted]]"


@rule(
    "LAG512", title="A librdkafka client's statistics show what keeps it from its work", cause="no-progress", stage="lag",
    severity=CRITICAL, logs_of=ANY,
    says={
        "no-broker": f"Client {{client}} has a connection to none of its brokers for {{span}}[[, state {{state}}]]: {_CONNECTED}"
        "[[; {queued} message(s) wait in its queue]]",
        "broker": f"Client {{client}} has no connection to {_CONNECTED}, {_OVER}, while others are up[[: {{named}} are asked of it]]",
        "coordinator": "Client {client} is {state} for {span}: it has not found its group's coordinator, or cannot reach it, and so "
        "neither joins nor commits, though a broker is up",
        "callback": f"Client {{client}} is {{state}} {_OVER}: the application has not come back from its rebalance callback",
        "rebalancing": f"Client {{client}} is rebalancing {_OVER}: {{rebalances}} assignments or revocations, join state {{state}}"
        "[[, the last for: {because}]]",
        "unsent": f"Producer {{client}} sent nothing {_OVER}: {{queued}} message(s) wait in its queue[[ of {{queue_limit}}]]"
        "[[, for {named}]]",
        "full": f"The queue of producer {{client}} is full {_OVER}: {{queued}} of {{queue_limit}} messages; {{sent}} were sent meanwhile",
        "producer-id": "Producer {client} is {state} for {span}: no broker has given it a producer id, and it sends nothing before"
        "[[; {queued} message(s) wait]]",
        "abortable": f"The transaction of producer {{client}} is AbortableError {_OVER}: it goes on only when the application aborts it",
        "fatal": "Producer {client} met a fatal error (state {state}): only a new instance goes on",
        "unpolled": f"Client {{client}} got no message of {{named}} {_OVER}, at {{position}}: fetched messages wait, and none is taken",
        "unfetched": f"Client {{client}} does not fetch {{named}} {_OVER}: fetch state {{state}}",
        "uncommitted": f"Client {{client}} reads {{named}} and commits nothing {_OVER}: {{records}} records read, "
        "{commit_shown}. After a restart all of it is read again",
        "unstored": f"Client {{client}} reads {{named}}, and the application stores no offset to be committed {_OVER}: {{records}} "
        "records read, {commit_shown}. After a restart all of it is read again",
    },
    inferred={
        "no-broker": "", "broker": "", "coordinator": "", "callback": "", "rebalancing": "A member leaves, or takes too long between "
        "two polls: each time all partitions are given out anew.",
        "unsent": "", "full": "The application produces more than the brokers take.", "producer-id": "", "abortable": "", "fatal": "",
        "unpolled": "The thread that takes them hangs, or its queue is not polled.", "unfetched": "",
        "uncommitted": "Commits fail, or the application does not commit (enable.auto.commit=false).",
        "unstored": "It runs with enable.auto.offset.store=false and does not come to store an offset.",
    },
    missing={
        "no-broker": "why the connections fail: the client's own log (error_cb, log_cb) has the errors",
        "broker": "why the connection fails: the client's own log (error_cb, log_cb) has the errors",
        "coordinator": "why: its own log, and the group's state at the brokers",
        "callback": "where the application hangs: a stack dump of its process",
        "rebalancing": "which member leaves: the logs of all members, and of the coordinator",
        "unsent": "the error of its messages: the delivery report (dr_cb) has it",
        "full": "how long the brokers take: rtt and throttle of its statistics",
        "producer-id": "the error: its own log (error_cb) has it",
        "abortable": "the error: what the last call of the transaction returned",
        "fatal": "which error: error_cb, or rd_kafka_fatal_error()",
        "unpolled": "where the application hangs: a stack dump of its process",
        "unfetched": "why: its own log with debug=topic,fetch",
        "uncommitted": "whether its producer commits them within transactions, or the application keeps its positions elsewhere",
        "unstored": "whether its producer commits them within transactions, or the application keeps its positions elsewhere",
    },
    next_command={
        "no-broker": "kcat -L -b {first_address}   # from the client's host",
        "broker": "kcat -L -b {first_address}   # from the client's host",
        "unsent": "kcat -L -b HOST:PORT   # from the client's host",
        "full": "kcat -L -b HOST:PORT   # from the client's host",
        "producer-id": "kcat -L -b HOST:PORT   # from the client's host",
        "fatal": "grep -i 'fatal error' LOG   # of the client",
        "abortable": "grep -iE 'abortable|txn' LOG   # of the client",
        "": "diag lag-report --bootstrap-server HOST:PORT --samples 3 --every 60s",
    },
)  # fmt: skip
def client_statistics(
    client_moments: DataFrame,
    *,
    stands_for: int = 300,  # seconds: a rebalance of many members may take minutes
) -> DataFrame:
    """Per client and reason, what its statistics show. Source: librdkafka's STATISTICS.md."""
    reason, seconds = F.col("reason"), F.coalesce("seconds", F.lit(0.0))
    leads = F.size(F.coalesce("partitions", F.array())) > 0
    severity = first_of(
        ("critical", reason.isin("no-broker", "fatal", "unsent", "producer-id", "coordinator", "abortable")),
        ("critical", (reason == "broker") & leads),
        ("critical", reason.isin("callback", "rebalancing", "unpolled", "unfetched") & (seconds >= stands_for)),
        otherwise="warning",  # who commits within transactions shows none here
    )
    cause = first_of(
        ("broker-unreachable", reason.isin("no-broker", "broker", "coordinator")),
        ("offset-commit", reason.isin("uncommitted", "unstored")),
        otherwise="no-progress",
    )
    minutes = F.concat(F.regexp_replace(F.format_number(seconds / 60, 1), r"\.0$", ""), F.lit(" min"))
    rows = client_moments.withColumns(
        {
            "severity": severity,
            "cause": cause,
            "named": F.nullif(F.array_join(F.slice(F.coalesce("partitions", F.array()), 1, 8), ", "), F.lit("")),
            "brokers_shown": F.array_join(F.slice(F.coalesce("brokers", F.array()), 1, 8), ", "),
            "first_address": F.regexp_extract(F.get("brokers", F.lit(0)), r"^(\S+)", 1),
            "partition": F.when(F.size("partitions") == 1, F.regexp_extract(F.get("partitions", F.lit(0)), r"-(\d+)$", 1).try_cast("int")),
            "span": first_of((minutes, seconds >= 120), otherwise=F.concat(F.round(seconds).cast("long").cast("string"), F.lit(" s"))),
            "commit_shown": first_of(
                (F.concat(F.lit("committed offset "), F.col("committed").cast("string")), F.col("committed").isNotNull()),
                otherwise="no offset committed",
            ),
        }
    )
    names = (
        "severity", "cause", "named", "topic", "partition", "state", "because", "brokers_shown", "first_address", "address", "broker",
        "connects", "position", "committed", "records", "queued", "queue_limit", "sent", "rebalances", "moments", "span", "commit_shown",
        "kind",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names}  # there is one row of each
    keys = ("client", "instance", "reason")
    made = found(rows, *keys, at="last_at", table="client_moments", shown=F.col("text"), file=F.col("file"), **facts)
    return made.withColumn("confidence", first_of((0.7, F.col("reason").isin("uncommitted", "unstored")), otherwise=0.9))
