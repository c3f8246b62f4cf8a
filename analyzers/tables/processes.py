"""The processes whose logs can show something: a rule is clean only where such a log was read."""

from __future__ import annotations

JOBMANAGER = ("jobmanager",)


FLINK = ("jobmanager", "taskmanager", "client", "beam")


SPARK_DRIVER = ("spark-driver",)


JOBS = (*FLINK, "kafka-client", "spark-driver", "spark-executor")
"""Every process of a job. Brokers know nothing of its failures."""


CLIENTS = ("taskmanager", "beam", "kafka-client", "spark-driver", "spark-executor")
"""Where a job's Kafka clients run; the JobManager has one too, but it neither reads records nor commits."""


TASKMANAGER = ("taskmanager",)


BROKER = ("kafka-broker",)


ZOOKEEPER = ("zookeeper",)


ANY = (*JOBS, *BROKER, *ZOOKEEPER)
