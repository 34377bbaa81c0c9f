"""Stage 6, extend: from a sample to all rows, in one pass over blocks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from ekss.core.bases import Flats, squared_residuals
from ekss.core.ksubspaces import BLOCK_ENTRIES, assign
from ekss.core.updates import Moments, cluster_blocks, power_moments, power_step
from ekss.ensemble.prepare import Coordinates, Preparation
from ekss.ensemble.vote import Ensemble
from ekss.runtime.cost import RATES, Stage, Work
from ekss.runtime.rows import Rows, block_rows
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Points added to every pair of base cluster and cluster, so that a pair which the
    # sample happens not to have is unlikely but not impossible. From 0.001 to 0.1
    # nothing changes.
    smoothing: float = 0.01


_RULES = _Rules()


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
    Members without subspaces cannot be asked; a row then goes to the nearest subspace
    of a cluster.

    Attributes
    ----------
    preparation : Preparation
        How rows become points.
    directions : ndarray of shape (n_features, n_kept) or None
        Coordinates in which members work; None is the features.
    members : tuple of Flats
        Candidate subspaces of every member; empty where they have none.
    voters : CategoricalNB or None
        Clusters given base clusters, as in the sample.
    flats : Flats
        Subspaces of the clusters, fitted to the sample.
    """

    preparation: Preparation
    directions: NDArray[np.floating] | None
    members: tuple[Flats, ...]
    voters: CategoricalNB | None
    flats: Flats

    def __call__(self, block: NDArray[np.floating], first_row: int) -> BlockLabels:
        """Label a block of rows."""
        points = self.preparation(block)
        if self.voters is None:
            labels = squared_residuals(points, self.flats).argmin(axis=1)
        else:
            labels = _most_likely(self.voters, self.member_labels(points))
        own = _coordinates_in(points, labels, self.flats)
        return BlockLabels(labels, power_moments(points, labels, own, self.flats))

    def member_labels(self, points: NDArray[np.floating]) -> NDArray[np.int32]:
        """Return the label of every point in every member."""
        inside = points
        if self.directions is not None:
            inside = np.ascontiguousarray(points @ self.directions)
        return np.stack([assign(inside, flats).labels for flats in self.members], 1)


def _most_likely(
    voters: CategoricalNB, member_labels: NDArray[np.integer]
) -> NDArray[Any]:
    """Predict as naive Bayes does, in any thread.

    scikit-learn's own ``predict`` changes the warning filters of the whole process
    while it checks its input, which threads must not do.
    """
    likelihood = np.tile(voters.class_log_prior_, (len(member_labels), 1))
    for one, logarithms in zip(member_labels.T, voters.feature_log_prob_, strict=True):
        likelihood += logarithms.T[one]
    return voters.classes_[likelihood.argmax(axis=1)]


def learn_extension(
    preparation: Preparation,
    seen: Coordinates,
    ensemble: Ensemble,
    labels: NDArray[np.integer],
    flats: Flats,
) -> Extension:
    """Learn from the clusters of a sample how to label further rows."""
    if not ensemble.flats:
        return Extension(preparation, seen.directions, (), None, flats)
    categories = [len(member.bases) for member in ensemble.flats]
    voters = CategoricalNB(
        alpha=_RULES.smoothing, force_alpha=True, min_categories=np.array(categories)
    )
    smallest = labels.astype(np.min_scalar_type(int(labels.max())))
    voters.fit(ensemble.labels, smallest)
    return Extension(preparation, seen.directions, ensemble.flats, voters, flats)


def extend(
    extension: Extension,
    rows: Rows,
    sample: NDArray[np.int64],
    labels: NDArray[np.integer],
    workers: Workers,
) -> tuple[NDArray[np.int64], Flats]:
    """Label all rows in one pass; rows of the sample keep the labels they have.

    Returns the labels and the subspaces of the clusters after one power step over all
    rows.
    """
    n_samples = rows.shape[0]
    everyone = np.empty(n_samples, np.int64)
    moments: Moments | None = None
    first = 0
    with workers.stage("rows", n_samples) as advance:
        for block in rows.map(extension, n_jobs=workers.n_jobs):
            size = len(block.labels)
            everyone[first : first + size] = block.labels
            moments = block.moments if moments is None else moments + block.moments
            first += size
            advance(size)
    everyone[sample] = labels
    assert moments is not None  # a sample has rows
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


def cost(work: Work) -> Stage:
    """Label the rows that were not voted on, in one pass over all."""
    if work.voted == work.n_samples:
        return Stage(0.0, 0.0)
    each = work.members * (work.assignment + RATES.lookup * work.n_clusters)
    each += RATES.read * work.n_features
    n_rows = block_rows(work.n_features)
    block = n_rows * (5 * work.n_features * work.width + 12 * work.n_members)
    block += n_rows * 24 * work.n_clusters + BLOCK_ENTRIES * work.width
    graph = 24 * work.voted * work.n_neighbors
    held = work.after_members + graph + 24 * work.n_samples
    return Stage(
        1e-9 * work.n_samples * each / work.n_workers,
        held + 2 * work.n_workers * block,
    )
