"""Rules of a user's own: a few lines of TOML each, which go the way of the rules that come with diag.

The data's way:

1. `language`: text of TOML → `OwnRule`s, or faults with the line they stand on. `patterns` refuses an expression whose time is not
   bounded, and finds the literals in it that the scanner looks for.
2. An `OwnRule` has signatures: that of its `pattern`, that of what `clears` it. ``LogOptions.own`` takes them to whoever scans, workers
   of Spark, too. Their id is a digest of the expression, so that a bundle shows nothing of a user's names, and so that an event of
   another expression is never taken for one of this. A rule may name a signature that diag has instead.
3. Scanned events are rows of ``log_events``. ``scanned_patterns`` says for which expressions a log was scanned: of any other the rule is
   *not checked*, as a bundle holds only lines that the scan looked for.
4. `judging` makes a `vocabulary.Rule` of each, which is judged on Spark beside all others: per job and `subject`, what was not cleared
   since, `at_least` so often, within so many minutes.
5. What a rule says is its user's: no inference replaces its headline and its steps, and no setting in them is translated.
6. `diag rules check` gives the examples of rules to the same scan and the same judgement, each as a log of its own.

Codes are the user's, too: their letters are none of diag's own families (`report.codes`), so that the code alone shows whose a rule is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzers.rules.catalogue import load_rules

if TYPE_CHECKING:
    from analyzers.own_rules.language import OwnRules
    from analyzers.vocabulary.rule import Rule


def rules_of(own: OwnRules | None) -> tuple[Rule, ...]:
    """Diag's rules, and those that are a user's own, by code. Without such nothing of this package is loaded."""
    if own is None:
        return load_rules()
    from analyzers.own_rules.judging import rule_of

    return tuple(sorted((*load_rules(), *map(rule_of, own.rules)), key=lambda rule: rule.code))
