"""RST409: the process that runs a job's Python or Go code beside the TaskManager (Beam's SDK harness, PyFlink's worker) ended."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, failures, has, rule


@rule(
    "RST409", title="The SDK harness beside a TaskManager ended", cause="taskmanager-lost", stage="access", severity=CRITICAL,
    faults=("sdk-harness-lost",),
    says="The SDK harness, the process that runs the Python or Go code of the job beside the TaskManager, ended[[ (exit code "
    "{exit_code})]][[ under {task}]][[ {subtask_shown}]]: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]",
    missing="why the process ended: its own output, or the container's last state, shows it",
    next_command="kubectl describe pod POD   # the TaskManager's pod, the worker-pool container too: last state, exit code; or dmesg -T",
    needs=has(fatal=(True,)),
)  # fmt: skip
def sdk_harness_lost(faults: DataFrame) -> DataFrame:
    """Per job. Source: Beam's FnApiControlClient (the harness's stream ends: CANCELLED), ProcessManager (it died with an exit code)."""
    text = F.concat_ws("\n", "text", F.concat_ws("\n", "chain"))
    code = F.nullif(F.regexp_extract(text, r"Process died with exit code (-?\d+)", 1), F.lit("")).cast("long")
    return failures(faults.withColumn("_code", code), agreed("_code", "exit_code"))
