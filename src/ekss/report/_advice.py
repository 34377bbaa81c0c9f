"""What to read first: signs that something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ekss.estimators import find_doubts, rows_to_doubt
from ekss.report._page import Notice, percent
from ekss.words import percent as share

if TYPE_CHECKING:
    from ekss.report._facts import Cluster, Facts

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
_SMALL_ERROR = 0.1  # share of points that true labels put elsewhere
_MUCH_AGREEMENT = 0.7  # median agreement from which a cluster is firm
_MUCH_CAPTURED = 0.8  # share of energy from which subspaces fit well
_SCORES_ALIKE = 0.1  # scores of numbers of clusters closer than this are alike


def advice_for(facts: Facts) -> tuple[Notice, ...]:
    """Collect everything that is worth reading first, warnings before notes."""
    checks = (
        _pieces,
        _number_of_clusters,
        _close_counts,
        _doubts,
        _small_clusters,
        _rank,
        _fit,
        _alike,
        _members,
        _nearer_elsewhere,
        _run,
    )
    put = facts.wording.translate
    found = [
        replace(advice, title=put(advice.title), text=put(advice.text))
        for check in checks
        for advice in check(facts)
    ]
    return tuple(sorted(found, key=lambda advice: advice.level != "warning"))


def good_news(facts: Facts) -> tuple[str, ...]:
    """Say what speaks for the clusters, in sentences."""
    inputs, spectrum = facts.inputs, facts.spectrum
    told = []
    if facts.scores is not None and facts.scores.error <= _SMALL_ERROR:
        right = percent(1 - facts.scores.error)
        told.append(f"{right} of the points are where their true labels put them.")
    if inputs.halves is not None and inputs.halves >= _HALVES_AGREE:
        told.append(
            f"Two halves of the members gave {percent(inputs.halves, 0)} of the points "
            "the same cluster."
        )
    told += _firm_clusters(facts)
    if spectrum is not None and spectrum.clarity is not None:
        if spectrum.clarity >= _CLEARER and spectrum.clearest_after == inputs.n_asked:
            told.append(
                f"The eigenvalues of the graph drop most clearly after "
                f"{inputs.n_asked}, the number of clusters."
            )
    if facts.captured >= _MUCH_CAPTURED and not facts.fit.fitted_here:
        told.append(
            f"The subspaces hold {share(facts.captured)} of the energy of their "
            "clusters."
        )
    equations = sum(map(len, facts.columns.relations)) if facts.columns else 0
    if equations:
        several = "equation holds" if equations == 1 else "equations hold"
        told.append(
            f"{equations} {several} inside a cluster and not elsewhere: see “What each "
            "cluster is”."
        )
    return tuple(told)


def _firm_clusters(facts: Facts) -> Iterator[str]:
    """Say for how many clusters the points agree with theirs."""
    count = len(facts.clusters)
    firm = [c for c in facts.clusters if c.agreement >= _MUCH_AGREEMENT]
    if count == 1 or len(firm) < count / 2:
        return
    who = {
        "members": "Members agree about",
        "graph": "Most edges stay inside",
        "subspaces": "The own subspace is clearly the nearest in",
    }[facts.agreement.source]
    some = "all" if len(firm) == count else f"{len(firm)} of"
    middle = percent(float(np.median([c.agreement for c in firm])), 0)
    yield f"{who} {some} {count} clusters (median agreement {middle})."


def next_run(facts: Facts) -> str | None:
    """Write the one run that answers the warnings, or else the notes; None if none.

    Of several values for a parameter, that of the first notice is taken.
    """
    for level in ("warning", "note"):
        changes: dict[str, Any] = {}
        for notice in facts.advice:
            if notice.level == level:
                changes = {**notice.change, **changes}
        if changes:
            return facts.wording.run_again(facts.inputs.estimator, changes)
    return None


def _pieces(facts: Facts) -> Iterator[Notice]:
    pieces, k = facts.pieces, facts.inputs.n_asked
    if pieces is None:
        return
    if pieces.count > k:
        outside = sum(pieces.sizes[k:])
        names = [name for name, _, _ in facts.inputs.parameters]
        change: dict[str, Any] = {}
        denser = "Settings that make the graph denser connect more."
        if facts.inputs.of_expressions:
            denser = "It is the graph of expressions, which no setting makes denser."
            smallest = _SMALL_SHARE * facts.inputs.n_samples / k
            large = sum(size >= smallest for size in pieces.sizes)
            if large > k:
                denser += f" Compare with n_clusters={large}."
                change = {"n_clusters": large}
        elif "n_neighbors" in names:
            denser = "A larger n_neighbors connects more, as do more members."
        many = outside > _STRAY_SHARE * facts.inputs.n_samples
        yield Notice(
            "components",
            "warning" if many else "note",
            "The graph falls into more pieces than there are clusters",
            f"It has {pieces.count:,} connected components for {k} clusters; "
            f"{_points(outside, 'is')} outside the {k} largest and "
            f"{_verb('was', outside)} joined to others by weaker links. "
            f"{denser}",
            change,
        )
    elif pieces.n_single:
        yield _note(
            "isolated",
            f"{_points(pieces.n_single, 'has')} no edge in the graph",
            "Their cluster is a guess. They may be outliers, or zero.",
        )


def _number_of_clusters(facts: Facts) -> Iterator[Notice]:
    spectrum = facts.spectrum
    if spectrum is None or spectrum.clarity is None or spectrum.n_clusters == 1:
        return
    k, best, values = spectrum.n_clusters, spectrum.clearest_after, spectrum.eigenvalues
    if facts.pieces is not None and facts.pieces.count > k:
        return  # every piece has an eigenvalue 1, so drops say nothing more
    clearer = spectrum.best_clarity > _CLEARER * max(spectrum.clarity, 1)
    if best not in (1, k) and clearer:
        yield _warning(
            "n_clusters",
            f"The number of clusters is doubtful: the graph suggests {best}",
            f"The eigenvalues drop clearly after {best} (from {values[best - 1]:.3g} "
            f"to {values[best]:.3g}), not after {k} (from {values[k - 1]:.3g} to "
            f"{values[k]:.3g}). Compare with n_clusters={best}.",
            n_clusters=best,
        )
    elif spectrum.clarity < _NO_DROP:
        yield _note(
            "n_clusters",
            f"The graph gives no reason for {k} clusters in particular",
            f"Eigenvalues {k} and {k + 1} are nearly equal ({values[k - 1]:.4g} and "
            f"{values[k]:.4g}): another number of clusters would fit as well.",
        )


def _close_counts(facts: Facts) -> Iterator[Notice]:
    counts, chosen = facts.inputs.counts, facts.inputs.n_asked
    best = counts[0][1] if counts else 0.0
    alike = [(n, score) for n, score in counts[1:] if score - best <= _SCORES_ALIKE]
    if alike:
        first, scores = alike[0][0], [f"{score:.4g} for {n}" for n, score in alike]
        yield _warning(
            "counts",
            f"The number of clusters is doubtful: {first} fits about as well as "
            f"{chosen}",
            f"Scores within {_SCORES_ALIKE} of the best, {best:.4g} for {chosen}: "
            f"{_listed(scores)}. Compare with n_clusters={first}, or pass the number "
            "that you expect.",
            n_clusters=first,
        )


def _doubts(facts: Facts) -> Iterator[Notice]:
    """Say what the estimators warn of."""
    inputs, fit = facts.inputs, facts.fit
    found = find_doubts(
        inputs.points[rows_to_doubt(inputs.n_samples, inputs.n_asked)],
        n_clusters=inputs.n_asked,
        n_used=inputs.n_clusters,
        dim=None if fit.fitted_here else fit.dim,
        affine=inputs.affine,
    )
    for doubt in found:
        yield _warning(doubt.key, doubt.title, doubt.text)


def _small_clusters(facts: Facts) -> Iterator[Notice]:
    mean = facts.inputs.n_samples / len(facts.clusters)
    few = [c for c in facts.clusters if c.size < max(2, _SMALL_SHARE * mean)]
    if few and len(facts.clusters) > 1:
        yield _warning(
            "small",
            f"{_clusters(few, 'has')} very few points",
            f"{'Size' if len(few) == 1 else 'Sizes'}: "
            f"{_values(few, lambda c: _points(c.size))}; the mean is {mean:,.0f}. "
            "Such clusters are often outliers that were cut off; look at them, or "
            "choose fewer clusters.",
        )


def _rank(facts: Facts) -> Iterator[Notice]:
    overall = float(np.mean([c.energy for c in facts.clusters]))
    nothing = [c for c in facts.clusters if c.energy <= _NOTHING * overall]
    if nothing:
        to_zero = "" if facts.inputs.affine else " to zero"
        yield _warning(
            "rank0",
            f"{_clusters(nothing, 'is')} near rank 0",
            f"The points are nearly equal{to_zero}, so they span no subspace and their "
            "direction means nothing. Remove constant or empty rows before clustering.",
        )
    if facts.fit.fitted_here:
        return
    dims = {c.name: int(n) for c, n in zip(facts.clusters, facts.fit.dims, strict=True)}
    some = [c for c in facts.clusters if c not in nothing]
    flat = [
        c
        for c in some
        if dims[c.name] > 1
        and c.effective_dim <= max(1, int(_FEW_DIRECTIONS * dims[c.name]))
    ]
    if flat:
        yield _note(
            "low_rank",
            f"{_clusters(flat, 'has')} fewer dimensions than allowed",
            f"Of dimension {_values(flat, lambda c: str(dims[c.name]))}, but 95 % of "
            "the energy lies in fewer directions: "
            f"{_values(flat, lambda c: str(c.effective_dim))}. A smaller subspace_dim "
            "may separate better.",
        )
    short = [c for c in some if 1 < c.size <= dims[c.name]]
    if short:
        yield _warning(
            "unsupported",
            f"{_clusters(short, 'has')} no more points than dimensions",
            f"As many points as a subspace has dimensions, "
            f"{_values(short, lambda c: str(dims[c.name]))}, always fit exactly, so "
            "the fit says nothing. Choose a smaller subspace_dim or fewer clusters.",
        )


def _fit(facts: Facts) -> Iterator[Notice]:
    poor = [c for c in facts.clusters if c.captured < _LITTLE_CAPTURED and c.energy > 0]
    if poor and not facts.fit.fitted_here:
        yield _note(
            "captured",
            f"Subspaces hold less than half the energy of {_clusters(poor).lower()}",
            f"Captured: {_values(poor, lambda c: percent(c.captured, 0))}. The points "
            "may need a larger subspace_dim, or do not lie near a subspace.",
        )


def _alike(facts: Facts) -> Iterator[Notice]:
    if facts.angles is None or facts.inputs.affine:
        return
    above = np.argwhere(np.triu(facts.angles.affinities > _ALIKE, 1))
    if len(above):
        pairs = [f"{facts.names[i]} and {facts.names[j]}" for i, j in above]
        yield _note(
            "alike",
            "Some clusters lie on nearly the same subspace",
            f"Affinity above {_ALIKE}: {_listed(pairs)}. They may be one cluster that "
            "was cut in two.",
        )


def _members(facts: Facts) -> Iterator[Notice]:
    source, inputs = facts.agreement.source, facts.inputs
    torn = [c for c in facts.clusters if c.agreement < _LITTLE_AGREEMENT]
    if torn and source != "subspaces" and len(facts.clusters) > 1:
        median = f"Median agreement {_values(torn, lambda c: percent(c.agreement, 0))}"
        if source == "members":
            title = f"Members disagree about {_clusters(torn).lower()}"
            text = (
                f"{median}: members put these points nearly as often with another "
                "cluster. Run more members, or look in the matrix for clusters that "
                "belong together."
            )
        else:
            title = f"Many edges leave {_clusters(torn).lower()}"
            text = f"{median}: much of the affinity goes to other clusters."
        more = {"n_members": 2 * inputs.n_members} if inputs.n_members else {}
        yield _warning("agreement", title, text, **more)
    if inputs.n_members and inputs.halves is not None and inputs.halves < _HALVES_AGREE:
        yield _warning(
            "halves",
            "The clusters depend on which members vote",
            "When it was last measured, two halves of the members gave "
            f"{percent(inputs.halves, 0)} of the points the same cluster; it should be "
            f"at least {percent(_HALVES_AGREE, 0)}. {inputs.n_members} members voted "
            f"in the end: try n_members={2 * inputs.n_members}, and if labels still "
            "change with random_state, doubt the number of clusters or subspace_dim.",
            n_members=2 * inputs.n_members,
        )


def _nearer_elsewhere(facts: Facts) -> Iterator[Notice]:
    many = [c for c in facts.clusters if c.nearer_elsewhere > _ELSEWHERE]
    if many and not facts.fit.fitted_here:
        shares = _values(many, lambda c: percent(c.nearer_elsewhere, 0))
        yield _note(
            "nearer_elsewhere",
            "Many points lie nearer to the subspace of another cluster",
            f"In {_clusters(many).lower()}: {shares}. There, labels and "
            "subspaces disagree; predict() follows the subspaces.",
        )


def _run(facts: Facts) -> Iterator[Notice]:
    """Say what was not finished, and which rows are not described or mean nothing."""
    inputs = facts.inputs
    if inputs.unfinished is not None:
        yield _warning(
            "convergence",
            "The iteration was stopped before it converged",
            f"max_iter reached its limit of {inputs.unfinished}; raise max_iter.",
            max_iter=10 * inputs.unfinished,
        )
    if inputs.n_zero and not inputs.affine:
        yield _note(
            "zeros",
            f"{_points(inputs.n_zero, 'is')} zero",
            "The origin lies on every linear subspace, so their cluster means nothing.",
        )
    if inputs.n_left_out:
        yield _note(
            "left_out",
            f"{_points(inputs.n_left_out, 'is')} in no cluster",
            "They carry a negative label and are left out of this report.",
        )
    described = inputs.n_samples + inputs.n_left_out
    if inputs.n_rows > described:
        yield _note(
            "sample",
            f"This page describes {described:,} of {inputs.n_rows:,} rows",
            "Members, graph and cut are those of this random sample; every other row "
            "got its cluster by its base clusters in the members.",
        )


def _warning(key: str, title: str, text: str, **change: Any) -> Notice:
    return Notice(key, "warning", title, text, change)


def _note(key: str, title: str, text: str, **change: Any) -> Notice:
    return Notice(key, "note", title, text, change)


def _points(count: int, verb: str = "") -> str:
    """Write a number of points, and a verb in the form that goes with it."""
    points = "1 point" if count == 1 else f"{count:,} points"
    return f"{points} {_verb(verb, count)}".rstrip()


def _clusters(some: Sequence[Cluster], verb: str = "") -> str:
    """Write the names of clusters, and a verb in the form that goes with them."""
    noun = "Cluster" if len(some) == 1 else "Clusters"
    names = _listed([str(c.name) for c in some])
    return f"{noun} {names} {_verb(verb, len(some))}".rstrip()


def _verb(verb: str, count: int) -> str:
    plural = {"": "", "is": "are", "was": "were", "has": "have"}
    return verb if count == 1 else plural[verb]


def _values(some: Sequence[Cluster], value: Callable[[Cluster], str]) -> str:
    """Write the value of one cluster, or those of several with their names."""
    if len(some) == 1:
        return value(some[0])
    return _listed([f"{value(c)} (cluster {c.name})" for c in some])


def _listed(items: Sequence[str], most: int = 6) -> str:
    """Join with commas; after some, only their number."""
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join(filter(None, [", ".join(items[:-1]), items[-1]]))
