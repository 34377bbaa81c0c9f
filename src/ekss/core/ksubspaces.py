"""K-subspaces: the one assign/update loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats, fit_flat
from ekss.core.updates import Update

# Rows of products kept at once: they stay in cache and bound the memory for large N.
BLOCK_ENTRIES = 2**20


@dataclass(frozen=True)
class Assignment:
    """Nearest subspace of every point.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
    gains : ndarray of shape (n_samples,)
        What the nearest subspace takes off the squared norm of the point.
    own : ndarray of shape (n_samples, dim)
        Coordinates of the point in its nearest subspace.
    """

    labels: NDArray[np.int32]
    gains: NDArray[np.floating]
    own: NDArray[np.floating]


@dataclass(frozen=True)
class KSubspacesRun:
    """Result of one run of K-subspaces.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
    flats : Flats
        The subspaces to which the labels assign.
    costs : ndarray of shape (n_iter + 1,)
        Sum of squared residuals after each assignment; it never rises with the updates
        "pca" and "power".
    converged : bool
        Whether the last iteration changed neither labels nor cost.
    assignment : Assignment
        The last assignment, with the coordinates of the points.
    """

    labels: NDArray[np.int32]
    flats: Flats
    costs: NDArray[np.float64]
    converged: bool
    assignment: Assignment


def k_subspaces(
    X: NDArray[np.floating],
    start: Flats,
    update: Update,
    *,
    max_iter: int,
    tol: float = 0.0,
    norms: NDArray[np.floating] | None = None,
) -> KSubspacesRun:
    r"""Alternate between assigning points to subspaces and fitting subspaces.

    Minimises :math:`\sum_k \sum_{i \in c_k} \|x_i - U_k U_k^T x_i\|^2` from the given
    start. An empty cluster is started anew from the worst-fitting points, which cannot
    raise the cost.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), C-contiguous
    start : Flats
        Initial subspaces, of the type of X.
    update : callable
        One of :data:`ekss.core.updates.UPDATES`.
    max_iter : int
        Updates at most; 0 assigns to the start and stops.
    tol : float, default=0.0
        Stop when the labels stay the same and the cost falls by at most ``tol`` times
        the squared norm of X.
    norms : ndarray of shape (n_samples,), default=None
        Squared norms of the points, for callers that run many times on the same X;
        computed if None.

    Returns
    -------
    run : KSubspacesRun
    """
    if norms is None:
        norms = squared_norms(X)
    total = float(norms.sum(dtype=np.float64))
    flats, current = start, assign(X, start)
    costs = [cost_of(current, total)]
    converged = False
    for _ in range(max_iter):
        flats = update(X, current.labels, current.own, flats)
        flats = _restart_empty(X, norms, current, flats)
        before, current = current, assign(X, flats)
        costs.append(cost_of(current, total))
        if costs[-2] - costs[-1] <= tol * total and np.array_equal(
            before.labels, current.labels
        ):
            converged = True
            break
    return KSubspacesRun(current.labels, flats, np.array(costs), converged, current)


def assign(X: NDArray[np.floating], flats: Flats) -> Assignment:
    """Assign every point to its nearest subspace with one matrix product.

    All bases stand side by side, so ``X @ [U_1 ... U_K]`` gives every projection at
    once; for affine subspaces the offset is one more column.
    """
    from ekss.core._projection import best_projection  # loads numba on first use

    _, n_features, dim = flats.bases.shape
    columns, penalty = flats.bases, np.empty(0, X.dtype)
    if flats.offsets is not None:
        columns = np.concatenate([columns, flats.offsets[:, :, None]], axis=2)
        penalty = np.einsum("kd,kd->k", flats.offsets, flats.offsets)
    stacked = columns.transpose(1, 0, 2).reshape(n_features, -1)
    n = len(X)
    labels = np.empty(n, np.int32)
    gains = np.empty(n, X.dtype)
    own = np.empty((n, dim), X.dtype)
    block = min(n, max(1, BLOCK_ENTRIES // stacked.shape[1]))
    buffer = np.empty((block, stacked.shape[1]), X.dtype)
    for first in range(0, n, block):
        rows = slice(first, min(n, first + block))
        products = np.matmul(X[rows], stacked, out=buffer[: rows.stop - first])
        best_projection(products, dim, penalty, labels[rows], gains[rows], own[rows])
    return Assignment(labels, gains, own)


def squared_norms(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the squared norm of every point."""
    return np.einsum("ij,ij->i", X, X)


def cost_of(assignment: Assignment, total: float) -> float:
    """Sum of squared residuals: total energy less what the subspaces capture."""
    return max(total - float(assignment.gains.sum(dtype=np.float64)), 0.0)


def _restart_empty(
    X: NDArray[np.floating],
    norms: NDArray[np.floating],
    assignment: Assignment,
    flats: Flats,
) -> Flats:
    """Span each empty cluster by the points that fit worst, the worst of all first."""
    n_subspaces, _, dim = flats.bases.shape
    sizes = np.bincount(assignment.labels, minlength=n_subspaces)
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == 0:
        return flats
    affine = flats.offsets is not None
    worst = np.argsort(assignment.gains - norms, kind="stable")
    bases = flats.bases.copy()
    offsets = None if flats.offsets is None else flats.offsets.copy()
    for turn, k in enumerate(empty):
        seeds = worst[turn * (dim + affine) : (turn + 1) * (dim + affine)]
        bases[k], offset = fit_flat(X[seeds], dim, affine=affine, spare=bases[k])
        if offsets is not None and len(seeds):
            offsets[k] = offset
    return Flats(bases, offsets)
