"""Derived from failures: jobs, attempts, faults and their classes."""
