"""What an assessment of the guarantees consists of: numbers, no words yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.theory import Guarantee
from ekss.theory._guarantees import Situation
from ekss.theory._labelled import LabelledSubspaces, SubspacePairs


@dataclass(frozen=True)
class Wishes:
    """What a person may set; None is left to the data.

    Attributes
    ----------
    dim, q, n_candidates, candidate_dim : int or None
        Dimension of the clusters' subspaces, neighbours, candidates of a member of
        EKSS-0 and their dimension.
    n_members, seed : int
        Members of EKSS-0 and their seed.
    failure : float
        Failure probability allowed for Theorem 3.
    noise : float or None
        sigma of Lemma 2.
    n_missing : int
        s of Lemma 1.
    n_components : int or None
        p of Theorem 8.
    rows : int or None
        At most so many points are compared with all others.
    jobs : int or None
        Parallel workers; the result does not depend on it.
    """

    dim: int | None = None
    q: int | None = None
    n_members: int = 1000
    n_candidates: int | None = None
    candidate_dim: int | None = None
    seed: int = 0
    failure: float = 0.01
    noise: float | None = None
    n_missing: int = 0
    n_components: int | None = None
    rows: int | None = None
    jobs: int | None = None


@dataclass(frozen=True)
class WorstPoint:
    """A point and its rival, the nearest point of another cluster."""

    index: int
    cluster: int
    gap: float
    near: float
    far: float
    rival: int
    rival_cluster: int


@dataclass(frozen=True)
class Certificate:
    """Theorem 1 for one method.

    Attributes
    ----------
    holds : bool or None
        None where not all points were looked at, and those that were are fine.
    phi, tau, margin : float
        Separation, deviation, and the difference that has to be positive.
    share : float
        Share of the points looked at whose own gap exceeds tau.
    nearest_share : float
        The same share for q = 1.
    largest_q : int
        The largest q with which it would hold; 0 if none.
    gaps : ndarray
        Half differences of the points looked at.
    worst : tuple of WorstPoint
    """

    holds: bool | None
    phi: float
    tau: float
    margin: float
    share: float
    nearest_share: float
    largest_q: int
    gaps: NDArray[np.float64]
    worst: tuple[WorstPoint, ...]


@dataclass(frozen=True)
class GraphFacts:
    """What is true of the graph a method really made, and of its labels.

    Attributes
    ----------
    n_edges, n_false, n_false_points : int
        Edges, those between clusters, and the points these touch.
    components : tuple of int
        Pieces of each cluster, edges between clusters left out.
    error : float
        Clustering error of the labels found.
    connecting_q : int or None
        Smallest q that connects every cluster, where q does not and it was found.
    """

    n_edges: int
    n_false: int
    n_false_points: int
    components: tuple[int, ...]
    error: float
    connecting_q: int | None = None


@dataclass(frozen=True)
class Promise:
    """Theorem 3: the deviation promised for any seed, and the members wanted."""

    tau: float
    holds: bool | None
    largest_q: int
    members: int | None


@dataclass(frozen=True)
class Curve:
    """f at a grid of inner products, and votes of some pairs of points."""

    inner: NDArray[np.float64]
    expected: NDArray[np.float64]
    pair_inner: NDArray[np.float64]
    pair_votes: NDArray[np.float64]
    pair_same: NDArray[np.bool_]


@dataclass(frozen=True)
class Assessment:
    """Everything the page shows, as numbers."""

    wishes: Wishes
    subspaces: LabelledSubspaces
    pairs: SubspacePairs
    situation: Situation
    noise_given: bool
    tolerated_missing: int | None
    n_candidates: int
    candidate_dim: int
    n_rows: int
    tsc: Certificate
    tsc_graph: GraphFacts
    votes: Certificate
    votes_graph: GraphFacts
    promise: Promise
    curve: Curve
    connections: tuple[Guarantee, ...]
    theorems: tuple[Guarantee, ...]
    projection: Guarantee

    @property
    def complete(self) -> bool:
        """Whether every point was compared with every other."""
        return self.n_rows == self.situation.n_samples
