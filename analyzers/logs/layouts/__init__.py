"""What a line looks like: layouts, timestamps, exceptions, sections of a file, and whose process wrote it."""
