"""RST503: A task of Kafka Connect tries one call again and again, and gets no further."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, Window, count, detail, event, for_long, found, rule, seconds
from analyzers.vocabulary.aggregates import WORDS
from analyzers.vocabulary.services import address_in

TRIED, WORKS = "connect-call-retried", ("connect-offsets-committed", "connect-sink-wrote", "connect-source-works")


@rule(
    "RST503", title="A task of Kafka Connect retries without end", cause="external-system", stage="failure", severity=CRITICAL,
    signatures=(TRIED, *WORKS), needs=for_long(signature=TRIED, by="file"),
    says="The same call of a connector[[ to {address}]] has failed and was tried again {times} times "
    "in {minutes} minutes, from {since} UTC up to the end of the log: {what}. No offsets were committed meanwhile, and the task's state "
    "stays RUNNING",
    missing="[[which host it is: the connector's configuration names it{unnamed}]]",
    next_command="curl -s localhost:8083/connectors/{connector_or_placeholder}/status   # RUNNING; and kafka-consumer-groups.sh --describe "
    "--group connect-{connector_or_placeholder}",
)  # fmt: skip
def connect_call_retried(
    log_events: DataFrame,
    *,
    enough: int = 5,  # times; a service that restarts costs fewer
    lasting: int = 300,  # seconds; it is back by then
    resets: int = 1,  # times that the count of tries begins anew: each is a call that succeeded
    fresh: int = 120,  # seconds before the end of the log, or twice the usual time between two tries
) -> DataFrame:
    """Per task. Source: WorkerSinkTask.deliverMessages, Confluent's JdbcSinkTask and RetryUtil; tries without a limit, at WARN."""
    numbers = {name: detail(name).cast("long") for name in ("tries", "limit", "left")}
    owner = F.coalesce(detail("connector"), detail("id"))
    number = F.coalesce(detail("number"), detail("id_number")).cast("long")
    rows = log_events.where(F.col("at").isNotNull()).withColumns({**numbers, "connector": owner, "connector_task": number})
    in_order = Window.partitionBy("scope", "file", "connector", "connector_task").orderBy("line")
    tried = rows.where(event(TRIED))
    # behind the last of its tries a call is made anew
    fell = (F.col("tries") < F.lag("tries").over(in_order)) & (F.lag("tries").over(in_order) < F.lag("limit").over(in_order))
    rose = (F.col("left") > F.lag("left").over(in_order)) & (F.lag("left").over(in_order) > 0)
    words = F.concat_ws(": ", F.regexp_extract("text", r"(?:WARN|ERROR|INFO)\s+(?:\[[^\]]*\] )?([^\n]*)", 1), "root_message")
    per_task = found(
        tried.withColumns({"_anew": fell | rose, "_words": words}),
        "file",
        "connector",
        "connector_task",
        times=count(),
        _resets=F.count_if("_anew"),
        _end=F.max("as_of"),
        _first=F.min("line"),
        what=F.substring(F.max_by("_words", "line"), 1, WORDS),
        address=F.max_by(address_in("_words"), "line"),
    )
    went_on = rows.where(event(*WORKS)).select("scope", "file", "connector", F.col("connector_task").alias("_its"), "line")
    # a line that names no task may be of any
    same = (
        (F.col("t.scope") == F.col("w.scope"))
        & (F.col("t.file") == F.col("w.file"))
        & (F.col("w.connector").isNull() | F.col("t.connector").isNull() | (F.col("t.connector") == F.col("w.connector")))
        & (F.col("w._its").isNull() | F.col("t.connector_task").isNull() | (F.col("t.connector_task") == F.col("w._its")))
        & (F.col("w.line") > F.col("t._first"))
    )
    stuck = per_task.alias("t").join(went_on.alias("w"), same, "left_anti")
    spell = seconds("since", "until")
    at_end = seconds("until", "_end") <= F.greatest(F.lit(fresh), spell * 2 / F.col("times"))
    ill = (F.col("times") >= enough) & (spell >= lasting) & (F.col("_resets") <= resets) & at_end
    return (
        stuck.where(ill)
        .drop("file")
        .withColumns(
            {
                "reason": F.lit("retried"),
                "minutes": F.floor(spell / 60),
                "unnamed": F.when(F.col("address").isNull(), ""),
                "connector_or_placeholder": F.coalesce("connector", F.lit("NAME")),
            }
        )
    )
