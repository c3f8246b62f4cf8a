"""A rule of a user's own as a rule of the vocabulary: what it reads, how it judges, what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzers.own_rules.language import COLUMNS, OwnRule
from analyzers.report.advice import Line, in_one
from analyzers.vocabulary import Column, DataFrame, F, Window, beside, count, detail, event, found, has
from analyzers.vocabulary.rule import Rule

MOST_SUBJECTS = 20
"""Findings of one rule about one job: of more the most frequent."""
_STAGES: Mapping[str | None, str] = {
    "broker-unreachable": "access",
    "external-system": "access",
    "barrier-unacknowledged": "checkpoint",
    "checkpoint-storage": "checkpoint",
    "offset-commit": "commit",
    "no-progress": "lag",
    "offset-reset": "lag",
}
"""Of causes whose findings are of another stage than failure."""
_SAYS = (
    "{headline}. {times} line(s) show it[[, first at {since} UTC]][[, last at {until} UTC]]"
    "[[. {others} more findings of this rule, about other things, are left out]]"
)


def rule_of(own: OwnRule) -> Rule:
    """The rule that judges by `own`."""
    lines = tuple(Line(number, step) for number, step in enumerate(own.steps, 1))
    return Rule(
        code=own.code,
        title=own.title,
        cause=own.cause,
        stage=_STAGES.get(own.cause, "failure"),
        severity=own.severity,
        says=_SAYS,
        fix=in_one(lines),
        headline=own.headline,
        advice={"": lines},
        no_help={},
        danger={},
        judge=_Judge(own),
        tables=("log_events",),
        optional=("log_counts",),
        emptied=frozenset({"log_counts"}),
        signatures=frozenset(each.id for each in (own.fires, own.clears) if each is not None),
        faults=frozenset(),
        logs_of=own.logs_of,
        needs=has(signature=(own.fires.id,)),
        thresholds={"at_least": own.at_least, "within_minutes": own.within_minutes},
        scanned=frozenset(each.id for each in own.signatures),
    )


@dataclass(frozen=True)
class _Judge:
    """Per job and subject: the events that nothing cleared since, where they are enough, within the minutes that count.

    Of very many events the first and the last are rows. What is cleared is then known only behind the last event that clears, and
    what the number of times is only where one group has all of them; else they are at least so many.
    """

    own: OwnRule

    def __call__(
        self, log_events: DataFrame, log_counts: DataFrame, *, at_least: int | None = None, within_minutes: int | None = None
    ) -> DataFrame:
        own = self.own
        at_least = own.at_least if at_least is None else at_least
        within = own.within_minutes if within_minutes is None else within_minutes
        rows, keys = log_events.withColumns({name: _value(name) for name in own.subject}), ("job", *own.subject)
        if own.logs_of:
            rows = rows.where(F.coalesce(F.col("role").isin(*own.logs_of), F.lit(True)))
        fires = event(own.fires.id)
        all_of_it, kept = _in_all(log_counts, own.fires.id), rows.where(fires).groupBy("scope").agg(count().alias("_kept"))
        shown = rows.where(fires)
        if own.clears is not None:
            shown = _not_cleared(shown, rows.where(event(own.clears.id)), log_counts, own)
        group = Window.partitionBy("scope", *keys)
        if within is not None:
            at = F.col("at").cast("double")
            recent = group.orderBy(at).rangeBetween(-60 * within, 0)
            shown = shown.where(F.col("at").isNotNull()).withColumns(
                {"_near": F.count("*").over(recent), "_from": F.min("at").over(recent)}
            )
            shown = shown.withColumn("_begins", F.min(F.when(F.col("_near") >= at_least, F.col("_from"))).over(group))
            shown = shown.where(F.col("at") >= F.col("_begins"))
        others = [name for name in own.fields if name not in keys]
        # renamed afterwards: a field may be called as a parameter is
        facts: dict[str, Any] = {f"_fact_{name}": _all_values(_value(name)) for name in others}
        of_each = found(shown, *keys, _rows=count(), **facts).withColumnsRenamed({f"_fact_{name}": name for name in others})
        of_each = beside(beside(of_each, kept), all_of_it)
        cut = F.coalesce(F.col("_all") > F.col("_kept"), F.lit(False))
        whole = Window.partitionBy("scope")
        alone = cut & (F.count("*").over(whole) == 1) & F.lit(own.clears is None and within is None)
        order = Window.partitionBy("scope", "job").orderBy(F.desc("times"), *own.subject)
        left = F.count("*").over(Window.partitionBy("scope", "job")) - MOST_SUBJECTS
        return (
            of_each.withColumn("times", F.when(alone, F.col("_all")).otherwise(F.col("_rows")))
            .where(F.col("times") >= at_least)
            .withColumns(
                {
                    "at_least": F.when(cut & ~alone, F.array(F.lit("times"))).otherwise(F.array().cast("array<string>")),
                    "_place": F.row_number().over(order),
                    "others": F.when(left > 0, left),
                }
            )
            .where(F.col("_place") <= MOST_SUBJECTS)
        )


def _value(name: str) -> Column:
    """What an event has under the name of a field."""
    return F.col(name) if name in COLUMNS else detail(name)


def _all_values(of: Column) -> Column:
    """Aggregate: the values of a field, null where there are none."""
    values = F.sort_array(F.collect_set(of))
    return F.when(F.size(values) > 0, values)


def _in_all(log_counts: DataFrame, signature: str) -> DataFrame:
    """How many events there were per scope, those that are no rows, too."""
    return log_counts.where(F.col("signature") == signature).groupBy("scope").agg(F.sum("events").alias("_all"))


def _not_cleared(shown: DataFrame, clears: DataFrame, log_counts: DataFrame, own: OwnRule) -> DataFrame:
    """Those of `shown` behind which nothing clears them: of the same job where both are known, and of the same subject as far as what
    clears captures that."""
    assert own.clears is not None
    same = [name for name in own.subject if f"(?P<{name}>" in (own.clears.pattern or "")]
    of_job = clears.groupBy("scope", "job", *same).agg(F.max("seq").alias("_cleared"))
    of_any_job = clears.groupBy("scope", *same).agg(
        F.max("seq").alias("_by_any"), F.max(F.when(F.col("job").isNull(), F.col("seq"))).alias("_by_none")
    )
    of_scope = clears.groupBy("scope").agg(F.max("seq").alias("_last"), count().alias("_rows_that_clear"))
    both = beside(beside(beside(shown, of_job, "job", *same), of_any_job, *same), of_scope)
    both = beside(both, _in_all(log_counts, own.clears.id))
    cut = F.coalesce(F.col("_all") > F.col("_rows_that_clear"), F.lit(False))
    of_its_job = F.when(F.col("job").isNull(), F.col("_by_any")).otherwise(F.greatest("_cleared", "_by_none"))
    until = F.when(cut, F.col("_last")).otherwise(of_its_job)
    scratch = ("_cleared", "_by_any", "_by_none", "_last", "_rows_that_clear", "_all")
    return both.where(F.coalesce(F.col("seq") > until, until.isNull())).drop(*scratch)
