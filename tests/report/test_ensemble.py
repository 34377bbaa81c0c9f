import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from scipy.sparse import csr_array

from ekss import EKSS, KSS
from ekss.ensemble import Count
from ekss.report import build, summary_table


@pytest.fixture(scope="module")
def counted(union):
    return EKSS("auto", 3, n_members=20, random_state=0).fit(union.data)


@pytest.fixture
def pretended(union):
    """Return a model of which a test may say what it chose."""
    return EKSS(4, 3, n_members=30, n_neighbors=10, random_state=0).fit(union.data)


@pytest.fixture(scope="module")
def turning():
    """Return views of six objects that turn all the way round, 40 of each."""
    rng = np.random.default_rng(0)
    angles, waves = 2 * np.pi * np.arange(40) / 40, np.arange(1, 11)
    turns = np.outer(angles, waves)
    turns = np.hstack([np.cos(turns) / waves, np.sin(turns) / waves])
    return np.concatenate([turns @ rng.standard_normal((20, 12)) for _ in range(6)])


def row_of(page, name):
    """Return the words of a row of the section on what was run."""
    found = re.findall(f'<th scope="row">{name}</th><td>(.*?)</td>', page, re.S)
    return found[0] if found else None


def advice(report, key):
    return [a for a in report.summary["warnings"] if a["key"] == key]


def scored(*pairs):
    return tuple(Count(n, score) for n, score in pairs)


def test_counts_are_pictured_and_in_the_summary_if_there_are_any(union, counted):
    report = build(counted, union.data)
    counts = json.loads(json.dumps(report.summary))["counts"]
    assert counts == [
        {"n_clusters": c.n_clusters, "score": c.score} for c in counted.counts_
    ]
    assert counts[0]["n_clusters"] == report.summary["n_clusters"] == 4
    assert '<figure class="card" id="counts">' in report.html
    assert "4 (shaded) was taken" in report.html
    assert report.summary["found"]["n_clusters"] == "4"


def test_a_given_number_has_no_picture_of_counts(union, ensemble):
    report = build(ensemble, union.data)
    assert "counts" not in report.summary
    assert 'id="counts"' not in report.html
    assert "n_clusters" not in report.summary["found"]


def test_every_count_is_a_dot_and_the_chosen_one_stands_out(union, pretended):
    pretended.counts_ = scored((4, -3.0), (5, -2.5), (8, -1.0), (2, 0.5))
    page = build(pretended, union.data).html
    drawing = page.split('id="counts"')[1].split("</svg>")[0]
    faint, accent = (
        drawing.split(f'class="dots {kind}"')[0].rsplit('d="', 1)[1].count("M")
        for kind in ("mid faint", "big accent")
    )
    assert (faint, accent) == (3, 1)
    (line,) = re.findall('d="([^"]*)" class="stem after"', drawing)
    assert line.count("L") == 3
    for number in (2, 4, 5, 8):
        assert f">{number}</text>" in drawing


def test_one_count_and_many_counts_are_drawn(union, pretended):
    pretended.counts_ = scored((4, -3.0))
    assert "from 4 to 4; 4 was taken" in build(pretended, union.data).html
    pretended.counts_ = scored((4, -9.0), *((n, float(-n % 7)) for n in range(5, 300)))
    page = build(pretended, union.data).html
    drawing = page.split('id="counts"')[1].split("</svg>")[0]
    assert drawing.count("</text>") < 35, "numbers overlap"
    assert ">4</text>" in drawing


def test_scores_that_are_not_finite_are_left_out(union, pretended):
    pretended.counts_ = scored((4, -3.0), (5, float("inf")))
    report = build(pretended, union.data)
    assert report.summary["counts"] == [{"n_clusters": 4, "score": -3.0}]


@pytest.mark.parametrize(("lead", "is_told"), [(0.015, True), (0.2, False)])
def test_a_close_second_makes_the_number_doubtful(union, pretended, lead, is_told):
    pretended.counts_ = scored((4, -3.0), (5, -3.0 + lead), (6, -1.0))
    told = advice(build(pretended, union.data), "counts")
    assert len(told) == is_told
    for one in told:
        assert one["level"] == "warning"
        assert "5 fits about as well as 4" in one["title"]
        assert "-2.985 for 5" in one["text"]
        assert "for 6" not in one["text"]


@pytest.mark.parametrize(("share", "is_told"), [(0.84, True), (0.95, False)])
def test_halves_that_disagree_are_told(union, pretended, share, is_told):
    pretended.agreement_ = share
    report = build(pretended, union.data)
    assert report.summary["halves_agreement"] == share
    told = advice(report, "halves")
    assert len(told) == is_told
    for one in told:
        assert one["level"] == "warning"
        assert "84 % of the points the same cluster" in one["text"]
        assert "n_members=60" in one["text"]


def test_members_are_in_summary_page_and_terminal(union):
    model = EKSS(4, 3, random_state=0).fit(union.data)
    report = build(model, union.data)
    assert report.summary["n_members"] == model.n_members_
    assert report.summary["halves_agreement"] == model.agreement_
    assert report.summary["found"]["n_members"] == str(model.n_members_)
    assert f"<td>{model.n_members_}; two halves of them gave 100.0 %" in report.html
    stream = io.StringIO()
    Console(file=stream, width=200).print(summary_table(report.summary))
    assert f"{model.n_members_} members" in stream.getvalue()
    assert "agree on 100.0 % of points" in stream.getvalue()


def test_given_members_have_no_halves_and_other_methods_no_members(union, ensemble):
    report = build(ensemble, union.data)
    assert report.summary["n_members"] == 30
    assert "halves_agreement" not in report.summary
    assert "n_members" not in report.summary["found"]
    other = build(KSS(4, 3, random_state=0).fit(union.data), union.data)
    assert "n_members" not in other.summary
    assert '<th scope="row">members</th>' not in other.html


def test_the_graph_of_expressions_is_told_where_it_was_kept(turning):
    model = EKSS(6, n_members=50, random_state=0).fit(turning)
    assert model.n_neighbors_ is None
    best = {}
    for one in model.finalists_:
        if "spread" not in one.origin:
            best[one.graph] = f"{one.score:.2f}"
    report = build(model, turning)
    told = row_of(report.html, "graph that was kept")
    assert told == (
        "that of the expressions of points by each other, because its best cut scores "
        f"{best['expressions']}, that of the votes {best['votes']}, judged by points, "
        "votes and expressions; lower is better"
    )
    assert "n_neighbors" not in report.summary["found"]
    assert "None" not in row_of(report.html, "chosen by the method")


def test_labels_that_spread_are_told(turning):
    model = EKSS(6, n_members=50, random_state=0).fit(turning)
    # The labels did not spread here, because this would have been judged worse.
    (moved,) = (one for one in model.finalists_ if "spread" in one.origin)
    others = tuple(one for one in model.finalists_ if one is not moved)
    better = replace(moved, score=-99.0)
    model.finalists_ = (better, *others)
    told = row_of(build(model, turning).html, "graph that was kept")
    assert told.endswith(
        "; the labels then spread along the expressions, which lowered the score to "
        "-99.00"
    )


def test_equal_nominees_are_told(union):
    model = EKSS(4, n_members=30, random_state=0).fit(union.data)
    report = build(model, union.data)
    assert row_of(report.html, "graph that was kept") == (
        "that of the votes, because the best cut of the expressions is the same"
    )
    assert report.summary["found"]["n_neighbors"] == str(model.n_neighbors_)


def test_the_graph_of_whitened_votes_stands_for_the_members_that_lost():
    rng = np.random.default_rng(0)
    flats = [np.linalg.qr(rng.standard_normal((20, 3)))[0].T for _ in range(4)]
    strengths = np.array([3, 1, 0.3])  # the weak direction hardly counts as it is
    places = [strengths * rng.standard_normal((40, 3)) for _ in flats]
    X = np.concatenate([p @ f for p, f in zip(places, flats, strict=True)])
    X += np.repeat(rng.standard_normal((4, 20)) / 2, 40, axis=0)
    X += 0.09 * rng.standard_normal(X.shape)
    model = EKSS(4, n_members=20, affine=True, random_state=0).fit(X)
    first, second = model.finalists_
    assert first.graph == "whitened votes"
    report = build(model, X)
    assert row_of(report.html, "graph that was kept") == (
        f"that of the votes on whitened points, because its best cut scores "
        f"{first.score:.2f}, that of the votes {second.score:.2f}, judged by points "
        "and votes, as they are and whitened; lower is better"
    )
    assert report.summary["agreement_from"] == "graph"
    assert advice(report, "agreement") == []


def test_no_graph_is_told_where_there_was_no_choice(union, pretended):
    del pretended.finalists_  # as in models that were saved by earlier versions
    without = EKSS(4, 3, n_members=30, second_opinion=False, random_state=0)
    without.fit(union.data)
    other = KSS(4, 3, random_state=0).fit(union.data)
    for model in (pretended, without, other):
        assert row_of(build(model, union.data).html, "graph that was kept") is None


@pytest.mark.parametrize(("alone", "n_pieces"), [(1, 0), (20, 7)])
def test_a_torn_graph_of_expressions_gets_no_advice_on_neighbours(
    turning, alone, n_pieces
):
    model = EKSS(6, n_members=50, random_state=0).fit(turning)
    # Every object is a piece, and some views of the first one are another.
    piece = np.repeat(np.arange(6), 40)
    piece[:alone] = 6
    model.affinity_ = csr_array((piece[:, None] == piece).astype(float))
    (told,) = advice(build(model, turning), "components")
    assert "which no setting makes denser" in told["text"]
    assert "n_neighbors" not in told["text"]
    assert told["change"] == ({"n_clusters": n_pieces} if n_pieces else {})
