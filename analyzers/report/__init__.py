"""What a run says: findings, the report, its schema."""
