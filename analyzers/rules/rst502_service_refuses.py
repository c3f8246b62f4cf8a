"""RST502: a service that the job calls refuses it: credentials or permission."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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
    faults=("storage-access", "service-access-denied"),
    says="A service that the job calls refuses it[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: {what}; {failures} "
    "failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
    fix="Renew or correct the credentials that the job's containers see (secret, role, token, password), or grant that user what the "
    "message asks for. A restart alone reads the same credentials again.",
    next_command="[[zless {shown_at}   # the whole trace: which service, which user, which right]]",
    needs=FAILING,
)
def service_refuses(faults: DataFrame) -> DataFrame:
    """Fatal refusals per job, other than Kafka's and the checkpoint storage's."""
    found = failures(faults.withColumn("_address", service_address()), agreed("_address", "address"))
    return found.withColumn("reason", F.lit("access-denied"))
