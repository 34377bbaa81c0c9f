"""The number of clusters: pieces and eigenvalues of the graph, scores of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ekss.graph import spectral_embedding
from ekss.report import _figures as fig
from ekss.report._figures import Floats
from ekss.report._fitted import Inputs
from ekss.report._page import Panel
from ekss.words import ordinal

if TYPE_CHECKING:
    from ekss.report._facts import Facts

# Points up to which eigenvalues beyond those of the cut are cheap.
_FURTHER_UP_TO = 5000
_FURTHER = 4, 10  # fewest and most of them, to see a gap beyond K
_NEAR = 0.01  # distances from 1 below this hardly differ
_MOST_STEMS = 30  # eigenvalues that have stems
_LEAST_APART = 20.0  # units between two numbers below an axis
_LEAST_HEIGHT = 0.05  # scores that differ by less stay visibly equal


@dataclass(frozen=True)
class Spectrum:
    """Largest eigenvalues of the normalised graph."""

    eigenvalues: Floats  # (n_eigenvalues,): descending
    n_clusters: int  # number of clusters that was asked for
    gap: float | None  # eigenvalue ``n_clusters`` less the next; None if not known
    # how many eigenvalues come before the clearest drop, the first not counted: the
    # number of clusters that it suggests
    clearest_after: int
    # how clear the drops after ``n_clusters`` and after ``clearest_after`` are
    clarity: float | None
    best_clarity: float


@dataclass(frozen=True)
class Pieces:
    """Connected components of the graph."""

    sizes: tuple[int, ...]  # the largest first
    n_edges: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.sizes)

    @property
    def n_single(self) -> int:
        """Points without any edge."""
        return self.sizes.count(1)


def pieces_of(inputs: Inputs) -> Pieces | None:
    """Count the connected components, largest first."""
    graph = inputs.graph
    if graph is None:
        return None
    component_of = connected_components(graph, directed=False)[1]
    sizes = np.sort(np.bincount(component_of))[::-1]
    return Pieces(tuple(sizes.tolist()), graph.nnz // 2)


def spectrum_of(inputs: Inputs) -> Spectrum | None:
    """Take the eigenvalues of the cut, with a few more where they are cheap."""
    values, graph, k = inputs.eigenvalues, inputs.graph, inputs.n_asked
    if values is None or len(values) < 2:
        return None
    if graph is not None and inputs.n_samples <= _FURTHER_UP_TO:
        values = _further(graph, values)
    clarity = clarities(values)
    best = 1 + int(np.argmax(clarity[1:])) if len(clarity) > 1 else 0
    gap = own = None
    if k < len(values):
        gap, own = float(values[k - 1] - values[k]), float(clarity[k - 1])
    return Spectrum(values, k, gap, best + 1, own, float(clarity[best]))


def clarities(values: Floats) -> Floats:
    """How clearly each eigenvalue lies above the next.

    Eigenvalues of clusters are near 1, those inside clusters are not, so distances
    from 1 are compared: their ratio, each plus 0.01. Differences alone would not do:
    those among the eigenvalues inside clusters are often as large.
    """
    away = np.clip(1 - values, 0, None) + _NEAR
    return away[1:] / away[:-1]


def _further(graph: csr_array, known: Floats) -> Floats:
    """Compute more eigenvalues, unless the graph was changed before it was cut."""
    wanted = len(known) + int(np.clip(len(known) // 2, *_FURTHER))
    count = min(wanted, graph.shape[0])
    values = spectral_embedding(abs(graph), count, random_state=0).values
    begins = values[: len(known)]
    same = len(begins) == len(known) and np.allclose(begins, known, atol=1e-6)
    return values if same else known


def draw_eigenvalues(facts: Facts) -> Panel | None:
    """Draw the leading eigenvalues and mark the gap after K."""
    spectrum = facts.spectrum
    if spectrum is None:
        return None
    values, k = spectrum.eigenvalues, spectrum.n_clusters
    n, low = len(values), float(values.min())
    y_range = low - 0.06 * (1 - low), 1 + 0.04 * (1 - low)
    frame = fig.plot_frame((0.4, n + 0.6), y_range)
    body = fig.grid(frame, fig.ticks(*y_range, 4))
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 10**6) if n / s <= 16)
    for i in [1, *(i for i in range(step, n + 1, step) if i > 1)]:
        body.append(fig.text(frame.x(i), frame.bottom + 16, str(i), anchor="middle"))
    body += fig.axis_labels(frame, "eigenvalue")
    if spectrum.gap is not None:
        left, right = frame.x(k), frame.x(k + 1)
        height = frame.bottom - frame.top
        body.append(fig.box(left, frame.top, right - left, height, "band"))
    few = n <= _MOST_STEMS
    for i, value in enumerate(values[: n * few], 1):
        x, kind = frame.x(i), "stem" if i <= k else "stem after"
        body.append(fig.line(x, frame.bottom, x, frame.y(value), kind))
    size = "big" if few else "mid"
    places = np.stack([np.arange(1, n + 1), values], axis=1)
    body.append(fig.dots(frame, places[:k], f"{size} accent"))
    body.append(fig.dots(frame, places[k:], f"{size} faint"))
    gap = "unknown" if spectrum.gap is None else f"{spectrum.gap:.3g}"
    alt = (
        f"{n} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}; gap after {k}: "
        f"{gap}; clearest drop after {spectrum.clearest_after}."
    )
    reading = (
        "Eigenvalues near 1 are groups of points that hardly touch. A clear drop after "
        f"the {ordinal(k)} (shaded, here {gap}) suggests {k} clusters. "
    )
    if facts.pieces is not None and facts.pieces.count >= k:
        reading += (
            f"The graph falls into {facts.pieces.count:,} pieces, so as many "
            "eigenvalues are 1."
        )
    elif spectrum.clearest_after == k:
        reading += "This is the clearest."
    else:
        after = ordinal(spectrum.clearest_after)
        reading += f"The drop after the {after} is the clearest."
    drawing = fig.plot(frame, body, alt)
    return Panel("eigenvalues", "Eigenvalues and the gap", drawing, reading)


def draw_counts(facts: Facts) -> Panel | None:
    """Draw scores against numbers of clusters, and mark the one that was taken."""
    counts, chosen = facts.inputs.counts, facts.inputs.n_asked
    if not counts:
        return None
    places = np.array(sorted(counts), dtype=np.float64)
    numbers = places[:, 0]
    frame = _counts_frame(places)
    body = fig.grid(frame, fig.ticks(*frame.y_range, 4))
    if chosen in numbers:
        left, height = frame.x(chosen) - 7, frame.bottom - frame.top
        body.append(fig.box(left, frame.top, 14, height, "band"))
    body.append(fig.curve(frame, places, "stem after"))
    body.append(fig.dots(frame, places[numbers != chosen], "mid faint"))
    body.append(fig.dots(frame, places[numbers == chosen], "big accent"))
    taken: list[float] = []
    # The number that was taken has room below the axis, others where there is some.
    for number in sorted(numbers, key=lambda n: (n != chosen, n)):
        x = frame.x(number)
        if all(abs(x - other) >= _LEAST_APART for other in taken):
            taken.append(x)
            below = frame.bottom + 16
            body.append(fig.text(x, below, f"{number:.0f}", anchor="middle"))
    body += fig.axis_labels(frame, "number of clusters")
    alt = (
        f"Scores of {len(numbers)} numbers of clusters from {numbers[0]:.0f} to "
        f"{numbers[-1]:.0f}; {chosen} was taken, the lowest score is "
        f"{counts[0][1]:.4g}."
    )
    reading = (
        "Every number of clusters that was tried, by the score of its best cut: lower "
        f"is better, and {chosen} (shaded) was taken. A flat curve means that the "
        "number is doubtful."
    )
    if len(counts) > 1:
        (_, best), (second, score) = counts[:2]
        reading += f" The second best, {second}, lies {score - best:.2g} higher."
    return Panel("counts", "Number of clusters", fig.plot(frame, body, alt), reading)


def _counts_frame(places: Floats) -> fig.Frame:
    """Leave room on all sides; nearly equal scores stay visibly equal."""
    (left, low), (right, high) = places.min(axis=0), places.max(axis=0)
    missing = max(0.0, _LEAST_HEIGHT - (high - low)) / 2
    low, high = low - missing, high + missing
    room, side = 0.08 * (high - low), 0.04 * (right - left) or 1.0
    return fig.plot_frame((left - side, right + side), (low - room, high + room))
