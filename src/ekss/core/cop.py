"""Coherence Pursuit: fit a subspace to the most coherent points of a cluster."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from ekss.core.linalg import Flats, fit_flat, group_rows

# Share of a cluster that is trusted; the rest may be outliers without harm.
COHERENT_SHARE = 0.5
# At least this many points per dimension are kept, so small clusters keep their span.
FEWEST_PER_DIM = 2

_BLOCK_ROWS = 512


def update_cop(
    X: NDArray[np.floating],
    labels: NDArray[np.int32],
    own: NDArray[np.floating],
    flats: Flats,
    *,
    share: float = COHERENT_SHARE,
) -> Flats:
    r"""PCA of the most coherent points of each cluster, the basis update of CoP-KSS.

    In place of all points of a cluster only those :func:`coherent_rows` chooses are
    fitted, so points that resemble few others have no influence on the subspace
    [1]_ [2]_. Directions the chosen points leave free stay as they were. Unlike PCA
    of all points this may raise the cost of K-subspaces.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,), int32
    own : ndarray of shape (n_samples, dim)
        Coordinates of the points in their subspaces; not needed by this update.
    flats : Flats
        Current subspaces. Affine ones are fitted to points that are coherent about
        the mean of the cluster.
    share : float, default=COHERENT_SHARE
        Share of the points of a cluster that is fitted, in (0, 1]; 1 is exact PCA.

    Returns
    -------
    flats : Flats

    Notes
    -----
    Scoring the points adds less than the cost of exact PCA of all of them:
    O(N_k n_features min(N_k, n_features)) time for a cluster of N_k points.

    References
    ----------
    .. [1] A. Gitlin, B. Tao, L. Balzano, J. Lipor, "Improving K-Subspaces via
       Coherence Pursuit", IEEE J. Selected Topics in Signal Processing, 2018.
    .. [2] M. Rahmani, G. K. Atia, "Coherence Pursuit: Fast, Simple, and Robust
       Principal Component Analysis", IEEE Trans. Signal Processing, 2017.
    """
    n_subspaces, _, dim = flats.bases.shape
    bases = flats.bases.copy()
    offsets = None if flats.offsets is None else flats.offsets.copy()
    for k, rows in enumerate(group_rows(labels, n_subspaces)):
        if len(rows) == 0:
            continue
        affine = offsets is not None
        bases[k], offset = _fit_coherent(X[rows], dim, affine, bases[k], share)
        if offsets is not None:
            offsets[k] = offset
    return Flats(bases, offsets)


def coherent_rows(
    points: NDArray[np.floating],
    dim: int,
    *,
    share: float = COHERENT_SHARE,
    norm: str = "l2",
) -> NDArray[np.integer]:
    """Choose the most coherent points, enough of them to span ``dim`` directions.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    dim : int
        Dimension of the subspace to be fitted.
    share : float, default=COHERENT_SHARE
        Share of the points to choose, in (0, 1]; rounded up, and never fewer than
        ``FEWEST_PER_DIM * dim`` points where there are as many.
    norm : {"l2", "l1"}, default="l2"
        Norm of :func:`coherence`.

    Returns
    -------
    rows : ndarray of shape (n_chosen,)
        Ascending; of equally coherent points the first are chosen.

    Examples
    --------
    >>> import numpy as np
    >>> coherent_rows(np.array([[1.0, 0], [0, 1], [2, 0.1], [3, 0]]), 1, share=0.75)
    array([0, 2, 3])
    """
    n = len(points)
    n_chosen = min(n, max(ceil(share * n), FEWEST_PER_DIM * dim))
    if n_chosen == n:
        return np.arange(n)
    order = np.argsort(-coherence(points, norm), kind="stable")
    return np.sort(order[:n_chosen])


def coherence(points: NDArray[np.floating], norm: str = "l2") -> NDArray[np.floating]:
    r"""Measure how much each point resembles the others.

    With rows scaled to unit length the score of point i is
    :math:`\sum_{j \ne i} |\langle x_i, x_j\rangle|^p`, p = 2 for "l2" and 1 for "l1";
    a zero row scores 0.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    norm : {"l2", "l1"}, default="l2"

    Returns
    -------
    scores : ndarray of shape (n_points,)

    Notes
    -----
    "l2" costs O(n_points n_features min(n_points, n_features)) time: where there are
    more points than features it equals :math:`x_i^T (X^T X) x_i - \|x_i\|^4`, without
    the Gram matrix of the points. "l1" needs all inner products, a block of rows at a
    time.

    Examples
    --------
    >>> import numpy as np
    >>> coherence(np.array([[1.0, 0], [2, 0], [0, 3], [0, 0]]))
    array([1., 1., 0., 0.])
    """
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    unit = points / np.where(lengths > 0, lengths, 1)
    own = np.einsum("ij,ij->i", unit, unit)
    n, n_features = unit.shape
    if norm == "l1":
        starts = range(0, n, _BLOCK_ROWS)
        blocks = [np.abs(unit[i : i + _BLOCK_ROWS] @ unit.T).sum(1) for i in starts]
        scores = np.concatenate(blocks) - own
    elif n > n_features:
        scores = np.einsum("ij,ij->i", unit @ (unit.T @ unit), unit) - own**2
    else:
        gram = unit @ unit.T
        scores = np.einsum("ij,ij->i", gram, gram) - own**2
    return np.maximum(scores, 0)


def _fit_coherent(
    points: NDArray[np.floating],
    dim: int,
    affine: bool,
    spare: NDArray[np.floating],
    share: float,
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Fit one subspace to the coherent points; return its basis and its offset."""
    centred = points
    if affine:
        mean = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
        centred = points - mean
    chosen = points[coherent_rows(centred, dim, share=share)]
    return fit_flat(chosen, dim, affine=affine, spare=spare)
