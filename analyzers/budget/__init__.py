"""The most that diag does with what others wrote, in one place: bytes, rows, members, depth, requests, seconds.

Readers take their bounds from `BUDGET` and have none of their own (`tests/test_budget.py`). What a bound cuts off is named in the report.
Times follow from them: a bound on bytes, lines or rows is one on seconds, as no reader takes more than the time of what it reads
(`tests/hostile/test_bounded_work.py`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """How much is read of each kind of input; names end in what is counted, bytes unless it is said otherwise."""

    # ---- what is packed ---------------------------------------------------------------------------------------------

    unpacked_least_bytes: int = 256 << 20
    """Allowed for any size of the packed file."""
    unpacked_times: int = 400
    """How many times its packed size a file may have. The best of real logs, all one repeated trace, were packed to a 300th by zstd."""
    archive_members: int = 50_000
    """Of one archive: each costs a few kilobytes of memory while it is planned for."""
    archive_name_bytes: int = 1 << 20
    """Of a header in a tar archive that holds a long name or attributes; 64 kB are many."""
    zip_directory_bytes: int = 16 << 20
    """The list of files in a zip, which is read in one go: some 150,000 files."""

    # ---- bundles ----------------------------------------------------------------------------------------------------

    bundle_bytes: int = 2 << 30
    """Of all that an archive holds: it is unpacked to the disk of whoever was sent it."""
    bundle_directories: int = 100
    """Depth; a path of thousands can be neither made nor removed by Python."""
    table_values: int = 6_000_000
    """Rows times columns of all tables: a value costs 50 to 100 bytes, even one that is null. The largest recorded bundle has
    400,000."""
    table_bytes: int = 256 << 20
    """Text of all tables."""
    row_bytes: int = 16 << 20
    """Of one row as JSON, which is held whole, and as objects a dozen times as large; those of logs are bounded where they are read."""
    manifest_bytes: int = 4 << 20
    parquet_least_bytes: int = 512 << 20
    """Memory of the process that reads Parquet, beside what the loaded libraries have: a page, its dictionary and a batch of rows, as
    Python's objects."""
    parquet_times: int = 3
    """Of the bytes that the footer states: unpacked, decoded, and as Python's objects."""
    parquet_kept_bytes: int = 256 << 20
    """Memory that the process may hold on to behind a file: with more it asks to be replaced."""
    parquet_least_seconds: int = 30
    parquet_bytes_a_second: int = 4 << 20
    """A tenth of what a slow machine reads."""

    # ---- files that options name, stores, directories ---------------------------------------------------------------

    option_file_bytes: int = 1 << 20
    """Properties, keys, certificates."""
    option_pipe_seconds: float = 10.0
    copied_files: int = 5_000
    """Of a bundle or of answers in an object store."""
    copied_bytes: int = 1 << 30
    searched_files: int = 1_000_000
    """Of all directories that are named."""
    searched_entries: int = 4_000_000
    """Of one directory that is named, with those that are no logs, and directories: a generated tree may have no end."""
    search_seconds: float = 60.0
    """To list one directory that is named with all below, …"""
    searched_entries_a_second: int = 200
    """… and a second more for so many: a network file system over a slow line lists as fast."""
    baseline_bytes: int = 64 << 20
    """The document of an earlier run of a fleet."""
    checkpoint_search_bytes: int = 256 << 20
    """A tar archive is unpacked once more to look for checkpoints: not with gigabytes of logs."""

    # ---- logs -------------------------------------------------------------------------------------------------------

    line_bytes: int = 1 << 20
    """Of a longer line the rest is not looked at."""
    wrapped_line_bytes: int = 16 << 20
    """Of a line with what wraps it."""
    event_bytes: int = 4 << 20
    """Of a longer event likewise, but for its last bytes."""
    short_line_bytes: int = 32
    """A log whose lines are shorter in the mean is none that a program wrote …"""
    short_lines: int = 16_000_000
    """… and so many of them are read; one in front of which no log line stands counts eight times, as it costs."""
    log_rows: int = 4_000
    """Of events of one job, or of none, that signatures know. The largest recording of an incident has 1,700, with those of the next
    line."""
    told_rows: int = 5_000
    """The same, of signatures that may keep so many of each group because rules state how often and when."""
    generic_rows: int = 2_000
    """Of events that none knows; more where the least of each group are more."""
    remembered_bytes: int = 16 << 20
    """Texts that were judged before."""
    export_bytes: int = 64 << 20
    """Text, records and their order need eight times as many."""
    export_records: int = 500_000
    """Of one export; a record is half a kilobyte, however few bytes its line has. Kibana, CloudWatch and Splunk export no more."""
    pasted_bytes: int = 1 << 20
    """A larger file was not pasted."""
    yaml_lines: int = 400_000
    yaml_depth: int = 60
    connect_depth: int = 12
    """Of the state of a connector within other JSON."""
    fragment_bytes: int = 256 << 10
    """Of a text that has no line of a log, and is asked whether it quotes one."""
    note_bytes: int = 256 << 10
    """Of one text, of which the beginning is read."""
    note_lines: int = 400
    note_files: int = 40
    """With more of them the directory is a project or an archive, and none is read."""
    polled_files: int = 20
    """Logs that are read once more for what came after the last poll."""
    polled_bytes: int = 64 << 20

    scan_cache_bytes: int = 1 << 30
    """Of what was found in large logs, kept in the user's cache directory."""
    scan_cache_entry_bytes: int = 64 << 20
    scan_cache_unpacked_bytes: int = 512 << 20

    # ---- what other tools show --------------------------------------------------------------------------------------

    state_bytes: int = 64 << 20
    """Of one text; what is longer is read up to here."""
    state_files: int = 500
    """Of one run: a directory with more of them is an archive of a monitoring system."""
    state_documents: int = 100_000
    """JSON values of one text."""
    state_cut_bytes: int = 32 << 20
    """Of a JSON value that lacks its end."""
    state_depth: int = 8
    threads: int = 20_000
    """Of one dump."""
    stacks: int = 20_000
    """Of languages other than Java."""
    group_partitions: int = 10_000
    client_partitions: int = 100_000
    """Rows of partitions of one text, of all clients and moments of their statistics."""
    metric_points: int = 200_000
    """Of an answer of a monitoring system."""
    metric_series: int = 20_000
    """Of one text. A scrape of a large cluster has ten thousand in all, of which few are known."""
    metric_rows: int = 120_000
    scrape_line_bytes: int = 16_000
    scrapes: int = 2000
    """Of one text."""
    kubernetes_events: int = 200
    kubernetes_list_bytes: int = 256 << 20
    """Of one list of objects, or of what `kubectl cluster-info dump` prints: 20,000 pods as JSON."""
    kubernetes_log_bytes: int = 128 << 20
    """Of logs that stand in one text, or one archive, with lists: they are cut out by the driver, and held until they are judged."""
    kubectl_list_bytes: int = 64 << 20
    """Of JSON that kubectl is asked for: as objects it takes ten times as much memory, and a pod has some 10 KB."""
    kubectl_log_bytes: int = 64 << 20
    """Of a container, of its last `kubectl_log_lines`: lines of 300 bytes leave room for the end."""
    kubectl_log_lines: int = 200_000
    kubectl_pods: int = 60
    """Whose logs are asked for, those that restarted most first."""
    connectors: int = 200
    """Of a worker of Kafka Connect: each question for offsets makes it ask a topic or a group of Kafka."""
    progress_rows: int = 20_000
    """Batches of queries."""

    # ---- checkpoints ------------------------------------------------------------------------------------------------

    metadata_bytes: int = 256 << 20
    """`_metadata` is a list of files: gigabytes of it are no checkpoint, and would be held in memory whole."""
    metadata_rows: int = 150_000
    """Of one `_metadata`: a subtask may be four bytes of it and is a row of a kilobyte. 100 operators of 1,000 subtasks are 100,000."""
    checkpoint_rows: int = 400_000
    """Of all checkpoints of a run; what is not kept is said."""
    checkpoint_depth: int = 10
    """Directories below the one that is named."""
    split_state_bytes: int = 16 << 20
    """A source's split state is kilobytes; 6,000 Kafka partitions of one subtask are 400 kB."""
    split_bytes: int = 16 << 20
    """One element of a source's state is one split: 40 bytes for Kafka, 4 kB for Beam's KafkaIO."""
    named_states: int = 100_000
    """A real operator has a handful; the bound keeps a made-up count from filling the memory."""
    handle_depth: int = 16
    """No handle of Flink nests deeper than three (changelog > key groups > stream); corruption does."""
    java_depth: int = 64
    """Sources and coders nest about ten deep; each level costs four Python frames."""
    state_requests: int = 2000
    """Files outside of the job's directory (entropy in the path, a changelog store) cost one request each."""
    tar_metadata_bytes: int = 128 << 20
    """`_metadata` is read whole, state files only while they are small."""
    tar_file_bytes: int = 4 << 20
    tar_bytes: int = 256 << 20
    tar_members: int = 200_000
    """Of an archive of checkpoints."""
    tar_directories: int = 200_000
    tar_depth: int = 30
    """Directories on the way to a member, each an entry of its own; what is that deep is not looked into."""
    stores: int = 5_000
    """200 partitions of a handful of operators, each listed once; what is beyond is said, not looked at."""
    batches: int = 10_000
    """Spark keeps 100 (spark.sql.streaming.minBatchesToRetain); a directory that was never cleaned is read from its end."""
    batch_log_bytes: int = 64 << 20

    # ---- answers of servers -----------------------------------------------------------------------------------------

    answer_bytes: int = 48 << 20
    """Of one answer in JSON; the thread dump of a large TaskManager is a few megabytes."""
    answer_values: int = 1_000_000
    """Of one answer: each costs 50 to 100 bytes, even an empty list, of which 48 MB of JSON hold 16 million. 5,000 subtasks need
    300,000."""
    answers_bytes: int = 256 << 20
    """Of all answers of a run together."""
    answers_values: int = 8_000_000
    kafka_answer_bytes: int = 64 << 20
    """They hold the metadata of a million partitions; text taken for a frame length is at least 512 MB."""
    kafka_brokers: int = 2000
    """Of one cluster, those with the lowest ids: each is looked up, connected to and shown. The largest known have some hundreds."""
    kafka_topics: int = 5000
    """Asked for at once; their answer is a few hundred kilobytes."""
    commits: int = 200
    """Partitions whose record at the commit is read: 13 MB at most."""
    open_transactions: int = 50
    """Partitions with one that are looked at."""
    markers: int = 200
    """Ends of earlier transactions."""
    marker_bytes: int = 256 << 10
    peeked_records: int = 200
    """Of a window of which only the bounds are known."""
    peeked_windows: int = 20
    peeked_json_bytes: int = 1 << 20
    """A larger value is not parsed."""
    jobs: int = 20
    """Of a JobManager."""
    vertices: int = 150
    task_managers: int = 100


BUDGET = Budget()
