"""The label-free choice of EKSS, and what it would be without each of its terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ekss.benchmarks._recipes import Points

BEST = "best in the pool"


class Recorder:
    """The default score, which remembers the last pool of cuts that it judged."""

    def __init__(self) -> None:
        self.evidence: Any = None
        self.cuts: list[tuple[NDArray[np.int64], Any]] = []

    def __call__(self, labels: NDArray[np.int64], evidence: Any) -> Any:
        """Score a cut and keep it."""
        from ekss.graph import score_cut

        if evidence is not self.evidence:
            self.evidence, self.cuts = evidence, []
        score = score_cut(labels, evidence)
        self.cuts.append((labels, score))
        return score


def other_choices(recorder: Recorder, target: NDArray[np.integer]) -> dict[str, float]:
    """Return errors in percent of the cuts that other scores would choose.

    Parameters
    ----------
    recorder : Recorder
        After a fit that chose among cuts.
    target : ndarray of shape (n_samples,)
        True labels, for the errors alone.

    Returns
    -------
    errors : dict of str to float
        Without each term of the score, with each term alone, and of the best cut.
    """
    from ekss.graph.selection import EXPONENTS
    from ekss.metrics import clustering_error

    errors = [100 * clustering_error(target, labels) for labels, _ in recorder.cuts]
    if not errors:
        return {}
    logs = np.log(
        [[getattr(score, term) for term in EXPONENTS] for _, score in recorder.cuts]
    )
    found = {BEST: min(errors)}
    for number, term in enumerate(EXPONENTS):
        without = np.array(list(EXPONENTS.values()))
        without[number] = 0
        found[f"without {term}"] = errors[int(np.argmin(logs @ without))]
        found[f"{term} alone"] = errors[int(np.argmin(logs[:, number]))]
    return {name: round(error, 4) for name, error in found.items()}


def fit_and_record(
    points: Points, params: dict[str, Any], seed: int
) -> tuple[Any, dict[str, float]]:
    """Fit EKSS without labels; return the model and the errors of other choices."""
    from ekss.estimators import EKSS

    recorder = Recorder()
    model = EKSS(
        points.n_clusters, random_state=seed, n_jobs=1, cut_score=recorder, **params
    ).fit(points.data)
    return model, other_choices(recorder, points.target)
