"""Synthetic points on unions of subspaces."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from ekss.core.linalg import random_bases

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = int | Sequence[int]
Rng: TypeAlias = np.random.Generator
Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None


def make_union_of_subspaces(
    n_subspaces: int | None = None,
    dims: Counts | None = None,
    n_features: int | None = None,
    n_per_subspace: Counts = 100,
    *,
    noise: float = 0.0,
    missing: float = 0.0,
    outliers: float = 0.0,
    bases: str | Sequence[NDArray[np.floating]] = "random",
    affine_offset: float = 0.0,
    shuffle: bool = True,
    random_state: Seed = None,
    return_X_y: bool = False,
) -> Any:
    r"""Draw points from a union of subspaces.

    A point of subspace k is :math:`x = U_k a + b_k + e`, with a uniform on the unit
    sphere, offset :math:`b_k` and noise :math:`e \sim N(0, \sigma^2 / D \, I_D)`. This
    is the model of the synthetic experiments of [1]_.

    Parameters
    ----------
    n_subspaces : int or None, default=None
        Number of subspaces K; None means 3, or the number of bases given.
    dims : int, sequence of int of shape (n_subspaces,) or None, default=None
        Dimension of all subspaces, or of each; None means 5, or those of the bases
        given.
    n_features : int or None, default=None
        Dimension D of the space; None means 100, or that of the bases given.
    n_per_subspace : int or sequence of int of shape (n_subspaces,), default=100
        Points per subspace, one number for all or one for each; excludes outliers.
    noise : float, default=0.0
        :math:`\sigma`, which is about the norm of a point's noise, compared with the
        norm 1 of the points. See Notes for the conversion from a deviation per entry.
    missing : float, default=0.0
        Share of the entries of every point that are set to zero, in [0, 1):
        ``round(missing * n_features)`` positions per point, drawn at random.
    outliers : float, default=0.0
        Share of ALL points returned, in [0, 1), that are uniform on the unit sphere of
        the whole space (rounded to a whole number of points; without noise).
    bases : {"random", "orthogonal"} or sequence of ndarrays, default="random"
        Subspaces drawn uniformly and independently, or uniformly among mutually
        orthogonal ones, or orthonormal bases (n_features, dim_k) to use.
    affine_offset : float, default=0.0
        Distance of each (then affine) subspace from the origin; the direction of the
        offset is uniform among those orthogonal to the subspace.
    shuffle : bool, default=True
        Whether to shuffle the points; False keeps subspaces in order, outliers last.
    random_state : int, SeedSequence, Generator or None, default=None
        Source of randomness. With a fixed seed, changing only `noise`, `missing` or
        `affine_offset` keeps the bases, the clean points and their order.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` rather than a Bunch.

    Returns
    -------
    Bunch or tuple of (data, target)
        ``data`` of shape (n_samples, n_features); ``target`` of shape (n_samples,), 0
        to K - 1, and -1 for outliers; ``bases``, a list of ndarrays of shape
        (n_features, dim_k); ``offsets`` of shape (n_subspaces, n_features);
        ``missing_mask``, a boolean array of the shape of data; ``DESCR``, a sentence.

    See Also
    --------
    make_subspaces_at_angle : Three subspaces at a given angle.

    Notes
    -----
    Noise with covariance :math:`s^2 I_D`, that is, s per entry, corresponds to
    ``noise = s * sqrt(D)``. The paper uses both conventions. Its theory uses
    :math:`\sigma^2 / D \, I_D`, where `noise` is :math:`\sigma`. Its noisy experiment
    states covariance :math:`0.05 \, I_D` at D = 100, that is
    ``noise = sqrt(0.05 * 100)``, over twice the norm of a point; but the caption's
    :math:`\sigma^2 = 0.05`, read as in the theory, is ``noise = sqrt(0.05)``. Cost:
    O(n_samples n_features max(dims)) time.

    References
    ----------
    .. [1] J. Lipor, D. Hong, Y. S. Tan, L. Balzano, "Subspace Clustering using
       Ensembles of K-Subspaces", Information and Inference, 2021.

    Examples
    --------
    >>> union = make_union_of_subspaces(2, [1, 3], 10, outliers=0.2, random_state=0)
    >>> union.data.shape, [basis.shape for basis in union.bases]
    ((250, 10), [(10, 1), (10, 3)])
    >>> X, y = make_union_of_subspaces(random_state=0, return_X_y=True)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 100), [0, 1, 2])
    """
    noise = _check_real("noise", noise)
    affine_offset = _check_real("affine_offset", affine_offset)
    missing = _check_real("missing", missing, is_share=True)
    outliers = _check_real("outliers", outliers, is_share=True)
    draws = _stages(random_state)
    frames = _make_bases(n_subspaces, dims, n_features, bases, draws["bases"])
    counts = _check_counts("n_per_subspace", n_per_subspace, len(frames))
    offsets = _make_offsets(frames, affine_offset, draws["offsets"])

    on_spheres = [
        _sphere(draws["points"], count, basis.shape[1]) @ basis.T
        for basis, count in zip(frames, counts, strict=True)
    ]
    data = np.concatenate(on_spheres) + offsets.repeat(counts, 0)
    if noise:
        scale = noise / np.sqrt(data.shape[1])
        data += scale * draws["noise"].standard_normal(data.shape)
    n_outliers = round(len(data) * outliers / (1 - outliers))
    outside = _sphere(draws["outliers"], n_outliers, data.shape[1])
    data = np.concatenate([data, outside])
    target = np.append(np.arange(len(counts)), -1).repeat([*counts, n_outliers])
    mask = _missing_mask(data.shape, missing, draws["missing"])
    data[mask] = 0.0
    if shuffle:
        order = draws["order"].permutation(len(data))
        data, target, mask = data[order], target[order], mask[order]
    if return_X_y:
        return data, target
    dims = [basis.shape[1] for basis in frames]
    description = (
        f"{len(data)} points, {np.sum(target < 0)} of them outliers, on {len(frames)} "
        f"subspaces of dimensions {dims} in R^{data.shape[1]}; noise={noise:g}, "
        f"missing={missing:g}, affine_offset={affine_offset:g}."
    )
    return Bunch(
        data=data,
        target=target,
        bases=frames,
        offsets=offsets,
        missing_mask=mask,
        DESCR=description,
    )


def make_subspaces_at_angle(
    angle: float,
    dim: int = 10,
    n_features: int = 100,
    n_per_subspace: Counts = 500,
    *,
    noise: float = 0.0,
    shuffle: bool = True,
    random_state: Seed = None,
    return_X_y: bool = False,
) -> Any:
    r"""Draw points from three subspaces, two of them at a given angle from the first.

    With A, B, C the thirds of a uniformly random orthonormal frame, the bases are A,
    :math:`\cos\theta A + \sin\theta B` and :math:`\cos\theta A + \sin\theta C`. All
    principal angles between the first subspace and each of the others are
    :math:`\theta`; between the second and the third, all are
    :math:`\arccos\cos^2\theta`, about :math:`\sqrt 2 \theta`. This is the second
    experiment of the paper cited in `make_union_of_subspaces`.

    Parameters
    ----------
    angle : float
        :math:`\theta` in radians, in [0, pi/2].
    dim : int, default=10
        Dimension of each subspace; 3 dim must not exceed n_features.
    n_features : int, default=100
        Dimension of the space.
    n_per_subspace : int or sequence of int of shape (3,), default=500
        Points per subspace, one number for all or one for each.
    noise : float, default=0.0
        Length of a point's noise, as in `make_union_of_subspaces`.
    shuffle : bool, default=True
        Whether to shuffle the points of the subspaces.
    random_state : int, SeedSequence, Generator or None, default=None
        Source of randomness. With a fixed seed, changing only `angle` rotates the
        second and third subspace in place, keeping the first subspace and all
        coordinates.
    return_X_y : bool, default=False
        Whether to return ``(data, target)``.

    Returns
    -------
    Bunch or tuple of (data, target)
        As from `make_union_of_subspaces`, with 3 bases.

    See Also
    --------
    make_union_of_subspaces : Any number of subspaces, with noise and outliers.

    Notes
    -----
    Takes O(n_samples n_features dim) time. The paper does not say how its second and
    third subspaces are placed relative to each other; rotating them in orthogonal
    directions is our choice.

    Examples
    --------
    >>> import numpy as np
    >>> union = make_subspaces_at_angle(0.3, dim=2, n_features=8, random_state=0)
    >>> first, second, third = union.bases
    >>> np.arccos(np.linalg.svd(first.T @ second, compute_uv=False)).round(6)
    array([0.3, 0.3])
    """
    angle = _check_real("angle", angle)
    if angle > np.pi / 2:
        raise ValueError(
            f"angle={angle} exceeds pi/2; choose radians in [0, pi/2], "
            f"numpy.deg2rad({angle}) if it is in degrees"
        )
    dim, n_features = _check_int("dim", dim), _check_int("n_features", n_features)
    if 3 * dim > n_features:
        raise ValueError(
            f"dim={dim} needs 3 * dim = {3 * dim} features but n_features={n_features};"
            f" choose dim at most {n_features // 3} or n_features at least {3 * dim}"
        )
    rng = _generator(random_state)
    first, *others = np.split(random_bases(1, n_features, 3 * dim, rng)[0], 3, axis=1)
    turned = [np.cos(angle) * first + np.sin(angle) * other for other in others]
    return make_union_of_subspaces(
        n_per_subspace=n_per_subspace,
        noise=noise,
        bases=[first, *turned],
        shuffle=shuffle,
        random_state=rng,
        return_X_y=return_X_y,
    )


def _make_bases(
    n_subspaces: int | None,
    dims: Counts | None,
    n_features: int | None,
    bases: str | Sequence[NDArray[np.floating]],
    rng: Rng,
) -> list[Floats]:
    """Draw or check bases, and fill in sizes that are None."""
    if not isinstance(bases, str):
        return _check_given(n_subspaces, dims, n_features, bases)
    if bases not in ("random", "orthogonal"):
        raise ValueError(
            f"bases={bases!r} is unknown; choose 'random', 'orthogonal' or pass arrays"
        )
    K = _check_int("n_subspaces", _default(n_subspaces, 3))
    D = _check_int("n_features", _default(n_features, 100))
    sizes = _check_counts("dims", _default(dims, 5), K)
    if max(sizes) > D:
        raise ValueError(
            f"dims={max(sizes)} exceeds n_features={D}; choose at most {D}"
        )
    if bases == "random":
        return [random_bases(1, D, size, rng)[0] for size in sizes]
    if sum(sizes) > D:
        raise ValueError(
            f"the sum of dims, {sum(sizes)}, exceeds n_features={D}, so the subspaces "
            f"cannot be orthogonal; choose n_features at least {sum(sizes)}, smaller "
            "dims or bases='random'"
        )
    ends = np.cumsum(sizes[:-1], dtype=int)
    return np.split(random_bases(1, D, sum(sizes), rng)[0], ends, axis=1)


def _check_given(
    n_subspaces: int | None,
    dims: Counts | None,
    n_features: int | None,
    bases: Sequence[NDArray[np.floating]],
) -> list[Floats]:
    """Return given bases, checked to be orthonormal and to agree with given sizes."""
    given = [np.array(basis, dtype=np.float64) for basis in bases]
    shapes = [basis.shape for basis in given]
    heights = {shape[:1] for shape in shapes}
    if len(heights) != 1 or any(len(s) != 2 or not s[1] for s in shapes):
        need = "at least 1 array (n_features, dim), all with the same n_features"
        raise ValueError(f"bases have shapes {shapes}; pass {need} and dim at least 1")
    for k, basis in enumerate(given):
        gap = np.abs(basis.T @ basis - np.eye(basis.shape[1])).max()
        if not gap <= 1e-5:
            found = f"basis {k} is off orthonormal by {gap:.3g}, above 1e-5"
            raise ValueError(f"{found}; pass numpy.linalg.qr(basis)[0]")
    K, D, sizes = len(given), len(given[0]), [shape[1] for shape in shapes]
    asked = {
        "n_subspaces": (_default(n_subspaces, K), K),
        "n_features": (_default(n_features, D), D),
        "dims": (_check_counts("dims", _default(dims, sizes), K), sizes),
    }
    for name, (value, actual) in asked.items():
        if value != actual:
            raise ValueError(
                f"{name}={value} but the bases given have {actual}; leave {name} out"
            )
    return given


def _make_offsets(bases: list[Floats], distance: float, rng: Rng) -> Floats:
    """Return a vector of the given length orthogonal to each subspace."""
    if distance == 0.0:
        return np.zeros((len(bases), len(bases[0])))
    n_features = len(bases[0])
    if any(basis.shape[1] == n_features for basis in bases):
        raise ValueError(
            f"affine_offset={distance} needs dims below n_features={n_features}; "
            f"choose dims at most {n_features - 1} or affine_offset=0"
        )
    directions = rng.standard_normal((len(bases), n_features))
    for direction, basis in zip(directions, bases, strict=True):
        for _ in range(2):  # twice: one projection leaves rounding when little remains
            direction -= basis @ (basis.T @ direction)
            direction /= np.linalg.norm(direction)
    return distance * directions


def _missing_mask(shape: tuple[int, ...], missing: float, rng: Rng) -> NDArray[Any]:
    """Return a mask with the same number of randomly placed entries in every row."""
    n_features = shape[1]
    n_missing = round(missing * n_features)
    if n_missing >= n_features:
        raise ValueError(
            f"missing={missing} sets all {n_features} entries of a point to zero; "
            f"choose at most {1 - 1 / n_features:g}"
        )
    mask = np.zeros(shape, dtype=bool)
    mask[:, :n_missing] = True
    return rng.permuted(mask, axis=1) if n_missing else mask


def _sphere(rng: Rng, count: int, dim: int) -> Floats:
    """Return points uniform on the unit sphere of R^dim."""
    points = rng.standard_normal((count, dim))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _stages(random_state: Seed) -> dict[str, np.random.Generator]:
    """Return one generator per stage, so that disabling one leaves the others alone."""
    names = ("bases", "offsets", "points", "noise", "outliers", "missing", "order")
    seeds = _generator(random_state).integers(2**63, size=len(names))
    return {n: np.random.default_rng(s) for n, s in zip(names, seeds, strict=True)}


def _generator(random_state: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} is not a seed; pass None, an integer of at "
            "least 0 or a numpy Generator"
        ) from error


def _default(value: Any, default: Any) -> Any:
    return default if value is None else value


def _check_int(name: str, value: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name}={value!r} is not a positive integer; choose 1 or more"
        )
    return int(value)


def _check_counts(name: str, value: Counts, n_subspaces: int) -> list[int]:
    """Return one positive integer per subspace, from one for all or one for each."""
    if np.ndim(value) == 0:
        return [_check_int(name, value)] * n_subspaces  # type: ignore[arg-type]
    counts = [_check_int(name, count) for count in value]  # type: ignore[union-attr]
    if len(counts) != n_subspaces:
        raise ValueError(
            f"{name} has {len(counts)} values for {n_subspaces} subspaces; "
            f"pass 1 integer or {n_subspaces}"
        )
    return counts


def _check_real(name: str, value: float, *, is_share: bool = False) -> float:
    if not isinstance(value, Real) or not 0 <= value < np.inf:
        raise ValueError(f"{name}={value!r} is not a number from 0; choose 0 or more")
    if is_share and value >= 1:
        raise ValueError(f"{name}={value} is not below 1; choose a share in [0, 1)")
    return float(value)
