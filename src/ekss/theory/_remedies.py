"""The conditions of the theorems in words: what is asked, and what would help."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ekss.theory._labelled import Situation, smallest_exponent
from ekss.theory._theorems import (
    Condition,
    Guarantee,
    cap_radius,
    disjoint_rate,
    inner_product_probability,
)

_FLOOR = 1e-12  # written as 0
_LARGEST_COUNT = 10**15  # points beyond which "more than 10^15" is said
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


def number(value: float) -> str:
    """Write a number with three significant digits and a comma between thousands.

    Examples
    --------
    >>> number(59700.0), number(0.012345), number(6.5e16), number(3.0)
    ('59,700', '0.0123', '6.5 × 10^16', '3')
    """
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if abs(value) < _FLOOR:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        digits, exponent = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')} \u00d7 10^{int(exponent)}"
    if abs(value) >= 1000 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def checks_of(guarantee: Guarantee, situation: Situation) -> tuple[Check, ...]:
    """Put the conditions of a theorem into words, except those true by construction."""
    return tuple(
        check_of(condition, situation, guarantee.statement)
        for condition in guarantee.conditions
        if not (condition.holds and condition.name in _ALWAYS_TRUE)
    )


def check_of(condition: Condition, situation: Situation, statement: str) -> Check:
    """Put one condition into words; its name may ask other things in other theorems."""
    asked, remedy = _ASKED[condition.name]
    if condition.holds:
        remedy = ""
    elif callable(remedy):
        remedy = remedy(condition, situation, statement)
    return Check(
        condition.name,
        asked,
        condition.value,
        condition.relation,
        condition.limit,
        condition.holds,
        remedy,
    )


def why_vacuous(guarantee: Guarantee, members: int | None, failure: float) -> str:
    """Say which term makes a failure probability 1 or more, and what would lower it."""
    name = dominant_term(guarantee)
    helps = {
        "too few near neighbours": "more points per cluster or a smaller q",
        "disconnected": "more points per cluster",
        "far points look near": "more than 10 points",
        "projection": "a larger projected dimension",
        "deviation": "more members",
    }[name]
    if name == "deviation" and members is not None:
        return f'its term "{name}" needs {members:,} members to fall to {failure:g}'
    return f'its term "{name}" is the largest; {helps} would lower it'


def size_for_neighbours(dim: int, share: float) -> float:
    r"""Fewest points of a cluster that leave room for q in Theorems 4, 5 and 8.

    The smallest n with :math:`12 (24 \pi)^{d-1} \log n < n / share`.

    Returns
    -------
    float
        Infinite above 10^15.

    Examples
    --------
    >>> size_for_neighbours(2, 1.0), size_for_neighbours(2, 6.0)
    (8149.0, 59700.0)
    """
    needed = 12 * (24 * math.pi) ** (dim - 1)
    return _fewest(lambda n: needed * math.log(n) < n / share)


def size_for_cap(dim: int, gamma: float = 3.0) -> float:
    """Fewest points of a cluster whose cap of Theorem 2 is small enough.

    Examples
    --------
    >>> size_for_cap(2)
    994.0
    """
    return _fewest(
        lambda n: cap_radius(min(gamma * math.log(n) / n, 1.0), dim) < math.pi / 48
    )


def size_for_rate(dim: int, ratio: float, q: int) -> float:
    """Fewest points of a cluster for c_1 of Lemma 1 above 0, q unchanged.

    Examples
    --------
    >>> size_for_rate(2, 0.5, 3) < 30
    True
    """
    p = inner_product_probability((1 + ratio) / 2, dim)
    return _fewest(lambda n: n > q and disjoint_rate(n, smallest_exponent(q, n), p) > 0)


def dominant_term(guarantee: Guarantee) -> str:
    """Return the name of the largest term of the failure sum."""
    return max(guarantee.terms, key=lambda name: guarantee.terms[name])


def worst_connection(guarantees: Sequence[Guarantee]) -> int:
    """Return the cluster that asks for the largest q in Theorem 2."""
    limits = [
        next(c.limit for c in g.conditions if c.name == "q against log n")
        for g in guarantees
    ]
    return max(range(len(limits)), key=limits.__getitem__)


def _fewest(enough: Callable[[int], bool]) -> float:
    """Smallest count from which on a condition holds; it may hold by chance before."""
    high = 4
    while not enough(high) or not enough(2 * high):
        high *= 2
        if high > _LARGEST_COUNT:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


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


def _dense(condition: Condition, s: Situation, statement: str) -> str:
    return f"{_points(_size_of_dense_clusters(s))} in every cluster"


def _few_neighbours(condition: Condition, s: Situation, statement: str) -> str:
    most = math.ceil(min(s.sizes) / 6) - 1
    grow = f"more than {6 * s.q:,} points in the smallest cluster"
    return f"q of at most {most}, or {grow}" if most >= 1 else grow


def _affinity(condition: Condition, s: Situation, statement: str) -> str:
    limit = condition.limit
    if s.max_affinity > limit:
        factor = s.max_affinity / limit
        return (
            f"subspaces nearer to orthogonal: the largest affinity, "
            f"{number(s.max_affinity)}, is {number(factor)} times the limit. More "
            "points do not help, they lower the limit"
        )
    room = (limit - s.max_affinity) * math.sqrt(
        math.log(s.n_samples) * s.n_features / max(s.dims)
    )
    sigma = (math.sqrt(1 + 4 * room) - 1) / 2
    return f"noise of at most {number(sigma)}; it is {number(s.noise)}"


def _features(condition: Condition, s: Situation, statement: str) -> str:
    return f"more than {number(condition.limit)} features"


def _connected_constant(condition: Condition, s: Situation, statement: str) -> str:
    if min(s.dims) < 2:
        return _LINE
    wanted = _size_of_dense_clusters(s)
    if wanted > min(s.sizes):
        return f"{_points(wanted)} in every cluster"
    return "f is too flat here; members with fewer candidates make it steeper"


def _projection(condition: Condition, s: Situation, statement: str) -> str:
    if math.isinf(condition.limit):
        return "no dimension is enough while C_2 or C_3 is not positive"
    return f"a projection to more than {number(condition.limit)} dimensions, or none"


def _size_of_dense_clusters(s: Situation) -> float:
    return max(size_for_cap(dim) for dim in set(s.dims))


def _points(count: float) -> str:
    """Write how many points are needed."""
    if math.isinf(count):
        return "more than 10^15 points"
    return f"{number(count)} points"


_EXACT = (
    "this theorem is about points without noise; Theorem 6 allows noise, and "
    "subspaces of larger dimension come nearer to their points"
)
_LINE = (
    "points on a line all have the same angle to each other; the theorem does not "
    "cover lines"
)
_FOLLOWS = (
    "it follows from the other conditions if members have at least two candidates"
)
_SMALLER_Q = "a smaller q"
_Remedy = str | Callable[[Condition, Situation, str], str]
_ASKED: dict[str, tuple[str, _Remedy]] = {
    "points on subspaces": (
        "every point, scaled to length 1, lies on the subspace of its cluster (largest "
        "distance)",
        _EXACT,
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
    "q against n": ("q is at most the size of the cluster", _SMALLER_Q),
    "q against N_min^rho": ("q is at most N_min^rho for some rho < 1", _SMALLER_Q),
    "q against N_min / 6": (
        "q is below a sixth of the smallest cluster",
        _few_neighbours,
    ),
    "gamma": ("gamma is above 1", _SMALLER_Q),
    "dim for connectedness": ("subspaces have dimension 2 or more", _LINE),
    "cap radius": (
        "points lie so densely that a cap with 3 log N_k of them is small (its radius)",
        _dense,
    ),
    "C_1": ("the deviation C_1 that the angles allow is positive", _FOLLOWS),
    "C_2": ("the deviation C_2 that the angles allow is positive", _FOLLOWS),
    "C_3": (
        "the deviation C_3 under which clusters stay connected is positive",
        _connected_constant,
    ),
    "largest affinity plus noise": (
        "subspaces are nearly orthogonal: affinity and noise up to 1 / (15 log N)",
        _affinity,
    ),
    "n_features": ("there are more than 6 log N features", _features),
    "n_components against log N": (
        "the projected dimension p exceeds C log N / min(C_2, C_3)^2",
        _projection,
    ),
}
