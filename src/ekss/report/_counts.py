"""A picture of the numbers of clusters that were considered."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ekss.report._facts import Facts
from ekss.report._picture import SIDE, Picture, grid
from ekss.report._svg import Frame, box, dots, line, svg, text, ticks

_BOTTOM = 260.0
_LEFT = 52.0
_LEAST_APART = 20.0
_LEAST_HEIGHT = 0.05


def draw_counts(facts: Facts) -> Picture | None:
    """Draw scores against numbers of clusters, and mark the one that was taken."""
    counts = facts.counts
    if counts is None:
        return None
    places = np.array(sorted(counts.considered), dtype=np.float64)
    numbers, scores = places.T
    frame = _frame(numbers, scores)
    is_chosen = numbers == counts.chosen
    body = grid(frame, ticks(*frame.y_range, 4), [])
    if is_chosen.any():
        x = frame.x(counts.chosen)
        body.append(box(x - 7, frame.top, 14, frame.bottom - frame.top, "band"))
    body += [
        line(frame.x(a[0]), frame.y(a[1]), frame.x(b[0]), frame.y(b[1]), "stem after")
        for a, b in pairwise(places)
    ]
    body.append(dots(frame, places[~is_chosen], "mid faint"))
    body.append(dots(frame, places[is_chosen], "big accent"))
    body += _numbers_below(frame, numbers, counts.chosen)
    label = "number of clusters"
    body.append(text(230, frame.bottom + 34, label, anchor="middle", kind="m"))
    best = counts.considered[0][1]
    alt = (
        f"Scores of {len(numbers)} numbers of clusters from {numbers[0]:.0f} to "
        f"{numbers[-1]:.0f}; {counts.chosen} was taken, the lowest score is {best:.4g}."
    )
    drawing = svg(SIDE, frame.bottom + 42, body, alt, "plot")
    return Picture("counts", "Number of clusters", drawing, _reading(facts))


def _frame(numbers: np.ndarray, scores: np.ndarray) -> Frame:
    """Leave room on all sides; nearly equal scores stay visibly equal."""
    low, high = float(scores.min()), float(scores.max())
    missing = max(0.0, _LEAST_HEIGHT - (high - low)) / 2
    low, high = low - missing, high + missing
    room = 0.08 * (high - low)
    side = 0.04 * float(numbers[-1] - numbers[0]) or 1.0
    return Frame(
        _LEFT,
        14,
        SIDE - 12,
        _BOTTOM,
        (float(numbers[0]) - side, float(numbers[-1]) + side),
        (low - room, high + room),
    )


def _numbers_below(frame: Frame, numbers: np.ndarray, chosen: int) -> list[str]:
    """Write the numbers that have room; the one that was taken always has."""
    wanted = sorted(numbers, key=lambda n: (n != chosen, n))
    body: list[str] = []
    taken: list[float] = []
    for number in wanted:
        x = frame.x(number)
        if all(abs(x - other) >= _LEAST_APART for other in taken):
            taken.append(x)
            body.append(text(x, frame.bottom + 16, f"{number:.0f}", anchor="middle"))
    return body


def _reading(facts: Facts) -> str:
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
