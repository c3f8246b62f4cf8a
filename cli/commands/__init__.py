"""One file per command: parse options, one call, no logic."""
