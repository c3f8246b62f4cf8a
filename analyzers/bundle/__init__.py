"""A bundle: evidence tables in a directory or archive, with a manifest. Fixture, recorded incident and live run are one form."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzers.bundle.errors import BundleError, BundleNotFound, SchemaMismatch
    from analyzers.bundle.manifest import BUNDLE_FORMAT, Manifest
    from analyzers.bundle.read import Bundle, read_bundle
    from analyzers.bundle.write import write_bundle

__all__ = ["BUNDLE_FORMAT", "Bundle", "BundleError", "BundleNotFound", "Manifest", "SchemaMismatch", "read_bundle", "write_bundle"]

_IN = {
    "BUNDLE_FORMAT": "manifest", "Bundle": "read", "BundleError": "errors", "BundleNotFound": "errors", "Manifest": "manifest",
    "SchemaMismatch": "errors", "read_bundle": "read", "write_bundle": "write",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What is asked for is loaded then: who only unpacks a file, as the dump of a checkpoint does, needs none of it."""
    if name not in _IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_IN[name]}"), name)
