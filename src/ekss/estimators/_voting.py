"""How the parameters of EKSS become members, their votes, and a cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import hash as fingerprint
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ekss.core.parallel import progress, say
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
from ekss.estimators._counting import (
    FIRST_GUESS,
    LEAST_GUESS,
    Count,
    count_clusters,
    judge_options,
    seek_counts,
)
from ekss.estimators._cutting import (
    ChosenCut,
    Cutting,
    gather_evidence,
    neighbour_counts,
)
from ekss.estimators._label_room import LabelRoom
from ekss.estimators._members import (
    Ensemble,
    Wanted,
    member_options,
    run_members,
)
from ekss.estimators._removal import (
    TRIAL_MEMBERS,
    Removal,
    common_directions,
    has_common_direction,
    most_removed,
    tried_rows,
    try_removals,
)
from ekss.estimators._sampling import draw_sample
from ekss.graph.cuts import CUTTERS, Cutter
from ekss.graph.selection import Score, score_cut

# With n_base="auto" an ensemble grows from step to step until its halves agree.
STEPS = (100, 200, 400)
# The number of clusters is sought with so many members on so many points.
_SCOUTS = 100
_SCOUTED_POINTS = 4000
_OR_AUTO = ' or "auto"'
# Parameters that have no influence on the components that are removed.
_NOT_TRIED = (
    "n_base",
    "warm_start",
    "labels_dir",
    "memory_limit",
    "n_jobs",
    "random_state",
    "verbose",
)


@dataclass(frozen=True)
class Ballot:
    """Members that have voted, and the data as they saw them."""

    prepared: Prepared
    kept: Coordinates
    geometry: Geometry
    ensemble: Ensemble
    cutting: Cutting
    top_q: int | None


class VotingClusterer(SubspaceClusterer):
    """Members vote, and their votes are cut; the parameters are those of EKSS."""

    subspace_dim: str | int | tuple[int, int]
    n_candidates: str | int | tuple[int, int] | None
    n_base: int | str
    max_iter: int
    top_q: str | int
    weighting: str
    divide_by_size: bool
    base: str
    start: str
    remove_components: str | int
    n_eigenvectors: int | None
    cutters: Sequence[Cutter] | None
    cut_score: Score | None
    warm_start: bool
    max_samples: int | str | None
    labels_dir: str | Path | None
    memory_limit: int | str | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    _ensemble: Ensemble
    _tried: tuple[Any, tuple[Removal, ...]]
    _notice: str = ""

    def _resolve_seed(self) -> int:
        """Draw a seed; a warm start without a random state keeps the last one."""
        if check_bool("warm_start", self.warm_start) and self.random_state is None:
            kept = getattr(self, "_ensemble", None)
            if kept is not None:
                return kept.origin[1]
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def _resolve_n_clusters(self, points: NDArray[np.floating], seed: int) -> int:
        self.counts_: tuple[Count, ...] = ()
        self.removals_: tuple[Removal, ...] = ()
        if not is_auto("n_clusters", self.n_clusters, "an integer"):
            return super()._resolve_n_clusters(points, seed)
        rng = np.random.default_rng(seed)
        if len(points) > _SCOUTED_POINTS:
            rows = rng.choice(len(points), _SCOUTED_POINTS, replace=False)
            points = points[np.sort(rows)]
        first = self._first_guess(points)
        n_removed = self._resolve_n_removed(points, seed)
        scout = self._scout(_SCOUTS, seed).set_params(remove_components=n_removed)
        with progress("clusters", None, show=self.verbose > 0):
            self.counts_ = seek_counts(
                lambda guess: scout._count(points, guess, seed), len(points), first
            )
        return self.counts_[0].n_clusters if self.counts_ else 1

    def _scout(self, n_base: int, seed: int) -> Self:
        """Return a copy that looks at the data with at most so many members."""
        (wanted,) = self._steps(scouting=True)
        return clone(self).set_params(
            n_base=min(wanted, n_base),
            random_state=seed,
            warm_start=False,
            verbose=0,
        )

    def _first_guess(self, points: NDArray[np.floating]) -> int:
        """Expect few bodies where points are their tracks."""
        self.n_clusters_ = min(FIRST_GUESS, len(points))
        self.affine_ = self._resolve_affine(points)
        return LEAST_GUESS if self.affine_ else FIRST_GUESS

    def _count(
        self, points: NDArray[np.floating], guess: int, seed: int
    ) -> tuple[Count, ...]:
        """Score numbers of clusters near the guess."""
        self.set_params(n_clusters=guess)
        ballot = self._vote(points, seed, scouting=True)
        kept, cutting, ensemble = ballot.kept, ballot.cutting, ballot.ensemble
        judges = run_members(
            kept.points,
            # Other draws than those of the members.
            seed + 1,
            judge_options(ensemble.origin[2], ballot.geometry, guess),
            ceil(self.n_base_ / 2),
            known=None,
            n_jobs=self.n_jobs,
            show=False,
        )
        evidence = gather_evidence(kept, ballot.geometry, ensemble.labels)
        votes = cutting.votes(ensemble)
        return count_clusters(votes, evidence, judges.labels, guess, cutting)

    def _resolve_affine(self, points: NDArray[np.floating]) -> bool:
        if not is_auto("affine", self.affine, "True or False"):
            return check_bool("affine", self.affine)
        if self.subspace_dim != "auto":
            return False
        rows = points / power_of_two(float(np.abs(points).max()))
        rng = np.random.default_rng(0)
        return has_flat_neighbourhoods(rows, self.n_clusters_, rng)

    def _resolve_removed(
        self, points: NDArray[np.floating], seed: int
    ) -> NDArray[np.floating]:
        count = self._resolve_n_removed(points, seed)
        unit = self._has_unit_rows
        self.removed_ = common_directions(points, count, unit=unit)
        return self.removed_

    def _resolve_n_removed(self, points: NDArray[np.floating], seed: int) -> int:
        """Return how many components to remove; "auto" may have to try."""
        if not is_auto("remove_components", self.remove_components, "an integer"):
            most, name = min(points.shape) - 1, "min(n_samples, n_features)-1"
            given = self.remove_components
            return check_int(
                "remove_components", given, 0, most, limit=name, also=_OR_AUTO
            )
        if self.affine_:
            return 0
        self.removals_ = self.removals_ or self._try_removals(points, seed)
        return self.removals_[0].n_removed if self.removals_ else 0

    def _may_try_removals(self) -> bool:
        """Tell whether the parameters leave it to the data what is removed."""
        return (
            isinstance(self.remove_components, str)
            and isinstance(self.subspace_dim, str)
            and not self._makes_one_cut()
            and bool(self.normalize)
            and (isinstance(self.affine, str) or not self.affine)
        )

    def _try_removals(
        self, points: NDArray[np.floating], seed: int
    ) -> tuple[Removal, ...]:
        """Compare numbers of components, if the points have a direction in common."""
        n_clusters, most = self.n_clusters_, most_removed(*points.shape)
        if not (
            self._may_try_removals()
            and 1 < n_clusters < len(points)
            and most
            and has_common_direction(points)
        ):
            return ()
        settings = self.get_params(deep=False)
        settings = {key: settings[key] for key in settings if key not in _NOT_TRIED}
        origin = fingerprint(points), seed, n_clusters, settings
        if self.warm_start and hasattr(self, "_tried") and self._tried[0] == origin:
            return self._tried[1]
        directions = common_directions(points, most, unit=True)
        rows = draw_sample(len(points), tried_rows(len(points), n_clusters), seed)
        sample = points if rows is None else points[rows]
        scout = self._scout(TRIAL_MEMBERS, seed).set_params(
            n_clusters=n_clusters, remove_components=0, affine=False, normalize=True
        )
        given = not isinstance(self.n_clusters, str)
        score = scout._score if given else scout._score_of_guess
        self._show_notice()
        with progress("preprocessing", most + 1, show=self.verbose > 0) as advance:
            tried = try_removals(
                sample,
                directions,
                lambda rest: score(rest, seed),
                by_energy=given and self.cut_score is None,
                report=advance,
            )
        self._tried = origin, tried
        return tried

    def _show_notice(self) -> None:
        say(self._notice, show=bool(self._notice))
        self._notice = ""

    def _score(self, points: NDArray[np.floating], seed: int) -> float:
        """Return the score of the best cut of one graph of the points."""
        ballot = self._vote(points, seed)
        counts = (default_top_q(len(ballot.kept.points), self.n_clusters_),)
        chosen = self._best_cut(ballot, counts)
        return float("inf") if chosen is None else chosen.candidates[0].score

    def _score_of_guess(self, points: NDArray[np.floating], seed: int) -> float:
        """Return the score of the best number of clusters near a guess, per cluster."""
        counts = self._count(points, self.n_clusters, seed)
        return counts[0].score / counts[0].n_clusters if counts else float("inf")

    def _vote(
        self,
        points: NDArray[np.floating],
        seed: int,
        *,
        scouting: bool = False,
        keep_flats: bool = False,
        notice: str = "",
        room: LabelRoom | None = None,
    ) -> Ballot:
        """Prepare the points and run the members; show the notice before long work."""
        check_workers(self.n_jobs, self.verbose)
        cutting = self._cutting(seed)
        self._notice = notice
        prepared = self._prepare(points, seed)
        points, n_clusters = prepared.points, self.n_clusters_
        top_q = self._resolve_top_q(len(points))
        geometry = resolve_geometry(
            self.subspace_dim, points, n_clusters, seed, affine=self.affine_
        )
        kept = Coordinates(points, None)
        if self.subspace_dim == "auto":
            kept = leading_coordinates(points, n_clusters, geometry.span)
        wanted = Wanted(
            self.subspace_dim,
            self.n_candidates,
            self.max_iter,
            self.base,
            self.start,
            self.max_samples,
            keep_flats,
        )
        options = member_options(wanted, len(points), n_clusters, geometry)
        self._show_notice()
        ensemble, self.agreement_ = grow_ensemble(
            kept,
            geometry,
            options,
            n_clusters,
            self._steps(scouting=scouting),
            cutting,
            known=getattr(self, "_ensemble", None) if self.warm_start else None,
            room=room,
        )
        self.base_labels_ = ensemble.labels
        self.base_weights_ = ensemble.weights
        self.n_base_ = ensemble.labels.shape[1]
        self.n_iter_ = ensemble.n_iter
        self._ensemble = ensemble
        return Ballot(prepared, kept, geometry, ensemble, cutting, top_q)

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
            getattr(self, "graph_", "exact") == "approximate",
        )

    def _steps(self, *, scouting: bool) -> tuple[int, ...]:
        """Return the numbers of members at which an ensemble may stop growing."""
        if not is_auto("n_base", self.n_base, "an integer"):
            return (check_int("n_base", self.n_base, 1, also=_OR_AUTO),)
        return (_SCOUTS,) if scouting else STEPS

    def _cut(self, ballot: Ballot) -> ChosenCut:
        """Cut the votes: in the paper's way, or in many ways of which one is kept."""
        n_samples, n_clusters = len(ballot.kept.points), self.n_clusters_
        q = ballot.top_q
        if q is None:
            chosen = self._best_cut(ballot, neighbour_counts(n_samples, n_clusters))
            if chosen is not None:
                return chosen
            q = default_top_q(n_samples, n_clusters)
        votes = ballot.cutting.votes(ballot.ensemble)
        return ballot.cutting.once(votes, n_clusters, q, self.n_eigenvectors)

    def _best_cut(self, ballot: Ballot, counts: Sequence[int]) -> ChosenCut | None:
        """Cut the graphs of these q in many ways and keep the best cut, if any."""
        cutting, ensemble = ballot.cutting, ballot.ensemble
        evidence = gather_evidence(ballot.kept, ballot.geometry, ensemble.labels)
        return cutting.best(cutting.votes(ensemble), evidence, self.n_clusters_, counts)

    def _makes_one_cut(self) -> bool:
        """Tell whether the paper's one cut is asked for."""
        return self.top_q != "auto" or self.n_eigenvectors is not None

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
