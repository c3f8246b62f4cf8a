"""Derived from a running job: bottlenecks and watermarks."""
