"""What two looks at one job have in common, and what only one of them has: `diag diff`, and `--baseline` of `diag triage`.

The data's way:

1. `sides`: each look is a `Side`: the document of its report (what ``-o json`` prints, read back or just made) and, where there
   was evidence, its tables. A report that was saved alone has only the tables that it prints.
2. `findings`: findings of both meet by identity: rule, reason, job and what lasts of the subject. What meets no other is new or gone only
   if the other side judged that rule; else it is unknown, and why.
3. `facts`: versions, parallelism, settings, bootstrap lists, brokers, leaders, checkpoints, lag: a table of kinds, each with
   the function that reads it from tables. Only what both sides can show is compared.
4. `shapes`: kinds of warnings and errors that only the later side has and no finding explains.
5. `meeting`: whether both can be compared, and what takes from what is said of their findings.
6. `difference`: all of it, and what could not be compared; `baseline`: a report whose findings are marked by it.
"""
