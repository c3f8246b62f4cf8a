"""Derived from samples of offsets: does a group keep up, and is its lag real."""
