"""BRK223: a broker refuses the requests of clients that speak an older version of Kafka's protocol than it does."""

from analyzers.vocabulary import BROKER, CRITICAL, DataFrame, F, count, detail, first_of, found, goes_on, has, rule
from analyzers.vocabulary.aggregates import listed
from analyzers.vocabulary.brokers import broker_in_text

REFUSED = "request-version-refused"
_NAMES = {
    "0": "Produce", "1": "Fetch", "2": "ListOffsets", "3": "Metadata", "8": "OffsetCommit", "9": "OffsetFetch", "10": "FindCoordinator",
    "11": "JoinGroup", "12": "Heartbeat", "13": "LeaveGroup", "14": "SyncGroup", "17": "SaslHandshake", "18": "ApiVersions",
}  # fmt: skip
"""Numbers of requests, of which brokers before 4.0 print the number only (Kafka's protocol guide)."""
OF_GROUPS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch", "FindCoordinator")


@rule(
    "BRK223", title="A broker refuses the requests of old clients", cause="broker-unreachable", stage="access", severity=CRITICAL,
    logs_of=BROKER, signatures=(REFUSED,), needs=has("enough", signature=REFUSED),
    says="{server} refuses {request} requests of version {request_version} and closes the connection[[, {times} times since {since} UTC]]: "
    "it does not speak that version. The clients at {peers} cannot {do_what} and see no reason (EOF, disconnected)",
    inferred="The broker was upgraded (Kafka 4.0 dropped old versions of requests), or moved to another release.",
    missing="which process the clients belong to, and their version: their own logs have it",
    next_command="kafka-broker-api-versions.sh --bootstrap-server HOST:PORT | grep {request}",
)  # fmt: skip
def old_requests(
    log_events: DataFrame,
    *,
    enough: int = 3,  # a scanner sends one
    lasting: int = 10,  # seconds; clients come back every few
    fresh: int = 900,  # seconds before the end of the log; a client in a crash loop backs off minutes
) -> DataFrame:
    """Per broker log, request and version. A client that negotiates (ApiVersions) never sends one; some send a fixed version.

    Source: Kafka's SocketServer and ApiVersionManager; KIP-896 names what 4.0 dropped (JoinGroup 0 and 1 came back in 4.0.1 and 4.1).
    """
    numbered = F.create_map(*(F.lit(each) for pair in _NAMES.items() for each in pair))
    number = detail("request2")
    request = F.coalesce(detail("request"), F.try_element_at(numbered, number), F.concat(F.lit("api key "), number))
    rows = log_events.withColumns(
        {"request": request, "request_version": F.coalesce(detail("request_version"), detail("request_version2")), "_peer": detail("peer")}
    )
    per = found(
        rows, "file", "request", "request_version", times=count(), broker=F.max(broker_in_text()), end=F.max("as_of"),
        peers=listed("_peer", most=4, apart=", "),
    )  # fmt: skip
    return per.where(goes_on("times", enough=enough, lasting=lasting, fresh=fresh)).withColumns(
        {
            "server": F.coalesce(F.concat(F.lit("Broker "), "broker"), F.lit("A broker")),
            "do_what": first_of(
                ("join their group", F.col("request") == "JoinGroup"),
                ("work as a group", F.col("request").isin(*OF_GROUPS)),
                ("write", F.col("request") == "Produce"),
                ("read", F.col("request") == "Fetch"),
                otherwise="go on",
            ),
        }
    )
