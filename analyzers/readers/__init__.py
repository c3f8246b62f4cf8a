"""The only code here that opens evidence files, and the code that runs on executors."""
