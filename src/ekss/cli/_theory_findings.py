"""From numbers to findings: which guarantee holds, which does not, and how far off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ekss.cli._theory_results import Assessment, Certificate, GraphFacts
from ekss.cli._theory_words import Check, checks_of, number, why_vacuous
from ekss.theory import Guarantee, deviation_failure, members_needed
from ekss.theory._guarantees import worst_connection

HOLDS = "holds"
FAILS = "does not hold"
NO_USE = "does not apply"
SAYS_NOTHING = "says nothing"
OPEN = "not decided"

_TITLES = {
    "Theorem 4": "correct clustering of subspaces that share no direction",
    "Theorem 5": "correct clustering of nearly orthogonal subspaces",
    "Theorem 6": "no false connections in noisy points",
    "Lemma 1": "no false connections with missing entries (for Theorem 7)",
    "Theorem 8": "correct clustering after a random projection",
}


@dataclass(frozen=True)
class Finding:
    """One guarantee for one method: verdict, reason, conditions, failure terms."""

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
    """One line of the short answers; ``good`` is None where nothing is decided."""

    method: str
    question: str
    answer: str
    good: bool | None


def findings(a: Assessment) -> tuple[Finding, ...]:
    """Return the findings in the order of the page."""
    by_name = {g.statement: g for g in (*a.theorems, a.projection)}
    rest = tuple(
        _of_theorem(by_name[name], a, "TSC" if name == "Theorem 8" else "EKSS-0")
        for name in _TITLES
    )
    return (_angles(a), _votes(a), _any_seed(a), _connection(a), *rest)


def answers(a: Assessment, found: tuple[Finding, ...]) -> tuple[Answer, ...]:
    """Return the short answers at the top of the page."""
    lines: list[Answer] = []
    for method, certificate, graph in (
        ("TSC", a.tsc, a.tsc_graph),
        ("EKSS-0", a.votes, a.votes_graph),
    ):
        lines += _of_method(a, method, certificate, graph)
    seed = found[2]
    word = {HOLDS: "Yes", OPEN: "Not decided"}.get(seed.status, "No")
    lines.append(
        Answer(
            "EKSS-0",
            f"Guaranteed for any seed, with {a.wishes.n_members:,} members?",
            f"{word}: {seed.summary}.",
            {HOLDS: True, OPEN: None}.get(seed.status, False),
        )
    )
    good = [f.statement for f in found[4:] if f.status == HOLDS]
    text = "No: none of Theorems 4 to 8 can be used; the reasons are below."
    if good:
        text = f"Yes, by {_listed(good)}; the probabilities are below."
    asked = "Guaranteed for new points drawn from these subspaces?"
    lines.append(Answer("both", asked, text, bool(good)))
    return tuple(lines)


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


def _of_method(
    a: Assessment, method: str, certificate: Certificate, graph: GraphFacts
) -> list[Answer]:
    q, pieces = a.situation.n_neighbors, [n > 1 for n in graph.components]
    if certificate.holds:
        connections = "None: guaranteed by Theorem 1, and none found."
    elif graph.n_false == 0 and certificate.holds is None:
        connections = f"None found; Theorem 1 was checked for {a.n_rows:,} points only."
    elif graph.n_false == 0:
        connections = "None found, but Theorem 1 does not guarantee it."
    else:
        share = percent(graph.n_false / graph.n_edges)
        connections = (
            f"Yes: {graph.n_false:,} of {graph.n_edges:,} edges ({share}), at "
            f"{graph.n_false_points:,} points."
        )
    names = [str(k) for k, torn in zip(a.subspaces.names, pieces, strict=True) if torn]
    whole = "Yes, all of them."
    if names:
        which = (
            f"clusters {_listed(names)} fall"
            if names[1:]
            else f"cluster {names[0]} falls"
        )
        whole = f"No: {which} into pieces" + _connecting(graph)
    correct = graph.n_false == 0 and not names
    error = f"its error in this run is {percent(graph.error)}"
    outcome = f"Not guaranteed{_better_q(certificate, graph)}; {error}."
    if correct:
        outcome = f"Yes, by Proposition 1; {error}."
    asked = f"False connections in the graph of {q} neighbours?"
    return [
        Answer(method, asked, connections, graph.n_false == 0),
        Answer(method, "Is every cluster connected in it?", whole, not names),
        Answer(method, "So are the clusters found correctly?", outcome, correct),
    ]


def _better_q(certificate: Certificate, graph: GraphFacts) -> str:
    """Name the q with which clusters surely are pure and connected, if there are."""
    low, high = graph.connecting_q, certificate.largest_q
    if certificate.holds is not True or low is None or low > high:
        return ""
    span = f"q from {low} to {high}" if low < high else f"q = {low}"
    return f", but it would be with {span}"


def _connecting(graph: GraphFacts) -> str:
    if graph.connecting_q is None:
        return "."
    return f"; all clusters connect from q = {graph.connecting_q} on."


def _angles(a: Assessment) -> Finding:
    c, q = a.tsc, a.situation.n_neighbors
    if c.holds is not False:
        summary = (
            f"every point is nearer in angle to {q} points of its own cluster than to "
            "any point of another"
        )
        remedy = ""
        if c.largest_q > q:
            summary += f"; this stays true up to q = {c.largest_q}"
    else:
        summary = (
            f"at {percent(1 - c.share)} of the points another cluster has a point "
            f"nearer in angle than the {ordinal(q)} nearest of the own cluster"
        )
        remedy = _separation_remedy(c)
    asked = "separation phi_q above the deviation, which is 0 for TSC"
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
    c, tau = a.votes, number(a.votes.tau)
    if c.holds is not False:
        summary = (
            f"votes differ from f by at most {tau}, less than the separation "
            f"{number(c.phi)}"
        )
        remedy = ""
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
        wanted = math.ceil(a.wishes.n_members * (c.tau / c.phi) ** 2)
        remedy = f"about {number(wanted)} members (the difference falls as 1 / sqrt(B))"
        if c.largest_q:
            remedy += f", or q up to {c.largest_q}"
    asked = "separation phi_q, for f of EKSS-0, above the deviation tau of its votes"
    check = Check(
        "phi_q above tau", asked, c.phi, ">", c.tau, c.holds is not False, remedy
    )
    return Finding(
        "Theorem 1",
        "EKSS-0",
        f"no false connections, for the members of seed {a.wishes.seed}",
        _status(c.holds),
        _partly(a, summary),
        (check,),
    )


def _any_seed(a: Assessment) -> Finding:
    p, phi, chance = a.promise, a.votes.phi, percent(1 - a.wishes.failure)
    promised = f"{a.wishes.n_members:,} members promise tau = {number(p.tau)}"
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
    failure = deviation_failure(a.situation.n_samples, phi, a.wishes.n_members)
    asked = f"separation phi_q above the tau that B members promise ({chance} of runs)"
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
    """Theorem 2 holds for clusters one by one; show the one that asks for most."""
    worst = worst_connection(a.connections)
    guarantee, name = a.connections[worst], a.subspaces.names[worst]
    fine = sum(g.holds for g in a.connections)
    total = len(a.connections)
    status = HOLDS if fine == total else NO_USE
    checks = checks_of(guarantee, a.situation)
    summary = f"it applies to {fine} of {total} clusters"
    if fine < total:
        summary += f"; in cluster {name}, {_because(checks)}"
    return Finding(
        "Theorem 2",
        "both",
        f"each cluster connected (shown for cluster {name}, which asks for most)",
        status,
        summary,
        checks,
        guarantee.terms,
        guarantee.total if guarantee.applies else None,
    )


def _of_theorem(guarantee: Guarantee, a: Assessment, method: str) -> Finding:
    checks = checks_of(guarantee, a.situation)
    chance = percent(1 - guarantee.total)
    if guarantee.holds:
        status, summary = HOLDS, f"with probability at least {chance}"
    elif guarantee.applies:
        status = SAYS_NOTHING
        members = _members_for(guarantee, a)
        summary = (
            "the conditions hold, but the failure probability is not below 1: "
            + why_vacuous(guarantee, members, a.wishes.failure)
        )
    else:
        status = NO_USE
        summary = _because(checks)
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
    """Members that bring the deviation term to the failure that was allowed."""
    constants = {c.name: c.value for c in guarantee.conditions}
    tau = min(
        (constants[n] for n in ("C_1", "C_2", "C_3") if n in constants), default=0
    )
    if tau <= 0 or "deviation" not in guarantee.terms:
        return None
    return members_needed(a.situation.n_samples, tau, a.wishes.failure)


def _because(checks: tuple[Check, ...]) -> str:
    """Count the conditions that fail, leaving out those that only follow."""
    main = [check for check in checks if not check.derived]
    failing = [check for check in main if not check.holds] or [
        check for check in checks if not check.holds
    ]
    return f"{len(failing)} of {len(main)} conditions fail"


def _separation_remedy(c: Certificate) -> str:
    if c.largest_q:
        return f"q up to {c.largest_q}"
    return (
        f"no q: the very nearest point is of another cluster at "
        f"{percent(1 - c.nearest_share)} of the points; smaller affinity between the "
        "subspaces, more points per cluster or other features"
    )


def _status(holds: bool | None) -> str:
    return OPEN if holds is None else HOLDS if holds else FAILS


def _partly(a: Assessment, summary: str) -> str:
    if a.complete:
        return summary
    n = a.situation.n_samples
    return f"of {a.n_rows:,} points looked at, out of {n:,}: {summary}"


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
