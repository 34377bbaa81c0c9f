"""The unit in which points are measured plays no role."""

from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array

from ekss import (
    EKSS,
    GSC,
    KSS,
    LRR,
    LRSC,
    LSR,
    SLBF,
    SSC,
    SSCOMP,
    TSC,
    CoPKSS,
    EnSC,
    LabelFreeSearch,
    MedianKFlats,
    PaperEKSS,
)
from ekss.datasets import make_union_of_subspaces
from ekss.estimators._affinity import (
    AffinityClusterer,
    Similarity,
    bridge_by_angle,
)
from ekss.metrics import clustering_error

FACTORS = [2.0**40, 0.01, 1e-20, 1e20]

ESTIMATORS = {
    "EKSS": lambda **options: EKSS(3, n_members=15, **options),
    "PaperEKSS": lambda **options: PaperEKSS(
        3, 2, n_members=30, n_neighbors=5, **options
    ),
    "KSS": lambda **options: KSS(3, 2, n_init=5, **options),
    "CoPKSS": lambda **options: CoPKSS(3, 2, n_init=5, **options),
    "MedianKFlats": lambda **options: MedianKFlats(3, 2, n_init=5, **options),
    "TSC": lambda **options: TSC(3, **options),
    "TSC, bridged": lambda **options: TSC(3, n_neighbors=1, **options),
    "SSC": lambda **options: SSC(3, **options),
    "SSC, outliers": lambda **options: SSC(3, alpha_outliers=20, **options),
    "SSCOMP": lambda **options: SSCOMP(3, n_nonzero=3, tol=0.05, **options),
    "SSCOMP, bridged": lambda **options: SSCOMP(3, n_nonzero=1, **options),
    "EnSC": lambda **options: EnSC(3, gamma=10, **options),
    "EnSC, bridged": lambda **options: EnSC(3, gamma=1.01, l1_ratio=1.0, **options),
    "GSC": lambda **options: GSC(3, 2, **options),
    "SLBF": lambda **options: SLBF(3, 2, **options),
    "LSR": lambda **options: LSR(3, **options),
    "LRSC": lambda **options: LRSC(3, **options),
    "LRSC, stochastic": lambda **options: LRSC(3, doubly_stochastic=1, **options),
    "LRR": lambda **options: LRR(3, **options),
    "LabelFreeSearch": lambda normalize, random_state: LabelFreeSearch(
        TSC(3, normalize=normalize), {"n_neighbors": [3, 5]}, random_state=random_state
    ),
}
# Those that assign new points.
MODELS = ["EKSS", "PaperEKSS", "KSS", "CoPKSS", "MedianKFlats"]


def separate_planes():
    """Three orthogonal planes and a trace of noise; the rows differ in length."""
    rng = np.random.default_rng(0)
    data = make_union_of_subspaces(
        bases=np.eye(6).reshape(6, 3, 2).transpose(1, 0, 2),
        n_per_subspace=18,
        noise=0.01,
        random_state=0,
    )
    lengths = rng.uniform(1.0, 3.0, (len(data.data), 1))
    return data.data * lengths, data.target


@pytest.mark.filterwarnings("ignore:.*did not reach tol")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_labels_do_not_change_when_all_points_are_multiplied(name, normalize, dtype):
    X, truth = separate_planes()
    X = X.astype(dtype)

    def labels(factor):
        model = ESTIMATORS[name](normalize=normalize, random_state=0)
        return model.fit((X * factor).astype(dtype)).labels_

    expected = labels(1.0)
    # GSC prefers long points to near ones if they are not normalised.
    allowed = 1 if name == "GSC" and not normalize else 0
    assert clustering_error(truth, expected) <= allowed / len(X)
    for factor in FACTORS:
        np.testing.assert_array_equal(labels(factor), expected, err_msg=str(factor))


def model_of(name, affine):
    options = {} if name == "MedianKFlats" else {"affine": affine}
    return ESTIMATORS[name](normalize=False, random_state=0).set_params(**options)


@cache
def fitted_to_planes(name, affine):
    return model_of(name, affine).fit(separate_planes()[0].astype(np.float32))


@pytest.mark.parametrize("factor", [1e-25, 1e-20, 1e20, 1e30])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_new_points_are_assigned_and_measured_at_any_scale(name, affine, factor):
    if affine and name == "MedianKFlats":
        pytest.skip("its subspaces are linear")
    X = separate_planes()[0].astype(np.float32)
    plain = fitted_to_planes(name, affine)
    model = model_of(name, affine).fit(np.float32(factor) * X)
    new = X + 0.01 * np.roll(X, 1, axis=0)
    np.testing.assert_array_equal(plain.predict(X), plain.labels_)
    assert len(np.unique(plain.predict(new))) == 3
    scaled = np.float32(factor) * new
    np.testing.assert_array_equal(model.predict(scaled), plain.predict(new))
    distances = model.transform(scaled).astype(np.float64) / factor
    np.testing.assert_allclose(distances, plain.transform(new), rtol=0.01, atol=0.01)
    expected = -np.square(distances.min(axis=1)).mean()
    assert model.score(scaled) / factor**2 == pytest.approx(expected, rel=1e-3)


class Given(AffinityClusterer):
    """Cut a graph of two blocks, joined by edges, and a point that it leaves alone."""

    def __init__(self, normalize=False):
        self.n_clusters, self.normalize, self.n_jobs = 2, normalize, None
        self.random_state, self.verbose = 0, 0

    def _check_parameters(self, points):
        pass

    def _build_affinity(self, points, workers):
        graph = np.zeros((41, 41))
        graph[:40, :40] = np.kron(np.eye(2), np.full((20, 20), 0.2))
        graph[:40, :40] += np.kron([[0, 1], [1, 0]], 0.4 * np.eye(20))
        return Similarity(csr_array(graph))


@pytest.mark.parametrize("factor", [1e-20, 0.01, 1.0, 10.0, 200.0, 1e20])
def test_a_stray_point_is_no_cluster_at_any_scale(factor):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(2), 20, axis=0) @ rng.random((2, 8))
    X = np.vstack([X, X[:20].mean(axis=0)]) + 0.05 * rng.standard_normal((41, 8))
    labels = Given().fit(factor * X).labels_
    assert clustering_error(np.r_[np.repeat([0, 1], 20), 0], labels) == 0


def test_bridges_weigh_cosines_whatever_the_lengths_of_the_points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    rows, group = np.array([3, 17]), np.arange(30)
    plain = bridge_by_angle(X, rows, group).toarray()
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for row in rows:
        cosines = np.abs(unit @ unit[row])
        cosines[row] = 0
        largest = np.sort(cosines)[-3:]
        np.testing.assert_allclose(np.sort(plain[row])[-3:], largest)
    lengths = rng.uniform(1e-3, 1e3, (30, 1))
    np.testing.assert_allclose(
        bridge_by_angle(lengths * X, rows, group).toarray(), plain
    )
