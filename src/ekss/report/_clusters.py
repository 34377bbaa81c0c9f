"""The page about clusters: what was found, how sure it is, what to doubt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from ekss.report._columns import draw_columns, draw_loadings, draw_portraits
from ekss.report._facts import Facts, summarise
from ekss.report._fitted import read_inputs
from ekss.report._gallery import draw_albums, draw_motions, draw_tracks
from ekss.report._geometry import draw_affinities, draw_angles, draw_clusters
from ekss.report._layout import draw_map, map_data
from ekss.report._matrix import draw_agreement, draw_matrix
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
from ekss.report._scores import draw_confusion, draw_scores
from ekss.report._spectrum import draw_counts, draw_eigenvalues
from ekss.report._wording import Wording

_MOST_COLUMNS = 40  # names of columns that are listed


def build(
    estimator: Any,
    X: ArrayLike,
    *,
    labels: Iterable[Any] | None = None,
    raw: ArrayLike | None = None,
    image_shape: tuple[int, ...] | None = None,
    n_frames: int | None = None,
    ids: Iterable[str] | None = None,
    feature_names: Iterable[str] | None = None,
    title: str | None = None,
    source: str | None = None,
    seconds: float | None = None,
    unused: Iterable[str] = (),
    wording: Wording | None = None,
) -> Report:
    """Describe the clusters that an estimator found, in numbers and figures.

    Works for every estimator of :mod:`ekss`; parts that a method does not have, such
    as votes of members, are left out.

    Parameters
    ----------
    estimator : object
        A fitted estimator of :mod:`ekss`.
    X : array-like of shape (n_samples, n_features)
        The points it was fitted on.
    labels : array-like of shape (n_samples,), default=None
        True labels, for scoring only.
    raw : array-like of shape (n_samples, n_shown), default=None
        Pixels, tracks or columns to show where X holds other features; None shows X.
    image_shape : (int, int), default=None
        Height and width, if points are images; colour images have 3 numbers per pixel.
    n_frames : int, default=None
        Number of frames, if points are tracks (x_1, y_1, x_2, y_2, ...).
    ids : sequence of str, default=None
        Names of the points.
    feature_names : sequence of str, default=None
        Names of the columns of the data that were used; None takes
        ``feature_names_in_`` of the estimator. A unit may follow in brackets:
        ``"pressure (bar)"``.
    title : str, default=None
        Heading of the page; None names the method and the number of clusters.
    source : str, default=None
        Where the points come from.
    seconds : float, default=None
        How long the fit took.
    unused : sequence of str, default=()
        Columns of the table that are no features, such as names and texts.
    wording : Wording, default=None
        How advice names settings; None names parameters of Python.

    Returns
    -------
    report : Report
        With ``html``, ``summary`` and ``save(path)``.

    Notes
    -----
    No matrix over pairs of points is made: votes cost O(n_samples n_members), graphs
    O(edges), subspaces O(n_samples n_features n_clusters subspace_dim) up to a bound,
    beyond which a sample of the points is measured, and the page says so. Where an
    estimator clustered many rows through a sample, the page describes the sample.

    Examples
    --------
    >>> from ekss import EKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import build
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=2, random_state=0)
    >>> model = EKSS(n_clusters=3, subspace_dim=2, n_members=20, random_state=0)
    >>> report = build(model.fit(data.data), data.data, labels=data.target)
    >>> report.html.startswith("<!doctype html>"), report.summary["scores"]["error"]
    (True, 0.0)
    """
    inputs = read_inputs(
        estimator,
        X,
        raw=raw,
        labels=labels,
        ids=ids,
        image_shape=image_shape,
        n_frames=n_frames,
        feature_names=feature_names,
    )
    title = title or f"{inputs.method}: {inputs.n_asked} clusters"
    told = Wording() if wording is None else wording
    facts = Facts(inputs, title, source, seconds, tuple(map(str, unused)), told)
    with threadpool_limits(1, "blas"):  # many small products: threads only wait
        html = render(
            facts,
            SECTIONS,
            title=title,
            lead=_lead(facts),
            good=facts.good,
            notices=facts.advice or (_FINE,),
            next_run=facts.next_run,
            figures=_key_numbers(facts),
            footer="All numbers of this page are in the .json file beside it.",
            data=map_data(facts),
        )
        return Report(html, summarise(facts))


def draw_run(facts: Facts) -> Panel:
    """List what was run: data, parameters and what the method chose by itself."""
    inputs = facts.inputs
    given = [(name, value) for name, value, changed in inputs.parameters if changed]
    defaults = [(name, value) for name, value, new in inputs.parameters if not new]
    names = inputs.feature_names or ()
    columns = ", ".join(names[:_MOST_COLUMNS])
    if len(names) > _MOST_COLUMNS:
        columns += f" and {len(names) - _MOST_COLUMNS} more"
    members = "" if inputs.n_members is None else f"{inputs.n_members:,}"
    if inputs.halves is not None:
        members += (
            f"; two halves of them gave {percent(inputs.halves)} of the points the "
            "same cluster when this was last measured"
        )
    missing = ""
    if inputs.missing:
        missing = f"{percent(inputs.missing)}, filled in from the subspaces"
    rows = [
        ("method", inputs.method),
        ("data", facts.source),
        ("points", f"{inputs.n_samples:,} of {inputs.n_features:,} features"),
        ("missing entries", missing),
        ("columns", columns),
        ("columns not used", ", ".join(facts.unused)),
        ("time", None if facts.seconds is None else duration(facts.seconds)),
        ("members", members),
        ("seen by members", inputs.seen),
        ("graph that was kept", inputs.second_opinion),
        ("report made", facts.created),
        ("chosen by the method", part("codes", pairs=inputs.choices, empty="nothing")),
        ("given", part("codes", pairs=given, empty="all defaults")),
        ("defaults", part("codes", pairs=defaults, empty="none")),
    ]
    shown = [(name, value) for name, value in rows if value]
    return Panel("run", "", part("terms", rows=shown), wide=True)


# The page, panel by panel: a panel that is not listed here is not shown.
SECTIONS = (
    Section("Clusters", (draw_clusters,)),
    Section("What each cluster is", (draw_portraits, draw_columns, draw_loadings)),
    Section("Images", (draw_albums,)),
    Section("Tracks", (draw_tracks, draw_motions)),
    Section(
        "Do the clusters hold together?",
        (draw_map, draw_matrix, draw_agreement, draw_eigenvalues, draw_counts),
    ),
    Section("Against the true labels", (draw_confusion, draw_scores)),
    Section("Subspaces", (draw_affinities, draw_angles)),
    Section("What was run", (draw_run,)),
)

_FINE = Notice(
    "nothing",
    "fine",
    "Nothing stands out",
    "No check found a reason to doubt these clusters; the figures below show what the "
    "checks cannot.",
)


def _lead(facts: Facts) -> str:
    inputs, count = facts.inputs, len(facts.clusters)
    took = "" if facts.seconds is None else f" in {duration(facts.seconds)}"
    data = f" Data: {facts.source}" if facts.source else ""
    return (
        f"{inputs.method} put {inputs.n_samples:,} points of "
        f"{inputs.n_features:,} features into {count} "
        f"{'cluster' if count == 1 else 'clusters'}{took}.{data}"
    )


def _key_numbers(facts: Facts) -> list[tuple[str, str]]:
    """Return the most important numbers, by name."""
    scores, spectrum = facts.scores, facts.spectrum
    figures = []
    if scores is not None:
        figures += [
            ("clustering error", percent(scores.error)),
            ("NMI", f"{scores.nmi:.3f}"),
            ("ARI", f"{scores.ari:.3f}"),
        ]
    low, high = facts.fit.dims.min(), facts.fit.dims.max()
    dims = f"{high}" if low == high else f"{low} to {high}"
    figures += [
        ("clusters", f"{len(facts.clusters)}"),
        ("subspace dimension", f"{dims}{' affine' * facts.inputs.affine}"),
        ("energy captured", percent(facts.captured)),
    ]
    if spectrum is not None and spectrum.gap is not None:
        figures.append(("eigenvalue gap", f"{spectrum.gap:.2g}"))
    if facts.pieces is not None:
        figures.append(("graph components", f"{facts.pieces.count:,}"))
    if facts.seconds is not None:
        figures.append(("time", duration(facts.seconds)))
    return figures
