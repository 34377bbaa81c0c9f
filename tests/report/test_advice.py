import numpy as np
import pytest

import ekss
from ekss import EKSS, KSS, TSC, KSSMember
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import clustering_error
from ekss.report import Wording, build


def keys(report):
    return [advice["key"] for advice in report.summary["warnings"]]


def test_nothing_is_said_of_good_clusters(union):
    model = EKSS(4, 3, n_members=50, n_neighbors=20, random_state=0).fit(union.data)
    report = build(model, union.data)
    assert keys(report) == []
    assert "Nothing stands out" in report.html


def test_good_news_come_first_then_doubts_then_what_to_do(rng):
    union = make_union_of_subspaces(3, 2, 30, n_per_subspace=40, random_state=0)
    model = KSS(3, 2, max_iter=1, n_init=1, random_state=0).fit(union.data)
    model.labels_, model.bases_ = union.target, np.stack(union.bases)
    report = build(model, union.data)
    page, summary = report.html, report.summary
    good, doubt, todo = (
        page.index(words)
        for words in ("What is good", "stopped before it converged", "What to do")
    )
    assert good < doubt < todo
    assert "The subspaces hold 100 % of the energy" in page
    call = "KSS(max_iter=10, n_clusters=3, n_init=1, random_state=0, subspace_dim=2)"
    assert summary["next_run"] == f"{call}.fit(X)"
    assert f"<code>{call}.fit(X)</code>" in page


def test_advice_speaks_the_language_of_the_reader(union):
    model = KSS(4, 3, max_iter=1, n_init=1, random_state=0).fit(union.data)
    words = Wording(
        lambda text: text.replace("max_iter", "--max-iter"),
        lambda changes: f"run with {dict(changes)}",
    )
    report = build(model, union.data, wording=words)
    (advice,) = [a for a in report.summary["warnings"] if a["key"] == "convergence"]
    assert advice["text"] == "--max-iter reached its limit of 1; raise --max-iter."
    assert report.summary["next_run"] == "run with {'max_iter': 10}"


@pytest.mark.parametrize("n_clusters", [2, 3, 6])
def test_a_wrong_number_of_clusters_is_doubted(union, n_clusters):
    model = EKSS(
        n_clusters,
        3,
        member=KSSMember(4),
        n_members=60,
        n_neighbors=30,
        affine=False,
        random_state=0,
    )
    report = build(model.fit(union.data), union.data)
    # The eigenvalues say it, or the pieces if there are more than three.
    assert {"n_clusters", "components"} & set(keys(report))
    assert "graph suggests 4" in report.html or "4 connected components" in report.html
    assert "n_clusters=4" in report.summary["next_run"]


def test_more_pieces_than_clusters_are_told(union):
    model = TSC(2, n_neighbors=3, random_state=0).fit(union.data)
    report = build(model, union.data)
    assert report.summary["graph"]["n_components"] > 2
    (advice,) = [a for a in report.summary["warnings"] if a["key"] == "components"]
    assert advice["level"] == "warning"
    assert str(report.summary["graph"]["n_components"]) in advice["text"]


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_zero_points_and_a_cluster_of_them_are_told(rng):
    X = np.concatenate([rng.standard_normal((30, 4)), np.zeros((10, 4))])
    model = KSS(2, 1, random_state=0).fit(X)
    model.labels_ = np.repeat([0, 1], [30, 10])
    report = build(model, X)
    assert {"rank0", "zeros"} <= set(keys(report))
    assert "Cluster 1 is near rank 0" in report.html
    assert "10 points are zero" in report.html


@pytest.mark.parametrize("n_used", [2, 3])
def test_what_the_estimators_warn_of_is_told(union, n_used):
    model = KSS(4, 3, random_state=0).fit(union.data)
    model.labels_ = model.labels_ % n_used
    report = build(model, union.data)
    (advice,) = [a for a in report.summary["warnings"] if a["key"] == "empty"]
    assert advice["level"] == "warning"
    assert advice["title"].startswith(f"{4 - n_used} of 4 clusters")
    model = KSS(2, 3, n_init=1, random_state=0)
    with pytest.warns(ekss.ClusteringWarning, match="All points are zero") as caught:
        model.fit(np.zeros((20, 5)))
    report = build(model, np.zeros((20, 5)))
    title, _, text = str(caught[0].message).partition(". ")
    (advice,) = [a for a in report.summary["warnings"] if a["key"] == "zero"]
    assert (advice["title"], advice["text"]) == (title, text)


def test_small_clusters_are_told(union, ensemble):
    labels = ensemble.labels_.copy()
    labels[np.flatnonzero(labels == 1)[1:]] = 0
    model = KSS(4, 3, random_state=0).fit(union.data)
    model.labels_ = labels
    report = build(model, union.data)
    assert "Cluster 1 has very few points" in report.html


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_fewer_points_than_dimensions_are_told(rng):
    X = rng.standard_normal((40, 10))
    model = KSS(2, 6, random_state=0).fit(X)
    model.labels_ = np.repeat([0, 1], [36, 4])
    assert "unsupported" in keys(build(model, X))


def test_subspaces_that_are_too_small_are_told(union):
    model = KSS(4, 1, random_state=0).fit(union.data)
    assert "captured" in keys(build(model, union.data))


def test_a_cluster_cut_in_two_is_told():
    two = make_union_of_subspaces(2, 2, 20, n_per_subspace=60, random_state=0)
    model = KSS(3, 2, random_state=0).fit(two.data)
    model.labels_ = two.target + np.where(two.target == 1, np.arange(120) % 2, 0)
    halves = [two.bases[0], two.bases[1], two.bases[1]]
    model.bases_ = np.stack(halves)
    assert "alike" in keys(build(model, two.data))


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_members_that_disagree_are_told(rng):
    X = rng.standard_normal((120, 20))  # nothing to find
    model = EKSS(3, 2, n_members=20, n_neighbors=10, random_state=0).fit(X)
    report = build(model, X)
    assert {"agreement", "noise"} <= set(keys(report))
    assert "Members disagree about" in report.html


def test_an_unfinished_iteration_is_told(union):
    model = KSS(4, 3, max_iter=1, n_init=1, random_state=0).fit(union.data)
    assert "convergence" in keys(build(model, union.data))
    model = KSS(4, 3, random_state=0).fit(union.data)
    assert "convergence" not in keys(build(model, union.data))


def test_points_in_no_cluster_are_left_out_and_told(union):
    model = KSS(4, 3, random_state=0).fit(union.data)
    model.labels_ = model.labels_.copy()
    model.labels_[:7] = -1
    report = build(model, union.data, labels=union.target)
    assert "left_out" in keys(report)
    assert report.summary["n_left_out"] == 7
    assert sum(c["size"] for c in report.summary["clusters"]) == 153
    error = clustering_error(union.target[7:], model.labels_[7:])
    assert report.summary["scores"]["error"] == error
