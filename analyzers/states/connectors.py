"""What Kafka Connect's REST interface answers about connectors. A failed task is read as the lines that its worker logs for the same."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.logs.wrappings.connect_status import has_status
from analyzers.states.state import State, Text

SHAPE = "connector status"
SIGNS = (b'"worker_id"',)


def read(text: Text) -> Iterator[State]:
    """A state for each document that holds the state of a connector; its lines are read as a log."""
    for document in text.documents:
        shown = "\n".join(text.lines[document.first : document.last])
        if has_status(shown.encode()):
            yield State(SHAPE, document.first, document.last, also_log=True)
