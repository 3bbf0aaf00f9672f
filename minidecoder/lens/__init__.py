"""What a run looked like and why: labels, verdicts, traces."""
