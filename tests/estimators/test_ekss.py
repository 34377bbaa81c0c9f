import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info

import ekss
from ekss import EKSS, CutOptions, KSSMember, PaperEKSS
from ekss.core.ksubspaces import MemberOptions, run_member
from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces
from ekss.ensemble.prepare import leading_coordinates
from ekss.graph import coassociation_dense, coassociation_topq
from ekss.metrics import clustering_error


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(
        n_subspaces=3, dims=4, n_features=30, n_per_subspace=60, random_state=0
    )


def long_runs(n_candidates):
    """Members that run until they settle, as the paper needs them at tiny angles."""
    return KSSMember(n_candidates, max_iter=30)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
@parametrize_with_checks([EKSS(n_members=10)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_random_subspaces_are_recovered_without_error():
    for seed in range(3):
        data = make_union_of_subspaces(
            n_subspaces=3,
            dims=10,
            n_features=100,
            n_per_subspace=80,
            random_state=seed,
        )
        for dim in (10, "auto"):
            model = EKSS(3, dim, n_members=50, random_state=seed, n_jobs=2)
            assert clustering_error(data.target, model.fit_predict(data.data)) == 0


def test_two_subspaces_at_a_small_angle_are_told_apart():
    for seed in range(2):
        data = make_subspaces_at_angle(0.05, n_per_subspace=300, random_state=seed)
        keep = data.target < 2
        X, y = data.data[keep], data.target[keep]
        model = EKSS(
            2, 10, member=long_runs(2), n_members=100, random_state=seed, n_jobs=2
        )
        assert clustering_error(y, model.fit_predict(X)) < 0.02


@pytest.mark.parametrize("n_neighbors", [10, 84, 250])
def test_three_subspaces_at_a_tiny_angle_are_told_apart_at_any_q(n_neighbors):
    data = make_subspaces_at_angle(0.02, random_state=0)
    model = EKSS(
        3,
        10,
        member=long_runs(3),
        n_members=200,
        n_neighbors=n_neighbors,
        random_state=0,
        n_jobs=2,
    )
    assert clustering_error(data.target, model.fit_predict(data.data)) < 0.01


def test_ekss0_votes_rank_pairs_by_their_angle():
    # the agreement is limited by the noise of B votes: 0.999 here
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = PaperEKSS(2, 1, n_candidates=4, n_members=5_000, max_iter=0)
    model.set_params(random_state=0, n_jobs=2)
    votes = coassociation_dense(model.fit(X).member_labels_)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    pairs = np.triu_indices(20, 1)
    assert spearmanr(votes[pairs], np.abs(X @ X.T)[pairs]).statistic > 0.99


def test_noise_outliers_and_missing_entries_degrade_gently():
    data = make_union_of_subspaces(
        n_subspaces=3,
        dims=4,
        n_features=50,
        n_per_subspace=100,
        noise=0.2,
        missing=0.1,
        outliers=0.05,
        random_state=1,
    )
    labels = EKSS(3, 4, random_state=0, n_jobs=2).fit_predict(data.data)
    inliers = data.target >= 0
    assert clustering_error(data.target[inliers], labels[inliers]) < 0.05


def test_affine_subspaces_that_share_directions_need_affine_members():
    # three parallel planes: as linear subspaces through the origin they cannot differ
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 80)
    X = np.hstack([rng.standard_normal((240, 2)), 3.0 * np.eye(3)[y]])
    X[:, 2:] += 0.01 * rng.standard_normal((240, 3))
    labels = EKSS(3, 2, affine=True, random_state=0, n_jobs=2).fit_predict(X)
    assert clustering_error(y, labels) == 0


def test_affine_model_predicts_far_from_the_origin(union):
    X = union.data.astype(np.float32) + 1000
    model = EKSS(3, 4, affine=True, n_members=50, random_state=0).fit(X)
    residual = model.transform(X).min(axis=1)
    assert residual.max() < 0.05
    assert (model.predict(X) == model.labels_).mean() > 0.9


@pytest.mark.parametrize("update", ["pca", "power"])
def test_labels_do_not_depend_on_the_number_of_workers(union, update):
    model = EKSS(3, 4, n_members=40, member=KSSMember(update=update), random_state=5)
    one = clone(model).set_params(n_jobs=1).fit(union.data)
    two = clone(model).set_params(n_jobs=2).fit(union.data)
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.member_labels_.tobytes() == two.member_labels_.tobytes()
    assert one.member_weights_.tobytes() == two.member_weights_.tobytes()
    assert (one.affinity_ != two.affinity_).nnz == 0


def test_labels_do_not_depend_on_the_joblib_backend(union):
    here = EKSS(3, 4, n_members=16, random_state=5).fit(union.data)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        there = EKSS(3, 4, n_members=16, random_state=5).fit(union.data)
    assert here.labels_.tobytes() == there.labels_.tobytes()


def test_members_can_be_run_in_any_order(union):
    member = KSSMember(3, max_iter=2, update="pca")
    model = EKSS(
        3, 4, n_members=12, member=member, normalize=False, random_state=5
    ).fit(union.data)
    points = leading_coordinates(model.preparation_(union.data), 3, 4).points
    seed = int(np.random.RandomState(5).randint(np.iinfo(np.int32).max))
    options = MemberOptions((3, 3), (4, 4), 2, "pca")
    for b in np.random.default_rng(0).permutation(12):
        member = run_member(points, seed, int(b), options)
        np.testing.assert_array_equal(member.labels, model.member_labels_[:, b])
        # BLAS may use more threads here than within the fit
        assert member.weight == pytest.approx(model.member_weights_[b], rel=1e-12)


def test_attributes_have_the_documented_shapes(union):
    n = len(union.data)
    model = EKSS(3, 4, n_members=20, random_state=0).fit(union.data)
    assert model.labels_.shape == (n,)
    assert set(model.labels_) == {0, 1, 2}
    assert model.bases_.shape == (3, 30, 4)
    assert model.offsets_ is None
    assert model.member_labels_.shape == (n, 20)
    assert model.member_labels_.dtype == np.uint8
    assert model.member_weights_.shape == (20,)
    assert model.embedding_.shape == (n, 3)
    assert model.affinity_.shape == (n, n)
    assert model.eigenvalues_.shape == (4,)
    assert (model.n_clusters_, model.subspace_dim_) == (3, 4)
    assert 1 <= model.n_iter_ <= 5
    assert 1 <= model.n_neighbors_ < n
    assert model.affine_ is False
    best = model.candidates_[0]
    of_its_graph = [one for one in model.candidates_ if one.graph == best.graph]
    assert best.n_neighbors == model.n_neighbors_
    assert best.score == min(one.score for one in of_its_graph)
    assert {one.graph for one in model.finalists_} == {"votes", "expressions"}
    gram = model.bases_.transpose(0, 2, 1) @ model.bases_
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(4), gram.shape), atol=1e-9)


@pytest.mark.parametrize("name", ["EKSS", "TSC", "SSC", "SSCOMP", "EnSC"])
def test_affinity_can_be_cut_by_scikit_learn(union, name):
    model = getattr(ekss, name)(3, random_state=0).fit(union.data)
    cut = SpectralClustering(3, affinity="precomputed", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the graph is not connected: it is right
        assert cut.fit_predict(model.affinity_).shape == (180,)


def test_affinity_is_the_top_q_graph_of_the_members(union):
    model = EKSS(3, 4, n_members=20, n_neighbors=7, random_state=0).fit(union.data)
    labels, weights = model.member_labels_, model.member_weights_
    graph = coassociation_topq(labels, weights, 7, divide_by_size=True)
    assert (graph != model.affinity_).nnz == 0
    uniform = KSSMember(weighting="uniform")
    counted = clone(model).set_params(member=uniform).fit(union.data)
    graph = coassociation_topq(labels, None, 7, divide_by_size=True)
    assert (graph != counted.affinity_).nnz == 0
    plain = CutOptions(divide_by_size=False)
    paper = clone(model).set_params(cut=plain).fit(union.data)
    graph = coassociation_topq(labels, weights, 7)
    assert (graph != paper.affinity_).nnz == 0
    chosen = clone(model).set_params(n_neighbors="auto").fit(union.data)
    graph = coassociation_topq(
        labels, weights, chosen.n_neighbors_, divide_by_size=True
    )
    assert (graph != chosen.affinity_).nnz == 0


def test_predict_transform_and_score_follow_the_subspaces(union):
    model = EKSS(3, 4, n_members=50, random_state=0).fit(union.data)
    np.testing.assert_array_equal(model.predict(union.data), model.labels_)
    distances = model.transform(union.data)
    assert distances.shape == (180, 3)
    own = distances[np.arange(180), model.labels_]
    assert own.max() < 1e-10
    assert model.score(union.data) == pytest.approx(0, abs=1e-20)
    fresh = np.random.default_rng(0).standard_normal((7, 4)) @ union.bases[1].T
    assert len(set(model.predict(fresh))) == 1
    # sign and length of a point carry no information for linear subspaces
    np.testing.assert_array_equal(model.predict(-5 * union.data), model.labels_)


def test_rotation_sign_and_scale_of_points_keep_the_partition(union):
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    scale = rng.uniform(0.01, 100, (180, 1)) * rng.choice([-1, 1], (180, 1))
    moved = EKSS(3, 4, random_state=0).fit_predict(scale * union.data @ rotation)
    assert clustering_error(union.target, moved) == 0


def test_ranges_let_members_differ_and_still_recover(union):
    model = EKSS(3, (2, 6), member=KSSMember((3, 8)), n_members=100, random_state=0)
    assert clustering_error(union.target, model.fit_predict(union.data)) == 0
    counts = model.member_labels_.max(axis=0)
    assert counts.min() < counts.max()
    assert model.subspace_dim_ == 4


def test_float32_gives_float32_bases_and_the_same_partition(union):
    model = EKSS(3, 4, random_state=0).fit(union.data.astype(np.float32))
    assert model.bases_.dtype == np.float32
    assert clustering_error(union.target, model.labels_) == 0


def test_zero_rows_and_duplicates_are_clustered():
    data = make_union_of_subspaces(
        n_subspaces=3, dims=3, n_features=20, n_per_subspace=50, random_state=0
    )
    X = np.vstack([data.data, np.zeros((2, 20)), data.data[:5]])
    labels = EKSS(3, 3, random_state=0).fit_predict(X)
    assert clustering_error(data.target, labels[:150]) == 0
    np.testing.assert_array_equal(labels[152:], labels[:5])


def test_more_features_than_points_works():
    data = make_union_of_subspaces(
        n_subspaces=2, dims=2, n_features=300, n_per_subspace=20, random_state=0
    )
    labels = EKSS(2, 2, random_state=0).fit_predict(data.data)
    assert clustering_error(data.target, labels) == 0


@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_extreme_scales_neither_overflow_nor_vanish(union, value):
    labels = EKSS(3, 4, n_members=50, random_state=0).fit_predict(union.data * value)
    assert clustering_error(union.target, labels) == 0


def test_one_cluster_and_one_cluster_per_point():
    X = np.random.default_rng(0).standard_normal((6, 4))
    assert set(EKSS(1, 1, n_members=5, random_state=0).fit_predict(X)) == {0}
    labels = EKSS(6, 1, n_members=5, random_state=0).fit_predict(X)
    assert labels.shape == (6,)


def test_pipeline_clone_pickle_and_pandas_work(union):
    frame = pd.DataFrame(union.data, columns=[f"pixel{i}" for i in range(30)])
    model = EKSS(3, 4, n_members=20, random_state=0)
    fitted = clone(model).set_output(transform="pandas").fit(frame)
    assert list(fitted.feature_names_in_[:2]) == ["pixel0", "pixel1"]
    table = fitted.transform(frame)
    assert list(table.columns) == ["ekss0", "ekss1", "ekss2"]
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict(frame), fitted.predict(frame))
    model.set_params(n_members=100)
    piped = make_pipeline(PCA(15), clone(model)).fit_predict(union.data)
    assert clustering_error(union.target, piped) == 0


def test_automatic_dimension_of_lines_in_the_plane_is_one():
    rng = np.random.default_rng(0)
    y = np.repeat(range(3), 60)
    directions = np.array([[1, 0], [0.5, 0.87], [-0.5, 0.87]])
    X = rng.standard_normal((180, 1)) * directions[y]
    X += 0.005 * rng.standard_normal((180, 2))
    model = EKSS(3, n_members=50, random_state=0).fit(X)
    assert model.subspace_dim_ == 1
    assert clustering_error(y, model.predict(X)) < 0.05


def test_robust_members_recover_subspaces_too(union):
    robust = KSSMember(3, update="cop")
    model = EKSS(3, 4, member=robust, n_members=60, random_state=0, n_jobs=2)
    assert clustering_error(union.target, model.fit_predict(union.data)) == 0


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_unnormalised_points_of_extreme_scale_are_clustered(union, scale):
    model = EKSS(3, 4, normalize=False, n_members=50, random_state=0)
    assert clustering_error(union.target, model.fit_predict(scale * union.data)) == 0


@pytest.mark.parametrize("value", [np.True_, np.False_])
def test_numpy_booleans_mean_what_they_say(union, value):
    X = union.data * np.linspace(1, 9, 180)[:, None]
    ours = EKSS(3, 2, normalize=value, n_members=10, random_state=0).fit(X)
    plain = EKSS(3, 2, normalize=bool(value), n_members=10, random_state=0).fit(X)
    np.testing.assert_array_equal(ours.member_weights_, plain.member_weights_)
    assert EKSS(3, 2, affine=value, n_members=5, verbose=np.False_).fit(X).labels_.size


def test_fits_in_two_threads_leave_blas_as_it_was(union, two_threads):
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(2) as pool:
        short = pool.submit(EKSS(3, 4, n_members=5, random_state=0).fit, union.data)
        long = pool.submit(EKSS(3, 4, n_members=80, random_state=0).fit, union.data)
        short.result(), long.result()
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_backends_without_streaming_work_too(union):
    here = EKSS(3, 4, n_members=8, random_state=5).fit(union.data)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        there = EKSS(3, 4, n_members=8, random_state=5).fit(union.data)
    assert here.labels_.tobytes() == there.labels_.tobytes()


def test_verbose_shows_a_bar_for_each_stage(union, capsys):
    EKSS(3, 4, n_members=10, random_state=0, verbose=1).fit(union.data)
    shown = capsys.readouterr()
    assert shown.out == ""
    for stage in ("members", "votes", "cuts", "choice", "left"):
        assert stage in shown.err
    EKSS(3, 4, n_members=10, random_state=0).fit(union.data)
    assert capsys.readouterr().err == ""


GOOD = np.random.default_rng(0).standard_normal((20, 5))


def told(**options):
    return {"member": KSSMember(**options)}


@pytest.mark.parametrize(
    ("X", "params", "words"),
    [
        (np.where(GOOD > 1, np.nan, GOOD), {"missing": "error"}, "contains NaN"),
        (np.where(GOOD > 1, np.inf, GOOD), {}, "contains infinity"),
        (GOOD[0], {}, "Expected 2D array, got 1D array"),
        (GOOD[:1], {}, "1 sample"),
        (GOOD[:0], {}, "0 sample"),
        (GOOD[:, :0], {}, "0 feature"),
        (csr_array(GOOD), {}, "Sparse data was passed.*toarray"),
        (GOOD, {"n_clusters": 21}, "n_clusters=21 exceeds n_samples=20; .*at most 20"),
        (GOOD, {"n_clusters": 0}, "n_clusters=0 is below 1"),
        (GOOD, {"n_clusters": 2.5}, "n_clusters=2.5 is float; pass an integer"),
        (GOOD, {"subspace_dim": 0}, "subspace_dim=0 is below 1"),
        (GOOD, {"subspace_dim": 6}, "subspace_dim=6 exceeds n_features=5"),
        (GOOD, {"subspace_dim": (3, 2)}, "runs downwards"),
        (GOOD, {"subspace_dim": (1, 2, 3)}, "3 entries"),
        (GOOD, {"subspace_dim": "best"}, "subspace_dim='best' is not known"),
        (GOOD, {"n_neighbors": 20}, "n_neighbors=20 exceeds n_samples-1=19"),
        (GOOD, {"n_neighbors": 0}, "n_neighbors=0 is below 1"),
        (GOOD, {"n_neighbors": "all"}, "n_neighbors='all' is not known"),
        (GOOD, {"n_members": -1}, "n_members=-1 is below 1"),
        (GOOD, {"n_members": 0}, "n_members=0 is below 1"),
        (GOOD, told(max_iter=-1), "max_iter=-1 is below 0"),
        (GOOD, told(n_candidates=21), "n_candidates=21 exceeds n_samples=20"),
        (GOOD, told(update="svd"), "update='svd' is not known; choose one of 'pca'"),
        (GOOD, told(weighting="size"), "weighting='size' is not known"),
        (GOOD, told(max_samples=1), "max_samples=1 is below 2"),
        (GOOD, {"max_samples": 1}, "max_samples=1 is below 2"),
        (GOOD, {"max_samples": "all"}, "max_samples='all' is not known"),
        (GOOD, {"max_samples": 2.5}, "max_samples=2.5 is float"),
        (GOOD, {"normalize": "l2"}, "normalize='l2' is not known"),
        (GOOD, {"affine": "yes"}, "affine='yes' is not known; pass 'auto' or True"),
        (GOOD, {"affine": 1}, "affine=1; pass True or False"),
        (GOOD, told(init="near"), "init='near' is not known; choose one of 'auto'"),
        (
            GOOD,
            told(n_candidates="all"),
            "n_candidates='all' is not known; pass 'auto'",
        ),
        (GOOD, {"cut": CutOptions(divide_by_size=1)}, "divide_by_size=1; pass True"),
        (GOOD, {"cut": CutOptions(pairs="some")}, "pairs='some' is not known"),
        (GOOD, {"cut": CutOptions(score=3)}, "score=3 cannot be called"),
        (GOOD, {"cut": "best"}, "cut='best' is str; pass CutOptions or None"),
        (GOOD, {"subspace_dim": None}, "pass an integer of at least 1 or a pair"),
        (GOOD, {"n_jobs": "all"}, "n_jobs='all' is not a number of workers"),
        (GOOD, {"n_jobs": 0}, "n_jobs=0 is not a number of workers; pass a count"),
    ],
)
def test_bad_input_is_refused_in_words(X, params, words):
    model = EKSS(n_clusters=2, n_members=4).set_params(**params)
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X)
