"""The experiments of the paper, as code that anyone can run again: ``make paper``, or ``python -m reproduction run``.

Measuring and showing are apart: :mod:`reproduction.experiments` writes CSV files, and figures, claims and the page are
functions of these files alone. The data sets of the paper are in :mod:`reproduction.datasets`.
"""
