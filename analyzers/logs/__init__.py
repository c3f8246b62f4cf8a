"""Bytes to rows, without pyspark and without opening files."""
