"""What each command does, without the command line."""
