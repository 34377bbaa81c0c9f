import sys
from pathlib import Path

import numpy as np
import pytest

from ekss import EKSS
from ekss.datasets import make_union_of_subspaces

# Files of this folder that several tests use: chromium, planted, seen.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def browser():
    import chromium

    program = chromium.find_chromium()
    if program is None:
        pytest.skip("no Chromium on this machine; on Debian: apt-get install chromium")
    with chromium.Chromium(program) as opened:
        yield opened


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
