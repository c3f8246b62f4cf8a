"""The words that rules are written with."""
