"""The graph that was cut: its pieces and its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ekss.graph import spectral_embedding
from ekss.report._inputs import Inputs

# Up to so many points further eigenvalues are computed, to see a gap beyond K.
_FURTHER_UP_TO = 5000
_FURTHER = 4, 10
# Distances from 1 below this hardly differ.
_NEAR = 0.01


@dataclass(frozen=True)
class Spectrum:
    """Largest eigenvalues of the normalised graph.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n_eigenvalues,)
        In descending order.
    n_clusters : int
        Number of clusters that was asked for.
    gap : float or None
        Eigenvalue ``n_clusters`` less the next; None if it is not known.
    clearest_after : int
        How many eigenvalues come before the clearest drop, the first not counted: the
        number of clusters that it speaks for.
    clarity, best_clarity : float or None, float
        How clear the drops after ``n_clusters`` and after ``clearest_after`` are: the
        ratio of the distances of the two eigenvalues from 1, each plus 0.01.
    """

    eigenvalues: NDArray[np.float64]
    n_clusters: int
    gap: float | None
    clearest_after: int
    clarity: float | None
    best_clarity: float


@dataclass(frozen=True)
class Pieces:
    """Connected components of the graph: how many, their sizes, single points."""

    n_components: int
    sizes: tuple[int, ...]
    n_edges: int

    @property
    def n_single(self) -> int:
        """Points without any edge."""
        return sum(size == 1 for size in self.sizes)


def pieces_of(inputs: Inputs) -> Pieces | None:
    """Count the connected components, largest first."""
    graph = inputs.graph()
    if graph is None:
        return None
    count, component_of = connected_components(graph, directed=False)
    sizes = np.sort(np.bincount(component_of))[::-1]
    return Pieces(int(count), tuple(int(size) for size in sizes), graph.nnz // 2)


def spectrum_of(inputs: Inputs) -> Spectrum | None:
    """Take the eigenvalues of the cut, with a few more where they are cheap."""
    stored = getattr(inputs.estimator, "eigenvalues_", None)
    if stored is None or len(stored) < 2:
        return None
    values = np.asarray(stored, np.float64)
    graph = inputs.graph()
    if graph is not None and len(inputs.codes) <= _FURTHER_UP_TO:
        values = _further(graph, values)
    k = int(getattr(inputs.estimator, "n_clusters_", inputs.n_clusters))
    clarity = clarities(values)
    best = 1 + int(np.argmax(clarity[1:])) if len(clarity) > 1 else 0
    known = k < len(values)
    return Spectrum(
        values,
        k,
        float(values[k - 1] - values[k]) if known else None,
        best + 1,
        float(clarity[k - 1]) if known else None,
        float(clarity[best]),
    )


def clarities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """How clearly each eigenvalue lies above the next.

    Eigenvalues of clusters are near 1, those inside clusters are not, so distances
    from 1 are compared. Differences alone would not do: those among the eigenvalues
    inside clusters are often as large.

    Examples
    --------
    >>> import numpy as np
    >>> clarities(np.array([1.0, 0.99, 0.49])).round(2)
    array([ 2., 26.])
    """
    away = np.clip(1 - values, 0, None) + _NEAR
    return away[1:] / away[:-1]


def _further(graph: csr_array, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute more eigenvalues, unless the graph was changed before it was cut."""
    wanted = len(known) + int(np.clip(len(known) // 2, *_FURTHER))
    count = min(wanted, graph.shape[0])
    values = spectral_embedding(abs(graph), count, random_state=0).values
    same = len(values) >= len(known) and np.allclose(
        values[: len(known)], known, atol=1e-6
    )
    return values if same else known
