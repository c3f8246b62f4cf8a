"""Whether a job goes on with a newer Flink, asked before the upgrade: one answer per question, from its evidence and what is documented.

The data's way: settings are rows of ``job_config`` (files and deployments that were named, a JobManager) and events of logs
(``configuration-property``); ``process_environments`` and the banners of logs say which Flink and Java run, with which jars;
``log_events``, ``exceptions`` and ``splits`` show classes that the job has; ``checkpoint_files`` what is to be restored. `case` holds them
together for one row of ``planned_changes``. `facts` is what is documented, as data: ``flink_options.txt`` has the options of each release,
``flink.toml`` what was removed or changed, each with its source. Each other module answers questions of one kind; `questions` makes the
rows of ``preflight``.

An answer is *goes* only for what the documentation or the options of the release name, *breaks* only for what they name as removed, and
else *unknown*, with what would show it. A job's own code is not seen: only what its lines, its checkpoint and its jars show of it.
"""
