"""Points that several files of tests cluster."""

import numpy as np
import pytest

from ekss.datasets import make_union_of_subspaces


@pytest.fixture(scope="module")
def planted():
    return make_union_of_subspaces(
        3, 2, n_features=30, n_per_subspace=30, noise=0.1, random_state=0
    )


@pytest.fixture(scope="module")
def leaning(planted):
    """The planted points, each with much of one direction added."""
    rng = np.random.default_rng(0)
    lengths = 2 + rng.random(len(planted.data))
    return planted.data + np.outer(lengths, rng.random(30))
