"""What failed inside Spark, in words that are still there when its JVM has gone."""

from __future__ import annotations

from cli.shell.exits import CannotLook, DiagError

_WORKER_GONE = "Python worker exited unexpectedly"  # SparkException of PythonRunner


class SparkFailed(DiagError):
    """A job of ours failed inside Spark: a defect, with what Java and the Python worker said as its cause."""


def translated(error: BaseException) -> DiagError | None:
    """Return `error` with its text, if it is one whose text lives in the JVM (Py4J's, PySpark's captured ones), else None.

    A worker that ended unexpectedly crashed, or was killed, as by a host that runs out of memory: nothing was looked at.
    """
    if not isinstance(error, Exception) or not type(error).__module__.startswith(("py4j.", "pyspark.")):
        return None
    text = text_of(error)
    failed: DiagError
    if _WORKER_GONE in text:
        failed = CannotLook(
            "A Python worker of Spark ended unexpectedly: it crashed, or was killed, as by a host that runs out of memory.",
            "Look at less at once (some of the directories, --since), or use fewer cores (--cores), each of which has a worker.",
        )
    else:
        failed = SparkFailed(f"A Spark job failed: {reason(text)}.", "`diag doctor` tells whether Spark works here.")
    failed.__cause__ = RuntimeError(text)
    return failed


def text_of(error: BaseException) -> str:
    """What `error` says; that of Py4J's errors lives in the JVM, which may have died."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return f"{type(error).__name__}: Spark's JVM does not answer any more"


def reason(text: str) -> str:
    """Return the line that says why: the exception of the Python worker, else the first that is not py4j's "which call it was"."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("An error occurred while calling")]
    if "Traceback (most recent call last):" in text:
        start = next(number for number, line in enumerate(lines) if "Traceback (most recent call last):" in line)
        raised = [line for line in lines[start + 1 :] if not line[:1].isspace()]
        lines = raised or lines
    return (lines or ["it did not say why"])[0].strip().lstrip(": ").rstrip(".;")
