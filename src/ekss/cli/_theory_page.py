"""The page as data: what the terminal, the HTML file and the JSON all show."""

from __future__ import annotations

import math
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

from ekss.cli._theory_findings import Answer, Finding, answers, findings, percent
from ekss.cli._theory_results import Assessment
from ekss.cli._theory_words import Check, number
from ekss.theory import projection_dimension
from ekss.theory._guarantees import OPEN_CONSTANT, size_for_neighbours

VERSION = 1
WORDS = (
    (
        "false connection",
        "an edge of the graph between points of different clusters.",
    ),
    (
        "q",
        "each point is joined to the q points it is most similar to. TSC compares by "
        "angle, EKSS-0 by votes.",
    ),
    (
        "EKSS-0, members, votes",
        "each member draws random candidate subspaces and puts every point to the "
        "nearest one; the vote of two points is the share of members in which they "
        "are together. EKSS goes on to improve the candidates; its guarantees are "
        "those of EKSS-0.",
    ),
    (
        "f",
        "the vote that two points at a given angle get from infinitely many members.",
    ),
    (
        "separation phi_q",
        "half of what the q-th nearest point of the own cluster is more similar than "
        "the nearest point of any other, at the worst point. Below 0 some point is "
        "nearer to another cluster.",
    ),
    ("deviation tau", "the largest difference between a vote and f."),
    (
        "affinity",
        "how close two subspaces are: 0 if orthogonal, 1 if one contains the other. "
        "Principal angles are the angles behind it.",
    ),
    (
        "correct clustering",
        "no false connections and every cluster connected: then the cut of the graph "
        "finds exactly the clusters (Proposition 1).",
    ),
)
_HOW = {"given": "given", "rank": "exact rank", "energy": "95 % of energy"}


@dataclass(frozen=True)
class ClusterRow:
    """A cluster as the page lists it."""

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
class Page:
    """All that is shown, in order."""

    title: str
    facts: tuple[tuple[str, str], ...]
    answers: tuple[Answer, ...]
    clusters: tuple[ClusterRow, ...]
    closest: str
    findings: tuple[Finding, ...]
    unmet: tuple[tuple[str, Check], ...]
    notes: tuple[str, ...]
    ids: tuple[str, ...] | None
    assessment: Assessment

    def named(self, index: int) -> str:
        """Return the row of a point, and its name where it has one."""
        return f"{index} ({self.ids[index]})" if self.ids else str(index)


def make_page(
    a: Assessment, source: str, labels_source: str, ids: tuple[str, ...] | None = None
) -> Page:
    """Arrange an assessment for a reader.

    Parameters
    ----------
    a : Assessment
    source, labels_source : str
        Names of the data and of the labels.
    ids : tuple of str or None, default=None
        Names of the points.

    Returns
    -------
    Page
    """
    found = findings(a)
    return Page(
        f"Recovery guarantees for {source}",
        _facts(a, source, labels_source),
        answers(a, found),
        _clusters(a),
        _closest(a),
        found,
        _unmet(found),
        _notes(a),
        ids,
        a,
    )


def page_json(page: Page) -> dict[str, Any]:
    """Return the page as plain values; what is not finite becomes None."""
    a = page.assessment
    certificates = {
        name: {key: v for key, v in _plain(c).items() if key != "gaps"}
        for name, c in (("tsc", a.tsc), ("ekss0", a.votes))
    }
    return {
        "format": "ekss-theory",
        "version": VERSION,
        "title": page.title,
        "options": _plain(a.wishes),
        "q": a.situation.n_neighbors,
        "n_samples": a.situation.n_samples,
        "n_features": a.situation.n_features,
        "n_rows_compared": a.n_rows,
        "n_candidates": a.n_candidates,
        "candidate_dim": a.candidate_dim,
        "ratio": _plain(a.situation.ratio),
        "max_affinity": _plain(a.situation.max_affinity),
        "noise": _plain(a.situation.noise),
        "missing": _plain(a.situation.missing),
        "tolerated_missing": a.tolerated_missing,
        "affinities": _plain(a.pairs.affinities),
        "largest_cosines": _plain(a.pairs.cosines),
        "closest_angles": _plain(a.pairs.angles),
        "clusters": _plain(page.clusters),
        "certificates": certificates,
        "graphs": {"tsc": _plain(a.tsc_graph), "ekss0": _plain(a.votes_graph)},
        "promise": _plain(a.promise),
        "answers": _plain(page.answers),
        "findings": _plain(page.findings),
        "notes": list(page.notes),
    }


def _plain(value: Any) -> Any:
    """Turn dataclasses and arrays into what JSON has."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if hasattr(value, "items"):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _facts(
    a: Assessment, source: str, labels_source: str
) -> tuple[tuple[str, str], ...]:
    s, w = a.situation, a.wishes
    default = "" if w.q else ", the paper's max(3, N_k / 20)"
    noise = "given" if a.noise_given else "estimated from what is outside subspaces"
    return (
        ("points", f"{s.n_samples:,} with {s.n_features:,} features, from {source}"),
        ("labels", f"{len(s.sizes)} clusters, from {labels_source}"),
        ("neighbours", f"q = {s.n_neighbors}{default}"),
        (
            "EKSS-0",
            f"{w.n_members:,} members of {a.n_candidates} candidates of dimension "
            f"{a.candidate_dim}, seed {w.seed}",
        ),
        ("noise", f"sigma = {number(s.noise)}, {noise}"),
    )


def _clusters(a: Assessment) -> tuple[ClusterRow, ...]:
    sub, rows = a.subspaces, []
    for k in range(len(sub.sizes)):
        others = np.where(np.arange(len(sub.sizes)) == k, -1.0, a.pairs.affinities[k])
        m = int(others.argmax())
        rows.append(
            ClusterRow(
                sub.names[k],
                sub.sizes[k],
                sub.dims[k],
                _HOW[sub.how[k]],
                sub.outside[k],
                sub.names[m],
                float(others[m]),
                float(np.degrees(np.arccos(a.pairs.cosines[k, m]))),
                a.tsc_graph.components[k],
                a.votes_graph.components[k],
            )
        )
    return tuple(rows)


def _closest(a: Assessment) -> str:
    first, second = (a.subspaces.names[k] for k in a.pairs.closest)
    shown = [f"{angle:.3g}°" for angle in a.pairs.angles[:8]]
    more = " ..." if len(a.pairs.angles) > 8 else ""
    return (
        f"The closest subspaces are those of clusters {first} and {second}: affinity "
        f"{number(a.situation.max_affinity)}, principal angles {' '.join(shown)}{more}"
    )


def _unmet(found: tuple[Finding, ...]) -> tuple[tuple[str, Check], ...]:
    """Every failing condition once, with the statements that ask for it."""
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
    s = a.situation
    largest, planes = max(s.sizes), 12 * 24 * math.pi
    projected = projection_dimension(
        s.n_samples,
        max(s.dims),
        constant=OPEN_CONSTANT,
        concentration=OPEN_CONSTANT,
    )
    notes = [
        "Points are named by their row, from 0, and clusters by their label; labels "
        "that are texts were numbered in alphabetical order.",
        "All points were scaled to length 1: both methods see directions only.",
        _dimensions(a),
        "Theorem 1 is about these points and exact. Theorems 2 and 4 to 8 are about "
        "points drawn uniformly from subspaces; that cannot be checked, and the "
        "subspaces used here were fitted to the labelled points.",
        f"Theorems 2, 4, 5 and 8 ask for very large q: even for planes, dimension 2, "
        f"q of at least {planes:.0f} log N_k, which is "
        f"{number(planes * math.log(largest))} for the largest cluster here, and so "
        f"{number(size_for_neighbours(2, 6.0))} points in every cluster (Theorems 5 "
        f"and 8). They rarely apply to data of usual size.",
        "f was averaged over 100,000 draws of candidates; its values are known to "
        "about 0.001.",
        "Theorem 3 uses the paper's constant 2 sqrt(log 2).",
        "Theorem 7 leaves constants open; Lemma 1 with Theorem 3, shown here, is the "
        f"same for known subspaces. It is evaluated for {s.n_missing} missing entries "
        "a point (--missing)." + _tolerance(a),
        f"Theorem 8 leaves two constants open, set to 1 here, and is evaluated for a "
        f"projection on {s.n_components:,} dimensions (--projection). With the same "
        f"constants, no false connections ask for {number(projected.dimension)} "
        f"dimensions.",
    ]
    if not a.complete:
        notes.insert(
            0,
            f"Only {a.n_rows:,} of {s.n_samples:,} points, drawn at random, were "
            "compared with all others (--rows). What fails for them fails; what holds "
            "for them is not guaranteed for the rest, and stays undecided.",
        )
    return tuple(notes)


def _dimensions(a: Assessment) -> str:
    kinds = set(a.subspaces.how)
    if kinds == {"given"}:
        return f"The dimension of all subspaces, {a.wishes.dim}, was given (--dim)."
    if kinds == {"rank"}:
        return "Dimensions are exact: no point is outside the subspace of its cluster."
    return (
        "Dimensions are the smallest that hold 95 % of the energy of a cluster's "
        f"points (at most {percent(max(a.subspaces.outside))} is outside); --dim sets "
        "another."
    )


def _tolerance(a: Assessment) -> str:
    if a.tolerated_missing is None:
        return ""
    return (
        f" By our bounds r_s stays below 1 up to {a.tolerated_missing} missing entries "
        "a point."
    )
