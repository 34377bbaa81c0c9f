"""Members of an ensemble: their options, their runs, and how many there should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from joblib import hash as fingerprint
from numpy.typing import NDArray

from ekss.core.bases import Flats
from ekss.core.ensemble import Member, MemberOptions, run_member
from ekss.core.ksubspaces import squared_norms
from ekss.core.parallel import map_numbers
from ekss.core.starts import STARTS
from ekss.core.updates import UPDATES
from ekss.estimators._auto import Geometry
from ekss.estimators._checks import check_choice, check_int, check_int_range, is_auto
from ekss.estimators._label_room import LabelRoom
from ekss.estimators._sampling import resolve_max_samples

# Members that split classes into pieces vote more purely than members that do not.
PIECES = (4, 8)
# ... of at least so many points for each dimension.
_LEAST_POINTS = 3


@dataclass(frozen=True)
class Wanted:
    """What an estimator's parameters say about members; may be "auto"."""

    subspace_dim: Any
    n_candidates: Any
    max_iter: Any
    base: Any
    start: Any
    max_samples: Any = None
    keep_flats: bool = False


def member_options(
    wanted: Wanted, n_samples: int, n_clusters: int, geometry: Geometry
) -> MemberOptions:
    """Check the parameters of members and settle those that are left to the data."""
    dims = geometry.low, geometry.high
    candidates = wanted.n_candidates
    in_pieces = False
    if is_auto("n_candidates", candidates, "an integer, or a pair of integers"):
        in_pieces = isinstance(wanted.subspace_dim, str)
        candidates = None
    if candidates is None:
        candidates = n_clusters
    if in_pieces:
        fewest, most = (min(n_samples, pieces * n_clusters) for pieces in PIECES)
        candidates = fewest, most
        if not geometry.affine:
            dims = ceil(geometry.low / 2), geometry.high
    start = check_choice("start", wanted.start, ("auto", *STARTS))
    if start == "auto":
        start = "neighbours" if geometry.affine else "random"
    return MemberOptions(
        n_candidates=check_int_range(
            "n_candidates", candidates, 1, n_samples, limit="n_samples"
        ),
        subspace_dim=dims,
        max_iter=check_int("max_iter", wanted.max_iter, 0),
        base=check_choice("base", wanted.base, tuple(UPDATES)),
        affine=geometry.affine,
        start=start,
        least_points=_LEAST_POINTS if in_pieces else 0,
        max_samples=resolve_max_samples(wanted.max_samples, n_samples, n_clusters),
        keep_flats=wanted.keep_flats,
    )


@dataclass(frozen=True)
class Ensemble:
    """Members that were run, and what they are a function of.

    Attributes
    ----------
    labels : ndarray of shape (n_samples, n_base)
        In the smallest unsigned type.
    weights : ndarray of shape (n_base,)
    n_iter : int
        Largest number of iterations of a member.
    origin : tuple
        Data, seed and options; members of the same origin can be added.
    flats : tuple of Flats
        Subspaces of every member, where members keep them; otherwise empty.
    """

    labels: NDArray[Any]
    weights: NDArray[np.float64]
    n_iter: int
    origin: tuple[str, int, MemberOptions]
    flats: tuple[Flats, ...] = ()

    def take(self, rows: Any, members: slice) -> Ensemble:
        """Return some members' labels of some points."""
        labels = np.ascontiguousarray(self.labels[rows][:, members])
        return replace(
            self,
            labels=labels,
            weights=self.weights[members],
            flats=self.flats[members],
        )


def run_members(
    points: NDArray[np.floating],
    seed: int,
    options: MemberOptions,
    count: int,
    *,
    known: Ensemble | None,
    n_jobs: int | None,
    show: bool,
    room: LabelRoom | None = None,
) -> Ensemble:
    """Run members 0, ..., count - 1, but those of ``known`` only if it fits.

    A member is a function of the data, the seed and its number, so an ensemble that
    grew in steps is the same as one that was run at once. Labels are kept in ``room``,
    or in memory if it is None.
    """
    origin = fingerprint(points), seed, options
    if known is not None and known.origin != origin:
        known = None
    done = 0 if known is None else known.labels.shape[1]
    if known is not None and done == count:
        return known
    if known is not None and done > count:
        return known.take(slice(None), slice(count))
    run = partial(_run_later, points, seed, options, squared_norms(points), done)
    room = LabelRoom() if room is None else room
    widest = np.min_scalar_type(options.n_candidates[1] - 1)
    by_member = room.empty((count, len(points)), widest)
    weights, n_iter, flats = np.empty(count), 0, []
    if known is not None:
        by_member[:done], weights[:done] = known.labels.T, known.weights
        n_iter, flats = known.n_iter, list(known.flats)
    found: Iterator[Member] = map_numbers(
        run, count - done, n_jobs=n_jobs, description="members", show=show
    )
    for number, member in enumerate(found, start=done):
        by_member[number], weights[number] = member.labels, member.weight
        n_iter = max(n_iter, member.n_iter)
        flats += [] if member.flats is None else [member.flats]
    if room.folder is None:
        smallest = np.min_scalar_type(int(by_member.max()))
        by_member = by_member.astype(smallest, copy=False)
    return Ensemble(by_member.T, weights, n_iter, origin, tuple(flats))


def _run_later(
    points: NDArray[np.floating],
    seed: int,
    options: MemberOptions,
    norms: NDArray[np.floating],
    done: int,
    number: int,
) -> Member:
    return run_member(points, seed, done + number, options=options, norms=norms)
