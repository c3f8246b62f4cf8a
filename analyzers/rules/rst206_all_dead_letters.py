"""RST206: a connector puts each record into its dead-letter topic."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, rule
from analyzers.vocabulary.aggregates import WORDS
from analyzers.vocabulary.columns import in_short

_TOLERATED = "Connector {connector} is RUNNING and tolerates all errors (errors.tolerance=all)"
_BECAUSE = "[[, because: {words}]]"


@rule(
    "RST206", title="Each record goes to the dead-letter topic", cause="poison-record", stage="failure", severity=CRITICAL,
    needs=lambda rows, _: bool(rows),
    says={
        "consecutive": f"{_TOLERATED}: {{records_shown}} records of {{topics_shown}}, one offset after the other, failed and went to "
        f"{{dead_letters}}{_BECAUSE}",
        "as-many": f"{_TOLERATED}: {{records_shown}} records of {{topics_shown}} failed and went to {{dead_letters}}, as many as it has "
        f"read{_BECAUSE}",
        "": f"{_TOLERATED}, and a record that failed lies in {{dead_letters}}{_BECAUSE}",
    },
    missing={"sample": "whether all records fail: compare the ends of {dead_letters} and of {topics_shown} (kafka-get-offsets.sh)", "": ""},
    next_command="diag lag-report --bootstrap-server HOST:PORT,… --group connect-{connector}   # lag 0 is what it shows: it reads all",
)  # fmt: skip
def all_dead_letters(dead_letters: DataFrame) -> DataFrame:
    """Per connector. Nothing else shows it: its state is RUNNING, it commits, and with errors.log.enable=false nothing is logged."""
    per_connector = found(
        dead_letters, "job", "reason", table="log_events", until=F.lit(None).cast("timestamp"),
        connector=F.max("connector"),
        dead_letters=F.max("dead_letters"),
        words=F.substring(F.max("words"), 1, WORDS),
        topics_shown=F.array_join(F.max("topics"), ", "),
        topic=F.when(F.size(F.max("topics")) == 1, F.element_at(F.max("topics"), 1)),
        records_shown=F.format_number(F.max("records"), 0),
    )  # fmt: skip
    envelope = F.contains("words", F.lit('"schema" and "payload"'))
    magic = F.contains("words", F.lit("Unknown magic byte"))
    return per_connector.withColumns(
        {
            "words_short": in_short("words"),
            "words": F.regexp_replace("words", r"\.\s*$", ""),
            "setting": first_of(
                ("value.converter.schemas.enable=false: the records are plain JSON", F.coalesce(envelope, F.lit(False))),
                (
                    "value.converter to the one that the producer used: these bytes are not of a schema registry",
                    F.coalesce(magic, F.lit(False)),
                ),
                otherwise="key.converter and value.converter to those that the producer used",
            ),
            "damage_stays": F.lit(True),
            "severity": first_of(("warning", F.col("reason") == "sample"), otherwise="critical"),
            "confidence": first_of((0.5, F.col("reason") == "sample"), otherwise=0.9),
        }
    )
