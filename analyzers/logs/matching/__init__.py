"""Finding literals and patterns in raw bytes."""
