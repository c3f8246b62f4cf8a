"""Report in, text out: one module per output format. Nothing here opens a file, asks the terminal, or imports pyspark."""
