"""Whether a planned change goes, from what is known before it is made."""
