import json

import numpy as np
import pytest

from ekss.metrics import adjusted_rand
from ekss.report import Contender, compare
from ekss.report._comparison import matched


@pytest.fixture
def three(union):
    """Two methods that found the truth, under other numbers, and one that did not."""
    truth = union.target
    other = (truth + 1) % 4
    wrong = truth.copy()
    wrong[np.flatnonzero(truth == 0)[:10]] = 1
    return (
        Contender("right", 1.0, truth, 0.1, {"error": 0.0, "nmi": 1.0, "ari": 1.0}),
        Contender("renumbered", 0.5, other, 0.1),
        Contender("wrong", 2.0, wrong, 0.3, warnings=("it is <slow>",)),
    )


def test_renumbering_clusters_changes_nothing(union, three, rng):
    report = compare(three, union.data, dims=[3])
    numbers = rng.permutation(4)
    renumbered = [
        Contender(c.method, c.seconds, numbers[c.labels], c.residual) for c in three
    ]
    again = compare(renumbered, union.data, dims=[3])
    assert report.summary["alike"] == again.summary["alike"] == 1 - 10 / 160
    points = [{row["point"] for row in r.summary["disputed"]} for r in (report, again)]
    assert points[0] == points[1]


def test_disputed_points_are_those_that_differ(union, three):
    summary = compare(three, union.data, dims=[3]).summary
    disputed = {row["point"] for row in summary["disputed"]}
    moved = np.flatnonzero(union.target == 0)[:10]
    assert disputed == {f"point {i}" for i in moved}
    for row in summary["disputed"]:
        assert row["agree"] == 2
        assert row["clusters"]["right"] == row["clusters"]["renumbered"] == 0
    ari = np.array(summary["agreements"]["ari"])
    assert ari[0, 1] == 1
    assert ari[0, 2] == pytest.approx(adjusted_rand(three[0].labels, three[2].labels))
    assert summary["reference"] == "right"


def test_a_lower_residual_within_a_tenth_does_not_beat_agreement(union, three):
    right, renumbered, wrong = three
    lucky = Contender("lucky", 1.0, wrong.labels, 0.095)
    summary = compare([lucky, right, renumbered], union.data, dims=[3]).summary
    assert summary["reference"] == "right"
    better = Contender("better", 1.0, wrong.labels, 0.05)
    summary = compare([right, renumbered, better], union.data, dims=[3]).summary
    assert summary["reference"] == "better"


def test_failures_and_points_in_no_cluster_are_told(union, three):
    labels = union.target.copy()
    labels[:5] = -1
    some = [
        three[0],
        Contender("careful", 1.0, labels, 0.2),
        Contender("broken", 0.1, failed="<no> luck"),
    ]
    report = compare(some, union.data, dims=[2, 3], ids=[f"p{i}" for i in range(160)])
    assert "broken failed" in report.html
    assert "&lt;no&gt; luck" in report.html
    assert {r["point"] for r in report.summary["disputed"]} == {
        f"p{i}" for i in range(5)
    }
    assert "dimension 2 to 3" in report.html
    json.dumps(report.summary, allow_nan=False)
    with pytest.raises(ValueError, match="did not fail"):
        compare(some[2:], union.data, dims=[2])


def test_clusters_without_a_partner_get_numbers_of_their_own():
    first = np.array([0, 0, 0, 1, 1, 1])
    assert matched(first, np.array([3, 3, 9, 4, 4, -1])).tolist() == [0, 0, 2, 1, 1, -1]
    assert matched(first, np.zeros(6, int)).tolist() == [0] * 6
