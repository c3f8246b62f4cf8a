"""Everything of diag that touches the world: the command line, collectors, renderers, and the start of Spark."""
