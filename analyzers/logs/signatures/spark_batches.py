"""Spark: batches that reach their sink, notebooks, and what a query's state and sources refuse."""

from __future__ import annotations

from analyzers.logs.signatures.origin import spark
from analyzers.logs.signatures.signature import Signature

SIGNATURES = (
    Signature(
        id="batch-sunk",
        says="The sink has committed what a batch of the query wrote.",
        versions="3.0+, sinks of DataSource V2",
        literals=("Data source write support ",),
        pattern=r"Data source write support (?:MicroBatchWrite\[epoch: (?P<checkpoint>\d+)|[^\n]*\bMicroBatchWrite\b)[^\n]* committed\.",
        sample=spark(
            "WriteToDataSourceV2Exec",
            "Data source write support MicroBatchWrite[epoch: 42, writer: org.apache.spark.sql.kafka010.KafkaStreamingWrite@77c0]"
            " committed.",
        ),
        keep=(100, 100),
    ),
    Signature(
        id="spark-task-finished",
        says="A task of a stage is done, and how many of its tasks are.",
        literals=("Finished task ",),
        pattern=r"^Finished task (?P<task_index>\d+)\.\d+ in stage (?P<stage>[\d.]+) \(TID \d+\)[^\n]*"
        r"\((?P<tasks_done>\d+)/(?P<tasks>\d+)\)$",
        sample=spark("TaskSetManager", "Finished task 17.0 in stage 44.0 (TID 88) in 300 ms on 10.0.2.7 (executor 3) (199/200)"),
        keep=(1, 3),
    ),
    Signature(
        id="program-interrupted",
        says="Whoever ran the program in a notebook or a shell interrupted it by hand.",
        versions="CPython's KeyboardInterrupt; Jupyter",
        literals=("KeyboardInterrupt", "Kernel interrupted: "),
        pattern=r"^(?:KeyboardInterrupt\b|[^\n]*\bKernel interrupted: )",
        where="line",
        sample='Traceback (most recent call last):\n  File "/app/orders.py", line 41, in <module>\n    query.awaitTermination()\n'
        "KeyboardInterrupt",
        keep=(20, 5),
    ),
    Signature(
        id="input-file-gone",
        says="A planned input file is not there: its rows are lost although the batch commits.",
        versions="the second with spark.sql.files.ignoreMissingFiles, from FileScanRDD (2.x-4.x) and FilePartitionReader",
        literals=("Was it deleted very recently?", "Skipped missing file"),
        pattern=r"directory (?P<path>\S+) was not found|Skipped missing file: (?:path: )?(?P<skipped_path>[^\s,]+)",
        sample=spark("HadoopFSUtils", "The directory file:/data/in/part-003.json was not found. Was it deleted very recently?", "WARN"),
        keep=(20, 5),
    ),
)
