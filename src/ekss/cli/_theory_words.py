"""The conditions of the theorems in plain words: what is asked, and what would help."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ekss.theory import Condition, Guarantee
from ekss.theory._guarantees import (
    Situation,
    dominant_term,
    size_for_cap,
    size_for_neighbours,
    size_for_rate,
)

_FLOOR = 1e-12
# True by the choice of gamma and rho; a reader has nothing to decide there.
_ALWAYS_TRUE = ("gamma", "n_neighbors against N_min^rho")
_DERIVED = ("C_1", "C_2")


@dataclass(frozen=True)
class Check:
    """One condition for a reader: what is asked, what it is here, what would help."""

    name: str
    asked: str
    value: float
    relation: str
    limit: float
    holds: bool
    remedy: str

    @property
    def derived(self) -> bool:
        """Whether it only repeats what other conditions say."""
        return self.name in _DERIVED or math.isinf(self.limit)

    @property
    def comparison(self) -> str:
        """Value, relation as it is, limit: 9 is not >= 6,300."""
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
    """Write a number with three digits that count, and thousands apart.

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


def points_or_never(count: float) -> str:
    """Write how many points are wanted."""
    if math.isinf(count):
        return "more than 10^15 points"
    return f"{number(count)} points"


def checks_of(guarantee: Guarantee, situation: Situation) -> tuple[Check, ...]:
    """Put all conditions of a theorem into words but those that hold by choice."""
    return tuple(
        check_of(condition, situation, guarantee.statement)
        for condition in guarantee.conditions
        if not (condition.holds and condition.name in _ALWAYS_TRUE)
    )


def check_of(condition: Condition, situation: Situation, statement: str) -> Check:
    """Put a condition of a theorem into words.

    Parameters
    ----------
    condition : Condition
        As the functions of `ekss.theory` name it.
    situation : Situation
        The data, for what would help.
    statement : str
        The theorem, as the same name may ask for different things.

    Returns
    -------
    Check
    """
    asked, helps = _ASKED[condition.name]
    remedy = "" if condition.holds else helps(condition, situation, statement)
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
    """Say which term of a failure sum of 1 or more is to blame, and what helps."""
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


def _exact(condition: Condition, s: Situation, statement: str) -> str:
    return (
        "this theorem is about points without noise; Theorem 6 allows noise, and a "
        "larger --dim brings points nearer to their subspaces"
    )


def _ratio(condition: Condition, s: Situation, statement: str) -> str:
    if s.n_missing and "r_s" in condition.name:
        return "fewer missing entries, or subspaces at larger angles"
    return (
        "two subspaces share a direction, which no number of points or members "
        "repairs; Theorem 5 allows it, and a smaller --dim may avoid it"
    )


def _rate(condition: Condition, s: Situation, statement: str) -> str:
    ratio = s.missing.upper if statement == "Lemma 1" else s.ratio
    if ratio >= 1:
        return "it needs a ratio below 1 first"
    wanted = max(size_for_rate(dim, ratio, s.n_neighbors) for dim in set(s.dims))
    return f"{points_or_never(wanted)} in every cluster with this q, or a smaller q"


def _many_neighbours(condition: Condition, s: Situation, statement: str) -> str:
    dim = max(s.dims)
    fewest = points_or_never(size_for_neighbours(dim, 1.0))
    wanted = points_or_never(size_for_neighbours(dim, 6.0))
    if fewest == wanted or statement == "Theorem 2":
        lower = "; lower dimensions ask for less" if dim > 2 else ""
        return f"such a q needs clusters of {fewest}{lower}"
    return (
        f"such a q needs clusters of {fewest}, and of {wanted} where q must stay below "
        "a sixth of the smallest (Theorems 5 and 8)"
    )


def _cap(condition: Condition, s: Situation, statement: str) -> str:
    wanted = max(size_for_cap(dim) for dim in set(s.dims))
    return f"{points_or_never(wanted)} in every cluster"


def _line(condition: Condition, s: Situation, statement: str) -> str:
    return "points on a line all have the same angle; the theorem leaves lines out"


def _few_neighbours(condition: Condition, s: Situation, statement: str) -> str:
    most = math.ceil(min(s.sizes) / 6) - 1
    grow = f"more than {6 * s.n_neighbors:,} points in the smallest cluster"
    return f"q at most {most}, or {grow}" if most >= 1 else grow


def _affinity(condition: Condition, s: Situation, statement: str) -> str:
    limit = condition.limit
    if s.max_affinity > limit:
        factor = s.max_affinity / limit
        return (
            f"the largest affinity {number(s.max_affinity)} is {number(factor)} times "
            "the limit: subspaces must be nearer to orthogonal; more points do not "
            "help, they lower the limit"
        )
    room = (limit - s.max_affinity) * math.sqrt(
        math.log(s.n_samples) * s.n_features / max(s.dims)
    )
    sigma = (math.sqrt(1 + 4 * room) - 1) / 2
    return f"noise of at most {number(sigma)}, here it is {number(s.noise)}"


def _features(condition: Condition, s: Situation, statement: str) -> str:
    return f"more than {number(condition.limit)} features"


def _follows(condition: Condition, s: Situation, statement: str) -> str:
    return "follows once the others hold, if members have two candidates or more"


def _connected_constant(condition: Condition, s: Situation, statement: str) -> str:
    if min(s.dims) < 2:
        return _line(condition, s, statement)
    wanted = max(size_for_cap(dim) for dim in set(s.dims))
    if wanted > min(s.sizes):
        return f"{points_or_never(wanted)} in every cluster"
    return "f is too flat here; members with fewer candidates make it steeper"


def _projection(condition: Condition, s: Situation, statement: str) -> str:
    if math.isinf(condition.limit):
        return "no dimension is enough while C_2 or C_3 is not positive"
    return f"project on more than {number(condition.limit)} dimensions, or not at all"


def _never(condition: Condition, s: Situation, statement: str) -> str:
    return "choose a smaller q"


_Remedy = Callable[[Condition, Situation, str], str]
_ASKED: dict[str, tuple[str, _Remedy]] = {
    "points on subspaces": (
        "every point lies on the subspace of its cluster (largest distance, for "
        "points of length 1)",
        _exact,
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
    "n_neighbors against log N_max": (
        "q is at least 12 (24 pi)^(d-1) log N_max, so that clusters connect",
        _many_neighbours,
    ),
    "n_neighbors against log n": (
        "q is at least 12 (24 pi)^(d-1) log N_k",
        _many_neighbours,
    ),
    "n_neighbors against n": ("q is at most the size of the cluster", _never),
    "n_neighbors against N_min^rho": (
        "q is at most N_min^rho for some rho < 1",
        _never,
    ),
    "n_neighbors against N_min / 6": (
        "q is below a sixth of the smallest cluster",
        _few_neighbours,
    ),
    "gamma": ("gamma is above 1", _never),
    "dim for connectedness": ("subspaces have dimension 2 or more", _line),
    "cap radius": (
        "points lie so densely that caps of 3 log N_k points are small (radius)",
        _cap,
    ),
    "C_1": ("the deviation C_1 that angles allow is positive", _follows),
    "C_2": ("the deviation C_2 that angles allow is positive", _follows),
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
