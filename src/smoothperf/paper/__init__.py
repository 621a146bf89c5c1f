"""The experiments of the paper, as code that anyone can run again: ``smoothperf paper all``.

Measuring and showing are apart: :mod:`~smoothperf.paper.experiments` writes CSV files, and figures, claims and the page
are functions of these files alone.
"""
