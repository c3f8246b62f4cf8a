"""Options that several commands share, each written once, and what their texts mean."""

from __future__ import annotations

import difflib
import fnmatch
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyzers.report.codes import is_own
from cli.shell.exits import UsageError

if TYPE_CHECKING:
    from analyzers.logs.signatures.signature import Signature
    from analyzers.own_rules.language import OwnRules
    from analyzers.report.finding import Finding


Given = tuple[str, Any, Any]
"""Name, annotation and default of a parameter that Typer makes an option of."""


def declared(command: Callable[..., int], given: Iterable[Given]) -> Callable[..., int]:
    """`command`, so marked that Typer asks for `given` and not for what stands in its own definition."""
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default)
        for name, annotation, default in given
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect and Typer look at first
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def own_parameters(command: Callable[..., int]) -> list[Given]:
    """The parameters of `command` in order, annotations resolved.

    Not by `typing.get_type_hints`: before Python 3.11 it wraps an annotation in ``Optional`` where the default is None, and Typer no
    longer sees the option within.
    """
    asked = inspect.signature(command, eval_str=True).parameters
    return [(name, parameter.annotation, parameter.default) for name, parameter in asked.items()]


class FailOn(str, Enum):
    """From which severity on findings make the exit code 1."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    NEVER = "never"


Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="WHEN", help="Look only at what is newer: 2026-11-21T09:30Z, or 30m, 2h, 1d before the newest evidence."
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Look only at what is older; as --since.")]
LogTimezone = Annotated[
    str | None,
    typer.Option(
        "--log-timezone",
        metavar="ZONE",
        help="Zone of log lines that state none: Europe/Berlin or +02:00. Default: inferred where a line tells, else UTC.",
    ),
]

DEFAULT_MASTER = "local[*]"
DEFAULT_MEMORY = "1g"  # evidence tables are small; less than 512m is too little for Spark itself


@dataclass(frozen=True)
class CodeFilter:
    """``CODE`` or ``CODE=subject*``: one rule, or those of its findings whose subject has a value that matches the pattern."""

    code: str
    subject: str | None = None
    by: str = "--ignore"
    """What names it: the option, or a file; then come what that says."""
    reason: str | None = None
    owner: str | None = None
    expires: date | None = None
    """The last day on which it holds."""

    def __str__(self) -> str:
        return self.code if self.subject is None else f"{self.code}={self.subject}"

    def takes(self, finding: Finding) -> bool:
        if finding.code != self.code:
            return False
        return self.subject is None or any(fnmatch.fnmatchcase(str(v), self.subject) for v in _values(finding))


@dataclass(frozen=True)
class RunOptions:
    """What the user asked of a run that ends in a report."""

    outputs: tuple[str, ...] = ()
    only: tuple[CodeFilter, ...] = ()
    ignore: tuple[CodeFilter, ...] = ()
    expired: tuple[CodeFilter, ...] = ()
    """Entries of the ignore file that leave out nothing any more."""
    fail_on: str = "critical"
    since: datetime | timedelta | None = None
    until: datetime | timedelta | None = None
    log_timezone: str | None = None
    bundle: Path | None = None
    save: Path | None = None
    redact: bool = True
    redaction_key: Path | None = None
    keep: Path | None = None
    hide: bool = False
    """Names and words of the report become tokens, as `redact` makes them in a bundle."""
    named: frozenset[str] = frozenset()
    """Words that stay because whoever asks has named them: to hide them from him would hide nothing."""
    spark_master: str = DEFAULT_MASTER
    memory: str = DEFAULT_MEMORY
    keep_warm: bool = False
    cache: str | None = None
    """The directory of what was found in large logs, from run to run; None: without."""
    facts_only: bool = False
    verbosity: int = 0
    thresholds: dict[str, dict[str, Any]] = field(default_factory=dict)
    own: OwnRules | None = None
    """Rules of a user's own, which judge beside diag's."""

    @property
    def own_signatures(self) -> tuple[Signature, ...]:
        """What logs are scanned for beside what diag knows."""
        return () if self.own is None else self.own.signatures

    def runs(self, code: str) -> bool:
        """Whether the rule `code` is to be judged at all."""
        if self.only and all(f.code != code for f in self.only):
            return False
        return not any(f.code == code and f.subject is None for f in self.ignore)

    def keeps(self, finding: Finding) -> bool:
        """Whether `finding` is to be reported."""
        if self.only and not any(f.takes(finding) for f in self.only):
            return False
        return not any(f.takes(finding) for f in self.ignore)


_MOST_CORES = 1024  # of a host; Spark starts a thread for each


def master_with(master: str, cores: int | None) -> str:
    """`master` held to so many cores of this host. Raises `UsageError` for a cluster, which has limits of its own, and for what is none."""
    threads = re.match(r"local(?:\[(.*))?$", master, re.DOTALL)
    if threads is not None and not re.fullmatch(r"local|local\[(?:\*|0*[1-9]\d{0,3})(?:,[ ]*\d{1,4})?\]", master):
        raise UsageError(
            f"--spark-master {master} is no master", "Write local[*], local[2], or the address of a cluster: spark://HOST:7077."
        )
    if not re.fullmatch(r"local.*|yarn|k8s://.+|spark://.+", master):
        raise UsageError(f"--spark-master {master} is no master", "Write local[*], local[2], yarn, spark://HOST:7077 or k8s://HOST:443.")
    if cores is None:
        return master
    if cores > _MOST_CORES:
        raise UsageError(f"--cores {cores} is more than any host has", f"At most {_MOST_CORES}; leave it out to use all there are.")
    if not re.fullmatch(r"local(?:\[.*\])?", master):
        raise UsageError(f"--cores limits this host, and Spark runs on {master}", "Leave out --cores, or --spark-master.")
    return f"local[{cores}]"


def heap(size: str) -> str:
    """``--memory`` as the JVM wants it. Raises `UsageError` for what is no size, or too small for Spark to start."""
    given = re.fullmatch(r"(\d+)\s*([mMgG])(?:i?[bB])?", size.strip())
    if given is None:
        raise UsageError(f"--memory: {size!r} is no size", "Write 512m or 2g.")
    megabytes = int(given[1]) * (1024 if given[2] in "gG" else 1)
    if megabytes < 512:
        raise UsageError(f"--memory: Spark does not start with {size}", "Give it 512m or more.")
    return f"{megabytes}m" if megabytes % 1024 else f"{megabytes // 1024}g"


def code_filters(values: Iterable[str] | None, known: Sequence[str]) -> tuple[CodeFilter, ...]:
    """``CODE[=SUBJECT*]`` texts as filters. Raises `UsageError` for a code that no rule has."""
    filters = []
    for value in values or ():
        code, equals, subject = value.partition("=")
        filters.append(CodeFilter(known_code(code, known), subject if equals else None))
    return tuple(filters)


def hidden_subjects(*filters: Sequence[CodeFilter], hide: bool) -> None:
    """Raises `UsageError` for a subject that would be looked for among tokens: nothing would be left out, or all."""
    if hide and (named := next((each for own in filters for each in own if each.subject is not None), None)) is not None:
        raise UsageError(f"{named} ({named.by}): with --redact the subjects of a report are tokens", f"Name the rule alone: {named.code}.")


def known_code(code: str, known: Sequence[str]) -> str:
    """`code` as the rules spell it. Raises `UsageError` with the nearest codes when there is none."""
    wanted = code.strip().upper()
    if wanted in known:
        return wanted
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`diag rules` lists the codes."
    hint += " Of a rule of your own name the file, too: --rules." if is_own(wanted) else ""
    raise UsageError(f"no rule has the code {code}", hint)


def codes_beginning_with(incomplete: str) -> list[tuple[str, str]]:
    """Code and title of the rules that a shell may complete `incomplete` to."""
    from analyzers.rules.catalogue import load_rules

    return [(rule.code, rule.title) for rule in load_rules() if rule.code.startswith(incomplete.upper())]


_OLDEST = timedelta(days=36_525)
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)(?:\s+ago)?")
_DAY = re.compile(r"(?=[\dty])(?P<day>today|yesterday)?(?:(?:^|\s+)(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?)?z?")
_FORMS = "Write 2026-11-21T09:30Z, 09:30, yesterday, or an age as 30m, 2h, 1d."
_UNIT = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}


def moment(text: str | None) -> datetime | timedelta | None:
    """``--since`` / ``--until``: an aware UTC time (no zone = UTC), or an age that `resolve` takes from `as_of`. Raises `UsageError`.

    ``09:30`` is the last time that it was so late; ``today`` and ``yesterday`` begin at midnight, and may have a time behind them.
    """
    if text is None:
        return None
    words = text.strip().lower()
    age, day = _AGE.fullmatch(words), _DAY.fullmatch(words)
    try:
        if age:
            back = timedelta(**{_UNIT[age.group(2)]: float(age.group(1))})
            if back > _OLDEST:
                raise OverflowError
            return back
        if day:
            return _of_day(day["day"], int(day["hour"] or 0), int(day["minute"] or 0), int(day["second"] or 0))
        # fromisoformat of 3.10 knows no Z
        at = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
        return at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        shown = text if len(text) < 60 else f"{text[:60]}…"
        raise UsageError(
            f"--since, --until: {shown!r} is no time within the last hundred years" if age else f"{shown!r} is no time", _FORMS
        ) from None


def _of_day(day: str | None, hour: int, minute: int, second: int) -> datetime:
    """Raises ``ValueError``."""
    now = datetime.now(timezone.utc)
    at = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
    return at - timedelta(days=1) if day == "yesterday" or (day is None and at > now) else at


def resolve(when: datetime | timedelta | None, as_of: datetime | None) -> datetime | None:
    """`when` as a time: an age counts back from `as_of` (None when that is unknown)."""
    if isinstance(when, timedelta):
        return None if as_of is None else as_of - when
    return when


def _values(finding: Finding) -> list[object]:
    values: list[object] = [finding.job] if finding.job else []
    for value in finding.subject.values():
        values.extend(value if isinstance(value, list) else [value])
    return values
