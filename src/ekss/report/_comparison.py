"""The page of a comparison: methods side by side, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

import ekss
from ekss.metrics import adjusted_rand
from ekss.report import _figures as fig
from ekss.report._figures import Floats, Ints
from ekss.report._geometry import at_most
from ekss.report._layout import MOST_DOTS, square_frame
from ekss.report._page import (
    Notice,
    Panel,
    Report,
    Section,
    duration,
    part,
    percent,
    render,
)
from ekss.words import listed

VERSION = 1
KIND = "ekss comparison"
# Rules of thumb.
_AGREE = 0.9  # adjusted Rand index from which two methods found the same
_MUCH_ALIKE = 0.8  # share of points that all methods put alike
_CLEARLY_LOWER = 0.9  # ratio of residuals from which one is clearly the lower
_MOST_DISPUTED = 200  # points that are listed
_NONE = -1  # label of a point in no cluster


@dataclass(frozen=True)
class Contender:
    """One method of a comparison: what it found, or why it failed.

    Attributes
    ----------
    method : str
        Name of the method.
    seconds : float
        Time of the fit, without compilation.
    labels : ndarray of shape (n_samples,) or None
        Its clusters; None where it failed.
    residual : float or None
        Share of the energy outside subspaces fitted to its clusters.
    scores : mapping or None
        Scores against true labels, by name: "error", "nmi" and "ari".
    failed : str or None
        Why it failed.
    warnings : tuple of str
        What it warned of.

    Examples
    --------
    >>> from ekss.report import Contender
    >>> Contender("tsc", 0.0, failed="no luck today").failed
    'no luck today'
    """

    method: str
    seconds: float
    labels: NDArray[np.int64] | None = None
    residual: float | None = None
    scores: Mapping[str, float] | None = None
    failed: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Facts:
    """Everything that the page says, computed when it is first asked for."""

    contenders: tuple[Contender, ...]
    points: Floats
    ids: tuple[str, ...] | None
    dims: tuple[int, ...]
    affine: bool
    title: str
    source: str | None
    commands: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def done(self) -> tuple[Contender, ...]:
        """Those that did not fail."""
        return tuple(c for c in self.contenders if c.labels is not None)

    @cached_property
    def labels(self) -> list[Ints]:
        """Their labels."""
        return [c.labels for c in self.contenders if c.labels is not None]

    @cached_property
    def names(self) -> list[str]:
        """Their names."""
        return [c.method for c in self.done]

    @cached_property
    def reference(self) -> int:
        """The method whose numbers of clusters are used.

        Of those whose residual is about the lowest it is the one that agrees most with
        the others.
        """
        given = [np.inf if c.residual is None else c.residual for c in self.done]
        least = min(given)
        low = [r == least or _CLEARLY_LOWER * r <= least for r in given]
        agreed = self.agreements.sum(axis=1).round(6)
        return int(np.argmax(np.where(low, agreed, -np.inf)))

    @cached_property
    def codes(self) -> Ints:
        """(n_samples, n_methods): labels, with the numbers of the matched clusters."""
        first = self.labels[self.reference]
        return np.stack([matched(first, other) for other in self.labels], axis=1)

    @cached_property
    def shared(self) -> Ints:
        """(n_samples,): the most methods that put a point alike."""
        return np.max(
            [np.sum(self.codes == column[:, None], axis=1) for column in self.codes.T],
            axis=0,
        )

    @cached_property
    def alike(self) -> float:
        """Share of the points that all methods put alike."""
        return float(np.mean(self.shared == len(self.done)))

    @cached_property
    def agreements(self) -> Floats:
        """(n_methods, n_methods): adjusted Rand index of every pair."""
        values = np.eye(len(self.labels))
        for i, one in enumerate(self.labels):
            for j, other in enumerate(self.labels[:i]):
                values[i, j] = values[j, i] = adjusted_rand(one, other)
        return values

    @property
    def agreement(self) -> list[float | None]:
        """Mean agreement of each method with the others."""
        n = len(self.done)
        sums = self.agreements.sum(axis=1) - 1
        return [float(s) / (n - 1) if n > 1 else None for s in sums]

    @property
    def judged(self) -> str:
        """At which dimensions residuals were measured."""
        low, high = self.dims[0], self.dims[-1]
        span = str(low) if low == high else f"{low} to {high}"
        return f"{'affine' if self.affine else 'linear'} subspaces of dimension {span}"

    def row_name(self, row: int) -> str:
        return f"point {row}" if self.ids is None else self.ids[row]

    def cluster_name(self, code: int) -> str:
        return "none" if code == _NONE else str(code)


def compare(
    contenders: Iterable[Contender],
    points: ArrayLike,
    *,
    dims: Sequence[int],
    affine: bool = False,
    ids: Iterable[str] | None = None,
    title: str = "Comparison",
    source: str | None = None,
    commands: Mapping[str, str] | None = None,
) -> Report:
    """Describe what several methods found on the same points.

    Parameters
    ----------
    contenders : sequence of Contender
        The methods, in the order of the page; at least one that did not fail.
    points : array-like of shape (n_samples, n_features)
        The points as they were judged, for the map.
    dims : sequence of int
        Dimensions of the subspaces by which residuals were measured.
    affine : bool, default=False
        Whether these subspaces may miss the origin.
    ids : sequence of str, default=None
        Names of the points.
    title, source : str, default=None
        Heading of the page; where the points come from.
    commands : mapping, default=None
        What to type to look closer at a method, by its name.

    Returns
    -------
    report : Report
        With ``html``, ``summary`` and ``save(path)``.

    Examples
    --------
    >>> import numpy as np
    >>> from ekss.report import Contender, compare
    >>> points = np.eye(4)[[0, 0, 1, 1, 2]]
    >>> one = Contender("one", 0.1, np.array([0, 0, 1, 1, 1]), residual=0.2)
    >>> two = Contender("two", 0.2, np.array([1, 1, 0, 0, 1]), residual=0.3)
    >>> page = compare([one, two], points, dims=[1])
    >>> page.summary["alike"], [row["point"] for row in page.summary["disputed"]]
    (0.8, ['point 4'])
    """
    facts = _Facts(
        tuple(contenders),
        np.asarray(points, np.float64),
        None if ids is None else tuple(map(str, ids)),
        tuple(dims),
        affine,
        title,
        source,
        commands or {},
    )
    if not facts.done:
        raise ValueError("no method has labels; pass at least one that did not fail")
    html = render(
        facts,
        SECTIONS,
        title=title,
        lead=_lead(facts),
        good=_good(facts),
        notices=_doubts(facts),
        next_words=f"Look closer at {facts.names[facts.reference]}:",
        next_run=facts.commands.get(facts.names[facts.reference]),
        figures=_key_numbers(facts),
        footer="All numbers of this page are in the .json file beside it.",
        data=_map_data(facts),
    )
    return Report(html, _summary(facts))


def matched(first: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber clusters by those of another labelling with the most points in common.

    Clusters without a partner get numbers that the other does not have; points in no
    cluster stay there.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 7])).tolist()
    [0, 0, 1, 2]
    """
    names = np.unique(other[other != _NONE])
    most = int(max(first.max(), 0)) + 1
    counts = np.array(
        [[np.sum((other == b) & (first == a)) for a in range(most)] for b in names]
    ).reshape(len(names), most)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    numbers = {int(names[r]): int(c) for r, c in zip(rows, columns, strict=True)}
    for name in names.tolist():
        numbers.setdefault(name, max(most - 1, *numbers.values(), 0) + 1)
    numbers[_NONE] = _NONE
    return np.array([numbers[label] for label in other.tolist()], np.int64)


def draw_methods(facts: _Facts) -> Panel:
    """List the methods side by side."""
    scored = any(c.scores is not None for c in facts.contenders)
    headings = ["method", "time", "residual", "agreement"]
    headings += ["error", "NMI", "ARI"] * scored + ["points per cluster"]
    agreement = dict(zip(facts.names, facts.agreement, strict=True))
    rows = []
    for c in facts.contenders:
        if c.labels is None:
            cells = [(c.method, ""), (duration(c.seconds), c.seconds), ("failed", "")]
            rows.append((cells + [("", "")] * (len(headings) - 4), [(c.failed, "")]))
            continue
        cells = [
            (c.method, ""),
            (duration(c.seconds), c.seconds),
            _cell(c.residual, percent),
            _cell(agreement[c.method], "{:.3f}".format),
        ]
        if scored:
            of = c.scores or {}
            cells.append(_cell(of.get("error"), percent))
            cells += [_cell(of.get(s), "{:.3f}".format) for s in ("nmi", "ari")]
        sizes = np.sort(np.bincount(c.labels[c.labels != _NONE]))[::-1].tolist()
        shown = [f"{size:,}" for size in sizes[:12]] + ["…"] * (len(sizes) > 12)
        rows.append((cells, [(" ".join(shown), "")]))
    body = part(
        "value_table",
        headings=headings,
        rows=[[*cells, *last] for cells, last in rows],
        kind="methods",
        filter="",
    )
    reading = fig.Html(
        "<em>Time</em>: of the fit alone, after a small trial fit, so that compilation "
        "is not counted. <em>Residual</em>: the judge that needs no labels: share of "
        f"the energy outside {facts.judged} fitted to the clusters, the same for all "
        "methods; a low one is necessary for good clusters, not sufficient. "
        "<em>Agreement</em>: mean adjusted Rand index with the other methods."
    )
    return Panel("methods", "", body, reading, wide=True)


def draw_pairs(facts: _Facts) -> Panel | None:
    """Draw how far every pair of methods agrees."""
    if len(facts.done) < 2:
        return None
    values, names = facts.agreements, facts.names
    off = values[~np.eye(len(values), dtype=bool)]
    cells = [[f"{v:.2f}" for v in row] for row in values]
    shades = np.where(np.eye(len(values), dtype=bool), np.nan, np.clip(values, 0, 1))
    alt = (
        f"Adjusted Rand index of {len(names)} methods, from {off.min():.2f} to "
        f"{off.max():.2f}."
    )
    reading = (
        "Adjusted Rand index of two methods: 1 if they found the same clusters, 0 if "
        "they agree as chance would. Methods that agree may still share a mistake."
    )
    drawing = fig.heat_map(shades, cells, names, names, alt)
    return Panel("pairs", "Which methods agree", drawing, reading)


def draw_dispute(facts: _Facts) -> Panel:
    """Draw the points in the plane; crosses are those that methods dispute."""
    rows, places, frame = _places(facts)
    codes = facts.codes[rows, facts.reference]
    body = []
    for code in np.unique(codes).tolist():
        mine = fig.dots(frame, places[codes == code], fig.colour(max(code, 0)))
        body.append(fig.group([mine], max(code, 0)))
    disputed = facts.shared[rows] < len(facts.done)
    body.append(fig.crosses(frame, places[disputed], 2.5))
    body.append(fig.tag("circle", r="6", class_="here"))
    alt = (
        f"{len(rows)} points in the plane, {int(disputed.sum())} of them disputed by "
        "methods."
    )
    some = "" if len(rows) == len(facts.points) else f" (a sample of {len(rows):,})"
    reading = (
        f"One dot per point{some} along the two directions in which the points vary "
        f"most, coloured by the clusters of {facts.names[facts.reference]}: of the "
        "methods with about the lowest residual, the one that agrees most with the "
        "others. Crosses are points that the methods do not all put alike."
    )
    return Panel(
        "map", "Where they disagree", fig.svg(fig.SIDE, fig.SIDE, body, alt), reading
    )


def draw_shared(facts: _Facts) -> Panel | None:
    """List for each cluster how many of its points all methods put alike."""
    if len(facts.done) < 2:
        return None
    own, everyone = facts.codes[:, facts.reference], len(facts.done)
    rows = []
    for code in np.unique(own).tolist():
        mine = own == code
        sure = float(np.mean(facts.shared[mine] == everyone))
        elsewhere = facts.codes[mine]
        elsewhere = elsewhere[elsewhere != code]
        rival = "" if not elsewhere.size else facts.cluster_name(_commonest(elsewhere))
        rows.append(
            [
                (facts.cluster_name(code), ""),
                (f"{int(mine.sum()):,}", int(mine.sum())),
                (percent(sure, 0), sure),
                (rival, ""),
            ]
        )
    headings = ["cluster", "points", "all methods agree", "else mostly in"]
    body = part("value_table", headings=headings, rows=rows, kind="numbers", filter="")
    reading = (
        f"Clusters of {facts.names[facts.reference]}. Those of the other methods are "
        "matched to them so that most points agree; a number above those of this "
        "table is a cluster without a partner."
    )
    return Panel("shared", "Where they agree", body, reading)


def draw_disputed(facts: _Facts) -> Panel | None:
    """List the points that methods disagree about, with the cluster of each method."""
    rows = _disputed(facts)
    if not len(rows):
        return None
    shown = rows[:_MOST_DISPUTED]
    cells = [
        [
            (facts.row_name(row), ""),
            (f"{facts.shared[row]} of {len(facts.done)}", int(facts.shared[row])),
            *((facts.cluster_name(code), "") for code in facts.codes[row].tolist()),
        ]
        for row in shown.tolist()
    ]
    headings = ["point", "methods that agree", *facts.names]
    body = part(
        "value_table", headings=headings, rows=cells, kind="tall", filter="points"
    )
    count = f"{len(rows):,} points are disputed"
    if len(shown) < len(rows):
        count += f"; the {len(shown)} most disputed are listed"
    reading = f"{count}. Clusters have the numbers of the table above."
    title = "Which points they disagree about"
    return Panel("disputed", title, body, reading, wide=True)


SECTIONS = (
    Section("Methods side by side", (draw_methods,)),
    Section("Agreement", (draw_pairs, draw_dispute, draw_shared, draw_disputed)),
)


def _commonest(values: Ints) -> int:
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def _cell(value: float | None, write: Any) -> tuple[str, Any]:
    return ("-", "") if value is None else (write(value), value)


def _disputed(facts: _Facts) -> Ints:
    """Points that not all methods put alike, the most disputed first."""
    rows = np.flatnonzero(facts.shared < len(facts.done))
    return rows[np.argsort(facts.shared[rows], kind="stable")]


def _places(facts: _Facts) -> tuple[Ints, Floats, fig.Frame]:
    """Points that are drawn, and where."""
    rows = at_most(np.arange(len(facts.points)), MOST_DOTS)
    centred = facts.points[rows] - facts.points[rows].mean(axis=0)
    vectors = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    places = centred @ np.pad(vectors, ((0, 0), (0, 2 - vectors.shape[1])))
    return rows, places, square_frame(places)


def _map_data(facts: _Facts) -> dict[str, Any]:
    """Return what the script of the page says about the dots."""
    rows, places, frame = _places(facts)
    codes = np.maximum(facts.codes[:, facts.reference], 0)
    dots: dict[str, Any] = {
        "x": [round(frame.x(x), 1) for x in places[:, 0]],
        "y": [round(frame.y(y), 1) for y in places[:, 1]],
        "row": rows.tolist(),
        "k": codes[rows].tolist(),
        "told": [
            [
                f"{name}: {facts.cluster_name(code)}"
                for name, code in zip(facts.names, codes_of_row, strict=True)
            ]
            for codes_of_row in facts.codes[rows].tolist()
        ],
    }
    if facts.ids is not None:
        dots["id"] = [facts.ids[row] for row in rows]
    return {"names": [str(k) for k in range(int(codes.max()) + 1)], "dots": dots}


def _lead(facts: _Facts) -> str:
    data = f" Data: {facts.source}" if facts.source else ""
    n, count = len(facts.points), len(facts.contenders)
    return f"{count} methods on the same {n:,} points.{data}"


def _good(facts: _Facts) -> list[str]:
    told, names = [], facts.names
    if len(names) > 1:
        friends = [
            name
            for name, row in zip(names, facts.agreements, strict=True)
            if np.sum(row >= _AGREE) > 1
        ]
        if friends:
            told.append(
                f"{listed(friends)} found nearly the same clusters as another method."
            )
        if facts.alike >= _MUCH_ALIKE:
            told.append(f"All methods put {percent(facts.alike, 0)} of points alike.")
        told += _clear_winner(facts)
    return told


def _clear_winner(facts: _Facts) -> list[str]:
    """Name the method whose residual is clearly the lowest, if there is one."""
    judged = sorted(
        (c.residual, c.method) for c in facts.done if c.residual is not None
    )
    if len(judged) < 2 or judged[0][0] >= _CLEARLY_LOWER * judged[1][0]:
        return []
    (least, best), (more, second) = judged[:2]
    return [
        f"{best} has clearly the lowest residual, {percent(least)} outside "
        f"{facts.judged}; next is {second} with {percent(more)}."
    ]


def _doubts(facts: _Facts) -> list[Notice]:
    found = [
        Notice("failed", "warning", f"{c.method} failed", c.failed)
        for c in facts.contenders
        if c.failed is not None
    ]
    if len(facts.done) > 1 and facts.alike < _MUCH_ALIKE:
        found.append(
            Notice(
                "disputed",
                "warning",
                f"The methods put only {percent(facts.alike, 0)} of the points alike",
                "Do not rely on one of them alone: look at the points that they "
                "dispute, and at the pairs that agree.",
            )
        )
    found += [
        Notice("method", "note", f"{c.method} warned", words)
        for c in facts.done
        for words in c.warnings
    ]
    return found


def _key_numbers(facts: _Facts) -> list[tuple[str, str]]:
    best = facts.done[facts.reference]
    figures = [("points all put alike", percent(facts.alike, 0))]
    if best.residual is not None:
        figures += [
            ("lowest residual", f"{best.method}, {percent(best.residual)}"),
        ]
    fastest = min(facts.done, key=lambda c: c.seconds)
    figures.append(("fastest", f"{fastest.method}, {duration(fastest.seconds)}"))
    scored = [(c.scores["error"], c.method) for c in facts.done if c.scores]
    if scored:
        error, name = min(scored)
        figures.append(("lowest error", f"{name}, {percent(error)}"))
    return figures


def _summary(facts: _Facts) -> dict[str, Any]:
    agreement = dict(zip(facts.names, facts.agreement, strict=True))
    return {
        "kind": KIND,
        "version": VERSION,
        "ekss": ekss.__version__,
        "title": facts.title,
        "source": facts.source,
        "n_samples": len(facts.points),
        "judged_dims": list(facts.dims),
        "affine": facts.affine,
        "alike": facts.alike,
        "reference": facts.names[facts.reference],
        "methods": [
            {
                "method": c.method,
                "seconds": c.seconds,
                "residual": c.residual,
                "agreement": agreement.get(c.method),
                "scores": None if c.scores is None else dict(c.scores),
                "failed": c.failed,
                "warnings": list(c.warnings),
            }
            for c in facts.contenders
        ],
        "agreements": {"methods": facts.names, "ari": facts.agreements.tolist()},
        "disputed": [
            {
                "point": facts.row_name(row),
                "agree": int(facts.shared[row]),
                "clusters": dict(
                    zip(facts.names, facts.codes[row].tolist(), strict=True)
                ),
            }
            for row in _disputed(facts)[:_MOST_DISPUTED].tolist()
        ],
    }
