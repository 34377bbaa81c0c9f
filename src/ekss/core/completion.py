"""Missing entries: a mixture of low-rank Gaussians, fitted to what is observed.

Each component is a subspace with a spread along it and noise around it: probabilistic
principal components. Every sum runs over observed entries alone, so nothing that was
filled in before is mistaken for an observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numba
import numpy as np
from numpy.typing import NDArray

from ekss.core.linalg import Flats, leading_spectrum

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Rules:
    """Constants of the fit."""

    # Iterations of a start before the starts are compared, and of the best at most.
    trial: int = 20
    most: int = 100
    # Multiplications that starts, and then the best of them, may take: some ten seconds
    # of a core. Of large data fewer starts are tried, and at least so many iterations
    # of the best are made.
    work: float = 2e11
    fewest: int = 10
    # Iterations on all rows and entries, after those on some of them.
    refined: int = 5
    # Iterations of clusters that no row leaves: with more, held-out entries gain little
    # or lose (docs/experiments.md, "Missing entries").
    each: int = 5
    # Numbers of directions that are tried for one Gaussian, each followed by the next
    # while held-out entries gain by more than this share.
    ranks: tuple[int, ...] = (5, 10, 20, 50, 100)
    gain: float = 0.02
    # Most directions that are fitted by the EM algorithm, whose time grows with their
    # square; more are fitted by filling in, in a fifth of the time on faces.
    exact: int = 20
    # One Gaussian is settled when its noise changes by less than this share, which
    # takes some five iterations or ten fillings, but many where there is no noise.
    settled: float = 0.05
    fillings: int = 20
    # Errors of more standard errors than this count as so many: single rows in a wrong
    # cluster shall not blow up the errors of all.
    wild: float = 10.0
    # The fit ends when the log-likelihood of a row changes by less.
    tol: float = 1e-4
    # Memberships are first softened by the number of observed entries of a row, then
    # less by this factor in every iteration: from poor starts, 7 % error in place of 29
    # with half of the entries missing (docs/experiments.md, "Missing entries").
    cooling: float = 0.8
    # Smallest noise as a share of the mean square of an entry: data without noise
    # would otherwise divide by zero.
    noise: float = 1e-8
    # Smallest mean square of an entry, where all entries are zero.
    least: float = 1e-30
    # Noise of given subspaces, of which it is not known, as a share of that square.
    guessed: float = 0.01
    # Memberships below this share do not count.
    negligible: float = 1e-6
    # Features whose products take as long as the system of a row: it is solved in
    # some 7 ns times the square of its size, at 5 to 120 directions.
    solving: int = 140
    # Numbers held at once: 16 MB. Smaller blocks of rows would spend their time on the
    # products of loadings, which every block needs.
    block: int = 2**21


_RULES = _Rules()


@dataclass(frozen=True)
class Completion:
    """Components that fill in rows from their observed entries.

    Attributes
    ----------
    loadings : ndarray of shape (n_components, n_features, rank)
        Directions of each component, as long as its spread along them.
    means : ndarray of shape (n_components, n_features) or None
        None for linear subspaces.
    noise : ndarray of shape (n_components,)
        Variance of an entry around the subspace.
    shares : ndarray of shape (n_components,)
        Shares of the rows, summing to 1.
    unit : bool
        Whether the model is one of rows of unit length: a row is then scaled by the
        length that its observed entries suggest.
    scale : float
        What other rows are divided by, so that no square over- or underflows.
    calibration : float
        Factor of standard errors. The model alone takes its subspaces for right;
        entries that were held out tell how far it is off.
    """

    loadings: Floats
    means: Floats | None
    noise: Floats
    shares: Floats
    unit: bool
    scale: float = 1.0
    calibration: float = 1.0

    def __call__(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the rows with missing entries filled in; others stay as they are."""
        filled, _ = self._estimated(rows, with_errors=False)
        return filled

    def estimate(
        self, rows: NDArray[np.floating]
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return the filled rows and the standard error of every entry.

        Observed entries have the error 0.
        """
        return self._estimated(rows, with_errors=True)

    def _estimated(
        self, rows: NDArray[np.floating], *, with_errors: bool
    ) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        filled = rows.copy()
        errors = np.zeros_like(rows) if with_errors else filled
        holes = np.flatnonzero(np.isnan(rows).any(axis=1))
        for some in _blocks(holes, self):
            seen = observe(rows[some], unit=self.unit, scale=self.scale)
            mean, variance = self._posterior(seen, with_errors=with_errors)
            lengths = seen.lengths[:, None]
            filled[some] = np.where(seen.mask, rows[some], mean * lengths)
            if variance is not None:
                found = np.sqrt(variance) * lengths * self.calibration
                errors[some] = np.where(seen.mask, 0, found)
        return filled, errors

    def _posterior(
        self, seen: Observed, *, with_errors: bool
    ) -> tuple[Floats, Floats | None]:
        """Return mean and variance of all entries, given those observed."""
        odds = np.ones((len(seen.values), 1))
        if len(self.loadings) > 1:
            odds = _normalised(_log_joint(self, seen))
        mean = np.zeros(seen.values.shape)
        square = np.zeros(seen.values.shape) if with_errors else None
        for k in range(len(self.loadings)):
            some = np.flatnonzero(odds[:, k] > _RULES.negligible)
            if not len(some):
                continue
            state = _infer(self, k, seen.take(some), with_spread=with_errors)
            weight = odds[some, k][:, None]
            found = state.scores @ self.loadings[k].T
            if self.means is not None:
                found += self.means[k]
            mean[some] += weight * found
            if square is not None:
                spread = state.spread @ _packed_rows(self.loadings[k], 2.0).T
                square[some] += weight * (found**2 + spread + self.noise[k])
        if square is None:
            return mean, None
        return mean, np.maximum(square - mean**2, 0)


@dataclass(frozen=True)
class Observed:
    """Rows with holes: entries divided by lengths, zero where missing."""

    values: Floats
    mask: NDArray[np.bool_]
    lengths: Floats

    @property
    def weights(self) -> Floats:
        """1 where observed and 0 where missing."""
        return self.mask.astype(np.float64)

    def take(self, rows: NDArray[np.integer]) -> Observed:
        """Return some of the rows."""
        return Observed(self.values[rows], self.mask[rows], self.lengths[rows])


def observe(rows: NDArray[np.floating], *, unit: bool, scale: float = 1.0) -> Observed:
    """Look at the observed entries of rows, at unit length or divided by the scale.

    The squared length of a row is taken for that of its observed entries, times the
    number of all entries by that of the observed ones.
    """
    mask = ~np.isnan(rows)
    values = np.where(mask, rows, 0).astype(np.float64)
    lengths = np.full(len(rows), scale)
    if not unit:
        values /= scale
    else:
        largest = np.abs(values).max(axis=1, initial=0)
        largest[largest == 0] = 1
        inside = values / largest[:, None]
        count = np.maximum(mask.sum(axis=1), 1)
        squares = np.einsum("ij,ij->i", inside, inside) * rows.shape[1] / count
        lengths = largest * np.where(squares > 0, np.sqrt(squares), 1)
        values = inside * (largest / lengths)[:, None]
    return Observed(values, mask, lengths)


@dataclass(frozen=True)
class HeldOut:
    """Observed entries that a fit does not see, to measure it by.

    Attributes
    ----------
    rows : ndarray of shape (n_samples, n_features)
        With NaN for missing entries and for those that are held out.
    places : tuple of ndarray
        Row and column of every entry that is held out.
    values : ndarray of shape (n_held,)
        The entries.
    lengths : ndarray of shape (n_held,)
        Length of the row of each entry, as its other entries suggest.
    """

    rows: NDArray[np.floating]
    places: tuple[NDArray[np.integer], NDArray[np.integer]]
    values: NDArray[np.floating]
    lengths: Floats

    def error(self, model: Completion) -> float:
        """Return the squared error of the entries in rows of unit length.

        As a share of their squares: 1 is no better than zeros.
        """
        return self.error_of(model(self.rows))

    def error_of(self, filled: NDArray[np.floating]) -> float:
        """Return the same of rows that are filled in already."""
        squares = float(np.square(self.values / self.lengths).sum())
        if squares == 0:
            return 0.0
        off = (filled[self.places] - self.values) / self.lengths
        return float(np.square(off).sum()) / squares

    def calibration(self, model: Completion) -> float:
        """Return by how much errors are larger than the standard errors of a model."""
        filled, errors = replace(model, calibration=1.0).estimate(self.rows)
        errors = errors[self.places]
        off = np.abs(filled[self.places] - self.values)
        known = errors > 0
        if not known.any():
            return 1.0
        ratios = np.minimum(off[known] / errors[known], _RULES.wild)
        return float(np.sqrt(np.square(ratios).mean()))


def hold_out(
    rows: NDArray[np.floating], share: float, rng: np.random.Generator
) -> HeldOut:
    """Hold out a share of the observed entries: one at least, never all of a row."""
    seen = ~np.isnan(rows)
    chances = np.where(seen, rng.random(rows.shape), 2.0)
    held = chances < share
    held.flat[chances.argmin()] = True
    # The least likely entry of every row stays.
    last = np.where(seen, chances, -1.0).argmax(axis=1)
    held[np.arange(len(rows)), last] = False
    row, column = np.nonzero(held)
    kept = np.where(held, np.nan, rows)
    lengths = observe(kept, unit=True).lengths
    return HeldOut(kept, (row, column), rows[row, column], lengths[row])


def completion_of(
    flats: Flats,
    *,
    unit: bool,
    scale: float = 1.0,
) -> Completion:
    """Return the completion by given subspaces: least squares on observed entries.

    Parameters
    ----------
    flats : Flats
        In the coordinates of the rows.
    unit, scale
        As in :class:`Completion`.
    """
    n_subspaces, n_features, _ = flats.bases.shape
    bases = flats.bases.astype(np.float64)
    energy = 1 / n_features if unit else 1.0
    means = None
    if flats.offsets is not None:
        means = flats.offsets.astype(np.float64) / (1.0 if unit else scale)
    return Completion(
        bases * np.sqrt(energy * n_features),
        means,
        np.full(n_subspaces, _RULES.guessed * energy),
        np.full(n_subspaces, 1 / n_subspaces),
        unit,
        scale,
    )


def fit_one(held: HeldOut) -> Completion:
    """Fit one low-rank Gaussian to all rows, of unit length.

    Its number of directions is about doubled as long as held-out entries gain.
    """
    seen = observe(held.rows, unit=True)
    lengths = seen.lengths[:, None]
    most = max(1, min(held.rows.shape[1] // 2, len(held.rows) // 3))
    everyone = np.zeros(len(held.rows), np.int64)
    filled = seen.values
    found: list[tuple[Completion, float]] = []
    for rank in sorted({min(rank, most) for rank in _RULES.ranks}):
        if rank <= _RULES.exact:
            begun = _first(seen, filled, everyone, rank, affine=False)
            model, _ = _climb(replace(begun, unit=True), seen, _RULES.most)
            filled = model(held.rows) / lengths
        else:
            model, filled = _by_filling(found[-1][0], seen, filled, rank)
        error = held.error_of(filled * lengths)
        if found and error > (1 - _RULES.gain) * found[-1][1]:
            break
        found.append((model, error))
    return found[-1][0]


def fit_completion(
    rows: NDArray[np.floating],
    filled: NDArray[np.floating],
    starts: Sequence[NDArray[np.integer]],
    rank: int,
    *,
    unit: bool,
    affine: bool,
    scale: float = 1.0,
) -> Completion:
    """Fit one component per cluster to the observed entries, by the EM algorithm.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features)
        With NaN for missing entries.
    filled : ndarray of shape (n_samples, n_features)
        The rows filled in somehow; components begin there.
    starts : sequence of ndarray of shape (n_samples,)
        Clusterings to start from. All are tried for a few iterations, and the one of
        largest likelihood is followed to the end.
    rank : int
        Directions of a component.
    unit : bool
        Whether rows are scaled to unit length.
    affine : bool
        Whether components may miss the origin.
    scale : float, default=1.0
        What rows are divided by otherwise.

    Returns
    -------
    Completion
    """
    n_components = int(starts[0].max()) + 1
    iteration = rows.size * n_components * rank * (rank + 1) // 2
    affordable = int(_RULES.work // iteration)
    seen = observe(rows, unit=unit, scale=scale)
    tried = []
    for labels in starts[: max(1, affordable // _RULES.trial)]:
        begun = _first(
            seen, filled / seen.lengths[:, None], labels, rank, affine=affine
        )
        begun = replace(begun, unit=unit, scale=scale)
        tried.append(_climb(begun, seen, _RULES.trial, warm=True))
    best, _ = max(tried, key=lambda found: found[1])
    n_iter = max(_RULES.fewest, min(_RULES.most, affordable))
    return _climb(best, seen, n_iter)[0]


def fit_each(
    rows: NDArray[np.floating],
    filled: NDArray[np.floating],
    labels: NDArray[np.integer],
    rank: int,
    *,
    unit: bool,
    affine: bool,
    scale: float = 1.0,
) -> Completion:
    """Fit one component to every cluster, which no row leaves.

    A small part of the work of :func:`fit_completion`, whose parameters these are.
    """
    seen = observe(rows, unit=unit, scale=scale)
    filled = filled / seen.lengths[:, None]
    begun = _first(seen, filled, labels, rank, affine=affine)
    model = replace(begun, unit=unit, scale=scale)
    members = np.eye(len(model.shares))[labels]
    for _ in range(_RULES.each):
        model = _maximised(model, seen, members, _energy(seen))
    return model


def work_of_one(n_rows: int, n_features: int) -> float:
    """Return about how many multiplications :func:`fit_one` takes, with its fillings.

    As if held-out entries gained from every direction.
    """
    most = min(_RULES.ranks[-1], max(1, min(n_features // 2, n_rows // 3)))
    ranks = sorted({min(rank, most) for rank in _RULES.ranks})
    exact = [rank for rank in ranks if rank <= _RULES.exact]
    # Five iterations and ten fillings are usual; coordinates are found for an iteration
    # and moments summed, directions and fillings take four products.
    iterations = sum(work_of_filling(n_rows, n_features, 1, rank) for rank in exact)
    fillings = sum(n_rows * n_features * rank for rank in ranks[len(exact) :])
    # Held-out entries, all entries before and after, and standard errors like two.
    filled = 5 * work_of_filling(n_rows, n_features, 1, most)
    return 5 * 2 * iterations + 10 * 4 * fillings + filled


def work_of_mixture(
    n_rows: int, n_features: int, n_components: int, rank: int
) -> float:
    """Return about how many multiplications :func:`fit_completion` takes."""
    iteration = work_of_filling(n_rows, n_features, n_components, rank)
    entries = n_rows * n_features * n_components * rank * (rank + 1) / 2
    affordable = max(_RULES.trial + _RULES.fewest, 2 * _RULES.work / entries)
    return min(_RULES.trial + _RULES.most, affordable) * iteration


def work_of_refining(
    n_rows: int, n_features: int, n_components: int, rank: int
) -> float:
    """Return about how many multiplications :func:`refine` takes."""
    return _RULES.refined * work_of_filling(n_rows, n_features, n_components, rank)


def work_of_filling(
    n_rows: int, n_features: int, n_components: int, rank: int
) -> float:
    """Return how many multiplications find the coordinates of rows, once."""
    pairs = rank * (rank + 1) / 2
    return float(n_rows * n_components * (n_features + _RULES.solving) * pairs)


def bytes_of_blocks() -> int:
    """Return the bytes of products and inverses of a block, and of their sums."""
    return 4 * 8 * _RULES.block


def refine(model: Completion, rows: NDArray[np.floating]) -> Completion:
    """Fit a completion that was found on some rows or entries to more of them."""
    seen = observe(rows, unit=model.unit, scale=model.scale)
    n_components, _, rank = model.loadings.shape
    if n_components == 1 and rank > _RULES.exact:
        filled = model(rows) / seen.lengths[:, None]
        return _by_filling(model, seen, filled, rank)[0]
    return _climb(model, seen, _RULES.refined)[0]


def _first(
    seen: Observed,
    filled: Floats,
    labels: NDArray[np.integer],
    rank: int,
    *,
    affine: bool,
) -> Completion:
    """Return components of filled rows by principal components of each cluster."""
    n_features = filled.shape[1]
    n_components = int(labels.max()) + 1
    energy = _energy(seen)
    loadings = np.zeros((n_components, n_features, rank))
    means = np.zeros((n_components, n_features))
    noise = np.full(n_components, energy)
    counts = np.bincount(labels, minlength=n_components)
    for k in range(n_components):
        points = filled[labels == k]
        if not len(points):
            continue
        if affine:
            means[k] = points.mean(axis=0)
        found = leading_spectrum(points - means[k], min(rank, *points.shape))
        squares = found.singular_values**2 / len(points)
        rest = found.total / len(points) - squares.sum()
        noise[k] = max(rest / n_features, 1e-4 * energy)
        loadings[k, :, : len(squares)] = found.directions.T * np.sqrt(squares)
    return Completion(
        loadings, means if affine else None, noise, counts / counts.sum(), unit=False
    )


def _energy(seen: Observed) -> float:
    """Return the mean square of an observed entry."""
    return max(float((seen.values**2).sum() / seen.mask.sum()), _RULES.least)


def _climb(
    model: Completion, seen: Observed, n_iter: int, *, warm: bool = False
) -> tuple[Completion, float]:
    """Raise the likelihood; return the components and the last one, per row."""
    energy = _energy(seen)
    if len(model.loadings) == 1:
        return _climb_one(model, seen, n_iter, energy), 0.0
    heat = float(seen.mask.sum(axis=1).mean()) if warm else 1.0
    before = -np.inf
    for _ in range(n_iter):
        likely = _log_joint(model, seen)
        reached = float(_log_sum(likely).mean())
        odds = _normalised(likely / max(heat, 1.0))
        model = _maximised(model, seen, odds, energy)
        if heat <= 1 and abs(reached - before) < _RULES.tol:
            break
        before, heat = reached, heat * _RULES.cooling
    return model, float(_log_sum(_log_joint(model, seen)).mean())


def _climb_one(
    model: Completion, seen: Observed, n_iter: int, energy: float
) -> Completion:
    """Raise the likelihood of one component, which all rows belong to."""
    everyone = np.ones((len(seen.values), 1))
    for _ in range(n_iter):
        before = float(model.noise[0])
        model = _maximised(model, seen, everyone, energy)
        if abs(float(model.noise[0]) - before) < _RULES.settled * before:
            break
    return model


def _by_filling(
    model: Completion, seen: Observed, filled: Floats, rank: int
) -> tuple[Completion, Floats]:
    """Widen one component to a rank: principal components of rows filled in by them.

    Returns the component and the rows that it fills in. Spreads along directions are
    less by the noise, as in regularised iterative principal components (Josse and
    Husson, 2012); directions are iterated along with the fillings, not found anew.
    """
    n_rows, n_features = filled.shape
    observed = float(seen.mask.mean())
    least = _RULES.noise * _energy(seen)
    known = model.loadings[0]
    more = np.random.default_rng(0).standard_normal((n_features, rank - known.shape[1]))
    directions = np.hstack([known, more])
    noise = np.inf
    for _ in range(_RULES.fillings):
        directions, _ = np.linalg.qr(filled.T @ (filled @ directions))
        scores = filled @ directions
        squares, axes = np.linalg.eigh(scores.T @ scores / n_rows)
        directions, scores = directions @ axes, scores @ axes
        before = noise
        # The residual of an entry that was filled in is none.
        rest = np.vdot(filled, filled) / n_rows - squares.sum()
        noise = max(float(rest) / (n_features - rank) / observed, least)
        spread = np.maximum(squares - noise, 0)
        scores *= spread / np.maximum(squares, noise)
        filled = np.where(seen.mask, seen.values, scores @ directions.T)
        if abs(noise - before) < _RULES.settled * before:
            break
    loadings = directions * np.sqrt(spread)
    return (
        replace(model, loadings=loadings[None], noise=np.array([noise])),
        filled,
    )


@dataclass(frozen=True)
class _State:
    """Coordinates of rows in one component, given their observed entries.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, rank)
    spread : ndarray of shape (n_rows, rank * (rank + 1) / 2)
        Upper triangles of the covariances of the coordinates; of no row, where they
        were not asked for.
    log_likelihood : ndarray of shape (n_rows,)
    """

    scores: Floats
    spread: Floats
    log_likelihood: Floats


def _infer(model: Completion, k: int, seen: Observed, *, with_spread: bool) -> _State:
    """Find coordinates of rows in component k: regularised least squares."""
    loadings, noise = model.loadings[k], float(model.noise[k])
    rank = loadings.shape[1]
    weights = seen.weights
    centred = seen.values
    if model.means is not None:
        centred = centred - weights * model.means[k]
    grams = weights @ _packed_rows(loadings)
    products = centred @ loadings
    scores, inverses, logarithms = solve_packed(grams, products, noise, with_spread)
    squares = np.einsum("ij,ij->i", centred, centred)
    rest = np.maximum(squares - np.einsum("ij,ij->i", products, scores), 0)
    count = weights.sum(axis=1)
    determinants = logarithms + (count - rank) * np.log(noise)
    likelihood = -0.5 * (rest / noise + determinants + count * np.log(2 * np.pi))
    return _State(scores, noise * inverses, likelihood)


@numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def solve_packed(  # noqa: C901
    triangles: Floats, right: Floats, ridge: float, with_inverses: bool
) -> tuple[Floats, Floats, Floats]:
    """Solve (A + ridge I) x = b for many small semidefinite A, by Cholesky.

    ``triangles`` (n, size (size + 1) / 2) are the upper triangles of the matrices, row
    by row. Returns the solutions, the upper triangles of the inverses (of no matrix, if
    they are not asked for: they take more than half of the time) and the logarithms of
    the determinants.
    """
    count, size = right.shape
    solutions = np.empty((count, size))
    inverses = np.empty((count if with_inverses else 0, triangles.shape[1]))
    logarithms = np.empty(count)
    lower = np.zeros((size, size))
    # The inverse of the lower triangle, column by column.
    columns = np.zeros((size, size))
    for n in range(count):
        place = 0
        for i in range(size):
            for j in range(i, size):
                lower[j, i] = triangles[n, place]
                place += 1
        total = 0.0
        for i in range(size):
            for j in range(i):
                rest = lower[i, j]
                for m in range(j):
                    rest -= lower[i, m] * lower[j, m]
                lower[i, j] = rest / lower[j, j]
            rest = lower[i, i] + ridge
            for m in range(i):
                rest -= lower[i, m] * lower[i, m]
            lower[i, i] = np.sqrt(max(rest, 1e-300))
            total += np.log(lower[i, i])
        logarithms[n] = 2 * total
        found = solutions[n]
        for i in range(size):
            rest = right[n, i]
            for m in range(i):
                rest -= lower[i, m] * found[m]
            found[i] = rest / lower[i, i]
        for i in range(size - 1, -1, -1):
            found[i] /= lower[i, i]
            for m in range(i):
                found[m] -= lower[i, m] * found[i]
        if not with_inverses:
            continue
        for j in range(size):
            columns[j, j] = 1 / lower[j, j]
            for i in range(j + 1, size):
                # Slices: counting from 0, these sums are done several terms at once.
                one, other = lower[i, j:i], columns[j, j:i]
                rest = 0.0
                for m in range(i - j):
                    rest -= one[m] * other[m]
                columns[j, i] = rest / lower[i, i]
        place = 0
        for i in range(size):
            for j in range(i, size):
                one, other = columns[i, j:], columns[j, j:]
                entry = 0.0
                for m in range(size - j):
                    entry += one[m] * other[m]
                inverses[n, place] = entry
                place += 1
    return solutions, inverses, logarithms


def _log_joint(model: Completion, seen: Observed) -> Floats:
    """Return the logarithms of likelihood times share, rows by components."""
    found = np.empty((len(seen.values), len(model.loadings)))
    with np.errstate(divide="ignore"):
        shares = np.log(model.shares)
    for some in _blocks(np.arange(len(found)), model):
        part = seen.take(some)
        for k in range(found.shape[1]):
            state = _infer(model, k, part, with_spread=False)
            found[some, k] = state.log_likelihood + shares[k]
    return found


def _maximised(
    model: Completion, seen: Observed, odds: Floats, energy: float
) -> Completion:
    """Return the components that fit best, given the memberships of the rows."""
    loadings, noise = model.loadings.copy(), model.noise.copy()
    means = None if model.means is None else model.means.copy()
    for k in range(len(loadings)):
        rows = np.flatnonzero(odds[:, k] > _RULES.negligible)
        if len(rows) < 2:
            continue
        found = _fitted(model, k, seen, odds[:, k], rows, energy)
        loadings[k], mean, noise[k] = found
        if means is not None:
            means[k] = mean
    return replace(
        model, loadings=loadings, means=means, noise=noise, shares=odds.mean(axis=0)
    )


def _fitted(
    model: Completion,
    k: int,
    seen: Observed,
    odds: Floats,
    rows: NDArray[np.integer],
    energy: float,
) -> tuple[Floats, Floats | None, float]:
    """Regress every feature on the coordinates, over the rows that show it."""
    affine = model.means is not None
    n_features, rank = model.loadings[k].shape
    moments = np.zeros((n_features, rank * (rank + 1) // 2))
    products = np.zeros((n_features, rank))
    sums = np.zeros((n_features, rank))
    squares, totals, counts = np.zeros((3, n_features))
    for some in _blocks(rows, model):
        part = seen.take(some)
        state = _infer(model, k, part, with_spread=True)
        weights = part.weights * odds[some, None]
        weighted = part.values * odds[some, None]
        moments += weights.T @ (state.spread + _packed_rows(state.scores))
        products += weighted.T @ state.scores
        squares += (part.values * weighted).sum(axis=0)
        counts += weights.sum(axis=0)
        if affine:
            sums += weights.T @ state.scores
            totals += weighted.sum(axis=0)
    mean = None
    if affine:
        # What is regressed is less its mean over the rows that show the feature.
        inside = sums / np.maximum(counts, 1e-300)[:, None]
        level = totals / np.maximum(counts, 1e-300)
        moments -= counts[:, None] * _packed_rows(inside)
        products -= totals[:, None] * inside
        squares = squares - totals * level
    # Loadings are small unless the data say otherwise: as long as those of a row of
    # the mean energy that is spread evenly over the directions.
    ridge = float(model.noise[k]) * rank / energy
    loadings, _, _ = solve_packed(moments, products, ridge, False)
    if affine:
        mean = level - np.einsum("ij,ij->i", loadings, inside)
    fitted = np.einsum("ij,ij->i", loadings, products)
    rest = float(np.maximum(squares - fitted, 0).sum() / max(counts.sum(), 1e-300))
    return loadings, mean, max(rest, _RULES.noise * energy)


def _blocks(
    rows: NDArray[np.integer], model: Completion
) -> Iterator[NDArray[np.integer]]:
    """Yield parts of the row numbers of which little memory is needed at once."""
    _, n_features, rank = model.loadings.shape
    step = max(1, _RULES.block // max(n_features, rank * (rank + 1) // 2))
    for first in range(0, len(rows), step):
        yield rows[first : first + step]


def _packed_rows(rows: Floats, off_diagonal: float = 1.0) -> Floats:
    """Return the upper triangles of the outer products of every row with itself."""
    count, size = rows.shape
    packed = np.empty((count, size * (size + 1) // 2))
    place = 0
    for i in range(size):
        end = place + size - i
        factors = rows[:, i:] if off_diagonal == 1 else off_diagonal * rows[:, i:]
        np.multiply(rows[:, i, None], factors, out=packed[:, place:end])
        packed[:, place] = rows[:, i] ** 2
        place = end
    return packed


def _log_sum(logarithms: Floats) -> Floats:
    """Return the logarithm of the sum of every row."""
    largest = logarithms.max(axis=1)
    return largest + np.log(np.exp(logarithms - largest[:, None]).sum(axis=1))


def _normalised(logarithms: Floats) -> Floats:
    """Return the shares whose logarithms are given up to a constant of the row."""
    odds = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
