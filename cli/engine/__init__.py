"""Starting Spark: Java, the JVM, the session."""
