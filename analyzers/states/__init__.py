"""What engineers have in hand beside logs: answers and tables of other tools, each shape recognised by its content. Bytes in, rows out."""
