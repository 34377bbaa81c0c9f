"""From a sample to all rows: one pass over blocks, wherever the rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from ekss.core.bases import Flats
from ekss.core.ksubspaces import assign
from ekss.core.parallel import progress
from ekss.core.updates import Moments, cluster_blocks, power_moments, power_step
from ekss.estimators._base import Scaling
from ekss.estimators._coordinates import Coordinates
from ekss.estimators._members import Ensemble
from ekss.rows import Rows

# Points added to every pair of base cluster and cluster, so that a pair which the
# sample happens not to have is unlikely but not impossible.
_SMOOTHING = 0.01


@dataclass(frozen=True)
class BlockLabels:
    """What a block of rows gives back: its clusters, and sums over its points."""

    labels: NDArray[Any]
    moments: Moments


@dataclass(frozen=True)
class Extension:
    """How a clustering of a sample goes on to further rows.

    A row is assigned to the candidate subspaces of every member. Its base clusters
    are then so many categorical features, and the clusters of the sample have shown
    how often each goes with each cluster: naive Bayes gives the row its cluster.

    Attributes
    ----------
    scaling : Scaling
        How rows are made ready.
    directions : ndarray of shape (n_features, n_kept) or None
        Coordinates in which members work; None is the features.
    members : tuple of Flats
        Candidate subspaces of every member.
    voters : CategoricalNB
        Clusters given base clusters, as in the sample.
    flats : Flats
        Subspaces of the clusters, fitted to the sample.
    """

    scaling: Scaling
    directions: NDArray[np.floating] | None
    members: tuple[Flats, ...]
    voters: CategoricalNB
    flats: Flats

    def __call__(self, block: NDArray[np.floating], first_row: int) -> BlockLabels:
        """Label a block of rows."""
        points = self.scaling(block)
        labels = _most_likely(self.voters, self.base_labels(points))
        own = _coordinates_in(points, labels, self.flats)
        moments = power_moments(points, labels, own, self.flats)
        return BlockLabels(labels, moments)

    def base_labels(self, points: NDArray[np.floating]) -> NDArray[np.int32]:
        """Return the label of every point in every member."""
        inside = points
        if self.directions is not None:
            inside = np.ascontiguousarray(points @ self.directions)
        return np.stack([assign(inside, flats).labels for flats in self.members], 1)


def _most_likely(
    voters: CategoricalNB, base_labels: NDArray[np.integer]
) -> NDArray[Any]:
    """Predict as naive Bayes does, in any thread.

    scikit-learn's own ``predict`` changes the warning filters of the whole process
    while it checks its input, which threads must not do.
    """
    likelihood = np.tile(voters.class_log_prior_, (len(base_labels), 1))
    for member, logarithms in zip(base_labels.T, voters.feature_log_prob_, strict=True):
        likelihood += logarithms.T[member]
    return voters.classes_[likelihood.argmax(axis=1)]


def learn_extension(
    scaling: Scaling,
    kept: Coordinates,
    ensemble: Ensemble,
    labels: NDArray[np.integer],
    flats: Flats,
) -> Extension:
    """Learn from the clusters of a sample how to label further rows."""
    categories = [len(member.bases) for member in ensemble.flats]
    voters = CategoricalNB(
        alpha=_SMOOTHING, force_alpha=True, min_categories=np.array(categories)
    )
    smallest = labels.astype(np.min_scalar_type(int(labels.max())))
    voters.fit(ensemble.labels, smallest)
    return Extension(scaling, kept.directions, ensemble.flats, voters, flats)


def extend(
    extension: Extension,
    rows: Rows,
    sample: NDArray[np.int64],
    labels: NDArray[np.integer],
    *,
    n_jobs: int | None,
    show: bool,
) -> tuple[NDArray[np.int64], Flats]:
    """Label all rows in one pass; rows of the sample keep the labels they have.

    Returns the labels and the subspaces of the clusters after one power step over all
    rows.
    """
    n_samples = rows.shape[0]
    everyone = np.empty(n_samples, np.int64)
    moments: Moments | None = None
    first = 0
    with progress("rows", n_samples, show=show) as advance:
        for block in rows.map(extension, n_jobs=n_jobs):
            size = len(block.labels)
            everyone[first : first + size] = block.labels
            moments = block.moments if moments is None else moments + block.moments
            first += size
            advance(size)
    everyone[sample] = labels
    if moments is None:
        raise ValueError("there are no rows; give at least one")
    dtype = extension.flats.bases.dtype
    moved = power_step(moments, extension.flats)
    offsets = None if moved.offsets is None else moved.offsets.astype(dtype)
    return everyone, Flats(moved.bases.astype(dtype), offsets)


def _coordinates_in(
    points: NDArray[np.floating], labels: NDArray[np.integer], flats: Flats
) -> NDArray[np.floating]:
    """Return the coordinates of every point in the subspace of its cluster."""
    own = np.empty((len(points), flats.bases.shape[2]), points.dtype)
    for k, rows, some in cluster_blocks(points, labels, len(flats.bases)):
        own[rows] = some @ flats.bases[k]
    return own
