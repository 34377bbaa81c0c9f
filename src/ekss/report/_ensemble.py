"""What an ensemble chose by itself: the number of clusters and of members."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from ekss.report._inputs import Inputs


@dataclass(frozen=True)
class Counts:
    """Numbers of clusters that were considered.

    Attributes
    ----------
    chosen : int
        The number that was taken.
    considered : tuple of (int, float)
        Numbers and their scores, lowest score first; lower is better.
    """

    chosen: int
    considered: tuple[tuple[int, float], ...]

    @property
    def lead(self) -> float | None:
        """How far the score of the second best lies above the best; None if alone."""
        if len(self.considered) < 2:
            return None
        return self.considered[1][1] - self.considered[0][1]


@dataclass(frozen=True)
class Members:
    """Members of an ensemble.

    Attributes
    ----------
    used : int
        How many voted.
    halves : float or None
        Share of points to which two halves of the members give the same cluster,
        where it was measured last; None if it was not.
    chosen : bool
        Whether their number was left to the method.
    """

    used: int
    halves: float | None
    chosen: bool


def counts_of(inputs: Inputs) -> Counts | None:
    """Take the numbers of clusters that were considered, if any were."""
    found = getattr(inputs.fitted, "counts_", ())
    considered = [(int(c.n_clusters), float(c.score)) for c in found]
    considered = [pair for pair in considered if isfinite(pair[1])]
    if not considered:
        return None
    considered.sort(key=lambda pair: pair[1])
    return Counts(int(inputs.fitted.n_clusters_), tuple(considered))


def members_of(inputs: Inputs) -> Members | None:
    """Take the number of members and the agreement of their halves."""
    fitted = inputs.fitted
    used = getattr(fitted, "n_members_", None)
    if used is None:
        return None
    halves = getattr(fitted, "agreement_", None)
    return Members(
        int(used),
        None if halves is None else float(halves),
        isinstance(fitted.n_members, str),
    )
