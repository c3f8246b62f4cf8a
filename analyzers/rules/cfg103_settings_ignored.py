"""CFG103: a setting does not fit this Flink release (ignored or refused), or leaves a job without restarts."""

from analyzers.vocabulary import FLINK, WARNING, DataFrame, F, Window, detail, event, first_of, found, matching, none, rule

_SUSPECT = (
    r"NoRestart|restart-strategy\.type|restart-strategy\W+(?i:none|off|disable)|ZooKeeperHaServices"
    r"|state\.backend(?:\.type)?\W+(?i:filesystem|jobmanager)"
)


@rule("CFG103", title="A setting is ignored, wrong or dangerous for this release", stage="risk", severity=WARNING, logs_of=FLINK,
    signatures=("configuration-property", "flink-banner", "restart-strategy", "checkpoint-triggered"), needs=matching(_SUSPECT),
    says={
        "restart-strategy-ignored": "restart-strategy.type is set, but Flink {version} does not know this key (it came with 1.17): the "
        "default restart strategy is in force",
        "no-restarts": "The restart strategy is none[[ for {job_name}]]: the first failure ends the job, although it takes checkpoints",
        "high-availability-class": "{key} is `{value}`: that is neither a mode of Flink nor a factory class, so the JobManager cannot "
        "start with it, or runs without high availability",
        "state-backend-name": "{key} is `{value}`: Flink 2.0 no longer knows that name (running here: {version})",
    },
)  # fmt: skip
def settings_ignored(log_events: DataFrame) -> DataFrame:
    """Per scope and reason, the setting. Source: FLINK-29379 (renamed key), HighAvailabilityMode.fromConfig, StateBackendLoader."""
    scope = Window.partitionBy("scope")
    used = event("restart-strategy") & F.startswith(detail("strategy"), F.lit("NoRestart"))
    rows = log_events.withColumns({
        "key": first_of(("restart-strategy", used), (detail("key"), event("configuration-property"))),
        "value": first_of(("none", used), otherwise=F.trim(F.regexp_replace(detail("value"), "[\"']", ""))),
        "job": F.when(used, F.col("job")),
        "job_name": F.when(used, detail("job_name")),
        "version": F.max(F.when(event("flink-banner"), detail("version"))).over(scope),
        "_takes_checkpoints": F.max(event("checkpoint-triggered")).over(scope),
    })  # fmt: skip
    major, minor = (F.try_element_at(F.split("version", r"\."), F.lit(part)).try_cast("int") for part in (1, 2))
    release, key, value = major * 100 + minor, F.col("key"), F.lower("value")
    restarts = key.isin("restart-strategy", "restart-strategy.type")
    backend = key.isin("state.backend", "state.backend.type")
    ha_class = key.isin("high-availability", "high-availability.type") & F.contains("value", F.lit("ZooKeeperHaServices"))
    reason = first_of(
        ("restart-strategy-ignored", (key == "restart-strategy.type") & (release < 117)),
        ("no-restarts", restarts & value.isin("none", "off", "disable") & F.col("_takes_checkpoints")),
        ("high-availability-class", ha_class),
        ("state-backend-name", backend & value.isin("filesystem", "jobmanager") & (release >= 200)),
    )
    return found(
        rows.withColumn("reason", reason).where(F.col("reason").isNotNull()),
        "job",
        "reason",
        until=none("timestamp"),
        key=F.min("key"),
        value=F.min("value"),
        version=F.max("version"),
        job_name=F.max("job_name"),
    )
