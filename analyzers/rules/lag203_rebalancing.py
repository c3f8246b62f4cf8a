"""LAG203: the members of a group change from sample to sample: it rebalances instead of reading."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, IfGiven, Window, count, least, number_of, observed, rule, seconds, text


@rule(
    "LAG203", title="The group rebalances while it is watched", cause="offset-commit", reason="rebalance-loop", stage="commit",
    severity=CRITICAL,
    says="Group {group} rebalanced {times} times in {looks} samples within {watched} s: other members, other partitions, or state "
    "{states}. Each time all its members stop reading, and what they had not committed is read again[[. It is {client} on {host} that "
    "joins anew each time, the others stay]]",
    missing="why members leave: their logs show it (poll timeout, session timeout, a crash); diag triage reads them",
    next_command="diag triage LOG_DIRECTORY",
)  # fmt: skip
def rebalancing(
    groups: DataFrame,
    members: IfGiven,
    *,
    enough: int = 3,  # rebalances; a deployment of one member makes two. One that lasts is seen in many samples and is one
    within: int = 600,  # seconds between two samples: members of samples further apart change for good reasons
) -> DataFrame:
    """Per group, samples in which it was rebalancing, or had other members or assignments than in the sample before."""
    sample, each = ["scope", "group", "as_of"], Window.partitionBy("scope", "group").orderBy("as_of")
    # with a partition more or less assigned the same member is another holder
    holder = F.concat_ws("=", "member", F.concat_ws(",", F.sort_array("assigned")))
    held = members.groupBy(*sample).agg(
        F.concat_ws(";", F.sort_array(F.collect_list(holder))).alias("_held"), F.collect_set("member").alias("_ids")
    )
    rows = groups.where(F.col("error").isNull()).select(*sample, F.coalesce("state", F.lit("unknown")).alias("_shown"), "state")
    rows = rows.join(held, sample, "left").withColumns(
        {
            "_held": F.coalesce("_held", F.lit("")),
            "_unsettled": F.lower("state").isin("preparingrebalance", "completingrebalance", "assigning", "reconciling"),
            "_time": F.date_format("as_of", "HH:mm:ss"),
        }
    )

    def before(name: str) -> Column:
        return F.lag(name).over(each)

    moved = F.coalesce((F.col("_held") != before("_held")) & (seconds(before("as_of"), "as_of") <= within), F.lit(False))
    # what a rebalance ends with is no other one, and a group that starts up gains members sample by sample
    left = F.coalesce(F.size(F.array_except(before("_ids"), "_ids")) > 0, F.lit(False))
    begins = ~F.coalesce(before("_unsettled"), F.lit(False)) | left
    rows = rows.withColumns({"_restless": F.col("_unsettled") | moved, "_begins": begins})
    restless = F.col("_restless")
    found = observed(
        rows, "group", table="groups", shown=text("group {group} was {_shown} at {_time}"),
        times=count(restless & F.col("_begins")),
        looks=count(),
        watched=F.round(seconds(F.min("as_of"), F.max("as_of")), 0).cast("long"),
        states=F.sort_array(F.collect_set("state")),
        since=least("as_of", restless),
        _restless=count(restless),
    )  # fmt: skip
    found = found.join(_comes_and_goes(members), ["scope", "group"], "left")
    # half of the samples: an autoscaler that changes one member an hour is no loop
    return found.where((F.col("times") >= enough) & (F.col("_restless") * 2 >= F.col("looks")))


def _comes_and_goes(members: DataFrame) -> DataFrame:
    """Per group, client and host of the one client that was seen under more member ids than it has members, where other clients stay."""
    who = ["scope", "group", "client", "host"]
    at_once = members.groupBy(*who, "as_of").agg(count().alias("_members")).groupBy(*who).agg(F.max("_members").alias("_at_once"))
    rejoins = F.col("_ids") > F.col("_at_once")
    each = members.groupBy(*who).agg(number_of("member").alias("_ids")).join(at_once, who)
    one = (count(rejoins) == 1) & (count(~rejoins) >= 1)
    named = [F.when(one, F.max(F.when(rejoins, F.col(name)))).alias(name) for name in ("client", "host")]
    return each.groupBy("scope", "group").agg(*named)
