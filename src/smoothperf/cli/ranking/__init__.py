"""The commands for rankings: models that order the documents of queries."""
