"""Log files of Structured Streaming: what they say, and what is wrong with one that Spark refuses."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.checkpoints.structured_streaming import (
    InputFile,
    SourceOffset,
    kafka_offsets,
    read_commit_log,
    read_initial_offsets,
    read_input_files,
    read_offset_log,
    read_query_id,
)  # fmt: skip
from tests.examples import examples

RECORDED = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "recorded"
OFFSETS = b'v1\n{"batchWatermarkMs":5,"batchTimestampMs":1795256075250,"conf":{}}\n{"orders":{"1":9007199254740993,"0":-1}}\n-'


def test_recorded_offset_log() -> None:
    log = read_offset_log((RECORDED / "spark-poison-batch/offsets/4").read_bytes())
    assert (log.version, log.timestamp_ms, log.watermark_ms, log.sources) == (1, 1795256075250, 0, [("0", '{"logOffset":4}')])
    assert read_commit_log((RECORDED / "spark-poison-batch/commits/3").read_bytes()).next_watermark_ms == 0
    assert read_query_id((RECORDED / "spark-poison-batch/metadata").read_bytes()) == "b4df095d-65ac-4b6d-bd06-b3f48e9de62c"
    files = read_input_files((RECORDED / "spark-poison-batch/sources/0/4").read_bytes())
    assert files == [InputFile("file:///srv/jobs/spark/runs/orders/in/part-003.json", 1795256072021, 4)]


def test_sources_are_in_plan_order_and_may_have_no_offset() -> None:
    log = read_offset_log(OFFSETS)
    assert [(name, text is None) for name, text in log.sources] == [("0", False), ("1", True)]
    assert kafka_offsets(log.sources[0][1] or "") == [
        SourceOffset("orders", 0, None, "latest"),
        SourceOffset("orders", 1, 9007199254740993, "next"),
    ]


def test_version_2_names_its_sources() -> None:
    log = read_offset_log(b'v2\n{"batchTimestampMs":1}\nsource-7:{"orders":{"0":3}}\nsource-8:-\n')
    assert log.sources == [("source-7", '{"orders":{"0":3}}'), ("source-8", None)]


def test_metadata_line_may_be_empty_and_commit_may_end_after_the_version() -> None:
    assert read_offset_log(b'v1\n\n{"logOffset":1}').timestamp_ms is None
    assert read_commit_log(b"v1").next_watermark_ms is None
    assert read_commit_log(b'v2\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{}}').next_watermark_ms == 7
    assert read_commit_log(b'v3\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{},"sinkMetadataMap":{}}').next_watermark_ms == 7


@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (b"", 0, "offsets of a batch"),
        (b"v9\n{}\n-", 0, "version"),
        (b"v1", 2, "metadata of the batch"),
        (b'v1\n{"batchWatermarkMs":0', 24, "metadata of the batch as JSON"),
        (b"v1\n{}\n", 6, "offset of a source"),
        (b'v1\n{}\n{"orders":{"0', 16, "offset of a source as JSON"),
        (b"v1\n[]\n-", 3, "JSON object"),
    ],
)
def test_files_that_spark_refuses(data: bytes, offset: int, expected: str) -> None:
    with pytest.raises(DamagedBytes) as damage:
        read_offset_log(data)
    assert expected in damage.value.expected
    assert damage.value.offset == pytest.approx(offset, abs=3)


def test_initial_offsets_of_kafka_begin_with_a_nul_byte() -> None:
    assert read_initial_offsets(b'\x00v1\n{"orders":{"0":23}}') == [SourceOffset("orders", 0, 23, "next")]
    assert read_initial_offsets(b'{"orders":{"0":23}}') == [SourceOffset("orders", 0, 23, "next")]
    assert read_input_files(b'\x00v1\n{"orders":{"0":23}}') == []


@pytest.mark.parametrize(
    "text", ['{"logOffset":4}', "5", "{}", '{"orders":{"x":1}}', '{"orders":{"0":"1"}}', "not json", '{"a":{"0":1e400}}']
)
def test_offsets_of_other_sources_are_not_guessed_at(text: str) -> None:
    assert kafka_offsets(text) is None


@settings(max_examples=examples(300), deadline=None)
@given(end=st.integers(0, len(OFFSETS)), junk=st.binary(max_size=40))
def test_cut_and_mixed_files_never_crash(end: int, junk: bytes) -> None:
    for read in (read_offset_log, read_commit_log, read_query_id, read_input_files):
        with contextlib.suppress(DamagedBytes):
            read(OFFSETS[:end] + junk)  # type: ignore[operator]
    read_initial_offsets(OFFSETS[:end] + junk)
