"""From numbers to words: which guarantee holds, what fails, and what would help."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ekss.theory._assess import OPEN_CONSTANT, Assessment, Certificate, GraphFacts
from ekss.theory._labelled import Situation, smallest_exponent
from ekss.theory._theorems import (
    LARGEST_CAP,
    Condition,
    Guarantee,
    connecting_q,
    dense_cap,
    deviation_failure,
    disjoint_rate,
    inner_product_probability,
    members_needed,
    projection_dimension,
)
from ekss.words import listed, number, ordinal, percent

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
_COUNTS = range(3, 10**15 + 1)  # sizes of clusters among which the fewest are sought
# True by the choice of gamma and rho; a reader has nothing to decide there.
_ALWAYS_TRUE = ("gamma", "q against N_min^rho")
# They hold as soon as other conditions do.
_DERIVED = ("C_1", "C_2")


@dataclass(frozen=True)
class Check:
    """One condition for a reader: what is asked, what is found, what would help.

    Attributes
    ----------
    name : str
        Name of the condition.
    asked : str
        What the theorem asks for, in words.
    value, limit : float
        The two sides of the inequality.
    relation : {"<", "<=", ">", ">="}
        How they should compare.
    holds : bool
        Whether they do.
    remedy : str
        What would make the condition hold; empty where it holds.

    Examples
    --------
    >>> from ekss.theory import Check
    >>> Check("p", "features", 40.0, ">", 90.0, False, "more features").remedy
    'more features'
    """

    name: str
    asked: str
    value: float
    relation: str
    limit: float
    holds: bool
    remedy: str

    @property
    def derived(self) -> bool:
        """Whether it only follows from other conditions."""
        return self.name in _DERIVED or math.isinf(self.limit)

    @property
    def comparison(self) -> str:
        """Value, relation and limit in one phrase, such as 9 not ≥ 6,300."""
        sign = {"<=": "≤", ">=": "≥"}.get(self.relation, self.relation)
        wrong = "" if self.holds else "not "
        return f"{number(self.value)} {wrong}{sign} {number(self.limit)}"

    @property
    def distance(self) -> str:
        """How far off: a factor where both sides are positive, else a difference."""
        no_scale = self.name == "points on subspaces" or self.value == self.limit
        if self.holds or no_scale or not math.isfinite(self.limit):
            return ""
        size = "large" if self.relation in ("<", "<=") else "small"
        if self.value > 0 and self.limit > 0:
            factor = max(self.value / self.limit, self.limit / self.value)
            if factor >= 1.1:
                return f"{number(factor)} times too {size}"
        return f"too {size} by {number(abs(self.value - self.limit))}"


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

    Examples
    --------
    >>> from ekss.theory import HOLDS, Finding
    >>> Finding("Theorem 1", "TSC", "no false connections", HOLDS, "phi_q > 0").good
    True
    """

    statement: str
    method: str
    title: str
    status: str
    summary: str
    checks: tuple[Check, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    failure: float | None = None

    @property
    def good(self) -> bool | None:
        """Whether the guarantee holds; None where that is not decided."""
        return None if self.status == OPEN else self.status == HOLDS


@dataclass(frozen=True)
class Answer:
    """One of the short answers.

    Attributes
    ----------
    method, question, answer : str
        The method asked about, the question and its answer.
    good : bool or None
        Whether it is the answer one hopes for; None where nothing is decided.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> answer = guarantees(X, y, n_members=50).explanation.answers[0]
    >>> print(answer.method, answer.answer)
    TSC No: guaranteed by Theorem 1, and none were found.
    """

    method: str
    question: str
    answer: str
    good: bool | None


@dataclass(frozen=True)
class ClusterRow:
    """One cluster: its subspace, the closest other one, its pieces in the graphs.

    Attributes
    ----------
    name, size, dim : int
        Label, number of points, and dimension of the subspace.
    how : str
        Where the dimension comes from.
    outside : float
        Share of the energy of the points that is outside the subspace.
    nearest : int
        Label of the cluster of largest affinity.
    affinity, angle : float
        Affinity with it, and the smallest angle between the two, in degrees.
    pieces_tsc, pieces_votes : int
        Connected pieces in the graphs of TSC and of EKSS-0.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> row = guarantees(X, y, n_members=50).explanation.clusters[0]
    >>> row.name, row.size, row.dim, row.nearest
    (0, 20, 2, 1)
    """

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

    @property
    def cells(self) -> tuple[str, ...]:
        """Everything but ``how``, as it is written in a table."""
        return (
            str(self.name),
            f"{self.size:,}",
            str(self.dim),
            percent(self.outside),
            str(self.nearest),
            number(self.affinity),
            f"{self.angle:.3g}°",
            str(self.pieces_tsc),
            str(self.pieces_votes),
        )


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

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> explanation = guarantees(X, y, n_members=50).explanation
    >>> print(explanation.answers[0].question)
    Does the graph of 3 neighbours have false connections?
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
        Answers, findings and conditions, as the command and the report print them.

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> from ekss.theory import explain
    >>> explanation = explain(guarantees(X, y, n_members=50).assessment)
    >>> explanation.answers[0].good
    True
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

    Examples
    --------
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.report import guarantees
    >>> X, y = make_union_of_subspaces(2, 2, 30, 20, random_state=0, return_X_y=True)
    >>> from ekss.theory import findings
    >>> found = findings(guarantees(X, y, n_members=50).assessment)
    >>> found[0].statement, found[0].status
    ('Theorem 1', 'holds')
    """
    checked = {g.statement: g for g in (*a.theorems, a.projection)}
    drawn = [_of_drawn_points(a, checked[statement]) for statement in _TITLES]
    return (_by_angle(a), _by_votes(a), _any_seed(a), _connected(a), *drawn)


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
    members, seed = a.case.situation.n_members, found[2]
    word = {True: "Yes", False: "No", None: "Not decided"}[seed.good]
    theorems = [f.statement for f in found[4:] if f.status == HOLDS]
    drawn = "No: none of Theorems 4 to 8 applies; the reasons are below."
    if theorems:
        drawn = f"Yes, by {listed(theorems)}; the probabilities are below."
    any_seed = f"Guaranteed for any seed, with {members:,} members?"
    new_points = "Guaranteed for new points drawn from these subspaces?"
    return (
        *_of_method(a, "TSC", a.tsc, a.tsc_graph),
        *_of_method(a, "EKSS-0", a.votes, a.votes_graph),
        Answer("EKSS-0", any_seed, f"{word}: {seed.summary}.", seed.good),
        Answer("both", new_points, drawn, bool(theorems)),
    )


def _of_method(
    a: Assessment, method: str, certificate: Certificate, graph: GraphFacts
) -> list[Answer]:
    case, pure = a.case, graph.n_false == 0
    if certificate.holds:
        edges = "No: guaranteed by Theorem 1, and none were found."
    elif pure and certificate.holds is None:
        n_rows = len(case.rows)
        edges = f"None were found; Theorem 1 was checked for {n_rows:,} points only."
    elif pure:
        edges = "None were found, but Theorem 1 does not guarantee it."
    else:
        edges = (
            f"Yes: {graph.n_false:,} of {graph.n_edges:,} edges "
            f"({percent(graph.n_false / graph.n_edges)}), at "
            f"{graph.n_false_points:,} points."
        )
    pieces = zip(case.subspaces.names, graph.components, strict=True)
    torn = [str(name) for name, count in pieces if count > 1]
    whole = "Yes, all of them."
    if torn:
        fall = "clusters {} fall" if torn[1:] else "cluster {} falls"
        whole = f"No: {fall.format(listed(torn))} into pieces"
        if graph.connecting_q is not None:
            whole += f"; all clusters are connected from q = {graph.connecting_q} on"
        whole += "."
    correct = pure and not torn
    error = f"the error of this run is {percent(graph.error)}"
    outcome = f"Not guaranteed{_better_q(certificate, graph)}; {error}."
    if correct:
        outcome = f"Yes, by Proposition 1; {error}."
    asked = f"Does the graph of {case.situation.q} neighbours have false connections?"
    return [
        Answer(method, asked, edges, pure),
        Answer(method, "Is every cluster connected in it?", whole, not torn),
        Answer(method, "Is the clustering therefore correct?", outcome, correct),
    ]


def _better_q(certificate: Certificate, graph: GraphFacts) -> str:
    """Name the q for which clusters are surely pure and connected, if there are any."""
    low, high = graph.connecting_q, certificate.largest_q
    if certificate.holds is not True or low is None or low > high:
        return ""
    span = f"q from {low} to {high}" if low < high else f"q = {low}"
    return f", but it would be with {span}"


def _by_angle(a: Assessment) -> Finding:
    """Theorem 1 for TSC."""
    c, q, remedy = a.tsc, a.case.situation.q, ""
    if c.holds is not False:
        summary = (
            f"every point is nearer in angle to {q} points of its own cluster than to "
            "any point of another"
        )
        if c.largest_q > q:
            summary += f"; this remains true up to q = {c.largest_q}"
    else:
        summary = (
            f"for {percent(1 - c.share)} of the points, another cluster has a point "
            f"nearer in angle than the {ordinal(q)} nearest of their own cluster"
        )
        remedy = _separation_remedy(c)
    asked = "the separation phi_q is above the deviation, which is 0 for TSC"
    check = Check("phi_q above 0", asked, c.phi, ">", 0.0, not remedy, remedy)
    verdict = _verdict(a, c.holds, summary)
    return Finding("Theorem 1", "TSC", "no false connections", *verdict, (check,))


def _by_votes(a: Assessment) -> Finding:
    """Theorem 1 for the members of EKSS-0 that were fitted."""
    c, remedy = a.votes, ""
    tau, phi = number(c.tau), number(c.phi)
    if c.holds is not False:
        summary = (
            f"votes differ from f by at most {tau}, less than the separation {phi}"
        )
    elif c.phi <= 0:
        summary = (
            "the points are not separated in angle, so votes, which follow angles, "
            "cannot be guaranteed either"
        )
        remedy = _separation_remedy(a.tsc) + "; more members do not help"
    else:
        summary = (
            f"votes differ from f by up to {tau}, more than the separation {phi}; "
            f"{percent(c.share)} of the points are safe"
        )
        wanted = math.ceil(a.case.situation.n_members * (c.tau / c.phi) ** 2)
        remedy = f"about {number(wanted)} members (the difference falls as 1 / sqrt(B))"
        if c.largest_q:
            remedy += f", or q up to {c.largest_q}"
    asked = "the separation phi_q, for f of EKSS-0, is above the deviation tau of votes"
    check = Check("phi_q above tau", asked, c.phi, ">", c.tau, not remedy, remedy)
    title = f"no false connections, for the members of seed {a.case.seed}"
    verdict = _verdict(a, c.holds, summary)
    return Finding("Theorem 1", "EKSS-0", title, *verdict, (check,))


def _any_seed(a: Assessment) -> Finding:
    """Theorem 3, and with it Theorem 1 for any seed."""
    p, phi, s, remedy = a.promise, a.votes.phi, a.case.situation, ""
    chance = f"{percent(1 - a.case.failure)} of runs"
    promised = f"{s.n_members:,} members promise tau = {number(p.tau)}"
    if p.holds is not False:
        summary = f"{promised}, below the separation, in {chance}"
    elif p.members is None:
        summary = "no number of members is enough, as the points are not separated"
        remedy = _separation_remedy(a.tsc)
    else:
        summary = f"{promised} in {chance}, above the separation"
        remedy = f"{number(p.members)} members"
        if p.largest_q:
            remedy += f", or q up to {p.largest_q}"
    name = "phi_q above promised tau"
    asked = f"the separation phi_q is above the tau that B members promise ({chance})"
    check = Check(name, asked, phi, ">", p.tau, not remedy, remedy)
    title, verdict = "no false connections for any seed", _verdict(a, p.holds, summary)
    failure = deviation_failure(s.n_samples, phi, s.n_members)
    terms = {"deviation": failure}
    return Finding("Theorem 3", "EKSS-0", title, *verdict, (check,), terms, failure)


def _verdict(a: Assessment, holds: bool | None, summary: str) -> tuple[str, str]:
    """Return the status, and why; it says so where only some points were compared."""
    if not a.case.complete:
        n_rows, n = len(a.case.rows), a.case.situation.n_samples
        summary = f"among {n_rows:,} of {n:,} points: {summary}"
    return {True: HOLDS, False: FAILS, None: OPEN}[holds], summary


def _separation_remedy(c: Certificate) -> str:
    if c.largest_q:
        return f"q up to {c.largest_q}"
    return (
        f"no q helps, as for {percent(1 - c.nearest_share)} of the points the nearest "
        "of all belongs to another cluster; smaller affinity between the subspaces, "
        "more points per cluster or other features would"
    )


def _connected(a: Assessment) -> Finding:
    """Theorem 2 holds for clusters one by one; show the most demanding one."""
    worst = worst_connection(a.connections)
    guarantee, name = a.connections[worst], a.case.subspaces.names[worst]
    fine, total = sum(g.holds for g in a.connections), len(a.connections)
    checks = checks_of(guarantee, a.case.situation)
    summary = f"it applies to {fine} of {total} clusters"
    if fine < total:
        summary += f"; for cluster {name}, {_because(checks)}"
    title = f"each cluster connected (shown for cluster {name}, the most demanding)"
    status = HOLDS if fine == total else NO_USE
    chance = guarantee.terms, guarantee.failure
    return Finding("Theorem 2", "both", title, status, summary, checks, *chance)


def worst_connection(guarantees: tuple[Guarantee, ...]) -> int:
    """Return the cluster that asks for the largest q in Theorem 2."""
    asked = [{c.name: c.limit for c in g.conditions} for g in guarantees]
    return max(range(len(asked)), key=lambda k: asked[k]["q against log n"])


def _of_drawn_points(a: Assessment, guarantee: Guarantee) -> Finding:
    """Return the verdict on a theorem about points drawn at random."""
    checks = checks_of(guarantee, a.case.situation)
    if guarantee.holds:
        status = HOLDS
        summary = f"with probability at least {percent(1 - guarantee.total)}"
    elif guarantee.applies:
        status = SAYS_NOTHING
        why = why_vacuous(guarantee, a.case.situation.n_samples, a.case.failure)
        summary = (
            f"the conditions hold, but the failure probability is not below 1: {why}"
        )
    else:
        status, summary = NO_USE, _because(checks)
    name, chance = guarantee.statement, (guarantee.terms, guarantee.failure)
    method = "TSC" if name == "Theorem 8" else "EKSS-0"
    return Finding(name, method, _TITLES[name], status, summary, checks, *chance)


def _because(checks: tuple[Check, ...]) -> str:
    """Count the conditions that fail, without those that only follow from others."""
    main = [check for check in checks if not check.derived]
    return f"{len(_causes(checks))} of {len(main)} conditions fail"


def _causes(checks: tuple[Check, ...]) -> list[Check]:
    """Return the conditions that fail; those that follow from others if alone."""
    failing = [check for check in checks if not check.holds]
    return [check for check in failing if not check.derived] or failing


def _clusters(a: Assessment) -> tuple[ClusterRow, ...]:
    sub, pairs = a.case.subspaces, a.case.pairs
    each = np.arange(len(sub.sizes))
    nearest = np.where(np.eye(len(each), dtype=bool), -1.0, pairs.affinities).argmax(1)
    rows = zip(
        sub.names,
        sub.sizes,
        sub.dims,
        [_HOW[how] for how in sub.how],
        sub.outside,
        [sub.names[k] for k in nearest],
        pairs.affinities[each, nearest].tolist(),
        np.degrees(np.arccos(pairs.cosines[each, nearest])).tolist(),
        a.tsc_graph.components,
        a.votes_graph.components,
        strict=True,
    )
    return tuple(ClusterRow(*row) for row in rows)


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
        for check in _causes(finding.checks):
            key = (check.asked, check.comparison, check.remedy)
            where.setdefault(key, ([], check))[0].append(name)
    return tuple((_short(names), check) for names, check in where.values())


def _short(names: list[str]) -> str:
    """Write Theorems 4, 5 for Theorem 4 and Theorem 5."""
    theorems = [name for name in names if name.startswith("Theorem ")]
    if len(theorems) < 2:
        return ", ".join(names)
    numbers = [name.removeprefix("Theorem ") for name in theorems]
    others = [name for name in names if name not in theorems]
    return ", ".join([f"Theorems {numbers[0]}", *numbers[1:], *others])


def _notes(a: Assessment) -> tuple[str, ...]:
    s = a.case.situation
    projected = projection_dimension(
        s.n_samples, max(s.dims), constant=OPEN_CONSTANT, concentration=OPEN_CONSTANT
    )
    tolerance = ""
    if a.tolerated_missing is not None:
        tolerance = (
            f" By our bounds r_s stays below 1 for up to {a.tolerated_missing} missing "
            "entries per point."
        )
    notes = [
        "Points are named by their row, counted from 0, and clusters by their label; "
        "labels that are words were numbered in alphabetical order.",
        "All points were scaled to length 1, as both methods see directions only.",
        _dimensions(a),
        "Theorem 1 is exact and about these very points. Theorems 2 and 4 to 8 are "
        "about points drawn uniformly from subspaces; that cannot be checked, and the "
        "subspaces used here were fitted to the labelled points.",
        "Theorems 2, 4, 5 and 8 ask for very large q: even for planes (dimension 2) q "
        f"must be at least {12 * 24 * math.pi:.0f} log N_k, which is "
        f"{number(connecting_q(max(s.sizes), 2))} for the largest cluster here, and "
        f"every cluster needs {number(size_for_neighbours(2, 6.0))} points (Theorems 5 "
        f"and 8). They rarely apply to data of ordinary size.",
        "f was averaged over 100,000 draws of candidates; its values are accurate to "
        "about 0.001.",
        "Theorem 3 uses the paper's constant 2 sqrt(log 2).",
        "Theorem 7 leaves constants open; Lemma 1 with Theorem 3, shown here, is the "
        f"same statement for known subspaces. It is evaluated for {s.n_missing} "
        f"missing entries per point.{tolerance}",
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


# The conditions of the theorems in words: what is asked, and what would help.


def checks_of(guarantee: Guarantee, situation: Situation) -> tuple[Check, ...]:
    """Put the conditions of a theorem into words, except those true by construction."""
    checks = []
    for c in guarantee.conditions:
        if c.name in _ALWAYS_TRUE:
            continue
        asked, remedy = _ASKED[c.name]
        if c.holds:
            remedy = ""
        elif callable(remedy):
            remedy = remedy(c, situation, guarantee.statement)
        checks.append(
            Check(c.name, asked, c.value, c.relation, c.limit, c.holds, remedy)
        )
    return tuple(checks)


def why_vacuous(guarantee: Guarantee, n_samples: int, failure: float) -> str:
    """Say which term makes a failure probability 1 or more, and what would lower it."""
    name = max(guarantee.terms, key=lambda term: guarantee.terms[term])
    if name == "deviation":
        constants = [c for c in guarantee.conditions if c.name in ("C_1", "C_2", "C_3")]
        tau = min(c.value for c in constants)
        members = members_needed(n_samples, tau, failure)
        return f'its term "{name}" needs {members:,} members to fall to {failure:g}'
    helps = {
        "too few near neighbours": "more points per cluster or a smaller q",
        "disconnected": "more points per cluster",
        "far points look near": "more than 10 points",
        "projection": "a larger projected dimension",
    }[name]
    return f'its term "{name}" is the largest; {helps} would lower it'


def size_for_neighbours(dim: int, share: float) -> float:
    """Fewest points n of a cluster for which the q of Theorem 2 is below n / share."""
    return _fewest(lambda n: connecting_q(n, dim) < n / share)


def size_for_cap(dim: int) -> float:
    """Fewest points of a cluster whose cap of Theorem 2 is small enough."""
    return _fewest(lambda n: dense_cap(n, dim) < LARGEST_CAP)


def size_for_rate(dim: int, ratio: float, q: int) -> float:
    """Fewest points of a cluster for c_1 of Lemma 1 above 0, q unchanged."""
    p = inner_product_probability((1 + ratio) / 2, dim)
    return _fewest(lambda n: n > q and disjoint_rate(n, smallest_exponent(q, n), p) > 0)


def _fewest(enough: Callable[[int], bool]) -> float:
    """Smallest count from 3 on that is enough, infinite if it is beyond 10^15."""
    place = bisect_left(_COUNTS, True, key=enough)
    return float(_COUNTS[place]) if place < len(_COUNTS) else math.inf


def _ratio(condition: Condition, s: Situation, statement: str) -> str:
    if s.n_missing and "r_s" in condition.name:
        return "fewer missing entries, or subspaces at larger angles"
    return (
        "two subspaces share a direction, which no number of points or members can "
        "change; Theorem 5 allows it, and subspaces of smaller dimension may avoid it"
    )


def _rate(condition: Condition, s: Situation, statement: str) -> str:
    ratio = s.missing.upper if statement == "Lemma 1" else s.ratio
    if ratio >= 1:
        return "the ratio must be below 1 first"
    wanted = max(size_for_rate(dim, ratio, s.q) for dim in set(s.dims))
    return f"{_points(wanted)} in every cluster with this q, or a smaller q"


def _many_neighbours(condition: Condition, s: Situation, statement: str) -> str:
    dim = max(s.dims)
    fewest = _points(size_for_neighbours(dim, 1.0))
    wanted = _points(size_for_neighbours(dim, 6.0))
    if fewest == wanted or statement == "Theorem 2":
        lower = "; subspaces of lower dimension need fewer" if dim > 2 else ""
        return f"such a q needs clusters of {fewest}{lower}"
    return (
        f"such a q needs clusters of {fewest}, and of {wanted} where q must stay below "
        "a sixth of the smallest cluster (Theorems 5 and 8)"
    )


def _few_neighbours(condition: Condition, s: Situation, statement: str) -> str:
    most = math.ceil(min(s.sizes) / 6) - 1
    grow = f"more than {6 * s.q:,} points in the smallest cluster"
    return f"q of at most {most}, or {grow}" if most >= 1 else grow


def _affinity(condition: Condition, s: Situation, statement: str) -> str:
    limit, affinity = condition.limit, s.max_affinity
    if affinity > limit:
        return (
            "subspaces nearer to orthogonal: the largest affinity, "
            f"{number(affinity)}, is {number(affinity / limit)} times the limit. More "
            "points do not help, they lower the limit"
        )
    scale = math.log(s.n_samples) * s.n_features / max(s.dims)
    room = (limit - affinity) * math.sqrt(scale)
    sigma = (math.sqrt(1 + 4 * room) - 1) / 2
    return f"noise of at most {number(sigma)}; it is {number(s.noise)}"


def _connectedness(condition: Condition, s: Situation, statement: str) -> str:
    if min(s.dims) < 2:
        return _LINE
    if _size_for_caps(s) > min(s.sizes):
        return _denser(condition, s, statement)
    return "f is too flat here; members with fewer candidates make it steeper"


def _denser(condition: Condition, s: Situation, statement: str) -> str:
    return f"{_points(_size_for_caps(s))} in every cluster"


def _size_for_caps(s: Situation) -> float:
    return max(size_for_cap(dim) for dim in set(s.dims))


def _projection(condition: Condition, s: Situation, statement: str) -> str:
    if math.isinf(condition.limit):
        return "no dimension is enough while C_2 or C_3 is not positive"
    return f"a projection to more than {number(condition.limit)} dimensions, or none"


def _points(count: float) -> str:
    return f"{'more than 10^15' if math.isinf(count) else number(count)} points"


_LINE = (
    "points on a line all have the same angle to each other; the theorem does not "
    "cover lines"
)
_FOLLOWS = (
    "it follows from the other conditions if members have at least two candidates"
)
_Remedy = str | Callable[[Condition, Situation, str], str]
_ASKED: dict[str, tuple[str, _Remedy]] = {
    "points on subspaces": (
        "every point, scaled to length 1, lies on the subspace of its cluster (largest "
        "distance)",
        "this theorem is about points without noise; Theorem 6 allows noise, and "
        "subspaces of larger dimension come nearer to their points",
    ),
    "ratio r_0": (
        "no two subspaces share a direction (r_0, cosine of the smallest angle)",
        _ratio,
    ),
    "ratio r_s": (
        "no two subspaces share a direction once entries are missing (r_s; at its "
        "upper bound)",
        _ratio,
    ),
    "rate c_1": ("clusters are dense enough for q near neighbours (c_1)", _rate),
    "q against log N_max": (
        "q is at least 12 (24 pi)^(d-1) log N_max, so that clusters connect",
        _many_neighbours,
    ),
    "q against log n": (
        "q is at least 12 (24 pi)^(d-1) log N_k",
        _many_neighbours,
    ),
    "q against n": ("q is at most the size of the cluster", "a smaller q"),
    "q against N_min / 6": (
        "q is below a sixth of the smallest cluster",
        _few_neighbours,
    ),
    "dim for connectedness": ("subspaces have dimension 2 or more", _LINE),
    "cap radius": (
        "points lie so densely that a cap with 3 log N_k of them is small (its radius)",
        _denser,
    ),
    "C_1": ("the deviation C_1 that the angles allow is positive", _FOLLOWS),
    "C_2": ("the deviation C_2 that the angles allow is positive", _FOLLOWS),
    "C_3": (
        "the deviation C_3 under which clusters stay connected is positive",
        _connectedness,
    ),
    "largest affinity plus noise": (
        "subspaces are nearly orthogonal: affinity and noise up to 1 / (15 log N)",
        _affinity,
    ),
    "n_features": (
        "there are more than 6 log N features",
        lambda c, s, statement: f"more than {number(c.limit)} features",
    ),
    "n_components against log N": (
        "the projected dimension p exceeds C log N / min(C_2, C_3)^2",
        _projection,
    ),
}
