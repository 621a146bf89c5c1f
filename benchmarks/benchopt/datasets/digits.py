"""Images of digits that scikit-learn ships, of which the eights are positive."""

import numpy as np
from benchopt import BaseDataset
from sklearn.datasets import load_digits


class Dataset(BaseDataset):
    """1,797 images of 64 pixels, a tenth of them positive."""

    name = "digits"
    requirements = ["scikit-learn"]

    def get_data(self):
        """Return pixels between 0 and 1."""
        X, digit = load_digits(return_X_y=True)
        return {"X": X / 16.0, "y": np.where(digit == 8, 1, -1)}
