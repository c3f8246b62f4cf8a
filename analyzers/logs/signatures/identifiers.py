"""Forms of the identifiers that log texts carry, as expression fragments, and the values that sample lines use.

Task names hold anything (spaces, parentheses, ``->``, SQL text), so every fragment after the name anchors from the right: the last
`` (i/p)`` and the hexadecimal id (Flink ``ExecutionVertex.getTaskNameWithSubtaskIndex``, ``ExecutionAttemptID``).
"""

from __future__ import annotations

# 32 digits; who shows a log to others often shortens its ids. A short one has a digit and a letter: no English word and no number has.
HEX = r"(?:[0-9a-f]{32}|(?=[a-f]{0,30}\d)(?=\d{0,30}[a-f])[0-9a-f]{4,31}(?![\w-])(?:\.{3}|…)?)"
_PART = r"[0-9a-f]{4,32}"
JOB = rf"(?P<job>{HEX})"
SUBTASK = r"\((?P<subtask1>\d+)/(?P<parallelism>\d+)\)"
TASK = r"(?P<task>[^\n]*) " + SUBTASK
# The attempt stands after `#` on a TaskManager (Flink 1.12+) and as the last part of the execution id on both sides (1.16+).
ATTEMPT = (
    rf"(?:(?=(?:#| - execution #| \(attempt #| \({_PART}_{_PART}_\d+_)(?P<attempt>\d+))|)(?:#\d+| - execution #\d+| \(attempt #\d+\))?"
)
EXECUTION = rf"(?P<execution>{_PART}_(?P<vertex>{_PART})_\d+_\d+|{HEX})"
TASK_EXECUTION = TASK + ATTEMPT + r" \(" + EXECUTION + r"\)"
# A header of no known layout stays in front of the message; task and job names begin behind its ` - `.
UNKNOWN_HEADER = r"(?:(?=[^\n]* - )[^\n]{0,160}?\b(?:INFO|WARN|ERROR|DEBUG|ExecutionGraph|Task)\b[^\n]{0,80}? - )?"
LOCATION = r"(?P<resource>\S+) @ (?P<named_host>\S+) \(dataPort=(?P<data_port>[^)]*)\)"
# `tm-1`, or since Flink 1.12 with its address: `tm-1(10.0.0.7:40123)`
RESOURCE = r"(?P<resource>[^\s(]+)(?:\((?P<address>[^)\s]+)\))?"
TP = r"(?P<tp>[\w.-]+-\d+)"
# `[Consumer clientId=c, groupId=g] `; brokers tag their own clients likewise: `[RaftManager id=1] `, `[ReplicaFetcher replicaId=1, …] `
CLIENT = (
    r"(?:\[(?P<client_kind>[A-Z]\w+) (?:instanceId=[^,\]]+, )?(?:clientId=(?P<client>[^,\]]+))?"
    r"(?:, groupId=(?P<group>[^,\]]+))?(?:, transactionalId=(?P<transactional_id>[^\]]+))?[^\]]*\] )?"
)
# org.apache.kafka.common.Node.toString; `isFenced` since 4.0
NODE = r"(?P<address>\S+:\d+) \(id: (?P<broker>-?\d+) rack: [^)]*\)"
# an address as java.net prints it: name/ip:port, /ip:port
SOCKET = r"(?:(?P<named_host>[^/()\s]+))?/(?P<address>[^)\s]+)"
KAFKA_SPLIT = r"\[Partition: (?P<tp>[\w.-]+-\d+), StartingOffset: (?P<offset>-?\d+), StoppingOffset: (?P<stopping_offset>-?\d+)\]"
QUERY = r"(?:(?P<query_name>[^\[\n]*?) )?\[id = (?P<job>[0-9a-f-]{36}), runId = (?P<run>[0-9a-f-]{36})\]"
SPARK_TASK = r"[Tt]ask (?P<task_index>\d+)\.(?P<attempt>\d+) in stage (?P<stage>[\d.]+) \(TID (?P<task_id>\d+)"

# Values of sample lines -------------------------------------------------------------------------------------------

A_JOB = "2f4c6a8e0b1d3f5a7c9e2b4d6f8a0c1e"
A_GRAPH = "7d1e5b9a3c8f2046b8d0e4a6c1f93257"
A_VERTEX = "bc764cd8ddf7a0cff126f51c16239658"
AN_EXECUTION = f"{A_GRAPH}_{A_VERTEX}_1_3"  # subtask (2/4), attempt #3
AN_OLD_EXECUTION = "5c0e8a1d7b3f4926a4d8c2e6f0b19375"  # Flink <= 1.15
AN_ALLOCATION = "9a8b7c6d5e4f30211203f4e5d6c7b8a9"
A_LEADER = "3b1f0a6e-52d4-4c7e-9a1b-8d2c4e6f7a90"
A_QUERY = "[id = 6c2b9f4e-0d1a-4b7c-8e5f-3a9d7c1b2e40, runId = 0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a]"
