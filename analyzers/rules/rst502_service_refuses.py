"""RST502: a service that the job calls refuses it: credentials or permission."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, earliest, failures
from analyzers.vocabulary.rule import FAILING, rule
from analyzers.vocabulary.services import service_address

_FORBIDDEN = r'is forbidden: User "([^"]+)" cannot (\w+) resource "([^"]+)"(?: in API group "[^"]*")?(?: in the namespace "([^"]+)")?'
_RENEW = (
    "Renew or correct the credentials that the job's containers see (secret, role, token, password), or grant that user what the "
    "message asks for. A restart alone reads the same credentials again."
)

_ROLES = (
    " (for Flink's own Kubernetes mode `edit` of its namespace is enough: kubectl create rolebinding NAME --clusterrole=edit "
    "--serviceaccount=NAMESPACE:ACCOUNT; for the operator the roles of its Helm chart), or run the pods under the account that has one: "
    "kubernetes.service-account, serviceAccount of a FlinkDeployment; where none is named it is `default`."
)


@rule(
    "RST502",
    title="A service that the job calls refuses access",
    cause="external-system",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("storage-access", "service-access-denied", "registry-refused", "slot-refused", "kubernetes-forbidden"),
    says={
        "replication-slot": "The database gives the source no replication slot[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: "
        "{what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
        "": "A service that the job calls refuses it[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: {what}; {failures} "
        "failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]",
    },
    next_command="[[{can_i}]][[zless {shown_at}   # {to_read}]]",
    needs=FAILING,
)
def service_refuses(faults: DataFrame) -> DataFrame:
    """Fatal refusals per job, other than Kafka's and the checkpoint storage's."""
    asked = [_right(group) for group in range(1, 5)]
    rights = dict(zip(("_account", "_verb", "_thing", "_namespace"), asked, strict=True))
    found = failures(faults.withColumns({"_address": service_address(), **rights}), agreed("_address", "address"), *map(earliest, rights))
    where = F.concat(F.lit(" -n "), "_namespace")
    can_i = F.concat(F.lit("kubectl auth can-i "), "_verb", F.lit(" "), "_thing", F.coalesce(where, F.lit("")), F.lit(" --as "), "_account")
    in_words = F.concat(
        F.col("_account"), F.lit(" may not "), "_verb", F.lit(" "), "_thing",
        F.coalesce(F.concat(F.lit(" in namespace "), "_namespace"), F.lit(" in the cluster")),
    )  # fmt: skip
    grant = F.concat(F.lit("Give that service account a role that may "), "_verb", F.lit(" "), "_thing", F.lit(_ROLES))
    return found.withColumns(
        {
            "what": F.coalesce(F.concat(F.lit("Kubernetes: "), in_words), F.col("what")),
            "repair": F.coalesce(grant, F.lit(_RENEW)),
            "can_i": F.concat(can_i, F.lit("   # yes, once it is granted")),
            "to_read": F.when(can_i.isNull(), F.lit("the whole trace: which service, which user, which right")),
        }
    ).drop(*rights)


def _right(group: int) -> Column:
    """Account, verb, resource or namespace of a refusal of Kubernetes (RBAC): the URL before it is long, and cuts it off."""
    told = F.concat_ws("\n", "root_message", "chain", "text")
    return F.nullif(F.regexp_extract(told, _FORBIDDEN, group), F.lit(""))
