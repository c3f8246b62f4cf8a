"""Many jobs in one run of Spark: each is a scope, read, derived and concluded on executors; rules judge all scopes at once.

The data's way:

1. `places`: the driver lists directories (names and sizes only) and makes a place of each job.
2. `reading`: places are dealt to tasks. A small place is read whole by one task; the logs of a large one
   are split, and each split is a task of its own. What tasks give is bytes: evidence tables, or parts of files.
3. `scopes.derived`: ``groupBy("scope").applyInArrow``. Parts are merged and bounded per scope, tables are derived, and it is sorted out
   which rules have rows to look at there. Out come the rows that these rules see, and what the report will be made of.
4. `judging`: rules run over frames of all scopes, partitioned by scope. The driver gets one row per finding.
5. `scopes.concluded`: findings go back to their scope, on executors: they are weighed, become verdicts, and are shown there.
6. `identities`, `roots`: what stands behind verdicts of several jobs, by names that mean the same thing in every cluster.

The steps of 3 to 5 are those of `diagnosis.judge` itself (`prepared`, `sort_out`, `results_of`, `settle`, `concluded`), so a scope gets the
report that it gets alone. A scope that cannot be read or derived costs its own row.
"""
