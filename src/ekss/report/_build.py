"""Make a report of a fitted estimator."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from ekss.core.files import write_atomically
from ekss.report._facts import gather_facts
from ekss.report._inputs import check_inputs
from ekss.report._page import render_page
from ekss.report._sample import describe
from ekss.report._summary import summarise


@dataclass(frozen=True)
class Report:
    """A page about clusters, and its numbers.

    Attributes
    ----------
    html : str
        The page: one file, with no script and no outside link.
    summary : dict
        All numbers of the page, fit for JSON; ``kind`` and ``version`` say what it is.
    """

    html: str
    summary: dict[str, Any]

    def save(self, path: str | Path) -> tuple[Path, Path]:
        """Write the page, and the numbers beside it.

        Parameters
        ----------
        path : str or Path
            Where the page goes, ending in .html or .htm. The numbers go to the same
            name with the ending .json.

        Returns
        -------
        page, numbers : Path
            The two files. Each is written beside its place and then renamed, so what
            was there before stays if writing fails.
        """
        page = Path(path)
        if page.suffix.lower() not in (".html", ".htm"):
            raise ValueError(
                f"path={str(path)!r} does not end in .html; choose for example "
                f"{page.stem or 'report'}.html"
            )
        numbers = page.with_suffix(".json")
        text = json.dumps(self.summary, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(page, self.html.encode("utf-8"))
        write_atomically(numbers, (text + "\n").encode("utf-8"))
        return page, numbers


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
) -> Report:
    """Describe the clusters that an estimator found, in numbers and pictures.

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
        Pixels or tracks to show where X holds other features; None shows X.
    image_shape : (int, int), default=None
        Height and width, if points are images; colour images have 3 numbers a pixel.
    n_frames : int, default=None
        Number of frames, if points are tracks (x_1, y_1, x_2, y_2, ...).
    ids : sequence of str, default=None
        Names of the points, shown with images.
    feature_names : sequence of str, default=None
        Names of the columns of the data that were used; None takes
        ``feature_names_in_`` of the estimator.
    title : str, default=None
        Heading of the page; None names the method and the number of clusters.
    source : str, default=None
        Where the points come from.
    seconds : float, default=None
        How long the fit took.

    Returns
    -------
    report : Report
        With ``html``, ``summary`` and ``save(path)``.

    Notes
    -----
    No matrix over pairs of points is made: votes cost O(n_samples n_base), graphs
    O(edges), subspaces O(n_samples n_features n_clusters subspace_dim) up to a bound,
    beyond which a sample of the points is measured, and the page says so. Where an
    estimator clustered many rows through a sample, the page describes the sample.

    Examples
    --------
    >>> from ekss import EKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import build
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=2, random_state=0)
    >>> model = EKSS(n_clusters=3, subspace_dim=2, n_base=20, random_state=0)
    >>> report = build(model.fit(data.data), data.data, labels=data.target)
    >>> report.html.startswith("<!doctype html>"), report.summary["scores"]["error"]
    (True, 0.0)
    """
    described = describe(estimator, X, raw, labels, ids)
    inputs = check_inputs(described, image_shape=image_shape, n_frames=n_frames)
    with threadpool_limits(1, "blas"):  # many small products: threads only wait
        facts = gather_facts(inputs, seconds)
    heading = title or f"{facts.run.method}: {facts.run.n_clusters} clusters"
    created = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    names = feature_names
    if names is None:
        names = getattr(estimator, "feature_names_in_", None)
    columns = None if names is None else [str(name) for name in names]
    summary = summarise(facts, heading, source, created, columns)
    return Report(render_page(facts, summary), summary)
