"""How much work a run does, of tables and of figures: smoke, quick or the paper's."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# What pages tell their readers, and of every profile what differs from the paper.
TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Profile:
    """Sizes of a run.

    Attributes
    ----------
    name : str
        As it is typed.
    n_members : int
        Members of EKSS in the paper's and in tuned settings.
    cop_members, cop_iterations : int
        Members, and their iterations at most, where they are fitted by Coherence
        Pursuit, which is slow.
    update : str
        How KSS and the paper's EKSS update subspaces: by "pca", as in the paper, or
        by "power" steps, which are faster.
    trials, max_iter : mapping of str to int
        Starts of KSS, CoP-KSS and MKF from which the best is taken by the labels, and
        iterations of a start at most.
    ssc_iterations : int
        Iterations of SSC on COIL-100, USPS and MNIST-10k at most.
    seeds, free_seeds : int
        Seeds 0, 1, ... of every cell, and of label-free EKSS.
    cheap : float
        Cells that take more seconds than this run with seed 0 only.
    large_share : float
        Share of members and trials on COIL-100, USPS and MNIST-10k; on Hopkins the
        share of members, and one over it the multiple of trials.
    sweep : int
        Settings of a label-tuned sweep at most.
    subset : mapping of str to int, or None
        Classes and points per class that are kept.
    sequences : int or None
        Sequences of Hopkins 155 that are kept.
    caption : str
        What the reader of the table has to know.

    Examples
    --------
    >>> from ekss.benchmarks import PROFILES
    >>> PROFILES["smoke"].name
    'smoke'
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
    subset: Mapping[str, int] | None = None
    sequences: int | None = None
    free_seeds: int = 5
    caption: str = ""


# One line per size: smoke, quick, and the paper's.
_SIZES: dict[str, tuple[Any, Any, Any]] = {
    "name": ("smoke", "quick", "paper"),
    "n_members": (24, 200, 1000),
    "cop_members": (8, 80, 1000),
    "cop_iterations": (3, 10, 1000),
    "update": ("power", "power", "pca"),
    "trials": (
        {"kss": 3, "copkss": 3, "mkf": 3},
        {"kss": 40, "copkss": 20, "mkf": 10},
        {"kss": 1000, "copkss": 1000, "mkf": 1000},
    ),
    "max_iter": (
        {"kss": 20, "copkss": 10, "mkf": 10},
        {"kss": 60, "copkss": 20, "mkf": 30},
        {"kss": 100, "copkss": 50, "mkf": 50},
    ),
    "ssc_iterations": (50, 50, 1000),
    "seeds": (1, 3, 5),
    "free_seeds": (1, 5, 5),
    "cheap": (1e9, 8.0, 1e9),
    "large_share": (1.0, 0.5, 1.0),
    "sweep": (2, 100, 100),
    "subset": ({"classes": 4, "per_class": 40}, None, None),
    "sequences": (4, None, None),
    "caption": tuple(TEXTS["tables"].values()),
}


def _by_name(make: Callable[..., Any], sizes: Mapping[str, Sequence[Any]]) -> Any:
    """Return the profiles of a table of sizes, by their names."""
    columns = zip(*sizes.values(), strict=True)
    profiles = [make(**dict(zip(sizes, column, strict=True))) for column in columns]
    return {profile.name: profile for profile in profiles}


PROFILES: dict[str, Profile] = _by_name(Profile, _SIZES)


@dataclass(frozen=True)
class FigureProfile:
    """Sizes of the four figures.

    Attributes
    ----------
    name : str
        As it is typed.
    trials : int
        Random problems per point of figures 3 and 4; their seeds are 0, 1, ...
    instances, repeats : int
        Random problems of figure 1, and random sets of pairs of figure 2.
    ekss : mapping
        Members, iterations and basis update of EKSS in figures 3 and 4.
    zero_members, angle_members : int
        Members of EKSS-0 over dimensions, and over angles. High dimensions need
        many, for the votes of near and far points differ little there.
    ssc_iterations : int
        Iterations of SSC at most.
    alphas, noisy_alphas : tuple of float
        Weights of the noise term tried for SSC without and with noise.
    counts, dims : tuple of int
        Points per subspace and dimensions in figure 3.
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

    Examples
    --------
    >>> from ekss.benchmarks import FIGURE_PROFILES
    >>> FIGURE_PROFILES["smoke"].name
    'smoke'
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


_TWENTY_ANGLES = tuple(np.linspace(0.001, 0.8, 20).round(4).tolist())
_FIGURE_SIZES: dict[str, tuple[Any, Any, Any]] = {
    "name": ("smoke", "quick", "paper"),
    "trials": (1, 2, 100),
    "instances": (1, 20, 100),
    "repeats": (1, 3, 10),
    "ekss": (
        {"n_members": 20, "max_iter": 3, "update": "power"},
        {"n_members": 200, "max_iter": 10, "update": "power"},
        {"n_members": 10_000, "max_iter": 3, "update": "pca"},
    ),
    "zero_members": (100, 4000, 10_000),
    "angle_members": (100, 2000, 10_000),
    "ssc_iterations": (50, 200, 1000),
    "alphas": ((50.0,), (50.0, 800.0), (5.0, 20.0, 50.0, 200.0, 800.0, 3200.0)),
    "noisy_alphas": ((20.0,), (100.0, 150.0), (5.0, 10.0, 20.0, 50.0, 100.0, 200.0)),
    "counts": (
        (10, 60),
        (10, 30, 100, 250, 500),
        (10, 20, 30, 50, 75, *range(100, 501, 50)),
    ),
    "dims": ((1, 10, 30), (1, 10, 20, 30, 40, 50, 60, 75), (1, *range(5, 76, 5))),
    "angles": (
        (0.01, 0.3, 0.8),
        (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8),
        _TWENTY_ANGLES,
    ),
    "noisy_angles": (
        (0.08, 0.8),
        (0.001, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.45, 0.6, 0.8),
        _TWENTY_ANGLES,
    ),
    "noisy_count": (100, 500, 500),
    "pairs": (300, 1000, 5000),
    "pair_members": (200, 1000, 10_000),
    "one_by_one": (False, False, True),
    "judged": (False, True, True),
    "caption": tuple(TEXTS["figures"].values()),
}

FIGURE_PROFILES: dict[str, FigureProfile] = _by_name(FigureProfile, _FIGURE_SIZES)
