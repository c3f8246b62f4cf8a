"""SPK901: a batch, a query or a driver was in the middle of its work when its log ended."""

from analyzers.vocabulary import SPARK_DRIVER, UNDECIDED, DataFrame, has, rule
from analyzers.vocabulary.open_ends import still_open

KINDS = ("batch", "batch-of-query", "query-silent", "driver")


@rule(
    "SPK901",
    title="The logs end within a batch",
    stage="checkpoint",
    severity=UNDECIDED,
    logs_of=SPARK_DRIVER,
    needs=has(kind=KINDS),
    says={
        "batch": "whether batch {batch} ends: the log stops within it[[, planned at {at} UTC]], and a batch that hangs logs nothing",
        "batch-of-query": "whether batch {batch} of query {query} ends: it was planned at {at} UTC and had not ended {lasted_shown} later, "
        "while its driver's "
        "log goes on; a batch that hangs logs nothing",
        "query-silent": "whether query {query} works: it has logged no progress since {at} UTC, for {lasted_shown}, while another query of "
        "its driver did. "
        "It has no new data, or its batch hangs",
        "driver": "whether the driver of query {query} lives: its log ends at {at} UTC in the middle of its work, {lasted_shown} before "
        "the newest of "
        "these logs",
    },
    next_command={
        "": "ls -t CHECKPOINT_DIRECTORY/offsets CHECKPOINT_DIRECTORY/commits   # a batch in offsets and not in commits is open",
        "driver": "kubectl describe pod DRIVER   # or yarn logs: how its process ended",
    },
)
def query_still_open(open_ends: DataFrame) -> DataFrame:
    """A batch, a query or a driver was in the middle of its work when its log ended."""
    return still_open(open_ends, *KINDS)
