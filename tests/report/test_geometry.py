import numpy as np
import pytest

from ekss import KSS, TSC
from ekss.metrics import principal_angles, subspace_affinity
from ekss.report import _geometry
from ekss.report._facts import Facts
from ekss.report._fitted import read_inputs
from ekss.report._geometry import angles_of, fit_of


def test_distances_and_energy_are_those_of_the_estimator(union, ensemble):
    inputs = read_inputs(ensemble, union.data)
    facts = Facts(inputs, "")
    fit = facts.fit
    expected = ensemble.transform(union.data)[:, list(inputs.names)]
    np.testing.assert_allclose(fit.distances, expected, atol=1e-12)
    own = expected[np.arange(160), inputs.codes]
    for k in range(4):
        lost = np.mean(own[inputs.codes == k] ** 2)  # points have length 1
        assert facts.clusters[k].captured == pytest.approx(1 - lost)
    assert not fit.fitted_here


def test_effective_dim_is_that_of_clean_subspaces(rng):
    bases = [np.linalg.qr(rng.standard_normal((20, d)))[0] for d in (1, 2, 5)]
    X = np.concatenate([rng.standard_normal((80, b.shape[1])) @ b.T for b in bases])
    model = KSS(3, 5, random_state=0).fit(X)
    model.labels_ = np.repeat([0, 1, 2], 80)
    inputs = read_inputs(model, X)
    dims = dict(zip(inputs.names, fit_of(inputs).effective_dims, strict=True))
    assert dims == {0: 1, 1: 2, 2: 5}


def test_affine_energy_is_measured_from_the_mean(rng):
    X = 100 + rng.standard_normal((50, 6)) * [3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3]
    model = KSS(1, 1, affine=True, random_state=0).fit(X)
    (cluster,) = Facts(read_inputs(model, X), "").clusters
    assert cluster.energy == pytest.approx(X.var(axis=0).sum())
    assert cluster.effective_dim == 1
    assert 0.999 < cluster.captured < 1


def test_methods_without_subspaces_get_principal_components(union):
    model = TSC(4, random_state=0).fit(union.data)
    facts = Facts(read_inputs(model, union.data), "")
    assert facts.fit.fitted_here
    assert facts.fit.dim == 3
    assert min(cluster.captured for cluster in facts.clusters) > 0.95


def test_a_sample_is_measured_where_all_would_take_long(monkeypatch, union, ensemble):
    monkeypatch.setattr(_geometry, "_WORK", 0)
    monkeypatch.setattr(_geometry, "_SMALLEST_SAMPLE", 50)
    fit = fit_of(read_inputs(ensemble, union.data))
    assert len(fit.rows) == len(set(fit.rows)) == 50
    assert fit.distances.shape == (50, 4)


def test_residual_histograms_count_every_point(union, ensemble):
    inputs = read_inputs(ensemble, union.data)
    facts = Facts(inputs, "")
    counts = [sum(cluster.residual_histogram) for cluster in facts.clusters]
    np.testing.assert_array_equal(counts, inputs.sizes)
    nearest = facts.fit.distances.argmin(axis=1) != inputs.codes
    expected = [nearest[inputs.codes == k].mean() for k in range(4)]
    elsewhere = [cluster.nearer_elsewhere for cluster in facts.clusters]
    np.testing.assert_allclose(elsewhere, expected)


def test_angles_equal_the_metrics_of_each_pair(rng):
    bases = np.stack([np.linalg.qr(rng.standard_normal((12, 3)))[0] for _ in range(4)])
    angles = angles_of(bases)
    for i in range(4):
        for j in set(range(4)) - {i}:
            smallest = np.degrees(principal_angles(bases[i], bases[j])[0])
            assert angles.smallest[i, j] == pytest.approx(smallest)
            affinity = subspace_affinity(bases[i], bases[j])
            assert angles.affinities[i, j] == pytest.approx(affinity)
    assert not angles.smallest.diagonal().any()
