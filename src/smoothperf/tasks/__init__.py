"""The one contract between "labels or queries" and everything that fits, chooses, commands or reports."""
