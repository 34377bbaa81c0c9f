import numpy as np
import pytest

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def union():
    return make_union_of_subspaces(
        n_subspaces=4,
        dims=3,
        n_features=30,
        n_per_subspace=40,
        noise=0.1,
        random_state=0,
    )


@pytest.fixture(scope="session")
def ensemble(union):
    return EKSS(4, 3, n_members=30, n_neighbors=10, random_state=0).fit(union.data)
