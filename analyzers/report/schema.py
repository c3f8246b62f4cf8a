"""The JSON Schema of the report, format 1, by hand: a contract is decided, not derived. Keys may be added, never changed or removed."""

from __future__ import annotations

from typing import Any

from analyzers.report.baseline import CHANGES
from analyzers.report.effects import EFFECTS
from analyzers.report.finding import CAUSES, STAGES, SUBJECT_KEYS, Severity
from analyzers.tables import TABLES, ColumnType

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_TIME: Schema = {"type": "string", "format": "date-time", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(\d{3})?Z$"}
_MAYBE_TIME: Schema = {"anyOf": [_TIME, {"type": "null"}]}
_CODE: Schema = {"type": "string", "pattern": "^[A-Z]{3,8}[0-9]{1,4}$"}
_SCOPE: Schema = {**_TEXT, "description": "Directory of the cluster, where many were judged, each by itself."}
_CONFIDENCE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_WHOLE = frozenset(
    {"subtask", "parallelism", "partition", "offset", "broker", "attempt", "checkpoint", "batch", "exit_code", "connector_task"}
)
_LEAST = {"subtask": 0, "parallelism": 1, "partition": 0}

_COLUMN: dict[ColumnType, Schema] = {
    "string": _MAYBE_TEXT,
    "long": {"type": ["integer", "null"]},
    "double": {"type": ["number", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "timestamp": _MAYBE_TIME,
    "strings": {"type": ["array", "null"], "items": _MAYBE_TEXT},
    "map": {"type": ["object", "null"], "additionalProperties": _MAYBE_TEXT},
}


_ADVICE: dict[str, Schema] = {
    "headline": {**_MAYBE_TEXT, "description": "What is broken, and where, in at most 25 words."},
    "steps": {"type": "array", "items": _TEXT, "maxItems": 3, "description": "The fix, in steps that can be typed or pasted."},
    "no_help": {**_MAYBE_TEXT, "description": "What is often tried and does not help."},
    "danger": {**_MAYBE_TEXT, "description": "What can be lost by following the fix."},
}


def report_schema() -> Schema:
    """The schema (draft 2020-12) of what ``-o json`` prints."""
    properties = {
        "format": {"const": 1, "description": "Version of this contract."},
        "tool": _TEXT,
        "version": _TEXT,
        "as_of": {**_MAYBE_TIME, "description": "Moment of collection if anything live was asked, else the newest event."},
        "window": _object({"from": _MAYBE_TIME, "to": _MAYBE_TIME}),
        "sources": _list(_ref("source")),
        "verdicts": {**_list(_ref("verdict")), "description": "One per job and independent cause, ordered by which stops the job."},
        "verdict": {"anyOf": [_ref("verdict"), {"type": "null"}], "description": "The first of verdicts."},
        "facts": {
            "type": "object",
            "properties": {name: _list(_ref(f"table_{name}")) for name in TABLES},
            "additionalProperties": _list({"type": "object"}),
        },
        "findings": _list(_ref("finding")),
        "clean": {**_list(_CODE), "description": "Rules that looked and found nothing."},
        "not_checked": _list(_object({"code": _CODE, "because": _TEXT})),
        "defects": _list(_object({"code": _TEXT, "error": _TEXT})),
    }
    forecast = {"allOf": [_ref("table_forecast"), _object({"fixes": _list(_ref("table_forecast_fixes"))})]}
    added = {
        "command": _TEXT,
        "notes": _list(_TEXT),
        "looked_at": _TEXT,
        "unseen": {**_list(_TEXT), "description": "What this evidence cannot show; empty beside a verdict."},
        "job_state": {**_list(_ref("table_job_state")), "description": "Each job as it is now, as far as the evidence shows."},
        "noticed": {**_list(_ref("noticed")), "description": "Every WARN, ERROR and fault of the logs, by kind."},
        "fragment": {**_MAYBE_TEXT, "description": "What there was to read, where that is too little for a verdict."},
        "baseline": {**_baseline(), "description": "With --baseline: the earlier look, and what of it is gone or not seen in this one."},
        "log_roles": {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 1},
            "description": "How many logs there were of each role: jobmanager, taskmanager, kafka-broker, …",
        },
        "own_rules": {
            **_list(_object({"code": _CODE, "title": _TEXT})),
            "description": "With --rules: the rules of a user's own, which judged beside those of diag.",
        },
        "forecast": {**_list(forecast), "description": "broker-health: the odds of a start, and what each change would bring."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "diag report, format 1",
        **_object(properties, added),
        "$defs": {
            "source": _object({"name": _TEXT, "kind": _TEXT, "state": {"enum": ["ok", "partial", "failed"]}, "why": _MAYBE_TEXT}),
            "subject": _subject(),
            "evidence": _object(
                {"table": _TEXT, "file": _MAYBE_TEXT, "line": {"type": ["integer", "null"], "minimum": 1}, "at": _MAYBE_TIME, "text": _TEXT}
            ),
            "verdict": _verdict(),
            "noticed": _noticed(),
            "finding": _finding(),
            **{f"table_{name}": _object({c.name: _COLUMN[c.type] for c in table.columns}) for name, table in TABLES.items()},
        },
    }


def _baseline() -> Schema:
    missed = {
        "change": {"enum": ["gone", "unknown"]}, "code": _CODE, "severity": {"enum": [s.value for s in Severity]}, "job": _MAYBE_TEXT,
        "subject": _ref("subject"), "says": _TEXT, "because": _MAYBE_TEXT,
    }  # fmt: skip
    counts = _object({change: {"type": "integer", "minimum": 0} for change in CHANGES})
    return _object(
        {
            "name": _TEXT,
            "version": _MAYBE_TEXT,
            "as_of": _MAYBE_TIME,
            "counts": counts,
            "missed": _list(_object(missed)),
            "remarks": _list(_TEXT),
            "failed": {**_MAYBE_TEXT, "description": "Why nothing is compared; then no finding has a change."},
        }
    )


def _verdict() -> Schema:
    return _object(
        {
            "cause": {"enum": list(CAUSES)},
            "reason": _MAYBE_TEXT,
            "code": _CODE,
            "job": _MAYBE_TEXT,
            "since": _MAYBE_TIME,
            "trigger": {
                **_MAYBE_TEXT,
                "description": "First fault of the first attempt; differs from the cause when something else keeps the job down.",
            },
            "subject": _ref("subject"),
            "says": _TEXT,
            "fix": _TEXT,
            "confidence": _CONFIDENCE,
            "chain": _list(_CODE),
            "timeline": _list(_object({"at": _MAYBE_TIME, "code": _TEXT, "says": _TEXT})),
        },
        {"missing": _MAYBE_TEXT, "next_command": _MAYBE_TEXT, **_ADVICE, "impact": _MAYBE_TEXT, "id": _TEXT, "scope": _SCOPE, **_account()},
    )


_LINE: Schema = {"type": ["integer", "null"], "minimum": 1}


def _quote() -> Schema:
    """Words of a line, and where it stands."""
    return _object({"text": _TEXT, "exception": _MAYBE_TEXT, "file": _MAYBE_TEXT, "line": _LINE, "count": {"type": "integer"}})


def _account() -> dict[str, Schema]:
    """What was added to a verdict: the product's own words, where, and what explains it."""
    line, quote = _LINE, _quote()
    because = _object({"effect": {"enum": list(EFFECTS)}, "says": _TEXT, "at": _MAYBE_TIME, "file": _MAYBE_TEXT, "line": line})
    return {
        "certainty": {"enum": ["stated", "implied", "inferred"], "description": "How the cause is known."},
        "words": {**_list(quote), "description": "The product's decisive words, those of the deepest cause first."},
        "where": {**_MAYBE_TEXT, "description": "The subject in words."},
        "changed": {**_list(quote), "description": "Lines that report a change before it, near it or of the same things."},
        "settings": {**_list(quote), "description": "Lines that give the settings that its steps name."},
        "before": {**_list(quote), "description": "The line before each of its failures, word for word: the record that fails again."},
        "named": {"type": "object", "description": "By kind what its lines agree on beside the subject: topic, group, label, file, …"},
        "because": {**_list(because), "description": "Observations that explain the verdict, the deepest first."},
        "component": {**_MAYBE_TEXT, "description": "The connector or client in whose code it failed, with its version where it is known."},
        "advice": {**_list(_TEXT), "description": "What the product itself advises."},
    }


def _finding() -> Schema:
    return _object(
        {
            "code": _CODE,
            "cause": {"enum": [*CAUSES, None]},
            "reason": _MAYBE_TEXT,
            "stage": {"enum": list(STAGES)},
            "severity": {"enum": [s.value for s in Severity]},
            "confidence": _CONFIDENCE,
            "job": _MAYBE_TEXT,
            "subject": _ref("subject"),
            "since": _MAYBE_TIME,
            "until": _MAYBE_TIME,
            "says": _TEXT,
            "inferred": _MAYBE_TEXT,
            "fix": _TEXT,
            "evidence": {**_list(_ref("evidence")), "maxItems": 20},
            "page": _TEXT,
        },
        {
            "missing": _MAYBE_TEXT,
            **_ADVICE,
            "id": {**_TEXT, "description": "The same for one fault in two recordings of it."},
            "scope": _SCOPE,
            "change": {"enum": list(CHANGES), "description": "With --baseline: what became of it since then. unknown: not judged then."},
            "was": {**_MAYBE_TEXT, "description": "How it differs from the baseline, or why that could not see it."},
            "explained_by": {**_MAYBE_TEXT, "description": "Code of the verdict that this is a consequence or a symptom of."},
        },
    )


def _noticed() -> Schema:
    since = {"type": ["integer", "null"], "minimum": 0, "description": "Checkpoints (batches) completed after the last; null: none at all."}
    return _object(
        {
            "signature": {**_TEXT, "description": "Id of the signature; error-logged and exception-logged where none knows the text."},
            "code": {"anyOf": [_CODE, {"type": "null"}], "description": "The rule that such lines are about."},
            "says": _TEXT,
            "count": {"type": "integer", "minimum": 1},
            "first": _MAYBE_TIME,
            "last": _MAYBE_TIME,
            "subject": _ref("subject"),
            "evidence": {**_list(_ref("evidence")), "maxItems": 5},
        },
        {
            "means": {**_TEXT, "description": "What one such line means for the job."},
            "level": {"enum": ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", None], "description": "The gravest."},
            "job": _MAYBE_TEXT,
            "normal": {"type": "boolean", "description": "Of itself no fault: a healthy start, stop or restart prints it, too."},
            "explained_by": {"anyOf": [_CODE, {"type": "null"}], "description": "The finding that is about these lines."},
            "completed_since": since,
            "over": {"type": "boolean", "description": "Its jobs had been stopped or had finished before."},
            "next_command": {**_MAYBE_TEXT, "description": "What would decide."},
            "loss": {"type": "boolean", "description": "It reports that something was dropped, refused or not done."},
            "telling": {"type": "boolean", "description": "Of a run without a verdict one of the lines that say most."},
            "inferred": {**_MAYBE_TEXT, "description": "What such a line suggests, a sentence; nothing of it is stated."},
            "steps": {**_list(_TEXT), "description": "What that asks for."},
            "beside": {**_list(_quote()), "description": "What lines elsewhere say of the same things."},
            "changed": {**_list(_quote()), "description": "What was changed before it."},
        },
    )


def _subject() -> Schema:
    """Only known keys are present; a value is a list when several of its kind are meant. Subtasks count from 0."""
    properties = {}
    for key in SUBJECT_KEYS:
        one: Schema = {"type": "integer", **({"minimum": _LEAST[key]} if key in _LEAST else {})} if key in _WHOLE else _TEXT
        properties[key] = {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _object(required: dict[str, Schema], added: dict[str, Schema] | None = None) -> Schema:
    """Keys of later versions are allowed: a reader of this version ignores them."""
    return {"type": "object", "properties": {**required, **(added or {})}, "required": list(required)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
