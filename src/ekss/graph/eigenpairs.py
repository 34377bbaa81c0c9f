"""Leading eigenpairs of one connected graph, checked before they are returned."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu
from sklearn.exceptions import ConvergenceWarning

from ekss.core.eigen import top_eigenpairs

DENSE_SIZE = 600
LAST_DENSE_SIZE = 6000
MAX_BAND_ENTRIES = 20_000_000
MAX_RESTARTS = 100
MAX_RESIDUAL = 1e-8
# Beyond so many points labels need no more than the loose accuracy.
MAX_PRECISE_SIZE = 50_000
MAX_LOOSE_RESIDUAL = 1e-5
SHIFT = 1.0 + 1e-8

# Newer scipy draws ARPACK's inner restarts from the operating system unless told.
_EIGSH_TAKES_RNG = "rng" in inspect.signature(eigsh).parameters


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues (descending), orthonormal eigenvectors and the worst residual."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    residual: float


@dataclass(frozen=True)
class _Operator:
    """A positive operator and the distance that separates values near a given one."""

    apply: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    resolution: Callable[[float], float]


@dataclass(frozen=True)
class Accuracy:
    """How exact pairs must be.

    Attributes
    ----------
    residual : float
        The largest residual that is accepted.
    tolerance : float
        What ARPACK is asked for, relative to eigenvalues between 0 and 2.
    slack : float
        By how much a value may exceed another and still count as equal to it.
    """

    residual: float
    tolerance: float
    slack: float


def accuracy_for(n_points: int) -> Accuracy:
    """Return the accuracy that pairs of a component of so many points have."""
    if n_points <= MAX_PRECISE_SIZE:
        return Accuracy(MAX_RESIDUAL, 1e-10, 1e-9)
    return Accuracy(MAX_LOOSE_RESIDUAL, 0.3 * MAX_LOOSE_RESIDUAL, 1e-6)


@dataclass(frozen=True)
class _Budget:
    """Lanczos vectors kept and restarts allowed."""

    n_vectors: int
    n_restarts: int


def component_eigenpairs(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
) -> Eigenpairs:
    r"""Largest eigenpairs of a connected normalised graph, the first one left out.

    The normalised adjacency :math:`A = D^{-1/2} W D^{-1/2}` of a connected graph
    has the simple eigenvalue 1 with eigenvector :math:`D^{1/2} 1`; these are the
    pairs that follow it.

    Parameters
    ----------
    adjacency : csr_array of shape (n_points, n_points)
        The normalised adjacency of one connected component.
    trivial : ndarray of shape (n_points,)
        Its unit eigenvector for eigenvalue 1.
    n_pairs : int
        How many further pairs, at most ``n_points - 1``.
    rng : numpy.random.Generator
        Source of the start vectors.

    Returns
    -------
    Eigenpairs
        Eigenvalues in descending order, eigenvectors as columns orthogonal to
        `trivial`, and the largest :math:`\|A v - \lambda v\|`.

    Warns
    -----
    ConvergenceWarning
        When every solver left a residual above 1e-8 (beyond 50,000 points: 1e-5);
        the best vectors are returned.

    Notes
    -----
    Up to 600 points, or when more than a quarter of all pairs is wanted, one dense
    decomposition. Beyond, Lanczos with a search for missed copies of repeated
    eigenvalues; when it stalls, shift and invert if the graph is thin enough that
    the factor stays small (path- and surface-like graphs, the ones on which Lanczos
    stalls), Lanczos with more vectors, and at last a dense solver (up to 6,000
    points) or filtered subspace iteration. Beyond 50,000 points Lanczos stops at a
    residual of 1e-5, which saves a sixth to a fifth of the products with the graph.

    References
    ----------
    .. [1] Y. Zhou, Y. Saad, M. Tiago and J. Chelikowsky, "Self-consistent-field
       calculations using Chebyshev-filtered subspace iteration", Journal of
       Computational Physics 219, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> triangle = csr_array((np.ones((3, 3)) - np.eye(3)) / 2)
    >>> rng = np.random.default_rng(0)
    >>> component_eigenpairs(triangle, np.full(3, 3**-0.5), 2, rng).values.round(6)
    array([-0.5, -0.5])
    """
    n_points = adjacency.shape[0]
    if n_pairs == 0:
        return Eigenpairs(np.empty(0), np.empty((n_points, 0)), 0.0)
    limit = accuracy_for(n_points).residual
    best: Eigenpairs | None = None
    for attempt in _attempts(adjacency, trivial, n_pairs, rng):
        vectors = attempt()
        if vectors is None:
            continue
        pairs = _rayleigh_ritz(adjacency, trivial, vectors, n_pairs)
        if pairs.residual <= limit:
            return pairs
        if best is None or pairs.residual < best.residual:
            best = pairs
    if best is None:
        raise RuntimeError(
            f"no eigensolver succeeded for {n_pairs} pairs of a component of "
            f"{n_points} points; ask for fewer eigenvectors or make the graph denser"
        )
    warnings.warn(
        f"{n_pairs} eigenpairs of a component of {n_points} points have residual "
        f"{best.residual:.1e}, above {limit:.0e}; ask for fewer eigenvectors "
        "or make the graph denser",
        ConvergenceWarning,
        stacklevel=2,
    )
    return best


def _attempts(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
) -> Iterator[Callable[[], NDArray[np.float64] | None]]:
    """Solvers in the order in which they are tried; each gives vectors or None."""
    n_points = adjacency.shape[0]
    if n_points <= DENSE_SIZE or 4 * n_pairs > n_points:
        yield lambda: _dense_vectors(adjacency, trivial, n_pairs)
        return

    def lanczos(operator: _Operator, budget: _Budget) -> NDArray[np.float64] | None:
        return largest_vectors(operator, trivial, n_pairs, budget, rng)

    plain = _Operator(lambda x: adjacency @ x + x, lambda value: 2.0 - value)
    few = _Budget(max(2 * n_pairs + 20, 40), MAX_RESTARTS)
    many = _Budget(4 * n_pairs + 120, MAX_RESTARTS)
    yield lambda: lanczos(plain, few)
    if _is_thin(adjacency):
        inverse = _Operator(_inverse(adjacency), lambda value: value)
        yield lambda: lanczos(inverse, few)
    yield lambda: lanczos(plain, many)
    if n_points <= LAST_DENSE_SIZE:
        yield lambda: _dense_vectors(adjacency, trivial, n_pairs)
    else:
        yield lambda: _block_vectors(adjacency, trivial, n_pairs, rng)


def _dense_vectors(
    adjacency: csr_array, trivial: NDArray[np.float64], n_pairs: int
) -> NDArray[np.float64]:
    # The known eigenvalue 1 moves to -2, below all others (they are at least -1).
    dense = adjacency.toarray() - 3.0 * np.outer(trivial, trivial)
    return top_eigenpairs(dense, n_pairs)[1]


def _block_vectors(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    n_pairs: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Subspace iteration on a random block, filtered by Chebyshev polynomials."""
    limit = accuracy_for(adjacency.shape[0]).residual / 2
    block = rng.standard_normal((adjacency.shape[0], n_pairs + 10))
    for _ in range(MAX_RESTARTS):
        pairs = _rayleigh_ritz(adjacency, trivial, block, block.shape[1])
        block = pairs.vectors
        errors = adjacency @ block - block * pairs.values
        if np.linalg.norm(errors[:, :n_pairs], axis=0).max() <= limit:
            break
        cut = max(float(pairs.values[-1]), -0.9)
        block = _filter(adjacency, trivial, block, cut)
    return block[:, :n_pairs]


def _filter(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    block: NDArray[np.float64],
    cut: float,
    degree: int = 30,
) -> NDArray[np.float64]:
    """Chebyshev polynomial of the graph, at most 1 on eigenvalues in [-1, cut]."""
    middle, half = (cut - 1.0) / 2.0, (cut + 1.0) / 2.0

    def scaled(x: NDArray[np.float64]) -> NDArray[np.float64]:
        image = (adjacency @ x - middle * x) / half
        return image - np.outer(trivial, trivial @ image)

    before, now = block, scaled(block)
    for _ in range(degree - 1):
        before, now = now, 2.0 * scaled(now) - before
    return now


def _is_thin(adjacency: csr_array) -> bool:
    """Whether a banded factor of the graph would have few enough entries."""
    order = reverse_cuthill_mckee(adjacency, symmetric_mode=True)
    position = np.argsort(order)
    coo = adjacency.tocoo()
    bandwidth = int(np.abs(position[coo.row] - position[coo.col]).max())
    return bandwidth * adjacency.shape[0] <= MAX_BAND_ENTRIES


def _inverse(
    adjacency: csr_array,
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Solve with ``SHIFT I - A``, factored at the first use."""
    factors: list[Any] = []

    def apply(x: NDArray[np.float64]) -> NDArray[np.float64]:
        if not factors:
            shifted = (SHIFT * eye_array(adjacency.shape[0]) - adjacency).tocsc()
            symmetric = {"SymmetricMode": True}
            factors.append(
                splu(
                    shifted,
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options=symmetric,
                )
            )
        solved: NDArray[np.float64] = factors[0].solve(x)
        return solved

    return apply


def largest_vectors(
    operator: _Operator,
    trivial: NDArray[np.float64],
    n_pairs: int,
    budget: _Budget,
    rng: np.random.Generator,
) -> NDArray[np.float64] | None:
    """Lanczos vectors for the largest values, with a search for missed copies.

    Lanczos from one start vector sees one copy of a repeated eigenvalue and may
    settle for smaller ones instead of the others. So the vectors found are deflated
    and a fresh start looks for anything larger than the smallest one kept, until
    there is nothing. Returns None when a run does not converge.
    """
    accuracy = accuracy_for(len(trivial))
    found = trivial[:, None]
    values = np.empty(0)
    n_wanted = n_pairs
    for _ in range(n_pairs + 1):
        deflated = _deflate(operator, found)
        pairs = _lanczos(deflated, n_wanted, accuracy.tolerance, budget, rng)
        if pairs is None:
            return None
        values = np.concatenate([values, pairs[0]])
        # Directions found earlier keep their place: the new ones are orthogonal.
        found = np.linalg.qr(np.hstack([found, pairs[1]]))[0]
        smallest = np.sort(values)[-n_pairs]
        scale = operator.resolution(smallest)
        tolerance = min(1e-3, 0.1 * max(scale, 1e-9) / smallest)
        following = _lanczos(_deflate(operator, found), 1, tolerance, budget, rng)
        if following is None:
            return None
        if following[0][0] <= smallest + 1e-4 * scale + accuracy.slack:
            largest = np.argsort(-values, kind="stable")[:n_pairs]
            return found[:, 1:][:, largest]
        n_wanted = (n_pairs + 1) // 2
    return None


def _deflate(operator: _Operator, found: NDArray[np.float64]) -> LinearOperator:
    """Give the found directions the value 0, the least a positive operator has."""

    def matvec(x: NDArray[np.float64]) -> NDArray[np.float64]:
        rest = x.ravel() - found @ (found.T @ x.ravel())
        image = operator.apply(rest)
        return image - found @ (found.T @ image)

    shape = (len(found), len(found))
    return LinearOperator(shape, matvec=matvec, dtype=np.float64)


def _lanczos(
    operator: LinearOperator,
    n_pairs: int,
    tolerance: float,
    budget: _Budget,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Largest eigenpairs by ARPACK from a random start, or None if it stalls."""
    n_points = operator.shape[0]
    options: dict[str, Any] = {"rng": rng} if _EIGSH_TAKES_RNG else {}
    try:
        values, vectors = eigsh(
            operator,
            n_pairs,
            which="LA",
            v0=rng.standard_normal(n_points),
            ncv=min(budget.n_vectors, n_points - 1),
            maxiter=budget.n_restarts,
            tol=tolerance,
            **options,
        )
    except ArpackError:
        return None
    return values, vectors


def _rayleigh_ritz(
    adjacency: csr_array,
    trivial: NDArray[np.float64],
    vectors: NDArray[np.float64],
    n_pairs: int,
) -> Eigenpairs:
    """Best eigenpairs within the span of `vectors`, with their worst residual."""
    basis = np.linalg.qr(np.column_stack([trivial, vectors]))[0][:, 1:]
    values, rotation = np.linalg.eigh(basis.T @ (adjacency @ basis))
    values = values[::-1][:n_pairs]
    ritz = basis @ rotation[:, ::-1][:, :n_pairs]
    peaks = ritz[np.abs(ritz).argmax(axis=0), np.arange(n_pairs)]
    ritz = ritz * np.where(peaks < 0, -1.0, 1.0)
    residuals = np.linalg.norm(adjacency @ ritz - ritz * values, axis=0)
    return Eigenpairs(values, ritz, float(residuals.max()))
