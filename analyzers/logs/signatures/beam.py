"""Beam on Flink: split enumerator, source readers, KafkaIO (catalogue E20–E26, F14)."""

from __future__ import annotations

from analyzers.logs.signatures.identifiers import TP
from analyzers.logs.signatures.origin import in_flink
from analyzers.logs.signatures.signature import Signature

_IO = "org.apache.beam.runners.flink.translation.wrappers.streaming.io."
_ENUMERATOR = _IO + "source.FlinkSourceSplitEnumerator"
_READER = _IO + "source.unbounded.FlinkUnboundedSourceReader"
_KAFKA = "org.apache.beam.sdk.io.kafka."
_SPLIT = "FlinkSourceSplit{splitIndex=1, beamSource=TickSource{orders-1}, splitState.isNull=true, checkpointMark=null}"
_RESTORED = _SPLIT.replace("isNull=true", "isNull=false")
_FIRST_SPLIT = (
    r"(?P<splits>\[(?:FlinkSourceSplit\{splitIndex=(?P<split_index>\d+),[^\n]*?splitState\.isNull=(?P<fresh>true|false))?[^\n]*\])"
)

SIGNATURES = (
    Signature(
        id="beam-source-starting",
        ref="E20",
        says="Beam's enumerator splits its source anew; right after a restored enumerator this deals every split twice (2.52–2.62).",
        literals=("Starting source ",),
        pattern=r"^Starting source (?P<source>[^\n]*)",
        logger="FlinkSourceSplitEnumerator",
        sample=in_flink(_ENUMERATOR, "Starting source TickSource{orders--1}"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-source-split",
        ref="E20",
        says="Beam's enumerator split its source.",
        literals=("Split source ",),
        pattern=r"^Split source (?P<source>[^\n]*?) to (?P<splits>\[[^\n]*\]) splits",
        sample=in_flink(_ENUMERATOR, "Split source TickSource{orders--1} to [TickSource{orders-0}, TickSource{orders-1}] splits"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-enumerator-created",
        ref="E21",
        says="Beam's enumerator was made; `initialized true` after a restore: the fixed version.",
        versions="Beam 2.63+",
        literals=("Created new enumerator with parallelism",),
        pattern=r"parallelism (?P<parallelism>\d+), source (?P<source>[^\n]*), numSplits (?P<splits>\d+), initialized"
        r" (?P<initialized>true|false)",
        sample=in_flink(
            _ENUMERATOR, "Created new enumerator with parallelism 4, source TickSource{orders--1}, numSplits 4, initialized true"
        ),
        keep=(200, 50),
    ),
    Signature(
        id="beam-splits-assigned",
        ref="E22 E24",
        says="Beam's enumerator assigned splits to a subtask; empty lists are normal after a regional restart.",
        literals=("Assigned splits [", "Assigned split to subtask "),
        pattern=rf"Assigned splits {_FIRST_SPLIT} to subtask (?P<subtask>\d+)|Assigned split to subtask (?P<lazy_subtask>\d+) :"
        rf" (?P<split>[^\n]*)",
        sample=in_flink(_ENUMERATOR, f"Assigned splits [{_SPLIT}] to subtask 1"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-splits-returned",
        ref="E22",
        says="Splits came back from a failed reader; an empty list in a regional restart.",
        literals=(" back from subtask ",),
        pattern=r"Adding splits (?P<splits>\[[^\n]*\]) back from subtask (?P<subtask>\d+)",
        sample=in_flink(_ENUMERATOR, "Adding splits [] back from subtask 0"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-no-split",
        ref="E22 E23",
        says="There is no split for a reader: normal with more subtasks than splits, and in the fixed version after a restore.",
        literals=("There is no split for subtask", "Received NoMoreSplits signal from enumerator"),
        pattern=r"There is no split for subtask (?P<subtask>\d+)|Received NoMoreSplits signal",
        sample=in_flink(_ENUMERATOR, "There is no split for subtask 0. Signaling no more splits."),
        keep=(200, 50),
    ),
    Signature(
        id="beam-enumerator-snapshot",
        ref="E22",
        says="Beam's enumerator took part in a checkpoint.",
        literals=("Taking snapshot for checkpoint",),
        pattern=r"for checkpoint (?P<checkpoint>\d+)",
        sample=in_flink(_ENUMERATOR, "Taking snapshot for checkpoint 42"),
        keep=(20, 20),
    ),
    Signature(
        id="beam-splits-added",
        ref="E23",
        says="A Beam reader got splits: `isNull=false` restored, `true` fresh; both for one index in one attempt is the duplicate.",
        literals=("Adding splits [",),
        pattern=rf"Adding splits {_FIRST_SPLIT}(?! back from)$",
        sample=in_flink(_READER, f"Adding splits [{_RESTORED}]"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-split-finished",
        ref="E23",
        says="A Beam reader finished a split.",
        literals=("Finished reading from split",),
        pattern=r"from split (?P<split>\S+)",
        sample=in_flink(_READER, "Finished reading from split 1"),
    ),
    Signature(
        id="beam-classic-source",
        ref="E25",
        says="Beam's classic source wrapper starts, restored or not.",
        versions="Beam <=2.51, or the deprecated read",
        literals=("in the UnboundedSourceWrapper", "restore state for UnboundedSourceWrapper", "Unbounded Flink Source "),
        pattern=r"Unbounded Flink Source (?P<subtask1>\d+)/(?P<parallelism>\d+) is reading from sources: (?P<sources>[^\n]*)|"
        r"UnboundedSourceWrapper",
        sample=in_flink(
            _IO + "UnboundedSourceWrapper", "Unbounded Flink Source 2/4 is reading from sources: [KafkaUnboundedSource@7720d984]"
        ),
        keep=(200, 50),
    ),
    Signature(
        id="beam-partitions-assigned",
        ref="E26",
        says="KafkaIO dealt partitions to a split.",
        literals=("Partitions assigned to split ",),
        pattern=r"to split (?P<split>\d+) \(total (?P<total>\d+)\): (?P<partitions>[^\n]*)",
        sample=in_flink(_KAFKA + "KafkaUnboundedSource", "Partitions assigned to split 1 (total 2): orders-1,orders-3"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-kafka-reading",
        ref="E26",
        says="A KafkaIO reader reads a partition from this offset on; twice for one partition in one attempt is a duplicate.",
        literals=(": reading from ",),
        pattern=rf"^(?P<reader>\S+): reading from {TP} starting at offset (?P<offset>-?\d+)",
        sample=in_flink(_KAFKA + "KafkaUnboundedReader", "Reader-1: reading from orders-1 starting at offset 390"),
        keep=(200, 50),
    ),
    Signature(
        id="beam-kafka-topics",
        ref="E26",
        says="What a KafkaIO reader reads.",
        versions="Beam 2.62+",
        literals=(" is reading from topics ", "Creating Kafka consumer for initial restriction for"),
        pattern=r"is reading from topics (?P<topics>\[[^\n]*\])|initial restriction for (?P<description>[^\n]*)",
        sample=in_flink(_KAFKA + "KafkaUnboundedReader", "Reader-1 is reading from topics [orders]"),
        keep=(20, 5),
    ),
    Signature(
        id="beam-commit-failed",
        ref="F14",
        says="KafkaIO could not commit the offsets of a finalised checkpoint.",
        versions="Beam 2.62+",
        literals=("Could not commit finalized checkpoint",),
        pattern=r"^(?P<reader>\S+): Could not commit finalized checkpoint",
        sample=in_flink(
            _KAFKA + "KafkaUnboundedReader",
            "Reader-1: Could not commit finalized checkpoint KafkaCheckpointMark{partitions=orders-1:390}",
            "WARN",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="beam-commit-setup-risky",
        ref="F14",
        says="KafkaIO settings under which every checkpoint may time out.",
        versions="Beam 2.48+",
        literals=("When using the Flink runner with checkpointingInterval enabled",),
        sample=in_flink(
            _KAFKA + "KafkaIO",
            "When using the Flink runner with checkpointingInterval enabled, Kafka enable.auto.commit enabled, and Kafka"
            " auto.offset.reset set to"
            " latest or unset, there is a chance for every checkpoint to time out.",
            "WARN",
        ),
    ),
)
