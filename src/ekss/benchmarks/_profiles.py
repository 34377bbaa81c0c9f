"""How much work a run does, of tables and of figures: smoke, quick or the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Profile:
    """Sizes of a run.

    Attributes
    ----------
    name : str
    n_members : int
        Members of EKSS in the paper's and in tuned settings.
    cop_members : int
        The same where members are fitted by Coherence Pursuit, which is slow.
    cop_iterations : int
        Iterations of such members at most.
    update : str
        How KSS and the paper's EKSS update subspaces: by "pca", as in the paper, or
        by "power" steps, which are faster.
    trials : mapping of str to int
        Starts of KSS, CoP-KSS and MKF from which the best is taken by the labels.
    large_share : float
        Share of members and trials on COIL-100, USPS and MNIST-10k; on Hopkins the
        share of members, and one over it the multiple of trials.
    max_iter : mapping of str to int
        Iterations of a start of KSS, CoP-KSS and MKF at most.
    ssc_iterations : int
        Iterations of SSC on COIL-100, USPS and MNIST-10k at most.
    seeds : int
        Seeds 0, 1, ... of every cell.
    cheap : float
        Cells that take more seconds than this run with seed 0 only.
    sweep : int
        Settings of a label-tuned sweep at most.
    subset : mapping of str to int, or None
        Classes and points per class that are kept.
    sequences : int or None
        Sequences of Hopkins 155 that are kept.
    free_seeds : int
        Seeds 0, 1, ... of label-free EKSS.
    caption : str
        What the reader of the table has to know.
    """

    name: str
    n_members: int
    cop_members: int
    cop_iterations: int
    update: str
    trials: Mapping[str, int]
    max_iter: Mapping[str, int]
    ssc_iterations: int
    seeds: int
    cheap: float
    large_share: float = 1.0
    sweep: int = 100
    subset: Mapping[str, int] | None = field(default=None)
    sequences: int | None = None
    free_seeds: int = 5
    caption: str = ""


_SMOKE = Profile(
    name="smoke",
    n_members=24,
    cop_members=8,
    cop_iterations=3,
    update="power",
    trials={"kss": 3, "copkss": 3, "mkf": 3},
    max_iter={"kss": 20, "copkss": 10, "mkf": 10},
    ssc_iterations=50,
    seeds=1,
    cheap=1e9,
    sweep=2,
    subset={"classes": 4, "per_class": 40},
    sequences=4,
    free_seeds=1,
    caption=(
        "Smoke run: 4 classes with 40 points each, 4 sequences of Hopkins 155, few "
        "members and trials. It shows that everything runs; the errors are not "
        "comparable with the paper's."
    ),
)

_QUICK = Profile(
    name="quick",
    n_members=200,
    cop_members=80,
    cop_iterations=10,
    update="power",
    trials={"kss": 40, "copkss": 20, "mkf": 10},
    max_iter={"kss": 60, "copkss": 20, "mkf": 30},
    ssc_iterations=50,
    seeds=3,
    cheap=8.0,
    large_share=0.5,
    caption=(
        "Quick run, full data sets. The paper has 1000 members and the best of 1000 "
        "trials; here EKSS has 200 members (100 on Hopkins, COIL-100, USPS and "
        "MNIST-10k, 40 with at most 10 iterations where they are fitted by Coherence "
        "Pursuit), and KSS, CoP-KSS and MKF the best of 40, 20 and 10 trials (twice as "
        "many on Hopkins, half on the three large sets) of at most 60, 20 and 30 "
        "iterations. KSS and EKSS at the paper's parameters do warm power steps where "
        "the paper has PCA. SSC does at most 50 iterations on the three large sets. "
        "Cells expected to take more than 8 s have one seed, the others three, "
        "label-free EKSS five."
    ),
)

_PAPER = Profile(
    name="paper",
    n_members=1000,
    cop_members=1000,
    cop_iterations=1000,
    update="pca",
    trials={"kss": 1000, "copkss": 1000, "mkf": 1000},
    max_iter={"kss": 100, "copkss": 50, "mkf": 50},
    ssc_iterations=1000,
    seeds=5,
    cheap=1e9,
    caption="The paper's numbers: 1000 members, best of 1000 trials; 5 seeds.",
)

PROFILES = {profile.name: profile for profile in (_SMOKE, _QUICK, _PAPER)}


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
        Random problems per point of figures 3 and 4; their seeds are 0, 1, ...
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
        Points per subspace in figure 3.
    dims : tuple of int
        Dimensions in figure 3.
    angles, noisy_angles : tuple of float
        Angles in radians in figures 3 and 4.
    noisy_count : int
        Points per subspace in figure 4.
    pairs, pair_members : int
        Pairs of points in figure 2, and members of EKSS-0 there.
    one_by_one : bool
        Whether every point of a figure is a cell of its own; otherwise all with the
        same number of points per subspace are one cell.
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


_SMOKE_FIGURES = FigureProfile(
    name="smoke",
    trials=1,
    instances=1,
    repeats=1,
    ekss={"n_members": 20, "max_iter": 3, "update": "power"},
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

_QUICK_FIGURES = FigureProfile(
    name="quick",
    trials=2,
    instances=20,
    repeats=3,
    ekss={"n_members": 200, "max_iter": 10, "update": "power"},
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

_PAPER_FIGURES = FigureProfile(
    name="paper",
    trials=100,
    instances=100,
    repeats=10,
    ekss={"n_members": 10_000, "max_iter": 3, "update": "pca"},
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

FIGURE_PROFILES = {
    profile.name: profile
    for profile in (_SMOKE_FIGURES, _QUICK_FIGURES, _PAPER_FIGURES)
}
