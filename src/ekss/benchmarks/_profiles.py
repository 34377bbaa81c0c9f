"""How much work a run does: smoke, quick or the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    base : str
        Update of K-subspaces: the paper's "pca", or "power", which is faster.
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
        Classes and points a class that are kept.
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
    base: str
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


SMOKE = Profile(
    name="smoke",
    n_members=24,
    cop_members=8,
    cop_iterations=3,
    base="power",
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

QUICK = Profile(
    name="quick",
    n_members=200,
    cop_members=80,
    cop_iterations=10,
    base="power",
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
        "iterations, KSS by warm power steps. SSC does at most 50 iterations on the "
        "three large sets. "
        "Cells expected to take more than 8 s have one seed, the others three, "
        "label-free EKSS five."
    ),
)

PAPER = Profile(
    name="paper",
    n_members=1000,
    cop_members=1000,
    cop_iterations=1000,
    base="pca",
    trials={"kss": 1000, "copkss": 1000, "mkf": 1000},
    max_iter={"kss": 100, "copkss": 50, "mkf": 50},
    ssc_iterations=1000,
    seeds=5,
    cheap=1e9,
    caption="The paper's numbers: 1000 members, best of 1000 trials; 5 seeds.",
)

PROFILES = {profile.name: profile for profile in (SMOKE, QUICK, PAPER)}
