"""The pages as people see them: in a browser, wide and narrow, light and dark."""

import numpy as np
import pytest
from scipy import sparse
from seen import VISIBLE, complaints, requests

from ekss import EKSS, KSS
from ekss.datasets import make_union_of_subspaces
from ekss.report import build, guarantees


def few_images():
    union = make_union_of_subspaces(
        4, 3, 30, n_per_subspace=40, noise=0.3, random_state=0
    )
    model = EKSS(4, 3, n_members=30, n_neighbors=8, random_state=0).fit(union.data)
    long = "a very long name without any blank: " + "x" * 300
    names = [f"class {'w' * 12 * k} {k}" for k in union.target]
    return build(
        model,
        union.data,
        labels=names,
        image_shape=(5, 6),
        title=long,
        source=f"<script>throw 1</script> {long}",
        ids=[f"<img src=http://127.0.0.1/{i}>" for i in range(160)],
        seconds=123.4,
    )


def tracks():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((120, 20, 2)), axis=1).reshape(120, -1)
    model = KSS(2, 3, affine=True, random_state=0).fit(X)
    return build(model, X, n_frames=20)


def many_clusters():
    union = make_union_of_subspaces(70, 2, 30, n_per_subspace=20, random_state=0)
    model = EKSS(70, 2, n_members=8, n_neighbors=5, random_state=0).fit(union.data)
    return build(model, union.data, labels=union.target)


def found_number():
    union = make_union_of_subspaces(3, 2, 12, n_per_subspace=20, random_state=0)
    return build(EKSS("auto", n_members=20, random_state=0).fit(union.data), union.data)


def labelled():
    union = make_union_of_subspaces(
        3, 2, 30, n_per_subspace=40, noise=0.1, random_state=0
    )
    ids = [f"point {i} with a name that is long {'x' * 40}" for i in range(120)]
    found = guarantees(union.data, union.target, n_members=50, ids=ids)
    return found.report()


PAGES = [few_images, tracks, many_clusters, found_number, labelled]


@pytest.fixture(scope="module", params=PAGES)
def page(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    request.param().save(path)
    return path


# Colours have no part in where things stand: not every width needs both.
@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (720, False), (400, True)]
)
def test_page_shows_all_pictures_and_asks_for_nothing(browser, page, width, dark):
    browser.open(page, width=width, dark=dark)
    seen = browser.evaluate(VISIBLE)
    assert seen["bad"] == []
    assert seen["count"] >= 5
    assert seen["overflow"] <= 0
    assert complaints(browser) == []
    assert requests(browser) == [page.as_uri()]


def test_the_checks_see_what_is_wrong(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><p style='width:3000px'>wide</p><img alt='x' width=9 height=9 "
        "src='http://127.0.0.1:9/x.png'><script>throw Error('oh')</script>"
    )
    browser.open(bad, width=400)
    seen = browser.evaluate(VISIBLE)
    assert seen["overflow"] > 0
    assert "not loaded" in seen["bad"][0]
    assert "Runtime.exceptionThrown" in complaints(browser)
    assert "http://127.0.0.1:9/x.png" in requests(browser)


def test_words_stand_out_from_the_page_in_light_and_dark(browser, page):
    colours = {}
    for dark in (False, True):
        browser.open(page, width=1280, dark=dark)
        colours[dark] = browser.evaluate(
            "['color', 'backgroundColor'].map(name =>"
            " getComputedStyle(document.body)[name].match(/\\d+/g).map(Number))"
        )
    for words, paper in colours.values():
        assert abs(sum(words) - sum(paper)) > 400
    assert sum(colours[False][1]) > sum(colours[True][1])


def test_page_prints(browser, page):
    browser.open(page, width=1280, dark=True)
    browser.show_as_print()
    assert browser.evaluate(VISIBLE)["bad"] == []
    printed = browser.pdf()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000


def test_a_hundred_thousand_points_make_a_small_page(browser, tmp_path):
    rng = np.random.default_rng(0)
    n, n_features, n_clusters, n_members = 100_000, 20, 8, 100
    labels = np.sort(rng.integers(n_clusters, size=n))
    bases = np.linalg.qr(rng.standard_normal((n_clusters, n_features, 2)))[0]
    X = rng.standard_normal((n, 2))
    X = np.concatenate([X[labels == k] @ bases[k].T for k in range(n_clusters)])
    model = EKSS(n_clusters, 2, n_members=n_members)
    noise = rng.integers(20, size=(n, n_members)).astype(np.uint8)
    votes = np.where(rng.random((n, n_members)) < 0.7, labels[:, None], noise)
    near = np.clip(np.arange(n)[:, None] + rng.integers(1, 50, (n, 5)), 0, n - 1)
    rows = np.repeat(np.arange(n), 5)
    graph = sparse.csr_array((np.ones(5 * n), (rows, near.ravel())), shape=(n, n))
    model.labels_, model.bases_, model.offsets_, model.affine_ = labels, bases, None, 0
    model.member_labels_, model.affinity_ = votes.astype(np.uint8), graph + graph.T
    model.embedding_ = np.eye(n_clusters)[labels]
    model.eigenvalues_ = np.append(np.ones(n_clusters), 0.9)
    report = build(model, X, labels=labels)
    assert len(report.html) < 5e6
    path, _ = report.save(tmp_path / "large.html")
    browser.open(path, width=1280)
    assert browser.evaluate(VISIBLE)["bad"] == []
