"""CFG103: settings that this release ignores, refuses, or that leave a job without restarts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

LINTED = r"^(?:restart-strategy(?:\.type)?|high-availability(?:\.type)?|state\.backend(?:\.type)?|execution\.checkpointing\.interval)$"


def _linted(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """The newer key or a name of a backend beside a release that does not know it, a value no release knows, or no restart strategy."""
    details = [row["detail"] or {} for row in rows]
    versions = [told["version"] for told in details if told.get("version")]
    older = any(re.match(r"1\.(?:\d|1[0-6])(?:\D|$)", version) for version in versions)
    newer = any(not re.match(r"[01]\.", version) for version in versions)
    settings = [(told.get("key") or "", told.get("value") or "") for told in details]
    return (
        any((told.get("strategy") or "").startswith("NoRestart") for told in details)
        or any(key == "restart-strategy.type" and older for key, _ in settings)
        or any(key.startswith("restart-strategy") and re.match(r"(?i)\W*(?:none|off|disable)\W*$", value) for key, value in settings)
        or any(key.startswith("high-availability") and "ZooKeeperHaServices" in value for key, value in settings)
        or any(key.startswith("state.backend") and newer for key, _ in settings)
    )


@rule(
    "CFG103",
    title="A setting is ignored, wrong or dangerous for this release",
    stage="risk",
    severity=Severity.WARNING,
    logs_of=FLINK,
    signatures=("configuration-property", "flink-banner", "restart-strategy", "checkpoint-triggered", "ha-factory-unknown"),
    says={
        "restart-strategy-ignored": "restart-strategy.type is set, but Flink {version} does not know this key (it came with 1.17): the "
        "default restart strategy is in force",
        "no-restarts": "The restart strategy is `none`[[ for {job_name}]]: the first failure ends the job, although it takes checkpoints",
        "high-availability-class": "{key} is `{value}`: that is no mode of Flink and no factory class, the JobManager cannot start with "
        "it (or takes no high availability)",
        "state-backend-name": "{key} is `{value}`: from Flink 2.0 that name is no longer known (running here: {version})",
        "": "{key} is set to `{value}`",
    },
    needs=_linted,
)
def settings_ignored(log_events: DataFrame) -> DataFrame:
    """One row per lint and scope (FLINK-29379 renamed the key; HighAvailabilityMode.fromConfig; StateBackendLoader)."""
    version = (
        log_events.where(F.col("signature") == "flink-banner").groupBy("scope").agg(F.max(F.col("detail")["version"]).alias("version"))
    )
    parts = F.split("version", r"\.")
    number = F.try_element_at(parts, F.lit(1)).try_cast("int") * 100 + F.try_element_at(parts, F.lit(2)).try_cast("int")
    settings = (
        log_events.where(F.col("signature") == "configuration-property")
        .withColumns({"key": F.col("detail")["key"], "value": F.trim(F.regexp_replace(F.col("detail")["value"], "[\"']", ""))})
        .where(F.rlike("key", F.lit(LINTED)))
        .join(version, "scope", "left")
        .withColumns({"number": number, "job_name": F.lit(None).cast("string"), "job": F.lit(None).cast("string")})
    )
    takes_checkpoints = (
        log_events.where(F.col("signature") == "checkpoint-triggered").select("scope").distinct().withColumn("checkpoints", F.lit(True))
    )
    settings = settings.join(takes_checkpoints, "scope", "left")
    low = F.lower("value")
    why = (
        F.when((F.col("key") == "restart-strategy.type") & (F.col("number") < 117), F.lit("restart-strategy-ignored"))
        .when(F.rlike("key", F.lit("^restart-strategy")) & low.isin("none", "off", "disable") & F.col("checkpoints"), F.lit("no-restarts"))
        .when(
            F.rlike("key", F.lit("^high-availability")) & F.contains("value", F.lit("ZooKeeperHaServices")),
            F.lit("high-availability-class"),
        )
        .when(
            F.rlike("key", F.lit(r"^state\.backend")) & low.isin("filesystem", "jobmanager") & (F.col("number") >= 200),
            F.lit("state-backend-name"),
        )
    )
    used = (
        log_events.where((F.col("signature") == "restart-strategy") & F.startswith(F.col("detail")["strategy"], F.lit("NoRestart")))
        .withColumns(
            {
                "key": F.lit("restart-strategy"),
                "value": F.lit("none"),
                "why": F.lit("no-restarts"),
                "job_name": F.col("detail")["job_name"],
                "version": F.lit(None).cast("string"),
            }
        )
        .join(takes_checkpoints, "scope")
    )
    columns = ("scope", "job", "why", "key", "value", "version", "job_name", "at", "file", "line", "text")
    lints = settings.withColumn("why", why).where(F.col("why").isNotNull()).select(*columns).unionByName(used.select(*columns))
    return lints.groupBy("scope", "job", F.col("why").alias("reason")).agg(
        F.min("key").alias("key"),
        F.min("value").alias("value"),
        F.max("version").alias("version"),
        F.max("job_name").alias("job_name"),
        F.min("at").alias("since"),
        exemplars(),
    )
