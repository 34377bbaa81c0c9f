"""Stage 7, extend: from a sample to all rows, in one pass over blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import CategoricalNB

from ekss.core.ksubspaces import BLOCK_ENTRIES, assign
from ekss.core.linalg import (
    Description,
    Flats,
    Spreads,
    group_rows,
    is_near,
    nearest_flats,
    own_distances,
    squared_residuals,
)
from ekss.ensemble.prepare import Coordinates, Preparation
from ekss.ensemble.vote import Ensemble
from ekss.runtime.memory import RATES, Stage, Work
from ekss.runtime.rows import Rows, block_rows
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class _Rules:
    """Constants of this stage."""

    # Pseudo-count added to every pair of base cluster and cluster, so that a pair that
    # happens not to occur in the sample is unlikely but not impossible. Values from
    # 0.001 to 0.1 give the same result.
    smoothing: float = 0.01


_RULES = _Rules()


@dataclass(frozen=True)
class BlockLabels:
    """Results for a block of rows: clusters, scores, and sums over its points."""

    labels: NDArray[Any]
    scores: NDArray[np.float64]
    moments: Moments


@dataclass(frozen=True)
class Extension:
    """How further rows get their clusters from those of a sample.

    Every member assigns a row to one of its candidate subspaces, its base cluster. The
    base clusters are categorical features, one per member; the sample shows how often
    each of them occurs with each cluster, and naive Bayes gives the row its cluster. If
    members keep no subspaces, a row goes to the cluster with the nearest subspace.

    Attributes
    ----------
    preparation : Preparation
        How rows are turned into points.
    seen : Coordinates
        The coordinates in which members see points.
    members : tuple of Flats
        Candidate subspaces of every member; empty if members have none.
    voters : CategoricalNB or None
        Naive Bayes from base clusters to clusters, fitted to the sample; None if
        members have no subspaces.
    flats : Flats
        Subspaces of the clusters, fitted to the sample.
    spreads : Spreads
        How far the points of the sample lie from these subspaces.
    """

    preparation: Preparation
    seen: Coordinates
    members: tuple[Flats, ...]
    voters: CategoricalNB | None
    flats: Flats
    spreads: Spreads

    def __call__(self, block: NDArray[np.floating], first_row: int) -> BlockLabels:
        """Label a block of rows."""
        outside = self.preparation.outwards(self.flats)
        points = self.preparation(self.preparation.filled(block, outside))
        if self.voters is None:
            labels = nearest_flats(squared_residuals(points, self.flats), self.flats)
        else:
            labels = most_likely(self.voters, self.member_labels(points))
        distances = own_distances(points, labels, self.flats)
        scores = self.spreads.scores(distances, labels)
        near = is_near(scores)
        moments = sum_moments(points[near], labels[near], self.flats)
        return BlockLabels(labels, scores, moments)

    def member_labels(self, points: NDArray[np.floating]) -> NDArray[np.int32]:
        """Return the label of every point in every member."""
        inside = self.seen.of(points)
        return np.stack([assign(inside, flats).labels for flats in self.members], 1)


def most_likely(
    voters: CategoricalNB, member_labels: NDArray[np.integer]
) -> NDArray[Any]:
    """Predict as naive Bayes does, safely in any thread.

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
    described: Description,
) -> Extension:
    """Learn from the clusters of a sample how to label further rows."""
    flats, spreads = described.flats, described.spreads
    seen = seen.take(np.arange(0))  # how points are seen, without the points
    if not ensemble.models:
        return Extension(preparation, seen, (), None, flats, spreads)
    categories = np.array([len(member.bases) for member in ensemble.models])
    voters = learn_voters(ensemble.labels, labels, categories)
    return Extension(preparation, seen, ensemble.models, voters, flats, spreads)


def learn_voters(
    member_labels: NDArray[np.integer],
    labels: NDArray[np.integer],
    n_labels: NDArray[np.integer],
) -> CategoricalNB:
    """Fit naive Bayes: learn how often labels of members occur with clusters."""
    voters = CategoricalNB(
        alpha=_RULES.smoothing, force_alpha=True, min_categories=n_labels
    )
    smallest = labels.astype(np.min_scalar_type(int(labels.max())))
    return voters.fit(member_labels, smallest)


def extend(
    extension: Extension,
    rows: Rows,
    sample: NDArray[np.int64],
    known: tuple[NDArray[np.integer], NDArray[np.float64]],
    workers: Workers,
) -> tuple[NDArray[np.int64], NDArray[np.float64], Flats]:
    """Label all rows in one pass; rows of the sample keep their labels and scores.

    Return labels, scores, and the subspaces of the clusters after one power step over
    all rows that are not outlying; ``known`` are the labels and scores of the sample.
    """
    n_samples = rows.shape[0]
    everyone, scores = np.empty(n_samples, np.int64), np.empty(n_samples)
    moments: Moments | None = None
    first = 0
    with workers.stage("rows", n_samples) as advance:
        for block in rows.map(extension, n_jobs=workers.n_jobs):
            size = len(block.labels)
            everyone[first : first + size] = block.labels
            scores[first : first + size] = block.scores
            moments = block.moments if moments is None else moments + block.moments
            first += size
            advance(size)
    everyone[sample], scores[sample] = known
    assert moments is not None  # a sample has rows
    dtype = extension.flats.bases.dtype
    moved = power_step(moments, extension.flats)
    offsets = None if moved.offsets is None else moved.offsets.astype(dtype)
    return everyone, scores, Flats(moved.bases.astype(dtype), offsets)


@dataclass(frozen=True)
class Moments:
    """Sums over the points of each cluster: all that a power step needs to know.

    The moments of blocks of rows add up to those of all rows.

    Attributes
    ----------
    products : ndarray of shape (n_subspaces, dim, n_features)
        Sum of coordinate times point, for each direction of the cluster's subspace.
    sums : ndarray of shape (n_subspaces, n_features)
        Sum of the points; zero for linear subspaces, which do not need it.
    sizes : ndarray of shape (n_subspaces,)
        Number of points.
    """

    products: NDArray[np.floating]
    sums: NDArray[np.floating]
    sizes: NDArray[np.int64]

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of points, in float64."""
        return Moments(
            np.add(self.products, other.products, dtype=np.float64),
            np.add(self.sums, other.sums, dtype=np.float64),
            self.sizes + other.sizes,
        )


def sum_moments(
    points: NDArray[np.floating], labels: NDArray[np.integer], flats: Flats
) -> Moments:
    """Sum points and their coordinates in the subspaces of their clusters."""
    n_subspaces, n_features, dim = flats.bases.shape
    products = np.zeros((n_subspaces, dim, n_features), points.dtype)
    sums = np.zeros((n_subspaces, n_features), points.dtype)
    for k, rows in enumerate(group_rows(labels, n_subspaces)):
        some = points[rows]
        products[k] = (some @ flats.bases[k]).T @ some
        if flats.offsets is not None:
            sums[k] = some.sum(axis=0)
    return Moments(products, sums, np.bincount(labels, minlength=n_subspaces))


def power_step(moments: Moments, flats: Flats) -> Flats:
    """Move each subspace by one step of orthogonal iteration."""
    products = moments.products.transpose(0, 2, 1)
    if flats.offsets is None:
        return Flats(_orthonormal(products, flats.bases))
    sums, dtype = moments.sums, moments.sums.dtype
    means = sums / np.maximum(moments.sizes, 1)[:, None].astype(dtype)
    along = np.einsum("kd,kdj->kj", sums, flats.bases)
    products = products - means[:, :, None] * along[:, None, :]
    bases = _orthonormal(products, flats.bases)
    inside = np.einsum("kdj,kd->kj", bases, means)
    offsets = means - np.einsum("kdj,kj->kd", bases, inside)
    kept = np.where(moments.sizes[:, None] > 0, offsets, flats.offsets)
    return Flats(bases, kept)


def _orthonormal(
    moments: NDArray[np.floating], previous: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Orthonormalise each set of columns; if all are zero, keep the previous ones.

    Zero columns, which belong to subspaces of smaller dimension, stay zero.
    """
    bases = np.linalg.qr(moments)[0] * previous.any(axis=1, keepdims=True)
    untouched = ~moments.any(axis=(1, 2))
    bases[untouched] = previous[untouched]
    return bases


def extend_cost(work: Work) -> Stage:
    """Estimate the cost of labelling the rows not voted on, in one pass over all."""
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
