"""``diag fleet``: the jobs of a directory, all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.options.cache import NoCache, scan_cache
from cli.options.flink import FlinkRestAuth
from cli.options.kafka import seconds
from cli.options.own_rules import Rules, own_rules
from cli.options.report import (
    Cores,
    FailOnOption,
    Ignore,
    IgnoreFile,
    Keep,
    Memory,
    NoIgnoreFile,
    NoPager,
    Only,
    Quiet,
    Redact,
    RedactionKey,
    SparkMaster,
    Verbose,
    choice,
)
from cli.options.shared import (
    DEFAULT_MASTER,
    DEFAULT_MEMORY,
    FailOn,
    LogTimezone,
    RunOptions,
    Since,
    Until,
    heap,
    master_with,
    moment,
)
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, UsageError
from cli.shell.output import after
from cli.version import version

Paths = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help="Directories of jobs, bundles, archives or globs.", show_default=False)
]
JobsBy = Annotated[
    str,
    typer.Option(
        "--jobs-by",
        metavar="directory|glob|job-id|kubernetes",
        help="What is a job: each entry of a directory; each path that is named or matches; files that name the same job id; the pods of "
        "one owner, of what kubectl get pods,events -o json|yaml or kubectl cluster-info dump printed, with their logs.",
    ),
]
FlinkRestFile = Annotated[
    Path | None,
    typer.Option("--flink-rest-file", metavar="FILE", help="Addresses of JobManagers, one in a line: each is asked, as --flink-rest does."),
]
RestTimeout = Annotated[str, typer.Option("--timeout", metavar="TIME", help="For each JobManager: 10s, 500ms, 1m.")]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        help="terminal, plain, json, markdown, html, csv, parquet, sarif, junit; repeatable: -o html=fleet.html; "
        "with --trend terminal, plain, json, markdown.",
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="DIR", help="What earlier runs saved: verdicts are new, still there, or gone since the newest."),
]
Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="DIR", help="Write fleet.json, jobs.parquet, findings.parquet, and add the run to DIR/history."),
]
Trend = Annotated[
    Path | None, typer.Option("--trend", metavar="DIR", help="Judge nothing; show jobs per cause and root over the last runs saved in DIR.")
]
Job = Annotated[str | None, typer.Option("--job", metavar="NAME", help="Judge one job, by its directory, name or id; print its card.")]
Sort = Annotated[str, typer.Option("--sort", metavar="worst|since|job|cause|state", help="Order of the rows (terminal, plain, markdown).")]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="Only jobs with a verdict that --baseline lacks (terminal, plain, markdown).")]
GroupBy = Annotated[
    str | None, typer.Option("--group-by", metavar="cause|root|team", help="Rows in groups (terminal, markdown; html: team).")
]
Team = Annotated[
    str, typer.Option("--team", metavar="LEVEL|REGEX", help="Whose a job is: a level of its directories, or what matches in its name.")
]


def register(app: typer.Typer) -> None:
    app.command("fleet", short_help="Judge many jobs at once: one line each.")(fleet)


def fleet(
    context: typer.Context,
    paths: Paths = None,
    jobs_by: JobsBy = "directory",
    outputs: Outputs = None,
    flink_rest_file: FlinkRestFile = None,
    flink_rest_auth: FlinkRestAuth = None,
    timeout: RestTimeout = "10s",
    since: Since = None,
    until: Until = None,
    log_timezone: LogTimezone = None,
    only: Only = None,
    ignore: Ignore = None,
    rules: Rules = None,
    ignore_file: IgnoreFile = None,
    no_ignore_file: NoIgnoreFile = False,
    fail_on: FailOnOption = FailOn.CRITICAL,
    baseline: Baseline = None,
    save: Save = None,
    trend: Trend = None,
    job: Job = None,
    sort: Sort = "worst",
    only_new: OnlyNew = False,
    group_by: GroupBy = None,
    team: Team = "1",
    redact: Redact = False,
    redaction_key: RedactionKey = None,
    keep: Keep = None,
    spark_master: SparkMaster = DEFAULT_MASTER,
    cores: Cores = None,
    memory: Memory = DEFAULT_MEMORY,
    no_pager: NoPager = False,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Judge many jobs at once: one line each, worst first, and what several of them share.

    \b
    Examples:
      diag fleet /logs/flink --save runs --baseline runs -o html=fleet.html
      diag fleet /logs/flink --job orders-enrichment
      diag fleet --trend runs
      diag fleet s3://lake/flink-logs/ --save runs --group-by team
      diag fleet --flink-rest-file job-managers.txt
      diag fleet shop.json pod-logs/ --jobs-by kubernetes
      diag fleet '/logs/*/production' --jobs-by glob -o html=fleet.html --spark-master spark://master:7077

    Reads what triage reads: logs, checkpoints, saved answers of Flink's REST interface and bundles. Each job is judged by itself, as if it
    lay there alone: an age in --since counts back from its own newest line. What stands behind several verdicts (an address, host, Kafka
    cluster, storage, image, line of code) comes first; names that every cluster has never count. A job that cannot be read costs its own
    line.

    Permissions: to read the files, on every worker of the Spark cluster at the same path, or the objects of a store (s3://, gs://, abfs://,
    hdfs://; to list and to get); read-only calls of each JobManager that is listed. It changes nothing. Exit code 1 where any job has a
    finding as severe as --fail-on says.
    """
    environment: Environment = context.obj or Environment.real()
    environment.verbosity = int(verbose) - int(quiet)
    environment.pages = not no_pager
    if trend is not None:
        from cli.runs.fleet_output import parsed, show_trend

        return show_trend(trend, parsed(outputs), environment)
    if not paths and flink_rest_file is None:
        raise UsageError("there is nothing to judge", "Name directories of jobs, or a list of JobManagers: --flink-rest-file FILE.")
    master, memory = master_with(spark_master, cores), heap(memory)
    from cli.runs import ahead

    ahead.begin(RunOptions(spark_master=master, memory=memory), environment)  # all that follows is loaded meanwhile
    from analyzers.fleet.places import JOBS_BY
    from cli.collectors.flink_transport import read_login
    from cli.runs import fleet as fleets
    from cli.runs import fleet_history
    from cli.runs.fleet_evidence import Gathering, job_managers
    from cli.runs.fleet_output import emit, emit_job, parsed, view_of

    wanted = parsed(outputs)
    if jobs_by not in JOBS_BY:
        raise UsageError(f"--jobs-by: {jobs_by!r} is unknown", f"Choose from {', '.join(JOBS_BY)}.")
    view = view_of(sort, group_by, team, only_new=only_new, compared=baseline is not None, whole=verbose)
    own = own_rules(rules)
    chosen = choice(only, ignore, ignore_file, no_ignore_file, environment, hide=redact, own=own)
    options = RunOptions(
        only=chosen.only,
        ignore=chosen.ignore,
        expired=chosen.expired,
        own=own,
        fail_on=fail_on.value,
        since=moment(since),
        until=moment(until),
        log_timezone=log_timezone,
        spark_master=master,
        memory=memory,
        cache=scan_cache(off=no_cache),
        verbosity=environment.verbosity,
        outputs=tuple(outputs or ()),
        redaction_key=redaction_key,
        keep=keep,
        hide=redact,
    )
    named = [*(paths or []), *([str(flink_rest_file)] if flink_rest_file is not None else [])]
    before = fleet_history.baseline(baseline, save) if baseline is not None else None
    environment.say(f"diag {version()}: reading {', '.join(named[:3])}")
    if baseline is not None and before is None:
        environment.say(f"{baseline} has no earlier run: nothing to compare with")
    found = fleets.run(
        paths or [],
        options,
        by=jobs_by,
        gather=Gathering(read_login(flink_rest_auth), seconds(timeout, "--timeout"), options),
        asked=job_managers(flink_rest_file) if flink_rest_file is not None else [],
        version=version(),
        before=before,
        pages=any(form == "html" for form, _ in wanted),
        job=job,
        progress=environment.say,
    )
    if job is not None:
        return emit_job(found, job, options, environment)
    failures: list[CannotLook] = []
    if save is not None:
        try:
            fleet_history.save(found, save)
            environment.say(f"saved in {save}")
        except CannotLook as error:  # what was found is reported all the same
            failures.append(error)
    failures += emit(found, wanted, environment, view, fail_on.value)
    code = fleets.exit_code(found.report, fail_on.value)
    return after(failures[0], code, environment) if failures else code
