"""CKP309: An instance of Kafka Streams cannot use its state directory."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, failures, first_of, rule, some
from analyzers.vocabulary.checkpoint_storage import is_of_streams, of_streams, words
from analyzers.vocabulary.quick_looks import is_failure

_DIRECTORY = r"(?:state directory is \[|at location |directory \[)([^\]\s]+)"
_AFTER = "{what}; {failures} failure(s)[[, the first at {since} UTC]]"


@rule(
    "CKP309", title="Kafka Streams cannot use its state directory", cause="checkpoint-storage", stage="failure", severity=CRITICAL,
    faults=(
        "checkpoint-missing", "log-damaged", "restore-failed", "disk-full", "state-directory-shared", "state-directory-unwritable",
    ),
    needs=some(lambda fault: is_failure(fault) and is_of_streams(fault)),
    says={
        "two-instances": f"Another process uses the state directory of this instance of Kafka Streams[[ ({{path}})]]: {_AFTER}",
        "damaged": f"A state store on this instance's disk cannot be opened[[ ({{path}})]]: {_AFTER}",
        "full": f"The disk of the state directory is full[[ ({{path}})]]: {_AFTER}",
        "write": f"This instance of Kafka Streams cannot write its state directory[[ ({{path}})]]: {_AFTER}",
    },
    next_command="ls -la {path_or_placeholder}; df -h {path_or_placeholder}",
)  # fmt: skip
def streams_state_directory(faults: DataFrame) -> DataFrame:
    """Fatal faults per application. Source: Kafka's StateDirectory, RocksDBStore."""
    path = F.max(F.nullif(F.regexp_extract(words(), _DIRECTORY, 1), F.lit(""))).alias("path")
    found = failures(of_streams(faults), path)
    ids = F.col("fault_ids")
    return found.withColumns(
        {
            "reason": first_of(
                ("two-instances", F.array_contains(ids, "state-directory-shared")),
                ("full", F.array_contains(ids, "disk-full")),
                ("write", F.array_contains(ids, "state-directory-unwritable")),
                otherwise="damaged",
            ),
            "path_or_placeholder": F.coalesce("path", F.lit("STATE_DIR")),
        }
    )
