"""SPL203: a topic of the job has partitions that none of its readers has."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, numbered, rule
from analyzers.vocabulary.columns import text

_WHAT = "{unread} of {existing} partitions of {topic} are in no reader of the job: {split}[[, created from {since} UTC on]]"
_WAIT = "[[. {records_shown} record(s) lie there]]"


@rule(
    "SPL203", title="Partitions of the job's topic have no reader", cause="no-progress", stage="lag", severity=CRITICAL,
    needs=lambda rows, _: bool(rows),
    says={
        "discovery-off": f"{_WHAT}. Its KafkaSource looks for partitions at its start only{_WAIT}",
        "overdue": f"{_WHAT}. {{should}}{_WAIT}",
        "records-wait": f"{_WHAT}{_WAIT}. They were added after the others",
        "empty": f"{_WHAT}. They are empty so far: nothing is lost yet",
        "": f"{_WHAT}. This is normal where the job reads chosen partitions; otherwise it does not discover new ones",
    },
    missing={"records-wait": "whether the job discovers partitions: the JobManager's log says it where KafkaSource starts", "": ""},
    next_command="diag lag-report --bootstrap-server HOST:PORT,… --topic {topic}   # what lies in partitions without a commit",
)  # fmt: skip
def partitions_unread(unread_partitions: DataFrame) -> DataFrame:
    """Per job and topic. Source: ``KafkaSourceEnumerator.start``, which schedules discovery only with an interval above 0."""
    interval = F.max("interval_ms") / 1000
    per_topic = found(
        unread_partitions.withColumn("_name", text("{topic}-{partition}")), "job", "topic", "reason", table="unread_partitions",
        unread=F.count("*"),
        existing=F.max("existing"),
        split=numbered("_name", "split"),
        _first=F.min("partition"),
        _last=F.max("partition"),
        partition=F.when(F.count("*") == 1, F.max("partition")),
        records_shown=F.format_number(F.when(F.count("records") == F.count("*"), F.sum("records")), 0),
        should=F.coalesce(
            F.concat(F.lit("It looks for new ones every "), F.format_number(interval, 0), F.lit(" s, and does not find these")),
            F.lit("A job that discovers partitions would have found them by now"),
        ),
        legacy=F.when(F.max("connector") == "kafka-legacy", "flink.partition-discovery.interval-millis (off by default)"),
        operator=F.when(F.min("operator") == F.max("operator"), F.max("operator")),
        path=F.max("path"),
        until=F.lit(None).cast("timestamp"),
    )  # fmt: skip
    reason = F.col("reason")
    return per_topic.withColumns(
        {
            "split_shown": F.when(F.size("split") > 4, text("{topic}-{_first} to {topic}-{_last}")).otherwise(F.array_join("split", ", ")),
            "setting": F.coalesce("legacy", F.lit("partition.discovery.interval.ms (SQL: scan.topic-partition-discovery.interval)")),
            "damage_stays": F.lit(True),
            "severity": first_of(("info", reason == "chosen"), ("warning", reason == "empty"), otherwise="critical"),
            "confidence": first_of((0.9, reason == "discovery-off"), (0.8, reason == "records-wait"), otherwise=0.7),
        }
    )
