# ruff: noqa: E501 -- traces are what they are
"""The exception chain of an event: outermost, root, frames, the user's frame; however it was printed."""

from __future__ import annotations

import pytest

from analyzers.logs.layouts.exceptions import parse

JAVA = """java.lang.Exception: Could not perform checkpoint 3 for operator enrich (2/4)#0.
\tat org.apache.flink.streaming.runtime.tasks.StreamTask.triggerCheckpointOnBarrier(StreamTask.java:1160) ~[flink-dist-1.20.0.jar:1.20.0]
\tat java.base/java.lang.Thread.run(Thread.java:829) [?:?]
\tSuppressed: java.io.IOException: close failed
\t\tat com.acme.Other.close(Other.java:1)
\tCaused by: java.lang.Error: of the suppressed one
\t\tat com.acme.Other.close(Other.java:2)
Caused by: java.util.concurrent.ExecutionException: java.net.SocketTimeoutException: Read timed out
\tat com.acme.Client.call(Client.java:5)
\tat app//com.acme.Client$Inner.lambda$run$0(Client.java:9)
\t... 12 more
Caused by: java.net.SocketTimeoutException: Read timed out
\tat java.net.SocketInputStream.read(SocketInputStream.java:1)
\t... 14 common frames omitted"""


def test_java() -> None:
    trace = parse("went wrong", JAVA)
    assert [t.kind.rsplit(".", 1)[-1] for t in trace.chain] == ["Exception", "ExecutionException", "SocketTimeoutException"]
    assert trace.root is not None
    assert trace.root.message == "Read timed out"
    assert trace.user_frame == "com.acme.Client.call"
    assert trace.frames == [
        "org.apache.flink.streaming.runtime.tasks.StreamTask.triggerCheckpointOnBarrier",
        "java.lang.Thread.run",
        "java.net.SocketInputStream.read",
    ]
    assert trace.described()[1] == "java.util.concurrent.ExecutionException: java.net.SocketTimeoutException: Read timed out"


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (
            'com.acme.LoadException: {\n  "Status": "Fail",\n  "Message": "no such table"\n}',
            '{ "Status": "Fail", "Message": "no such table"',
        ),
        (
            "org.apache.flink.table.api.TableException: \nColumn 'id' is NOT NULL, however, a null value\nYou can set",
            "Column 'id' is NOT NULL, however, a null value",
        ),
        ("com.acme.LoadException: Failed to flush, answer:\n{}\n\tat com.acme.Sink.flush(Sink.java:1)", "Failed to flush, answer: {}"),
        ("com.acme.LoadException: Failed to flush\nanswer: none\n\tat com.acme.Sink.flush(Sink.java:1)", "Failed to flush"),
        ("com.acme.LoadException:\n\tat com.acme.Sink.flush(Sink.java:1)", None),
    ],
)
def test_a_message_goes_on_below_where_its_line_breaks_off(below: str, said: str | None) -> None:
    trace = parse("went wrong", below)
    assert len(trace.chain) == 1
    assert trace.chain[0].message == said


def test_a_cause_printed_below_its_wrapper() -> None:
    broken = "Caused by: java.util.concurrent.ExecutionException:\n    com.acme.NoTopicException:\n    This server does not host it.\nCaused by: com.acme.Deeper"
    assert parse("went wrong", broken).described() == [
        "java.util.concurrent.ExecutionException: com.acme.NoTopicException: This server does not host it.",
        "com.acme.Deeper",
    ]
    assert parse("closing, as com.acme.LoadException, is no fault", "a line of its own").described() == ["com.acme.LoadException"]


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("went wrong", JAVA.replace("\t", "    ")),
        (
            "went wrong",
            "\n".join(
                line.strip() for line in JAVA.split("\n") if "Suppressed" not in line and "Other" not in line and "suppressed" not in line
            ),
        ),
        ("Source: a (1/2) switched from RUNNING to FAILED with failure cause: " + JAVA.split("\n", 1)[0], JAVA.split("\n", 1)[1]),
        ("went wrong " + JAVA.replace("\n", "\\n").replace("\t", "\\t"), ""),
        ("went wrong", JAVA.replace("\n", "\\n").replace("\t", "\\t")),
    ],
)
def test_java_as_it_also_comes(message: str, more: str) -> None:
    trace = parse(message, more)
    assert [t.kind.rsplit(".", 1)[-1] for t in trace.chain] == ["Exception", "ExecutionException", "SocketTimeoutException"]
    assert trace.user_frame == "com.acme.Client.call"
    assert trace.printed


def test_flattened_onto_one_line() -> None:
    flat = (
        "java.lang.RuntimeException: one at com.acme.A.b(A.java:1) at java.lang.Thread.run(Thread.java:829) "
        "Caused by: java.io.IOException: disk full at /data at com.acme.C.d(C.java:2) ... 3 more"
    )
    trace = parse("failed with " + flat, "")
    assert [(t.kind, t.message) for t in trace.chain] == [
        ("java.lang.RuntimeException", "one"),
        ("java.io.IOException", "disk full at /data"),
    ]
    assert trace.user_frame == "com.acme.C.d"


def test_a_class_that_travelled_as_text_is_the_class() -> None:
    trace = parse(
        "x",
        "org.apache.flink.util.SerializedThrowable: com.acme.MyException: bad row\n\tat a.b.C.d(C.java:1)\nCaused by: org.apache.flink.util.SerializedThrowable: java.lang.NullPointerException\n",
    )
    assert [(t.kind, t.message) for t in trace.chain] == [("com.acme.MyException", "bad row"), ("java.lang.NullPointerException", None)]


def test_a_cause_that_only_a_message_names() -> None:
    trace = parse(
        "x",
        "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment.\n\tat a.b.C.d(C.java:1)\n",
    )
    assert trace.root is not None
    assert trace.root.kind == "org.apache.kafka.common.errors.TimeoutException"
    nested = parse(
        "x",
        "org.springframework.dao.DataAccessResourceFailureException: no; nested exception is java.net.ConnectException: Connection refused\n\tat a.b.C.d(C.java:1)\n",
    )
    assert nested.root is not None
    assert (nested.root.kind, nested.root.message) == ("java.net.ConnectException", "Connection refused")


def test_what_spark_says_of_the_failure_that_ended_a_query_is_its_root() -> None:
    """The trace below is that of the driver: what failed stands in the message alone."""
    lost = "Lost task 1.3 in stage 248.0 (TID 25063, 10.48.2.81, executor 1): java.util.concurrent.CompletionException: "
    aborted = (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 248.0 failed 4 times, most recent failure: "
    )
    trace = parse("x", f"{aborted}{lost}com.acme.ReceiverGoneException: closed\n\tat a.b.C.d(C.java:1)\n")
    assert trace.root is not None
    assert (trace.root.kind, trace.root.message) == ("com.acme.ReceiverGoneException", "closed")
    ended = "org.apache.spark.sql.streaming.StreamingQueryException: Query [id = 1, runId = 2] terminated with exception: "
    trace = parse("x", f"{ended}java.io.IOException: Timed out\n\tat a.b.C.d(C.java:1)\n")
    assert trace.root is not None
    assert (trace.root.kind, trace.root.message) == ("java.io.IOException", "Timed out")
    trace = parse("x", f"{ended}Job aborted due to stage failure: Task 0 failed\n\tat a.b.C.d(C.java:1)\nCaused by: java.lang.Error: x\n")
    assert [t.kind.rsplit(".", 1)[-1] for t in trace.chain] == ["StreamingQueryException", "Error"]


def test_root_first() -> None:
    trace = parse(
        "x", "java.io.IOException: deepest\n\tat a.b.C.d(C.java:1)\nWrapped by: java.lang.RuntimeException: outer\n\tat a.b.E.f(E.java:1)\n"
    )
    assert [t.message for t in trace.chain] == ["outer", "deepest"]


def test_python() -> None:
    trace = parse(
        "job failed",
        'Traceback (most recent call last):\n  File "/app/job.py", line 3, in main\n    run()\n  File "/usr/lib/python3.11/site-packages/x.py", line 9, in run\nKeyError: \'id\'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File "/app/job.py", line 5, in main\nacme.BadRow: row 7\n',
    )
    assert [(t.kind, t.message) for t in trace.chain] == [("acme.BadRow", "row 7"), ("KeyError", "'id'")]
    assert trace.user_frame == "/app/job.py:main"


def test_python_within_java() -> None:
    text = 'org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "/srv/job.py", line 31, in parse\n    return json.loads(row)\nValueError: Expecting value\n\n\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:572)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n'
    trace = parse("Exception in task 0.0 in stage 3.0 (TID 9)", text)
    assert [t.kind for t in trace.chain] == ["org.apache.spark.api.python.PythonException", "ValueError"]
    assert trace.user_frame == "/srv/job.py:parse"
    assert "org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException" in trace.chain[0].frames


def test_python_within_a_python_message() -> None:
    """PySpark's PythonException is raised by the driver's Python and holds the traceback of the worker in its message (Spark 4.3)."""
    raised = 'Traceback (most recent call last):\n  File "/srv/orders.py", line 57, in write\n    batch.count()\n'
    raised += "pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:\n"
    worker = 'Traceback (most recent call last):\n  File "/srv/orders.py", line 50, in in_cents\n    return int(amount)\n'
    trace = parse("Query orders terminated with error", raised + worker + "ValueError: invalid literal\n")
    assert [t.kind for t in trace.chain] == ["pyspark.errors.exceptions.captured.PythonException", "ValueError"]
    assert trace.user_frame == "/srv/orders.py:in_cents"


def test_java_within_a_python_message() -> None:
    """A Py4JJavaError in foreachBatch: the Java trace that follows it is what went wrong."""
    raised = 'Traceback (most recent call last):\n  File "/srv/orders.py", line 57, in write\n    batch.count()\n'
    raised += "py4j.protocol.Py4JJavaError: An error occurred while calling o84.count.\n"
    java = ": org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE] no 2.delta\n\tat org.apache.spark.sql.A.b(A.scala:7)\n"
    trace = parse("Query orders terminated with error", raised + java)
    assert trace.root is not None
    assert (trace.root.kind, trace.root.message) == ("org.apache.spark.SparkException", "[CANNOT_LOAD_STATE_STORE] no 2.delta")
    assert trace.root.frames == ["org.apache.spark.sql.A.b"]


def test_a_message_of_several_lines_is_no_chain() -> None:
    trace = parse(
        "Worker is terminated",
        "org.apache.flink.FlinkException: Pod terminated\n Exit code:137.\n Diagnostics: Container killed\n\tat org.apache.flink.X.y(X.java:1)\nCaused by: x.Y: z\n",
    )
    assert [(t.kind, t.message) for t in trace.chain] == [("org.apache.flink.FlinkException", "Pod terminated"), ("x.Y", "z")]


def test_a_stack_dump_has_frames_and_no_chain() -> None:
    trace = parse(
        "Task 'x' did not react to cancelling signal; it is stuck for 30 seconds in method:",
        " java.net.SocketInputStream.read0(Native Method)\n\tat java.lang.Thread.sleep(Native Method)\n\tat com.acme.Sink.wait(Sink.java:3)\n",
    )
    assert trace.chain == []
    assert trace.user_frame == "com.acme.Sink.wait"


def test_text_that_merely_mentions_an_exception() -> None:
    assert not parse("Loading configuration property: restart on java.lang.Exception, yes", "").printed
    assert parse("nothing here", "").chain == []


def test_libraries_that_most_jobs_call_are_no_code_of_the_users() -> None:
    trace = parse(
        "went wrong",
        "com.alibaba.fastjson.JSONException: syntax error, pos 1\n\tat com.alibaba.fastjson.parser.DefaultJSONParser.parse(DefaultJSONParser.java:1)\n\tat com.acme.orders.Parse.map(Parse.java:9)",
    )
    assert trace.user_frame == "com.acme.orders.Parse.map"
