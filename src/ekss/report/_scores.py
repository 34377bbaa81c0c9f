"""Clusters against true labels: scores, matched classes, and their panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ekss.metrics import adjusted_rand, clustering_error, normalized_mutual_info
from ekss.report._figures import Ints, heat_map
from ekss.report._fitted import Inputs
from ekss.report._page import Panel, part, percent

if TYPE_CHECKING:
    from ekss.report._facts import Facts

_LONGEST_NAME = 10  # characters of a class that fit beside the table


@dataclass(frozen=True)
class Scores:
    """Scores and the table of classes against clusters."""

    error: float  # clustering error
    nmi: float  # normalised mutual information
    ari: float  # adjusted Rand index
    classes: tuple[str, ...]  # names of the true classes, in the order of the rows
    clusters: Ints  # positions of the clusters, in the order of the columns
    # (n_classes, n_clusters): points of each class in each cluster; matched pairs stand
    # on the diagonal
    confusion: Ints
    # (n_samples,): whether a point is outside the cluster that is matched to its class
    wrong: NDArray[np.bool_]

    def majority(self, k: int) -> tuple[str, float]:
        """Class of most points of a cluster, and their share."""
        counts = self.confusion[:, int(np.flatnonzero(self.clusters == k)[0])]
        most = int(counts.argmax())
        return self.classes[most], float(counts[most] / max(1, counts.sum()))


def scores_of(inputs: Inputs) -> Scores | None:
    """Match classes to clusters and count."""
    if inputs.truth is None:
        return None
    names: list[Any] = list(dict.fromkeys(inputs.truth))
    try:
        names.sort()
    except TypeError:  # values of several types have no order
        names.sort(key=str)
    code_of = {name: i for i, name in enumerate(names)}
    true = np.array([code_of[label] for label in inputs.truth], np.int64)
    codes, n_clusters = inputs.codes, inputs.n_clusters
    counts = np.zeros((len(names), n_clusters), np.int64)
    np.add.at(counts, (true, codes), 1)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    class_order = np.append(rows, np.setdiff1d(np.arange(len(names)), rows))
    cluster_order = np.append(columns, np.setdiff1d(np.arange(n_clusters), columns))
    partner = np.full(n_clusters, -1)
    partner[columns] = rows
    return Scores(
        clustering_error(true, codes),
        normalized_mutual_info(true, codes),
        adjusted_rand(true, codes),
        tuple(str(names[i]) for i in class_order),
        cluster_order,
        counts[class_order][:, cluster_order],
        partner[codes] != true,
    )


def draw_confusion(facts: Facts) -> Panel | None:
    """Draw true classes against clusters, matched pairs on the diagonal."""
    scores, most = facts.scores, _LONGEST_NAME
    if scores is None:
        return None
    counts = scores.confusion
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    clusters = [facts.names[k] for k in scores.clusters]
    classes = [c if len(c) <= most else c[: most - 1] + "…" for c in scores.classes]
    alt = (
        f"{len(classes)} true classes against {len(clusters)} clusters: "
        f"{percent(1 - scores.error)} of the points are on the diagonal."
    )
    cells = [[f"{c:,}" if c else "" for c in row] for row in counts]
    labels = "true class", "cluster"
    positions = (), scores.clusters.tolist()
    drawing = heat_map(shares, cells, classes, clusters, alt, labels, positions)
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
    wrong, n_samples = int(scores.wrong.sum()), facts.inputs.n_samples
    body = part("scores", scores=scores, wrong=wrong, n_samples=n_samples)
    reading = (
        "True labels were used for these scores alone; the clusters were found without "
        "them."
    )
    return Panel("scores", "Scores", body, reading)
