r"""Leaves of trees: a model that is linear in them bends where trees say so, and columns may act on one another.

Every tree of a random forest puts a row into one of its leaves. These are the features, one of 0 or 1 for each leaf of
each tree, beside the standardised columns: the forest itself is the model whose weights are the means in its leaves,
and training finds better ones, for the measure. (They are the features of He et al., "Practical lessons from predicting
clicks on ads at Facebook", with a forest in place of boosted trees: its trees do not depend on one another, so that no
leaf is worth much more on rows that grew it than on new ones.)
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Indices
from .._validation import whole_number
from ..io.model_file import kept_in_files
from .base import Transformer


@kept_in_files
class Leaves(Transformer):
    """Leaves of a random forest, as sparse features of 0 and 1, beside standardised columns.

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees.
    max_leaves : int, default=32
        Most leaves of a tree.
    min_samples_leaf : int, default=5
        Fewest rows in a leaf.
    random_state : int, default=0
        Draws the rows and columns that each tree sees.
    dtype : dtype, default=float32
        Type of the features.

    Attributes
    ----------
    scaler_ : StandardScaler
        Of the columns.
    columns_ : ndarray of shape (n_nodes,)
        The column that each node of the trees looks at, all trees one after the other.
    thresholds_ : ndarray of shape (n_nodes,)
        Rows go left where the column is at most this.
    children_ : ndarray of shape (2, n_nodes)
        Nodes to the left and to the right; a leaf has itself.
    roots_ : ndarray of shape (n_trees,)
        Where the trees begin.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> Leaves(n_trees=10).fit_transform(X, X[:, 0] * X[:, 1] > 0.0).nnz  # of 100 rows, 3 columns and 10 leaves each
    1300
    """

    def __init__(
        self,
        n_trees: int = 100,
        *,
        max_leaves: int = 32,
        min_samples_leaf: int = 5,
        random_state: Any = 0,
        dtype: Any = np.float32,
    ):
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state
        self.dtype = dtype

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Columns of numbers.
        y : array-like of shape (n,)
            Labels or relevance of the rows.

        Returns
        -------
        self
        """
        from sklearn.ensemble import RandomForestRegressor  # which takes a while, and models from files need not
        from sklearn.preprocessing import StandardScaler

        forest = RandomForestRegressor(
            whole_number("n_trees", self.n_trees, at_least=1),
            max_leaf_nodes=whole_number("max_leaves", self.max_leaves, at_least=2),
            min_samples_leaf=whole_number("min_samples_leaf", self.min_samples_leaf, at_least=1),
            max_features="sqrt",
            random_state=self.random_state,
        )
        X, y = validate_data(self, X, y, dtype=np.float32)
        # Of two classes, squared error of their numbers splits as Gini's impurity does.
        forest.fit(X, y if np.issubdtype(y.dtype, np.number) else np.unique(y, return_inverse=True)[1])
        self.scaler_ = StandardScaler().fit(X)
        trees = [one.tree_ for one in forest.estimators_]
        sizes = [tree.node_count for tree in trees]
        self.roots_: Indices = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        children = np.hstack([[tree.children_left, tree.children_right] for tree in trees])
        nodes = np.arange(children.shape[1])
        self.children_: Indices = np.where(children < 0, nodes, children + np.repeat(self.roots_, sizes))
        self.columns_: Indices = np.maximum(np.concatenate([tree.feature for tree in trees]), 0)
        self.thresholds_ = np.concatenate([tree.threshold for tree in trees])
        return self

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return the features of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Columns as in ``fit``.

        Returns
        -------
        csr_matrix of shape (n, d + leaves)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32)
        n, d = X.shape
        leaves = self._leaves()
        number = np.full(self.columns_.size, -1, dtype=np.int32)
        number[leaves] = d + np.arange(leaves.size)
        width = d + self.roots_.size
        columns = np.empty((n, width), dtype=np.int32)
        columns[:, :d] = np.arange(d)
        for begin in range(0, n, 4096):  # so that the nodes of rows fit into the cache
            columns[begin : begin + 4096, d:] = number[self._places(X[begin : begin + 4096])]
        values = np.ones((n, width), dtype=self.dtype)
        values[:, :d] = self.scaler_.transform(X)
        indptr = np.arange(0, n * width + 1, width, dtype=np.int64)
        return sp.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(n, d + leaves.size))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return names: those of the columns, and "tree0 leaf2", .. of leaves."""
        columns, leaves = super().get_feature_names_out(input_features), self._leaves()
        tree = np.searchsorted(self.roots_, leaves, side="right") - 1
        of_leaves = [f"tree{t} leaf{node}" for t, node in zip(tree, leaves - self.roots_[tree], strict=True)]
        return np.array([*columns, *of_leaves], dtype=object)

    def _leaves(self) -> Indices:
        """The nodes that are leaves."""
        return np.flatnonzero(self.children_[0] == np.arange(self.columns_.size))

    def _places(self, X: NDArray[np.float32]) -> Indices:
        """The leaf of every row in every tree: a step down in all trees at once, until no row moves."""
        rows = np.arange(X.shape[0])[:, None]
        at = np.tile(self.roots_, (X.shape[0], 1))
        while True:
            right = X[rows, self.columns_[at]] > self.thresholds_[at]
            below = self.children_[right.astype(int), at]
            if np.array_equal(below, at):
                return at
            at = below

    def check_sound(self) -> None:
        """Refuse what a file may say: trees in which ways do not end."""
        if np.any(self.children_ < np.arange(self.children_.shape[1])):
            raise ValueError("children_ must be nodes below their own")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
