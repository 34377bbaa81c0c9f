"""Consensus of any clusterers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from ekss.ensemble.consensus import (
    GEOMETRIES,
    Assignment,
    Bagging,
    Consensus,
    agree,
    check_memory,
    consensus_of,
    count_parameter,
    learn_assignment,
)
from ekss.ensemble.cut import CutOptions
from ekss.ensemble.decide import Wishes
from ekss.ensemble.vote import Ensemble
from ekss.estimators._base import (
    Clusterer,
    ClusteringWarning,
    check_choice,
    check_int,
    check_int_range,
    check_real,
    check_workers,
    checked_blocks,
    checked_rows,
    int_or_auto,
    is_auto,
    new_rows,
    seed_of,
    store,
)
from ekss.estimators._ekss import check_cut, sample_size, taken
from ekss.runtime.rows import Rows, draw_sample
from ekss.runtime.workers import one_blas_thread

# Few iterations from random centres: members that differ, and are quick.
DEFAULT = KMeans(init="random", n_init=1, max_iter=10)
# The parameters that matter to labels which are already there.
_OF_LABELS = ("geometry", "n_neighbors", "cut", "n_jobs", "random_state", "verbose")


class ConsensusClustering(Clusterer):
    r"""Consensus of many clusterings by any clusterer: evidence accumulation.

    Members are clones of a clusterer, each with its own rows, columns and parameters.
    They vote on which points belong together [1]_. The votes are counted and cut as in
    :class:`EKSS`, without a matrix of all pairs, and the cut that shares the most
    information with the members is kept [2]_.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters K. "auto" tries numbers of at least 2 and takes the one that
        is best confirmed by members with at most that many clusters.
    estimator : clusterer, sequence of clusterers or None, default=None
        What the members are: any object with ``fit_predict``, from scikit-learn or not,
        or a pipeline that ends in one. If several are given, members use them in turn.
        A negative label means noise and casts no vote. None means
        ``KMeans(init="random", n_init=1, max_iter=10)``.
    n_members : int or "auto", default="auto"
        Number of members. "auto" runs 100, then 200 and 400 as :class:`EKSS` does.
    n_base_clusters : "auto", int, (int, int) or None, default="auto"
        Number of clusters per member; with a pair, each member draws its own number.
        "auto" is 4 to 8 times K, but at most one cluster per five rows of the member.
        It sets the parameter ``n_clusters`` of the estimator, or ``n_components`` of a
        mixture model; estimators that have neither are left as they are. None leaves
        all estimators as they are.
    max_samples : "auto", float or int, default="auto"
        Rows that each member draws: a share as a float, a number as an int. Members
        that have ``predict`` also vote on the other rows. "auto" means all rows for
        estimators that have a ``random_state``, and half of the rows for others, whose
        members would otherwise all be the same.
    max_features : float or int, default=1.0
        Columns that each member draws.
    param_distributions : dict, default=None
        Further parameters of the estimator that each member draws: lists or
        distributions of scipy.stats, as for ``RandomizedSearchCV``.
    geometry : {"centers", "subspaces", None}, default=None
        What cuts are judged by in addition to the votes. "centers" adds how near points
        are to the centres of the clusters, "subspaces" adds how well linear subspaces
        tell the clusters apart, and None adds nothing.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point. "auto" cuts graphs with several numbers of
        neighbours.
    cut : CutOptions or None, default=None
        How votes are counted, cut and judged.
    max_voted : int, "auto" or None, default="auto"
        Number of rows that members are fitted to and vote on. If X has more rows, a
        sample is clustered, and every other row gets its cluster as in ``predict``.
        "auto" means all rows if there are at most 20000 and they are in memory;
        otherwise 10000, or 100 per cluster if that is more. None means all rows.
    memory_limit : int, str or None, default=None
        The most memory that the process may use, in bytes or as "4GB". A fit that is
        estimated to need more, not counting what the members themselves need, is
        refused before it starts. None means the machine's free memory.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The same int gives the same labels on the same machine.
    verbose : int, default=0
        Show progress bars with the time left on stderr.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point; -1 if no member puts it into a cluster.
    member_labels_ : ndarray of shape (n_samples, n_members_)
        Labels from every member; -1 where the member casts no vote.
    affinity_ : csr_array of shape (n_samples, n_samples)
        The graph that was cut.
    embedding_ : ndarray of shape (n_samples, n_eigenvectors)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity.
    candidates_ : tuple of Candidate
        Every cut that was considered, best first.
    counts_ : tuple of Count
        With ``n_clusters="auto"``, the numbers that were compared, best first.
    agreement_ : float or None
        With ``n_members="auto"``, the share of points to which two halves of the
        members give the same cluster.
    assignment_ : Assignment or None
        What ``predict`` uses: the members, or the nearest rows if the members cannot
        predict; None if only labels were given.
    sample_ : ndarray or None
        Indices of the rows that were voted on, in ascending order; None if all were.
    n_clusters_, n_members_, n_neighbors_ : int
        The values that were used.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, set if all of them are strings.

    See Also
    --------
    EKSS : Members that find subspaces.

    Notes
    -----
    In addition to the members, a fit takes O(n_samples^2 n_members) byte comparisons
    for up to 50000 rows that are voted on, and O(n_samples (n_members + n_neighbors))
    memory.

    References
    ----------
    .. [1] A. Fred, A. K. Jain, "Combining Multiple Clusterings Using Evidence
       Accumulation", IEEE Transactions on Pattern Analysis and Machine Intelligence 27,
       2005.
    .. [2] A. Strehl, J. Ghosh, "Cluster Ensembles: A Knowledge Reuse Framework for
       Combining Multiple Partitions", Journal of Machine Learning Research 3, 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ekss import ConsensusClustering
    >>> from ekss.metrics import clustering_error
    >>> X, y = make_blobs(200, centers=3, random_state=0, cluster_std=0.5)
    >>> model = ConsensusClustering(3, n_members=20, random_state=0).fit(X)
    >>> clustering_error(y, model.labels_)
    0.0
    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        estimator: Any = None,
        *,
        n_members: int | str = "auto",
        n_base_clusters: str | int | tuple[int, int] | None = "auto",
        max_samples: str | float | int = "auto",
        max_features: float | int = 1.0,
        param_distributions: Mapping[str, Any] | None = None,
        geometry: str | None = None,
        n_neighbors: int | str = "auto",
        cut: CutOptions | None = None,
        max_voted: int | str | None = "auto",
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.estimator = estimator
        self.n_members = n_members
        self.n_base_clusters = n_base_clusters
        self.max_samples = max_samples
        self.max_features = max_features
        self.param_distributions = param_distributions
        self.geometry = geometry
        self.n_neighbors = n_neighbors
        self.cut = cut
        self.max_voted = max_voted
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: object = None) -> Self:
        """Cluster the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one per row. A memory map, an h5py dataset, a zarr array or a Dask
            array is read block by block.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : ConsensusClustering
            The fitted estimator.
        """
        workers = check_workers(self.n_jobs, self.verbose)
        rows, names = checked_blocks(self, X)
        seed = seed_of(self.random_state)
        wishes = self._wishes(rows.shape[0])
        sample = draw_sample(
            rows.shape[0],
            sample_size("max_voted", self.max_voted, rows, wishes.n_clusters),
            seed,
        )
        n_voted = rows.shape[0] if sample is None else len(sample)
        bagging = self._bagging((n_voted, rows.shape[1]))
        geometry = self._geometry()
        check_memory(
            wishes, bagging, geometry, rows, sample, self.memory_limit, workers
        )
        with one_blas_thread():
            voted = taken(rows, sample)
            found = agree(voted, wishes, bagging, geometry, seed, workers)
            assignment = learn_assignment(voted, found.ensemble, found.labels)
            labels = found.labels
            if sample is not None:
                labels = _assigned(assignment, rows, self.n_jobs)
                labels[sample] = found.labels
        n_used = len(np.unique(labels[labels >= 0]))
        if n_used < found.n_clusters:
            warnings.warn(
                f"{n_used} of {found.n_clusters} clusters have points; choose "
                f"n_clusters={n_used}, or more members",
                ClusteringWarning,
                stacklevel=2,
            )
        found = replace(found, labels=labels)
        return store(self, **names, **_fitted(found, assignment, sample))

    @classmethod
    def from_labels(
        cls,
        labels: ArrayLike,
        n_clusters: int = 8,
        *,
        points: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **parameters: Any,
    ) -> Self:
        """Cut the votes of existing clusterings.

        Parameters
        ----------
        labels : array-like of shape (n_samples, n_members)
            One column of integers per clustering; a negative label casts no vote.
        n_clusters : int, default=8
            Number of clusters K of the consensus.
        points : array-like of shape (n_samples, n_features), default=None
            The points that were clustered, used to judge cuts and for ``predict``.
            Without them, only the votes are used.
        weights : array-like of shape (n_members,), default=None
            Weight of each clustering; all 1 if None.
        **parameters
            ``geometry``, ``n_neighbors``, ``cut``, ``n_jobs``, ``random_state`` and
            ``verbose``, as above.

        Returns
        -------
        model : ConsensusClustering
            The fitted estimator.

        Examples
        --------
        >>> from ekss import ConsensusClustering
        >>> labels = [[0, 1], [0, 1], [0, -1], [1, 0], [1, 0], [-1, 0]]
        >>> ConsensusClustering.from_labels(labels, 2, random_state=0).labels_
        array([0, 0, 0, 1, 1, 1])
        """
        of_members = sorted(set(parameters) - set(_OF_LABELS))
        if of_members:
            raise TypeError(
                f"from_labels has no parameter {of_members[0]!r}, which is for members "
                f"that are yet to be made; pass only {', '.join(_OF_LABELS)}"
            )
        model = cls(n_clusters, **parameters)
        workers = check_workers(model.n_jobs, model.verbose)
        votes = _checked_votes(labels)
        wishes = model._wishes(len(votes))
        if wishes.n_clusters is None:
            raise ValueError(
                "n_clusters='auto' needs further members to judge by; pass the number "
                "of clusters"
            )
        n_members = votes.shape[1]
        weight = np.ones(n_members) if weights is None else np.asarray(weights, float)
        ensemble = Ensemble(votes, weight, 0, ("", 0, None))
        names: dict[str, Any] = {}
        rows = None
        if points is not None:
            rows, names = checked_rows(model, points)
            if len(rows) != len(votes):
                raise ValueError(
                    f"labels has {len(votes)} rows, and points {len(rows)}; pass both "
                    "of the same points"
                )
        with one_blas_thread():
            found = consensus_of(
                ensemble,
                rows,
                wishes.n_clusters,
                wishes,
                model._geometry(),
                seed_of(model.random_state),
                workers,
            )
            assignment = None
            if rows is not None:
                assignment = learn_assignment(rows, ensemble, found.labels)
        return store(model, **names, **_fitted(found, assignment, None))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign further points to the clusters.

        If all members have ``predict``, they are asked, and naive Bayes weights their
        answers by how they went with the clusters in the fit. If some members do not
        have it, a point gets the most common cluster among the 5 nearest rows that were
        voted on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each point.
        """
        check_is_fitted(self)
        if self.assignment_ is None:
            raise ValueError(
                "the consensus was made from labels alone, which say nothing of other "
                "points; pass points= to from_labels"
            )
        with one_blas_thread():
            return _assigned(self.assignment_, new_rows(self, X), self.n_jobs)

    def _wishes(self, n_samples: int) -> Wishes:
        """Check the parameters of the consensus."""
        cut = CutOptions() if self.cut is None else self.cut
        check_cut(cut)
        return Wishes(
            n_clusters=int_or_auto(
                "n_clusters", self.n_clusters, 1, n_samples, limit="n_samples"
            ),
            n_members=int_or_auto("n_members", self.n_members, 1),
            n_neighbors=int_or_auto(
                "n_neighbors", self.n_neighbors, 1, n_samples - 1, limit="n_samples-1"
            ),
            cut=cut,
        )

    def _bagging(self, shape: tuple[int, int]) -> Bagging:
        """Check the parameters of the members."""
        n_samples, n_features = shape
        given = self.estimator
        if given is None:
            given = DEFAULT
        several = isinstance(given, Sequence) and not hasattr(given, "fit_predict")
        estimators = tuple(given) if several else (given,)
        for one in estimators:
            if not hasattr(one, "fit_predict") or not hasattr(one, "get_params"):
                raise TypeError(
                    f"estimator={one!r} has no fit_predict and get_params; pass a "
                    "clusterer of scikit-learn's kind, or several"
                )
        if not estimators:
            raise ValueError("estimator is an empty sequence; pass at least one")
        count: Any = self.n_base_clusters
        if count is not None and not is_auto("n_base_clusters", count, "an integer"):
            count = check_int_range("n_base_clusters", count, 1, n_samples)
        if count is not None and not any(map(count_parameter, estimators)):
            count = None
        max_samples: Any = self.max_samples
        if not is_auto("max_samples", max_samples, "a share or an integer"):
            max_samples = _share("max_samples", max_samples, n_samples)
        return Bagging(
            estimators,
            count,
            max_samples,
            _share("max_features", self.max_features, n_features),
            self.param_distributions,
        )

    def _geometry(self) -> str | None:
        geometry: str | None = check_choice("geometry", self.geometry, GEOMETRIES)
        return geometry


def _share(name: str, value: Any, count: int) -> float:
    """Return a share in (0, 1] from a share or a number."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return check_int(name, value, 1, count, also=" or a share in (0, 1]") / count
    share = check_real(name, value, 0.0)
    if not 0 < share <= 1:
        raise ValueError(
            f"{name}={value} is not a share in (0, 1]; choose from there, or pass a "
            "number as an integer"
        )
    return share


def _checked_votes(labels: ArrayLike) -> NDArray[np.int32]:
    """Return labels with -1 for all that are no vote."""
    votes = np.asarray(labels)
    if votes.ndim != 2 or votes.shape[0] < 2 or votes.shape[1] < 1:
        raise ValueError(
            f"labels has shape {votes.shape}; pass (n_samples, n_members) with at "
            "least two points and one member"
        )
    if votes.dtype.kind not in "iu":
        raise ValueError(
            f"labels has the type {votes.dtype}; pass integers from 0, and -1 where a "
            "clustering says nothing of a point"
        )
    if votes.max() < 0:
        raise ValueError("all labels are negative, so that nothing is voted for")
    return np.maximum(votes, -1).astype(np.int32)


def _assigned(
    assignment: Assignment, rows: Rows, n_jobs: int | None
) -> NDArray[np.int64]:
    """Return the clusters of rows, block by block."""
    return np.concatenate(list(rows.map(assignment, n_jobs=n_jobs))).astype(np.int64)


def _fitted(
    found: Consensus, assignment: Assignment | None, sample: NDArray[np.int64] | None
) -> dict[str, Any]:
    """Return the attributes of a fit."""
    chosen, ensemble = found.chosen, found.ensemble
    return {
        "labels_": found.labels.astype(np.int64),
        "member_labels_": ensemble.labels,
        "affinity_": chosen.affinity,
        "embedding_": chosen.embedding,
        "eigenvalues_": chosen.eigenvalues,
        "candidates_": chosen.candidates,
        "counts_": found.counts,
        "agreement_": ensemble.agreement,
        "assignment_": assignment,
        "sample_": sample,
        "n_clusters_": found.n_clusters,
        "n_members_": ensemble.labels.shape[1],
        "n_neighbors_": chosen.n_neighbors,
    }
