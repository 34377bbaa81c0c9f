"""How much work a figure takes: smoke, quick or the paper's grid and trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def _evenly(low: float, high: float, count: int) -> tuple[float, ...]:
    step = (high - low) / (count - 1)
    return tuple(round(low + step * number, 4) for number in range(count))


@dataclass(frozen=True)
class FigureProfile:
    """Sizes of the four figures.

    Attributes
    ----------
    name : str
    trials : int
        Random problems a point of figures 3 and 4; their seeds are 0, 1, ...
    instances : int
        Random problems of figure 1.
    repeats : int
        Random sets of pairs of figure 2.
    ekss : mapping
        Members, iterations and basis update of EKSS in figures 3 and 4.
    zero_members, angle_members : int
        Members of EKSS-0 over dimensions, and over angles. High dimensions need
        many, for the votes of near and far points differ little there.
    ssc_iterations : int
        Iterations of SSC at most.
    alphas, noisy_alphas : tuple of float
        Weights of the noise term tried for SSC without and with noise.
    counts : tuple of int
        Points a subspace in figure 3.
    dims : tuple of int
        Dimensions in figure 3.
    angles, noisy_angles : tuple of float
        Angles in radians in figures 3 and 4.
    noisy_count : int
        Points a subspace in figure 4.
    pairs, pair_members : int
        Pairs of points in figure 2, and members of EKSS-0 there.
    one_by_one : bool
        Whether every point of a figure is a cell of its own; otherwise all with the
        same number of points a subspace are one cell.
    judged : bool
        Whether the sizes allow to say which of the paper's findings hold.
    caption : str
        What the reader of the figures has to know.
    """

    name: str
    trials: int
    instances: int
    repeats: int
    ekss: Mapping[str, Any]
    zero_members: int
    angle_members: int
    ssc_iterations: int
    alphas: tuple[float, ...]
    noisy_alphas: tuple[float, ...]
    counts: tuple[int, ...]
    dims: tuple[int, ...]
    angles: tuple[float, ...]
    noisy_angles: tuple[float, ...]
    noisy_count: int = 500
    pairs: int = 1000
    pair_members: int = 1000
    one_by_one: bool = False
    judged: bool = True
    caption: str = ""


SMOKE = FigureProfile(
    name="smoke",
    trials=1,
    instances=1,
    repeats=1,
    ekss={"n_members": 20, "max_iter": 3, "base": "power"},
    zero_members=100,
    angle_members=100,
    ssc_iterations=50,
    alphas=(50.0,),
    noisy_alphas=(20.0,),
    counts=(10, 60),
    dims=(1, 10, 30),
    angles=(0.01, 0.3, 0.8),
    noisy_angles=(0.08, 0.8),
    noisy_count=100,
    pairs=300,
    pair_members=200,
    judged=False,
    caption=(
        "Smoke run: few points, members and one trial. It shows that everything runs; "
        "the errors are not comparable with the paper's."
    ),
)

QUICK = FigureProfile(
    name="quick",
    trials=2,
    instances=20,
    repeats=3,
    ekss={"n_members": 200, "max_iter": 10, "base": "power"},
    zero_members=4000,
    angle_members=2000,
    ssc_iterations=200,
    alphas=(50.0, 800.0),
    noisy_alphas=(100.0, 150.0),
    counts=(10, 30, 100, 250, 500),
    dims=(1, 10, 20, 30, 40, 50, 60, 75),
    angles=(0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8),
    noisy_angles=(0.001, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8),
    caption=(
        "Quick run: a coarser grid and 2 trials where the paper has 100. EKSS has 200 "
        "members of 10 warm power steps in place of the paper's 10000 of 3 iterations "
        "with PCA, and EKSS-0 has 4000 members over dimensions and 2000 over angles in "
        "place of 10000. SSC does at most 200 iterations and takes the better of two "
        "alphas, 50 and 800 without noise (the paper's on real data are 5 to 670), 100 "
        "and 150 with noise."
    ),
)

PAPER = FigureProfile(
    name="paper",
    trials=100,
    instances=100,
    repeats=10,
    ekss={"n_members": 10_000, "max_iter": 3, "base": "pca"},
    zero_members=10_000,
    angle_members=10_000,
    ssc_iterations=1000,
    alphas=(5.0, 20.0, 50.0, 200.0, 800.0, 3200.0),
    noisy_alphas=(5.0, 10.0, 20.0, 50.0, 100.0, 200.0),
    counts=(10, 20, 30, 50, 75, 100, 150, 200, 250, 300, 350, 400, 450, 500),
    dims=(1, *range(5, 76, 5)),
    angles=_evenly(0.001, 0.8, 20),
    noisy_angles=_evenly(0.001, 0.8, 20),
    pairs=5000,
    pair_members=10_000,
    one_by_one=True,
    caption=(
        "The paper's numbers: 10000 members of 3 iterations with PCA, 100 trials, 20 "
        "angles. The paper does not print its grids of N_k and d, only their ranges, "
        "nor the parameters of SSC, of which the best of six counts."
    ),
)

FIGURE_PROFILES = {profile.name: profile for profile in (SMOKE, QUICK, PAPER)}
