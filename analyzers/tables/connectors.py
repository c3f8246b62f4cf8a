"""What Kafka Connect's REST interface shows of connectors: asked, pasted or saved."""

from __future__ import annotations

from analyzers.tables.model import table

CONNECTOR_TASKS = table(
    "connector_tasks",
    "states of connectors and of their tasks, as REST or a resource of Strimzi shows them",
    """
connector string name of the connector
type string sink or source; null if unknown
task long number of the task; null = the connector itself
state string RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED, RESTARTING, DESTROYED
worker string worker that runs it, host:port
said string first line of the trace that failed it
moment long number of the look, from 1
file string file that holds it
line long line of the document
""",
)

CONNECTOR_OFFSETS = table(
    "connector_offsets",
    "offsets that each connector committed last (KIP-875), one or several looks",
    """
connector string name of the connector; null where nothing beside the answer names it
topic string topic that a sink reads
partition long partition of it
committed long offset up to which the sink has committed
place string partition as the connector names it, JSON
position string offset as the connector names it, JSON; null = none
moment long number of the look, from 1
file string file that holds it
line long line of the document
""",
)

CONNECTOR_STANDS = table(
    "connector_stands",
    "partitions that a sink does not go on in although it says RUNNING and records wait (analyzers/derived/lag/connector_stands.py)",
    """
connector string name of the connector
class string its connector.class; null if unknown
group string consumer group in which it commits
topic string topic that it reads
partition long partition of it
committed long offset that stands
lag_records long records behind it that a reader can see, in the newest sample
waited_seconds double age of the record at the committed offset when it was read; null if unknown
stands_seconds double from the first to the last look that shows that offset
since timestamp first of these looks
until timestamp last of them
looks long how many there are
beside long partitions of the connector whose offsets moved in that time
tasks long its tasks, all of which say RUNNING
text string what shows it
file string file with it
line long line of it
""",
    derived=True,
)
