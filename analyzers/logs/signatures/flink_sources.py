"""Sources of Flink (FLIP-27): coordinators on the JobManager, readers and fetchers on TaskManagers (catalogue B15, D10, E01–E10)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import A_VERTEX
from analyzers.logs.signatures.origin import failed_task, flink
from analyzers.logs.signatures.signature import Signature

_COORDINATOR = "runtime.source.coordinator.SourceCoordinator"
_READER = "connector.base.source.reader.SourceReaderBase"

SIGNATURES = (
    Signature(
        id="enumerator-started",
        ref="E01",
        says="The split enumerator of a source starts.",
        versions="1.11+",
        literals=("Starting split enumerator for source",),
        pattern=r"for source (?P<task>[^\n]*?)\.?$",
        sample=flink(_COORDINATOR, "Starting split enumerator for source Source: orders."),
        keep=(200, 50),
    ),
    Signature(
        id="enumerator-restored",
        ref="E02",
        says="The split enumerator of a source is restored from a checkpoint: a restore of the whole job, or a global failover.",
        versions="1.11+",
        literals=("Restoring SplitEnumerator of source",),
        pattern=r"of source (?P<task>[^\n]*) from checkpoint",
        sample=flink(_COORDINATOR, "Restoring SplitEnumerator of source Source: orders from checkpoint."),
        keep=(200, 50),
    ),
    Signature(
        id="source-subtask-recovered",
        ref="E02",
        says="One source subtask goes back to a checkpoint: a regional failover.",
        versions="1.11+",
        literals=("Recovering subtask ",),
        pattern=r"Recovering subtask (?P<subtask>\d+) to checkpoint (?P<checkpoint>-?\d+) for source (?P<task>[^\n]*?)(?: to"
        r" checkpoint)?\.?$",
        sample=flink(_COORDINATOR, "Recovering subtask 1 to checkpoint 42 for source Source: orders to checkpoint."),
        keep=(200, 50),
    ),
    Signature(
        id="reader-registered",
        ref="E03",
        says="A source reader reported to its enumerator.",
        versions="1.14+; attempt 1.16+",
        literals=(" registering reader for parallel task",),
        pattern=r"^Source (?P<task>[^\n]*) registering reader for parallel task (?P<subtask>\d+)(?: \(#(?P<attempt>\d+)\))? @"
        r" (?P<named_host>\S+)",
        sample=flink(_COORDINATOR, "Source Source: orders registering reader for parallel task 1 (#3) @ worker-1"),
        keep=(200, 50),
    ),
    Signature(
        id="reader-removed",
        ref="E03",
        says="A failed source reader was taken off its enumerator's list; its splits go back.",
        versions="1.14+",
        literals=("Removing registered reader after failure for subtask",),
        pattern=r"for subtask (?P<subtask>\d+)(?: \(#(?P<attempt>\d+)\))? of source (?P<task>[^\n]*?)\.?$",
        sample=flink(_COORDINATOR, "Removing registered reader after failure for subtask 1 (#3) of source Source: orders."),
        keep=(200, 50),
    ),
    Signature(
        id="splits-returned",
        ref="E03",
        says="Splits of a failed reader go back to the enumerator (DEBUG).",
        versions="1.11+",
        literals=("Adding splits back to the split enumerator",),
        pattern=r"of source (?P<task>[^\n]*?): (?P<splits>[^\n]*)",
        sample=flink(
            _COORDINATOR,
            "Adding splits back to the split enumerator of source Source: orders: [[Partition: orders-1,"
            " StartingOffset: 390, StoppingOffset: -9223372036854775808]]",
            "DEBUG",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="splits-assigned",
        ref="E06",
        says="The enumerator assigns splits to readers: which subtask gets what, from which offset.",
        versions="1.12+",
        literals=("Assigning splits to readers",),
        pattern=r"to readers (?P<splits>\{[^\n]*\})",
        sample=flink(
            "connector.kafka.source.enumerator.KafkaSourceEnumerator",
            "Assigning splits to readers {1=[[Partition: orders-1, StartingOffset: -1, StoppingOffset: -9223372036854775808]]}",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="splits-added",
        ref="E07",
        says="A reader got splits, assigned or restored; StartingOffset is the next record it reads.",
        versions="1.11+",
        literals=("Adding split(s) to reader:",),
        pattern=r"to reader: (?P<splits>\[[^\n]*\])",
        sample=flink(
            _READER,
            "Adding split(s) to reader: [[Partition: orders-1, StartingOffset: 390, StoppingOffset: -9223372036854775808]]",
        ),
        keep=(200, 50),
    ),
    Signature(
        id="splits-restored",
        ref="E08",
        says="How many splits a reader restored: tells a restore from a fresh assignment.",
        versions="1.17+",
        literals=(" split(s) to reader.",),
        pattern=r"Restoring state for (?P<splits_restored>\d+) split\(s\) to reader",
        sample=flink("streaming.api.operators.AbstractStreamOperator", "Restoring state for 1 split(s) to reader."),
        keep=(200, 50),
    ),
    Signature(
        id="splits-finished",
        ref="E09",
        says="A reader has nothing more to read: end of a bounded source, or no split for it.",
        versions="1.11+",
        literals=("Finished reading split(s)", "Reader received NoMoreSplits event"),
        pattern=r"Finished reading split\(s\) (?P<splits>\[[^\n]*\])|Reader received NoMoreSplits",
        sample=flink(_READER, "Finished reading split(s) [orders-1]"),
        keep=(20, 5),
    ),
    Signature(
        id="split-fetcher-started",
        ref="E09",
        says="The thread that fetches for a reader starts.",
        versions="1.12+",
        literals=("Starting split fetcher",),
        pattern=r"Starting split fetcher (?P<fetcher>\d+)",
        sample=flink("connector.base.source.reader.fetcher.SplitFetcher", "Starting split fetcher 0"),
        keep=(20, 5),
    ),
    Signature(
        id="reader-not-registered",
        ref="E10",
        says="An enumerator assigned a split to a reader that is not there.",
        versions="1.13+",
        literals=("is not registered to source coordinator", "Invalid split owner"),
        pattern=r"Reader (?P<subtask>\d+) is not registered|Invalid split owner",
        where="line",
        sample=flink(
            "runtime.source.coordinator.SourceCoordinator",
            "Uncaught exception in the SplitEnumerator for Source Source: orders while handling operator event. Triggering job failover.\n"
            "java.lang.IllegalStateException: Reader 1 is not registered to source coordinator",
            "ERROR",
        ),
    ),
    Signature(
        id="enumerator-failed",
        ref="B15",
        says="A source's coordinator failed the whole job; the trace is the cause.",
        versions="1.12+",
        literals=("Exception while handling result from async call in", "Uncaught exception in the SplitEnumerator for Source"),
        pattern=r"(?:async call in (?:SourceCoordinator-)?(?P<task>[^\n]*?)\. Triggering|"
        r"SplitEnumerator for Source (?P<source>[^\n]*) while (?P<doing>[^\n]*?)\. Triggering)",
        sample=flink(
            "runtime.source.coordinator.SourceCoordinatorContext",
            "Exception while handling result from async call in SourceCoordinator-Source: orders. Triggering job failover.\n"
            "org.apache.flink.util.FlinkRuntimeException: Failed to list subscribed topic partitions due to ",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="coordinator-failed-job",
        ref="B15",
        says="An operator coordinator failed the whole job.",
        versions="1.12+",
        literals=("Global failure triggered by OperatorCoordinator for",),
        pattern=r"OperatorCoordinator for '(?P<task>[^\n]*)' \(operator (?P<operator>[0-9a-f]{32})\)",
        where="line",
        sample=flink(
            "runtime.jobmaster.JobMaster",
            "Trying to recover from a global failure.\n"
            f"org.apache.flink.util.FlinkException: Global failure triggered by OperatorCoordinator for 'Source: orders' (operator"
            f" {A_VERTEX}).",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="fetcher-failed",
        ref="D10",
        says="A fetcher thread of a source failed; the deeper cause says why.",
        versions="1.11+",
        literals=(
            "One or more fetchers have encountered exception",
            "received unexpected exception while polling the records",
            "Received uncaught exception.",
        ),
        pattern=r"One or more fetchers have encountered exception|SplitFetcher thread (?P<fetcher>\d+) received unexpected exception|"
        r"Received uncaught exception\.",
        where="line",
        sample=failed_task(
            "java.lang.RuntimeException: One or more fetchers have encountered exception",
            "Caused by: java.lang.RuntimeException: SplitFetcher thread 0 received unexpected exception while polling the records",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="database-position-gone",
        says="The database no longer has the log position from which a source wants to go on.",
        versions="Debezium, Flink CDC; `binlog`, `redo log`, `change stream`, from 2.6 on `log`",
        literals=("onnector is trying to read ",),
        pattern=r"onnector is trying to read [^\n]{0,20}(?:log|stream) starting at [^\n]{0,2000}?(?:(?:ile=|ilename=|binlog file ')"
        r"(?P<log_file>[\w.-]+)[^\n]{0,2000}?)?no longer",
        where="line",
        sample=failed_task(
            "Caused by: java.lang.IllegalStateException: The connector is trying to read binlog starting at Struct{version=1.9.7.Final,"
            "connector=mysql,file=mysql-bin.000090,pos=154,row=0}, but this is no longer available on the server. Reconfigure the"
            " connector to use a snapshot when needed."
        ),
        keep=(20, 20),
    ),
    Signature(
        id="slot-not-obtained",
        says="A source waits for its replication slot: another transaction or another reader holds it.",
        literals=("Cannot obtain valid replication slot '",),
        pattern=r"Cannot obtain valid replication slot '(?P<slot>[^'\n]+)'(?:[^\n]*during attempt (?P<tried>\d+) out of (?P<tries>\d+))?",
        where="line",
        sample="2026-03-04 08:22:38,101 WARN  io.debezium.connector.postgresql.connection.PostgresConnection [] - Cannot obtain valid"
        " replication slot 'o' for plugin 'pgoutput' and database 's' [during attempt 23 out of 900, concurrent tx probably blocks taking"
        " snapshot.",
        keep=(20, 20),
    ),
)
