"""RST104: a worker of Kafka Connect ends itself because one of its internal topics is not as it must be."""

from analyzers.vocabulary import CRITICAL, FAILING, DataFrame, F, IfGiven, agreed, detail, event, failures, first_of, newest, rule

_POLICY = r"Topic '([^']+)' supplied via the '([^']+)' property is required to have 'cleanup\.policy=compact'"


@rule(
    "RST104", title="A worker of Kafka Connect ends because of its internal topics", cause="other", stage="access", severity=CRITICAL,
    faults=("connect-topic",), signatures=("connect-topic-refused", "connect-running"), needs=FAILING,
    says={
        "not-compacted": "A worker of Kafka Connect ends itself ({failures} time(s)[[ since {since} UTC]]): its topic[[ {topic}]] "
        "[[({setting}) ]]is not compacted",
        "not-created": "A worker of Kafka Connect ends itself ({failures} time(s)[[ since {since} UTC]]): it cannot create its internal "
        "topic[[ {topic}]][[: {refused}]]",
    },
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe[[ --topic {topic}]]",
)  # fmt: skip
def connect_topics(faults: DataFrame, log_events: IfGiven) -> DataFrame:
    """Per scope and job. Source: Kafka Connect's TopicAdmin.verifyTopicCleanupPolicyOnlyCompact and createTopicsWithRetry."""
    topic, setting = (F.nullif(F.regexp_extract("text", _POLICY, group), F.lit("")) for group in (1, 2))
    running = log_events.where(event("connect-running")).groupBy("scope", "file").agg(F.max("at").alias("_running"))
    still = faults.join(running, ["scope", "file"], "left").where(F.col("_running").isNull() | (F.col("_running") < F.col("at")))
    found = failures(still, agreed(topic, "_topic"), agreed(setting, "setting"))
    # at INFO, and again and again until it gives up; an earlier topic may have been made meanwhile
    refused = log_events.where(event("connect-topic-refused")).withColumn("refused", detail("refused"))
    newest_refusal = refused.groupBy("scope").agg(
        newest("topic", "line").alias("_refused_topic"), newest("refused", "line").alias("refused")
    )
    compacted = F.col("what").contains("cleanup.policy")
    return found.join(newest_refusal, "scope", "left").withColumns(
        {
            "topic": F.when(compacted, F.col("_topic")).otherwise(F.col("_refused_topic")),
            "reason": first_of(("not-compacted", compacted), otherwise="not-created"),
            "confidence": F.lit(1.0),  # the worker says itself what is wrong
        }
    )
