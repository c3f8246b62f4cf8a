"""RST002: an error that no rule knows comes back to the end of the log, and what it means is inferred."""

from analyzers.vocabulary import ANY, CRITICAL, DataFrame, F, first_of, rule, some

ANSWERED_NO = ("missing", "refused", "access", "setting", "expired")
"""Kinds of failure that no retry heals: the other side answered, and will answer so again."""
_GOES_ON = "{times} time(s)[[ since {since} UTC]], to the end of the log: {what}"
_EFFECTS = ("call-refused", "call-unanswered", "record-fails", "commit-missing", "never-running")


@rule(
    "RST002", title="An error that no rule knows goes on", stage="failure", severity=CRITICAL, cause="other", logs_of=ANY,
    needs=some(lambda row: row["effect"] in _EFFECTS, 1),
    says={
        "call-refused": f"{{subject_shown}} refuses a call[[ at {{address}}]]: {_GOES_ON}",
        "call-unanswered": f"{{subject_shown}} does not answer[[ at {{address}}]]: {_GOES_ON}",
        "used-up": f"A pool, a quota or another limited resource is used up[[ at {{address}}]]: {_GOES_ON}",
        "each-life": "The process ends of the same error in each of the {lives} lives that were read[[, in {user_frame}]]: {what}",
        "same-record": "The same record fails again and again[[ in {user_frame}]], {times} time(s)[[ since {since} UTC]], to the end of "
        "the log: {record}: {what}",
        "several-records": f"One record after the other fails[[ in {{user_frame}}]], {{records}} of them: {_GOES_ON}",
        "comes-back": f"The same failure comes back[[ in {{user_frame}}]]: {_GOES_ON}",
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
    tries: int = 3,  # of one record: it is read again and fails again
    lives: int = 2,  # a process that ended of the same error twice will do so again
) -> DataFrame:
    """Recurring errors of an inferred effect: critical where no retry heals them or nothing else shows work."""
    ends = F.col("lives") >= lives
    goes_on = (F.col("times") >= enough) & (F.col("lasted_seconds") >= lasting)
    of_record = F.col("effect") == "record-fails"
    same = of_record & F.col("record").isNotNull() & (F.col("times") >= tries)
    several = of_record & (F.col("records") > 1)  # it reads on behind each
    used_up = F.col("kind") == "exhausted"
    called = F.when(F.col("role") != "user", F.col("called"))
    kept = recurring_errors.where(
        F.col("effect").isin(*_EFFECTS) & (goes_on | ends | same) & (called.isNotNull() | ends | used_up | of_record)
    )
    lasts = ends | same | F.col("kind").isin(*ANSWERED_NO) | (F.col("worked") == 0)
    line = F.struct("at", "file", "line", F.lit("recurring_errors").alias("table"), "text")
    return kept.withColumns(
        {
            "reason": first_of(
                ("each-life", ends),
                ("same-record", same),
                ("used-up", used_up),
                ("several-records", several),
                (F.col("effect"), F.col("effect").isin("call-refused", "call-unanswered")),
                otherwise="comes-back",
            ),
            "shows": F.col("effect"),
            "cause": F.when(same, "poison-record").otherwise(F.coalesce("cause", F.lit("other"))),
            "severity": F.when(lasts, "critical").otherwise("warning"),
            "since": F.col("at"),
            "until": F.col("last_at"),
            "subject_shown": F.concat(F.upper(F.substring("called", 1, 1)), F.expr("substring(called, 2)")),
            "what": F.concat_ws(": ", F.nullif(F.regexp_extract("exception", r"([^.]*)$", 1), F.lit("")), "words"),
            "worked_shown": F.when(F.col("worked") > 0, F.concat(F.col("worked"), F.lit(" checkpoints or batches"))),
            "evidence": F.array(line),
        }
    )
