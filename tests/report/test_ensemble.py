import io
import json
import re

import pytest
from rich.console import Console

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
