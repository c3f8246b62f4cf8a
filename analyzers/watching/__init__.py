"""Looks at one job, one after the other, to messages about what changed: `diag watch`. Nothing here reads a clock, a file or a network.

The data's way:

1. `sightings`: a look (a `comparison.sides.Side`) meets what is remembered by the identity that two looks have in `diag diff`: each
   remembered finding is present, absent, or could not be seen, and why.
2. `steps`: hysteresis. What is present in so many looks opens, what is absent in so many that could see it has healed; a message is due
   where that differs from what was said last, once an hour for each finding.
3. `sight`: the same for the watch itself: looks that did not see all, and logs without a new line.
4. `outbox`: the messages that wait for each receiver, the pauses after a failure, and how many messages were dropped.
5. `state`: all of it as plain values, for the state file, and back.

Times: `now` is seconds of a clock that never jumps, in the state file an age; `at` is ISO-8601 UTC, for people.
"""
