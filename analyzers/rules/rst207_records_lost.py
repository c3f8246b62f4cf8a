"""RST207: Saved metrics show a counter of lost records that grows while the job goes on."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, IfGiven, beside, first_of, found, has, rule

_GREW = "{name_shown}[[ of {owner_shown}]] grew by {grew_shown}[[ (to {parts_shown})]] between {before_shown} and {last_shown}"
_SHARE = "[[, {percent} % of the {records_shown} records read meanwhile]]"
_REFUSED = "[[; the stream refused {throttled_shown} writes as throttled]]"
_READ = "[[, {percent} % of the {records_shown} records read]]"
_ONCE = f"{{name_shown}}[[ of {{owner_shown}}]] stands at {{grew_shown}}{_READ}, in the one sample given"


@rule(
    "RST207", title="A counter of lost records grows", cause="other", stage="failure", severity=CRITICAL, shows="record-fails",
    says={
        "once": _ONCE,
        "skipped": f"{_GREW}{_SHARE}: the task goes on without them[[; {{unlogged}}]][[; {{no_letters}}]][[ ({{settings}})]]",
        "late": f"{_GREW}{_SHARE}: they came after the watermark had closed their windows",
        "expired": f"{_GREW}{_SHARE}: the producer gave them up and dropped them{_REFUSED}",
        "unsent": f"{_GREW}{_SHARE}",
        "": f"{_GREW}{_SHARE}",
    },
    missing={"once": "whether it still grows: a second sample a minute later"},
    needs=has(kind=("loss",)),
)  # fmt: skip
def records_lost(
    metric_troubles: DataFrame,
    connector_configs: IfGiven,
    *,
    few: int = 100,  # records: of fewer a job that reads thousands may well be made to drop some
    much: float = 0.05,  # share of what was read: more than a late straggler or a damaged record now and then
    some: float = 0.005,
) -> DataFrame:
    """Per counter and owner. A counter that no longer grows, one sample alone, and a share of some percent are warnings.

    Sources: Kafka Connect's ErrorHandlingMetrics, Flink's WindowOperator and OperatorMetricGroup, Kafka Streams' dropped-records, the KPL.
    """
    share, grew, reason = F.col("share"), F.col("grew"), F.coalesce("reason", F.lit("dropped"))
    once = F.col("moments") == 1
    kept = F.coalesce(F.col("dead_letters") >= 0.9 * grew, F.lit(False))
    meant = ~reason.isin("expired", "unsent")  # those are never meant to be lost, of the others some may be
    bad = first_of(("none", share < some), ("critical", share >= much), ("warning", share.isNotNull() & meant), otherwise=F.col("alone"))
    # of a counter that a program gives itself it is not known whether it counts what is to be dropped
    bad = first_of(("warning", (bad == "critical") & (reason == "dropped")), otherwise=bad)
    severity = first_of(("none", grew < few), ("warning", (once | ~F.col("goes_on") | kept) & (bad == "critical")), otherwise=bad)
    rows = metric_troubles.where(F.col("kind") == "loss").withColumn("_bad", severity).where(F.col("_bad") != "none")
    rows = rows.where(~once | (share >= much)).withColumn("reason", first_of(("once", once), otherwise=reason))
    names = (
        "connector", "operator", "topic", "client", "grew", "before_shown", "last_shown", "throttled", "logged", "dead_letters", "share",
        "records", "name", "says", "_bad", "before_at",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names}
    facts["parts_shown"] = F.nullif(F.array_join(F.max("parts"), ", "), F.lit(""))
    made = found(rows, "owner", "counts", "reason", table="metric_troubles", **facts)
    key, value = F.col("key"), F.col("value")
    configs = connector_configs.groupBy("scope", "connector").agg(
        F.max(F.when(key == "errors.tolerance", value)).alias("_tolerance"),
        F.max(F.when(key == "errors.log.enable", value)).alias("_log"),
        F.max(F.when(key == "errors.deadletterqueue.topic.name", F.nullif(value, F.lit("")))).alias("_letters"),
        F.max(F.when(key == "topics", value)).alias("topics_shown"),
        F.max(F.when(key == "value.converter", F.element_at(F.split(value, r"\."), -1))).alias("converter"),
        F.max(F.when(key == "value.converter.schema.registry.url", value)).alias("registry"),
    )
    made = beside(made, configs, "connector")
    set_ = F.concat_ws(
        ", ", F.concat(F.lit("errors.tolerance="), "_tolerance"), F.concat(F.lit("errors.log.enable="), "_log"),
        F.concat(F.lit("value.converter "), "converter", F.coalesce(F.concat(F.lit(" at "), "registry"), F.lit(""))),
        F.concat(F.lit("topics "), "topics_shown"),
    )  # fmt: skip
    return made.withColumns(
        {
            "severity": F.col("_bad"),
            "cause": first_of(
                ("poison-record", F.col("connector").isNotNull()), ("external-system", F.col("reason") == "expired"), otherwise="other"
            ),
            "job": F.col("connector"),
            "name_shown": F.regexp_replace("name", r"^(?:kafka_connect_(?:connect_)?|flink_taskmanager_job_task_(?:operator_)?)", ""),
            "owner_shown": F.coalesce(F.concat(F.lit("connector "), "connector"), "owner"),
            "who": F.coalesce(F.concat(F.lit("Connector "), "connector"), "owner", F.lit("The job")),
            "whom": F.coalesce(F.concat(F.lit("connector "), "connector"), "owner", F.lit("it")),
            "grew_shown": F.format_number("grew", 0),
            "records_shown": F.format_number("records", 0),
            "percent": F.format_number(F.col("share") * 100, 1),
            "before_shown": F.coalesce("before_shown", F.lit("the first sample")),
            "last_shown": F.coalesce("last_shown", F.lit("the last one")),
            "throttled_shown": F.when(F.col("throttled") > 0, F.format_number("throttled", 0)),
            "unlogged": F.when(F.col("logged") == 0, F.lit("none of the errors was logged")),
            "no_letters": first_of(
                (F.lit("none went to a dead-letter topic"), F.col("dead_letters") == 0),
                (F.concat(F.lit("the dead-letter topic got "), F.format_number("dead_letters", 0)), F.col("dead_letters") > 0),
            ),
            "settings": F.nullif(set_, F.lit("")),
            "converter_shown": F.concat("converter", F.coalesce(F.concat(F.lit(" at "), "registry"), F.lit(""))),
            "topic": F.coalesce("topic", F.when(~F.col("topics_shown").contains(","), F.col("topics_shown"))),
            "rewind_to": F.coalesce("before_shown", F.lit("the time of the first sample")),
            "confidence": first_of((0.9, F.col("share").isNotNull() & (F.col("reason") != "once")), otherwise=0.7),
        }
    )
