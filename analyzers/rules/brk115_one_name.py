"""BRK115: the whole bootstrap list is one name, and some of its addresses do not answer."""

from analyzers.vocabulary import WARNING, DataFrame, F, count, distinct, found, newest_snapshot, none, number_of, rule


@rule("BRK115", title="One name stands for all brokers, and some of its addresses do not answer", stage="risk", severity=WARNING,
    reason="one-name",
    says="{address} is the only bootstrap server and a name for {addresses} addresses, of which {dead} do not answer ({named}). A client "
    "takes it for one server and tries few of them in a minute: each further address gets twice the time (10, 20, 30 s), and clients "
    "before 2.6 try the first address only",
    inferred="The odds of one name were derived from the client's rules, not measured.",
    next_command='diag broker-health --what-if "entries={addresses} dead={dead} name=one client=3.4.0"',
)  # fmt: skip
def one_name(bootstrap_servers: DataFrame) -> DataFrame:
    """Per scope, a list of one name with several addresses, some of which answer and some do not."""
    silent = F.col("state").isin("black-hole", "hung")
    per_list = found(
        newest_snapshot(bootstrap_servers).where(F.col("ip").isNotNull()), at="as_of", table="bootstrap_servers", since=none("timestamp"),
        shown=F.concat_ws(" ", "entry", F.lit("at"), "ip", F.lit("is"), F.coalesce("state", F.lit("not judged"))),
        address=F.any_value("entry"), addresses=number_of("ip"), dead=count(silent),
        named=distinct(F.when(silent, F.concat_ws(" ", "ip", "state")), "named"),
        _names=number_of("entry"), _alive=count(F.col("state") == "alive"),
    )  # fmt: skip
    return per_list.where((F.col("_names") == 1) & (F.col("addresses") > 1) & (F.col("dead") > 0) & (F.col("_alive") > 0))
