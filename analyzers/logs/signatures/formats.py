"""Formats and schema registries: what a record could not be decoded with (catalogue D05–D08, D12).

Texts that quote the record stay out of named groups: payload is never evidence.
"""

from __future__ import annotations

from analyzers.logs.signatures.origin import failed_task, spark
from analyzers.logs.signatures.signature import Signature

SIGNATURES = (
    Signature(
        id="json-undecodable",
        ref="D05",
        says="A record is not the JSON that the table expects.",
        literals=("Failed to deserialize JSON", "Fail to deserialize at field", "JsonParseException"),
        pattern=r"Failed to deserialize JSON|Fail to deserialize at field: (?P<field>[\w.$]+)|JsonParseException",
        where="line",
        sample=failed_task(
            'Caused by: java.io.IOException: Failed to deserialize JSON \'{"amount":"12,50"}\'.',
            "Caused by: org.apache.flink.formats.json.JsonToRowDataConverters$JsonParseException: Fail to deserialize at field: amount.",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="record-format-invalid",
        ref="D06",
        says="A record could not be decoded as CSV, Avro, Protobuf or Debezium.",
        literals=(
            "Failed to deserialize CSV row",
            "Failed to deserialize Avro record",
            "Can't deserialize Debezium",
            "Can't deserialize Canal",
            "Corrupt Debezium",
            "Failed to deserialize PB object",
        ),
        pattern=r"(?P<format>CSV|Avro|Debezium|Canal|PB)",
        where="line",
        sample=failed_task("Caused by: java.io.IOException: Failed to deserialize Avro record."),
        keep=(20, 5),
    ),
    Signature(
        id="schema-unknown",
        ref="D07 D08",
        says="The record names a schema that the registry does not have, or has no schema id at all.",
        literals=(
            "Could not find schema with id",
            "Unknown data format. Magic number does not match",
            "Unknown magic byte",
            "error code: 40403",
        ),
        pattern=r"schema with id (?P<schema_id>\d+) in registry|Magic number does not match|Unknown magic byte|error code:"
        r" (?P<registry_error>\d+)",
        where="line",
        sample=failed_task("Caused by: java.io.IOException: Could not find schema with id 4711 in registry"),
        keep=(20, 5),
    ),
    Signature(
        id="registry-record-failed",
        ref="D08",
        says="A record could not be decoded with its registered schema, or the registry could not be asked: the cause tells which.",
        literals=(
            "Error deserializing Avro message for id",
            "Error retrieving Avro ",
            "Error deserializing Protobuf message for id",
            "Error deserializing JSON message for id",
        ),
        pattern=r"for id (?P<schema_id>-?\d+)",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.kafka.common.errors.SerializationException: Error deserializing Avro message for id 4711"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="registry-error",
        ref="D08",
        says="The schema registry answered with an error: 404xx schema or subject unknown, 422 invalid, 5xx an outage.",
        literals=("; error code: ",),
        pattern=r"RestClientException: (?P<message>[^\n]*); error code: (?P<registry_error>\d+)",
        where="line",
        sample=failed_task(
            "Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Schema not found; error code: 40403"
        ),
        keep=(20, 5),
    ),
    Signature(
        id="spark-malformed-record",
        ref="D12",
        says="Spark found a record that does not fit its schema (mode FAILFAST), or a user function threw.",
        literals=(
            "MALFORMED_RECORD_IN_PARSING",
            "Malformed records are detected in",
            "FAILED_EXECUTE_UDF",
            "Failed to execute user defined function",
        ),
        pattern=r"(?P<error>MALFORMED_RECORD_IN_PARSING|Malformed records|FAILED_EXECUTE_UDF|Failed to execute user defined function)",
        where="line",
        sample=spark(
            "Executor",
            "Exception in task 1.0 in stage 7.0 (TID 29)\norg.apache.spark.SparkException:"
            " [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are detected in record parsing: [null]. Parse Mode:"
            " FAILFAST."
            " To process malformed records as null result, try setting the option 'mode' as 'PERMISSIVE'.",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="python-function-failed",
        ref="D12",
        says="A Python function of the job threw; the last line of its traceback says what.",
        literals=("org.apache.spark.api.python.PythonException", "Error received from SDK harness for instruction"),
        pattern=r"PythonException|SDK harness for instruction (?P<instruction>\d+)",
        where="line",
        sample=spark(
            "Executor",
            "Exception in task 1.0 in stage 7.0 (TID 29)\norg.apache.spark.api.python.PythonException: Traceback (most recent call"
            " last):\n  File \"/opt/job/orders.py\", line 12, in amount\nValueError: invalid literal for int() with base 10: 'x'",
            "ERROR",
        ),
        keep=(20, 5),
    ),
    Signature(
        id="sink-row-refused",
        says="A sink refuses a row: a null in a NOT NULL column, a broken constraint, a value too long.",
        literals=(
            "is NOT NULL, however, a null value",
            "violates not-null constraint",
            "violates unique constraint",
            "violates foreign key constraint",
            "Data truncation",
            "Duplicate entry '",
            "value too long for type",
            "mapper_parsing_exception",
            "document_parsing_exception",
            "cannot be null",
        ),
        pattern=r"[Cc]olumn '?\"?(?P<column>[\w.]+)\"?'?[^\n]{0,40}(?:NOT NULL|cannot be null|not-null)|violates \w[\w-]* ?\w*"
        r" constraint|Data truncation|Duplicate entry|"
        r"value too long for type|"
        r"(?P<type>mapper_parsing_exception|document_parsing_exception)",
        where="line",
        sample=failed_task(
            "Caused by: org.apache.flink.table.api.TableException: Column 'customer' is NOT NULL, however, a null value is being written"
            " into it. You can set job configuration 'table.exec.sink.not-null-enforcer'='DROP'."
        ),
        keep=(20, 5),
    ),
)
