"""What was found in large logs, kept from run to run in the user's cache directory, so that a gigabyte that was read is not read again.

A scan is a sum: a file is read in splits, each begins at a dated line and gives a `FilePart`, and putting parts together shows no border
(`logs/scan/selection.py`). So what is kept is the parts of one *unit*: a split of 64 MB of a plain log; of the last split of each file
also pieces of 8 MB of it; of what can be read from its beginning only (packed, wrapped, an archive with its members) the whole file. No
state of a reader is carried over from run to run: where a log goes on, its last piece is read again and what came behind it.

An entry is found by what the unit's bytes are (SHA-256) and by all that else decides on its parts: what is known of the file before it
is read (`Origin`: zone, dates, role, window; not its name), how it is unwrapped, and the version, a digest of all code and tables that
turn bytes into parts. So nothing ever has to be declared invalid: a file that grew, was truncated, rotated, copied or replaced has other
bytes somewhere, and the units with the same ones are found wherever they lie. Bytes are read to be digested only where an entry with the
same first 4 kB is there; and not where the file still has the device, inode, size and times of modification and of change that it had when
they were digested, two seconds after it was changed last (`seen`).

A split leaves out what groups need not keep (`Sated`), which follows from what was read before it. An entry states that too, and is
good only once the scan at hand has found at least the same: until then it waits, and is read anew if that never comes.

Entries are zstd-compressed JSON behind a digest, mode 0600 in a directory of mode 0700 that is refused unless it is this user's alone.
They hold lines as the logs do, before any redaction. What is damaged is deleted and read anew; a full or read-only disk means no entry.
Oldest used ones go first (`BUDGET.scan_cache_bytes`). Parts with a trouble are never kept.
"""
