"""What must be asked over a network: one file per source. Collectors never change what they look at."""
