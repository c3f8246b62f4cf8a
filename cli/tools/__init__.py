"""The tools that `diag mcp` offers to a program over the Model Context Protocol: read-only, bounded, within what its start allowed.

    call (name, arguments) ─► offered: is it one of the tools, do types and sizes fit
        ─► permitted: every path and address is on the list of the start
        ─► calls: the run of the command of the same name, on the one resident engine ─► Report
        ─► shelf: the report as `-o json` prints it, kept under a handle
        ─► answers: what fits into `MOST_BYTES`: codes of diag's own, and below `quoted` all words that come from logs and systems
    evidence (handle, select, page) ─► pages of that JSON, which put together are its bytes

`server` alone knows the protocol and its package. It runs in a thread of its own; calls are made in the main thread, one after the other,
as those of the command line are; `explain` and `evidence`, which look at nothing, in threads beside it.
"""
