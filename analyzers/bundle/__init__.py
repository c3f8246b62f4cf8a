"""A bundle: evidence tables in a directory or archive, with a manifest. Fixture, recorded incident and live run are one form."""

from analyzers.bundle.errors import BundleError, BundleNotFound, SchemaMismatch
from analyzers.bundle.manifest import BUNDLE_FORMAT, Manifest
from analyzers.bundle.read import Bundle, read_bundle
from analyzers.bundle.write import write_bundle

__all__ = ["BUNDLE_FORMAT", "Bundle", "BundleError", "BundleNotFound", "Manifest", "SchemaMismatch", "read_bundle", "write_bundle"]
