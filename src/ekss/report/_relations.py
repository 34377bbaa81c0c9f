"""Linear equations that hold inside a cluster: found, rounded, checked on its rows.

The directions that a subspace leaves out are linear equations of the columns. Any
combination of them is one too, so those of the fewest columns are sought: every set of
up to three columns is tried as the right-hand side for all other columns at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ekss.report._figures import Floats, Ints
from ekss.report._geometry import at_most


@dataclass(frozen=True)
class _Rules:
    """Rules of thumb, set by looking at tables with planted equations."""

    most_terms: int = 3  # columns on the right-hand side: more are not readable
    # Sets of columns that are tried in a cluster; with 100 columns all pairs.
    most_sets: int = 5000
    rows_per_term: int = 8  # fewer rows fit an equation by chance
    most_rows: int = 2000  # of a cluster
    # Error of an equation, as a share of the spread of its column in the cluster.
    loosest: float = 0.25
    constant: float = 0.1  # spread in the cluster, as a share of that of all rows
    # An equation with fewer terms is taken if its error is at most this much larger.
    shorter: float = 1.5
    # Errors up to this ratio are alike; then columns further left explain those to
    # their right, as tables often have what is computed after what is measured.
    alike: float = 1.2
    everywhere: float = 0.1  # as ``loosest``, for equations of all rows
    doubt: float = 3.0  # standard errors by which rounding may change a factor ...
    slack: float = 0.5  # ... and typical errors by which it may change a constant
    free: float = 0.05  # least share of a term's variance that other terms leave
    new: float = 0.2  # least share of an equation that those before it do not imply
    # Outside the cluster the error is at least so much larger, and at least this share
    # of the spread of the column.
    elsewhere: float = 3.0
    visible: float = 0.05
    exact: float = 1e-6  # errors below this share of the spread are rounding errors
    # An equation holds in a cluster where most rows are off by at most so many typical
    # errors: 95 % are in its own, if errors are normal.
    holds: float = 2.0
    most: float = 0.8
    outlying: float = 4.0  # rows this many typical errors off are left out of a fit


_RULES = _Rules()


@dataclass(frozen=True)
class Relation:
    """An equation: a column is about a sum of multiples of others and a constant."""

    column: int
    terms: tuple[tuple[int, float], ...]  # columns and their factors; may be empty
    constant: float
    error: float  # typical error in the cluster, in the units of the column
    # typical error in the other rows; None where all rows are described
    elsewhere: float | None = None
    also: tuple[int, ...] = ()  # other clusters in which it holds

    def errors(self, rows: Floats) -> Floats:
        """How far rows are off, in the units of the column."""
        off = rows[:, self.column] - self.constant
        for column, factor in self.terms:
            off = off - factor * rows[:, column]
        return off


def relations_of(
    rows: Floats, codes: Ints, n_clusters: int, trusted: NDArray[np.bool_] | None = None
) -> list[list[Relation]]:
    """Find the equations of each cluster, and last those of all rows.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
        Finite values in their own units.
    codes : ndarray of shape (n_samples,)
        Cluster of each row, from 0.
    n_clusters : int
    trusted : ndarray of shape (n_samples,), default=None
        Rows by which equations are found; all rows check them. None trusts all.

    Returns
    -------
    relations : list of n_clusters + 1 lists
        Those of a cluster do not hold in the other rows taken together. Those of all
        rows hold in every cluster.
    """
    groups = [np.flatnonzero(codes == k) for k in range(n_clusters)]
    sizes = np.bincount(codes, minlength=n_clusters)
    overall = rows.std(axis=0)
    everywhere = []
    for relation in _equations(rows[at_most(np.arange(len(rows)), _RULES.most_rows)]):
        exact = relation.error <= _RULES.everywhere * overall[relation.column]
        if exact and len(_holds_in(relation, rows, codes, sizes)) == n_clusters:
            everywhere.append(relation)
    found = []
    for k, group in enumerate(groups):
        others = np.flatnonzero(codes != k)
        mine = []
        if len(others):
            some = group if trusted is None else group[trusted[group]]
            sample = rows[at_most(some, _RULES.most_rows)]
            for found_here in _equations(sample, overall):
                error = _typical(found_here.errors(rows[group]))
                relation = replace(found_here, error=error)
                elsewhere = _typical(relation.errors(rows[others]))
                least = _RULES.visible * overall[relation.column]
                if elsewhere >= max(_RULES.elsewhere * error, least):
                    also = [
                        c for c in _holds_in(relation, rows, codes, sizes) if c != k
                    ]
                    mine.append(replace(relation, elsewhere=elsewhere, also=(*also,)))
        found.append(mine)
    return [*found, everywhere]


def _holds_in(relation: Relation, rows: Floats, codes: Ints, sizes: Ints) -> list[int]:
    """Clusters most of whose rows are off by no more than those of its own."""
    exact = _RULES.exact * float(np.abs(rows[:, relation.column]).max())
    limit = max(_RULES.holds * relation.error, exact)
    near = np.abs(relation.errors(rows)) <= limit
    counts = np.bincount(codes, weights=near, minlength=len(sizes))
    return np.flatnonzero(counts >= _RULES.most * np.maximum(sizes, 1)).tolist()


def _typical(errors: Floats) -> float:
    """Root mean square of errors, not swayed by a tenth of outlying rows."""
    size = np.abs(errors)
    return float(np.sqrt(np.mean(np.minimum(size, np.quantile(size, 0.9)) ** 2)))


def _equations(rows: Floats, overall: Floats | None = None) -> list[Relation]:
    """Equations of some rows, the shortest and most exact first, none implied.

    ``overall`` is the spread of the columns in all rows; with it, columns that are
    nearly constant in these rows are told as well.
    """
    n_rows, n_columns = rows.shape
    if n_rows < 2 * _RULES.rows_per_term or n_columns < 2:
        return []
    spread = rows.std(axis=0)
    # A column that is constant up to rounding has no equation with terms.
    varies = spread > 1e-9 * np.maximum(np.abs(rows).max(axis=0), 1e-300)
    told: list[Relation] = []
    if overall is not None:
        still = (spread < _RULES.constant * overall) & (overall > 0)
        told += [_constant(rows, int(j)) for j in np.flatnonzero(still)]
        varies &= ~still
    columns = np.flatnonzero(varies)
    if len(columns) < 2:
        return told
    scaled = (rows[:, columns] - rows[:, columns].mean(axis=0)) / spread[columns]
    correlations = scaled.T @ scaled / n_rows
    candidates = sorted(_candidates(correlations, n_rows), key=lambda c: (len(c[1]), c))
    basis = np.zeros((0, len(columns)))
    for _, support in candidates:
        target, factors = _solved(correlations, support)
        direction = np.zeros(len(columns))
        direction[list(support)] = [1.0 if j == target else 0.0 for j in support]
        direction[[j for j in support if j != target]] = -factors
        direction /= np.linalg.norm(direction)
        rest = direction - basis.T @ (basis @ direction)
        if np.linalg.norm(rest) < _RULES.new:
            continue
        basis = np.vstack([basis, rest / np.linalg.norm(rest)])
        names = [int(columns[j]) for j in support if j != target]
        relation = _rounded(rows, int(columns[target]), names)
        if relation.error <= _RULES.loosest * spread[relation.column]:
            told.append(relation)
    return told


def _candidates(
    correlations: Floats, n_rows: int
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield for each column the error and the columns of its shortest good equation."""
    n = len(correlations)
    errors = np.full((_RULES.most_terms, n), np.inf)
    chosen: list[list[tuple[int, ...]]] = []
    for size in range(1, _RULES.most_terms + 1):
        few_rows = n_rows < _RULES.rows_per_term * (size + 1)
        if size >= n or few_rows or math.comb(n, size) > _RULES.most_sets:
            break
        sets = np.array(list(combinations(range(n), size)))
        left = _left_over(correlations, sets)
        # The first of those that are about as good as the best.
        limit = _RULES.alike**2 * left.min(axis=0) + _RULES.exact**2
        best = (left <= limit).argmax(axis=0)
        # Every term takes a degree of freedom.
        errors[size - 1] = np.sqrt(
            np.maximum(left[best, np.arange(n)], 0) * n_rows / (n_rows - size - 1)
        )
        chosen.append([tuple(sets[i].tolist()) for i in best])
    for j in range(n):
        least = float(errors[:, j].min())
        if least > _RULES.loosest:
            continue
        limit = _RULES.shorter * max(least, _RULES.exact)
        size = int(np.argmax(errors[:, j] <= limit))
        yield float(errors[size, j]), tuple(sorted((*chosen[size][j], j)))


def _left_over(correlations: Floats, sets: NDArray[np.integer]) -> Floats:
    """Share of each column's variance that sets of columns leave unexplained.

    Infinite for columns of the set, and for sets that nearly determine one of their
    own columns: there a shorter equation holds.
    """
    inner = correlations[sets[:, :, None], sets[:, None, :]]
    inner = inner + 1e-12 * np.eye(sets.shape[1])
    across = correlations[sets]  # (n_sets, size, n_columns)
    left = 1 - np.einsum("msp,msp->mp", across, np.linalg.solve(inner, across))
    np.put_along_axis(left, sets, np.inf, axis=1)
    own = np.linalg.inv(inner)[:, range(sets.shape[1]), range(sets.shape[1])]
    left[(1 / own).min(axis=1) < _RULES.free] = np.inf
    return left


def _solved(correlations: Floats, support: Sequence[int]) -> tuple[int, Floats]:
    """Solve an equation for the last of its columns that it gives well."""
    errors, factors = [], []
    for j in support:
        others = [i for i in support if i != j]
        inner = correlations[np.ix_(others, others)]
        factor = np.linalg.lstsq(inner, correlations[others, j], rcond=None)[0]
        factors.append(factor)
        errors.append(math.sqrt(max(0.0, 1 - float(factor @ correlations[others, j]))))
    limit = _RULES.alike * max(min(errors), _RULES.exact)
    last = max(i for i, error in enumerate(errors) if error <= limit)
    return support[last], factors[last]


def _constant(rows: Floats, column: int) -> Relation:
    """Say that a column hardly varies."""
    values = rows[:, column]
    middle = float(np.median(values))
    slack = _RULES.slack * float(values.std())
    relation = Relation(column, (), fewest_digits(middle, slack), 0.0)
    return replace(relation, error=_typical(relation.errors(rows)))


def _rounded(rows: Floats, column: int, others: list[int]) -> Relation:
    """Fit an equation and write it with the fewest digits that the rows allow.

    A factor is replaced by the shortest number within a few standard errors, and what
    is left is fitted again; so is the constant, which may become 0.
    """
    target, pending, terms = rows[:, column], list(others), []
    keep = np.ones(len(rows), bool)
    for _ in range(2):  # once more without the rows that are far off
        design = np.column_stack([rows[:, pending], np.ones(len(rows))])
        fitted = np.linalg.lstsq(design[keep], target[keep], rcond=None)[0]
        off = target - design @ fitted
        limit = _RULES.outlying * max(float(np.median(np.abs(off))), 1e-300)
        keep = np.abs(off) <= 1.5 * limit
    rows, target = rows[keep], target[keep]
    while pending:
        design = np.column_stack([rows[:, pending], np.ones(len(rows))])
        fitted, doubt = _least_squares(design, target)
        # The factor that is known best is settled first.
        first = int(np.argmax(np.abs(fitted[:-1]) / np.maximum(doubt[:-1], 1e-300)))
        slack = _RULES.doubt * float(doubt[first])
        factor = fewest_digits(float(fitted[first]), slack)
        target = target - factor * rows[:, pending[first]]
        terms.append((pending.pop(first), factor))
    slack = _RULES.slack * float(target.std())
    constant = fewest_digits(float(target.mean()), slack)
    order = {name: i for i, name in enumerate(others)}
    terms = sorted((t for t in terms if t[1]), key=lambda t: order[t[0]])
    relation = Relation(column, tuple(terms), constant, 0.0)
    return replace(relation, error=_typical(target - constant))


def _least_squares(design: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Coefficients and their standard errors."""
    fitted = np.linalg.lstsq(design, target, rcond=None)[0]
    free = max(1, len(target) - design.shape[1])
    variance = float(np.sum((target - design @ fitted) ** 2)) / free
    spread = np.linalg.pinv(design.T @ design).diagonal()
    return fitted, np.sqrt(np.maximum(variance * spread, 0))


def fewest_digits(value: float, tolerance: float) -> float:
    """Return the number of the fewest digits within a tolerance of a value; may be 0.

    Examples
    --------
    >>> fewest_digits(1.7984, 0.006), fewest_digits(-3.97, 0.1), fewest_digits(0.02, 1)
    (1.8, -4.0, 0.0)
    """
    if abs(value) <= tolerance:
        return 0.0
    for digits in range(1, 6):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= tolerance:
            return short
    return float(f"{value:.6g}")
