"""The label-free choice of EKSS, and what it would be without each of its terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BEST = "best in the pool"


def other_choices(model: Any, target: NDArray[np.integer]) -> dict[str, float]:
    """Return errors in percent of the cuts that other scores would choose.

    Parameters
    ----------
    model : EKSS
        Fitted with the default score. Only ``candidates_`` is read, so looking changes
        nothing.
    target : ndarray of shape (n_samples,)
        True labels, for the errors alone.

    Returns
    -------
    errors : dict of str to float
        Without each term of the score, with each term alone, and of the best cut;
        empty where the fit had no cuts to choose from.
    """
    from ekss.graph.selection import EXPONENTS
    from ekss.metrics import clustering_error

    cuts = model.candidates_
    if not cuts:
        return {}
    seen = target if model.sample_ is None else target[model.sample_]
    errors = [100 * clustering_error(seen, cut.labels) for cut in cuts]
    logs = np.log([[getattr(cut.judged, term) for term in EXPONENTS] for cut in cuts])
    found = {BEST: min(errors)}
    for number, term in enumerate(EXPONENTS):
        without = np.array(list(EXPONENTS.values()))
        without[number] = 0
        found[f"without {term}"] = errors[int(np.argmin(logs @ without))]
        found[f"{term} alone"] = errors[int(np.argmin(logs[:, number]))]
    return {name: round(error, 4) for name, error in found.items()}
