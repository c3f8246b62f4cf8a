"""CFG103: a setting does not fit this Flink release (ignored or refused), or leaves a job without restarts."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import FLINK, WARNING, DataFrame, F, Window, detail, event, first_of, found, none, rule
from analyzers.vocabulary.quick_looks import captured


def _some_suspect(rows: Sequence[Row], _thresholds: Mapping[str, Any]) -> bool:
    """Whether a line names a value that could be wrong here."""
    releases = [(captured(row, "version") or "").split(".") for row in rows if row["signature"] == "flink-banner"]
    old = any(len(parts) > 1 and parts[0] == "1" and parts[1].isdigit() and int(parts[1]) <= 16 for parts in releases)
    new = any(parts[0] not in ("", "1") for parts in releases)
    return any(_suspect(captured(row, "key") or "", captured(row, "value") or "", old, new) or _no_restart(row) for row in rows)


def _no_restart(row: Row) -> bool:
    return (captured(row, "strategy") or "").startswith("NoRestart")


_OFTEN_WRONG = ("restart-strategy", "restart-strategy.type", "state.backend", "state.backend.type")


def _suspect(key: str, value: str, old: bool, new: bool) -> bool:
    if key not in _OFTEN_WRONG and "ZooKeeperHaServices" not in value:
        return False
    plain = re.sub("[\"']", "", value).strip(" ").lower()
    return (
        (key == "restart-strategy.type" and old)
        or (key in ("restart-strategy", "restart-strategy.type") and plain in ("none", "off", "disable"))
        or "ZooKeeperHaServices" in value
        or (key in ("state.backend", "state.backend.type") and new and plain in ("filesystem", "jobmanager"))
    )


@rule("CFG103", title="A setting is ignored, wrong or dangerous for this release", stage="risk", severity=WARNING, logs_of=FLINK,
    signatures=("configuration-property", "flink-banner", "restart-strategy", "checkpoint-triggered"), needs=_some_suspect,
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
