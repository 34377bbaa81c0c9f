"""K-subspaces: starts, assignment, updates, the loop, and members of ensembles.

Several runs can go side by side: their candidate subspaces are columns of one matrix
product, which is how small members are fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from ekss.core.cop import update_cop
from ekss.core.linalg import Flats, fit_flat, fit_flats, random_bases

# Products kept at once: they stay in the cache of a core until they have been used. But
# of at least so many points, or the product is slow.
BLOCK_ENTRIES = 2**18
_FEWEST_ROWS = 128
# Members run side by side until their products have so many entries: beyond, nothing
# is gained. Eight at most, so that there is work for all workers.
_ENTRIES_AT_ONCE = 2**20
_MOST_AT_ONCE = 8
# A member that is fitted to some of the points ends with so many iterations on all.
_ITERATIONS_ON_ALL = 1

# Kernels are loops without calls, slices or temporary arrays: these compile fast.
_compiled = numba.njit(
    nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"}
)

Update = Callable[
    [NDArray[np.floating], NDArray[np.int32], NDArray[np.floating], Flats], Flats
]


# --- Candidate subspaces of several runs, side by side --------------------------------


@dataclass(frozen=True)
class Candidates:
    """Candidate subspaces of one or more runs, side by side.

    Attributes
    ----------
    directions : ndarray of shape (n_directions, n_features)
        Orthonormal directions, candidate after candidate.
    offsets : ndarray of shape (n_candidates, n_features)
        For affine subspaces the point of each that is nearest to the origin; no rows
        for linear ones.
    first_direction : ndarray of shape (n_candidates + 1,)
        Where the directions of each candidate begin; the last entry is their number.
    first_candidate : ndarray of shape (n_runs + 1,)
        Where the candidates of each run begin; the last entry is their number.
    """

    directions: NDArray[np.floating]
    offsets: NDArray[np.floating]
    first_direction: NDArray[np.int64]
    first_candidate: NDArray[np.int64]

    @classmethod
    def of(cls, runs: Sequence[Flats]) -> Candidates:
        """Put the subspaces of runs side by side: all linear, or all affine."""
        n_features = runs[0].bases.shape[1]
        directions = [
            flats.bases.transpose(0, 2, 1).reshape(-1, n_features) for flats in runs
        ]
        offsets = [flats.offsets for flats in runs if flats.offsets is not None]
        counts = [len(flats.bases) for flats in runs]
        dims = np.repeat([flats.bases.shape[2] for flats in runs], counts)
        return cls(
            np.ascontiguousarray(np.concatenate(directions)),
            np.concatenate(offsets)
            if offsets
            else np.empty((0, n_features), directions[0].dtype),
            np.concatenate([[0], np.cumsum(dims)]).astype(np.int64),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        )

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.first_candidate) - 1

    @property
    def largest_dim(self) -> int:
        """Largest dimension of a candidate."""
        return int(np.diff(self.first_direction).max())

    def flats(self, run: int) -> Flats:
        """Return the subspaces of one run."""
        first, last = self.first_candidate[run : run + 2]
        start, end = self.first_direction[first], self.first_direction[last]
        bases = self.directions[start:end].reshape(last - first, -1, self._n_features)
        offsets = self.offsets[first:last] if len(self.offsets) else None
        return Flats(np.ascontiguousarray(bases.transpose(0, 2, 1)), offsets)

    @property
    def _n_features(self) -> int:
        return self.directions.shape[1]


@dataclass(frozen=True)
class Assignment:
    """Nearest subspace of every point; with several runs, run after run.

    Attributes
    ----------
    labels : ndarray of shape ([n_runs,] n_samples), int32
    gains : ndarray of shape ([n_runs,] n_samples)
        What the nearest subspace takes off the squared norm of the point.
    own : ndarray of shape ([n_runs,] n_samples, dim)
        Coordinates of the point in its nearest subspace. Of several runs, those of
        smaller dimension leave the last ones undefined.
    """

    labels: NDArray[np.int32]
    gains: NDArray[np.floating]
    own: NDArray[np.floating]

    def of_run(self, run: int, dim: int) -> Assignment:
        """Return the assignment of one of several runs."""
        return Assignment(self.labels[run], self.gains[run], self.own[run, :, :dim])


def assign(X: NDArray[np.floating], flats: Flats) -> Assignment:
    """Assign every point to its nearest subspace with one matrix product.

    All bases stand side by side, so ``X @ [U_1 ... U_K]`` gives every projection at
    once; for affine subspaces the offsets are further columns.
    """
    return assign_all(X, Candidates.of([flats])).of_run(0, flats.bases.shape[2])


def assign_all(X: NDArray[np.floating], candidates: Candidates) -> Assignment:
    """Assign every point to its nearest subspace in each of several runs."""
    directions, offsets = candidates.directions, candidates.offsets
    n, n_runs = len(X), candidates.n_runs
    labels = np.empty((n_runs, n), np.int32)
    gains = np.empty((n_runs, n), X.dtype)
    own = np.empty((n_runs, n, candidates.largest_dim), X.dtype)
    penalty = np.einsum("kd,kd->k", offsets, offsets)
    block = min(n, max(_FEWEST_ROWS, BLOCK_ENTRIES // len(directions)))
    products = np.empty((len(directions), block), X.dtype)
    along = np.empty((len(offsets), block), X.dtype)
    gain = np.empty(block, X.dtype)
    for first in range(0, n, block):
        rows = X[first : first + block]
        if len(rows) < block:  # the last block; contiguous, as kernels are compiled
            products = np.empty((len(directions), len(rows)), X.dtype)
            along = np.empty((len(offsets), len(rows)), X.dtype)
        np.matmul(directions, rows.T, out=products)
        if len(offsets):
            np.matmul(offsets, rows.T, out=along)
        _keep_best(
            products,
            along,
            penalty,
            candidates.first_direction,
            candidates.first_candidate,
            first,
            gain,
            labels,
            gains,
            own,
        )
    return Assignment(labels, gains, own)


@_compiled
def _keep_best(
    products: NDArray[np.floating],
    along: NDArray[np.floating],
    penalty: NDArray[np.floating],
    first_direction: NDArray[np.int64],
    first_candidate: NDArray[np.int64],
    first_row: int,
    gain: NDArray[np.floating],
    labels: NDArray[np.int32],
    gains: NDArray[np.floating],
    own: NDArray[np.floating],
) -> None:
    """Find the candidate of largest gain for each point and run; the first of equals.

    ``products`` are those of directions with points, ``along`` those of offsets;
    ``gain`` is memory for one gain per point.
    """
    n = products.shape[1]
    affine = penalty.shape[0] > 0
    for run in range(labels.shape[0]):
        base = first_candidate[run]
        for i in range(first_row, first_row + n):
            gains[run, i] = -np.inf
            labels[run, i] = 0
        for k in range(base, first_candidate[run + 1]):
            for i in range(n):
                gain[i] = 2 * along[k, i] - penalty[k] if affine else 0
            for j in range(first_direction[k], first_direction[k + 1]):
                for i in range(n):
                    gain[i] += products[j, i] * products[j, i]
            number = np.int32(k - base)
            for i in range(n):
                most, best = gains[run, first_row + i], labels[run, first_row + i]
                better = gain[i] > most
                gains[run, first_row + i] = gain[i] if better else most
                labels[run, first_row + i] = number if better else best
        for i in range(n):
            best = base + labels[run, first_row + i]
            start = first_direction[best]
            for j in range(first_direction[best + 1] - start):
                own[run, first_row + i, j] = products[start + j, i]


# --- Starts ---------------------------------------------------------------------------


def random_start(
    X: NDArray[np.floating],
    n_subspaces: int,
    dim: int,
    affine: bool,
    rng: np.random.Generator,
) -> Flats:
    """Draw uniform bases; affine subspaces pass through randomly chosen points."""
    # Orthonormalised Gaussian vectors are uniform; the draw is the same for any type.
    drawn = rng.standard_normal((n_subspaces, X.shape[1], dim)).transpose(0, 2, 1)
    drawn = drawn.reshape(n_subspaces * dim, -1).astype(X.dtype, order="C")
    first = np.arange(0, n_subspaces * dim + 1, dim)
    directions = np.zeros_like(drawn)
    _orthonormalise(
        drawn, first, np.ones(n_subspaces, np.int64), _least(X.dtype), directions
    )
    bases = directions.reshape(n_subspaces, dim, -1).transpose(0, 2, 1)
    if not affine:
        return Flats(bases)
    points = X[rng.integers(len(X), size=n_subspaces)]
    inside = np.einsum("kdj,kd->kj", bases, points)
    return Flats(bases, points - np.einsum("kdj,kj->kd", bases, inside))


def neighbourhood_start(
    X: NDArray[np.floating],
    n_subspaces: int,
    dim: int,
    affine: bool,
    rng: np.random.Generator,
    size: int | None = None,
) -> Flats:
    """Span each subspace by the neighbourhood of a randomly chosen point.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_subspaces, dim : int
    affine : bool
        Affine subspaces take the points of smallest distance, linear ones those of
        largest absolute inner product.
    rng : numpy.random.Generator
    size : int, default=None
        Points of a neighbourhood; None draws one size for all, from twice to five
        times the number of points that determine a subspace.

    Returns
    -------
    start : Flats
        What the neighbours leave free is filled at random.
    """
    spare = random_bases(n_subspaces, X.shape[1], dim, rng, X.dtype)
    seeds = rng.choice(len(X), n_subspaces, replace=len(X) < n_subspaces)
    if size is None:
        determined = dim + affine
        size = int(rng.integers(2 * determined, 5 * determined, endpoint=True))
    fitted = [
        fit_flat(
            X[nearest_points(X, seed, size, affine)],
            dim,
            affine=affine,
            spare=spare[k],
        )
        for k, seed in enumerate(seeds)
    ]
    bases = np.stack([basis for basis, _ in fitted])
    return Flats(bases, np.stack([offset for _, offset in fitted]) if affine else None)


def nearest_points(
    X: NDArray[np.floating], seed: int, size: int, affine: bool
) -> NDArray[np.integer]:
    """Return the rows nearest to row ``seed``, nearest first.

    By distance if affine, else by absolute inner product: for rows of unit length that
    is the angle.
    """
    if affine:
        apart = X - X[seed]
        remoteness = np.einsum("ij,ij->i", apart, apart)
    else:
        remoteness = -np.abs(X @ X[seed])
    return np.argsort(remoteness, kind="stable")[:size]


STARTS = {"random": random_start, "neighbors": neighbourhood_start}


# --- Updates --------------------------------------------------------------------------


def update_pca(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    flats: Flats,
) -> Flats:
    """Exact PCA of each cluster; directions the points leave free stay as they were."""
    n_subspaces, _, dim = flats.bases.shape
    affine = flats.offsets is not None
    fitted = fit_flats(X, labels, n_subspaces, dim, affine=affine, spare=flats.bases)
    if fitted.offsets is None or flats.offsets is None:
        return fitted
    sizes = np.bincount(labels, minlength=n_subspaces)
    kept = np.where(sizes[:, None] > 0, fitted.offsets, flats.offsets)
    return Flats(fitted.bases, kept)


def update_power(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    flats: Flats,
) -> Flats:
    r"""One warm step of orthogonal iteration: :math:`U_k \leftarrow orth(X_k^T P_k)`.

    It reuses the coordinates :math:`P_k = X_k U_k` that the assignment has just made
    and never lowers the energy that a subspace captures, so the cost of K-subspaces
    still never rises. An empty cluster keeps its subspace.
    """
    moved = power_step(X, labels[None], own[None], Candidates.of([flats]))
    return moved.flats(0)


UPDATES: dict[str, Update] = {
    "pca": update_pca,
    "power": update_power,
    "cop": update_cop,
}


def _least(dtype: Any) -> float:
    """Return the squared share of a direction below which it is a rounding error."""
    return float((100 * np.finfo(dtype).eps) ** 2)


def power_step(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    candidates: Candidates,
) -> Candidates:
    """Move the candidates of all runs by one step of orthogonal iteration."""
    directions, offsets = candidates.directions.copy(), candidates.offsets.copy()
    first_direction = candidates.first_direction
    first_candidate = candidates.first_candidate
    moments = np.zeros_like(directions)
    order, sizes = np.empty(len(X), np.int64), np.zeros(len(first_direction), np.int64)
    _sum_moments(
        X, labels, own, first_direction, first_candidate, order, sizes, moments
    )
    if len(offsets):
        means = np.zeros_like(offsets)
        _sum_points(X, labels, first_candidate, means)
        means /= np.maximum(sizes[:-1], 1)[:, None].astype(X.dtype)
        _centre(means, sizes, first_direction, directions, moments)
    _orthonormalise(moments, first_direction, sizes, _least(X.dtype), directions)
    if len(offsets):
        offsets[sizes[:-1] > 0] = means[sizes[:-1] > 0]
        _next_to_origin(first_direction, sizes, directions, offsets)
    return Candidates(directions, offsets, first_direction, first_candidate)


@_compiled
def _sum_moments(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    first_direction: NDArray[np.int64],
    first_candidate: NDArray[np.int64],
    order: NDArray[np.int64],
    sizes: NDArray[np.int64],
    moments: NDArray[np.floating],
) -> None:
    """Add coordinate times point to the moments of a point's candidate, in each run.

    ``sizes`` (one more than there are candidates) and ``moments`` begin as zeros;
    ``order`` is memory for the points of a run, cluster after cluster.
    """
    zero = X[0, 0] * 0
    for run in range(labels.shape[0]):
        base = first_candidate[run]
        for i in range(labels.shape[1]):
            sizes[base + labels[run, i]] += 1
        end = 0
        for k in range(base, first_candidate[run + 1]):
            end += sizes[k]
            sizes[k] = end - sizes[k]
        for i in range(labels.shape[1]):
            k = base + labels[run, i]
            order[sizes[k]] = i
            sizes[k] += 1
        begin = 0
        for k in range(base, first_candidate[run + 1]):
            end = sizes[k]
            # Four points at once: a sum is read and written once for all of them.
            for place in range(begin, end, 4):
                left = end - place
                i0 = order[place]
                i1 = order[place + 1] if left > 1 else i0
                i2 = order[place + 2] if left > 2 else i0
                i3 = order[place + 3] if left > 3 else i0
                start = first_direction[k]
                for j in range(first_direction[k + 1] - start):
                    c0 = own[run, i0, j]
                    c1 = own[run, i1, j] if left > 1 else zero
                    c2 = own[run, i2, j] if left > 2 else zero
                    c3 = own[run, i3, j] if left > 3 else zero
                    for f in range(X.shape[1]):
                        moments[start + j, f] += (
                            c0 * X[i0, f]
                            + c1 * X[i1, f]
                            + c2 * X[i2, f]
                            + c3 * X[i3, f]
                        )
            sizes[k] = end - begin
            begin = end


@_compiled
def _orthonormalise(  # noqa: C901
    rows: NDArray[np.floating],
    first: NDArray[np.int64],
    sizes: NDArray[np.int64],
    least: float,
    directions: NDArray[np.floating],
) -> None:
    """Replace directions by orthonormalised rows, candidate after candidate.

    By Gram-Schmidt, twice. Rows that depend on those before them, up to a share
    ``least`` of their squared length, give way to the directions that were there
    before, so what the rows do not determine stays as it was. Candidates of size 0 are
    left alone. The rows are overwritten.
    """
    n_features = rows.shape[1]
    for k in range(first.shape[0] - 1):
        if sizes[k] == 0:
            continue
        spare = first[k]
        for j in range(first[k], first[k + 1]):
            while True:
                before = rows[0, 0] * 0
                for f in range(n_features):
                    before += rows[j, f] * rows[j, f]
                for _ in range(2):
                    # Two at once: the row is read and written once for both.
                    for i in range(first[k], j, 2):
                        other = i + 1 if i + 1 < j else i
                        along = rows[0, 0] * 0
                        along_other = rows[0, 0] * 0
                        for f in range(n_features):
                            along += rows[i, f] * rows[j, f]
                            along_other += rows[other, f] * rows[j, f]
                        if other == i:
                            along_other = rows[0, 0] * 0
                        for f in range(n_features):
                            rows[j, f] -= (
                                along * rows[i, f] + along_other * rows[other, f]
                            )
                after = rows[0, 0] * 0
                for f in range(n_features):
                    after += rows[j, f] * rows[j, f]
                if after > least * before:
                    break
                # A direction from before; if all of these depend too, a unit vector.
                for f in range(n_features):
                    if spare < first[k + 1]:
                        rows[j, f] = directions[spare, f]
                    else:
                        rows[j, f] = 1 if f == spare - first[k + 1] else 0
                spare += 1
            scale = 1 / sqrt(after)
            for f in range(n_features):
                rows[j, f] *= scale
        for j in range(first[k], first[k + 1]):
            for f in range(n_features):
                directions[j, f] = rows[j, f]


@_compiled
def _sum_points(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    first_candidate: NDArray[np.int64],
    sums: NDArray[np.floating],
) -> None:
    """Add every point to the sum of its candidate, in each run."""
    for run in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            k = first_candidate[run] + labels[run, i]
            for f in range(X.shape[1]):
                sums[k, f] += X[i, f]


@_compiled
def _centre(
    means: NDArray[np.floating],
    sizes: NDArray[np.int64],
    first: NDArray[np.int64],
    directions: NDArray[np.floating],
    moments: NDArray[np.floating],
) -> None:
    """Make moments those of points less the mean of their candidate."""
    for k in range(first.shape[0] - 1):
        for j in range(first[k], first[k + 1]):
            along = means[0, 0] * 0
            for f in range(means.shape[1]):
                along += means[k, f] * directions[j, f]
            for f in range(means.shape[1]):
                moments[j, f] -= sizes[k] * along * means[k, f]


@_compiled
def _next_to_origin(
    first: NDArray[np.int64],
    sizes: NDArray[np.int64],
    directions: NDArray[np.floating],
    offsets: NDArray[np.floating],
) -> None:
    """Move offsets to the point of their subspace next to the origin.

    Those of candidates of size 0 stay where they are.
    """
    for k in range(offsets.shape[0]):
        if sizes[k] == 0:
            continue
        for j in range(first[k], first[k + 1]):
            inside = offsets[0, 0] * 0
            for f in range(offsets.shape[1]):
                inside += directions[j, f] * offsets[k, f]
            for f in range(offsets.shape[1]):
                offsets[k, f] -= inside * directions[j, f]


@_compiled
def _captured(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    first_direction: NDArray[np.int64],
    first_candidate: NDArray[np.int64],
    directions: NDArray[np.floating],
    offsets: NDArray[np.floating],
    captured: NDArray[np.float64],
) -> None:
    """Sum over points what their assigned subspace takes off the squared norm."""
    n_runs, n = labels.shape
    n_features = X.shape[1]
    affine = offsets.shape[0] > 0
    for run in range(n_runs):
        total = 0.0
        for i in range(n):
            k = first_candidate[run] + labels[run, i]
            for j in range(first_direction[k], first_direction[k + 1]):
                inside = X[0, 0] * 0
                for f in range(n_features):
                    inside += X[i, f] * directions[j, f]
                total += inside * inside
            if affine:
                for f in range(n_features):
                    total += (2 * X[i, f] - offsets[k, f]) * offsets[k, f]
        captured[run] = total


def captured_energy(
    X: NDArray[np.floating], labels: NDArray[np.int32], candidates: Candidates
) -> NDArray[np.float64]:
    """Return, per run, what assigned subspaces take off the squared norms of points."""
    captured = np.empty(candidates.n_runs)
    _captured(
        X,
        labels,
        candidates.first_direction,
        candidates.first_candidate,
        candidates.directions,
        candidates.offsets,
        captured,
    )
    return captured


# --- The loop -------------------------------------------------------------------------


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
        One of :data:`ekss.core.ksubspaces.UPDATES`.
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
    norms = squared_norms(X) if norms is None else norms
    return k_subspaces_runs(
        X, [start], update, max_iter=max_iter, tol=tol, norms=norms
    )[0]


def k_subspaces_runs(
    X: NDArray[np.floating],
    starts: Sequence[Flats],
    update: Update,
    *,
    max_iter: int,
    norms: NDArray[np.floating],
    tol: float = 0.0,
) -> list[KSubspacesRun]:
    """Run K-subspaces from several starts, side by side; see :func:`k_subspaces`."""
    total = float(norms.sum(dtype=np.float64))
    finished: dict[int, KSubspacesRun] = {}
    going = list(range(len(starts)))
    candidates = Candidates.of(starts)
    current = assign_all(X, candidates)
    costs = [[cost] for cost in _costs(current, total)]

    def finish(place: int, number: int, converged: bool) -> None:
        flats = candidates.flats(place)
        own = current.of_run(place, flats.bases.shape[2])
        finished[number] = KSubspacesRun(
            own.labels, flats, np.array(costs[number]), converged, own
        )

    for _ in range(max_iter):
        candidates = _refitted(X, update, current, candidates)
        _restart_empty(X, norms, current, candidates)
        before, current = current, assign_all(X, candidates)
        for number, cost in zip(going, _costs(current, total), strict=True):
            costs[number].append(cost)
        at_rest = [
            costs[number][-2] - costs[number][-1] <= tol * total
            and np.array_equal(before.labels[place], current.labels[place])
            for place, number in enumerate(going)
        ]
        if any(at_rest):
            for place, number in enumerate(going):
                if at_rest[place]:
                    finish(place, number, converged=True)
            left = [place for place, rests in enumerate(at_rest) if not rests]
            going = [going[place] for place in left]
            if not going:
                break
            candidates = Candidates.of([candidates.flats(place) for place in left])
            current = Assignment(
                current.labels[left], current.gains[left], current.own[left]
            )
    for place, number in enumerate(going):
        finish(place, number, converged=False)
    return [finished[number] for number in range(len(starts))]


def _refitted(
    X: NDArray[np.floating],
    update: Update,
    current: Assignment,
    candidates: Candidates,
) -> Candidates:
    """Fit the subspaces of all runs to their clusters."""
    if update is update_power:
        return power_step(X, current.labels, current.own, candidates)
    flats = [candidates.flats(run) for run in range(candidates.n_runs)]
    return Candidates.of(
        [
            update(X, current.labels[run], current.own[run], one)
            for run, one in enumerate(flats)
        ]
    )


def _restart_empty(
    X: NDArray[np.floating],
    norms: NDArray[np.floating],
    current: Assignment,
    candidates: Candidates,
) -> None:
    """Span each empty cluster by the points that fit worst, the worst of all first."""
    first, offsets = candidates.first_direction, candidates.offsets
    anew = np.zeros(len(first) - 1, np.int64)
    rows = np.zeros_like(candidates.directions)
    for run, labels in enumerate(current.labels):
        base, end = candidates.first_candidate[run : run + 2]
        empty = base + np.flatnonzero(np.bincount(labels, minlength=end - base) == 0)
        if not len(empty):
            continue
        dim = int(first[base + 1] - first[base])
        size = dim + (len(offsets) > 0)
        worst = np.argsort(current.gains[run] - norms, kind="stable")
        # Where points run out, the last empty clusters stay as they are.
        for k, start in zip(empty, range(0, len(X), size), strict=False):
            points = X[worst[start : start + size]]
            if len(offsets):
                offsets[k] = points.mean(axis=0, dtype=np.float64)
                points = points - offsets[k]
            rows[first[k] : first[k] + len(points[:dim])] = points[:dim]
            anew[k] = 1
    if anew.any():
        _orthonormalise(rows, first, anew, _least(X.dtype), candidates.directions)
        if len(offsets):
            _next_to_origin(first, anew, candidates.directions, offsets)


def _costs(assignment: Assignment, total: float) -> list[float]:
    """Sum squared residuals per run: total energy less what the subspaces capture."""
    captured = assignment.gains.sum(axis=1, dtype=np.float64)
    return np.maximum(total - captured, 0.0).tolist()


def squared_norms(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the squared norm of every point."""
    return np.einsum("ij,ij->i", X, X)


# --- Members of ensembles -------------------------------------------------------------


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
        Name of the basis update, a key of :data:`ekss.core.ksubspaces.UPDATES`.
    affine : bool
        Whether candidate subspaces may miss the origin.
    init : str
        Where candidates begin, a key of :data:`ekss.core.ksubspaces.STARTS`.
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

    def at_once(self, n_samples: int) -> int:
        """Return how many members run side by side on so many points."""
        if self.update != "power" or self.max_samples is not None:
            return 1
        columns = self.n_candidates[1] * self.subspace_dim[1]
        return min(max(_ENTRIES_AT_ONCE // (n_samples * columns), 1), _MOST_AT_ONCE)


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
    """Run member number ``member``; see :func:`run_side_by_side`."""
    return run_side_by_side(X, seed, [member], options, norms)[0]


def run_side_by_side(
    X: NDArray[np.floating],
    seed: int,
    numbers: Sequence[int],
    options: MemberOptions,
    norms: NDArray[np.floating] | None = None,
) -> list[Member]:
    """Run members, side by side: each a function of the data, seed and its number.

    A member draws candidate bases, assigns, iterates K-subspaces (the paper's Alg. 1,
    lines 4 to 10), then fits each cluster once more to measure the quality of the
    clustering. One that is fitted to some of the points is assigned to all, and
    measured by the subspaces it has.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), C-contiguous
    seed : int
        Seed of the whole ensemble.
    numbers : sequence of int
        Numbers of the members. Up to rounding, no member has an influence on another.
    options : MemberOptions
    norms : ndarray of shape (n_samples,), default=None
        Squared norms of the points, the same for all members; computed if None.

    Returns
    -------
    members : list of Member
    """
    norms = squared_norms(X) if norms is None else norms
    update = UPDATES[options.update]
    n_all = min(options.max_iter, _ITERATIONS_ON_ALL)
    starts, n_early = [], []
    for number in numbers:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
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
        early = 0
        if drawn is not None:
            run = k_subspaces(
                fitted_to,
                start,
                update,
                max_iter=options.max_iter - n_all,
                norms=norms[drawn],
            )
            start, early = run.flats, len(run.costs) - 1
        starts.append(start)
        n_early.append(early)
    max_iter = options.max_iter if options.max_samples is None else n_all
    runs = k_subspaces_runs(X, starts, update, max_iter=max_iter, norms=norms)
    weights = (
        _weights(X, runs, update, norms) if options.weighted else [1.0] * len(runs)
    )
    return [
        Member(
            run.labels.astype(np.min_scalar_type(len(run.flats.bases) - 1)),
            weight,
            early + len(run.costs) - 1,
            run.flats if options.keep_flats else None,
        )
        for run, weight, early in zip(runs, weights, n_early, strict=True)
    ]


def _weights(
    X: NDArray[np.floating],
    runs: Sequence[KSubspacesRun],
    update: Update,
    norms: NDArray[np.floating],
) -> list[float]:
    """Return the share of energy that subspaces fitted to the clusters capture."""
    assigned = [run.assignment for run in runs]
    most = max(one.own.shape[1] for one in assigned)
    own = np.zeros((len(runs), len(X), most), X.dtype)
    for place, one in enumerate(assigned):
        own[place, :, : one.own.shape[1]] = one.own
    labels = np.stack([one.labels for one in assigned])
    current = Assignment(labels, np.stack([one.gains for one in assigned]), own)
    candidates = Candidates.of([run.flats for run in runs])
    refitted = _refitted(X, update, current, candidates)
    captured = captured_energy(X, labels, refitted)
    total = float(norms.sum(dtype=np.float64))
    if total <= 0:
        return [1.0] * len(runs)
    return np.clip(captured / total, 0.0, 1.0).tolist()


def _draw_rows(
    n_samples: int, max_samples: int | None, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Draw the rows that a member is fitted to; None is all of them."""
    if max_samples is None or max_samples >= n_samples:
        return None
    return np.sort(rng.choice(n_samples, max_samples, replace=False))
