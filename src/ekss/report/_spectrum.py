"""The number of clusters: pieces and eigenvalues of the graph, scores of others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ekss.graph import spectral_embedding
from ekss.report import _figures as fig
from ekss.report._fitted import Inputs
from ekss.report._page import Panel
from ekss.theory import ordinal

if TYPE_CHECKING:
    from ekss.report._facts import Facts

_FURTHER_UP_TO = (
    5000  # points up to which eigenvalues beyond those of the cut are cheap
)
_FURTHER = 4, 10  # fewest and most of them, to see a gap beyond K
_NEAR = 0.01  # distances from 1 below this hardly differ
_MOST_STEMS = 30  # eigenvalues that have stems
_LEAST_APART = 20.0  # units between two numbers below an axis
_LEAST_HEIGHT = 0.05  # scores that differ by less stay visibly equal


@dataclass(frozen=True)
class Spectrum:
    """Largest eigenvalues of the normalised graph."""

    eigenvalues: NDArray[np.float64]  # (n_eigenvalues,): descending
    n_clusters: int  # number of clusters that was asked for
    # eigenvalue ``n_clusters`` less the next; None if it is not known
    gap: float | None
    # how many eigenvalues come before the clearest drop, the first not counted: the
    # number of clusters that it suggests
    clearest_after: int
    # how clear the drops after ``n_clusters`` and after ``clearest_after`` are: the
    # ratio of the distances of the two eigenvalues from 1, each plus 0.01
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
    graph = inputs.graph
    if graph is None:
        return None
    count, component_of = connected_components(graph, directed=False)
    sizes = np.sort(np.bincount(component_of))[::-1]
    return Pieces(int(count), tuple(int(size) for size in sizes), graph.nnz // 2)


def spectrum_of(inputs: Inputs) -> Spectrum | None:
    """Take the eigenvalues of the cut, with a few more where they are cheap."""
    values = inputs.eigenvalues
    if values is None or len(values) < 2:
        return None
    graph = inputs.graph
    if graph is not None and len(inputs.codes) <= _FURTHER_UP_TO:
        values = _further(graph, values)
    k = inputs.n_asked
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


def draw_eigenvalues(facts: Facts) -> Panel | None:
    """Draw the leading eigenvalues and mark the gap after K."""
    spectrum = facts.spectrum
    if spectrum is None:
        return None
    values, k = spectrum.eigenvalues, spectrum.n_clusters
    low = float(values.min())
    y_range = low - 0.06 * (1 - low), 1 + 0.04 * (1 - low)
    frame = fig.plot_frame((0.4, len(values) + 0.6), y_range)
    body = fig.grid(frame, fig.ticks(*frame.y_range, 4))
    for i in _whole_ticks(len(values)):
        body.append(fig.text(frame.x(i), frame.bottom + 16, str(i), anchor="middle"))
    body += fig.axis_labels(frame, "eigenvalue")
    if spectrum.gap is not None:
        left, right = frame.x(k), frame.x(k + 1)
        height = frame.bottom - frame.top
        body.append(fig.box(left, frame.top, right - left, height, "band"))
    few = len(values) <= _MOST_STEMS
    for i, value in enumerate(values[: len(values) * few], 1):
        kind = "stem" if i <= k else "stem after"
        body.append(
            fig.line(frame.x(i), frame.bottom, frame.x(i), frame.y(value), kind)
        )
    size = "big" if few else "mid"
    places = np.stack([np.arange(1, len(values) + 1), values], axis=1)
    body.append(fig.dots(frame, places[:k], f"{size} accent"))
    body.append(fig.dots(frame, places[k:], f"{size} faint"))
    gap = "unknown" if spectrum.gap is None else f"{spectrum.gap:.3g}"
    alt = (
        f"{len(values)} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}; gap "
        f"after {k}: {gap}; clearest drop after {spectrum.clearest_after}."
    )
    reading = (
        "Eigenvalues near 1 are groups of points that hardly touch. A clear drop after "
        f"the {ordinal(k)} (shaded, here {gap}) suggests {k} clusters. "
        f"{_about_pieces(facts)}"
    )
    drawing = fig.plot(frame, body, alt)
    return Panel("eigenvalues", "Eigenvalues and the gap", drawing, reading)


def draw_counts(facts: Facts) -> Panel | None:
    """Draw scores against numbers of clusters, and mark the one that was taken."""
    counts = facts.counts
    if counts is None:
        return None
    places = np.array(sorted(counts.considered), dtype=np.float64)
    numbers, scores = places.T
    frame = _counts_frame(numbers, scores)
    is_chosen = numbers == counts.chosen
    body = fig.grid(frame, fig.ticks(*frame.y_range, 4))
    if is_chosen.any():
        x = frame.x(counts.chosen)
        body.append(fig.box(x - 7, frame.top, 14, frame.bottom - frame.top, "band"))
    body += [
        fig.line(
            frame.x(a[0]), frame.y(a[1]), frame.x(b[0]), frame.y(b[1]), "stem after"
        )
        for a, b in pairwise(places)
    ]
    body.append(fig.dots(frame, places[~is_chosen], "mid faint"))
    body.append(fig.dots(frame, places[is_chosen], "big accent"))
    body += _numbers_below(frame, numbers, counts.chosen)
    body += fig.axis_labels(frame, "number of clusters")
    best = counts.considered[0][1]
    alt = (
        f"Scores of {len(numbers)} numbers of clusters from {numbers[0]:.0f} to "
        f"{numbers[-1]:.0f}; {counts.chosen} was taken, the lowest score is {best:.4g}."
    )
    drawing = fig.plot(frame, body, alt)
    return Panel("counts", "Number of clusters", drawing, _counts_reading(facts))


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


def _about_pieces(facts: Facts) -> str:
    spectrum, pieces = facts.spectrum, facts.pieces
    assert spectrum is not None
    if pieces is not None and pieces.n_components >= spectrum.n_clusters:
        return (
            f"The graph falls into {pieces.n_components:,} pieces, so as many "
            "eigenvalues are 1."
        )
    clearest = spectrum.clearest_after
    same = clearest == spectrum.n_clusters
    which = "This" if same else f"The drop after the {ordinal(clearest)}"
    return f"{which} is the clearest."


def _whole_ticks(count: int) -> list[int]:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 10**6) if count / s <= 16)
    return [1, *(i for i in range(step, count + 1, step) if i > 1)]


def _counts_frame(
    numbers: NDArray[np.float64], scores: NDArray[np.float64]
) -> fig.Frame:
    """Leave room on all sides; nearly equal scores stay visibly equal."""
    low, high = float(scores.min()), float(scores.max())
    missing = max(0.0, _LEAST_HEIGHT - (high - low)) / 2
    low, high = low - missing, high + missing
    room = 0.08 * (high - low)
    side = 0.04 * float(numbers[-1] - numbers[0]) or 1.0
    x_range = float(numbers[0]) - side, float(numbers[-1]) + side
    return fig.plot_frame(x_range, (low - room, high + room))


def _numbers_below(
    frame: fig.Frame, numbers: NDArray[np.float64], chosen: int
) -> list[str]:
    """Write the numbers that have room; the one that was taken always has."""
    wanted = sorted(numbers, key=lambda n: (n != chosen, n))
    body: list[str] = []
    taken: list[float] = []
    for number in wanted:
        x = frame.x(number)
        if all(abs(x - other) >= _LEAST_APART for other in taken):
            taken.append(x)
            body.append(
                fig.text(x, frame.bottom + 16, f"{number:.0f}", anchor="middle")
            )
    return body


def _counts_reading(facts: Facts) -> str:
    counts = facts.counts
    assert counts is not None
    words = (
        "Every number of clusters that was tried, by the score of its best cut: lower "
        f"is better, and {counts.chosen} (shaded) was taken. A flat curve means that "
        "the number is doubtful."
    )
    if counts.lead is None:
        return words
    second = counts.considered[1][0]
    return f"{words} The second best, {second}, lies {counts.lead:.2g} higher."
