"""Ensemble K-subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ekss.core.bases import fit_clusters
from ekss.estimators._agreement import grow_ensemble
from ekss.estimators._auto import (
    Geometry,
    default_top_q,
    has_flat_neighbourhoods,
    resolve_geometry,
)
from ekss.estimators._base import (
    LARGEST_SEED,
    Prepared,
    SubspaceClusterer,
    power_of_two,
)
from ekss.estimators._checks import (
    check_bool,
    check_choice,
    check_int,
    check_workers,
    is_auto,
)
from ekss.estimators._coordinates import Coordinates, leading_coordinates
from ekss.estimators._counting import FIRST_GUESS, Count, count_clusters, is_near
from ekss.estimators._cutting import Candidate, ChosenCut, Cutting, gather_evidence
from ekss.estimators._members import Ensemble, Wanted, member_options
from ekss.estimators._parallel import one_blas_thread, progress
from ekss.graph.cuts import CUTTERS, Cutter
from ekss.graph.selection import Score, score_cut

# With n_base="auto" an ensemble grows from step to step until its halves agree.
_STEPS = (100, 200, 400)
# The number of clusters is sought with so many members on so many points.
_SCOUTS = 100
_SCOUTED_POINTS = 4000
_ROUNDS = 5
_OR_AUTO = ' or "auto"'


@dataclass(frozen=True)
class _Ballot:
    """Members that have voted, and the data as they saw them."""

    prepared: Prepared
    kept: Coordinates
    geometry: Geometry
    ensemble: Ensemble
    cutting: Cutting
    top_q: int | None


class EKSS(SubspaceClusterer):
    r"""Ensemble K-subspaces: cluster points by the subspaces they lie near.

    Many short, random runs of K-subspaces ("members") vote on which points belong
    together,
    :math:`A_{ij} = \frac1B \sum_b w(b)\, 1\{i, j \text{ together in member } b\}`;
    the top q votes of each point make a sparse graph, and the graph is cut by spectral
    clustering (Algorithm 1 of [1]_).

    By default nothing needs tuning: dimensions come from the data, and of many cuts of
    the votes the one is kept on which subspaces and votes agree best. With integers for
    ``subspace_dim``, ``n_candidates`` and ``top_q`` it is the algorithm of the paper.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters K. "auto" takes the number whose best cut has the lowest
        ``cut_score`` (votes count more than between cuts), at least 2.
    subspace_dim : "auto", int or (int, int), default="auto"
        Dimension of the candidate subspaces; with a pair each member draws its own
        from that range, and the clusters get the middle of it, rounded down. "auto"
        estimates a range from the neighbourhoods of points.
    n_candidates : "auto", int, (int, int) or None, default="auto"
        Number of candidate subspaces of a member; with a pair each member draws its
        own. None is ``n_clusters``. "auto" is the same when ``subspace_dim`` is given;
        otherwise members draw from 4 to 8 times ``n_clusters``, but leave every
        candidate at least three points for each dimension.
    n_base : int or "auto", default="auto"
        Number of members B. "auto" is 100, doubled up to 400 until the odd and the even
        members alone give 97 % of a sample of points the same cluster.
    max_iter : int, default=5
        Iterations T of K-subspaces in a member; 0 is EKSS-0, which has the recovery
        guarantees of the paper.
    top_q : "auto" or int, default="auto"
        Votes kept a point. With "auto" graphs of several q are cut in several ways and
        the cut of lowest ``cut_score`` is kept; an integer makes the one graph and
        the one cut of the paper.
    weighting : {"cost", "uniform"}, default="cost"
        Weight of a member: the share of the energy of X that its subspaces capture
        (the paper's w(b)), or 1.
    divide_by_size : bool, default=True
        Divide votes by the size of the base cluster they come from; False is the
        paper's vote.
    base : {"power", "pca", "cop"}, default="power"
        Basis update of a member: one warm power step towards the principal components,
        exact PCA, or PCA of the most coherent points (Coherence Pursuit), which
        resists outliers. The power step is many times faster than the other two.
    start : {"auto", "random", "neighbours"}, default="auto"
        Where candidates begin: random subspaces, as in the paper, or neighbourhoods of
        random points. "auto" is random for linear, neighbourhoods for affine subspaces.
    affine : bool or "auto", default="auto"
        Whether subspaces may miss the origin. "auto" allows it where ``subspace_dim``
        is "auto" too and neighbourhoods lie on flats of dimension 2 or 3 within 1 % of
        their energy, as tracks of points on moving bodies do.
    normalize : bool or "auto", default="auto"
        Scale points to unit length first. "auto" does so for linear subspaces, where
        length carries no information, and not for affine ones.
    n_eigenvectors : int, default=None
        Eigenvectors used for the paper's one cut, which is made if it is given or
        ``top_q`` is an integer; None is ``n_clusters``.
    cutters : sequence of callables, default=None
        Ways of cutting when ``top_q="auto"``; None is :data:`ekss.graph.CUTTERS`. See
        :func:`ekss.graph.candidate_cuts` for adding one.
    cut_score : callable, default=None
        ``cut_score(labels, evidence)``, lower is better; None is
        :func:`ekss.graph.score_cut`.
    warm_start : bool, default=False
        Keep the members of the last fit if data, seed and settings of members are the
        same, so that a larger ``n_base`` costs only the new ones.
    n_jobs : int, default=None
        Parallel workers, as in joblib. Labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed; the same int gives the same labels, in any order of members.
    verbose : int, default=0
        Show progress bars with time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point.
    bases_ : ndarray of shape (n_clusters, n_features, subspace_dim_)
        Orthonormal basis of each cluster's subspace, fitted after clustering.
    offsets_ : ndarray of shape (n_clusters, n_features) or None
        A point on each affine subspace; None for linear ones.
    affinity_ : csr_array of shape (n_samples, n_samples)
        The thresholded co-association graph.
    base_labels_ : ndarray of shape (n_samples, n_base_)
        Labels of every member, in the smallest unsigned type.
    base_weights_ : ndarray of shape (n_base_,)
        Weights of the members.
    embedding_ : ndarray of shape (n_samples, n_eigenvectors)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity, one more than eigenvectors
        where there is one, to show the gap.
    candidates_ : tuple
        With ``top_q="auto"``: every cut that was considered, best first, with its
        ``origin``, ``top_q`` and ``score``; otherwise empty.
    counts_ : tuple
        With ``n_clusters="auto"``: the numbers of clusters of the last round of the
        search, best first, with ``n_clusters`` and ``score``; otherwise empty.
    agreement_ : float or None
        With ``n_base="auto"``: share of points to which two halves of the members give
        the same cluster, where it was measured last.
    affine_ : bool
        Whether subspaces may miss the origin.
    n_iter_ : int
        Largest number of iterations that a member used.
    n_clusters_, n_base_, subspace_dim_, top_q_ : int
        What was used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    A member costs O(max_iter n_samples n_features n_candidates subspace_dim) time;
    counting votes O(n_samples^2 n_base) byte comparisons; memory is
    O(n_samples (n_features + n_base + top_q)); top_q is below 50 beyond 1000 points.

    References
    ----------
    .. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using
       Ensembles of K-Subspaces", Information and Inference, 2021.

    Examples
    --------
    >>> from ekss import EKSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.metrics import clustering_error
    >>> data = make_union_of_subspaces(n_subspaces=3, dims=4, random_state=0)
    >>> model = EKSS(n_clusters=3, subspace_dim=4, n_base=50, random_state=0)
    >>> labels = model.fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        subspace_dim: str | int | tuple[int, int] = "auto",
        *,
        n_candidates: str | int | tuple[int, int] | None = "auto",
        n_base: int | str = "auto",
        max_iter: int = 5,
        top_q: str | int = "auto",
        weighting: str = "cost",
        divide_by_size: bool = True,
        base: str = "power",
        start: str = "auto",
        affine: bool | str = "auto",
        normalize: bool | str = "auto",
        n_eigenvectors: int | None = None,
        cutters: Sequence[Cutter] | None = None,
        cut_score: Score | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.n_candidates = n_candidates
        self.n_base = n_base
        self.max_iter = max_iter
        self.top_q = top_q
        self.weighting = weighting
        self.divide_by_size = divide_by_size
        self.base = base
        self.start = start
        self.affine = affine
        self.normalize = normalize
        self.n_eigenvectors = n_eigenvectors
        self.cutters = cutters
        self.cut_score = cut_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Cluster the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one a row.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : EKSS
        """
        with one_blas_thread():
            seed = self._resolve_seed()
            ballot = self._vote(X, seed)
            cut = self._cut(ballot)
            geometry, points = ballot.geometry, ballot.prepared.points
            flats = fit_clusters(
                points,
                cut.labels,
                self.n_clusters_,
                (geometry.low + geometry.high) // 2,
                affine=self.affine_,
                seed=seed,
            )
        self.top_q_ = cut.top_q
        self.affinity_ = cut.affinity
        self.embedding_ = cut.embedding
        self.eigenvalues_ = cut.eigenvalues
        self.candidates_: tuple[Candidate, ...] = cut.candidates
        return self._store_model(flats, cut.labels, ballot.prepared)

    def _resolve_seed(self) -> int:
        """Draw a seed; a warm start without a random state keeps the last one."""
        if check_bool("warm_start", self.warm_start) and self.random_state is None:
            kept = getattr(self, "_ensemble", None)
            if kept is not None:
                return kept.origin[1]
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _resolve_n_clusters(self, points: NDArray[np.floating]) -> int:
        self.counts_: tuple[Count, ...] = ()
        if not is_auto("n_clusters", self.n_clusters, "an integer"):
            return super()._resolve_n_clusters(points)
        seed = self._resolve_seed()
        rng = np.random.default_rng(seed)
        if len(points) > _SCOUTED_POINTS:
            rows = rng.choice(len(points), _SCOUTED_POINTS, replace=False)
            points = points[np.sort(rows)]
        scout = clone(self).set_params(random_state=seed, warm_start=False, verbose=0)
        if not isinstance(self.n_base, str):
            scout.set_params(n_base=min(self.n_base, _SCOUTS))
        guess = min(FIRST_GUESS, len(points))
        with progress("clusters", None, show=self.verbose > 0):
            for _ in range(_ROUNDS):
                scout.set_params(n_clusters=guess)
                self.counts_ = scout._count(points, seed)
                if not self.counts_ or is_near(self.counts_[0].n_clusters, guess):
                    break
                guess = self.counts_[0].n_clusters
        return self.counts_[0].n_clusters if self.counts_ else 1

    def _count(self, points: NDArray[np.floating], seed: int) -> tuple[Count, ...]:
        """Score numbers of clusters near the present one."""
        ballot = self._vote(points, seed, scouting=True)
        cutting, ensemble = ballot.cutting, ballot.ensemble
        evidence = gather_evidence(ballot.kept, ballot.geometry, ensemble.labels)
        return count_clusters(
            cutting.votes(ensemble), evidence, self.n_clusters_, cutting
        )

    def _resolve_affine(self, points: NDArray[np.floating]) -> bool:
        if not is_auto("affine", self.affine, "True or False"):
            return check_bool("affine", self.affine)
        if self.subspace_dim != "auto":
            return False
        rows = points / power_of_two(float(np.abs(points).max()))
        rng = np.random.default_rng(0)
        return has_flat_neighbourhoods(rows, self.n_clusters_, rng)

    def _vote(self, X: ArrayLike, seed: int, *, scouting: bool = False) -> _Ballot:
        """Prepare the data and run the members."""
        check_workers(self.n_jobs, self.verbose)
        cutting = self._cutting(seed)
        prepared = self._prepare(X)
        points, n_clusters = prepared.points, self.n_clusters_
        top_q = self._resolve_top_q(len(points))
        geometry = resolve_geometry(
            self.subspace_dim, points, n_clusters, seed, affine=self.affine_
        )
        kept = Coordinates(points, None)
        if self.subspace_dim == "auto":
            kept = leading_coordinates(points, n_clusters, geometry.span)
        wanted = Wanted(
            self.subspace_dim, self.n_candidates, self.max_iter, self.base, self.start
        )
        ensemble, self.agreement_ = grow_ensemble(
            kept,
            geometry,
            member_options(wanted, len(points), n_clusters, geometry),
            n_clusters,
            self._steps(scouting=scouting),
            cutting,
            known=getattr(self, "_ensemble", None) if self.warm_start else None,
        )
        self.base_labels_ = ensemble.labels
        self.base_weights_ = ensemble.weights
        self.n_base_ = ensemble.labels.shape[1]
        self.n_iter_ = ensemble.n_iter
        self._ensemble = ensemble
        return _Ballot(prepared, kept, geometry, ensemble, cutting, top_q)

    def _cutting(self, seed: int) -> Cutting:
        weighting = check_choice("weighting", self.weighting, ("cost", "uniform"))
        return Cutting(
            CUTTERS if self.cutters is None else self.cutters,
            score_cut if self.cut_score is None else self.cut_score,
            check_bool("divide_by_size", self.divide_by_size),
            weighting == "cost",
            seed,
            self.n_jobs,
            self.verbose > 0,
        )

    def _steps(self, *, scouting: bool) -> tuple[int, ...]:
        """Return the numbers of members at which an ensemble may stop growing."""
        if not is_auto("n_base", self.n_base, "an integer"):
            return (check_int("n_base", self.n_base, 1, also=_OR_AUTO),)
        return (_SCOUTS,) if scouting else _STEPS

    def _cut(self, ballot: _Ballot) -> ChosenCut:
        """Cut the votes: in the paper's way, or in many ways of which one is kept."""
        cutting, ensemble, q = ballot.cutting, ballot.ensemble, ballot.top_q
        n_clusters = self.n_clusters_
        votes = cutting.votes(ensemble)
        if q is None:
            evidence = gather_evidence(ballot.kept, ballot.geometry, ensemble.labels)
            chosen = cutting.best(votes, evidence, n_clusters)
            if chosen is not None:
                return chosen
            q = default_top_q(votes.n_samples, n_clusters)
        return cutting.once(votes, n_clusters, q, self.n_eigenvectors)

    def _resolve_top_q(self, n_samples: int) -> int | None:
        """Return the one q of the paper's cut, or None where cuts are to be chosen."""
        n_clusters = self.n_clusters_
        if self.n_eigenvectors is not None:
            check_int("n_eigenvectors", self.n_eigenvectors, n_clusters)
        if not is_auto("top_q", self.top_q, "an integer"):
            most, name = n_samples - 1, "n_samples-1"
            return check_int("top_q", self.top_q, 1, most, limit=name, also=_OR_AUTO)
        if self.n_eigenvectors is not None or n_clusters in (1, n_samples):
            return default_top_q(n_samples, n_clusters)
        return None
