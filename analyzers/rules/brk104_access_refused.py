"""BRK104: Kafka refuses the client: authentication, certificate or permission."""

from analyzers.vocabulary import CRITICAL, FAILING, Column, DataFrame, F, agreed, failures, first_of, rule

NO_LOGIN = r"Could not find a '\w+' entry in the JAAS|Unable to find LoginModule class|Failed to load SSL keystore"
"""What fails within the client, before it asks a broker (JaasContext, SslEngineFactory)."""
EXPIRED = r"(?i)certificate[ _](?:has )?expired|CertificateExpired|NotAfter: "
LIBRDKAFKA = "Failed to verify broker certificate|SSL handshake failed|SASL authentication error|SASL \\S+ mechanism handshake failed"


@rule("BRK104", title="Kafka refuses "
"access", cause="broker-unreachable", stage="access", severity=CRITICAL, faults=("kafka-access-denied",),
    needs=FAILING,
    says={
        "no-login": "The job's Kafka client[[ in {task}]] cannot log in: it has no login or key store that it can use: {what}; {failures} "
        "failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "certificate-expired": "A certificate between the job's client[[ in {task}]] and Kafka[[ at {address}]] has expired: {what}; "
        "{failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "access-denied": "Kafka refuses the job's client[[ in {task}]][[ at {address}]]: {what}; {failures} failure(s)[[ in {attempts} "
        "attempt(s)]][[, the first at {since} UTC]]",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,… --command-config client.properties   # with the job's own login",
)  # fmt: skip
def access_refused(faults: DataFrame) -> DataFrame:
    """Fatal authentication, TLS and authorisation faults of Kafka clients per job."""
    text = F.concat_ws("\n", "chain", F.col("text"))
    refused = _first(F.col("text"), r"(?i)failed authentication due to: ([^\n]*?)(?: \([\w.$]+\))?\s*(?:\n|$)")
    by_librdkafka = r"(?:\[thrd:|(?:ssl|plaintext)://[\w.-]+:\d+/)[^\n]*?"
    of_librdkafka = _first(F.col("text"), rf"{by_librdkafka}((?:{LIBRDKAFKA})[^\n]*?)\s*(?:\(after \d+ms in state|\n|$)")
    per_job = failures(
        faults,
        F.max(F.coalesce(refused, of_librdkafka)).alias("_refused"),
        agreed(_first(text, r"Not authorized to access topics: \[([^\]]+)\]"), "topic"),
        agreed(F.coalesce(_first(text, r"Not authorized to access group: (\S+)"), F.col("group")), "group"),
        agreed("address"),
    )
    what = F.coalesce("_refused", "what")  # the client's own line names no exception
    right = first_of(
        (F.concat(F.lit("READ (source) or WRITE (sink) and DESCRIBE on topic "), "topic"), what.contains("opic")),
        (F.concat(F.lit("READ on consumer group "), F.coalesce("group", F.lit("of the job"))), what.rlike("(?i)access group|GroupAuth")),
        ("WRITE and DESCRIBE on its transactional ids", what.rlike("(?i)Transactional ?Id")),
    )
    check = first_of(
        ("certificate, trust store and security.protocol", what.rlike("(?i)ssl|handshake|certificate|PKIX")),
        ("sasl.mechanism, sasl.jaas.config and password or keytab", what.rlike("(?i)sasl|Authentication failed|credentials|login")),
        otherwise="credentials and ACLs (kafka-acls.sh --list)",
    )
    reason = first_of(("no-login", what.rlike(NO_LOGIN)), ("certificate-expired", what.rlike(EXPIRED)), otherwise="access-denied")
    return per_job.withColumns({"right": right, "check": F.when(right.isNull(), check), "what": what, "reason": reason})


def _first(value: Column, pattern: str) -> Column:
    return F.nullif(F.regexp_extract(value, pattern, 1), F.lit(""))
