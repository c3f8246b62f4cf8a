"""LAG205: a member cannot join its group: it offers none of the assignment strategies that the members have in common."""

from analyzers.vocabulary import CLIENTS, CRITICAL, DataFrame, F, Window, agreed, event, found, number_of, rule

_JOINED = ("group-joining", "binding-answered")


@rule(
    "LAG205", title="A member cannot join: its assignment strategies fit no other member's", cause="offset-commit", reason="protocols",
    stage="commit", severity=CRITICAL, logs_of=CLIENTS, signatures=("group-protocol-refused", *_JOINED),
    says="The coordinator refuses to let a consumer[[ ({client})]] join[[ group {group}]], {times} time(s)[[ since {since} UTC]] "
    "(INCONSISTENT_GROUP_PROTOCOL): it offers none of the assignment strategies that all members offer. It reads nothing",
    inferred="The members were configured apart: a rolling update that changes the strategy, or another program with the same group id.",
    next_command="kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe[[ --group {group}]] --members --verbose",
)  # fmt: skip
def protocols_differ(log_events: DataFrame) -> DataFrame:
    """Per log, refusals behind which no member has joined.

    A coordinator takes a member only if its list of protocols and those of all others have one in common (GroupCoordinator's
    INCONSISTENT_GROUP_PROTOCOL): librdkafka cannot offer an eager and a cooperative one together, Java's clients can.
    """
    refused = event("group-protocol-refused")
    joined = event(*_JOINED) & (~event("group-joining") | F.col("text").contains("Successfully joined"))
    last_joined = F.max(F.when(joined, F.col("line"))).over(Window.partitionBy("scope", "file"))
    stays_out = log_events.withColumn("_joined", last_joined).where(refused & ~F.coalesce(F.col("_joined") > F.col("line"), F.lit(False)))
    return found(
        stays_out, "file",
        group=agreed("group"),
        client=agreed("client"),
        times=number_of(F.date_trunc("second", "at")),  # a client prints it, and who called it prints it again
    )  # fmt: skip
