# ruff: noqa: E501 -- bytes in rows
"""``make fuzz``: bytes that are almost right, for every parser that reads what others wrote; an error that is not its own is a finding.

``ARGS="--seconds 3600 metadata logs"`` chooses how long and which. What is found is written to a file, which becomes a fixture or a line
of a test with the mend. Seeds are the fixtures; the same ``--seed`` gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Any

from analyzers.states.state import Text
from tests.wrapped_logs import WRAPPED, zipped

ROOT = Path(__file__).resolve().parent.parent.parent
SLOW_SECONDS = 10.0
"""Of processor time for some kilobytes."""
GROWTH_MB = 400
SEED_BYTES = 64 << 10
_SEEDS = 60
_LOG_BYTES = 8 << 10
_TOKENS = (
    b"\0", b"\xff", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0\0\0\0\0", b"\xed\xa0\x80", b"\xc0\x80", b"\xef\xbb\xbf",
    b"\r", b"\n", b"\r\n", b"\t", b"\x1b[31m", b'"', b"\\u", b"\\ud800", b"{", b"}", b"[", b"]" * 50, b"[" * 2000, b'{"a":' * 2000, b",", b":",
    b"null", b"NaN", b"1e999", b"-0", b"9" * 400, b"-9223372036854775809", b"\xe2\x80\xa8", b" " * 300, b"%", b"${", b"9999-12-31T23:59:59.999Z",
    b"0000-00-00 00:00:00,000", b"2024-02-30 25:61:61,999", b"Caused by: ", b"\tat a.b.C.d(E.java:1)\n", b"0001-01-01T00:00:00+14:00",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A parser: `read` takes bytes and raises only what it may; `seeds` are bytes that it understands."""

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], object]


class Finding(Exception):
    """What a parser must not do."""


def mutated(seed: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """`seed`, damaged as disks, tools and people do it, a few times."""
    data = bytearray(seed)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(data) + 1)
        size = min(random.choice((1, 1, 2, 4, 8, 30, 300)), len(data) - at)
        kind = random.randrange(9)
        if kind == 0 and size:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1 and size:
            data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 0xFF, (data[at] + 1) & 0xFF))
        elif kind == 2:
            del data[at : at + size]
        elif kind == 3:
            data[at:at] = data[at : at + size] * random.choice((1, 2, 50))
        elif kind == 4:
            data[at : at + random.choice((0, size))] = random.choice(_TOKENS)
        elif kind == 5:
            del data[at:]
        elif kind == 6:
            other = random.choice(others)
            begin = random.randrange(len(other) + 1)
            data[at : at + size] = other[begin : begin + random.choice((4, 40, 4000))]
        elif kind == 7:
            data[at : at + size] = bytes(random.randrange(256) for _ in range(size))
        elif size >= 4:
            data[at : at + 4] = random.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, len(data))).to_bytes(4, "big")
    return bytes(data[: 4 * SEED_BYTES])


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """For ever."""
    random = Random(seed)
    seeds = [data[:SEED_BYTES] for data in target.seeds()]
    while True:
        yield mutated(random.choice(seeds), seeds, random)


def tried(name: str, data: bytes) -> None:
    """Give `data` to a target. Raises `Finding`."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        TARGETS[name].read(data)
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        raise Finding(trace) from error
    seconds = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    if seconds > SLOW_SECONDS:
        raise Finding(f"{seconds:.1f} s for {len(data):,} bytes")
    if grown > GROWTH_MB:
        raise Finding(f"{grown} MB for {len(data):,} bytes")


# ---- seeds ------------------------------------------------------------------------------------------------------------


def _files(*patterns: str) -> list[bytes]:
    found = sorted(path for pattern in patterns for path in (ROOT / "fixtures").glob(pattern) if path.is_file())
    step = max(1, len(found) // _SEEDS)
    return [data for path in found[::step] if (data := path.read_bytes()[:SEED_BYTES])]


@lru_cache
def _logs() -> list[bytes]:
    whole = [*_files("*/*/raw/*.log", "incidents/*/*/raw/*.log"), *(make() for make in WRAPPED.values())]
    return [*(data[:_LOG_BYTES] for data in whole), zipped()]


@lru_cache
def _metadata() -> list[bytes]:
    return [data for data in _files("checkpoints/**/_metadata") if data.startswith(b"\x49\x60\x67\x2d")]


@lru_cache
def _answers() -> list[bytes]:
    return [path.read_bytes()[:SEED_BYTES] for path in sorted((ROOT / "tests" / "data" / "rest").rglob("*.json"))]


@lru_cache
def _streaming() -> list[bytes]:
    return _files("checkpoints/**/offsets/*", "checkpoints/**/commits/*", "checkpoints/**/sources/*/*", "checkpoints/**/metadata")


@lru_cache
def _tables() -> list[bytes]:
    return _files("*/*/*.jsonl", "incidents/*/*/bundle/*.jsonl", "incidents/*/*/*.jsonl")


def _batches() -> list[bytes]:
    from tests.test_kafka_batches import batch_at

    return [batch_at(0), batch_at(0, 20) + batch_at(20, 1, attributes=48)]


_PROPERTIES = (
    (
        b"bootstrap.servers=a:9092,b:9092\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        b'sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username="u" \\\n  password="p\\"q";\n'
    ),
    b"security.protocol: SSL\nssl.truststore.type = PEM\nssl.truststore.location = /none/ca.pem\nssl.keystore.location=/none/k.p12\n",
    (
        b"! comment\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        b"unsecuredLoginStringClaim_sub='me' clientId=a clientSecret=b;\n\\u0041bc=\\t\\\\\n"
    ),
)
_OPTIONS = tuple(
    text.encode()
    for text in (
        "2026-11-21T09:30Z", "30m", "1.5d", "9999-12-31T23:59:59-12:00", "http://[::1]:8081/v1", "https://proxy/flink/#/job", "host:8081", "1536m",
        "10s", "local[4,2]", "local[*]", "spark://a:7077", "Europe/Berlin", "+02:00", "CKP101=orders*", "a:9092,[::1]:9093", "orders.v2:3:17",
        "s3://a/b=/c", "k8s://https://a:443",
    )
)  # fmt: skip


# ---- targets ----------------------------------------------------------------------------------------------------------


@lru_cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="diag-fuzz-"))


def _placed(name: str, data: bytes) -> Path:
    place = _folder() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def _fit(tables: dict[str, Any]) -> None:
    """Every value is of its column's type, and a line of a bundle can hold it."""
    from analyzers.bundle.encoding import lines, validate
    from analyzers.tables import TABLES

    for name, rows in tables.items():
        validate(TABLES[name], rows)
        for line in lines(TABLES[name], rows):
            line.encode()


def _read_log(name: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        from analyzers.readers.log_scan import LogOptions, plan, scan

        made = plan([str(_placed(name, data))], LogOptions())
        if made.files:
            _fit(scan(made))

    return read


def _read_checkpoint(data: bytes) -> None:
    from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of

    folder = _placed("job/chk-1/_metadata", data).parent
    _fit(tables_of(checkpoint_facts([str(folder)], look=True)))
    for _ in checkpoint_facts([str(folder)], references=True):
        continue


def _read_operator_state(data: bytes) -> None:
    from analyzers.checkpoints.beam_splits import beam_splits, is_beam
    from analyzers.checkpoints.cursor import Cursor, DamagedBytes
    from analyzers.checkpoints.java_stream import object_in
    from analyzers.checkpoints.kafka_splits import dynamic_split, kafka_enumerator, kafka_split, legacy_element
    from analyzers.checkpoints.snappy_framing import decompress_chunks
    from analyzers.checkpoints.source_splits import enumerator_splits

    def enumerators() -> None:
        for version in range(4):
            try:
                kafka_enumerator(Cursor(data), version)
            except DamagedBytes:
                continue

    for read in (
        lambda: kafka_split(Cursor(data)), lambda: dynamic_split(Cursor(data), 2), lambda: legacy_element(Cursor(data)), enumerators,
        lambda: enumerator_splits(data), lambda: is_beam(data) and beam_splits(data), lambda: object_in(data),
        lambda: decompress_chunks(data, 0, len(data), 1 << 20),
    ):  # fmt: skip
        try:
            read()
        except DamagedBytes:
            continue


def _read_streaming(data: bytes) -> None:
    from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of

    for name in ("offsets/0", "offsets/1", "commits/0", "sources/0/0", "metadata", "state/0/0/1.delta"):
        _placed(f"query/{name}", data)
    _fit(tables_of(checkpoint_facts([str(_folder() / "query")], look=True)))


def _read_bundle(data: bytes) -> None:
    """Tables of bundles, checksums right; the first line says of which table the rest is."""
    from analyzers.bundle import BundleError, read_bundle
    from analyzers.tables import TABLES

    names = [name for name, table in TABLES.items() if not table.derived]
    for name in {names[len(data) % len(names)], "log_events"}:
        columns = {c.name: c.type for c in TABLES[name].columns}
        table = {"file": "t.jsonl", "rows": data.count(b"\n"), "sha256": hashlib.sha256(data).hexdigest(), "columns": columns}
        _placed("bundle/t.jsonl", data)
        _placed("bundle/manifest.json", json.dumps({"bundle_format": 1, "version": "1", "tables": {name: table}}).encode())
        try:
            _fit(read_bundle(_folder() / "bundle").tables)
        except BundleError:
            continue


def _read_manifest(data: bytes) -> None:
    from analyzers.bundle import BundleError, read_bundle

    _placed("manifest/manifest.json", data)
    try:
        read_bundle(_folder() / "manifest")
    except BundleError:
        return


def _read_archive(data: bytes) -> None:
    """As a log, as a bundle and as a checkpoint."""
    from analyzers.bundle import BundleError, read_bundle
    from analyzers.readers.checkpoint_files import checkpoint_facts

    _read_log("archive.tar")(data)
    place = _placed("archive.tar.gz", data)
    with suppress(BundleError):
        read_bundle(place)
    for _ in checkpoint_facts([str(place)], look=True):
        continue


@lru_cache
def _archives() -> list[bytes]:
    import gzip
    import tarfile

    import zstandard

    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in (("raw/jobmanager.log", _logs()[0]), ("job/chk-1/_metadata", _metadata()[0]), ("b/ü" * 60, b"x")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    plain = made.getvalue()
    return [plain, gzip.compress(plain), zstandard.compress(plain), zipped()]


def _read_answers(data: bytes) -> None:
    """Each answer of a recording is `data`, one after the other; then all rows fit their tables."""
    from cli.collectors.flink_rest import collect_recorded
    from cli.shell.exits import CannotLook, UsageError
    from tests.rest_replay import POISON, RECORDINGS

    folder = _folder() / "rest"
    if not folder.is_dir():
        source = RECORDINGS / POISON
        shutil.copytree(source, folder)
    names = sorted(path for path in folder.rglob("*.json"))
    place = names[len(data) % len(names)]
    before = place.read_bytes()
    place.write_bytes(data)
    try:
        _fit(collect_recorded(folder).tables)
    except (CannotLook, UsageError):
        pass
    finally:
        place.write_bytes(before)


def _read_records(data: bytes) -> None:
    from cli.collectors.kafka_batches import batches
    from cli.collectors.kafka_peek import looks_of, shown

    for batch in batches(data):
        assert batch.base_offset is not None
    looks_of(data)
    shown(data)


def _read_properties(data: bytes) -> None:
    from cli.collectors.client_properties import read_client_properties
    from cli.collectors.flink_transport import read_login
    from cli.shell.exits import UsageError

    place = _placed("client.properties", data)
    for read in (read_client_properties, read_login):
        try:
            read(place)
        except UsageError:
            continue


def _read_options(data: bytes) -> None:
    from analyzers.logs.layouts.timestamps import zone_from_option
    from cli.collectors.flink_transport import parse_address
    from cli.collectors.kafka_wire import parse_entries
    from cli.options.kafka import seconds
    from cli.options.shared import code_filters, heap, master_with, moment
    from cli.runs.checkpoint_dump import existing, rebases
    from cli.shell.exits import UsageError

    text = data.decode("utf-8", "surrogateescape").replace("\0", "")
    readers: Iterable[Callable[[], object]] = (
        lambda: moment(text), lambda: parse_address(text), lambda: heap(text), lambda: seconds(text, "--timeout"),
        lambda: master_with(text, 2), lambda: code_filters([text], ["CKP101"]), lambda: parse_entries([text]), lambda: rebases([text]),
        lambda: existing([text]),
    )  # fmt: skip
    for read in readers:
        try:
            read()
        except UsageError:
            continue
    try:
        zone_from_option(text)
    except ValueError:
        return


def _states() -> list[bytes]:
    """What other tools show, as the labelled cases have it."""
    places = sorted((ROOT / "tests" / "data" / "states").glob("*/*"))
    return [place.read_bytes()[:SEED_BYTES] for place in places if place.name != "case.json"]


def _read_states(data: bytes) -> None:
    """All shapes at once; a reader that breaks off is a finding, and so is a row that does not fit its table."""
    from analyzers.readers.state_texts import StateText, state_rows
    from analyzers.states.recognise import states_of

    found = states_of(data)
    broken = [state.trouble for state in found.states if "a defect in diag" in (state.trouble or "")]
    assert not broken, broken[0]
    _fit(state_rows([StateText("a", found.states)], ""))


def _shapes() -> dict[str, Target]:
    """A target for each reader of a shape, with the texts that it may find something in: they are few among all."""
    from analyzers.states.recognise import SHAPES

    def may_be(shape: Any, data: bytes) -> bool:
        return bool(shape.may_be_in(data, {sign for sign in shape.signs if sign in data}))

    def seeds(shape: Any) -> list[bytes]:
        return [data for data in _state_texts() if may_be(shape, data) and next(shape.read(Text(data)), None) is not None]

    def read(shape: Any, data: bytes) -> None:
        from analyzers.readers.state_texts import StateText, state_rows

        if may_be(shape, data):
            _fit(state_rows([StateText("a", list(shape.read(Text(data))))], ""))

    return {
        f"{shape.read.__module__.rpartition('.')[2]}.{shape.read.__name__}": Target(partial(seeds, shape), partial(read, shape))
        for shape in SHAPES
    }


@lru_cache
def _state_texts() -> list[bytes]:
    """Whatever was pasted or saved in a bundle or a case, and is no long log."""
    texts = {path for pattern in ("*/*/raw/**/*", "incidents/*/*/raw/**/*") for path in (ROOT / "fixtures").glob(pattern)}
    texts |= set((ROOT / "tests" / "data" / "states").rglob("*"))
    return [
        path.read_bytes() for path in sorted(texts) if path.is_file() and path.name != "case.json" and path.stat().st_size <= SEED_BYTES
    ]


@lru_cache
def _exports() -> list[bytes]:
    """A log as each tool exports it."""
    from tests.test_export_forms import FORMS, SAMPLE, events_of

    logs = [sorted((ROOT / "fixtures" / name).glob("*.log"))[0].read_text(encoding="utf-8") for name in SAMPLE]
    events = next(found for log in logs if (found := events_of(log)))[:40]
    return [form(events).encode() for form in FORMS.values()]


TARGETS: dict[str, Target] = {
    "logs": Target(_logs, _read_log("jobmanager.log")),
    "unnamed-logs": Target(_logs, _read_log("some.txt")),
    "metadata": Target(_metadata, _read_checkpoint),
    "streaming": Target(_streaming, _read_streaming),
    "operator-state": Target(lambda: [*_metadata(), *_archives()[:1]], _read_operator_state),
    "tables": Target(_tables, _read_bundle),
    "manifest": Target(lambda: _files("incidents/*/*/bundle/manifest.json", "*/*/manifest.json"), _read_manifest),
    "archives": Target(_archives, _read_archive),
    "answers": Target(_answers, _read_answers),
    "states": Target(_states, _read_states),
    **_shapes(),
    "exports": Target(_exports, _read_log("export.json")),
    "exports-csv": Target(_exports, _read_log("export.csv")),
    "records": Target(_batches, _read_records),
    "properties": Target(lambda: _PROPERTIES, _read_properties),
    "options": Target(lambda: _OPTIONS, _read_options),
}


def fuzz(name: str, seed: int, seconds: float, found: Path) -> tuple[int, int]:
    """How many inputs a target was given, and how many were findings, which are written below `found`."""
    until = time.monotonic() + seconds
    tries = findings = 0
    kinds: set[str] = set()
    for data in inputs(TARGETS[name], seed):
        tries += 1
        try:
            tried(name, data)
        except Finding as finding:
            kind = str(finding).strip().splitlines()[-1]
            if kind not in kinds:  # the same once more tells nothing
                kinds.add(kind)
                findings += 1
                found.mkdir(parents=True, exist_ok=True)
                place = found / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
                place.write_bytes(data)
                print(f"{name}: {place}\n{finding}", file=sys.stderr)
        if time.monotonic() > until:
            return tries, findings
    return tries, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help="which parsers; all of them where none is named")
    parser.add_argument("--seconds", type=float, default=180, help="for all of them together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--found", type=Path, default=Path(tempfile.gettempdir()) / "diag-fuzz-found", help="where findings are written")
    chosen = parser.parse_args()
    names = chosen.targets or list(TARGETS)
    total = 0
    for name in names:
        tries, findings = fuzz(name, chosen.seed, chosen.seconds / len(names), chosen.found)
        total += findings
        print(f"{name}\t{tries:,} inputs\t{findings} findings", flush=True)
    print(f"seed {chosen.seed}")
    return bool(total)


if __name__ == "__main__":
    sys.exit(main())
