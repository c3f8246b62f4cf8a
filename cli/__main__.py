"""``python -m cli`` is ``diag``."""

from cli.main import main

main()
