"""Ensemble K-subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from ekss.core.bases import fit_clusters
from ekss.core.ensemble import Member, MemberOptions, run_member
from ekss.core.ksubspaces import squared_norms
from ekss.core.starts import STARTS
from ekss.core.updates import UPDATES
from ekss.estimators._auto import (
    Geometry,
    default_top_q,
    has_flat_neighbourhoods,
    resolve_geometry,
)
from ekss.estimators._base import LARGEST_SEED, SubspaceClusterer, power_of_two
from ekss.estimators._checks import (
    check_bool,
    check_choice,
    check_int,
    check_int_range,
    check_workers,
    is_auto,
)
from ekss.estimators._coordinates import Coordinates, leading_coordinates
from ekss.estimators._cutting import (
    Candidate,
    choose_cut,
    gather_evidence,
    neighbour_counts,
)
from ekss.estimators._parallel import map_numbers, one_blas_thread, progress
from ekss.graph.coassociation import (
    SCAN_CHUNKS,
    Votes,
    bridge_by_votes,
    nearest_by_votes,
    prepare_votes,
)
from ekss.graph.cuts import CUTTERS, Cutter
from ekss.graph.neighbours import symmetric_graph
from ekss.graph.selection import Score, score_cut
from ekss.graph.spectral import spectral_labels

# Members that split classes into pieces vote more purely than members that do not.
_PIECES = (4, 8)
# ... of at least so many points for each dimension.
_LEAST_POINTS = 3


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
    n_clusters : int, default=8
        Number of clusters K.
    subspace_dim : "auto", int or (int, int), default="auto"
        Dimension of the candidate subspaces; with a pair each member draws its own
        from that range, and the clusters get the middle of it, rounded down. "auto"
        estimates a range from the neighbourhoods of points.
    n_candidates : "auto", int, (int, int) or None, default="auto"
        Number of candidate subspaces of a member; with a pair each member draws its
        own. None is ``n_clusters``. "auto" is the same when ``subspace_dim`` is given;
        otherwise members draw from 4 to 8 times ``n_clusters``, but leave every
        candidate at least three points for each dimension.
    n_base : int, default=200
        Number of members B.
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
        Eigenvectors used for the one cut when ``top_q`` is an integer; None is
        ``n_clusters``.
    cutters : sequence of callables, default=None
        Ways of cutting when ``top_q="auto"``; None is :data:`ekss.graph.CUTTERS`. See
        :func:`ekss.graph.candidate_cuts` for adding one.
    cut_score : callable, default=None
        ``cut_score(labels, evidence)``, lower is better; None is
        :func:`ekss.graph.score_cut`.
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
    base_labels_ : ndarray of shape (n_samples, n_base)
        Labels of every member, in the smallest unsigned type.
    base_weights_ : ndarray of shape (n_base,)
        Weights of the members.
    embedding_ : ndarray of shape (n_samples, n_eigenvectors)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity, one more than eigenvectors
        where there is one, to show the gap.
    candidates_ : tuple
        With ``top_q="auto"``: every cut that was considered, best first, with its
        ``origin``, ``top_q`` and ``score``; otherwise empty.
    affine_ : bool
        Whether subspaces may miss the origin.
    n_iter_ : int
        Largest number of iterations that a member used.
    n_clusters_, subspace_dim_, top_q_ : int
        What was used.
    n_features_in_ : int
        Number of features seen in ``fit``.

    Notes
    -----
    A member costs O(max_iter n_samples n_features n_candidates subspace_dim) time;
    counting votes O(n_samples^2 n_base) byte comparisons; memory is
    O(n_samples (n_features + n_base + top_q)). No n_samples x n_samples matrix exists.

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
        n_clusters: int = 8,
        subspace_dim: str | int | tuple[int, int] = "auto",
        *,
        n_candidates: str | int | tuple[int, int] | None = "auto",
        n_base: int = 200,
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
        prepared = self._prepare(X)
        points = prepared.points
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        geometry = resolve_geometry(
            self.subspace_dim, points, self.n_clusters, seed, affine=self.affine_
        )
        options = self._member_options(len(points), geometry)
        q = self._resolve_top_q(len(points))
        kept = Coordinates(points, None)
        with one_blas_thread():
            if self.subspace_dim == "auto":
                span = ceil((geometry.low + geometry.high) / 2) + geometry.affine
                kept = leading_coordinates(points, self.n_clusters, span)
            self._run_members(kept.points, seed, options)
            labels = self._cut_votes(kept, geometry, q, seed)
            dim = (geometry.low + geometry.high) // 2
            flats = fit_clusters(
                points, labels, self.n_clusters, dim, affine=self.affine_, seed=seed
            )
        return self._store_model(flats, labels, prepared)

    def _resolve_affine(self, points: NDArray[np.floating]) -> bool:
        if not is_auto("affine", self.affine, "True or False"):
            return check_bool("affine", self.affine)
        if self.subspace_dim != "auto":
            return False
        rows = points / power_of_two(float(np.abs(points).max()))
        rng = np.random.default_rng(0)
        return has_flat_neighbourhoods(rows, self.n_clusters, rng)

    def _member_options(self, n_samples: int, geometry: Geometry) -> MemberOptions:
        check_int("n_base", self.n_base, 1)
        check_workers(self.n_jobs, self.verbose)
        dims = geometry.low, geometry.high
        candidates: Any = self.n_candidates
        in_pieces = False
        if is_auto("n_candidates", candidates, "an integer, or a pair of integers"):
            in_pieces = self.subspace_dim == "auto"
            candidates = None
        if candidates is None:
            candidates = self.n_clusters
        if in_pieces:
            fewest, most = (min(n_samples, c * self.n_clusters) for c in _PIECES)
            candidates = fewest, most
            if not geometry.affine:
                dims = ceil(geometry.low / 2), geometry.high
        start = check_choice("start", self.start, ("auto", *STARTS))
        if start == "auto":
            start = "neighbours" if geometry.affine else "random"
        return MemberOptions(
            n_candidates=check_int_range(
                "n_candidates", candidates, 1, n_samples, limit="n_samples"
            ),
            subspace_dim=dims,
            max_iter=check_int("max_iter", self.max_iter, 0),
            base=check_choice("base", self.base, tuple(UPDATES)),
            affine=geometry.affine,
            start=start,
            least_points=_LEAST_POINTS if in_pieces else 0,
        )

    def _resolve_top_q(self, n_samples: int) -> int | None:
        """Return the one q of the paper's cut, or None where cuts are to be chosen."""
        check_choice("weighting", self.weighting, ("cost", "uniform"))
        check_bool("divide_by_size", self.divide_by_size)
        if self.n_eigenvectors is not None:
            check_int("n_eigenvectors", self.n_eigenvectors, self.n_clusters)
        if not is_auto("top_q", self.top_q, "an integer"):
            return check_int(
                "top_q",
                self.top_q,
                1,
                n_samples - 1,
                limit="n_samples-1",
                also=' or "auto"',
            )
        if self.n_eigenvectors is not None or self.n_clusters in (1, n_samples):
            return default_top_q(n_samples, self.n_clusters)
        return None

    def _run_members(
        self, points: NDArray[np.floating], seed: int, options: MemberOptions
    ) -> None:
        run = partial(
            run_member, points, seed, options=options, norms=squared_norms(points)
        )
        members: list[Member] = list(
            map_numbers(
                run,
                self.n_base,
                n_jobs=self.n_jobs,
                description="members",
                show=self.verbose > 0,
            )
        )
        self.base_labels_ = np.stack([member.labels for member in members]).T
        self.base_weights_ = np.array([member.weight for member in members])
        self.n_iter_ = max(member.n_iter for member in members)

    def _cut_votes(
        self, kept: Coordinates, geometry: Geometry, q: int | None, seed: int
    ) -> NDArray[np.int64]:
        """Make graphs of the strongest votes and cut them."""
        show = self.verbose > 0
        n_samples = len(kept.points)
        votes = prepare_votes(
            self.base_labels_,
            self.base_weights_ if self.weighting == "cost" else None,
            divide_by_size=self.divide_by_size,
        )
        counts = (q,) if q else neighbour_counts(n_samples, self.n_clusters)
        with progress("votes", SCAN_CHUNKS, show=show) as advance:
            neighbours = nearest_by_votes(
                votes, max(counts), n_jobs=self.n_jobs, report=advance
            )
        self.candidates_: tuple[Candidate, ...] = ()
        if q is None:
            chosen = choose_cut(
                votes,
                neighbours,
                gather_evidence(kept, geometry, self.base_labels_),
                counts,
                self.n_clusters,
                cutters=CUTTERS if self.cutters is None else self.cutters,
                score=score_cut if self.cut_score is None else self.cut_score,
                seed=seed,
                n_jobs=self.n_jobs,
                show=show,
            )
            if chosen is not None:
                self.top_q_ = chosen.top_q
                self.affinity_ = chosen.affinity
                self.embedding_ = chosen.embedding
                self.eigenvalues_ = chosen.eigenvalues
                self.candidates_ = chosen.candidates
                return chosen.labels
            q = default_top_q(n_samples, self.n_clusters)
        return self._cut_once(votes, symmetric_graph(neighbours, q), q, seed)

    def _cut_once(
        self, votes: Votes, affinity: csr_array, q: int, seed: int
    ) -> NDArray[np.int64]:
        """Make the paper's cut of one graph."""
        self.top_q_ = q
        self.affinity_ = affinity
        with progress("spectral cut", None, show=self.verbose > 0):
            result = spectral_labels(
                affinity,
                self.n_clusters,
                n_eigenvectors=self.n_eigenvectors,
                bridge=bridge_by_votes(votes, q),
                random_state=seed,
            )
        self.embedding_ = result.embedding
        self.eigenvalues_ = result.eigenvalues
        return result.labels
