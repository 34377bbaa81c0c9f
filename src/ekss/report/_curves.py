"""Eigenvalues, agreement and distances: pictures of numbers in a row."""

from __future__ import annotations

import numpy as np

from ekss.report._facts import Cluster, Facts
from ekss.report._picture import SIDE, Picture, grid, rule
from ekss.report._svg import Frame, box, colour, dots, line, steps, svg, text, ticks

_MOST_STRIPS = 24
_MOST_STEMS = 30


_AGREEMENT_TITLE = {
    "members": "Stability over members",
    "graph": "Edges that stay in the cluster",
    "subspaces": "How clearly the own subspace is nearest",
}
_AGREEMENT_AXIS = {
    "members": "0: as often with another cluster; 1: with no other",
    "graph": "share of affinity that stays in the cluster",
    "subspaces": "0: another subspace is as near; 1: on its own",
}


def draw_eigenvalues(facts: Facts) -> Picture | None:
    """Draw the leading eigenvalues and mark the gap after K."""
    spectrum = facts.spectrum
    if spectrum is None:
        return None
    values, k = spectrum.eigenvalues, spectrum.n_clusters
    low = float(values.min())
    frame = Frame(
        52,
        14,
        SIDE - 12,
        260,
        (0.4, len(values) + 0.6),
        (low - 0.06 * (1 - low), 1 + 0.04 * (1 - low)),
    )
    body = grid(frame, ticks(*frame.y_range, 4), [])
    for i in _whole_ticks(len(values)):
        body.append(text(frame.x(i), frame.bottom + 16, str(i), anchor="middle"))
    body.append(text(230, frame.bottom + 34, "eigenvalue", anchor="middle", kind="m"))
    if spectrum.gap is not None:
        body.append(_gap_band(frame, k))
    few = len(values) <= _MOST_STEMS
    for i, value in enumerate(values[: len(values) * few], 1):
        kind = "stem" if i <= k else "stem after"
        body.append(line(frame.x(i), frame.bottom, frame.x(i), frame.y(value), kind))
    size = "big" if few else "mid"
    places = np.stack([np.arange(1, len(values) + 1), values], axis=1)
    body.append(dots(frame, places[:k], f"{size} accent"))
    body.append(dots(frame, places[k:], f"{size} faint"))
    gap = "unknown" if spectrum.gap is None else f"{spectrum.gap:.3g}"
    alt = (
        f"{len(values)} eigenvalues from {values[0]:.4g} to {values[-1]:.4g}; gap "
        f"after {k}: {gap}; clearest drop after {spectrum.clearest_after}."
    )
    reading = (
        "Eigenvalues near 1 are groups of points that hardly touch. A clear drop after "
        f"the {_ordinal(k)} (shaded, here {gap}) speaks for {k} clusters. "
        f"{_about_pieces(facts)}"
    )
    drawing = svg(SIDE, frame.bottom + 42, body, alt, "plot")
    return Picture("eigenvalues", "Eigenvalues and the gap", drawing, reading)


def draw_agreement(facts: Facts) -> Picture:
    """Draw how far the points of each cluster agree with it."""
    clusters = facts.clusters[:_MOST_STRIPS]
    row, top = (22.0 if len(clusters) <= 16 else 15.0), 84.0
    bottom = top + row * len(clusters) + 6
    frame = Frame(40, top, SIDE - 14, bottom, (0, 1), (0, 1))
    counts = np.histogram(facts.agreement.values, 40, (0, 1))[0]
    upper = Frame(40, 8, SIDE - 14, 72, (0, 1), (0, max(int(counts.max()), 1)))
    body = [steps(upper, counts.tolist(), "bars"), rule(upper)]
    body += grid(frame, [], ticks(0, 1))
    for i, cluster in enumerate(clusters):
        middle = top + 6 + row * (i + 0.5)
        body.append(text(34, middle + 4, str(cluster.name), anchor="end"))
        body += _strip(frame, middle, row, cluster, colour(i))
    label = _AGREEMENT_AXIS[facts.agreement.source]
    body.append(text(223, bottom + 34, label, anchor="middle", kind="m"))
    medians = [cluster.agreement for cluster in facts.clusters]
    alt = (
        f"Agreement of points with their cluster: medians of the clusters from "
        f"{min(medians):.2f} to {max(medians):.2f}."
    )
    drawing = svg(SIDE, bottom + 42, body, alt, "plot")
    title = _AGREEMENT_TITLE[facts.agreement.source]
    return Picture("agreement", title, drawing, _agreement_reading(facts))


def draw_histogram(facts: Facts, position: int) -> str:
    """Draw the distances of one cluster to its subspace, small, for the table."""
    counts = facts.residuals.counts[position]
    frame = Frame(1, 2, 119, 26, (0, 1), (0, max(int(counts.max()), 1)))
    cluster = facts.clusters[position]
    alt = (
        f"Distances of cluster {cluster.name} to its subspace: median "
        f"{cluster.residual_median:.3g}, 90 % below {cluster.residual_high:.3g}, axis "
        f"to {facts.residuals.edges[-1]:.3g}."
    )
    body = [steps(frame, counts.tolist(), f"fill {colour(position)}"), rule(frame)]
    return svg(120, 28, body, alt, "spark")


def _agreement_reading(facts: Facts) -> str:
    how = {
        "members": "How much more often members put a point with its own cluster than "
        "with the next best one: 0 if as often, 1 if never with another.",
        "graph": "The share of a point's affinity that stays inside its cluster: 1 if "
        "it is joined to its own cluster alone.",
        "subspaces": "1 for a point on its own subspace, 0 for one that lies as near "
        "to another.",
    }[facts.agreement.source]
    more = (
        f" The {_MOST_STRIPS} largest clusters are shown."
        if len(facts.clusters) > _MOST_STRIPS
        else ""
    )
    return (
        f"{how} Top: all points. Below, for each cluster: the line spans the middle "
        f"80 % of its points, the bar the middle half, the tick is the median.{more}"
    )


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
    which = "This" if same else f"The drop after the {_ordinal(clearest)}"
    return f"{which} is the clearest."


def _gap_band(frame: Frame, k: int) -> str:
    left, right = frame.x(k), frame.x(k + 1)
    height = frame.bottom - frame.top
    return box(left, frame.top, right - left, height, "band")


def _whole_ticks(count: int) -> list[int]:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 10**6) if count / s <= 16)
    return [1, *(i for i in range(step, count + 1, step) if i > 1)]


def _strip(
    frame: Frame, middle: float, row: float, cluster: Cluster, kind: str
) -> list[str]:
    low, high = frame.x(cluster.agreement_low), frame.x(cluster.agreement_high)
    first, third = (frame.x(value) for value in cluster.agreement_quarters)
    half = row * 0.26
    median = frame.x(cluster.agreement)
    return [
        line(low, middle, high, middle, f"whisker {kind}"),
        box(first, middle - half, max(third - first, 1), 2 * half, f"fill {kind}"),
        line(median, middle - half - 2, median, middle + half + 2, "median"),
    ]


def _ordinal(n: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{'th' if 10 <= n % 100 <= 20 else ending}"
