"""Cuts of anybody's scores: threshold search, cuts that keep a rate on new rows, confidence."""
