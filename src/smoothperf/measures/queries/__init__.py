"""Measures of rankings: documents of queries, in the order of their scores."""
