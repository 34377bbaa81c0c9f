import numpy as np
import pytest

from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces
from ekss.theory import Outcome, assess, default_q, explain, labelled_case


@pytest.fixture
def labelled():
    data = make_subspaces_at_angle(
        0.2, dim=4, n_features=30, n_per_subspace=60, random_state=0
    )
    return data.data, data.target


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X, y: X[3].fill(0), "1 of 180 points are zero, the first is row 3;"),
        (lambda X, y: X[3].fill(np.nan), "contain NaN"),
        (lambda X, y: y.fill(1), "the labels name 1 cluster"),
        (lambda X, y: y.__setitem__(0, 9), "cluster 9 has 1 point"),
    ],
)
def test_data_without_guarantees_is_refused(labelled, spoil, words):
    X, y = labelled
    spoil(X, y)
    with pytest.raises(ValueError, match=words):
        labelled_case(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"failure": 0.0}, "failure=0.0 is not a probability"),
        ({"q": 60}, "choose q up to 59"),
        ({"dim": 30}, "dim=30 is not between 1 and 29"),
    ],
)
def test_impossible_settings_are_refused(labelled, options, words):
    with pytest.raises(ValueError, match=words):
        labelled_case(*labelled, **options)


def test_settings_are_kept_and_the_rest_is_found(labelled):
    case = labelled_case(*labelled, q=2, noise=0.3, n_rows=50, n_members=7)
    assert (case.situation.q, case.q_given) == (2, True)
    assert (case.situation.noise, case.noise_given) == (0.3, True)
    assert (len(case.rows), case.complete) == (50, False)
    assert case.situation.n_members == 7
    assert (case.n_candidates, case.candidate_dim) == (3, 4)
    np.testing.assert_allclose(np.linalg.norm(case.points, axis=1), 1)


def test_assessment_takes_arrays_alone():
    data = make_union_of_subspaces(
        2, 2, n_features=20, n_per_subspace=30, bases="orthogonal", random_state=0
    )
    case = labelled_case(data.data, data.target, q=2, n_members=50)
    same = data.target[:, None] == data.target
    whole = Outcome(same - np.eye(60), 0.0)
    torn = Outcome(np.zeros((60, 60)), 0.5, lambda q: np.full((60, q), -1))
    members = np.repeat(data.target[:, None], 50, axis=1)
    stages = []
    a = assess(case, members, tsc=whole, ekss0=torn, progress=stages.append)
    assert len(stages) == 3
    assert a.tsc_graph.components == (1, 1)
    assert a.tsc_graph.n_false == 0
    assert a.votes_graph.components == (30, 30)
    assert a.votes_graph.connecting_q is None
    answers = explain(a).answers
    assert answers[2].answer.startswith("Yes, by Proposition 1")
    assert answers[5].answer == "Not guaranteed; the error of this run is 50 %."


def test_default_q_is_the_papers():
    assert default_q(400, 4) == 5
    assert default_q(40, 4) == 3
