"""Qualitative claims of the paper, on its own synthetic data."""

import pytest

from ekss import EKSS, SSC, TSC, EnSC, KSSMember
from ekss.datasets import make_subspaces_at_angle
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def close_subspaces():
    return make_subspaces_at_angle(0.02, n_per_subspace=200, random_state=0)


@pytest.mark.parametrize(
    "rival",
    [
        TSC(3, n_neighbors=25, random_state=0, n_jobs=2),
        SSC(3, alpha=20.0, tol=1e-3, random_state=0, n_jobs=2),
        EnSC(3, random_state=0, n_jobs=2),
    ],
    ids=lambda rival: type(rival).__name__,
)
def test_methods_on_inner_products_fail_at_a_tiny_angle(rival, close_subspaces):
    labels = rival.fit_predict(close_subspaces.data)
    assert clustering_error(close_subspaces.target, labels) > 0.20


def test_ensemble_tells_subspaces_apart_at_a_tiny_angle(close_subspaces):
    member = KSSMember(3, max_iter=30)
    model = EKSS(3, 10, member=member, random_state=0, n_jobs=2)
    labels = model.fit_predict(close_subspaces.data)
    assert clustering_error(close_subspaces.target, labels) < 0.02
