"""Evidence in, verdicts out: readers, tables, derived tables, rules and the report they make. Imports nothing of `cli`."""
