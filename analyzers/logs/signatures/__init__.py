"""Every log text that diag recognises, as data: one module per source, one `Signature` per text.

How to add one:

1. Find the module named after whoever prints the text. Files stay below 400 lines; a new module is added to ``_MODULES`` below.
2. Write the id: words for what happened (``checkpoint-expired``), never a number. The catalogue's number, if it has one, is ``ref``.
   Codes, ids and group names are used by rules and stored in bundles: add, do not rename.
3. Choose literals: the longest and rarest fixed parts of the text, at least 6 characters; one of them must stand on a line of the
   event. Only events with a literal are tried with the pattern, so a frequent literal costs every reader of every log.
4. Write the pattern, searched in the message, in the line that holds the literal (``where="line"``: texts of exceptions, which stand
   on continuation lines) or in the whole event. Begin it with ``^`` or a fixed text, never with an unbounded wildcard; take what
   stands after a task name from the right. Groups named after a column of ``log_events`` fill it: ``subtask1`` counts from 1,
   ``subtask`` from 0, ``tp`` is "topic-partition"; all other groups go to ``detail``.
5. Give the whole line that proves it as ``sample`` (see `origin`), and say in ``versions`` who prints it.
6. A text at WARN or ERROR, or of an exception, needs its sentence in `meanings.py`: what one such line means for the job.
7. A signature is a neutral fact: what a healthy start or a rolling restart prints is recognised as what it is; rules judge.

`tests/test_signatures.py` checks all of this, and that the whole catalogue is covered.
"""

from __future__ import annotations

from analyzers.logs.signatures import (
    beam,
    external,
    flink_checkpoints,
    flink_cluster,
    flink_jobs,
    flink_kafka,
    flink_operator,
    flink_sources,
    flink_state,
    flink_tasks,
    flink_workers,
    formats,
    jvm,
    kafka_bindings,
    kafka_broker,
    kafka_clients,
    kafka_cluster,
    kafka_connect,
    kafka_groups,
    kafka_producers,
    kafka_streams,
    kubernetes,
    librdkafka,
    planned,
    smallrye,
    spark,
    spark_batches,
    spark_executors,
    zookeeper,
)
from analyzers.logs.signatures.signature import Signature

_MODULES = (
    flink_cluster,
    flink_jobs,
    flink_tasks,
    flink_checkpoints,
    flink_state,
    flink_workers,
    kubernetes,
    flink_sources,
    flink_kafka,
    flink_operator,
    kafka_clients,
    kafka_groups,
    kafka_producers,
    kafka_connect,
    kafka_streams,
    kafka_bindings,
    librdkafka,
    smallrye,
    kafka_broker,
    kafka_cluster,
    zookeeper,
    beam,
    spark,
    spark_batches,
    spark_executors,
    formats,
    external,
    jvm,
    planned,
)

SIGNATURES: tuple[Signature, ...] = tuple(signature for module in _MODULES for signature in module.SIGNATURES)
by_id: dict[str, Signature] = {signature.id: signature for signature in SIGNATURES}

if len(by_id) != len(SIGNATURES):
    raise AssertionError(f"signature ids are not unique: {sorted({s.id for s in SIGNATURES if by_id[s.id] is not s})}")
if not all(signature.sample for signature in SIGNATURES):
    raise AssertionError(f"signatures need a sample line: {[s.id for s in SIGNATURES if not s.sample]}")

ANYBODYS = frozenset(s.id for s in (*external.SIGNATURES, *zookeeper.OF_CLIENTS)) | {
    "disk-full",
    "too-many-open-files",
    "class-missing",
    "program-failed",
}
"""Texts that any program prints: they prove nothing about who wrote a log."""
