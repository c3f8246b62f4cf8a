"""Where a client property is written, by connector: the line to copy."""

from __future__ import annotations

BOOTSTRAP = "bootstrap.servers"

_LINES: dict[str, tuple[tuple[str, str], ...]] = {
    "legacy": (
        ("SQL", "'properties.{key}' = '{value}'"),
        ("DataStream", 'properties.setProperty("{key}", "{value}");  // the Properties given to FlinkKafkaConsumer'),
    ),
    "kafka-source": (
        ("SQL", "'properties.{key}' = '{value}'"),
        ("DataStream", 'KafkaSource.builder().setProperty("{key}", "{value}")'),
    ),
    "beam": (("KafkaIO", '.withConsumerConfigUpdates(Map.of("{key}", "{value}"))'),),
    "spark": (("Spark", '.option("kafka.{key}", "{value}")'),),
    "plain": (("properties", "{key}={value}"),),
}
_BOOTSTRAP_LINES: dict[str, tuple[tuple[str, str], ...]] = {
    "kafka-source": (_LINES["kafka-source"][0], ("DataStream", 'KafkaSource.builder().setBootstrapServers("{value}")')),
    "beam": (("KafkaIO", '.withBootstrapServers("{value}")'),),
}


def property_lines(connector: str, key: str, value: str) -> list[str]:
    """How `key` is set to `value` with `connector`, one line for each of its APIs: ``SQL: 'properties.…' = '…'``."""
    lines = _BOOTSTRAP_LINES.get(connector, _LINES[connector]) if key == BOOTSTRAP else _LINES[connector]
    return [f"{api}: " + line.format(key=key, value=value) for api, line in lines]
