"""Whether a job survives a restore, asked before it: one answer per question, from the checkpoint and from what it is to meet.

The data's way: ``_metadata`` (``checkpoint_files``, ``operator_states``, ``splits``, ``pending_transactions``, and ``state_files`` by
listing and stat) is what would be restored; ``planned_changes`` says how, ``planned_operators`` what the program is known to have (its
plan, a JobManager, or a checkpoint of it), ``log_offsets`` and ``transactional_ids`` what Kafka still has. `case` holds them together;
each other module answers questions of one kind from it; `questions` makes the rows of ``preflight``. Nothing is read or asked here.

An answer is *goes* only where the evidence shows all that Flink looks at, *breaks* only where Flink's own check would refuse or records
would be lost, and else *unknown*, with what would tell. Each module names the class of Flink whose check it repeats.
"""
