"""Will a job survive its next start while some of its bootstrap servers are dead? Pure functions over tables of client behaviour.

`clients` is the behaviour of kafka-clients by version, `measured` what real clients did, `odds` the formula, `fixes` what each change would
bring, `what_if` the questions that need no network. They speak of a client without any live connection: one that starts, restarts, or lost
its last one.
"""
