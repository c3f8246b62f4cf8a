"""A bench of streaming incidents: cases with their truth, what answers them, and what the answers are worth.

The data's way: `cases` reads a case's truth from the labels that the fixtures have → an adapter (`adapters`, `diagnosis`, `rest_server`)
gives each case one `Answer`, the text that a user would read → `marks` counts on it, the same for every adapter → `results` keeps a row a
case in ``results.jsonl`` → `table` makes the tables of ``README.md`` and ``plot.svg`` out of these rows, and of nothing else.
"""
