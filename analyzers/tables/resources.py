"""Tables of custom resources of Kubernetes: what the operators of Flink, Spark and Kafka (Strimzi) write into their status."""

from __future__ import annotations

from analyzers.tables.model import table

CUSTOM_RESOURCES = table(
    "custom_resources",
    "custom resources of the operators of Flink, Spark and Strimzi, each with its status, as kubectl showed it",
    """
moment long number of the view among all that were given
shown_at timestamp when it was shown: by the clock above it, else the newest time in it
kind string FlinkDeployment, FlinkSessionJob, FlinkStateSnapshot, FlinkBlueGreenDeployment, SparkApplication, Kafka, KafkaTopic, …
namespace string namespace
name string name
owner string kind and name of the resource that made it, as kind/name
generation long generation of its specification
observed_generation long generation that its operator has looked at last
specified_at timestamp when its specification was changed last (managedFields)
wanted string running, suspended: spec.job.state
state string state of the resource: lifecycleState, blueGreenState, applicationState, state of a snapshot
job_state string state of the job, as its operator saw it last
job_changed_at timestamp when that changed last
manager_state string jobManagerDeploymentStatus
reconciliation string reconciliationStatus.state
attempts long submissions of an application, or failures of a snapshot
error string what the operator says went wrong, of a serialized exception the deepest message
file string file that shows it
line long line of it
""",
)
RESOURCE_CONDITIONS = table(
    "resource_conditions",
    "conditions in the status of these resources, each with the time of its last change",
    """
moment long number of the view
kind string kind of the resource
namespace string namespace
name string name of the resource
type string Ready, NotReady, Running, Warning, …
status string True, False, Unknown
reason string reason, one word
message string message
since timestamp lastTransitionTime
file string file that shows it
line long line of the resource
""",
)
RESOURCE_TROUBLES = table(
    "resource_troubles",
    "resources that pods or a job contradict, or whose operator complains (analyzers/derived/failures/resource_troubles.py)",
    """
kind string kind of the resource
namespace string namespace
name string name of the resource
reason string job, pods, failed, not-observed, not-ready, snapshot, transition
state string state of the resource
other string what contradicts it
says string the operator's own words
pod string pod that contradicts it
condition string type of the condition
generation long generation of the specification
observed_generation long generation that the operator has looked at
since timestamp since when
seconds double for how long it is known to be so; null if unknown
at timestamp when it was shown
text string the values that show it
file string file that shows it
line long line of it
""",
    derived=True,
)
