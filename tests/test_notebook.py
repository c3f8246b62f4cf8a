"""The README's example for notebooks runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.engine.java import find_java, has_module

ROOT = Path(__file__).resolve().parent.parent
JAVA = find_java()


@pytest.mark.jvm
@pytest.mark.skipif(not has_module(JAVA, "jdk.incubator.vector"), reason="PySpark's own launcher wants a whole Java, not one of a wheel")
def test_the_example_of_the_readme() -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert code is not None
    asked, surroundings = [sys.executable, "-c", code[1]], os.environ | {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(JAVA.home)}
    run = subprocess.run(asked, capture_output=True, text=True, cwd=ROOT, env=surroundings, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    assert re.search(r"\|task-transition +\|\d+", run.stdout), run.stdout
    assert re.search(r"BRK101 +critical", run.stdout), run.stdout
