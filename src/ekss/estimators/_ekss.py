"""Ensemble K-subspaces."""

from __future__ import annotations

from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ekss.core.bases import fit_clusters
from ekss.core.ensemble import MemberOptions, run_member
from ekss.core.ksubspaces import squared_norms
from ekss.core.updates import UPDATES
from ekss.estimators._auto import default_top_q, estimate_dim
from ekss.estimators._base import LARGEST_SEED, SubspaceClusterer
from ekss.estimators._checks import (
    check_bool,
    check_choice,
    check_int,
    check_int_range,
    check_workers,
    is_auto,
)
from ekss.estimators._parallel import map_numbers, one_blas_thread, progress
from ekss.graph.coassociation import (
    SCAN_CHUNKS,
    nearest_by_votes,
    prepare_votes,
    votes_outside,
)
from ekss.graph.neighbours import symmetric_graph
from ekss.graph.spectral import spectral_labels

# Connections a stray point gets: its few strongest votes say where it belongs.
_BRIDGES = 10


class EKSS(SubspaceClusterer):
    r"""Ensemble K-subspaces: cluster points by the subspaces they lie near.

    Many short, random runs of K-subspaces ("members") vote on which points belong
    together,
    :math:`A_{ij} = \frac1B \sum_b w(b)\, 1\{i, j \text{ together in member } b\}`;
    the top q votes of each point make a sparse graph, and the graph is cut by spectral
    clustering (Algorithm 1 of [1]_).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    subspace_dim : "auto", int or (int, int), default="auto"
        Dimension of the candidate subspaces; with a pair each member draws its own
        from that range, and the clusters get the middle of it, rounded down. "auto"
        estimates a dimension d from the neighbourhoods of points, lets members draw
        from d/2 to 3d/2 and gives the clusters d.
    n_candidates : int, (int, int) or None, default=None
        Number of candidate subspaces of a member; with a pair each member draws its
        own. None is ``n_clusters``.
    n_base : int, default=200
        Number of members B.
    max_iter : int, default=5
        Iterations T of K-subspaces in a member; 0 is EKSS-0, which has the recovery
        guarantees of the paper.
    top_q : "auto" or int, default="auto"
        Votes kept a point. "auto" is max(3, n_samples / (6 n_clusters)), at most 10.
    weighting : {"cost", "uniform"}, default="cost"
        Weight of a member: the share of the energy of X that its subspaces capture
        (the paper's w(b)), or 1.
    divide_by_size : bool, default=False
        Divide votes by the size of the base cluster they come from.
    base : {"power", "pca", "cop"}, default="power"
        Basis update of a member: one warm power step towards the principal components,
        exact PCA, or PCA of the most coherent points (Coherence Pursuit), which
        resists outliers. The power step is many times faster than the other two.
    affine : bool, default=False
        Whether subspaces may miss the origin.
    normalize : bool or "auto", default="auto"
        Scale points to unit length first. "auto" does so for linear subspaces, where
        length carries no information, and not for affine ones.
    n_eigenvectors : int, default=None
        Eigenvectors used for the cut; None is ``n_clusters``.
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
        n_candidates: int | tuple[int, int] | None = None,
        n_base: int = 200,
        max_iter: int = 5,
        top_q: str | int = "auto",
        weighting: str = "cost",
        divide_by_size: bool = False,
        base: str = "power",
        affine: bool = False,
        normalize: bool | str = "auto",
        n_eigenvectors: int | None = None,
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
        self.affine = affine
        self.normalize = normalize
        self.n_eigenvectors = n_eigenvectors
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
        options = self._member_options(points, seed)
        self.top_q_ = self._resolve_top_q(len(points))
        run = partial(
            run_member, points, seed, options=options, norms=squared_norms(points)
        )
        with one_blas_thread():
            members = list(
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
            labels = self._cut_votes(seed)
            dim = sum(options.subspace_dim) // 2
            flats = fit_clusters(
                points, labels, self.n_clusters, dim, affine=options.affine, seed=seed
            )
        return self._store_model(flats, labels, prepared)

    def _member_options(self, points: NDArray[np.floating], seed: int) -> MemberOptions:
        n_samples, n_features = points.shape
        check_int("n_base", self.n_base, 1)
        check_workers(self.n_jobs, self.verbose)
        if self.n_eigenvectors is not None:
            check_int("n_eigenvectors", self.n_eigenvectors, self.n_clusters)
        affine = bool(self.affine)
        dims = self.subspace_dim
        if is_auto("subspace_dim", dims, "an integer, or a pair of integers"):
            rng = np.random.default_rng(seed)
            dim = estimate_dim(points, self.n_clusters, rng, affine=affine)
            dims = (dim - dim // 2, dim + dim // 2)
        candidates = self.n_candidates
        if candidates is None:
            candidates = self.n_clusters
        return MemberOptions(
            n_candidates=check_int_range(
                "n_candidates", candidates, 1, n_samples, limit="n_samples"
            ),
            subspace_dim=check_int_range(
                "subspace_dim",
                dims,
                1,
                n_features,
                limit="n_features",
                also=' or "auto"',
            ),
            max_iter=check_int("max_iter", self.max_iter, 0),
            base=check_choice("base", self.base, tuple(UPDATES)),
            affine=affine,
        )

    def _resolve_top_q(self, n_samples: int) -> int:
        check_choice("weighting", self.weighting, ("cost", "uniform"))
        check_bool("divide_by_size", self.divide_by_size)
        if is_auto("top_q", self.top_q, "an integer"):
            return default_top_q(n_samples, self.n_clusters)
        return check_int(
            "top_q",
            self.top_q,
            1,
            n_samples - 1,
            limit="n_samples-1",
            also=' or "auto"',
        )

    def _cut_votes(self, seed: int) -> NDArray[np.int64]:
        """Make the graph of the strongest votes and cut it."""
        show = self.verbose > 0
        votes = prepare_votes(
            self.base_labels_,
            self.base_weights_ if self.weighting == "cost" else None,
            divide_by_size=self.divide_by_size,
        )
        with progress("votes", SCAN_CHUNKS, show=show) as advance:
            neighbours = nearest_by_votes(
                votes, self.top_q_, n_jobs=self.n_jobs, report=advance
            )
        self.affinity_ = symmetric_graph(neighbours)
        with progress("spectral cut", None, show=show):
            result = spectral_labels(
                self.affinity_,
                self.n_clusters,
                n_eigenvectors=self.n_eigenvectors,
                bridge=partial(votes_outside, votes, q=min(self.top_q_, _BRIDGES)),
                random_state=seed,
            )
        self.embedding_ = result.embedding
        self.eigenvalues_ = result.eigenvalues
        return result.labels
