"""Outliers, unequal dimensions, unequal sizes: docs/results/outliers.md.

Planted unions, 10 draws each. Every fit is a row of docs/results/outliers.csv; only
rows that are missing, or that other code made, are computed, so a run can be stopped
and continued, and ``--fresh`` begins anew. With Python: ``python
benchmarks/outliers.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from ekss import EKSS, KSS, SSC, ClusteringWarning, CoPKSS, KSSMember, MedianKFlats
from ekss.datasets import make_union_of_subspaces
from ekss.graph import companion_shares
from ekss.metrics import clustering_error
from ekss.report import build
from rows import Key, Rows, Study

DRAWS = range(10)
# Members by coherence pursuit take many times as long.
FEW_DRAWS, SLOW = 3, ("the same, members by coherence pursuit",)
STUDY = Study(
    "outliers",
    "Outliers, unequal dimensions, unequal sizes",
    ("part", "case", "method", "draw"),
    ("error", "auc", "votes", "found", "false", "dims", "sizes", "said"),
)

# Five subspaces of dimension 5 in 50 dimensions, 100 points on each.
OUTLIERS = {
    f"{share:.0%} outliers": {
        "n_subspaces": 5,
        "dims": 5,
        "n_features": 50,
        "noise": 0.3,
        "outliers": share,
    }
    for share in (0.1, 0.3)
}
DIMS = {
    f"{share:.0%} outliers": {
        "n_subspaces": 5,
        "dims": (1, 2, 5, 10, 20),
        "n_features": 60,
        "n_per_subspace": 200,
        "noise": 0.1,
        "outliers": share,
    }
    for share in (0.0, 0.1)
}
SIZES = {
    f"in {n_features} dimensions": {
        "n_subspaces": 5,
        "dims": 5,
        "n_features": n_features,
        "n_per_subspace": (1000, 300, 100, 30, 10),
        "noise": 0.1,
    }
    for n_features in (50, 12)
}


# The rivals are told the dimension; EKSS is not.
METHODS: dict[str, Callable[[int], Any]] = {
    'EKSS(5, outliers="auto")': lambda seed: EKSS(
        5, outliers="auto", random_state=seed
    ),
    "the same, members by coherence pursuit": lambda seed: EKSS(
        5, outliers="auto", member=KSSMember(update="cop"), random_state=seed
    ),
    "KSS(5, 5)": lambda seed: KSS(5, 5, random_state=seed),
    "CoPKSS(5, 5)": lambda seed: CoPKSS(5, 5, random_state=seed),
    "MedianKFlats(5, 5)": lambda seed: MedianKFlats(5, 5, random_state=seed),
    "SSC(5, alpha_outliers=20)": lambda seed: SSC(
        5, alpha_outliers=20.0, random_state=seed
    ),
}


def scores_of(model: Any) -> np.ndarray:
    """Return a score per point that is high for outliers.

    Of a sparse code it is the sum of the absolute coefficients, as in Soltanolkotabi
    and Candes, "A geometric analysis of subspace clustering with outliers", 2012.
    """
    if hasattr(model, "outlier_scores_"):
        return np.asarray(model.outlier_scores_)
    return np.asarray(abs(model.coefficients_).sum(axis=1)).ravel()


def measure_outliers(case: str, method: str, draw: int) -> dict[str, Any]:
    union = make_union_of_subspaces(**OUTLIERS[case], random_state=draw)
    model = METHODS[method](draw).fit(union.data)
    inside = union.target >= 0
    found = {
        "error": clustering_error(union.target[inside], model.labels_[inside]),
        "auc": roc_auc_score(~inside, scores_of(model)),
    }
    if isinstance(model, EKSS):
        # Labels before any were marked.
        labels = (model.finalists_ or model.candidates_)[0].labels.astype(int)
        shares = companion_shares(model.member_labels_, labels, 5)
        found["votes"] = roc_auc_score(~inside, -shares[np.arange(len(labels)), labels])
        found["found"] = (model.labels_[~inside] < 0).mean()
        found["false"] = (model.labels_[inside] < 0).mean()
    return found


def matched(target: np.ndarray, labels: np.ndarray) -> list[int]:
    """Return the cluster that most points of each planted one are in."""
    return [
        int(np.bincount(labels[(target == k) & (labels >= 0)]).argmax())
        for k in range(target.max() + 1)
    ]


def measure_dims(case: str, method: str, draw: int) -> dict[str, Any]:
    union = make_union_of_subspaces(**DIMS[case], random_state=draw)
    model = EKSS(5, outliers=None, random_state=draw).fit(union.data)
    inside = union.target >= 0
    dims = model.dims_[matched(union.target, model.labels_)]
    return {
        "error": clustering_error(union.target[inside], model.labels_[inside]),
        "dims": " ".join(map(str, dims)),
    }


def measure_sizes(case: str, method: str, draw: int) -> dict[str, Any]:
    union = make_union_of_subspaces(**SIZES[case], random_state=draw)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ClusteringWarning)
        model = EKSS(5, random_state=draw).fit(union.data)
        advice = build(model, union.data).summary["warnings"]
    sizes = sorted(np.bincount(model.labels_, minlength=5), reverse=True)
    said = sorted({one["key"] for one in advice}) + ["+warned"] * bool(told)
    return {
        "error": clustering_error(union.target, model.labels_),
        "sizes": " ".join(map(str, sizes)),
        "said": " ".join(said),
    }


PARTS: dict[str, tuple[Callable[..., dict[str, Any]], dict[str, Any], list[str]]] = {
    "outliers": (measure_outliers, OUTLIERS, list(METHODS)),
    "dims": (measure_dims, DIMS, ["EKSS(5)"]),
    "sizes": (measure_sizes, SIZES, ["EKSS(5)"]),
}


def wanted(parts: list[str], n_draws: int) -> Iterator[Key]:
    for part in parts:
        for draw in DRAWS[:n_draws]:
            for case, method in product(*PARTS[part][1:]):
                if draw < FEW_DRAWS or method not in SLOW:
                    yield part, case, method, str(draw)


def measure(key: Key) -> dict[str, Any]:
    part, case, method, draw = key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClusteringWarning)
        found: dict[str, Any] = PARTS[part][0](case, method, int(draw))
    return found


def numbers(rows: Rows, name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in rows if row[name]])


def in_percent(values: np.ndarray, how: Callable[[np.ndarray], Any] = np.mean) -> str:
    return f"{100 * how(values):.2f}" if len(values) else "-"


def outlier_table(take: Callable[..., Rows]) -> Iterator[str]:
    for case in OUTLIERS:
        yield f"### {case}"
        yield ""
        yield (
            "| method | draws | error % of inliers | worst | AUC | worst | "
            "AUC of votes alone | outliers marked % | inliers marked % |"
        )
        yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
        for method in METHODS:
            rows = take("outliers", case, method)
            errors, areas = numbers(rows, "error"), numbers(rows, "auc")
            if not len(errors):
                continue
            votes = numbers(rows, "votes")
            cells = [
                method,
                f"{len(rows)}",
                in_percent(errors),
                in_percent(errors, np.max),
                f"{areas.mean():.4f}",
                f"{areas.min():.4f}",
                f"{votes.mean():.4f}" if len(votes) else "-",
                in_percent(numbers(rows, "found")),
                in_percent(numbers(rows, "false")),
            ]
            yield f"| {' | '.join(cells)} |"
        yield ""


def dims_table(take: Callable[..., Rows]) -> Iterator[str]:
    yield "| case | error % of inliers | all dimensions exact | largest miss |"
    yield "|---|---:|---:|---:|"
    for case, planted in DIMS.items():
        rows = take("dims", case, "EKSS(5)")
        if not rows:
            continue
        found = np.array([[int(n) for n in row["dims"].split()] for row in rows])
        missed = np.abs(found - np.array(planted["dims"])).max(axis=1)
        yield (
            f"| {case} | {in_percent(numbers(rows, 'error'))} | "
            f"{(missed == 0).sum()} of {len(rows)} | {missed.max()} |"
        )
    yield ""


def sizes_table(take: Callable[..., Rows]) -> Iterator[str]:
    yield (
        "| case | error % | worst | draws without error | smallest clusters found, "
        "worst draw | what the report says |"
    )
    yield "|---|---:|---:|---:|---|---|"
    for case in SIZES:
        rows = take("sizes", case, "EKSS(5)")
        if not rows:
            continue
        errors = numbers(rows, "error")
        said = [set(row["said"].split()) for row in rows]
        words = ", ".join(
            f"`{key}` {sum(key in one for one in said)} of {len(said)}"
            for key in sorted(set().union(*said))
        )
        yield (
            f"| {case} | {in_percent(errors)} | {in_percent(errors, np.max)} | "
            f"{(errors == 0).sum()} of {len(rows)} | "
            f"{rows[int(errors.argmax())]['sizes'].replace(' ', ', ')} | {words} |"
        )
    yield ""


def body(every: Rows) -> list[str]:
    def take(part: str, case: str, method: str) -> Rows:
        wanted = part, case, method
        return [
            row for row in every if (row["part"], row["case"], row["method"]) == wanted
        ]

    return [
        f"Made by `python benchmarks/outliers.py`: planted unions, up to {len(DRAWS)} "
        "draws; the number of the draw is the seed of the fit too. What the words "
        "mean is explained in [odd data](../odd-data.md).",
        "",
        "## Outliers",
        "",
        "Five subspaces of dimension 5 in 50 dimensions, 100 points on each, and "
        "outliers uniform on the sphere; the share is that of all points; "
        "noise 0.3. Rivals are "
        "told the dimension, EKSS is not. Inliers that are marked count as errors. "
        "SSC has no scores; the sum of its absolute coefficients serves as one.",
        "",
        *outlier_table(take),
        "## Unequal dimensions",
        "",
        "Dimensions 1, 2, 5, 10 and 20 in 60 dimensions, 200 points on each, noise "
        "0.1; "
        "`EKSS(5)` with its defaults, `dims_` against the planted dimensions.",
        "",
        *dims_table(take),
        "## Unequal sizes",
        "",
        "1000, 300, 100, 30 and 10 points on subspaces of dimension 5, noise 0.1; "
        "`EKSS(5)` with its defaults. The last "
        "column counts the keys of warnings and notes in the report; `+warned` is a "
        "`ClusteringWarning` of the fit.",
        "",
        *sizes_table(take),
    ]


def main() -> None:
    parser = STUDY.arguments(__doc__)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--draws", type=int, default=len(DRAWS), metavar="N")
    given = parser.parse_args()
    STUDY.carry_out(given, wanted(given.parts, given.draws), measure, body)


if __name__ == "__main__":
    main()
