"""Which images and tracks to show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ekss.report._agreement import Agreement
from ekss.report._geometry import Fit, nearest_other
from ekss.report._inputs import Inputs

SHOWN = 8
SHOWN_VECTORS = 8
MOST_TRACKS = 600
# Clusters that are shown, and pixels of all their images together.
MOST_CLUSTERS = 60
_PIXELS = 2_500_000
_LARGEST_SIDE = 72
_ROWS_TO_TURN = 2000


@dataclass(frozen=True)
class Gallery:
    """Images of each cluster.

    Attributes
    ----------
    typical, doubtful : tuple of ndarray
        Rows of the points to show of each cluster, most typical and most doubtful
        first.
    vectors : ndarray of shape (n_clusters, n_vectors, height, width) or None
        Basis vectors as images; None where features are no pixels.
    step : int
        Pixels averaged along each side, 1 for none.
    """

    typical: tuple[NDArray[np.int64], ...]
    doubtful: tuple[NDArray[np.int64], ...]
    vectors: NDArray[np.floating] | None
    step: int


@dataclass(frozen=True)
class Tracks:
    """Paths of points over the frames, all or a sample of them.

    Attributes
    ----------
    paths : ndarray of shape (n_paths, n_frames, 2)
        Positions x, y in each frame.
    rows : ndarray of shape (n_paths,)
        Which points they are.
    """

    paths: NDArray[np.floating]
    rows: NDArray[np.int64]


def gallery_of(inputs: Inputs, fit: Fit, agreement: Agreement) -> Gallery | None:
    """Rank the members of every cluster by doubt; take both ends."""
    if inputs.image_shape is None:
        return None
    rows, doubt = _doubts(inputs, fit, agreement)
    typical, doubtful = [], []
    for k in range(min(inputs.n_clusters, MOST_CLUSTERS)):
        mine = np.flatnonzero(inputs.codes[rows] == k)
        ranked = rows[mine[np.argsort(doubt[mine], kind="stable")]]
        count = min(SHOWN, max(1, len(ranked) // 2))
        typical.append(ranked[:count])
        doubtful.append(ranked[::-1][: min(count, len(ranked) - count)])
    return Gallery(
        tuple(typical), tuple(doubtful), _vector_images(inputs, fit), _step(inputs)
    )


def tracks_of(inputs: Inputs) -> Tracks | None:
    """Take the paths of all points, or of an even sample."""
    if inputs.n_frames is None:
        return None
    rows = np.arange(len(inputs.codes))
    if len(rows) > MOST_TRACKS:
        chosen = np.random.default_rng(0).choice(rows, MOST_TRACKS, replace=False)
        rows = np.sort(chosen)
    return Tracks(inputs.shown[rows].reshape(len(rows), inputs.n_frames, 2), rows)


def _doubts(
    inputs: Inputs, fit: Fit, agreement: Agreement
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How much nearer the own subspace is than any other, or lack of agreement."""
    if fit.fitted_here or inputs.n_clusters == 1:
        return agreement.rows, -agreement.values
    codes = inputs.codes[fit.rows]
    own = fit.distances[np.arange(len(codes)), codes].astype(float)
    return fit.rows, own - nearest_other(fit.distances, codes)


def _vector_images(inputs: Inputs, fit: Fit) -> NDArray[np.floating] | None:
    shape = inputs.image_shape
    bases = fit.flats.bases
    if shape is None or len(shape) != 2 or bases.shape[1] != shape[0] * shape[1]:
        return None
    turned = [
        _principal(inputs, basis, k) for k, basis in enumerate(bases[:MOST_CLUSTERS])
    ]
    vectors = np.stack(turned)[:, :, :SHOWN_VECTORS].transpose(0, 2, 1)
    signs = np.where(vectors.sum(axis=2, keepdims=True) < 0, -1.0, 1.0)
    return (vectors * signs).reshape(*vectors.shape[:2], *shape)


def _principal(
    inputs: Inputs, basis: NDArray[np.floating], k: int
) -> NDArray[np.floating]:
    """Turn a basis inside its subspace: directions of most energy come first."""
    rows = np.flatnonzero(inputs.codes == k)[:_ROWS_TO_TURN]
    points = inputs.points[rows]
    if inputs.affine:
        points = points - points.mean(axis=0)
    inside = points @ basis
    return basis @ np.linalg.eigh(inside.T @ inside)[1][:, ::-1]


def _step(inputs: Inputs) -> int:
    """Average so many pixels each way that the page stays small."""
    height, width = inputs.image_shape[:2] if inputs.image_shape else (1, 1)
    images = min(inputs.n_clusters, MOST_CLUSTERS) * (2 * SHOWN + SHOWN_VECTORS)
    side = min(_LARGEST_SIDE, int(np.sqrt(_PIXELS / images)))
    return max(1, -(-max(height, width) // side))
