"""Findings as rows of a table, for notebooks and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from analyzers.report.identity import identity

if TYPE_CHECKING:
    import pandas as pd

    from analyzers.report.report import Report


def finding_rows(scope: str, report: Report) -> list[dict[str, Any]]:
    """One per finding, in the order of the report; `subject` is JSON, times are aware (UTC), `id` is the same in each run."""
    return [
        {
            "scope": scope or f.scope, "job": f.job, "code": f.code, "severity": f.severity.value, "cause": f.cause, "reason": f.reason,
            "since": f.since, "until": f.until, "confidence": f.confidence, "says": f.says, "fix": f.fix,
            "subject": json.dumps({key: f.subject[key] for key in sorted(f.subject)}, default=str),
            "id": identity(f, report.job_names),
        }
        for f in report.findings
    ]  # fmt: skip


def findings_frame(report: Report) -> pd.DataFrame:
    """`finding_rows` of one report as a pandas DataFrame."""
    import pandas as pd

    return pd.DataFrame(finding_rows("", report))
