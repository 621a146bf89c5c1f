"""Where to cut scores: threshold search, cuts that keep a rate on new rows, confidence; for anybody's scores."""
