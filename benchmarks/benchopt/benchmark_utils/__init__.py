"""Code that the objective and solvers share; a name that benchopt knows."""
