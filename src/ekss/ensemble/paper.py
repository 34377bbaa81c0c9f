"""Algorithm 1 of the paper, line by line.

J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using Ensembles of
K-Subspaces", Information and Inference, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ekss.core.ksubspaces import Update, assign, random_start, update_pca
from ekss.graph.spectral import SpectralResult, spectral_labels
from ekss.graph.votes import (
    bridge_by_votes,
    nearest_by_votes,
    prepare_votes,
    symmetric_graph,
)
from ekss.runtime.workers import Workers


@dataclass(frozen=True)
class PaperResult:
    """Clusters, and what led to them.

    Attributes
    ----------
    cut : SpectralResult
        The clusters, with the embedding and eigenvalues they come from.
    affinity : csr_array of shape (n_samples, n_samples)
        The thresholded co-association matrix.
    member_labels : ndarray of shape (n_samples, n_members)
        The base clusterings.
    """

    cut: SpectralResult
    affinity: csr_array
    member_labels: NDArray[Any]


def ensemble_k_subspaces(
    X: NDArray[np.floating],
    n_candidates: int,
    dim: int,
    n_clusters: int,
    q: int,
    n_members: int,
    n_iter: int,
    *,
    seed: int,
    workers: Workers,
    update: Update = update_pca,
    affine: bool = False,
) -> PaperResult:
    """Cluster points by Algorithm 1; comments refer to its line numbers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data.
    n_candidates, dim : int
        Number and dimension of the candidate subspaces.
    n_clusters : int
        Number K of output clusters.
    q : int
        Threshold parameter.
    n_members : int
        Number B of base clusterings.
    n_iter : int
        Number T of KSS iterations; 0 is EKSS-0 (Algorithm 2).
    seed : int
        Seed of the candidates.
    workers : Workers
        Runs the parallel work: `ekss.runtime.workers.Workers`.
    update : callable, default=update_pca
        How subspaces are estimated in line 7.
    affine : bool, default=False
        Whether candidate subspaces may miss the origin.

    Returns
    -------
    result : PaperResult
        The cut, the thresholded affinity and the base clusterings.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> X = make_union_of_subspaces(2, 2, 20, 30, random_state=0).data
    >>> from ekss.ensemble import ensemble_k_subspaces
    >>> from ekss.runtime.workers import Workers
    >>> found = ensemble_k_subspaces(X, 2, 2, 2, 5, 20, 3, seed=0, workers=Workers())
    >>> found.member_labels.shape
    (60, 20)
    """
    one = partial(_base_clustering, X, n_candidates, dim, n_iter, seed, update, affine)
    members = list(workers.map(one, n_members, "members"))  # 3: for b = 1, ..., B
    labels = np.stack(members, axis=1)
    votes = prepare_votes(labels)  # 12: A_ij = share of b with x_i, x_j together
    with workers.stage("votes"):
        nearest = nearest_by_votes(votes, q, n_jobs=workers.n_jobs)
    affinity = symmetric_graph(nearest, q)  # 13: top q entries per row and column
    with workers.stage("spectral cut"):
        cut = spectral_labels(  # 14: SpectralClustering(A, K)
            affinity,
            n_clusters,
            bridge=bridge_by_votes(votes, q),
            random_state=seed,
        )
    return PaperResult(cut, affinity, labels)


def _base_clustering(
    X: NDArray[np.floating],
    n_candidates: int,
    dim: int,
    n_iter: int,
    seed: int,
    update: Update,
    affine: bool,
    b: int,
) -> NDArray[Any]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(b,)))
    bases = random_start(X, n_candidates, dim, affine, rng)  # 4: draw random bases
    found = assign(X, bases)  # 5: cluster by projection
    for _ in range(n_iter):  # 6: for t = 1, ..., T
        bases = update(X, found.labels, found.own, bases)  # 7: PCA(c_k, d)
        found = assign(X, bases)  # 8: cluster by projection
    return found.labels.astype(np.min_scalar_type(n_candidates - 1))  # 10
