import numpy as np
import pytest

from ekss.benchmarks import Points, Profile
from ekss.benchmarks import _versions as versions
from ekss.datasets import make_union_of_subspaces

TINY = Profile(
    name="tiny",
    n_members=8,
    cop_members=4,
    cop_iterations=2,
    update="power",
    trials={"kss": 2, "copkss": 2, "mkf": 2},
    max_iter={"kss": 5, "copkss": 3, "mkf": 3},
    ssc_iterations=20,
    seeds=2,
    cheap=1e9,
    sweep=1,
    free_seeds=2,
    caption="Tiny.",
)


def planted(n_subspaces: int, seed: int, **options: float) -> Points:
    data = make_union_of_subspaces(
        n_subspaces=n_subspaces,
        dims=2,
        n_features=24,
        n_per_subspace=20,
        random_state=seed,
        **options,
    )
    return Points(data.data, data.target.astype(np.int64), f"planted {seed}")


def leaning(n_subspaces: int, seed: int) -> Points:
    """Return planted points that have a direction in common, as raw images have."""
    points = planted(n_subspaces, seed, noise=0.3)
    rng = np.random.default_rng(seed)
    common = np.outer(2 + rng.random(len(points.data)), rng.random(24))
    return Points(points.data + common, points.target, f"leaning {seed}")


@pytest.fixture
def tiny():
    return TINY


@pytest.fixture
def tiny_loaders():
    """Stand-ins for the data sets, through the registry that real runs use too."""
    return {
        "hopkins155": lambda: [planted(2, 0), planted(3, 1)],
        "coil20": lambda: [planted(3, 2)],
        "eyaleb": lambda: [leaning(3, 4)],
        "usps": lambda: [planted(3, 3)],
        "mnist_test": absent,
    }


def absent():
    raise OSError("the file is not there; get it with a command")


@pytest.fixture
def forget_code():
    """A function after which fingerprints are taken again, of files as they are."""

    def forget():
        for cached in (versions._code_in, versions._reached_code, versions._source_of):
            cached.cache_clear()

    forget()
    yield forget
    forget()
