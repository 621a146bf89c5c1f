"""Benchmarks: what the library reaches on real data, and what it costs relative to its peers.

Each module is a command: ``python -m benchmarks.reference_values --data FOLDER``. Results are CSV files.
"""
