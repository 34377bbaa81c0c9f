"""Everything a report on clusters says, as numbers: computed here, drawn elsewhere.

They are also written for programs, and as a table for the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import ekss
from ekss.report._advice import advice_for, good_news, next_run
from ekss.report._columns import Columns, columns_of, summarise_columns
from ekss.report._figures import Floats, Ints, six_digits
from ekss.report._fitted import Inputs
from ekss.report._geometry import BINS, Angles, angles_of, fit_of, quantiles
from ekss.report._layout import Layout, layout_of
from ekss.report._matrix import agreement_of, blocks_of
from ekss.report._page import percent
from ekss.report._scores import scores_of
from ekss.report._spectrum import pieces_of, spectrum_of
from ekss.report._wording import Wording

if TYPE_CHECKING:
    from rich.console import Group

VERSION = 1
TIMES = "\u00d7"
KIND = "ekss report"


@dataclass(frozen=True)
class Cluster:
    """What is known of one cluster."""

    name: int  # its number in ``labels_``
    size: int  # its points
    effective_dim: int  # directions that hold 95 % of its energy
    energy: float  # mean squared length of its points
    captured: float  # share of the energy inside its subspace
    residual_median: float  # distance to its subspace, and below it the 90th percentile
    residual_high: float
    nearer_elsewhere: float  # share of its points that are nearer to another subspace
    agreement: float  # median of its points, then their 10th and 90th percentile
    agreement_low: float
    agreement_high: float
    agreement_quarters: list[float]  # 25th and 75th percentile
    residual_histogram: list[int]  # the last bin also counts what lies beyond
    # the true label that most of its points have, and their share, where labels are
    # known
    mostly: str | None = None
    mostly_share: float | None = None


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True)
class Facts:
    """All parts of a report, each computed when it is first asked for.

    A part that a method does not have is None.
    """

    inputs: Inputs
    title: str  # heading of the page
    source: str | None = None  # where the points come from
    seconds: float | None = None  # how long the fit took
    unused: tuple[str, ...] = ()  # columns of the table that are no features
    wording: Wording = field(default_factory=Wording)  # how settings are named
    created: str = field(default_factory=_now)  # when the report was made

    fit = cached_property(lambda self: fit_of(self.inputs))
    agreement = cached_property(lambda self: agreement_of(self.inputs, self.fit))
    blocks = cached_property(lambda self: blocks_of(self.inputs))
    pieces = cached_property(lambda self: pieces_of(self.inputs))
    spectrum = cached_property(lambda self: spectrum_of(self.inputs))
    scores = cached_property(lambda self: scores_of(self.inputs))
    advice = cached_property(advice_for)
    good = cached_property(good_news)  # what speaks for the clusters, in sentences
    next_run = cached_property(next_run)  # what to run next, if anything

    @cached_property
    def layout(self) -> Layout:
        """Places of the points on the map."""
        return layout_of(self.inputs, self.fit)

    @cached_property
    def columns(self) -> Columns | None:
        """What the columns of a table say about the clusters."""
        return columns_of(self.inputs, self.fit, self._doubts)

    @cached_property
    def angles(self) -> Angles | None:
        """How the subspaces lie to each other, if there are several."""
        several = self.inputs.n_clusters > 1
        return angles_of(self.fit.flats.bases) if several else None

    @cached_property
    def clusters(self) -> tuple[Cluster, ...]:
        """The clusters, the largest first."""
        return tuple(self._cluster(k) for k in range(self.inputs.n_clusters))

    def _cluster(self, k: int) -> Cluster:
        fit, agreement = self.fit, self.agreement
        mine = fit.codes == k
        own, other, n = fit.own[mine], fit.other[mine], max(1, int(mine.sum()))
        energy, lost = float(fit.energies[k]), float((own**2).sum()) / n
        nearer_elsewhere = int((other < own - 1e-9 * fit.reach).sum()) / n
        median, high = quantiles(own, (0.5, 0.9))
        values = agreement.values[self.inputs.codes[agreement.rows] == k]
        middle, tenth, ninth = quantiles(values, (0.5, 0.1, 0.9))
        bins = np.histogram(np.minimum(own, fit.reach), BINS, (0, fit.reach))[0]
        return Cluster(
            self.inputs.names[k],
            int(self.inputs.sizes[k]),
            int(fit.effective_dims[k]),
            energy,
            max(0.0, 1 - lost / energy) if energy > 0 else 0.0,
            median,
            high,
            nearer_elsewhere,
            middle,
            tenth,
            ninth,
            quantiles(values, (0.25, 0.75)),
            bins.tolist(),
            *(self.scores.majority(k) if self.scores is not None else ()),
        )

    @property
    def names(self) -> list[str]:
        """Names of the clusters."""
        return [str(name) for name in self.inputs.names]

    @property
    def captured(self) -> float:
        """Share of the energy of all points that lies in their subspaces."""
        energy = sum(c.energy * c.size for c in self.clusters)
        inside = sum(c.captured * c.energy * c.size for c in self.clusters)
        return inside / energy if energy > 0 else 0.0

    @property
    def about_crosses(self) -> str:
        """What crosses in figures mean, where there are any."""
        if self.scores is None or not self.scores.wrong.any():
            return ""
        return " Crosses are points whose true label says otherwise."

    @cached_property
    def _doubts(self) -> tuple[Ints, Floats]:
        """Points that were measured, and how doubtful each is; 0 is without doubt.

        Doubt is the distance to the own subspace as a share of that to the nearest
        other one, or else the lack of agreement.
        """
        fit, agreement = self.fit, self.agreement
        if fit.fitted_here or self.inputs.n_clusters == 1:
            return agreement.rows, 1 - agreement.values
        return fit.rows, fit.own / np.maximum(fit.other, 1e-300)

    def ends(self, k: int, count: int) -> tuple[Ints, Ints]:
        """Most typical and most doubtful points of a cluster, each from its outside."""
        rows, doubt = self._doubts
        mine = np.flatnonzero(self.inputs.codes[rows] == k)
        ranked = rows[mine[np.argsort(doubt[mine], kind="stable")]]
        count = min(count, max(1, len(ranked) // 2))
        return ranked[:count], ranked[::-1][: min(count, len(ranked) - count)]

    def doubt(self, row: int) -> float:
        """How doubtful a point is that was measured."""
        rows, doubt = self._doubts
        return float(doubt[np.searchsorted(rows, row)])

    def why_doubtful(self, row: int) -> str:
        """Say how doubtful a point is: what speaks for another cluster."""
        if self.fit.fitted_here or self.inputs.n_clusters == 1:
            return f"agreement {percent(1 - self.doubt(row), 0)}"
        rival = self.names[self.fit.rival(row)]
        times = 1 / max(self.doubt(row), 1e-300)
        return (
            f"cluster {rival}: {'over 100' if times > 100 else f'{times:.2g}'} {TIMES}"
        )

    def about_ends(self, things: str) -> str:
        """Say what is typical and what is doubtful."""
        if self.fit.fitted_here:
            return (
                f"Typical {things} have the most, doubtful ones the least of their "
                "affinity inside the cluster."
            )
        return (
            f"Typical {things} are many times nearer to their own subspace than to any "
            "other, doubtful ones hardly or not at all."
        )

    def row_name(self, row: int) -> str:
        """Name of a point: its id, or its number."""
        ids, number = self.inputs.ids, f"point {self.inputs.rows[row]}"
        return number if ids is None else ids[row]

    def sampled(self, shown: int) -> str:
        """Say how many points a figure shows, if not all."""
        every = self.inputs.n_samples
        return f" (a sample of {shown:,} of {every:,})" if shown < every else ""


def summarise(facts: Facts) -> dict[str, Any]:
    """Put all numbers of a report into a dict that JSON can hold."""
    inputs, fit = facts.inputs, facts.fit
    summary: dict[str, Any] = {
        "kind": KIND,
        "version": VERSION,
        "ekss": ekss.__version__,
        "created": facts.created,
        "title": facts.title,
        "source": facts.source,
        "method": inputs.method,
        "seconds": facts.seconds,
        "n_samples": inputs.n_samples,
        "n_features": inputs.n_features,
        "feature_names": inputs.feature_names and list(inputs.feature_names),
        "n_clusters": inputs.n_asked,
        "n_left_out": inputs.n_left_out,
        "n_rows": inputs.n_rows,
        "n_zero": inputs.n_zero,
        "missing": inputs.missing,
        "affine": inputs.affine,
        "parameters": {name: value for name, value, _ in inputs.parameters},
        "found": dict(inputs.choices),
        "good": list(facts.good),
        "warnings": [asdict(advice) for advice in facts.advice],
        "next_run": facts.next_run,
        "subspace_dim": fit.dim,
        "subspaces_fitted_by": "report" if fit.fitted_here else "estimator",
        "captured": facts.captured,
        "n_measured": len(fit.rows),
        "agreement_from": facts.agreement.source,
        "clusters": [asdict(cluster) for cluster in facts.clusters],
        "residual_edges": six_digits(np.linspace(0, fit.reach, BINS + 1)),
    }
    if inputs.n_members is not None:
        summary["n_members"] = int(inputs.n_members)
    if inputs.halves is not None:
        summary["halves_agreement"] = inputs.halves
    if inputs.counts:
        summary["counts"] = [{"n_clusters": n, "score": s} for n, s in inputs.counts]
    parts = _graph_part(facts), summarise_columns(facts), _label_part(facts)
    return summary | parts[0] | parts[1] | parts[2]


def check_summary(summary: Mapping[str, Any]) -> None:
    """Refuse what is not a summary of this version.

    Parameters
    ----------
    summary : mapping
        ``Report.summary``, or the same read from the .json file of a report.

    Raises
    ------
    ValueError
        If it is not a summary of this version.

    Examples
    --------
    >>> from ekss.report import check_summary
    >>> try:
    ...     check_summary({"kind": "recipe"})
    ... except ValueError as error:
    ...     print(type(error).__name__)
    ValueError
    """
    kind: Any = type(summary).__name__
    if isinstance(summary, Mapping):
        kind = summary.get("kind")
    if kind != KIND:
        raise ValueError(
            f"this is not the summary of a report: its kind is {kind!r}, not {KIND!r}; "
            "pass the .json file that ekss cluster --report writes beside the page"
        )
    if summary.get("version") != VERSION:
        raise ValueError(
            f"the summary has version {summary.get('version')!r} but this ekss reads "
            f"{VERSION}; make the report again or install the ekss that wrote it"
        )


def summary_table(summary: Mapping[str, Any]) -> Group:
    """Lay a summary out for the terminal.

    Parameters
    ----------
    summary : mapping
        ``Report.summary``, or the same read from the .json file of a report.

    Returns
    -------
    rich.console.Group
        To be printed by a ``rich.console.Console``.

    Raises
    ------
    ValueError
        If it is not a summary of this version.

    Examples
    --------
    >>> from rich.console import Console
    >>> from ekss import KSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import build, summary_table
    >>> X = make_union_of_subspaces(2, 2, 10, 20, random_state=0).data
    >>> report = build(KSS(2, subspace_dim=2, random_state=0).fit(X), X)
    >>> console = Console(record=True, quiet=True)
    >>> console.print(summary_table(report.summary))
    """
    check_summary(summary)
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(str(summary["title"]), style="bold"), Text(_line(summary))]
    for advice in summary["warnings"]:
        mark, style = ("!", "yellow") if advice["level"] == "warning" else ("-", "")
        parts.append(Text(f"{mark} {advice['title']}", style=style))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in "cluster,points,dim 95 %,captured,residual,agreement".split(","):
        table.add_column(heading, justify="right", no_wrap=True)
    for cluster in summary["clusters"]:
        table.add_row(
            str(cluster["name"]),
            f"{cluster['size']:,}",
            str(cluster["effective_dim"]),
            percent(cluster["captured"]),
            f"{cluster['residual_median']:.3g}",
            percent(cluster["agreement"], 0),
        )
    return Group(*parts, table)


def _line(summary: Mapping[str, Any]) -> str:
    words = [
        f"{summary['method']}: {summary['n_samples']:,} points of "
        f"{summary['n_features']:,} features in {len(summary['clusters'])} clusters"
    ]
    if summary["seconds"] is not None:
        words.append(f"{summary['seconds']:.1f} s")
    if "n_members" in summary:
        words.append(f"{summary['n_members']:,} members")
    if "halves_agreement" in summary:
        agreed = percent(summary["halves_agreement"])
        words.append(f"two halves of them agree on {agreed} of points")
    scores = summary.get("scores")
    if scores:
        words.append(
            f"error {percent(scores['error'], 2)}, NMI {scores['nmi']:.3f}, "
            f"ARI {scores['ari']:.3f}"
        )
    return "; ".join(words)


def _graph_part(facts: Facts) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if facts.pieces is not None:
        part["graph"] = {
            "n_components": facts.pieces.count,
            "n_isolated": facts.pieces.n_single,
            "n_edges": facts.pieces.n_edges,
        }
    if facts.spectrum is not None:
        part["eigenvalues"] = six_digits(facts.spectrum.eigenvalues)
        part["gap"] = facts.spectrum.gap
        part["clearest_drop_after"] = facts.spectrum.clearest_after
    if facts.blocks is not None:
        name = "coassociation" if facts.blocks.of_votes else "affinity"
        part[f"mean_{name}"] = six_digits(facts.blocks.between)
    if facts.angles is not None:
        part["subspace_affinities"] = six_digits(facts.angles.affinities)
        part["smallest_angles_degrees"] = six_digits(facts.angles.smallest)
    return part


def _label_part(facts: Facts) -> dict[str, Any]:
    scores = facts.scores
    if scores is None:
        return {}
    return {
        "scores": {
            "error": scores.error,
            "nmi": scores.nmi,
            "ari": scores.ari,
            "classes": list(scores.classes),
            "clusters": [facts.clusters[k].name for k in scores.clusters],
            "confusion": scores.confusion.tolist(),
        }
    }
