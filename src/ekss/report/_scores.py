"""Clusters against true labels: scores, matched classes, and their panels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ekss.metrics import adjusted_rand, clustering_error, normalized_mutual_info
from ekss.report._figures import heat_map
from ekss.report._fitted import Inputs
from ekss.report._page import Panel, part

if TYPE_CHECKING:
    from ekss.report._facts import Facts

_LONGEST_NAME = 10  # characters of a class that fit beside the table


@dataclass(frozen=True)
class Scores:
    """Scores and the table of classes against clusters."""

    error: float  # clustering error
    nmi: float  # normalised mutual information
    ari: float  # adjusted Rand index
    # names of the true classes, in the order of the table's rows
    classes: tuple[str, ...]
    # position of the clusters, in the order of the table's columns
    clusters: NDArray[np.int64]
    # (n_classes, n_clusters): points of each class in each cluster; matched pairs stand
    # on the diagonal
    confusion: NDArray[np.int64]
    n_matched: int  # how many pairs are matched
    # (n_samples,): whether a point is outside the cluster that is matched to its class
    wrong: NDArray[np.bool_]


def scores_of(inputs: Inputs) -> Scores | None:
    """Match classes to clusters and count."""
    if inputs.truth is None:
        return None
    codes = inputs.codes
    true, names = _coded(inputs.truth)
    counts = np.zeros((len(names), inputs.n_clusters), np.int64)
    np.add.at(counts, (true, codes), 1)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    class_order = np.append(rows, np.setdiff1d(np.arange(len(names)), rows))
    others = np.setdiff1d(np.arange(inputs.n_clusters), columns)
    cluster_order = np.append(columns, others)
    partner = np.full(inputs.n_clusters, -1)
    partner[columns] = rows
    return Scores(
        clustering_error(true, codes),
        normalized_mutual_info(true, codes),
        adjusted_rand(true, codes),
        tuple(str(names[i]) for i in class_order),
        cluster_order,
        counts[class_order][:, cluster_order],
        len(rows),
        partner[codes] != true,
    )


def draw_confusion(facts: Facts) -> Panel | None:
    """Draw true classes against clusters, matched pairs on the diagonal."""
    scores = facts.scores
    if scores is None:
        return None
    counts = scores.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    clusters = [str(facts.clusters[k].name) for k in scores.clusters]
    most = _LONGEST_NAME
    classes = [c if len(c) <= most else c[: most - 1] + "…" for c in scores.classes]
    alt = (
        f"{len(classes)} true classes against {len(clusters)} clusters: "
        f"{100 * (1 - scores.error):.1f} % of the points are on the diagonal."
    )
    cells = [[f"{c:,}" if c else "" for c in row] for row in counts]
    labels = "true class", "cluster"
    drawing = heat_map(shares, cells, classes, clusters, alt, labels)
    reading = (
        "Rows are true classes, columns clusters, matched one to one so that most "
        "points are on the diagonal; cells are shaded by their share of the class. "
        "What is off the diagonal is counted as error."
    )
    return Panel("confusion", "True classes against clusters", drawing, reading)


def draw_scores(facts: Facts) -> Panel | None:
    """Write the scores against the true labels."""
    scores = facts.scores
    if scores is None:
        return None
    body = part(
        "scores",
        error=scores.error,
        nmi=scores.nmi,
        ari=scores.ari,
        wrong=int(scores.wrong.sum()),
        n_samples=facts.run.n_samples,
    )
    reading = (
        "True labels were used for these scores alone; the clusters were found without "
        "them."
    )
    return Panel("scores", "Scores", body, reading)


def _coded(
    truth: tuple[Hashable, ...],
) -> tuple[NDArray[np.int64], list[Any]]:
    """Give labels numbers in their sorted order, or as they come if they have none."""
    names: list[Any] = list(dict.fromkeys(truth))
    try:
        names.sort()
    except TypeError:
        names.sort(key=str)
    number = {name: i for i, name in enumerate(names)}
    return np.array([number[label] for label in truth], np.int64), names
