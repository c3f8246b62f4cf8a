"""What stands around log lines: containers' envelopes, JSON records, pasted text."""
