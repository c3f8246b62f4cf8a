"""Tables of saved metrics: scrapes of an exporter, answers of Prometheus, Grafana and CloudWatch."""

from __future__ import annotations

from analyzers.tables.model import table

METRIC_SAMPLES = table(
    "metric_samples",
    "numbers of metrics that diag knows, as a scrape or a query showed them, pasted or saved",
    """
moment long number of the scrape or answer among all that were given
at timestamp when, where it is shown
of_day double time of day that is shown without a date, in seconds
name string name of the metric
counts string what it counts (analyzers/states/metrics.toml)
labels map its labels
value double the number
file string file that holds it
line long line of it
""",
)

METRIC_TROUBLES = table(
    "metric_troubles",
    "what saved metrics show of lost records and of gauges in alarm (analyzers/derived/flow/metric_troubles.py)",
    """
counts string what the metric counts (analyzers/states/metrics.toml)
kind string loss, alarm
reason string reason of the rule: skipped, late, expired, unsent, dropped; of an alarm what it counts
says string what it counts, in words
name string name of the metric
owner string whose: connector, operator, stream, client; null where no label names one
connector string connector of its labels
operator string operator of its labels
topic string topic or stream of its labels
client string client id of its labels
parts strings its tasks or subtasks that count, each with its number
first double number in the first sample, of all parts
last double number in the last one
grew double by how much it grew, restarts left out
records double records read meanwhile by the same owner; null if unknown
share double grew in relation to records
alone string how bad it is where the share is unknown: critical, warning
goes_on boolean whether it grew from the last sample but one to the last
moments long samples of one series, at most
before_at timestamp last sample before it grew
after_at timestamp first sample that shows growth
last_at timestamp last sample
before_shown string the same as a text: a time of day, where the date is unknown
last_shown string the last sample's time as a text
logged double errors that were logged meanwhile; null if unknown
dead_letters double dead letters written meanwhile; null if unknown
throttled double refusals of the stream meanwhile; null if unknown
text string the line that shows it, with its number
at timestamp after_at, else last_at
file string file that holds the last sample
line long line of it
""",
    derived=True,
)

MARKS_AT_MINIMUM = table(
    "marks_at_minimum",
    "jobs whose watermark never left the lowest number though records are read (analyzers/derived/flow/marks_at_minimum.py)",
    """
job_name string name of the job; null if unknown
operator string operator that waits for the watermark, as the metrics or the JobManager name it
reason string empty-partitions, idle-subtasks (readers that read nothing), alignment (a reader without one pauses others), stands
subtasks long subtasks whose watermark is at the lowest number
of_subtasks long subtasks that show a watermark there
records double records, or records each second, that were read
written double records that the operator wrote; null if unknown
sure boolean whether its name, or its output of 0, shows that it waits for event time
age_seconds double for how long it is known to be so; null if unknown
topic string topic with the partitions that give no record
partitions strings these partitions, as topic-partition
silent strings subtasks of the source that read nothing; of an alignment with the name of the source
api string what named the operators: sql, beam; null otherwise
at timestamp newest sample
text string the line that shows it
file string file that holds it
line long line of it
""",
    derived=True,
)

CONNECTOR_CONFIGS = table(
    "connector_configs",
    "settings of connectors that decide what becomes of a record, as REST or a file shows them",
    """
connector string name of the connector
key string setting
value string its value, without secrets
file string file that holds it
line long line of the document
""",
)
