"""The page about recovery guarantees: which hold here, and what would help others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import ekss
from ekss.report import _figures as fig
from ekss.report._fitted import assess_methods
from ekss.report._geometry import affinities_panel, angles_panel
from ekss.report._page import (
    Level,
    Notice,
    Panel,
    Report,
    Section,
    part,
    render,
    table,
)
from ekss.theory import (
    HOLDS,
    Answer,
    Assessment,
    Certificate,
    Explanation,
    WorstPoint,
    explain,
    labelled_case,
)
from ekss.words import number, ordinal, percent

VERSION = 2
_MOST_CLUSTERS = 100  # of a heat map in which colours can be told apart
_MOST_POINTS = 6  # of the worst points
_N_SHOWN = 200  # points of a drawn curve
_WORDS = {
    "false connection": "an edge of the graph between points of different clusters.",
    "q": "each point is joined to the q points most similar to it. TSC compares points "
    "by angle, EKSS-0 by votes.",
    "EKSS-0, members, votes": "each member draws random candidate subspaces and "
    "assigns every point to the nearest one; the vote of two points is the share of "
    "members that put them together. EKSS goes on to improve the candidates; the "
    "guarantees are about EKSS-0.",
    "f": "the vote that two points at a given angle get from infinitely many members.",
    "gap, separation phi_q": "the gap of a point is half the difference between its "
    "similarity to the q-th nearest point of its own cluster and that to the nearest "
    "point of any other. The separation is the smallest gap; below 0, some point is "
    "nearer to another cluster.",
    "deviation tau": "the largest difference between a vote and f.",
    "affinity": "how close two subspaces are: 0 if orthogonal, 1 if one contains the "
    "other. It is computed from their principal angles.",
    "correct clustering": "no false connections and every cluster connected: then the "
    "cut of the graph finds exactly the clusters (Proposition 1).",
}


@dataclass(frozen=True)
class Guarantees:
    """The recovery guarantees of one labelled data set.

    Attributes
    ----------
    title : str
        Heading of the page.
    settings : tuple of (str, str)
        What was assessed, by name.
    assessment : Assessment
        Every guarantee evaluated, as numbers.
    explanation : Explanation
        The same in words.
    ids : tuple of str or None
        Names of the points.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> page = guarantees(X, y, n_members=50)
    >>> page.named(3), page.summary["kind"]
    ('3', 'ekss guarantees')
    """

    title: str
    settings: tuple[tuple[str, str], ...]
    assessment: Assessment
    explanation: Explanation
    ids: tuple[str, ...] | None

    def named(self, index: int) -> str:
        """Return the row of a point, and its name where it has one.

        Parameters
        ----------
        index : int
            Number of the row.

        Returns
        -------
        name : str
            As it is written in tables.
        """
        return f"{index} ({self.ids[index]})" if self.ids else str(index)

    def cells(self, point: WorstPoint) -> tuple[str, ...]:
        """Return a point and its rival as they are written in a table.

        Parameters
        ----------
        point : WorstPoint
            One of the points with the smallest gaps.

        Returns
        -------
        cells : tuple of str
            One for each column.
        """
        return (
            self.named(point.index),
            str(point.cluster),
            f"{point.near:.4f}",
            f"{point.far:.4f}",
            self.named(point.rival),
            str(point.rival_cluster),
        )

    @property
    def summary(self) -> dict[str, Any]:
        """All numbers of the page, fit for JSON; what is not finite is None."""
        a, words, case = self.assessment, self.explanation, self.assessment.case
        tsc, ekss0 = ({**vars(c)} for c in (a.tsc, a.votes))
        del tsc["gaps"], ekss0["gaps"]  # one per point
        return _plain(
            {
                "kind": "ekss guarantees",
                "version": VERSION,
                "ekss": ekss.__version__,
                "title": self.title,
                "n_samples": case.situation.n_samples,
                **vars(case.situation),
                "n_candidates": case.n_candidates,
                "candidate_dim": case.candidate_dim,
                "seed": case.seed,
                "failure": case.failure,
                "n_rows_compared": len(case.rows),
                "tolerated_missing": a.tolerated_missing,
                "affinities": case.pairs.affinities,
                "largest_cosines": case.pairs.cosines,
                "closest_angles": case.pairs.angles,
                "clusters": words.clusters,
                "certificates": {"tsc": tsc, "ekss0": ekss0},
                "graphs": {"tsc": a.tsc_graph, "ekss0": a.votes_graph},
                "promise": a.promise,
                "answers": words.answers,
                "findings": words.findings,
                "notes": words.notes,
            }
        )

    def report(self) -> Report:
        """Make the page.

        Returns
        -------
        report : Report
            With ``html``, ``summary`` and ``save(path)``.
        """
        html = render(
            self,
            SECTIONS,
            title=self.title,
            lead="What the paper's recovery guarantees ask of labelled points, what "
            "these points are like, and what would make each guarantee hold.",
            notices=_notices(self),
            figures=_key_numbers(self),
            footer="Theorems are numbered as in Lipor, Hong, Tan and Balzano, Subspace "
            "clustering using ensembles of K-subspaces, 2021.",
        )
        return Report(html, self.summary)


def guarantees(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    source: str = "labelled points",
    labels_source: str | None = None,
    ids: Iterable[str] | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], None] = lambda stage: None,
    **options: Any,
) -> Guarantees:
    """Say which recovery guarantees of the paper hold for labelled points.

    TSC and EKSS-0 are run on the points; every guarantee is evaluated for them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points as rows; only their directions matter.
    labels : array-like of shape (n_samples,)
        Integer label of each point's cluster, at least two different ones.
    source, labels_source : str, optional
        Where points and labels come from, for the page.
    ids : sequence of str, default=None
        Names of the points.
    n_jobs : int, default=None
        Parallel workers; the result does not depend on it.
    progress : callable, optional
        Called with a few words before each stage.
    **options
        Settings of the guarantees, see :func:`ekss.theory.labelled_case`: ``dim``,
        ``q``, ``n_members``, ``n_candidates``, ``candidate_dim``, ``failure``,
        ``noise``, ``n_missing``, ``n_components``, ``n_rows`` and ``seed``.

    Returns
    -------
    guarantees : Guarantees
        The assessment in numbers and words; ``report()`` makes the page.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> data = make_union_of_subspaces(3, 2, n_features=30, random_state=0)
    >>> found = guarantees(data.data, data.target, n_members=100)
    >>> found.explanation.findings[0].statement, found.explanation.findings[0].status
    ('Theorem 1', 'holds')
    """
    progress("fitting subspaces to the labelled clusters")
    case = labelled_case(X, labels, **options)
    assessment = assess_methods(case, n_jobs=n_jobs, progress=progress)
    explanation = explain(assessment)
    origins = {"points": source, "clusters": labels_source}
    settings = tuple(
        (name, f"{words}, from {origins[name]}" if origins.get(name) else words)
        for name, words in explanation.settings
    )
    return Guarantees(
        f"Recovery guarantees for {source}",
        settings,
        assessment,
        explanation,
        None if ids is None else tuple(str(name) for name in ids),
    )


def draw_answers(found: Guarantees) -> Panel:
    """Answer the questions that matter most, method by method."""
    return _wide("answers", part("answers", answers=found.explanation.answers))


def draw_findings(found: Guarantees) -> Panel:
    """List every guarantee with its verdict."""
    return _wide("findings", part("findings", findings=found.explanation.findings))


def draw_unmet(found: Guarantees) -> Panel | None:
    """List every condition that fails, with its distance and a remedy."""
    checks = found.explanation.unmet
    return _wide("unmet", part("unmet", checks=checks)) if checks else None


def draw_cluster_table(found: Guarantees) -> Panel:
    """List the clusters, their subspaces and their pieces in the graphs."""
    headings = (
        "cluster",
        "points",
        "dimension",
        "energy outside",
        "closest cluster",
        "affinity",
        "smallest angle",
        "pieces in TSC's graph",
        "in EKSS-0's graph",
    )
    rows = []
    for row in found.explanation.clusters:
        name, size, dim, *others = row.cells
        rows.append((name, size, f"{dim} ({row.how})", *others))
    reading = f"{found.explanation.closest}."
    return _wide("clusters", table(headings, rows, "numbers"), reading)


def draw_subspace_affinities(found: Guarantees) -> Panel | None:
    """Draw the affinities between the subspaces."""
    return _heat_map(found, affinities_panel, found.assessment.case.pairs.affinities)


def draw_subspace_angles(found: Guarantees) -> Panel | None:
    """Draw the smallest principal angles between the subspaces."""
    angles = np.degrees(np.arccos(found.assessment.case.pairs.cosines))
    return _heat_map(found, angles_panel, angles)


def draw_angle_gaps(found: Guarantees) -> Panel:
    """Draw the gap of every point by angle, as TSC compares points."""
    drawing, reading = _gaps(found, found.assessment.tsc, "gap of |cos|")
    return Panel("gaps-tsc", "TSC: gaps by angle", drawing, reading)


def draw_vote_gaps(found: Guarantees) -> Panel:
    """Draw the gap of every point by expected votes, as EKSS-0 compares points."""
    drawing, reading = _gaps(found, found.assessment.votes, "gap of f")
    return Panel("gaps-ekss0", "EKSS-0: gaps by expected votes", drawing, reading)


def draw_votes(found: Guarantees) -> Panel:
    """Draw votes of some pairs of points against |cos|, with f and its band of tau."""
    shown, tau = found.assessment.curve, found.assessment.votes.tau
    frame = fig.plot_frame((0.0, 1.0), (0.0, 1.05))
    low = np.maximum(shown.expected - tau, 0.0)
    high = np.minimum(shown.expected + tau, 1.05)
    pairs = np.stack([shown.pair_inner, shown.pair_votes], axis=1)
    body = [
        *fig.grid(frame, fig.ticks(0, 1), fig.ticks(0, 1, 4)),
        *fig.axis_labels(frame, "|cos| of the angle between two points", "vote"),
        fig.band(frame, shown.inner, low, high),
        fig.dots(frame, pairs[~shown.pair_same], "small c1"),
        fig.dots(frame, pairs[shown.pair_same], "small c0"),
        fig.curve(frame, np.stack([shown.inner, shown.expected], axis=1), "curve"),
    ]
    alt = "Votes of pairs of points against the cosine of their angle, with f."
    one, two = (part("mark", text="●", kind=f"ink c{i}") for i in (0, 1))
    reading = fig.Html(
        f"Votes of some pairs of points, {one} of one cluster and {two} of two, around "
        f"f (the line). The band is f ± tau, tau = {number(tau)}."
    )
    drawing = fig.plot(frame, body, alt)
    return Panel("votes", "EKSS-0: votes and angles", drawing, reading)


def draw_worst(found: Guarantees) -> Panel:
    """List the points with the smallest gaps, by angle and by expected votes."""
    headings = (
        "point",
        "its cluster",
        f"|cos| to {ordinal(found.assessment.case.situation.q)} nearest of own",
        "|cos| to nearest of another",
        "that point",
        "its cluster",
        "gap",
    )
    tables = []
    for title, certificate in (
        ("By angle, as TSC compares points", found.assessment.tsc),
        ("By expected votes, as EKSS-0 compares points", found.assessment.votes),
    ):
        worst = certificate.worst[:_MOST_POINTS]
        rows = [(*found.cells(point), number(point.gap)) for point in worst]
        tables.append((title, table(headings, rows, "numbers")))
    return _wide("worst", part("blocks", tables=tables))


def draw_conditions(found: Guarantees) -> Panel:
    """Show every condition of every guarantee, and the terms of its failure."""
    findings = [
        (f, "; ".join(f"{name} {number(value)}" for name, value in f.terms.items()))
        for f in found.explanation.findings
    ]
    return _wide("conditions", part("conditions", findings=findings))


def draw_settings(found: Guarantees) -> Panel:
    """List what was assessed."""
    return _wide("settings", part("terms", rows=found.settings))


def draw_notes(found: Guarantees) -> Panel:
    """List what was assumed, and the limits of the assessment."""
    return _wide("notes", part("items", texts=found.explanation.notes))


def draw_words(found: Guarantees) -> Panel:
    """Explain the words of the page."""
    return _wide("words", part("terms", rows=_WORDS.items()))


# The page, panel by panel: a panel that is not listed here is not shown.
SECTIONS = (
    Section("In short", (draw_answers,)),
    Section("Guarantees", (draw_findings,)),
    Section("What fails, by how much, and what would help", (draw_unmet,)),
    Section(
        "Clusters and their subspaces",
        (draw_cluster_table, draw_subspace_affinities, draw_subspace_angles),
    ),
    Section(
        "How well angles and votes separate the clusters",
        (draw_angle_gaps, draw_vote_gaps, draw_votes),
    ),
    Section("Worst points", (draw_worst,)),
    Section("Every condition", (draw_conditions,)),
    Section("What was assessed", (draw_settings,)),
    Section("Notes", (draw_notes,)),
    Section("Words", (draw_words,)),
)


def _notices(found: Guarantees) -> list[Notice]:
    """Say first, for each method, whether it clusters the points correctly."""
    notices = []
    for method in ("TSC", "EKSS-0"):
        edges, pieces, outcome = [
            a for a in found.explanation.answers if a.method == method
        ][:3]
        if outcome.good:
            title = f"{method} clusters these points correctly"
            words = _capital(outcome.answer.removeprefix("Yes, "))
        else:
            title = f"{method} is not guaranteed to cluster these points correctly"
            words = " ".join(_reason(a) for a in (edges, pieces) if not a.good)
        level: Level = "fine" if outcome.good else "warning"
        notices.append(Notice(method, level, title, words))
    return notices


def _reason(answer: Answer) -> str:
    """Repeat an answer without its Yes or No, which belongs to the question."""
    words = answer.answer.removeprefix("Yes: ").removeprefix("No: ")
    if "false connections" in answer.question:
        return f"False connections: {words}"
    return _capital(words)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _key_numbers(found: Guarantees) -> list[tuple[str, str]]:
    a, s = found.assessment, found.assessment.case.situation
    statuses = [f.status for f in found.explanation.findings]
    smallest = math.degrees(math.acos(min(s.ratio, 1.0)))
    return [
        ("guarantees that hold", f"{statuses.count(HOLDS)} of {len(statuses)}"),
        ("clusters", f"{len(s.sizes)}"),
        ("neighbours q", f"{s.q}"),
        ("members", f"{s.n_members:,}"),
        ("largest affinity", f"{s.max_affinity:.3f}"),
        ("smallest angle", f"{smallest:.3g}°"),
        ("separation by angle", number(a.tsc.phi)),
    ]


def _wide(key: str, body: fig.Html, reading: str = "") -> Panel:
    return Panel(key, "", body, reading, wide=True)


def _heat_map(
    found: Guarantees, panel: Callable[..., Panel], values: NDArray[np.floating]
) -> Panel | None:
    names = [str(name) for name in found.assessment.case.subspaces.names]
    return panel(values, names) if len(names) <= _MOST_CLUSTERS else None


def _gaps(found: Guarantees, c: Certificate, label: str) -> tuple[fig.Html, str]:
    """Draw the gaps of all points, smallest first, with tau: above it is safe."""
    gaps, tau = np.sort(c.gaps), c.tau
    shares = np.linspace(0, 1, min(_N_SHOWN, len(gaps)))
    shown = gaps[np.round(shares * (len(gaps) - 1)).astype(int)]
    low, high = min(0.0, float(shown[0])), max(tau, float(shown[-1]), 1e-3)
    pad = 0.05 * (high - low)
    limits = low - pad, high + pad
    frame = fig.plot_frame((0.0, 1.0), limits)
    y, words = frame.y(tau), f"tau = {number(tau)}"
    quarters = [0, 0.25, 0.5, 0.75, 1]
    body = [
        *fig.grid(
            frame, fig.ticks(*limits, 4), quarters, lambda share: f"{100 * share:.0f} %"
        ),
        *fig.axis_labels(frame, "share of points, worst first", label),
        fig.curve(frame, np.stack([shares, shown], axis=1), "curve"),
        fig.line(frame.left, y, frame.right, y, "limit"),
        fig.text(frame.right - 4, y + 14, words, anchor="end", kind="limit-text"),
    ]
    alt = f"Gap of every point, smallest first, against {words}."
    q = found.assessment.case.situation.q
    reading = (
        f"The gap of a point compares the {ordinal(q)} nearest point of its own "
        "cluster with the nearest point of any other. A curve that stays above the "
        "dashed line guarantees a graph without false connections. Here phi_q = "
        f"{number(c.phi)}, {words}, margin {number(c.margin)}; {percent(c.share)} of "
        "the points are above tau."
    )
    return fig.plot(frame, body, alt), reading


def _plain(value: Any) -> Any:
    """Turn dataclasses and arrays into what JSON has."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if hasattr(value, "items"):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
