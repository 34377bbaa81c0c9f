"""The page about recovery guarantees: which hold here, and what would help others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
    OPEN,
    Answer,
    Assessment,
    Certificate,
    Explanation,
    explain,
    labelled_case,
    number,
    ordinal,
    percent,
)

VERSION = 2
_MOST_CLUSTERS = 100  # of a heat map in which colours can be told apart
_MOST_POINTS = 6  # of the worst points
_N_SHOWN = 200  # points of a drawn curve
_KIND = {True: "good", False: "bad", None: "open"}
_WORDS = (
    (
        "false connection",
        "an edge of the graph between points of different clusters.",
    ),
    (
        "q",
        "each point is joined to the q points most similar to it. TSC compares points "
        "by angle, EKSS-0 by votes.",
    ),
    (
        "EKSS-0, members, votes",
        "each member draws random candidate subspaces and assigns every point to the "
        "nearest one; the vote of two points is the share of members that put them "
        "together. EKSS goes on to improve the candidates; the guarantees are about "
        "EKSS-0.",
    ),
    (
        "f",
        "the vote that two points at a given angle get from infinitely many members.",
    ),
    (
        "gap, separation phi_q",
        "the gap of a point is half the difference between its similarity to the q-th "
        "nearest point of its own cluster and that to the nearest point of any other. "
        "The separation is the smallest gap; below 0, some point is nearer to another "
        "cluster.",
    ),
    ("deviation tau", "the largest difference between a vote and f."),
    (
        "affinity",
        "how close two subspaces are: 0 if orthogonal, 1 if one contains the other. It "
        "is computed from their principal angles.",
    ),
    (
        "correct clustering",
        "no false connections and every cluster connected: then the cut of the graph "
        "finds exactly the clusters (Proposition 1).",
    ),
)


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
    """

    title: str
    settings: tuple[tuple[str, str], ...]
    assessment: Assessment
    explanation: Explanation
    ids: tuple[str, ...] | None

    def named(self, index: int) -> str:
        """Return the row of a point, and its name where it has one."""
        return f"{index} ({self.ids[index]})" if self.ids else str(index)

    @property
    def summary(self) -> dict[str, Any]:
        """All numbers of the page, fit for JSON; what is not finite is None."""
        return _summary(self)

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
    rows = [
        (_whole(a.method), a.question, _marked(a.answer, a.good))
        for a in found.explanation.answers
    ]
    body = table(("method", "question", "answer"), rows)
    return Panel("answers", "", body, wide=True)


def draw_findings(found: Guarantees) -> Panel:
    """List every guarantee with its verdict."""
    rows = [
        (_whole(f.statement), _whole(f.method), f.title, _badge(f.status), f.summary)
        for f in found.explanation.findings
    ]
    headings = ("statement", "method", "what it guarantees", "verdict", "why")
    return Panel("findings", "", table(headings, rows), wide=True)


def draw_unmet(found: Guarantees) -> Panel | None:
    """List every condition that fails, with its distance and a remedy."""
    rows = [
        (
            where,
            check.asked,
            part(
                "lines",
                texts=[
                    _marked(check.comparison, False, "nowrap"),
                    _whole(check.distance),
                ],
            ),
            check.remedy,
        )
        for where, check in found.explanation.unmet
    ]
    if not rows:
        return None
    headings = ("asked by", "what is asked", "here", "what would help")
    return Panel("unmet", "", table(headings, rows), wide=True)


def draw_cluster_table(found: Guarantees) -> Panel:
    """List the clusters, their subspaces and their pieces in the graphs."""
    rows = [
        (
            row.name,
            f"{row.size:,}",
            f"{row.dim} ({row.how})",
            percent(row.outside),
            row.nearest,
            number(row.affinity),
            f"{row.angle:.3g}°",
            row.pieces_tsc,
            row.pieces_votes,
        )
        for row in found.explanation.clusters
    ]
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
    reading = f"{found.explanation.closest}."
    body = table(headings, rows, "numbers")
    return Panel("clusters", "", body, reading, wide=True)


def draw_subspace_affinities(found: Guarantees) -> Panel | None:
    """Draw the affinities between the subspaces."""
    case = found.assessment.case
    names = [str(name) for name in case.subspaces.names]
    if len(names) > _MOST_CLUSTERS:
        return None
    return affinities_panel(case.pairs.affinities, names)


def draw_subspace_angles(found: Guarantees) -> Panel | None:
    """Draw the smallest principal angles between the subspaces."""
    case = found.assessment.case
    names = [str(name) for name in case.subspaces.names]
    if len(names) > _MOST_CLUSTERS:
        return None
    return angles_panel(np.degrees(np.arccos(case.pairs.cosines)), names)


def draw_angle_gaps(found: Guarantees) -> Panel:
    """Draw the gap of every point by angle, as TSC compares points."""
    certificate = found.assessment.tsc
    drawing = _gaps(certificate, "gap of |cos|")
    return Panel("gaps-tsc", "TSC: gaps by angle", drawing, _margin(found, certificate))


def draw_vote_gaps(found: Guarantees) -> Panel:
    """Draw the gap of every point by expected votes, as EKSS-0 compares points."""
    certificate = found.assessment.votes
    drawing = _gaps(certificate, "gap of f")
    title = "EKSS-0: gaps by expected votes"
    return Panel("gaps-ekss0", title, drawing, _margin(found, certificate))


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
    a = found.assessment
    blocks = [
        ("By angle, as TSC compares points", _worst(found, a.tsc)),
        ("By expected votes, as EKSS-0 compares points", _worst(found, a.votes)),
    ]
    body = part("blocks", blocks=[{"title": t, "table": w} for t, w in blocks])
    return Panel("worst", "", body, wide=True)


def draw_conditions(found: Guarantees) -> Panel:
    """Show every condition of every guarantee, and the terms of its failure."""
    headings = ("what is asked", "here", "what would help")
    blocks = []
    for f in found.explanation.findings:
        rows = [
            (c.asked, _marked(c.comparison, c.holds, "nowrap"), c.remedy)
            for c in f.checks
        ]
        listed = "; ".join(f"{name} {number(value)}" for name, value in f.terms.items())
        unless = "" if f.failure is not None else " (without meaning here)"
        blocks.append(
            {
                "title": f"{f.statement}, {f.method}: {f.title}",
                "badge": _badge(f.status),
                "summary": f"{_capital(f.summary)}.",
                "table": table(headings, rows),
                "terms": listed
                and f"Terms of the failure probability{unless}: {listed}.",
            }
        )
    return Panel("conditions", "", part("blocks", blocks=blocks), wide=True)


def draw_settings(found: Guarantees) -> Panel:
    """List what was assessed."""
    return Panel("settings", "", part("terms", rows=found.settings), wide=True)


def draw_notes(found: Guarantees) -> Panel:
    """List what was assumed, and the limits of the assessment."""
    body = part("items", texts=found.explanation.notes)
    return Panel("notes", "", body, wide=True)


def draw_words(found: Guarantees) -> Panel:
    """Explain the words of the page."""
    return Panel("words", "", part("terms", rows=_WORDS), wide=True)


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


def _gaps(certificate: Certificate, label: str) -> fig.Html:
    """Draw the gaps of all points, smallest first, with tau: above it is safe."""
    gaps, tau = np.sort(certificate.gaps), certificate.tau
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
    return fig.plot(frame, body, alt)


def _margin(found: Guarantees, certificate: Certificate) -> str:
    q = found.assessment.case.situation.q
    return (
        f"The gap of a point compares the {ordinal(q)} nearest point of its own "
        "cluster with the nearest point of any other. A curve that stays above the "
        "dashed line guarantees a graph without false connections. Here phi_q = "
        f"{number(certificate.phi)}, tau = {number(certificate.tau)}, margin "
        f"{number(certificate.margin)}; {percent(certificate.share)} of the points are "
        "above tau."
    )


def _worst(found: Guarantees, certificate: Certificate) -> fig.Html:
    q = found.assessment.case.situation.q
    headings = (
        "point",
        "its cluster",
        f"|cos| to {ordinal(q)} nearest of own",
        "|cos| to nearest of another",
        "that point",
        "its cluster",
        "gap",
    )
    rows = [
        (
            found.named(p.index),
            p.cluster,
            f"{p.near:.4f}",
            f"{p.far:.4f}",
            found.named(p.rival),
            p.rival_cluster,
            number(p.gap),
        )
        for p in certificate.worst[:_MOST_POINTS]
    ]
    return table(headings, rows, "numbers")


def _marked(words: str, good: bool | None, kind: str = "") -> fig.Html:
    return part("mark", text=words, kind=f"{_KIND[good]} {kind}".strip())


def _whole(words: str) -> fig.Html:
    """Keep words on one line."""
    return part("mark", text=words, kind="nowrap")


def _badge(status: str) -> fig.Html:
    good = {HOLDS: True, OPEN: None}.get(status, False)
    return _marked(status, good, "badge")


def _summary(found: Guarantees) -> dict[str, Any]:
    a, words = found.assessment, found.explanation
    case, s = a.case, a.case.situation
    certificates = {
        name: {key: v for key, v in _plain(c).items() if key != "gaps"}
        for name, c in (("tsc", a.tsc), ("ekss0", a.votes))
    }
    return {
        "kind": "ekss guarantees",
        "version": VERSION,
        "ekss": ekss.__version__,
        "title": found.title,
        "n_samples": s.n_samples,
        **_plain(s),
        "n_candidates": case.n_candidates,
        "candidate_dim": case.candidate_dim,
        "seed": case.seed,
        "failure": case.failure,
        "n_rows_compared": len(case.rows),
        "tolerated_missing": a.tolerated_missing,
        "affinities": _plain(case.pairs.affinities),
        "largest_cosines": _plain(case.pairs.cosines),
        "closest_angles": _plain(case.pairs.angles),
        "clusters": _plain(words.clusters),
        "certificates": certificates,
        "graphs": {"tsc": _plain(a.tsc_graph), "ekss0": _plain(a.votes_graph)},
        "promise": _plain(a.promise),
        "answers": _plain(words.answers),
        "findings": _plain(words.findings),
        "notes": list(words.notes),
    }


def _plain(value: Any) -> Any:
    """Turn dataclasses and arrays into what JSON has."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if hasattr(value, "items"):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
