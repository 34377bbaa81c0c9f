"""What to read first: signs that something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ekss.report._page import Notice

if TYPE_CHECKING:
    from ekss.report._facts import Facts

# All limits are rules of thumb, set by looking at many reports.
_SMALL_SHARE = 0.2  # a cluster below this share of the mean size is small
_NOTHING = 1e-6  # mean squared length, as a share of that of all points, that is zero
_STRAY_SHARE = 0.05  # up to this share of stray points, the rest is not in doubt
_FEW_DIRECTIONS = 0.25  # a cluster in this share of its subspace's directions is flat
_CLEARER = 1.5  # another drop of eigenvalues this many times clearer speaks against K
_NO_DROP = 1.03  # a drop of eigenvalues that is no clearer than this is none
_LITTLE_CAPTURED = 0.5  # share of energy below which a subspace fits badly
_ALIKE = 0.97  # affinity above which two subspaces are nearly the same
_ELSEWHERE = 0.2  # share of points nearer to another subspace that is worth a look
_LITTLE_AGREEMENT = 0.5  # median agreement below which members disagree
_HALVES_AGREE = 0.9  # halves of the members should agree on this share of the points
_SCORES_ALIKE = 0.1  # scores of numbers of clusters closer than this are alike


def advice_for(facts: Facts) -> tuple[Notice, ...]:
    """Collect everything that is worth reading first, warnings before notes."""
    checks = (
        _pieces,
        _single_points,
        _number_of_clusters,
        _close_counts,
        _doubts,
        _small_clusters,
        _rank,
        _fit,
        _alike,
        _members,
        _halves,
        _nearer_elsewhere,
        _convergence,
        _zero_points,
        _left_out,
        _sampled,
    )
    found = [advice for check in checks for advice in check(facts)]
    return tuple(sorted(found, key=lambda advice: advice.level != "warning"))


def _pieces(facts: Facts) -> Iterator[Notice]:
    pieces, k = facts.pieces, facts.run.n_clusters
    if pieces is None or pieces.n_components <= k:
        return
    outside = sum(pieces.sizes[k:])
    yield Notice(
        "components",
        "warning" if outside > _STRAY_SHARE * facts.run.n_samples else "note",
        "The graph falls into more pieces than there are clusters",
        f"It has {pieces.n_components:,} connected components for {k} clusters; "
        f"{points(outside)} {_are(outside)} outside the {k} largest and "
        f"{'was' if outside == 1 else 'were'} joined to others by weaker links. "
        f"{_denser(facts)}",
    )


def _single_points(facts: Facts) -> Iterator[Notice]:
    pieces = facts.pieces
    if pieces is None or not 0 < pieces.n_single:
        return
    if pieces.n_components > facts.run.n_clusters:
        return
    yield Notice(
        "isolated",
        "note",
        f"{points(pieces.n_single)} {_have(pieces.n_single)} no edge in the graph",
        "Their cluster is a guess. They may be outliers, or zero.",
    )


def _number_of_clusters(facts: Facts) -> Iterator[Notice]:
    spectrum = facts.spectrum
    if spectrum is None or spectrum.gap is None or spectrum.n_clusters == 1:
        return
    k, best = spectrum.n_clusters, spectrum.clearest_after
    if facts.pieces is not None and facts.pieces.n_components > k:
        return  # every piece has an eigenvalue 1, so drops say nothing more
    values, clarity = spectrum.eigenvalues, spectrum.clarity or 0.0
    if best not in (1, k) and spectrum.best_clarity > _CLEARER * max(clarity, 1):
        yield Notice(
            "n_clusters",
            "warning",
            f"The number of clusters is doubtful: the graph suggests {best}",
            f"The eigenvalues drop clearly after {best} (from {values[best - 1]:.3g} "
            f"to {values[best]:.3g}), not after {k} (from {values[k - 1]:.3g} to "
            f"{values[k]:.3g}). Compare with n_clusters={best}.",
        )
    elif clarity < _NO_DROP:
        yield Notice(
            "n_clusters",
            "note",
            f"The graph gives no reason for {k} clusters in particular",
            f"Eigenvalues {k} and {k + 1} are nearly equal ({values[k - 1]:.4g} and "
            f"{values[k]:.4g}): another number of clusters would fit as well.",
        )


def _close_counts(facts: Facts) -> Iterator[Notice]:
    counts = facts.counts
    if counts is None or counts.lead is None or counts.lead > _SCORES_ALIKE:
        return
    (_, best), *others = counts.considered
    alike = [(n, score) for n, score in others if score - best <= _SCORES_ALIKE]
    first = alike[0][0]
    yield Notice(
        "counts",
        "warning",
        f"The number of clusters is doubtful: {first} fits about as well as "
        f"{counts.chosen}",
        f"Scores within {_SCORES_ALIKE} of the best, {best:.4g} for {counts.chosen}: "
        f"{_listed([f'{score:.4g} for {n}' for n, score in alike])}. Compare with "
        f"n_clusters={first}, or pass the number that you expect.",
    )


def _doubts(facts: Facts) -> Iterator[Notice]:
    """Say what the estimators warn of."""
    for doubt in facts.doubts:
        yield Notice(doubt.key, "warning", doubt.title, doubt.text)


def _small_clusters(facts: Facts) -> Iterator[Notice]:
    mean = facts.run.n_samples / len(facts.clusters)
    few = [c for c in facts.clusters if c.size < max(2, _SMALL_SHARE * mean)]
    if few and len(facts.clusters) > 1:
        yield Notice(
            "small",
            "warning",
            f"{_clusters(few)} {_have(len(few))} very few points",
            f"{'Size' if len(few) == 1 else 'Sizes'}: "
            f"{_values(few, lambda c: points(c.size))}; the mean is {mean:,.0f}. "
            "Such clusters are often outliers that were cut off; look at them, or "
            "choose fewer clusters.",
        )


def _rank(facts: Facts) -> Iterator[Notice]:
    overall = float(np.mean([c.energy for c in facts.clusters]))
    nothing = [c for c in facts.clusters if c.energy <= _NOTHING * overall]
    if nothing:
        yield Notice(
            "rank0",
            "warning",
            f"{_clusters(nothing)} {_are(len(nothing))} near rank 0",
            "The points are nearly equal"
            + ("" if facts.run.affine else " to zero")
            + ", so they span no subspace and their direction means nothing. Remove "
            "constant or empty rows before clustering.",
        )
    dim = facts.fit.dim
    least = max(1, int(_FEW_DIRECTIONS * dim))
    flat = [
        c
        for c in facts.clusters
        if c not in nothing and dim > 1 and c.effective_dim <= least
    ]
    if flat and not facts.fit.fitted_here:
        yield Notice(
            "low_rank",
            "note",
            f"{_clusters(flat)} {_have(len(flat))} fewer dimensions than allowed",
            f"Subspaces have dimension {dim}, but 95 % of the energy lies in fewer "
            f"directions: {_values(flat, lambda c: str(c.effective_dim))}. A smaller "
            "subspace_dim may separate better.",
        )
    short = [c for c in facts.clusters if 1 < c.size <= dim and c not in nothing]
    if short and not facts.fit.fitted_here:
        yield Notice(
            "unsupported",
            "warning",
            f"{_clusters(short)} {_have(len(short))} no more points than dimensions",
            f"With dimension {dim} any {dim} points fit exactly, so the fit says "
            "nothing. Choose a smaller subspace_dim or fewer clusters.",
        )


def _fit(facts: Facts) -> Iterator[Notice]:
    poor = [c for c in facts.clusters if c.captured < _LITTLE_CAPTURED]
    poor = [c for c in poor if c.energy > 0]
    if poor and not facts.fit.fitted_here:
        yield Notice(
            "captured",
            "note",
            f"Subspaces hold less than half the energy of {_clusters(poor).lower()}",
            f"Captured: {_values(poor, lambda c: _percent(c.captured))}. The points "
            "may need a larger subspace_dim, or do not lie near a subspace.",
        )


def _alike(facts: Facts) -> Iterator[Notice]:
    if facts.angles is None or facts.run.affine:
        return
    above = np.triu(facts.angles.affinities > _ALIKE, 1)
    pairs = [
        f"{facts.clusters[i].name} and {facts.clusters[j].name}"
        for i, j in np.argwhere(above)
    ]
    if pairs:
        yield Notice(
            "alike",
            "note",
            "Some clusters lie on nearly the same subspace",
            f"Affinity above {_ALIKE}: {_listed(pairs)}. They may be one cluster that "
            "was cut in two.",
        )


def _members(facts: Facts) -> Iterator[Notice]:
    agreement = facts.agreement
    if agreement.source == "subspaces" or len(facts.clusters) == 1:
        return
    torn = [c for c in facts.clusters if c.agreement < _LITTLE_AGREEMENT]
    if not torn:
        return
    median = f"Median agreement {_values(torn, lambda c: _percent(c.agreement))}"
    if agreement.source == "members":
        title = f"Members disagree about {_clusters(torn).lower()}"
        text = (
            f"{median}: members put these points nearly as often with another cluster. "
            "Run more members, or look in the matrix for clusters that belong together."
        )
    else:
        title = f"Many edges leave {_clusters(torn).lower()}"
        text = f"{median}: much of the affinity goes to other clusters."
    yield Notice("agreement", "warning", title, text)


def _halves(facts: Facts) -> Iterator[Notice]:
    members = facts.members
    if members is None or members.halves is None or members.halves >= _HALVES_AGREE:
        return
    yield Notice(
        "halves",
        "warning",
        "The clusters depend on which members vote",
        "When it was last measured, two halves of the members gave "
        f"{_percent(members.halves)} of the points the same cluster; it should be "
        f"at least {_percent(_HALVES_AGREE)}. {members.used} members voted in the "
        f"end: try n_members={2 * members.used}, and if labels still change with "
        "random_state, doubt the number of clusters or subspace_dim.",
    )


def _nearer_elsewhere(facts: Facts) -> Iterator[Notice]:
    if facts.fit.fitted_here:
        return
    many = [c for c in facts.clusters if c.nearer_elsewhere > _ELSEWHERE]
    if many:
        shares = _values(many, lambda c: _percent(c.nearer_elsewhere))
        yield Notice(
            "nearer_elsewhere",
            "note",
            "Many points lie nearer to the subspace of another cluster",
            f"In {_clusters(many).lower()}: {shares}. There, labels and "
            "subspaces disagree; predict() follows the subspaces.",
        )


def _convergence(facts: Facts) -> Iterator[Notice]:
    for name, limit in facts.run.unfinished:
        yield Notice(
            "convergence",
            "warning",
            "The iteration was stopped before it converged",
            f"{name} reached its limit of {limit}; raise {name}.",
        )


def _zero_points(facts: Facts) -> Iterator[Notice]:
    count = facts.run.n_zero
    if count and not facts.run.affine:
        yield Notice(
            "zeros",
            "note",
            f"{points(count)} {_are(count)} zero",
            "The origin lies on every linear subspace, so their cluster means nothing.",
        )


def _left_out(facts: Facts) -> Iterator[Notice]:
    count = facts.run.n_left_out
    if count:
        yield Notice(
            "left_out",
            "note",
            f"{points(count)} {_are(count)} in no cluster",
            "They carry a negative label and are left out of this report.",
        )


def _sampled(facts: Facts) -> Iterator[Notice]:
    described = facts.run.n_samples + facts.run.n_left_out
    if facts.run.n_rows > described:
        yield Notice(
            "sample",
            "note",
            f"This page describes {described:,} of {facts.run.n_rows:,} rows",
            "Members, graph and cut are those of this random sample; every other row "
            "got its cluster by its base clusters in the members.",
        )


def points(count: int) -> str:
    """Write a number of points."""
    return "1 point" if count == 1 else f"{count:,} points"


def _denser(facts: Facts) -> str:
    names = {name for name, _, _ in facts.run.parameters}
    if "n_neighbors" in names:
        return "A larger n_neighbors connects more, as do more members."
    return "Settings that make the graph denser connect more."


def _clusters(some: Sequence[Any]) -> str:
    names = _listed([str(c.name) for c in some])
    return f"Cluster {names}" if len(some) == 1 else f"Clusters {names}"


def _values(some: Sequence[Any], value: Callable[[Any], str]) -> str:
    """Write the value of one cluster, or those of several with their names."""
    if len(some) == 1:
        return value(some[0])
    return _listed([f"{value(c)} (cluster {c.name})" for c in some])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _listed(items: Sequence[str], most: int = 6) -> str:
    """Join with commas; after some, only their number."""
    shown = list(items[:most])
    if len(items) > most:
        return ", ".join(shown) + f" and {len(items) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
