"""What led to what: observations, the links between their effects, and the deepest one that explains a finding."""
