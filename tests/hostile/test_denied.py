"""A redacted bundle holds no word that is not known to be harmless, whatever is written before it, and says as much as before."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from analyzers.bundle import BundleError, read_bundle, small_files, write_bundle
from analyzers.bundle.harmless import WORD, plain, vocabulary
from analyzers.bundle.keys import words_to_keep
from analyzers.bundle.redact import Redactor
from analyzers.inference.infer import infer
from analyzers.tables import TABLES, Row
from tests.hostile.denial import PATH, redacted, survivors
from tests.hostile.spellings import spellings

MOST = {"secrets": 1, "names": 4, "records": 8}
"""Spellings of which five characters in a row are still there: words that everybody has (``localhost``, ``name``), and what is between."""
SAME = ("kind", "role", "phase", "cause")
KEY = b"0123456789abcdef"


def test_there_are_enough_spellings() -> None:
    assert sum(len(one.secrets) for one in spellings(PATH)) >= 280


def test_hardly_a_part_of_a_spelling_is_left() -> None:
    found = Counter(one.kind.partition(":")[0] for one, _, _ in survivors())
    assert {kind: times for kind, times in found.items() if times > MOST[kind]} == {}


def test_no_word_is_left_that_is_not_known() -> None:
    words = vocabulary()["words"]
    left = []
    for one in spellings(PATH):
        kept = set(WORD.findall(redacted(one.text)))
        secret = {word for each in one.secrets for word in WORD.findall(each)}
        left += [
            (one.text, word)
            for word in secret & kept
            if len(word) > 3 and plain(re.sub(r"-\d+$", "", word)) not in words and word != "localhost"
        ]
    assert left == []


@pytest.mark.parametrize(
    "text",
    [
        "Restarting with the password {}",
        "offset=12 {} partition=3",
        'metadata: {{"state": "{}"}}',
        "at org.apache.flink.{}.Task.run(Task.java:12)",
        "{}",
        "org.apache.kafka.common.KafkaException: {} timed out after 30000 ms",
        "--bootstrap {} --verbose",
        "/var/log/{}/jobmanager.log",
        "checkpoint {} of job 3",
    ],
)
@pytest.mark.parametrize("name", ["hunter", "Blumentopf", "zx81-otter", "Ærøskøbing", "ottersecret2", "4111111111111111", "0.1234567"])
def test_an_unknown_word_leaves_nowhere(text: str, name: str) -> None:
    if "org.apache.flink" in text and not name.isidentifier():
        name = "hunter"
    if name.startswith("4111") and "checkpoint" in text:
        name = "4111-1111-1111-1111"
    said = redacted(text.format(name))
    assert name not in said or "org.apache.flink" in text


def test_equal_names_are_equal_tokens_and_others_are_not() -> None:
    said = redacted("otter-1 and otter-2 of heron, then otter-1; card 4111111111111111, card 4111111111111112")
    one, two, other, again = re.match(r"(\S+) and (\S+) of (\S+), then (\S+);", said).groups()  # type: ignore[union-attr]  # no match fails the test
    assert one == again
    assert len({one, two, other}) == 3
    assert re.sub(r"-\d+", "", one) == re.sub(r"-\d+", "", two)  # a message without its numbers is the same
    assert len(set(re.findall(r"w-\w+-\d+(?=, w|$)", said))) == 2


def test_words_of_a_file_stay(tmp_path: Path) -> None:
    rows: list[Row] = [TABLES["log_events"].row({"scope": "", "signature": "x", "text": "heron met otter", "topic": "orders"})]
    (tmp_path / "words").write_text("heron\norders")
    write_bundle(tmp_path / "b", {"log_events": rows}, version="1", key_store=tmp_path / "keys", keep_file=tmp_path / "words")
    (row,) = read_bundle(tmp_path / "b").tables["log_events"]
    assert re.fullmatch(r"heron met w-[0-9a-f]{8}", row["text"])
    assert row["topic"] == "orders"


def test_tokens_stay_when_they_are_redacted_again() -> None:
    redactor = Redactor(KEY)
    once = [redactor.lines(one.text) for one in spellings(PATH) if not one.kind.startswith("secrets")]
    assert [text for text in once if redactor.lines(text) != text] == []


@pytest.mark.parametrize(
    "unit", ["k=", "k:", '"k":', 'k="', "k=\n", "a: b c ", "--a ", "k: (", "a=b ", "<a>", "a-", "aB", "A_B.", "1-", "ff:", "a1"]
)
def test_a_long_line_takes_no_time(unit: str) -> None:
    redactor = Redactor(KEY)
    times = []
    for size in (1 << 14, 1 << 17):
        began = time.process_time()
        redactor.lines(unit * (size // len(unit)))
        times.append(time.process_time() - began)
    assert times[1] < max(24 * times[0], 1)  # eight times as long


def test_failures_that_no_signature_knows_are_of_the_same_kind_when_they_are_redacted() -> None:
    """The words that decide stay; the name of an unknown vendor does not."""
    places = Path(__file__).parents[1] / "data" / "inferred_failures.jsonl"
    rows = [json.loads(line) for line in places.read_text(encoding="utf-8").splitlines()]
    other = []
    for row in rows:
        before, after = (infer(text, thread=row.get("thread")) for text in (row["text"], redacted(row["text"])))
        if [before and getattr(before, name) for name in SAME] != [after and getattr(after, name) for name in SAME]:
            other.append(row["id"])
    assert len(rows) > 150
    assert len(other) <= 4, other


def test_a_run_that_redacts_nothing_loads_no_vocabulary() -> None:
    loads = "import sys, cli.commands.triage, analyzers.bundle, analyzers.report.without_secrets"
    asked = f"{loads}; print('analyzers.bundle.harmless' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert said.stdout == "False\n"


@pytest.mark.parametrize("place", ["/dev/zero", "a fifo", "a directory", "latin"])
def test_a_file_of_words_that_is_none_is_refused_soon(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/zero took all memory, a pipe without a writer held the run up for ever."""
    monkeypatch.setattr(small_files, "PIPE_SECONDS", 0.2)
    file = Path(place) if place.startswith("/") else tmp_path / "words"
    if place == "a fifo":
        os.mkfifo(file)
    elif place == "a directory":
        file.mkdir()
    elif place == "latin":
        file.write_bytes(b"M\xfcller")
    with pytest.raises(BundleError, match=r"--keep .* cannot be read: .+"):
        words_to_keep(file)


def test_a_bundle_of_a_name_that_no_file_system_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"cannot write the bundle to .*: File name too long"):
        write_bundle(tmp_path / ("x" * 300), {}, version="1", key_store=tmp_path)
