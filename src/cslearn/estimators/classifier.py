"""A classifier: the joint model of the features and the class, asked for the class."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from cslearn._checked import checked
from cslearn._parameters import Row, Table, check, kind
from cslearn.cstree import CStree
from cslearn.data import as_frame, incomplete_codes
from cslearn.data._gaps import gaps_of
from cslearn.errors import InputError
from cslearn.estimators.estimator import CStreeLearner
from cslearn.estimators.learner import check_width, has_names
from cslearn.inference.prediction import target_probabilities

__all__ = ["CStreeClassifier"]


# What the parameters of the classifier may be.
CLASSIFIER: Table = {
    "learner": Row(kind("a CStreeLearner", CStreeLearner), None),
    "class_weight": Row(kind("a mapping of classes to weights", Mapping), "balanced", None),
    "averaged": Row(kind("True or False", bool, np.bool_)),
}


@checked
class CStreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learn a CStree of the features and the class together, and predict the class with it.

    A row with missing features is predicted by summing them out, and a feature in a state that was not there in
    training counts as missing, with a :class:`~cslearn.errors.DataWarning`.

    Parameters
    ----------
    learner : CStreeLearner, optional
        How the joint model is learned; by default ``CStreeLearner()``.
    class_weight : mapping of class to float, or "balanced", optional
        Positive weights that the probabilities of the classes are multiplied with, as if the rows of a class counted so
        many times; 1 for classes that a mapping leaves out. ``balanced`` makes all classes equally probable before
        anything is known. The model itself does not depend on them.
    averaged : bool
        Predict by the average over the posterior, orders and stagings included, instead of the learned model; see
        :meth:`cslearn.posterior.CStreePosterior.predict_proba`. Slower.

    Attributes
    ----------
    classes_ : ndarray
    learner_ : CStreeLearner
        The fitted learner of the joint model.
    cstree_ : CStree
        The joint model.
    n_iter_ : int
        Moves made by all chains together.
    target_ : str
        The name of the class in the model: that of `y` if it has one, otherwise ``"class"``.
    class_weight_ : ndarray, shape (classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the features; not there if the data had none.

    Examples
    --------
    >>> from cslearn import Chains, CStreeClassifier, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(2000, random_state=0)
    >>> X, y = data.drop(columns="carrier"), data["carrier"]
    >>> learner = CStreeLearner(search=Chains(n_iter=500), random_state=0)
    >>> classifier = CStreeClassifier(learner).fit(X[:1000], y[:1000])
    >>> classifier.predict([{"exposed": "yes", "diagnosis": "no"}, {"exposed": "no"}])
    array(['yes', 'no'], dtype=object)
    >>> round(classifier.score(X[1000:], y[1000:]), 2)
    0.91
    """

    def __init__(
        self,
        learner: CStreeLearner | None = None,
        *,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        averaged: bool = False,
    ) -> None:
        self.learner = learner
        self.class_weight = class_weight
        self.averaged = averaged

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CStreeClassifier:
        """Learn the joint model.

        Parameters
        ----------
        X : frame, array, path or whatever :func:`cslearn.data.as_table` reads
            One row for each observation, one column for each feature.
        y : array-like, shape (n,)
            The classes.
        sample_weight : array-like, optional
            Weight of each row.

        Returns
        -------
        CStreeClassifier
        """
        import pandas as pd

        check(CLASSIFIER, self.get_params(deep=False))
        if y is None:
            raise InputError("requires y to be passed, but the target y is None")
        name = getattr(y, "name", None)
        try:
            labels = column_or_1d(y, warn=True)
        except (TypeError, ValueError) as error:
            raise InputError(f"y is a sequence of classes, one for each row: {error}", parameter="y") from None
        if pd.isna(labels).any() or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
            raise InputError("Input y contains NaN, infinity or missing values: leave those rows out")
        check_classification_targets(labels)
        frame = as_frame(_as_array(X))
        if len(labels) != len(frame):
            raise InputError(f"X has {len(frame)} rows and y has {len(labels)}: inconsistent numbers of samples")
        if not len(labels):
            raise InputError("the data have no rows: give at least two, of different classes")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"the classifier needs at least two classes; y has 1 class, {self.classes_[0]!r}")
        self.target_ = _free_name(str(name) if name is not None else "class", list(frame.columns))
        features = list(frame.columns)
        frame[self.target_] = pd.Categorical.from_codes(codes, categories=pd.Index(self.classes_))
        learner = CStreeLearner() if self.learner is None else clone(self.learner)
        policy, own = gaps_of(learner.missing)
        complete = frame.drop(columns=list(own)).notna().all(axis=1).to_numpy() | (policy != "drop")
        self.class_weight_ = self._weights_of_classes(codes[complete], _at(sample_weight, complete))
        self.learner_ = learner.fit(frame, sample_weight=sample_weight)
        self.n_features_in_ = len(features)
        if has_names(X):
            self.feature_names_in_ = np.array(features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _weights_of_classes(self, codes: NDArray[np.intp], row_weights: Any) -> NDArray[np.float64]:
        """Return what the probability of each class is multiplied with; `codes` are those of the rows learned from."""
        weights = np.ones(len(self.classes_))
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str):
            totals = np.bincount(codes, row_weights, minlength=len(weights))
            if not (totals > 0).all():
                absent = self.classes_[int(np.argmin(totals))]
                raise InputError(f"no row that counts has the class {absent!r}, so the classes cannot be balanced")
            return totals.sum() / (len(totals) * totals)
        given = dict(self.class_weight)
        classes = self.classes_.tolist()
        unknown = [label for label in given if label not in classes]
        if unknown:
            raise InputError(f"class_weight names {unknown[0]!r}, which is none of the classes {classes}")
        for code, label in enumerate(classes):
            weight = given.get(label, 1.0)
            if not isinstance(weight, int | float | np.number) or not 0 < weight < inf:
                raise InputError(f"class_weight of {label!r} is {weight!r}; a weight is a positive number")
            weights[code] = weight
        return weights

    @property
    def n_iter_(self) -> int:
        """Moves made by all chains together."""
        return self.learner_.n_iter_

    @property
    def cstree_(self) -> CStree:
        """The joint model."""
        return self.learner_.cstree_

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, in the order of ``classes_``, for every row."""
        check_is_fitted(self)
        tree = self.cstree_
        X = _as_array(X)
        if isinstance(X, np.ndarray) and not has_names(X):
            if X.ndim != 2:
                raise InputError(f"Reshape your data: X has {X.ndim} dimensions and must have two, rows and columns")
            check_width(self, X)
        codes = incomplete_codes(X, tree.states, leave_out=[self.target_])
        target = tree.variables.index(self.target_)
        if self.averaged:
            probabilities = self.learner_.posterior_.target_probabilities(codes, target)
        else:
            probabilities = target_probabilities(tree, codes, target)
        probabilities *= self.class_weight_
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what data the classifier takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.learner is not None and self.learner.missing != "error"
        return tags


def _as_array(X: Any) -> Any:
    """Turn a list of rows into an array, as scikit-learn does."""
    return np.asarray(X) if isinstance(X, list) and X and not isinstance(X[0], Mapping) else X


def _at(sample_weight: Any, rows: NDArray[np.bool_]) -> Any:
    """Return the weights of some rows; None if there are none, or if they are not numbers, which fitting refuses."""
    try:
        weights = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError):
        return None
    return weights[rows] if weights.shape == rows.shape and (weights >= 0).all() else None


def _free_name(name: str, taken: list[str]) -> str:
    """Return a name for the class that no feature has."""
    while name in taken or not name.strip():
        name += "_"
    return name
