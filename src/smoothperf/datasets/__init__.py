"""Data to learn from: generated problems."""

from .synthetic import make_rare_positives

__all__ = ["make_rare_positives"]
