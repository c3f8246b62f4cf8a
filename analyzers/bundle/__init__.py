"""A bundle: evidence tables in a directory or archive, with a manifest. Fixture, recorded incident and live run are one form."""
