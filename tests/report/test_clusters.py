import io
import json
import re
import sys
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

import ekss
from ekss import EKSS
from ekss.datasets import make_union_of_subspaces
from ekss.metrics import adjusted_rand, clustering_error, normalized_mutual_info
from ekss.report import build, summary_table

METHODS = {
    "EKSS": dict(n_members=20),
    "KSS": dict(subspace_dim=3),
    "CoPKSS": dict(subspace_dim=3),
    "MedianKFlats": dict(subspace_dim=3),
    "TSC": {},
    "SSC": {},
    "SSCOMP": {},
    "EnSC": {},
    "GSC": {},
    "SLBF": {},
    "LSR": {},
    "LRSC": {},
    "LRR": {},
}
GRAPHS = {
    "EKSS",
    "TSC",
    "SSC",
    "SSCOMP",
    "EnSC",
    "GSC",
    "SLBF",
    "LSR",
    "LRSC",
    "LRR",
}
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;'


class Page(HTMLParser):
    """All tags with their attributes; fails where tags do not match."""

    VOID = frozenset("meta link img br".split())

    def __init__(self, html):
        super().__init__()
        self.tags, self._open = [], []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def named(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def fitted(name, X, n_clusters=4, **settings):
    model = getattr(ekss, name)(n_clusters, random_state=0, **METHODS[name], **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method says of its fit is not ours
        return model.fit(X)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gets_a_page_with_what_it_has(union, name):
    model = fitted(name, union.data)
    report = build(model, union.data, labels=union.target, seconds=1.5)
    page = Page(report.html)
    figures = {figure["id"] for figure in page.named("figure")}
    expected = {"map", "agreement", "affinities", "angles", "confusion", "scores"}
    if name in GRAPHS:
        expected |= {"matrix", "eigenvalues"}
    assert figures == expected
    assert report.html.count("<figcaption>") == len(figures)
    for picture in page.named("svg"):
        assert len(picture["aria-label"]) > 20
    assert report.summary["method"] == name
    assert ("eigenvalues" in report.summary) == (name in GRAPHS)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_clusters", [1, 2])
def test_one_or_two_clusters_are_no_problem(union, name, n_clusters):
    model = fitted(name, union.data, n_clusters)
    report = build(model, union.data)
    assert len(report.summary["clusters"]) == n_clusters
    Page(report.html)


@pytest.mark.parametrize("name", ["EKSS", "KSS", "TSC"])
def test_a_cluster_a_point_is_no_problem(rng, name):
    X = rng.standard_normal((4, 5)).astype(np.float32)
    settings = {} if name == "TSC" else {"subspace_dim": 1}
    model = getattr(ekss, name)(3, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    Page(build(model, X, labels=list("abca")).html)


def test_nothing_leaves_the_page(union, ensemble):
    images = build(ensemble, union.data, image_shape=(5, 6)).html
    page = Page(images)
    addresses = [tag["src"] for tag in page.named("img")]
    addresses += [tag["href"] for tag in page.named("image")]
    assert len(addresses) > 20
    assert all(address.startswith("data:image/png") for address in addresses)
    assert [tag["href"] for tag in page.named("link")] == ["data:,"]
    (labels,) = [tag["href"] for tag in page.named("a")]
    assert labels.startswith("data:text/csv;base64,")
    assert all("src" not in tag for tag in page.named("script"))
    assert "http://" not in images
    assert "https://" not in images
    assert "url(" not in images
    assert "@import" not in images


def test_summary_holds_the_figures_of_estimator_and_metrics(union, ensemble):
    report = build(ensemble, union.data, labels=union.target, seconds=2.5)
    summary = json.loads(json.dumps(report.summary, allow_nan=False))
    assert (summary["kind"], summary["version"]) == ("ekss report", 1)
    assert (summary["n_samples"], summary["n_features"]) == union.data.shape
    assert summary["seconds"] == 2.5
    truth = union.target, ensemble.labels_
    assert summary["scores"]["error"] == clustering_error(*truth)
    assert summary["scores"]["nmi"] == normalized_mutual_info(*truth)
    assert summary["scores"]["ari"] == adjusted_rand(*truth)
    confusion = np.array(summary["scores"]["confusion"])
    assert confusion.sum() == 160
    wrong = 160 - np.trace(confusion)
    assert summary["scores"]["error"] == wrong / 160
    sizes = {c["name"]: c["size"] for c in summary["clusters"]}
    assert sizes == dict(enumerate(np.bincount(ensemble.labels_).tolist()))
    stored = ensemble.eigenvalues_
    np.testing.assert_allclose(summary["eigenvalues"][: len(stored)], stored, atol=1e-5)
    assert len(summary["eigenvalues"]) > len(stored)
    assert summary["gap"] == pytest.approx(stored[3] - stored[4], abs=1e-6)


def test_the_same_fit_gives_the_same_page(union, ensemble):
    pages = [build(ensemble, union.data).html for _ in range(2)]
    assert pages[0].split("report made")[0] == pages[1].split("report made")[0]


def test_labels_may_be_words_of_any_kind(union, ensemble):
    words = [("zero", 1, None, 2.5)[k] for k in union.target]
    report = build(ensemble, union.data, labels=words)
    assert report.summary["scores"]["error"] == 0
    assert set(report.summary["scores"]["classes"]) == {"zero", "1", "None", "2.5"}


def test_hostile_words_are_only_words(union, ensemble):
    labels = [f"{HOSTILE}{k}" for k in union.target]
    report = build(
        ensemble,
        union.data,
        labels=labels,
        ids=[f"{HOSTILE}{i}" for i in range(160)],
        image_shape=(5, 6),
        title=HOSTILE,
        source=HOSTILE,
    )
    page = Page(report.html)
    assert len(page.named("script")) == 2  # the numbers, and the script that reads them
    assert all("onerror" not in image for image in page.named("img"))
    assert HOSTILE not in report.html
    assert page.named("img")[0]["alt"].startswith(HOSTILE)
    assert report.summary["title"] == HOSTILE


def test_images_show_both_ends_of_every_cluster_and_its_basis(union, ensemble):
    ids = [f"image {i}" for i in range(160)]
    report = build(ensemble, union.data, image_shape=(5, 6), ids=ids)
    alts = [image["alt"] for image in Page(report.html).named("img")]
    shown = [alt for alt in alts if alt.startswith("image ")]
    assert len(shown) == len(set(shown)) == 4 * 16
    assert sum(alt.startswith("basis vector") for alt in alts) == 4 * 3
    distances = ensemble.transform(union.data)
    doubt = distances.min(axis=1) / np.sort(distances, axis=1)[:, 1]
    rows = [int(alt.split()[1]) for alt in shown]
    typical = np.array(rows).reshape(4, 2, 8)[:, 0]
    doubtful = np.array(rows).reshape(4, 2, 8)[:, 1]
    assert doubt[typical].mean() < doubt[doubtful].mean()


def test_colour_images_and_features_apart_from_pixels(union, ensemble, rng):
    raw = rng.random((160, 4 * 4 * 3))
    report = build(ensemble, union.data, raw=raw, image_shape=(4, 4))
    alts = [image["alt"] for image in Page(report.html).named("img")]
    assert len(alts) == 4 * 16
    assert not any(alt.startswith("basis") for alt in alts)


def test_tracks_are_drawn_on_the_first_frame(union, ensemble):
    report = build(ensemble, union.data, n_frames=15)
    figures = {figure["id"] for figure in Page(report.html).named("figure")}
    assert "tracks" in figures
    assert "over the 15 frames" in report.html


def test_save_writes_page_and_numbers(tmp_path, union, ensemble):
    report = build(ensemble, union.data)
    page, numbers = report.save(tmp_path / "clusters.html")
    assert page.read_text("utf-8") == report.html
    assert json.loads(numbers.read_text("utf-8")) == report.summary
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "clusters.html",
        "clusters.json",
    ]


def test_save_refuses_other_endings(tmp_path, union, ensemble):
    with pytest.raises(ValueError, match=r"does not end in \.html; choose"):
        build(ensemble, union.data).save(tmp_path / "clusters.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (dict(labels=[0, 1]), "labels has 2 entries for 160 points"),
        (dict(ids=["a"]), "ids has 1 entries for 160 points"),
        (dict(image_shape=(5, 5)), r"image_shape=\(5, 5\) does not give 30 pixels"),
        (dict(n_frames=7), "n_frames=7 needs 14 columns"),
        (dict(raw=np.ones((3, 4))), r"raw has shape \(3, 4\)"),
        (dict(raw=np.full((160, 2), np.nan)), "raw has NaN"),
    ],
)
def test_what_does_not_fit_together_is_refused(union, ensemble, settings, words):
    with pytest.raises(ValueError, match=words):
        build(ensemble, union.data, **settings)


def test_an_estimator_that_was_not_fitted_is_refused(union):
    with pytest.raises(ValueError, match=r"EKSS has no labels_; call its fit"):
        build(ekss.EKSS(3), union.data)


def test_a_missing_jinja2_is_one_clear_sentence(monkeypatch, union, ensemble):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ekss\[report\]'"):
        build(ensemble, union.data)


def test_summary_table_prints_title_warnings_and_clusters(union, ensemble):
    from rich.console import Console

    model = fitted("TSC", union.data, 2, n_neighbors=3)
    report = build(model, union.data, title="[red]My data[/]", labels=union.target)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(summary_table(json.loads(json.dumps(report.summary))))
    printed = console.export_text()
    assert "[red]My data[/]" in printed
    assert "more pieces than there are clusters" in printed
    assert "error" in printed
    for cluster in report.summary["clusters"]:
        assert f"{cluster['size']:,}" in printed


@pytest.mark.parametrize("other", [{}, {"kind": "ekss report", "version": 99}, []])
def test_summary_table_refuses_what_is_no_summary(other):
    with pytest.raises(ValueError, match="report"):
        summary_table(other)


# After three iterations a cluster may be empty: this depends on the processor.
@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_many_clusters_and_points_stay_small():
    union = make_union_of_subspaces(60, 2, 40, n_per_subspace=70, random_state=0)
    model = ekss.KSS(60, 2, n_init=1, max_iter=3, random_state=0).fit(union.data)
    report = build(model, union.data, labels=union.target, image_shape=(5, 8))
    assert len(report.html) < 3e6
    # As many of each cluster as its share, rounded.
    shown = re.search(r"a sample of ([\d,]+) of 4,200", report.html)
    assert shown
    assert 1_950 <= int(shown[1].replace(",", "")) <= 2_050


def test_large_images_are_reduced(rng):
    X = rng.random((160, 150 * 120)).astype(np.float32)
    model = ekss.KSS(8, 2, n_init=1, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    report = build(model, X, image_shape=(150, 120))
    assert "Images are reduced 3 times" in report.html
    assert len(report.html) < 2e6


def test_page_of_many_rows_describes_their_sample(union):
    model = EKSS(4, 3, n_members=20, max_samples=80, random_state=0).fit(union.data)
    assert len(model.labels_) == 160
    report = build(model, union.data, labels=union.target)
    assert "This page describes 80 of 160 rows" in report.html
    summary = report.summary
    assert (summary["n_samples"], summary["n_rows"]) == (80, 160)
    assert len(model.labels_) == 160
    images = Page(build(model, union.data, image_shape=(5, 6)).html).named("img")
    points = {image["alt"] for image in images if image["alt"].startswith("point")}
    assert len(points) > 50
    assert points <= {f"point {row}" for row in model.sample_}
    with pytest.raises(ValueError, match=r"labels has 80 entries for 160 points"):
        build(model, union.data, labels=union.target[:80])
