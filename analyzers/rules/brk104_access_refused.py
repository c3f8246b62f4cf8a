"""BRK104: Kafka refuses the client: authentication, certificate or permission."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.rule import FAILING, rule

_NO_ENTRY = r"Could not find a '\w+' entry in the JAAS"
_NO_LOGIN = rf"{_NO_ENTRY}|Unable to find LoginModule class|Failed to load SSL keystore"
"""What fails within the client, before it asks a broker (JaasContext, SslEngineFactory)."""
_LIBRDKAFKA = "Failed to verify broker certificate|SSL handshake failed|SASL authentication error|SASL \\S+ mechanism handshake failed"


@rule(
    "BRK104",
    title="Kafka refuses access",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("kafka-access-denied",),
    says={
        "no-login": "The job's Kafka client[[ in {task}]] cannot log in, it was given no login or key store that it could use: {what}; "
        "{failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "": "Kafka refuses the job's client[[ in {task}]][[ at {address}]]: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]]"
        "[[, the first at {since} UTC]]",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,… --command-config client.properties   # with the job's own login",
    needs=FAILING,
)
def access_refused(faults: DataFrame) -> DataFrame:
    """Fatal authentication, TLS and authorisation faults of Kafka clients per job."""
    topics = F.regexp_extract(F.concat_ws("\n", "chain", F.col("text")), r"Not authorized to access topics: \[([^\]]+)\]", 1)
    groups = F.regexp_extract(F.concat_ws("\n", "chain", F.col("text")), r"Not authorized to access group: (\S+)", 1)
    refused = F.regexp_extract("text", r"(?i)failed authentication due to: ([^\n]*?)(?: \([\w.$]+\))?\s*(?:\n|$)", 1)
    of_librdkafka = F.regexp_extract("text", rf"\[thrd:[^\n]*?((?:{_LIBRDKAFKA})[^\n]*?)\s*(?:\(after \d+ms in state|\n|$)", 1)
    found = failures(
        faults,
        F.max(F.coalesce(F.nullif(refused, F.lit("")), F.nullif(of_librdkafka, F.lit("")))).alias("refused"),
        agreed(F.nullif(topics, F.lit("")), "topic"),
        agreed(F.coalesce(F.nullif(groups, F.lit("")), F.col("group")), "group"),
        agreed("address"),
    )
    what = F.coalesce("refused", "what")  # the client's own line names no exception
    repair = (
        F.when(
            what.rlike(_NO_ENTRY),
            F.lit(
                "Give the client its login: sasl.jaas.config among the connector's own properties, or, with Kerberos, "
                "security.kerberos.login.contexts: KafkaClient beside keytab and principal in Flink's configuration (it writes the JAAS "
                "file that the message names). No broker was asked yet."
            ),
        )
        .when(
            F.col("topic").isNotNull() & what.contains("opic"),
            F.concat(
                F.lit("Grant the job's user READ (source) or WRITE (sink) and DESCRIBE on topic "),
                "topic",
                F.lit(" (kafka-acls.sh --add)."),
            ),
        )
        .when(
            what.rlike("(?i)access group|GroupAuthorization"),
            F.concat(
                F.lit("Grant the job's user READ on consumer group "),
                F.coalesce("group", F.lit("of the job")),
                F.lit(" (kafka-acls.sh --add)."),
            ),
        )
        .when(
            what.rlike("(?i)TransactionalId"),
            F.lit("Grant the job's user WRITE and DESCRIBE on its transactional ids (kafka-acls.sh --add --transactional-id)."),
        )
        .when(
            what.rlike("(?i)ssl|handshake|certificate|PKIX"),
            F.lit(
                "Check certificate, trust store and security.protocol of the "
                "client against the broker's listener: expired, unknown issuer, or a plain port."
            ),
        )
        .when(
            what.rlike("(?i)sasl|Authentication failed|credentials|login"),
            F.lit(
                "Check sasl.mechanism, sasl.jaas.config and the "
                "password or keytab of the job's user; an expired secret is the usual reason."
            ),
        )
        .otherwise(F.lit("Compare the client's credentials and ACLs (kafka-acls.sh --list) with what the message asks for."))
    )
    return found.withColumns(
        {"repair": repair, "what": what, "reason": F.when(what.rlike(_NO_LOGIN), "no-login").otherwise("access-denied")}
    ).drop("refused")
