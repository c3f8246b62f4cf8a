"""The process around a run: exit codes, signals, streams."""
