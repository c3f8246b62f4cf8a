"""RST502: a service that the job calls refuses it: credentials or permission."""

from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, agreed, earliest, failures, first_of, rule
from analyzers.vocabulary.services import service_address

_FORBIDDEN = r'is forbidden: User "([^"]+)" cannot (\w+) resource "([^"]+)"(?: in API group "[^"]*")?(?: in the namespace "([^"]+)")?'
_RIGHT = ("account", "verb", "thing", "namespace")
"""What a refusal of Kubernetes (RBAC) names, in the order of the groups of `_FORBIDDEN`."""
_ACCOUNT_GONE = r"error looking up service account (\S+?)/([\w.-]+)"
_AFTER = "{failures} failure(s)[[ in {attempts} attempt(s)]][[, the first at {since} UTC]]"
_CALLED = "[[: {address}]][[, called from {task}]][[ {subtask_shown}]]: {what}; "


@rule(
    "RST502", title="A service that the job calls refuses access", stage="access", severity=CRITICAL,
    shows="call-refused", cause="external-system",
    faults=("storage-access", "service-access-denied", "registry-refused", "slot-refused", "kubernetes-forbidden"), needs=FAILING,
    says={
        "replication-slot": f"The database gives the source no replication slot{_CALLED}{_AFTER}",
        "kubernetes": f"Kubernetes refuses the job a right: {{account}} may not {{verb}} {{thing}} {{where}}; {_AFTER}",
        "service-account": f"Kubernetes makes no pods for the job: service account {{account}} does not exist {{where}}; {_AFTER}",
        "": f"A service that the job calls refuses it{_CALLED}{_AFTER}",
    },
    next_command={
        "service-account": "kubectl get serviceaccounts -n {namespace}   # what there is instead",
        "kubernetes": "kubectl auth can-i {verb} {thing}[[ -n {namespace}]] --as {account}   # yes, once it is granted",
        "": "[[zless {shown_at}   # the whole trace: which service, which user, which right]]",
    },
)  # fmt: skip
def service_refuses(faults: DataFrame) -> DataFrame:
    """Fatal refusals per job, other than Kafka's and the checkpoint storage's."""
    lines = F.concat_ws("\n", "root_message", "chain", "text")  # the URL before the refusal is long, and cuts it off
    right = {name: F.nullif(F.regexp_extract(lines, _FORBIDDEN, group), F.lit("")) for group, name in enumerate(_RIGHT, 1)}
    gone = {
        name: F.nullif(F.regexp_extract(lines, _ACCOUNT_GONE, group), F.lit("")) for group, name in enumerate(("namespace", "account"), 1)
    }
    named = {**right, **{name: F.coalesce(gone[name], right[name]) for name in gone}}
    found = failures(faults.withColumns({"_address": service_address(), **named}), agreed("_address", "address"), *map(earliest, named))
    return found.withColumns(
        {
            "reason": first_of(
                ("kubernetes", F.col("verb").isNotNull()), ("service-account", F.col("account").isNotNull()), otherwise=F.col("reason")
            ),
            "where": F.coalesce(F.concat(F.lit("in namespace "), "namespace"), F.lit("in the cluster")),
        }
    )
