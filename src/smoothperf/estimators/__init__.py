"""Estimators with the scikit-learn interface."""
