"""What a local Spark starts for its Python workers in place of `pyspark.daemon`: each of them is a fork of this process, in which all is
loaded that reads logs, derives tables and concludes. A worker begins at once, not after 0.8 s, and shares the memory of all that.

PySpark loads nothing before it forks, as libraries may start threads, which no fork has. Here one does: jemalloc in pyarrow, made for it.
"""

from __future__ import annotations

import gc
from contextlib import suppress
from importlib import import_module

from pyspark import daemon

from analyzers.logs.scan.captures import catalogue
from analyzers.rules.catalogue import load_rules
from analyzers.tables.pandas_use import without_pandas

LOADED = ("pyspark.worker", "pyarrow", "pyarrow.compute", "analyzers.fleet.scopes")


def load() -> None:
    """Import, and make, what every worker needs."""
    without_pandas()
    for name in LOADED:
        import_module(name)
    catalogue()
    load_rules()
    gc.collect()
    gc.freeze()  # a search for cycles would write to each page of it, which is then shared no more


if __name__ == "__main__":
    with suppress(Exception):  # what is broken is reported where it is used
        load()
    daemon.manager()
