"""Keys of redaction. A key never travels with its bundle: whoever has it can guess a name and check the guess."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzers.bundle.errors import BundleError, BundleNotFound
from analyzers.bundle.small_files import small_file

_LEAST_BYTES = 16


def words_to_keep(place: Path) -> frozenset[str]:
    """The words of the file that a user says may leave. Raises `BundleNotFound` and `BundleError`."""
    try:
        return frozenset(small_file(place).decode("utf-8").split())
    except FileNotFoundError:
        raise BundleNotFound(f"--keep {place}: no such file", "Write the words that may leave into it, apart by blanks or lines.") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BundleError(f"--keep {place} cannot be read: {why}", "It is a text in UTF-8, of a megabyte at most.") from error


def key_id(key: bytes) -> str:
    """What a manifest says of its key, to recognise it and no more."""
    return hashlib.sha256(b"diag redaction key\0" + key).hexdigest()[:16]


def redaction_key(used: Mapping[str, Any], key_file: Path | None, store: Path | None = None) -> bytes:
    """The key for a bundle whose manifest says `used`: from `key_file`, else the one this user made for it, else a new one.

    Raises `BundleNotFound` when `key_file` does not exist, `BundleError` when a bundle that is to be continued has another key.
    """
    wanted = used.get("key")
    if key_file is not None:
        key = _read(key_file)
        if wanted and key_id(key) != wanted:
            raise BundleError(f"the bundle was redacted with another key than {key_file}", "Give its key, or save to a new path.")
        return key
    store = store or _user_store()
    if wanted:
        try:
            return bytes.fromhex((store / str(wanted)).read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            raise BundleError(
                "the bundle was redacted with a key that this user does not have",
                "Give it with --redaction-key FILE, or save to a new path.",
            ) from None
    key = secrets.token_bytes(32)
    _remember(key, store)
    return key


def _read(path: Path) -> bytes:
    try:
        key = small_file(path).strip()
    except FileNotFoundError:
        raise BundleNotFound(f"--redaction-key {path}: no such file", f"Make one: openssl rand -hex 32 > {path}") from None
    except OSError as error:
        raise BundleError(f"--redaction-key {path} cannot be read: {error.strerror}") from error
    if len(key) < _LEAST_BYTES:
        raise BundleError(f"--redaction-key {path} holds fewer than {_LEAST_BYTES} bytes", f"Make one: openssl rand -hex 32 > {path}")
    return key


def _remember(key: bytes, store: Path) -> None:
    """So that the next --save to the same bundle needs no option; a store that cannot be written costs only that."""
    try:
        store.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(store / key_id(key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
    except OSError:
        return


def _user_store() -> Path:
    from platformdirs import user_state_path

    return user_state_path("diag", appauthor=False) / "redaction-keys"
