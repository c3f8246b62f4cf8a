"""What a glance at a text says is what the whole look would have said."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from analyzers.logs.wrappings.sniff import _is_indented
from analyzers.logs.wrappings.wrappings import sniff_wrapping
from analyzers.readers.log_crowds import _IDS, ids_in
from tests.examples import examples

_ID = "0123456789abcdef" * 2
_NAMES = st.sampled_from(
    ["Job ", "job", "JobID ", "jobId: ", "for job ", "with JobId=", "execution ", "'a job' ", "(", ")", " ", "\n", "_", "x", "ob", "d",
     _ID, _ID[::-1], _ID + "0", _ID[1:], _ID + "_7", _ID.upper(), "application_1700000000000_0007", "app-20260101000000-0001",
     "[id = 01234567-0123-0123-0123-0123456789ab", "Job a b "]
)  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(_NAMES, max_size=14).map(lambda words: "".join(words).encode()))
@example(f"Job a {_ID} b {_ID[::-1]}\nJob {_ID}".encode())
@example(f"Job {_ID}".encode())
@example(b"")
def test_ids_are_those_that_the_expression_finds(text: bytes) -> None:
    assert ids_in(text) == {next(filter(None, found)) for found in _IDS.findall(text)}


def test_the_leader_of_a_job_is_no_job() -> None:
    zeros = "0" * 32
    for line, ids in (
        (f"Receive slot request {_ID[::-1]} for job {_ID} from resource manager with leader id {zeros}.", {_ID}),
        (f"Starting execution of job 'orders' ({_ID}) under job master id {zeros}.", {_ID}),
        (f"Registering job manager {zeros}@pekko.tcp://flink@jm:6123/user/rpc/jobmanager_2 for job {_ID}.", {_ID}),
    ):
        assert ids_in(line.encode()) == {each.encode() for each in ids}


_STAMP = "2024-03-01 09:00:00,123 INFO  a.B [] - "
_LINES = st.sampled_from(
    [_STAMP + "x", _STAMP + "x" * 140, "[2024-03-01 09:00:00,123] INFO went (a.B)", "\tat a.b.C.d(C.java:7)", "\tretries = 3",
     "\t... 7 more", "Caused by: java.io.IOException: x", "java.io.IOException: x",
     "", "```", "\t```", "  <pre>", "`x`", "a `x` b", "\t{\"log\": \"x\"}",
     "{\"log\": \"x\"}", "> x", "\t7: x", "12 x", "time,level,message", "CONTAINER | x", "LogType: stdout", "Container: container_1 on h_1",
     "==> a.log <==", "  at a.b.C.d(C.java:7)", "2024-03-01T09:00:00.123Z stdout F x", "x" * 80, "x &lt; y", "WARNING: x"]
)  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(
    first=st.sampled_from([_STAMP + "x" * 140, "WARNING: x", "time,level,message", "x"]),
    some=st.lists(_LINES, max_size=6),
    more=st.integers(0, 60),
)
@example(first="time,level,message", some=[_STAMP + "x" * 140], more=40)
@example(first=_STAMP + "x" * 140, some=["CONTAINER | x"], more=40)
def test_what_is_mostly_traces_and_settings_has_no_wrapping(first: str, some: list[str], more: int) -> None:
    text = "\n".join([first, *some, *["\tat a.b.C.d(C.java:7)", "\tretries = 3"] * more, ""]).encode()
    if _is_indented(text):
        assert sniff_wrapping(text, b"", whole=True) is None


def test_a_log_of_settings_is_known_at_a_glance() -> None:
    assert _is_indented((f"{_STAMP}{'x' * 140}\n" + "\tretries = 3\n" * 9).encode())
