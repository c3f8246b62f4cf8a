"""Evidence to report: derive, run the rules, weigh the findings, choose the verdicts."""
