"""RST502: a service that the job calls refuses it: credentials or permission."""

from __future__ import annotations

from pyspark.sql import DataFrame

from analyzers.aggregates import agreed, failures
from analyzers.finding import Severity
from analyzers.rule import FAILING, rule
from analyzers.service_address import service_address


@rule(
    "RST502",
    title="A service that the job calls refuses access",
    cause="external-system",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("storage-access", "service-access-denied", "slot-refused"),
    says={
        "replication-slot": "The database gives the source no replication slot[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: "
        "{what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "": "A service that the job calls refuses it[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: {what}; {failures} "
        "failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
    },
    fix={
        "replication-slot": "Do what the message asks for: a decoding plugin that the server has (pgoutput needs none installed), "
        "wal_level=logical, a free place in max_replication_slots; and a slot name of its own for each source. A slot that is active "
        "belongs to another reader, perhaps to an older run of this job (pg_replication_slots names its process): stop that one. Do not "
        "drop a slot whose changes were not read yet.",
        "": "Renew or correct the credentials that the job's containers see (secret, role, token, password), or grant that user what the "
        "message asks for. A restart alone reads the same credentials again.",
    },
    next_command="[[zless {shown_at}   # the whole trace: which service, which user, which right]]",
    needs=FAILING,
)
def service_refuses(faults: DataFrame) -> DataFrame:
    """Fatal refusals per job, other than Kafka's and the checkpoint storage's."""
    return failures(faults.withColumn("_address", service_address()), agreed("_address", "address"))
