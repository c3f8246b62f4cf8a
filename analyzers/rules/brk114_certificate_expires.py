"""BRK114: a broker's TLS certificate is about to expire."""

from analyzers.vocabulary import WARNING, DataFrame, F, distinct, found, newest_snapshot, none, oldest, rule


@rule("BRK114", title="A broker's TLS certificate expires soon", stage="risk", severity=WARNING, reason="tls-expiry",
    says="The certificate of {address} expires in {days_left} days: from then on no client can connect to it",
    next_command="openssl s_client -connect {first_address} </dev/null | openssl x509 -noout -enddate",
)  # fmt: skip
def certificate_expires(
    bootstrap_servers: DataFrame,
    *,
    within: int = 14,  # days; a renewal that needs other people takes a week
) -> DataFrame:
    """Per scope, reachable bootstrap servers with a certificate that ends within `within` days."""
    return found(
        newest_snapshot(bootstrap_servers).where((F.col("state") == "alive") & (F.col("tls_days_left") < within)),
        at="as_of", table="bootstrap_servers", shown=F.concat_ws(" ", "entry", F.lit("has"), "tls_days_left", F.lit("days left")),
        since=none("timestamp"), address=distinct("entry", "address"), days_left=F.min("tls_days_left"),
        first_address=oldest("entry", by="tls_days_left"),
    )  # fmt: skip
