"""Pipes, devices and endless files where an option or an argument names a file."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.inputs.case import CASES, ILL, MB, NOT_READ, Attack, case

OPTIONS = {
    "command_config": ["broker-health", "-b", "127.0.0.1:1", "--command-config"],
    "flink_rest_auth": ["triage", "--flink-rest", "http://127.0.0.1:1", "--flink-rest-auth"],
    "redaction_key": ["triage", str(ILL), "--save", "SAVED", "--redaction-key"],
}


def _of_option(name: str, kind: str) -> None:
    def make(here: Path) -> Attack:
        file = here / "file"
        if kind == "pipe":
            os.mkfifo(file)
        elif kind == "endless":
            file = Path("/dev/zero")
        elif kind == "directory":
            file.mkdir()
        elif kind == "huge":
            with open(file, "wb") as out:
                out.truncate(3000 * MB)
        elif kind == "binary":
            file.write_bytes(b"\xff\xfe" * 500)
        elif kind == "slow":  # an expression that goes back and forth
            file.write_bytes((b"\\" * 100_000 + b"\n") * 3 + b"sasl.jaas.config=" + b"a" * 100_000 + b"\n")
        arguments = [word.replace("SAVED", str(here / "saved")) for word in OPTIONS[name]]
        codes = {0, 1, 2, 3} if kind == "slow" else {0, 2, 3} if name == "redaction_key" and kind in ("binary", "huge") else {2, 3}
        return Attack([*arguments, str(file)], codes, seconds=30)

    CASES[f"{name}_that_is_{kind}"] = make


for _name in OPTIONS:
    for _kind in ("pipe", "endless", "directory", "huge", "binary", "slow"):
        _of_option(_name, _kind)


@case
def certificate_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe")
    (here / "client.properties").write_text(f"security.protocol=SSL\nssl.ca.location={here}/pipe\n")
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--command-config", str(here / "client.properties")], {2, 3}, seconds=40)


@case
def certificate_that_is_endless(here: Path) -> Attack:
    (here / "client.properties").write_text("security.protocol=SSL\nssl.ca.location=/dev/zero\n")
    return Attack(["broker-health", "-b", "127.0.0.1:1", "--command-config", str(here / "client.properties")], {2, 3}, seconds=40)


@case
def rest_certificate_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe")
    (here / "auth.properties").write_text(f"ssl.ca.location={here}/pipe\n")
    return Attack(["triage", "--flink-rest", "https://127.0.0.1:1", "--flink-rest-auth", str(here / "auth.properties")], {2, 3}, seconds=40)


@case
def log_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe.log")
    return Attack(["triage", str(here / "pipe.log")], NOT_READ, "neither a file nor a directory")


@case
def log_that_is_endless(here: Path) -> Attack:
    return Attack(["triage", "/dev/zero"], NOT_READ, "neither a file nor a directory")


@case
def checkpoint_that_is_endless(here: Path) -> Attack:
    return Attack(["checkpoint-inspect", "/dev/zero"], NOT_READ)


@case
def dump_of_what_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "_metadata")
    return Attack(["checkpoint-inspect", "--dump", str(here / "_metadata")], NOT_READ, facts_only=False)


@case
def report_into_a_directory(here: Path) -> Attack:
    return Attack(["triage", str(ILL), "-o", f"json={here}"], {2, 3}, "cannot write", facts_only=True)


@case
def save_into_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe.tar.gz")
    return Attack(["triage", str(ILL), "--save", str(here / "pipe.tar.gz")], {2, 3})
