"""From numbers to words: which guarantee holds, what fails, and what would help."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ekss.theory._assess import OPEN_CONSTANT, Assessment, Certificate, GraphFacts
from ekss.theory._remedies import (
    Check,
    checks_of,
    number,
    size_for_neighbours,
    why_vacuous,
    worst_connection,
)
from ekss.theory._theorems import (
    Guarantee,
    deviation_failure,
    members_needed,
    projection_dimension,
)

HOLDS = "holds"
FAILS = "does not hold"
NO_USE = "does not apply"
SAYS_NOTHING = "says nothing"
OPEN = "not decided"

_TITLES = {
    "Theorem 4": "correct clustering of subspaces that share no direction",
    "Theorem 5": "correct clustering of nearly orthogonal subspaces",
    "Theorem 6": "no false connections among noisy points",
    "Lemma 1": "no false connections with missing entries (for Theorem 7)",
    "Theorem 8": "correct clustering after a random projection",
}
_HOW = {"given": "given", "rank": "exact rank", "energy": "95 % of energy"}
_MOST_ANGLES = 8  # principal angles that are written out


@dataclass(frozen=True)
class Finding:
    """The verdict on one guarantee for one method.

    Attributes
    ----------
    statement, method, title : str
        The theorem, the method, and what the theorem would guarantee.
    status : str
        "holds", "does not hold", "does not apply", "says nothing" or "not decided".
    summary : str
        Why.
    checks : tuple of Check
        Every condition.
    terms : mapping of str to float
        Terms of the failure probability.
    failure : float or None
        The failure probability; None where a condition fails.
    """

    statement: str
    method: str
    title: str
    status: str
    summary: str
    checks: tuple[Check, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    failure: float | None = None


@dataclass(frozen=True)
class Answer:
    """One of the short answers; ``good`` is None where nothing is decided."""

    method: str
    question: str
    answer: str
    good: bool | None


@dataclass(frozen=True)
class ClusterRow:
    """One cluster: its subspace, the closest other one, its pieces in the graphs."""

    name: int
    size: int
    dim: int
    how: str
    outside: float
    nearest: int
    affinity: float
    angle: float
    pieces_tsc: int
    pieces_votes: int


@dataclass(frozen=True)
class Explanation:
    """An assessment in words.

    Attributes
    ----------
    settings : tuple of (str, str)
        What was assessed, by name.
    answers : tuple of Answer
        The short answers, method by method.
    clusters : tuple of ClusterRow
        The clusters and their subspaces.
    closest : str
        The two subspaces that are closest to each other.
    findings : tuple of Finding
        Every guarantee, with every condition.
    unmet : tuple of (str, Check)
        Every condition that fails, once, with the statements that ask for it.
    notes : tuple of str
        What was assumed, and the limits of the assessment.
    """

    settings: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]
    clusters: tuple[ClusterRow, ...]
    closest: str
    findings: tuple[Finding, ...]
    unmet: tuple[tuple[str, Check], ...]
    notes: tuple[str, ...]


def explain(assessment: Assessment) -> Explanation:
    """Put an assessment into words.

    Parameters
    ----------
    assessment : Assessment
        From :func:`assess`.

    Returns
    -------
    explanation : Explanation
    """
    found = findings(assessment)
    return Explanation(
        _settings(assessment),
        _answers(assessment, found),
        _clusters(assessment),
        _closest(assessment),
        found,
        _unmet(found),
        _notes(assessment),
    )


def findings(a: Assessment) -> tuple[Finding, ...]:
    """Return the verdict on every guarantee.

    Parameters
    ----------
    a : Assessment
        From :func:`assess`.

    Returns
    -------
    findings : tuple of Finding
        Theorems 1, 3 and 2, then those about points drawn at random.
    """
    by_name = {g.statement: g for g in (*a.theorems, a.projection)}
    rest = tuple(
        _of_theorem(by_name[name], a, "TSC" if name == "Theorem 8" else "EKSS-0")
        for name in _TITLES
    )
    return (_angles(a), _votes(a), _any_seed(a), _connection(a), *rest)


def percent(share: float) -> str:
    """Write a share; neither 0 % nor 100 % unless it is exactly that."""
    if share < 1e-12:
        return "0 %"
    if share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.3g} %"


def ordinal(n: int) -> str:
    """Write 1st, 2nd, 3rd, 4th, 11th.

    Examples
    --------
    >>> [ordinal(n) for n in (1, 2, 3, 9, 12, 21)]
    ['1st', '2nd', '3rd', '9th', '12th', '21st']
    """
    teen = n % 100 in (11, 12, 13)
    return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def _settings(a: Assessment) -> tuple[tuple[str, str], ...]:
    case, s = a.case, a.case.situation
    default = "" if case.q_given else ", the paper's max(3, N_k / 20)"
    sizes = f"{min(s.sizes):,}"
    if max(s.sizes) > min(s.sizes):
        sizes += f" to {max(s.sizes):,}"
    origin = "given" if case.noise_given else "estimated from the energy outside"
    return (
        ("points", f"{s.n_samples:,} of {s.n_features:,} features"),
        ("clusters", f"{len(s.sizes)} of {sizes} points"),
        ("neighbours", f"q = {s.q}{default}"),
        (
            "EKSS-0",
            f"{s.n_members:,} members with {case.n_candidates} candidates of dimension "
            f"{case.candidate_dim}, seed {case.seed}",
        ),
        ("noise", f"sigma = {number(s.noise)}, {origin}"),
    )


def _answers(a: Assessment, found: tuple[Finding, ...]) -> tuple[Answer, ...]:
    lines = [
        *_of_method(a, "TSC", a.tsc, a.tsc_graph),
        *_of_method(a, "EKSS-0", a.votes, a.votes_graph),
    ]
    seed = found[2]
    word = {HOLDS: "Yes", OPEN: "Not decided"}.get(seed.status, "No")
    lines.append(
        Answer(
            "EKSS-0",
            f"Guaranteed for any seed, with {a.case.situation.n_members:,} members?",
            f"{word}: {seed.summary}.",
            {HOLDS: True, OPEN: None}.get(seed.status, False),
        )
    )
    good = [f.statement for f in found[4:] if f.status == HOLDS]
    text = "No: none of Theorems 4 to 8 applies; the reasons are below."
    if good:
        text = f"Yes, by {_listed(good)}; the probabilities are below."
    asked = "Guaranteed for new points drawn from these subspaces?"
    lines.append(Answer("both", asked, text, bool(good)))
    return tuple(lines)


def _of_method(
    a: Assessment, method: str, certificate: Certificate, graph: GraphFacts
) -> list[Answer]:
    case = a.case
    if certificate.holds:
        connections = "No: guaranteed by Theorem 1, and none were found."
    elif graph.n_false == 0 and certificate.holds is None:
        connections = (
            f"None were found; Theorem 1 was checked for {len(case.rows):,} points "
            "only."
        )
    elif graph.n_false == 0:
        connections = "None were found, but Theorem 1 does not guarantee it."
    else:
        share = percent(graph.n_false / graph.n_edges)
        connections = (
            f"Yes: {graph.n_false:,} of {graph.n_edges:,} edges ({share}), at "
            f"{graph.n_false_points:,} points."
        )
    pieces = zip(case.subspaces.names, graph.components, strict=True)
    names = [str(name) for name, count in pieces if count > 1]
    whole = "Yes, all of them."
    if names:
        which = f"cluster {names[0]} falls"
        if names[1:]:
            which = f"clusters {_listed(names)} fall"
        whole = f"No: {which} into pieces{_connecting(graph)}"
    correct = graph.n_false == 0 and not names
    error = f"the error of this run is {percent(graph.error)}"
    outcome = f"Not guaranteed{_better_q(certificate, graph)}; {error}."
    if correct:
        outcome = f"Yes, by Proposition 1; {error}."
    asked = f"Does the graph of {case.situation.q} neighbours have false connections?"
    return [
        Answer(method, asked, connections, graph.n_false == 0),
        Answer(method, "Is every cluster connected in it?", whole, not names),
        Answer(method, "Is the clustering therefore correct?", outcome, correct),
    ]


def _better_q(certificate: Certificate, graph: GraphFacts) -> str:
    """Name the q for which clusters are surely pure and connected, if there are any."""
    low, high = graph.connecting_q, certificate.largest_q
    if certificate.holds is not True or low is None or low > high:
        return ""
    span = f"q from {low} to {high}" if low < high else f"q = {low}"
    return f", but it would be with {span}"


def _connecting(graph: GraphFacts) -> str:
    if graph.connecting_q is None:
        return "."
    return f"; all clusters are connected from q = {graph.connecting_q} on."


def _angles(a: Assessment) -> Finding:
    """Theorem 1 for TSC."""
    c, q = a.tsc, a.case.situation.q
    if c.holds is not False:
        summary = (
            f"every point is nearer in angle to {q} points of its own cluster than to "
            "any point of another"
        )
        remedy = ""
        if c.largest_q > q:
            summary += f"; this remains true up to q = {c.largest_q}"
    else:
        summary = (
            f"for {percent(1 - c.share)} of the points, another cluster has a point "
            f"nearer in angle than the {ordinal(q)} nearest of their own cluster"
        )
        remedy = _separation_remedy(c)
    asked = "the separation phi_q is above the deviation, which is 0 for TSC"
    check = Check("phi_q above 0", asked, c.phi, ">", 0.0, c.holds is not False, remedy)
    return Finding(
        "Theorem 1",
        "TSC",
        "no false connections",
        _status(c.holds),
        _partly(a, summary),
        (check,),
    )


def _votes(a: Assessment) -> Finding:
    """Theorem 1 for the members of EKSS-0 that were fitted."""
    c, tau = a.votes, number(a.votes.tau)
    remedy = ""
    if c.holds is not False:
        summary = (
            f"votes differ from f by at most {tau}, less than the separation "
            f"{number(c.phi)}"
        )
    elif c.phi <= 0:
        summary = (
            "the points are not separated in angle, so votes, which follow angles, "
            "cannot be guaranteed either"
        )
        remedy = _separation_remedy(a.tsc) + "; more members do not help"
    else:
        summary = (
            f"votes differ from f by up to {tau}, more than the separation "
            f"{number(c.phi)}; {percent(c.share)} of the points are safe"
        )
        wanted = math.ceil(a.case.situation.n_members * (c.tau / c.phi) ** 2)
        remedy = f"about {number(wanted)} members (the difference falls as 1 / sqrt(B))"
        if c.largest_q:
            remedy += f", or q up to {c.largest_q}"
    asked = "the separation phi_q, for f of EKSS-0, is above the deviation tau of votes"
    check = Check("phi_q above tau", asked, c.phi, ">", c.tau, not remedy, remedy)
    return Finding(
        "Theorem 1",
        "EKSS-0",
        f"no false connections, for the members of seed {a.case.seed}",
        _status(c.holds),
        _partly(a, summary),
        (check,),
    )


def _any_seed(a: Assessment) -> Finding:
    """Theorem 3, and with it Theorem 1 for any seed."""
    p, phi, chance = a.promise, a.votes.phi, percent(1 - a.case.failure)
    s = a.case.situation
    promised = f"{s.n_members:,} members promise tau = {number(p.tau)}"
    remedy = ""
    if p.holds is not False:
        summary = f"{promised}, below the separation, in {chance} of runs"
    elif p.members is None:
        summary = "no number of members is enough, as the points are not separated"
        remedy = _separation_remedy(a.tsc)
    else:
        summary = f"{promised} in {chance} of runs, above the separation"
        remedy = f"{number(p.members)} members"
        if p.largest_q:
            remedy += f", or q up to {p.largest_q}"
    failure = deviation_failure(s.n_samples, phi, s.n_members)
    asked = (
        f"the separation phi_q is above the tau that B members promise ({chance} of "
        "runs)"
    )
    check = Check(
        "phi_q above promised tau", asked, phi, ">", p.tau, not remedy, remedy
    )
    return Finding(
        "Theorem 3",
        "EKSS-0",
        "no false connections for any seed",
        _status(p.holds),
        _partly(a, summary),
        (check,),
        {"deviation": failure},
        failure,
    )


def _connection(a: Assessment) -> Finding:
    """Theorem 2 holds for clusters one by one; show the most demanding one."""
    worst = worst_connection(a.connections)
    guarantee, name = a.connections[worst], a.case.subspaces.names[worst]
    fine, total = sum(g.holds for g in a.connections), len(a.connections)
    checks = checks_of(guarantee, a.case.situation)
    summary = f"it applies to {fine} of {total} clusters"
    if fine < total:
        summary += f"; for cluster {name}, {_because(checks)}"
    return Finding(
        "Theorem 2",
        "both",
        f"each cluster connected (shown for cluster {name}, the most demanding)",
        HOLDS if fine == total else NO_USE,
        summary,
        checks,
        guarantee.terms,
        guarantee.total if guarantee.applies else None,
    )


def _of_theorem(guarantee: Guarantee, a: Assessment, method: str) -> Finding:
    checks = checks_of(guarantee, a.case.situation)
    if guarantee.holds:
        status = HOLDS
        summary = f"with probability at least {percent(1 - guarantee.total)}"
    elif guarantee.applies:
        status = SAYS_NOTHING
        members = _members_for(guarantee, a)
        summary = (
            "the conditions hold, but the failure probability is not below 1: "
            + why_vacuous(guarantee, members, a.case.failure)
        )
    else:
        status, summary = NO_USE, _because(checks)
    return Finding(
        guarantee.statement,
        method,
        _TITLES[guarantee.statement],
        status,
        summary,
        checks,
        guarantee.terms,
        guarantee.total if guarantee.applies else None,
    )


def _members_for(guarantee: Guarantee, a: Assessment) -> int | None:
    """Members that bring the deviation term down to the failure that was allowed."""
    constants = {c.name: c.value for c in guarantee.conditions}
    allowed = [constants[name] for name in ("C_1", "C_2", "C_3") if name in constants]
    tau = min(allowed, default=0)
    if tau <= 0 or "deviation" not in guarantee.terms:
        return None
    return members_needed(a.case.situation.n_samples, tau, a.case.failure)


def _because(checks: tuple[Check, ...]) -> str:
    """Count the conditions that fail, without those that only follow from others."""
    main = [check for check in checks if not check.derived]
    failing = [check for check in main if not check.holds] or [
        check for check in checks if not check.holds
    ]
    return f"{len(failing)} of {len(main)} conditions fail"


def _separation_remedy(c: Certificate) -> str:
    if c.largest_q:
        return f"q up to {c.largest_q}"
    return (
        f"no q helps, as for {percent(1 - c.nearest_share)} of the points the nearest "
        "of all belongs to another cluster; smaller affinity between the subspaces, "
        "more points per cluster or other features would"
    )


def _status(holds: bool | None) -> str:
    return OPEN if holds is None else HOLDS if holds else FAILS


def _partly(a: Assessment, summary: str) -> str:
    if a.case.complete:
        return summary
    n_rows, n = len(a.case.rows), a.case.situation.n_samples
    return f"among {n_rows:,} of {n:,} points: {summary}"


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _clusters(a: Assessment) -> tuple[ClusterRow, ...]:
    sub, pairs = a.case.subspaces, a.case.pairs
    others = np.where(np.eye(len(sub.sizes), dtype=bool), -1.0, pairs.affinities)
    rows = []
    for k, nearest in enumerate(others.argmax(axis=1)):
        rows.append(
            ClusterRow(
                sub.names[k],
                sub.sizes[k],
                sub.dims[k],
                _HOW[sub.how[k]],
                sub.outside[k],
                sub.names[nearest],
                float(others[k, nearest]),
                float(np.degrees(np.arccos(pairs.cosines[k, nearest]))),
                a.tsc_graph.components[k],
                a.votes_graph.components[k],
            )
        )
    return tuple(rows)


def _closest(a: Assessment) -> str:
    first, second = (a.case.subspaces.names[k] for k in a.case.pairs.closest)
    angles = a.case.pairs.angles
    shown = [f"{angle:.3g}°" for angle in angles[:_MOST_ANGLES]]
    more = " ..." if len(angles) > _MOST_ANGLES else ""
    return (
        f"The closest subspaces are those of clusters {first} and {second}: affinity "
        f"{number(a.case.situation.max_affinity)}, principal angles "
        f"{' '.join(shown)}{more}"
    )


def _unmet(found: tuple[Finding, ...]) -> tuple[tuple[str, Check], ...]:
    where: dict[tuple[str, str, str], tuple[list[str], Check]] = {}
    for finding in found:
        name = finding.statement
        if name == "Theorem 1":
            name += f", {finding.method}"
        failing = [check for check in finding.checks if not check.holds]
        causes = [check for check in failing if not check.derived]
        for check in causes or failing:
            key = (check.asked, check.comparison, check.remedy)
            where.setdefault(key, ([], check))[0].append(name)
    return tuple((_short(names), check) for names, check in where.values())


def _short(names: list[str]) -> str:
    """Write Theorems 4, 5 for Theorem 4 and Theorem 5."""
    numbers = [n.removeprefix("Theorem ") for n in names if n.startswith("Theorem ")]
    others = [n for n in names if not n.startswith("Theorem ")]
    if len(numbers) > 1:
        return ", ".join([f"Theorems {', '.join(numbers)}", *others])
    return ", ".join(names)


def _notes(a: Assessment) -> tuple[str, ...]:
    s = a.case.situation
    planes = 12 * 24 * math.pi
    projected = projection_dimension(
        s.n_samples,
        max(s.dims),
        constant=OPEN_CONSTANT,
        concentration=OPEN_CONSTANT,
    )
    notes = [
        "Points are named by their row, counted from 0, and clusters by their label; "
        "labels that are words were numbered in alphabetical order.",
        "All points were scaled to length 1, as both methods see directions only.",
        _dimensions(a),
        "Theorem 1 is exact and about these very points. Theorems 2 and 4 to 8 are "
        "about points drawn uniformly from subspaces; that cannot be checked, and the "
        "subspaces used here were fitted to the labelled points.",
        f"Theorems 2, 4, 5 and 8 ask for very large q: even for planes (dimension 2) q "
        f"must be at least {planes:.0f} log N_k, which is "
        f"{number(planes * math.log(max(s.sizes)))} for the largest cluster here, and "
        f"every cluster needs {number(size_for_neighbours(2, 6.0))} points (Theorems 5 "
        f"and 8). They rarely apply to data of ordinary size.",
        "f was averaged over 100,000 draws of candidates; its values are accurate to "
        "about 0.001.",
        "Theorem 3 uses the paper's constant 2 sqrt(log 2).",
        "Theorem 7 leaves constants open; Lemma 1 with Theorem 3, shown here, is the "
        f"same statement for known subspaces. It is evaluated for {s.n_missing} "
        "missing entries per point." + _tolerance(a),
        f"Theorem 8 leaves two constants open, which are set to 1 here, and is "
        f"evaluated for a projection to {s.n_components:,} dimensions. With the same "
        f"constants, a graph without false connections needs "
        f"{number(projected.dimension)} dimensions.",
    ]
    if not a.case.complete:
        notes.insert(
            0,
            f"Only {len(a.case.rows):,} of {s.n_samples:,} points, drawn at random, "
            "were compared with all others. What fails for them fails; what holds for "
            "them is not guaranteed for the rest and remains undecided.",
        )
    return tuple(notes)


def _dimensions(a: Assessment) -> str:
    sub = a.case.subspaces
    kinds = set(sub.how)
    if kinds == {"given"}:
        return f"The dimension of all subspaces, {sub.dims[0]}, was given."
    if kinds == {"rank"}:
        return "Dimensions are exact: every point lies on the subspace of its cluster."
    return (
        "Dimensions are the smallest that hold 95 % of the energy of a cluster's "
        f"points (at most {percent(max(sub.outside))} is outside); another dimension "
        "can be given."
    )


def _tolerance(a: Assessment) -> str:
    if a.tolerated_missing is None:
        return ""
    return (
        f" By our bounds r_s stays below 1 for up to {a.tolerated_missing} missing "
        "entries per point."
    )
