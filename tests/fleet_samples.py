"""Fleets made by hand, of any size: jobs that are ill in several ways, and what stands behind some of them."""

from __future__ import annotations

from datetime import timedelta

from analyzers.report.fleet import FleetReport, JobRow, JobVerdict, Root, in_order
from tests.report_samples import AT, minutes

CAUSES = ("broker-unreachable", "external-system", "poison-record", "checkpoint-storage")
TEAMS = ("payments", "search", "orders")
DATABASE = "ledger.shop.internal:5432"


def job(number: int, *, change: str | None = None) -> JobRow:
    """Of five one is ill, one undecided; the others are well."""
    scope, name = f"{TEAMS[number % 3]}/job-{number:04d}", f"enrichment-{number}"
    if number % 5 > 1:
        return JobRow(scope, None, name, "clear", None, "RUNNING", None, "nothing wrong found")
    if number % 5 == 1:
        return JobRow(scope, None, name, "undecided", None, None, None, "Too little for a verdict: 2 lines")
    cause, since = CAUSES[number // 5 % 4], minutes(-number)
    says = f"The service that the job calls from validate -> enrich-profile ({number}/9000) does not answer since the morning: {DATABASE}"
    own = JobVerdict(f"RST501-{number}", "RST501", cause, None, since, {"address": DATABASE}, says, says, change, AT)
    return JobRow(scope, f"{number:032x}", name, "ill", "critical", ("RESTARTING", "FAILED")[number // 5 % 2], since, says, [own])


def fleet(number: int, *, compared: bool = False) -> FleetReport:
    """So many jobs; of those that are ill by an external system one database is the root. `compared`: every third verdict is new."""
    rows = in_order([job(n, change=("new" if n % 3 == 0 else "still") if compared else None) for n in range(number)])
    behind = tuple((row.scope, row.job) for row in rows if row.verdicts and row.verdicts[0].cause == "external-system")
    scopes = tuple(scope for scope, _ in behind)
    root = Root("address", DATABASE, "external-system", AT - timedelta(hours=3), scopes, AT, "explains", ("external-system",), behind)
    gone = [{"scope": "search/job-9", "id": "BRK101-1", "says": "was unreachable"}] if compared else []
    return FleetReport("1", rows, [root] if len(behind) > 1 else [], gone)
