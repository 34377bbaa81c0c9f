"""Ensemble K-subspaces."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ekss.core.ksubspaces import STARTS, UPDATES
from ekss.ensemble.chain import Clustering, EarlierFit, check_memory, cluster
from ekss.ensemble.cut import CutOptions
from ekss.ensemble.decide import Wishes
from ekss.ensemble.prepare import Scattering
from ekss.ensemble.vote import KSSMember, MemberFunction, enough_rows
from ekss.estimators._base import (
    SubspaceClusterer,
    bool_or_auto,
    check_bool,
    check_choice,
    check_directory,
    check_function,
    check_functions,
    check_int,
    check_int_range,
    check_outliers,
    check_workers,
    checked_blocks,
    int_or_auto,
    is_auto,
    seed_of,
    store,
    warn_of_doubts,
)
from ekss.preprocessing import Scattering2D
from ekss.runtime.rows import LabelStore, MemoryRows, Rows, draw_sample
from ekss.runtime.workers import one_blas_thread

# Up to this many rows, all of them are voted on: cutting their graph in many ways is
# affordable.
MOST_VOTED = 20_000
_OR_AUTO = ' or "auto"'


class EKSS(SubspaceClusterer):
    r"""Ensemble K-subspaces: cluster points by the subspaces they lie near.

    Many short, random runs of K-subspaces ("members") vote on which points belong
    together. The strongest votes of each point form sparse graphs. The graphs are cut
    in many ways, and the cut on which subspaces and votes agree best is kept.
    Parameters that are not given are decided from the data; nothing needs tuning. The
    algorithm of the paper [1]_, without these decisions, is :class:`PaperEKSS`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters K. "auto" tries numbers of at least 2. It takes the number
        after which the eigenvalues of the votes have a clear gap; without one, that
        which is best confirmed by members with at most as many candidates as clusters,
        because such members cannot split clusters. Communities of points that express
        each other tell whether such a number can be right.
    subspace_dim : "auto", int or (int, int), default="auto"
        Dimension of the candidate subspaces. With a pair, each member draws its own
        dimension from that range. "auto" estimates a range from the neighbourhoods of
        points. With a range, each cluster gets the dimension that its own points show,
        or the middle of the range, rounded down, if they show none.
    n_members : int or "auto", default="auto"
        Number of members. "auto" runs 100. It goes on to 200 unless the odd and the
        even members, taken separately, give 97 % of a sample of points the same
        cluster, and then to 400 unless they do so for 75 %.
    member : KSSMember, callable or None, default=None
        What a member does; None means :class:`KSSMember` with its defaults. A callable
        ``member(points, seed)`` returns one label of at least 0 per point, or a pair of
        these labels and the weight of its votes.
    affine : bool or "auto", default="auto"
        Whether subspaces may miss the origin. "auto" allows this if neighbourhoods lie
        on flats of dimension 2 or 3 within 1 % of their energy, as tracks of points on
        moving bodies do.
    normalize : bool or "auto", default="auto"
        Whether to scale points to unit length first. "auto" does so for linear
        subspaces, where length carries no information, but not for affine ones.
    whiten : "auto" or int, default="auto"
        Number of leading singular directions in which members and judges see the
        points. Each direction gets equal energy, or less where it holds hardly more
        than the next direction left out. Points are then scaled to unit length again if
        ``normalize`` is set. "auto" whitens if the points have a direction in common,
        as images do, and tries several numbers on a sample (``whitenings_``). It does
        not whiten for affine subspaces or without ``normalize``. 0 leaves the points as
        they are.
    image_shape : (int, int) or None, default=None
        Height and width of the images if the rows hold their pixels; one of the two may
        be -1. Members then see the images either as pixels or as scattering features
        (:class:`~ekss.preprocessing.Scattering2D`), which hardly change when an image
        is slightly shifted or bent. The choice is made in the same way as the number of
        directions (``whitenings_``). None tries only the pixels.
    outliers : float, "auto" or None, default=None
        Which points get the label -1 instead of a cluster, in ``fit`` and ``predict``.
        A share in (0, 0.5] marks that share of the points, those with the highest
        ``outlier_scores_`` (scikit-learn calls such a share `contamination`). "auto"
        marks the points with a score above 3.5, and None marks none. The labels of all
        other points do not depend on it.
    n_neighbors : "auto" or int, default="auto"
        Neighbours kept per point, the paper's q. "auto" cuts graphs with several
        numbers of neighbours; an integer cuts one graph.
    cut : CutOptions or None, default=None
        How votes are counted, cut and judged; None means :class:`CutOptions` with its
        defaults.
    second_opinion : bool, default=True
        Whether the best cut of the votes must compete with that of a second graph
        (``finalists_``), while all pairs of points are compared. For linear subspaces
        this is self-expression, the graph of elastic net coefficients; the labels of
        the winner may spread along it and, with ``n_clusters="auto"``, its communities
        help to find the number of clusters. For affine subspaces, members vote once
        more, on points that are whitened in 6 K directions, unless ``whiten`` is given.
    missing : {"observed", "zero", "error"}, default="observed"
        What NaN in X means. "observed" clusters by the entries that are present and
        fills in the others from the subspaces of the clusters. "zero" treats missing
        entries as zero, as the theory in the paper does. "error" refuses them.
    max_samples : int, "auto" or None, default="auto"
        Number of rows that members vote on. If X has more rows, a sample is clustered,
        and every other row is assigned a cluster from its base clusters in one pass
        over X. "auto" means all rows if there are at most 20000 and they are in memory;
        otherwise 10000, or 100 per cluster if that is more. None means all rows.
    warm_start : bool, default=False
        Whether to keep the decisions and members of the last fit where they would come
        out the same, so that increasing ``n_members`` costs only the new members.
    memory_limit : int, str or None, default=None
        The most memory that the process may use, in bytes or as "4GB". A fit that is
        estimated to need more is refused before it starts. None means the machine's
        free memory. For parameters that are "auto", the worst case is estimated.
    n_jobs : int, default=None
        Number of parallel workers, as in joblib. The labels do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed. The same int gives the same labels on the same machine, for any number of
        workers. On another CPU or with another BLAS, the last bits of products differ,
        and a choice between nearly equal cuts may come out differently.
    verbose : int, default=0
        Show an estimate of memory and time on stderr, then progress bars.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each point; -1 for points that ``outliers`` marks.
    bases_ : ndarray of shape (n_clusters, n_features, subspace_dim_)
        Orthonormal basis of each cluster's subspace, fitted after clustering to the
        points of the cluster with a score of at most 3.5. If a subspace has fewer than
        ``subspace_dim_`` dimensions, its last columns are zero.
    dims_ : ndarray of shape (n_clusters,)
        Dimension of each cluster's subspace.
    outlier_scores_ : ndarray of shape (n_samples,)
        How far each point lies from the subspace of its cluster: the difference between
        this distance and its median in the cluster, in standard deviations. Higher
        means farther away.
    outlier_limits_ : ndarray of shape (n_clusters,) or None
        Distance from each subspace, as ``transform`` gives it, beyond which ``predict``
        marks points as outliers; None if ``outliers`` is None.
    offsets_ : ndarray of shape (n_clusters, n_features) or None
        A point on each affine subspace; None for linear subspaces.
    preparation_ : Preparation
        How rows become points. Call it to get rows as the fit saw them.
    affinity_ : csr_array of shape (n_samples, n_samples)
        The graph that was cut.
    member_labels_ : ndarray of shape (n_samples, n_members_)
        Labels of every member, in the smallest unsigned type.
    member_weights_ : ndarray of shape (n_members_,)
        Weights of the members.
    embedding_ : ndarray of shape (n_samples, n_eigenvectors)
        Row-normalised spectral embedding that was clustered.
    eigenvalues_ : ndarray
        Largest eigenvalues of the normalised affinity: one more than there are
        eigenvectors, if the graph has that many, to show the gap.
    candidates_ : tuple of Candidate
        Every cut that was considered, with its ``origin``, ``graph`` ("votes",
        "expressions" or "whitened votes"), ``n_neighbors``, ``score``, ``labels``, and
        ``judged`` (what the score function returned): first the cuts of the graph that
        was kept, best first, then those of the other graph.
    finalists_ : tuple of Candidate
        The best cut of the votes and that of the second graph, judged by the evidence
        of both and sorted by this ``score``: ``labels_`` are those of the first. If
        points and votes find the best cut of the expressions clearly worse, it is left
        out; the better of the two after its labels have spread along the expressions is
        added. Empty if there was no second graph; ``labels_`` are then those of the
        first candidate.
    counts_ : tuple of Count
        With ``n_clusters="auto"``, the numbers of clusters tried around the last guess
        for which any was confirmed, best first, with ``n_clusters``, ``score``,
        ``confirmed`` and ``gap``. Otherwise empty.
    n_directions_ : int
        Number of directions in which the points were whitened; 0 if they were not.
    features_ : {"rows", "scattering"}
        What the members saw: the rows as they are, or scattering features of images.
    whitenings_ : tuple of Whitening
        The numbers of directions that were tried, with the chosen one first, each with
        ``n_directions``, ``score``, ``n_members`` and ``features``. Scores for
        different ``n_members`` cannot be compared, because numbers of directions that
        were clearly worse were given up after few members. Empty if nothing was tried.
    agreement_ : float or None
        With ``n_members="auto"``, the share of points to which two halves of the
        members give the same cluster, as last measured.
    sample_ : ndarray or None
        Indices of the rows that were voted on, in ascending order; None if all were.
        With a sample, ``affinity_``, ``member_labels_``, ``embedding_`` and the labels
        of ``candidates_`` cover only its rows.
    affine_ : bool
        Whether subspaces may miss the origin.
    n_iter_ : int
        Largest number of iterations that a member used.
    n_clusters_, n_members_, subspace_dim_ : int
        The values that were used; ``subspace_dim_`` is the largest of ``dims_``.
    n_neighbors_ : int or None
        Neighbours per point in ``affinity_``; None if it is the graph of expressions,
        in which points have different numbers of neighbours.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, set if all of them are strings.

    See Also
    --------
    PaperEKSS : The algorithm as the paper prints it.
    KSS : One clustering instead of an ensemble.
    LabelFreeSearch : Choose settings of graph methods without labels.

    Notes
    -----
    A member takes O(max_iter n_samples n_features n_candidates subspace_dim) time, and
    counting all votes takes O(n_samples^2 n_members) byte comparisons. Memory is
    O(n_samples (n_features + n_members + n_neighbors)), with n_neighbors below 50
    beyond 1000 points. With a sample, time is linear in n_samples, and memory is that
    of the sample, of the labels, and of a few blocks of rows.

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
    >>> labels = EKSS(n_clusters=3, random_state=0).fit_predict(data.data)
    >>> clustering_error(data.target, labels)
    0.0
    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        subspace_dim: str | int | tuple[int, int] = "auto",
        *,
        n_members: int | str = "auto",
        member: KSSMember | MemberFunction | None = None,
        affine: bool | str = "auto",
        normalize: bool | str = "auto",
        whiten: int | str = "auto",
        image_shape: tuple[int, int] | None = None,
        outliers: float | str | None = None,
        n_neighbors: int | str = "auto",
        cut: CutOptions | None = None,
        second_opinion: bool = True,
        missing: str = "observed",
        max_samples: int | str | None = "auto",
        warm_start: bool = False,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.subspace_dim = subspace_dim
        self.n_members = n_members
        self.member = member
        self.affine = affine
        self.normalize = normalize
        self.whiten = whiten
        self.image_shape = image_shape
        self.outliers = outliers
        self.n_neighbors = n_neighbors
        self.cut = cut
        self.second_opinion = second_opinion
        self.missing = missing
        self.max_samples = max_samples
        self.warm_start = warm_start
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
        self : EKSS
            The fitted estimator.
        """
        workers = check_workers(self.n_jobs, self.verbose)
        rows, names = checked_blocks(self, X)
        wishes = self._wishes(rows.shape)
        directory = check_directory("labels_dir", wishes.cut.labels_dir)
        known: EarlierFit | None = None
        if self.warm_start:
            known = getattr(self, "_known", None)
        seed = seed_of(self.random_state)
        if known is not None and self.random_state is None:
            seed = known.seed
        sample = draw_sample(
            rows.shape[0],
            sample_size("max_samples", self.max_samples, rows, wishes.n_clusters),
            seed,
        )
        check_memory(wishes, rows, sample, self.memory_limit, workers)
        with one_blas_thread(), LabelStore(directory) as labels_on_disk:
            voted = taken(rows, sample)
            found = cluster(
                voted,
                wishes,
                seed,
                workers,
                known=known,
                store=labels_on_disk,
                everyone=rows,
                sample=sample,
            )
        warn_of_doubts(
            found.preparation.filled(voted, found.flats),
            found.labels,
            len(found.flats.bases),
            dim=found.flats.bases.shape[2],
            affine=found.settled.affine,
        )
        return store(self, **names, **_fitted(found, sample))

    def _wishes(self, shape: tuple[int, int]) -> Wishes:
        """Check the parameters against the shape of the data."""
        n_samples, n_features = shape
        n_clusters: int | None = None
        if not is_auto("n_clusters", self.n_clusters, "an integer"):
            n_clusters = check_int(
                "n_clusters", self.n_clusters, 1, n_samples, limit="n_samples"
            )
        member = KSSMember() if self.member is None else self.member
        _check_member(member, n_samples)
        if n_clusters is None and not isinstance(member, KSSMember):
            raise ValueError(
                "n_clusters='auto' asks members with fewer candidates, which a "
                "callable member cannot be told; pass the number of clusters, or a "
                "KSSMember"
            )
        cut = CutOptions() if self.cut is None else self.cut
        check_cut(cut)
        check_bool("warm_start", self.warm_start)
        dims = None
        if not is_auto("subspace_dim", self.subspace_dim, "an integer or a pair"):
            dims = check_int_range(
                "subspace_dim",
                self.subspace_dim,
                1,
                n_features,
                limit="n_features",
                also=_OR_AUTO,
            )
        whiten = int_or_auto(
            "whiten",
            self.whiten,
            0,
            min(n_samples, n_features),
            limit="min(n_samples, n_features)",
        )
        if whiten and dims is not None and whiten <= dims[1]:
            raise ValueError(
                f"whiten={whiten} leaves no direction outside of a subspace of "
                f"dimension {dims[1]}; choose at least whiten={dims[1] + 1}, a smaller "
                "subspace_dim, or whiten='auto'"
            )
        affine = bool_or_auto("affine", self.affine)
        normalize = bool_or_auto("normalize", self.normalize)
        images = self._checked_image_shape(n_features, affine, normalize, whiten)
        return Wishes(
            n_clusters=n_clusters,
            dims=dims,
            n_members=int_or_auto("n_members", self.n_members, 1),
            member=member,
            affine=affine if images is None else False,
            normalize=normalize,
            whiten=whiten,
            image_shape=images,
            n_neighbors=int_or_auto(
                "n_neighbors", self.n_neighbors, 1, n_samples - 1, limit="n_samples-1"
            ),
            cut=cut,
            second_opinion=check_bool("second_opinion", self.second_opinion),
            outliers=check_outliers(self.outliers),
        )

    def _checked_image_shape(
        self,
        n_pixels: int,
        affine: bool | None,
        normalize: bool | None,
        whiten: int | None,
    ) -> tuple[int, int] | None:
        """Return height and width of the images; None if rows are not seen as such."""
        given = self.image_shape
        if given is None:
            return None
        shape, _ = Scattering2D(image_shape=given).shapes_for(n_pixels)
        if min(shape) < Scattering.SMALLEST_SIDE:
            raise ValueError(
                f"image_shape={given!r} is too small for scattering features, which "
                f"need {Scattering.SMALLEST_SIDE} pixels along the shorter side; leave "
                "image_shape at None"
            )
        unfit = {
            "affine": affine is True,
            "normalize": normalize is False,
            "whiten": whiten == 0,
        }
        for name in (name for name, is_so in unfit.items() if is_so):
            raise ValueError(
                f"{name}={getattr(self, name)!r} cannot be combined with "
                f"image_shape={given!r}: images are seen at unit length, whitened, "
                f"near linear subspaces; leave {name} at 'auto', or image_shape at None"
            )
        return shape


def _check_member(member: Any, n_samples: int) -> None:
    """Check the parameter ``member``, and the parameters of a KSSMember."""
    if not isinstance(member, KSSMember):
        if not callable(member):
            raise TypeError(
                f"member={member!r} is {type(member).__name__}; pass a KSSMember, a "
                "callable member(points, seed), or None"
            )
        return
    count = member.n_candidates
    if count is not None and not is_auto("n_candidates", count, "an integer or a pair"):
        check_int_range("n_candidates", count, 1, n_samples, limit="n_samples")
    check_int("max_iter", member.max_iter, 0)
    check_choice("update", member.update, tuple(UPDATES))
    check_choice("init", member.init, ("auto", *STARTS))
    check_choice("weighting", member.weighting, ("cost", "uniform"))
    rows = member.max_samples
    if rows is not None and not is_auto("max_samples", rows, "an integer, or None"):
        check_int("max_samples", rows, 2, also=', None or "auto"')


def check_cut(cut: Any) -> None:
    """Check the parameter ``cut`` and its own parameters."""
    if not isinstance(cut, CutOptions):
        raise TypeError(f"cut={cut!r} is {type(cut).__name__}; pass CutOptions or None")
    check_bool("divide_by_size", cut.divide_by_size)
    check_choice("pairs", cut.pairs, ("auto", "all", "likely"))
    check_functions("cutters", cut.cutters)
    check_function("score", cut.score)


def sample_size(
    name: str, wanted: Any, rows: Rows, n_clusters: int | None
) -> int | None:
    """Return how many rows members vote on, by the parameter of this name."""
    if wanted is None:
        return None
    if is_auto(name, wanted, "an integer, or None"):
        if rows.in_memory and rows.shape[0] <= MOST_VOTED:
            return None
        return enough_rows(n_clusters or 1)
    return check_int(name, wanted, n_clusters or 2, also=', None or "auto"')


def taken(rows: Rows, sample: NDArray[np.int64] | None) -> NDArray[np.floating]:
    """Return the rows that are voted on."""
    if sample is None and isinstance(rows, MemoryRows) and rows.in_memory:
        return rows.array
    return rows.take(np.arange(rows.shape[0]) if sample is None else sample)


def _fitted(found: Clustering, sample: NDArray[np.int64] | None) -> dict[str, Any]:
    """Return the attributes of a fit."""
    chosen, ensemble, settled = found.chosen, found.ensemble, found.settled
    return {
        "labels_": found.labels.astype(np.int64),
        "bases_": found.flats.bases,
        "offsets_": found.flats.offsets,
        "dims_": found.flats.dims,
        "outlier_scores_": found.outlier_scores,
        "outlier_limits_": found.outlier_limits,
        "preparation_": found.preparation,
        "affinity_": chosen.affinity,
        "member_labels_": ensemble.labels,
        "member_weights_": ensemble.weights,
        "embedding_": chosen.embedding,
        "eigenvalues_": chosen.eigenvalues,
        "candidates_": chosen.candidates,
        "finalists_": chosen.finalists,
        "counts_": settled.counts,
        "n_directions_": settled.n_directions,
        "features_": settled.features,
        "whitenings_": settled.whitenings,
        "agreement_": ensemble.agreement,
        "sample_": sample,
        "affine_": settled.affine,
        "n_iter_": ensemble.n_iter,
        "n_clusters_": len(found.flats.bases),
        "n_members_": ensemble.labels.shape[1],
        "subspace_dim_": found.flats.bases.shape[2],
        "n_neighbors_": chosen.n_neighbors,
        "_known": found.known,
    }
