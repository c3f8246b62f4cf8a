"""Bytes of checkpoints → rows: Flink `_metadata` V2–V7, operator state, source splits, Structured Streaming logs.

Nothing here opens a file, imports pyspark or builds a Java object; ``analyzers/readers/checkpoint_files.py`` brings the bytes.
"""
