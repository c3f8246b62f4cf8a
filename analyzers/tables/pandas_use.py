"""Whether PySpark and pyarrow may load pandas, which both try: nothing here needs it."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder


class _NoPandas(MetaPathFinder):
    """Keeps PySpark and pyarrow from importing pandas: 0.2 s and 40 MB. Where it is not installed both do without
    (pyspark.sql.session, createDataFrame; pyarrow.array)."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("diag does without pandas", name=name)


def without_pandas() -> None:
    if not any(isinstance(each, _NoPandas) for each in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())


def with_pandas() -> None:
    """PySpark wants to see it before it makes a function over Arrow tables."""
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _NoPandas)]
