"""BRK118: a broker refuses a client's logins, on and on (a symptom: its log has an address, not a job)."""

from analyzers.vocabulary import BROKER, WARNING, DataFrame, F, count, detail, first_of, found, goes_on, has, newest, rule
from analyzers.vocabulary.brokers import broker_in_text

REFUSED = ("login-refused", "login-not-begun")


@rule("BRK118", title="A broker refuses logins", stage="access", severity=WARNING, logs_of=BROKER, signatures=REFUSED,
    needs=has("enough", signature=REFUSED),
    says={
        "between-brokers": "{server} is refused by {peer}, another node of its cluster, again and again, at least {times} times[[ since "
        "{since} UTC]], up to the end of its log: {because}",
        "": "{server} refuses the client at {peer} again and again, at least {times} times[[ since {since} UTC]], up to the end of its "
        "log: {because}",
    },
    missing={
        "between-brokers": "why {peer} refuses this node: the log of the broker or controller there has it",
        "": "which process the client belongs to: its own logs at {peer} have it",
    },
)  # fmt: skip
def logins_refused(
    log_events: DataFrame,
    *,
    enough: int = 10,  # somebody who types a wrong password has given up by then
    lasting: int = 60,  # seconds; a scanner is done sooner
    fresh: int = 600,  # seconds before the end of the log; a client backs off a second (reconnect.backoff.max.ms), a restarted job minutes
) -> DataFrame:
    """Per broker log and peer; nodes of one cluster that refuse each other are more than a symptom. Source: Kafka's Selector."""
    because = F.col("_because")
    reason = first_of(
        ("between-brokers", detail("by") != "SocketServer"),
        ("tls", because.rlike("(?i)ssl|handshake failed|certificate|PKIX")),
        ("plain", because.contains("Unexpected Kafka request")),
        ("tls-to-plain", because.rlike("(?i)invalid receive")),
        otherwise="credentials",
    )
    rows = log_events.where(F.coalesce("role", F.lit("kafka-broker")) == "kafka-broker").withColumn("_because", detail("because"))
    per_peer = found(  # several clients of a host are refused each for its own reason
        rows.withColumns({"peer": detail("peer"), "reason": reason, "_because": F.substring("_because", 1, 160)}), "file", "peer", "reason",
        times=count(), because=newest("_because"), broker=F.max(broker_in_text()), end=F.max("as_of"),
    )  # fmt: skip
    between = F.col("reason") == "between-brokers"
    return per_peer.where(goes_on("times", enough=enough, lasting=lasting, fresh=fresh)).withColumns(
        {
            "cause": F.when(between, "broker-unreachable"),
            "severity": F.when(between, "critical"),
            "server": F.coalesce(F.concat(F.lit("Broker "), "broker"), F.lit("A broker")),
        }
    )
