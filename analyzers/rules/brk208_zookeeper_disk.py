"""BRK208: ZooKeeper waits for its disk. This is a symptom: BRK206 and RST302 report who loses a session by it."""

from analyzers.vocabulary import WARNING, ZOOKEEPER, DataFrame, F, count, detail, event, exemplars, found, greatest, has, number_of, rule


@rule("BRK208", title="ZooKeeper waits for its disk", stage="access", severity=WARNING, reason="zookeeper-disk", logs_of=ZOOKEEPER,
    signatures=("zookeeper-sync-slow", "zookeeper-session-ended"), needs=has(at_least="enough", signature=("zookeeper-sync-slow",)),
    says="ZooKeeper waited for its disk at least {times} time(s), up to {worst} s[[, first at {since} UTC]][[, last at {until} UTC]]. It "
    "answers nothing meanwhile[[; {ended} session(s) of its clients ended in this log]]",
)  # fmt: skip
def zookeeper_disk(
    log_events: DataFrame,
    *,
    enough: int = 3,  # a single one happens at a snapshot or a backup
) -> DataFrame:
    """Per ZooKeeper log how often and how long it waited. Source: ZooKeeper's FileTxnLog."""
    slow = event("zookeeper-sync-slow")
    per_log = found(
        log_events,
        "file",
        of=slow,
        evidence=exemplars(),
        times=count(slow),
        worst=F.format_number(greatest("duration_ms", slow) / 1000, 1),
        ended=F.nullif(number_of(F.when(~slow, detail("session"))), F.lit(0)),
    )
    return per_log.where(F.col("times") >= enough)
