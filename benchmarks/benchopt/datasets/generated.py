"""Dense rows with rare positives, of which a linear model of all columns and noise says which they are."""

import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Gaussian columns of falling variance."""

    name = "generated"
    parameters = {"n_samples": [2_000], "n_features": [100], "positive_rate": [0.05]}
    test_parameters = {"n_samples": [200], "n_features": [10]}

    def get_data(self):
        """Draw the rows, and call the highest scores positive."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n_samples, self.n_features)) / np.sqrt(1.0 + np.arange(self.n_features))
        scores = X @ rng.standard_normal(self.n_features)
        scores += scores.std() * rng.standard_normal(self.n_samples)
        y = np.where(scores > np.quantile(scores, 1.0 - self.positive_rate), 1, -1)
        return {"X": X, "y": y}
