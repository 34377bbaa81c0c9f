"""The numbers of a report for programs, and as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

import ekss
from ekss.report._facts import Facts

if TYPE_CHECKING:
    from rich.console import Group

VERSION = 1
KIND = "ekss report"


def summarise(facts: Facts) -> dict[str, Any]:
    """Put all numbers of a report into a dict that JSON can hold."""
    run = facts.run
    summary: dict[str, Any] = {
        "kind": KIND,
        "version": VERSION,
        "ekss": ekss.__version__,
        "created": run.created,
        "title": run.title,
        "source": run.source,
        "method": run.method,
        "seconds": run.seconds,
        "n_samples": run.n_samples,
        "n_features": run.n_features,
        "feature_names": run.feature_names and list(run.feature_names),
        "n_clusters": run.n_clusters,
        "n_left_out": run.n_left_out,
        "n_rows": run.n_rows,
        "n_zero": run.n_zero,
        "affine": run.affine,
        "parameters": {name: value for name, value, _ in run.parameters},
        "found": dict(run.found),
        "warnings": [asdict(advice) for advice in facts.advice],
        "subspace_dim": facts.fit.dim,
        "subspaces_fitted_by": "report" if facts.fit.fitted_here else "estimator",
        "captured": facts.captured,
        "n_measured": len(facts.fit.rows),
        "agreement_from": facts.agreement.source,
        "clusters": [_cluster(facts, k) for k in range(len(facts.clusters))],
        "residual_edges": _listed(facts.residuals.edges),
    }
    return summary | _ensemble_part(facts) | _graph_part(facts) | _label_part(facts)


def check_summary(summary: Mapping[str, Any]) -> None:
    """Refuse what is not a summary of this version."""
    if not isinstance(summary, Mapping) or summary.get("kind") != KIND:
        raise ValueError(
            "this is not the summary of a report; pass the .json file that "
            "ekss cluster --report writes beside the page"
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
    """
    check_summary(summary)
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(str(summary["title"]), style="bold"), Text(_line(summary))]
    for advice in summary["warnings"]:
        mark = "!" if advice["level"] == "warning" else "-"
        style = "yellow" if advice["level"] == "warning" else ""
        parts.append(Text(f"{mark} {advice['title']}", style=style))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    headings = ("cluster", "points", "dim 95 %", "captured", "residual", "agreement")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for cluster in summary["clusters"]:
        table.add_row(
            str(cluster["name"]),
            f"{cluster['size']:,}",
            str(cluster["effective_dim"]),
            f"{100 * cluster['captured']:.1f} %",
            f"{cluster['residual_median']:.3g}",
            f"{100 * cluster['agreement']:.0f} %",
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
        share = 100 * summary["halves_agreement"]
        words.append(f"two halves of them agree on {share:.1f} % of points")
    scores = summary.get("scores")
    if scores:
        words.append(
            f"error {100 * scores['error']:.2f} %, NMI {scores['nmi']:.3f}, "
            f"ARI {scores['ari']:.3f}"
        )
    return "; ".join(words)


def _cluster(facts: Facts, k: int) -> dict[str, Any]:
    cluster = facts.clusters[k]
    return asdict(cluster) | {
        "agreement_quarters": list(cluster.agreement_quarters),
        "residual_histogram": _listed(facts.residuals.counts[k]),
    }


def _ensemble_part(facts: Facts) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if facts.members is not None:
        part["n_members"] = facts.members.used
        if facts.members.halves is not None:
            part["halves_agreement"] = facts.members.halves
    if facts.counts is not None:
        part["counts"] = [
            {"n_clusters": number, "score": score}
            for number, score in facts.counts.considered
        ]
    return part


def _graph_part(facts: Facts) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if facts.pieces is not None:
        pieces = facts.pieces
        part["graph"] = {
            "n_components": pieces.n_components,
            "n_isolated": pieces.n_single,
            "n_edges": pieces.n_edges,
        }
    if facts.spectrum is not None:
        spectrum = facts.spectrum
        part["eigenvalues"] = _listed(spectrum.eigenvalues)
        part["gap"] = spectrum.gap
        part["clearest_drop_after"] = spectrum.clearest_after
    if facts.blocks is not None:
        name = "coassociation" if facts.blocks.source == "members" else "affinity"
        part[f"mean_{name}"] = _listed(facts.blocks.between)
    if facts.angles is not None:
        part["subspace_affinities"] = _listed(facts.angles.affinities)
        part["smallest_angles_degrees"] = _listed(facts.angles.smallest)
    return part


def _label_part(facts: Facts) -> dict[str, Any]:
    if facts.scores is None:
        return {}
    scores = facts.scores
    return {
        "scores": {
            "error": scores.error,
            "nmi": scores.nmi,
            "ari": scores.ari,
            "classes": list(scores.classes),
            "clusters": [facts.clusters[k].name for k in scores.clusters],
            "confusion": _listed(scores.confusion),
        }
    }


def _listed(array: np.ndarray) -> list[Any]:
    """Nested lists of plain numbers, six digits of those that are not whole."""
    if array.dtype.kind in "iu":
        return array.tolist()
    digits = 6
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"))(array).tolist()
