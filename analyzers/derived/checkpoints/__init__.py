"""Derived from checkpoints: who holds a barrier, how a series goes, who owns each split."""
