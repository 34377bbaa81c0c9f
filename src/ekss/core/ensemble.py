"""Ensemble members: one short, random run of K-subspaces each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import Flats
from ekss.core.ksubspaces import KSubspacesRun, k_subspaces, squared_norms
from ekss.core.starts import STARTS
from ekss.core.updates import UPDATES, Update, assigned_gains

# A member that is fitted to some of the points ends with so many iterations on all.
_ITERATIONS_ON_ALL = 1


@dataclass(frozen=True)
class MemberOptions:
    """What all members of an ensemble have in common.

    Attributes
    ----------
    n_candidates : tuple of int
        Smallest and largest number of candidate subspaces; a member draws its own.
    subspace_dim : tuple of int
        Smallest and largest candidate dimension; a member draws its own.
    max_iter : int
        Iterations of K-subspaces; 0 is EKSS-0.
    update : str
        Name of the basis update, a key of :data:`ekss.core.updates.UPDATES`.
    affine : bool
        Whether candidate subspaces may miss the origin.
    init : str
        Where candidates begin, a key of :data:`ekss.core.starts.STARTS`.
    least_points : int
        A member draws fewer candidates where its dimension times this number exceeds
        the points a candidate would have on average; 0 never does.
    max_samples : int or None
        Points that a member draws and is fitted to, before it is assigned to all;
        None fits it to all.
    keep_flats : bool
        Whether members keep their subspaces, to assign further points to.
    weighted : bool
        Whether a member weighs as much as the energy its subspaces capture, or 1.
    """

    n_candidates: tuple[int, int]
    subspace_dim: tuple[int, int]
    max_iter: int
    update: str = "pca"
    affine: bool = False
    init: str = "random"
    least_points: int = 0
    max_samples: int | None = None
    keep_flats: bool = False
    weighted: bool = True


@dataclass(frozen=True)
class Member:
    """One base clustering.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        In the smallest unsigned type that holds the number of candidates.
    weight : float
        w(b) = 1 - cost / ||X||^2 of the paper's Eq. (5), in [0, 1].
    n_iter : int
        Iterations of K-subspaces until it converged or reached the limit.
    flats : Flats or None
        The subspaces to which the labels assign, where they are kept.
    """

    labels: NDArray[Any]
    weight: float
    n_iter: int
    flats: Flats | None = None


def run_member(
    X: NDArray[np.floating],
    seed: int,
    member: int,
    options: MemberOptions,
    norms: NDArray[np.floating] | None = None,
) -> Member:
    """Run member number ``member``: a pure function of the data, seed and number.

    Draws candidate bases, assigns, iterates K-subspaces (the paper's Alg. 1,
    lines 4 to 10), then fits each cluster once more to measure the quality of the
    clustering. A member that is fitted to some of the points is assigned to all, and
    measured by the subspaces it has.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), C-contiguous
    seed : int
        Seed of the whole ensemble.
    member : int
        Number of this member; no other member has an influence on it.
    options : MemberOptions
    norms : ndarray of shape (n_samples,), default=None
        Squared norms of the points, the same for all members; computed if None.

    Returns
    -------
    member : Member
    """
    if norms is None:
        norms = squared_norms(X)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(member,)))
    n_candidates = int(rng.integers(*options.n_candidates, endpoint=True))
    dim = int(rng.integers(*options.subspace_dim, endpoint=True))
    drawn = _draw_rows(len(X), options.max_samples, rng)
    fitted_to = X if drawn is None else X[drawn]
    if options.least_points:
        affordable = len(fitted_to) // (options.least_points * dim)
        n_candidates = max(
            min(n_candidates, affordable), min(options.n_candidates[0], 2)
        )
    start = STARTS[options.init](fitted_to, n_candidates, dim, options.affine, rng)
    update = UPDATES[options.update]
    n_all = min(options.max_iter, _ITERATIONS_ON_ALL)
    if drawn is None:
        run = k_subspaces(X, start, update, max_iter=options.max_iter, norms=norms)
        n_iter = len(run.costs) - 1
    else:
        early = k_subspaces(
            fitted_to,
            start,
            update,
            max_iter=options.max_iter - n_all,
            norms=norms[drawn],
        )
        run = k_subspaces(X, early.flats, update, max_iter=n_all, norms=norms)
        n_iter = len(early.costs) + len(run.costs) - 2
    return Member(
        run.labels.astype(np.min_scalar_type(n_candidates - 1)),
        _weight(X, run, update, norms) if options.weighted else 1.0,
        n_iter,
        run.flats if options.keep_flats else None,
    )


def _weight(
    X: NDArray[np.floating],
    run: KSubspacesRun,
    update: Update,
    norms: NDArray[np.floating],
) -> float:
    """Return the share of the energy that subspaces fitted to the clusters capture."""
    refitted = update(X, run.labels, run.assignment.own, run.flats)
    gains = assigned_gains(X, run.labels, refitted)
    total = float(norms.sum(dtype=np.float64))
    return min(max(gains / total, 0.0), 1.0) if total > 0 else 1.0


def _draw_rows(
    n_samples: int, max_samples: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Draw the rows that a member is fitted to; None is all of them."""
    if max_samples is None or max_samples >= n_samples:
        return None
    return np.sort(rng.choice(n_samples, max_samples, replace=False))
