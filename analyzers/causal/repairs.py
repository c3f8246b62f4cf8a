"""What to do about a root that a neighbour's words show: headline and steps by its effect, written and filled in like those of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Repair:
    """`headline` is a clause that ``, so …`` follows; fields: own (line of the user's code), process (log), words, memory (setting); of a
    lock, lock, owner (its thread), owner_call and owner_system (what that call goes to)."""

    headline: str
    steps: tuple[str, ...]


REPAIRS: Mapping[str, Repair] = {
    "login-refused": Repair(
        "The server refuses the client: {words}",
        ("Repair what the server's words name (certificate, key, password, ACL), and let the client read it again: most read it once.",),
    ),
    "memory-exhausted": Repair(
        "Memory was exhausted[[ in {own}]]",
        (
            "[[Bound what {own} keeps in memory: one key, window, file or batch must not hold everything.]]",
            "Give the process of {process} more memory[[: {memory}]].",
        ),
    ),
    "native-crash": Repair(
        "Native code crashed[[ in {process}]]",
        ("Replace the library that the crash report names (hs_err_pid*.log: Problematic frame), in the version that fits this system.",),
    ),
    "disk-full": Repair(
        "A disk could not be written[[ on the host of {process}]]",
        ("Free or enlarge that disk, or take the host out of service.", "Restart the process of {process}."),
    ),
    "name-unresolved": Repair(
        "A host name did not resolve[[ for {process}]]",
        (
            "Let the name resolve where {process} was written: DNS record, search domain, headless service (publishNotReadyAddresses).",
            "Restart what gave up meanwhile: a process that started without its peers does not always look again.",
        ),
    ),
    "program-fails": Repair(
        "The program cannot run: {words}",
        ("Put what is missing into the environment of that process, in the same version on every worker.", "Start the job again."),
    ),
    "process-killed": Repair(
        "The process of {process} was asked to end",
        ("Find who sent the signal: a rollout, the node's drain or shutdown, an operator (kubectl get events, audit log).",),
    ),
    "thread-waits": Repair(
        "{who} is {words}",
        (
            "1. *flink, spark, beam:* Give that call a timeout below the checkpoint timeout, or make it asynchronous.",
            "1. Give that call a timeout, or make it asynchronous.",
            "2. See in the called system what holds it up.",
        ),
    ),
    "lock-held": Repair(
        "{who} waits for the lock {lock}, which {owner} holds[[ while it waits for {owner_system}]][[ in {owner_call}]]",
        (
            "[[See in {owner_system} what holds up the call of {owner}, {owner_call}: a database lists who blocks a session.]]",
            "Give the call of {owner} a timeout, and do not hold {lock} during it: load first, then swap the result in.",
        ),
    ),
    "event-loop-blocked": Repair(
        "The event loop ({who}) is blocked in {words}",
        (
            "Run that call outside of the event loop (asyncio.to_thread, run_in_executor, a process pool): heartbeats go out meanwhile.",
            "Take fewer records per poll, and raise the session timeout (session.timeout.ms) above the longest such call until then.",
        ),
    ),
    "work-slow": Repair(
        "One piece of work took too long",
        ("Make the work that “{words}” names shorter, or move it out of the thread that polls.",),
    ),
    "leadership-lost": Repair("The leader lost its leadership", ("See why the lock could not be renewed: “{words}”.",)),
}

MEMORY: Mapping[str, tuple[str, str]] = {
    "jobmanager": ("flink", "jobmanager.memory.process.size"),
    "taskmanager": ("flink", "taskmanager.memory.task.heap.size"),
    "spark-driver": ("spark", "spark.driver.memory"),
    "spark-executor": ("spark", "spark.executor.memory"),
    "kafka-broker": ("broker", "KAFKA_HEAP_OPTS"),
}
"""Where the heap of a process is set, by the role of its log, and the engine that knows the setting."""
