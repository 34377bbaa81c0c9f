"""Ensemble K-subspaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ekss.core.bases import fit_clusters
from ekss.core.parallel import one_blas_thread
from ekss.estimators._base import validated
from ekss.estimators._checks import check_folder
from ekss.estimators._cutting import Candidate
from ekss.estimators._extension import extend, learn_extension
from ekss.estimators._fitting import all_or_nothing
from ekss.estimators._label_room import LabelRoom
from ekss.estimators._memory import check_memory
from ekss.estimators._sampling import (
    draw_sample,
    resolve_graph,
    resolve_max_samples,
)
from ekss.estimators._voting import VotingClusterer
from ekss.graph.cuts import Cutter
from ekss.graph.selection import Score
from ekss.rows import MemoryRows, Rows, as_rows


class EKSS(VotingClusterer):
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
        Number of clusters K. "auto" takes the number, at least 2, that is confirmed by
        members with hardly as many candidates, which cannot split clusters.
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
    remove_components : "auto" or int, default="auto"
        Leading singular directions of the points, at unit length if ``normalize``, that
        are taken out first; then points are scaled again. "auto" tries 0 to 3 on a
        sample and takes the number of lowest score (``removals_``), or the smallest
        within 0.1 of it; but none for affine subspaces, without ``normalize``, for
        points without a direction in common, or if ``subspace_dim``, ``top_q`` or
        ``n_eigenvectors`` are given.
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
    graph : {"auto", "exact", "approximate", "sample"}, default="auto"
        Which votes the graph keeps. "exact": the strongest of all pairs; "approximate":
        those of likely pairs, found through shared base clusters; "sample": those of
        a sample of ``max_samples`` rows, after which every other row gets its cluster
        by its base clusters in one pass over X.
        "auto" is "exact" up to 20000 rows, then "sample"; but for one cut as in the
        paper, of rows in memory, "exact" up to 50000, then "approximate".
    max_samples : int, "auto" or None, default="auto"
        Rows that a member is fitted to: those of the sample, or else rows of its own,
        with a last iteration on all. "auto" is 10000, or 100 a cluster; None is all.
    labels_dir : path, default=None
        Folder for the labels of the members: ``base_labels_`` is then a memory map of a
        new file ``base_labels_<n_base>_<random>.npy`` there, whose path is
        ``base_labels_.filename``. A fit deletes the files that it outgrows, and if it
        fails all that it made, but never a file of another fit, a fit of the same
        estimator included: delete those yourself when their model is gone. None keeps
        labels in memory.
    memory_limit : int, str or None, default=None
        Most memory that the process may take, in bytes or as "4GB"; a fit that is
        estimated to need more is refused before it starts. None is what the machine
        has free. Where parameters are "auto", the estimate takes the worst case.
    n_jobs : int, default=None
        Parallel workers, as in joblib. Labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed; the same int gives the same labels, in any order of members.
    verbose : int, default=0
        Show an estimate of memory and time on stderr, then progress bars.

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
        search, best first, with ``n_clusters``, ``score`` and ``confirmed``; otherwise
        empty.
    removed_ : ndarray of shape (n_removed, n_features)
        Orthonormal directions that were taken out of the points, and are of new ones.
    removals_ : tuple
        Where "auto" tried: the numbers of components, best first, with ``n_removed``
        and ``score``; otherwise empty.
    agreement_ : float or None
        With ``n_base="auto"``: share of points to which two halves of the members give
        the same cluster, where it was measured last.
    sample_ : ndarray or None
        Numbers of the rows whose votes were cut, ascending; None if all were. With a
        sample, ``affinity_``, ``base_labels_`` and ``embedding_`` have its rows only.
    graph_ : str
        How the graph was made: "exact", "approximate" or "sample".
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
    counting all votes O(n_samples^2 n_base) byte comparisons, and memory is
    O(n_samples (n_features + n_base + top_q)), top_q below 50 beyond 1000 points. With
    a sample, time is linear in n_samples and memory that of the sample, of the labels,
    and of a few blocks of rows.

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
        remove_components: int | str = "auto",
        n_eigenvectors: int | None = None,
        cutters: Sequence[Cutter] | None = None,
        cut_score: Score | None = None,
        warm_start: bool = False,
        graph: str = "auto",
        max_samples: int | str | None = "auto",
        labels_dir: str | Path | None = None,
        memory_limit: int | str | None = None,
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
        self.remove_components = remove_components
        self.n_eigenvectors = n_eigenvectors
        self.cutters = cutters
        self.cut_score = cut_score
        self.warm_start = warm_start
        self.graph = graph
        self.max_samples = max_samples
        self.labels_dir = labels_dir
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @all_or_nothing
    def fit(self, X: Any, y: object = None) -> Self:
        """Cluster the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points, one a row. A memory map, an h5py dataset, a zarr or a Dask array
            is read block by block.
        y : ignored
            Present for the scikit-learn interface; labels have no influence.

        Returns
        -------
        self : EKSS
        """
        labels_dir = check_folder("labels_dir", self.labels_dir)
        with one_blas_thread(), LabelRoom(labels_dir) as room:
            seed = self._resolve_seed()
            rows = self._rows(X)
            notice = check_memory(self, rows)
            points = self._voted(rows, seed)
            ballot = self._vote(
                points,
                seed,
                notice=notice,
                keep_flats=self.sample_ is not None,
                room=room,
            )
            cut = self._cut(ballot)
            labels, prepared = cut.labels, ballot.prepared
            geometry = ballot.geometry
            flats = fit_clusters(
                prepared.points,
                labels,
                self.n_clusters_,
                (geometry.low + geometry.high) // 2,
                affine=self.affine_,
                seed=seed,
            )
            if self.sample_ is not None:
                labels, flats = extend(
                    learn_extension(
                        prepared.scaling, ballot.kept, ballot.ensemble, labels, flats
                    ),
                    rows,
                    self.sample_,
                    labels,
                    n_jobs=self.n_jobs,
                    show=self.verbose > 0,
                )
        self.top_q_ = cut.top_q
        self.affinity_ = cut.affinity
        self.embedding_ = cut.embedding
        self.eigenvalues_ = cut.eigenvalues
        self.candidates_: tuple[Candidate, ...] = cut.candidates
        return self._store_model(flats, labels, prepared.scaling)

    def _rows(self, X: Any) -> Rows:
        """Return all rows, and settle how their graph is made."""
        rows = as_rows(X)
        if rows is None or rows.in_memory:
            rows = MemoryRows(validated(self, X, reset=True))
        self.graph_ = resolve_graph(
            self.graph,
            rows.shape[0],
            in_memory=rows.in_memory,
            one_cut=self._makes_one_cut(),
        )
        return rows

    def _voted(self, rows: Rows, seed: int) -> NDArray[np.floating]:
        """Return the rows that are voted on."""
        n_samples = rows.shape[0]
        self.sample_ = None
        if self.graph_ == "sample":
            size = resolve_max_samples(self.max_samples, n_samples, self.n_clusters)
            self.sample_ = draw_sample(n_samples, size, seed)
        if self.sample_ is None and isinstance(rows, MemoryRows) and rows.in_memory:
            return rows.array
        taken = np.arange(n_samples) if self.sample_ is None else self.sample_
        points = rows.take(taken)
        return points if rows.in_memory else validated(self, points, reset=True)
