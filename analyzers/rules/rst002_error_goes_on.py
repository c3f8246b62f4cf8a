"""RST002: an error that no rule knows comes back to the end of the log, and what it means is inferred."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, rule, some

ANSWERED_NO = ("missing", "refused", "access", "setting", "expired")
"""Kinds of failure that no retry heals: the other side answered, and will answer so again."""
_GOES_ON = "{times} time(s)[[ since {since} UTC]], to the end of the log: {what}"
_EFFECTS = ("call-refused", "call-unanswered", "record-fails", "commit-missing", "never-running")


@rule(
    "RST002", title="An error that no rule knows goes on", stage="failure", severity=CRITICAL, cause="other",
    needs=some(lambda row: row["effect"] in _EFFECTS, 1),
    says={
        "call-refused": f"{{subject_shown}} refuses a call[[ at {{address}}]]: {_GOES_ON}",
        "call-unanswered": f"{{subject_shown}} does not answer[[ at {{address}}]]: {_GOES_ON}",
        "": f"The same failure comes back[[ in {{user_frame}}]]: {_GOES_ON}",
    },
    inferred="no rule knows this error; read from {clues}[[; {worked_shown} completed meanwhile, so that what these calls should have "
    "done is missing]]",
    next_command="[[zless {shown_at}   # the whole trace, and what came before it]]",
)  # fmt: skip
def error_goes_on(
    recurring_errors: DataFrame,
    *,
    enough: int = 5,  # a retry or two succeed often
    lasting: int = 60,  # seconds: a restart of a service takes less
) -> DataFrame:
    """Recurring errors of an inferred effect: critical where no retry heals them or nothing else shows work."""
    kept = recurring_errors.where(F.col("effect").isin(*_EFFECTS) & (F.col("times") >= enough) & (F.col("lasted_seconds") >= lasting))
    lasts = F.col("kind").isin(*ANSWERED_NO) | (F.col("worked") == 0)
    line = F.struct("at", "file", "line", F.lit("recurring_errors").alias("table"), "text")
    named = F.when(F.col("role") != "user", F.col("called"))
    shown = F.concat(F.upper(F.substring("called", 1, 1)), F.expr("substring(called, 2)"))
    return kept.where(named.isNotNull() | (F.col("effect") == "record-fails")).withColumns(
        {
            "reason": first_of((F.col("effect"), F.col("effect").isin("call-refused", "call-unanswered")), otherwise="comes-back"),
            "shows": F.col("effect"),
            "cause": F.coalesce("cause", F.lit("other")),
            "severity": F.when(lasts, "critical").otherwise("warning"),
            "since": F.col("at"),
            "until": F.col("last_at"),
            "subject_shown": shown,
            "what": F.concat_ws(": ", F.regexp_extract("exception", r"([^.]*)$", 1), "words"),
            "worked_shown": F.when(F.col("worked") > 0, F.concat(F.col("worked"), F.lit(" checkpoints or batches"))),
            "evidence": F.array(line),
        }
    )
