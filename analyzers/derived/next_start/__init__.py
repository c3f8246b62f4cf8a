"""Derived from probed bootstrap servers: the odds of the job's next start."""
