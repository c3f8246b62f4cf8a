"""``python -m cli`` is ``diag``."""

import sys

from cli.main import run

sys.exit(run())
